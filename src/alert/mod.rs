//! What is wrong and who is to be told. Pure: no I/O, no clock.
//!
//! `rules` turns a reading into findings; `lifecycle` and `disconnect` turn findings and time into what
//! `decide` keeps: incidents, each with its `reason`, and what mails say; `engine` drives them.

mod decide;
pub(crate) mod digest;
mod disconnect;
pub(crate) mod engine;
mod first_start;
mod incident;
mod key;
mod kind;
mod ladder;
mod lifecycle;
mod notice;
pub(crate) mod rate_limit;
mod reason;
pub(crate) mod rehearsal;
mod root_cause;
pub(crate) mod rules;
mod settings;
mod silence;

pub(crate) use engine::{Engine, Input, Outcome};
pub(crate) use incident::{Incident, Phase};
pub(crate) use key::{Key, Sort};
pub(crate) use kind::{Event, Kind, Severity};
pub(crate) use ladder::Ladder;
pub(crate) use notice::{Digest, DigestAccount, Form, Item, Notice, Overflow, Started, Unsent};
pub(crate) use reason::{Cause, Reason};
pub(crate) use settings::{Rule, Settings, Watcher};
pub(crate) use silence::{Ack, Overlays, Silence};
