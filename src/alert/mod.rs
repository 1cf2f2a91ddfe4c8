//! What is wrong and who is to be told. Pure: no I/O, no clock.
//!
//! `rules` turns a reading into findings, `engine` turns findings and time into incidents and notices,
//! `ladder` is the arithmetic of the disconnect date.

pub mod digest;
mod disconnect;
pub mod engine;
pub mod incident;
pub mod kind;
pub mod ladder;
mod lifecycle;
pub mod notice;
pub mod rate_limit;
pub mod rehearsal;
mod root_cause;
pub mod rules;
pub mod settings;
pub mod silence;

pub use engine::{Engine, Input, Outcome, Unsent, Watcher};
pub use incident::{Incident, Phase};
pub use kind::{Event, Key, Kind, Severity};
pub use ladder::Ladder;
pub use notice::{Digest, DigestAccount, Form, Item, Notice, Overflow, Started};
pub use settings::{Rule, Settings};
pub use silence::{Ack, Overlays, Silence};
