//! What is wrong and who is to be told. Pure: no I/O, no clock.
//!
//! `rules` turns a reading into findings; `lifecycle` and `disconnect` turn findings and time into what
//! `decide` keeps: incidents, each with its `reason`, and what mails say; `engine` drives them. `dispatch` fits what is
//! to be mailed to what still waits.

mod calendar;
mod covered;
mod decide;
pub(crate) mod digest;
mod disconnect;
mod dispatch;
pub(crate) mod engine;
mod escalation;
mod first_start;
mod history;
mod incident;
mod key;
mod kind;
mod ladder;
mod ladder_moves;
mod lifecycle;
mod missed;
mod next;
mod notice;
mod outage;
mod overdue;
pub(crate) mod rate_limit;
mod reason;
pub(crate) mod rehearsal;
mod remembered;
mod root_cause;
pub(crate) mod rules;
mod settings;
mod silence;
mod turns;
mod untold;
mod watched;

pub(crate) use calendar::CalendarEntry;
pub(crate) use dispatch::{Dispatch, Heard, Mailbox, Remake, Stage, Waiting, dispatch, remainder};
pub(crate) use engine::{Delivery, Engine, Input, Outcome};
pub(crate) use history::{Episode, History, Past};
pub(crate) use incident::{Incident, Phase, keeps_failing};
pub(crate) use key::{Key, Sort, Target};
pub(crate) use kind::{Event, Kind, Severity};
pub(crate) use ladder::Ladder;
pub(crate) use missed::Missed;
pub(crate) use next::{Escalation, Next};
pub(crate) use notice::{Digest, DigestAccount, Form, Item, Notice, Overflow, Started};
pub(crate) use overdue::{days_left, deletion};
pub(crate) use reason::{Cause, Reason};
pub(crate) use remembered::{Remembered, SHOWN};
pub(crate) use root_cause::explains_site;
pub(crate) use settings::{AlertSettings, Rule, Watcher};
pub(crate) use silence::{Ack, Muted, Silence};
pub(crate) use untold::tries_again;
pub(crate) use watched::Back;
