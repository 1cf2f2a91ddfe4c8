//! The snapshot as Prometheus text, and the daemon's own metrics. Pure: no I/O, no clock. The one exception is
//! in `own` (process metrics).

pub(crate) mod encoder;
pub(crate) mod family;
pub(crate) mod own;
pub(crate) mod page;
pub(crate) mod settings;
mod table;
mod target_groups;
mod targets;

mod billing;
mod bundles;
mod container;
mod given;
mod held;
mod incidents;
mod inventory;
mod parts;
mod site;
mod states;
mod text;
mod vectors;
mod vm;

pub(crate) use encoder::Encoder;
pub(crate) use own::Own;
pub(crate) use page::{Identity, Page};
pub(crate) use settings::StateSeries;
pub(crate) use table::{families, reference};
pub(crate) use targets::{TargetKind, document as target_document};
