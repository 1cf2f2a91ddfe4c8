//! What is wrong and who is to be told. Pure: no I/O, no clock.

pub mod kind;
pub mod settings;

pub use kind::{Event, Key, Kind, Severity};
pub use settings::{Rule, Settings};
