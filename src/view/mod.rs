//! What people read, made once for page, JSON and terminal, which only lay it out. Pure: what is known, the
//! incidents and the time in, values and words out.

pub(crate) mod billing;
pub mod headline;
pub mod health;
pub mod incidents;
pub mod resources;
pub mod status;
pub(crate) mod words;

pub use billing::{Billing, Facts, Orders};
pub use headline::Urgency;
pub use health::Health;
pub use incidents::{Alerting, IncidentRow, OutboxSummary};
pub use resources::{Query, ResourceKind, ResourceRow, StateCount};
pub use status::{About, AccountStatus, CollectorRow, Status};
