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
mod inventory;
mod parts;
mod series_limit;
mod site;
mod states;
mod text;
mod vm;

pub use encoder::Encoder;
pub use family::{Family, Type, reference};
pub use own::Own;
pub use page::{Identity, Page};
pub use settings::{Hidden, Settings, StateSeries};
pub use table::FAMILIES;
