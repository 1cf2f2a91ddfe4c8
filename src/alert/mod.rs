//! The problems of an account and the mails about them. Pure: no I/O, no clock.
//!
//! `rules` turns a reading into findings. `incident`, `cut_off` and `causes` hold what readings prove, driven
//! by `engine` with `billing` and `unread`. The notification log has one entry for each recipient and incident
//! (`notified`, kept by `log`), which holds what this recipient was told. When a mail can leave, `due` (for a
//! cut-off `money`) compares the two: it takes a `case` and returns one event, or a reason why there is none. A
//! mail holds everything that one recipient is owed, a cut-off alone: `compose` makes it, `outgoing` follows its
//! `flight` and takes in the result. `changes` knows what a store has still to write of all this.
//!
//! Promises: a mail that waits is never outdated, since only the debt waits. An end is mailed to the recipients
//! that were told of the beginning, and to nobody else. A lost reply repeats a mail and loses none.
//!
//! Known limits: an incident that flaps stays flapping while it is wrong for long. Two backends that answer in
//! turn look like payments, and so does the report after one whose balance was too low. A site that is wrong in a container that is off is listed in the container's mail; it
//! gets a mail of its own only if it is new there.

mod billing;
mod calendar;
mod case;
mod causes;
mod changes;
mod compose;
mod cut_off;
mod days;
mod debts;
mod due;
mod engine;
mod exported;
mod facts;
pub(crate) mod finding;
mod flight;
mod history;
mod incident;
mod key;
mod kind;
mod log;
mod money;
mod notice;
mod notified;
mod noting;
mod outgoing;
mod reason;
pub(crate) mod rehearsal;
mod results;
pub(crate) mod rules;
mod settings;
mod silence;
mod subject;
mod unread;
mod watched;

pub(crate) use calendar::CalendarEntry;
pub(crate) use case::Due;
#[cfg(test)]
pub(crate) use case::Why;
pub(crate) use cut_off::CutOff;
pub(crate) use days::{days_until, deletion};
pub(crate) use debts::Debts;
#[cfg(test)]
pub(crate) use debts::{MailOnItsWay, OwedEvent};
pub(crate) use engine::{Engine, Stand};
pub(crate) use facts::Facts;
pub(crate) use finding::{Failing, Value};
pub(crate) use flight::{Attempt, Flight, Lane, NotReached, Outgoing};
pub(crate) use history::{Episode, History, Past, Title};
pub(crate) use incident::{Incident, Phase};
pub(crate) use key::{Key, Target};
pub(crate) use kind::{Event, Kind, Severity};
pub(crate) use log::Log;
pub(crate) use notice::{Digest, Form, Item, Notice, Started, Summary};
pub(crate) use notified::{Money, Notified, Owed, Told, What, pause};
pub(crate) use noting::Arrived;
pub(crate) use reason::Cause;
pub(crate) use settings::{AlertSettings, Rule, Watcher};
pub(crate) use silence::{Ack, Decided, Muted, Silence};
pub(crate) use subject::{Detail, Subject, Wrong};
