//! What is wrong and who is to be told. Pure: no I/O, no clock.
//!
//! `rules` turns a reading into findings; `lifecycle` and `disconnect` turn findings and time into what
//! `decide` keeps: incidents, each with its `reason`, and what mails say; `engine` drives them.

mod decide;
pub mod digest;
mod disconnect;
pub mod engine;
mod first_start;
mod incident;
mod key;
mod kind;
mod ladder;
mod lifecycle;
mod notice;
pub mod rate_limit;
mod reason;
pub mod rehearsal;
mod root_cause;
pub mod rules;
mod settings;
mod silence;

pub use engine::{Engine, Input, Outcome};
pub use incident::{Incident, Phase};
pub use key::{Key, Sort};
pub use kind::{Event, Kind, Severity};
pub use ladder::Ladder;
pub use notice::{Digest, DigestAccount, Form, Item, Notice, Overflow, Started, Unsent};
pub use reason::{Cause, Reason};
pub use settings::{Rule, Settings, Watcher};
pub use silence::{Ack, Overlays, Silence};
