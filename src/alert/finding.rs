//! A finding is the verdict of one reading on one incident: the rules write it, the incident takes it in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::reason::Cause;
use super::subject::{Detail, Subject};
use crate::model::{Collector, Money};

/// The verdict of one reading on one incident, with its subject and the observation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub key: Key,
    pub verdict: Verdict,
    pub subject: Subject,
    pub detail: Detail,
}

/// Right, wrong, or no evidence of either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Wrong, once it has lasted for `hold` with this value.
    Bad {
        hold: Duration,
        value: Value,
    },
    Good,
    /// The reading shows nothing of this kind.
    Frozen,
    /// The resource is in a state that is neither right nor wrong for this kind.
    Other,
    /// This number of complete listings in a row lack the resource.
    Gone {
        listings: u32,
    },
    /// Nothing shows any more whether it is wrong.
    Unwatched(Cause),
}

impl Verdict {
    /// Wrong, without a minimum time.
    pub(super) fn bad() -> Self {
        Self::Bad { hold: Duration::ZERO, value: Value::None }
    }
}

/// The value of an incident, which depends on its kind.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum Value {
    #[default]
    None,
    /// The state that is wrong: `Building`, `DISABLED_BY_SERVICE`.
    State(String),
    /// The service stopped every site of the container; the container's own state does not show it.
    SitesStopped,
    /// Of `unknown_state`: the states that resources are in and that hostwatch does not know.
    States(BTreeSet<String>),
    /// Of `collector_failing`: the collectors that cannot be read.
    Failing(BTreeMap<Collector, Failing>),
    /// The balance after a drop.
    Balance(Money),
    /// The cost of an order a day, after it rose.
    Cost(Money),
}

/// The failures of one collector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Failing {
    pub since: DateTime<Utc>,
    /// The end of the last poll.
    pub read_at: DateTime<Utc>,
    /// The number of good polls in a row since the last failure.
    pub good: u32,
    /// It has failed for long enough to be told.
    #[serde(default)]
    pub lasts: bool,
}
