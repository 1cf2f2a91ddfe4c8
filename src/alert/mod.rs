//! What is wrong and who is to be told. Pure: no I/O, no clock.
//!
//! `rules` turns a reading into findings, `engine` turns findings and time into incidents and notices,
//! `ladder` is the arithmetic of the disconnect date.

pub mod cap;
pub mod digest;
mod disconnect;
pub mod engine;
pub mod incident;
pub mod kind;
pub mod ladder;
pub mod notice;
pub mod overlay;
pub mod rehearsal;
mod root;
pub mod rules;
pub mod settings;
mod step;

pub use engine::{Engine, Input, Outcome, Unsent, Watcher};
pub use incident::{Incident, Phase};
pub use kind::{Event, Key, Kind, Severity};
pub use ladder::Ladder;
pub use notice::{Digest, DigestAccount, Form, Item, Notice, Overflow, Started};
pub use overlay::{Ack, Overlays, Silence};
pub use settings::{Rule, Settings};
