//! The snapshot as Prometheus text. Pure: no I/O, no clock.

pub mod settings;

pub use settings::{Settings, StateSeries};
