//! What people read, made once for page, JSON and terminal, which only lay it out. Pure: what is known, the
//! incidents and the time in, values and words out.

pub(crate) mod billing;
pub(crate) mod headline;
pub(crate) mod health;
pub(crate) mod incidents;
pub(crate) mod resources;
pub(crate) mod status;
pub(crate) mod words;

pub(crate) use billing::{Billing, Facts, Orders};
pub(crate) use headline::Urgency;
pub(crate) use health::Health;
pub(crate) use incidents::{Alerting, IncidentRow, OutboxSummary};
pub(crate) use resources::{Query, ResourceKind, ResourceRow, StateCount};
pub(crate) use status::{About, AccountStatus, CollectorRow, Status};
