//! The snapshot as Prometheus text, and the daemon's own metrics. Pure: no I/O, no clock; the one
//! exception is named in `own` (process metrics).

pub mod encoder;
pub mod family;
mod openmetrics;
pub mod own;
pub mod page;
pub mod settings;
mod table;

mod billing;
mod container;
mod given;
mod inventory;
mod parts;
mod series_limit;
mod site;
mod states;
mod text;
mod vectors;
mod vm;

pub use encoder::Encoder;
pub use own::Own;
pub use page::{Identity, Page};
pub use settings::{Selection, Settings, StateSeries};
pub use table::{families, reference};
