//! Everything that can happen, in single steps.

use super::readings::Turn;
use super::truth::{Observation, Resource};

/// The result of one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Answer {
    /// 250.
    Accept,
    /// 451 to DATA.
    Later,
    /// The server is away.
    Away,
    /// 550 to RCPT.
    NoRecipient,
    /// 554 to DATA.
    NoMail,
    /// The reply to DATA is lost.
    Lost { arrived: bool },
    /// The daemon is killed before it hears the reply, and starts again.
    Killed { arrived: bool },
}

impl Answer {
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Killed { .. })
    }

    pub fn arrives(self) -> bool {
        matches!(self, Self::Accept | Self::Lost { arrived: true } | Self::Killed { arrived: true })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Op {
    Read(Resource, Observation),
    /// Two good readings, after which the incident is over.
    Heals(Resource),
    /// The bill changes and is read.
    Bill(Turn),
    /// The bill is read as it is.
    BillAgain,
    BillFails,
    /// The server will give this answer to the next attempt to this recipient.
    Answer(&'static str, Answer),
    /// The server is away for everybody, or back.
    Down,
    Up,
    /// The daemon stops and starts again at once.
    Restart,
    /// Everything but the cut-off is silenced for a day. `Unsilence` ends that.
    Silence,
    Unsilence,
    /// Acknowledges the open incidents. `Unack` takes that back.
    Ack,
    Unack,
    /// A reload that adds this recipient. `Remove` takes it out.
    Add(&'static str),
    Remove(&'static str),
    /// The clock goes on.
    Minutes,
    Hour,
    Day,
}

pub const ANN: &str = "ann";
pub const BOB: &str = "bob";

/// Every result of an attempt other than 250.
pub const ANSWERS: [Answer; 8] = [
    Answer::Later,
    Answer::Away,
    Answer::NoRecipient,
    Answer::NoMail,
    Answer::Lost { arrived: true },
    Answer::Lost { arrived: false },
    Answer::Killed { arrived: true },
    Answer::Killed { arrived: false },
];

pub const TIMES: [Op; 3] = [Op::Minutes, Op::Hour, Op::Day];
