//! The subject of an incident and its last observation, as values and never as sentences. `view` puts them into
//! words.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::key::{Key, Target};
use super::kind::Kind;
use crate::model::forecast::Doubt;
use crate::model::{Collector, Money, Sort};

/// The subject of an incident.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub(crate) enum Subject {
    /// A resource, by its name, or by its number if it has no name.
    Resource {
        sort: Sort,
        name: String,
    },
    Order {
        name: String,
    },
    /// The account of its key.
    Account,
    Report,
    /// Reports do not tell the cut-off, since this day of the account; the last date that was known.
    NoDate {
        since: NaiveDate,
        last: Option<NaiveDate>,
    },
    /// The credentials of the group that the key names.
    Credentials,
    /// States that hostwatch does not know.
    States {
        sort: Sort,
        names: Vec<String>,
    },
    /// Every resource of a sort is gone from the listing.
    AllGone {
        sort: Sort,
        count: usize,
    },
    /// The data that cannot be read.
    Unread {
        collectors: Vec<Collector>,
    },
    /// Nothing can be read.
    Silent,
    /// The balance is lower than foreseen, by this amount.
    Drop {
        missing: Money,
        currency: String,
    },
    /// An order costs more a day than before.
    Dearer {
        name: String,
        from: Money,
        to: Money,
        currency: String,
    },
    /// A sentence from an older store, shown as it is.
    #[serde(untagged)]
    Text(String),
}

/// The last observation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub(crate) enum Detail {
    /// The state of the resource. If it is not the wrong state, it is the state by `now`.
    State {
        state: String,
        now: bool,
    },
    NotListed,
    ListedAgain,
    LeftReport,
    NoLongerSeen,
    /// hostwatch does not know the meaning of this state.
    CannotTell {
        sort: Sort,
    },
    /// The number of a container's sites that are stopped, and the container's own state if that has no name.
    SitesStopped {
        stopped: usize,
        sites: usize,
        unnamed: Option<String>,
    },
    SitesBack,
    Answers,
    /// The reason why the last report tells neither a cut-off nor its absence.
    Unproven {
        doubt: Doubt,
        /// The field and what it held.
        held: Option<String>,
    },
    Balance {
        foreseen: Money,
        actual: Money,
        currency: String,
    },
    /// The cost of an order a day.
    CostPerDay {
        from: Money,
        to: Money,
        currency: String,
    },
    /// An error in the words of its source, or a sentence from an older store.
    #[serde(untagged)]
    Text(String),
}

/// How a resource is wrong, as a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wrong {
    InError,
    Blocked,
    Stopped,
    /// A container whose sites show it.
    StoppedForNonPayment,
    Stuck,
    Disabled,
    Gone,
    Suspended,
    NotAvailable,
    Rejected,
    CutOff,
    CutOffAhead,
    /// The subject says all of it.
    Itself,
}

impl Default for Subject {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Default for Detail {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Subject {
    /// The name of a resource or an order; empty for other subjects.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Resource { name, .. } | Self::Order { name } | Self::Dearer { name, .. } => name,
            Self::Text(text) => text,
            Self::Account
            | Self::Report
            | Self::NoDate { .. }
            | Self::Credentials
            | Self::States { .. }
            | Self::AllGone { .. }
            | Self::Unread { .. }
            | Self::Silent
            | Self::Drop { .. } => "",
        }
    }

    /// Stores of release 0.2 hold `VM db-1` in place of the name.
    pub(crate) fn of_stored(self, key: &Key) -> Self {
        let Self::Text(text) = self else { return self };
        let name = || text.split_once(' ').map_or(text.as_str(), |(_, name)| name).to_owned();
        match (key.kind, key.kind.sort(), &key.resource) {
            _ if text.is_empty() => Self::Text(text),
            (_, Some(sort), _) => Self::Resource { sort, name: name() },
            (Kind::ResourceGone, _, Target::Of(sort, _)) => Self::Resource { sort: *sort, name: name() },
            (Kind::OrderSuspended, ..) => Self::Order { name: name() },
            (Kind::Disconnect, ..) => Self::Account,
            (Kind::BillingReport, ..) => Self::Report,
            (Kind::CredentialsRejected, ..) => Self::Credentials,
            _ => Self::Text(text),
        }
    }
}

impl Detail {
    /// Stores of release 0.2 hold `its state is error` in place of the state.
    pub(crate) fn of_stored(self) -> Self {
        let Self::Text(text) = &self else { return self };
        match (text.strip_prefix("its state is now "), text.strip_prefix("its state is ")) {
            (Some(state), _) => Self::State { state: state.to_owned(), now: true },
            (None, Some(state)) => Self::State { state: state.to_owned(), now: false },
            (None, None) => self,
        }
    }
}

impl Wrong {
    /// The form of a kind.
    pub(crate) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::VmError | Kind::SiteError => Self::InError,
            Kind::VmBlocked => Self::Blocked,
            Kind::VmStopped | Kind::SiteBlocked => Self::Stopped,
            Kind::VmStuck | Kind::SiteStuck => Self::Stuck,
            Kind::ContainerDisabled => Self::Disabled,
            Kind::ResourceGone => Self::Gone,
            Kind::OrderSuspended => Self::Suspended,
            Kind::BillingReport => Self::NotAvailable,
            Kind::CredentialsRejected => Self::Rejected,
            Kind::Disconnect => Self::CutOffAhead,
            Kind::BalanceDrop | Kind::OrderCost | Kind::UnknownState | Kind::CollectorFailing => Self::Itself,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn words_of_older_stores_are_read() {
        let account = "main".parse().unwrap();
        let of =
            |kind, text: &str| read::<Subject>(&format!("{text:?}")).of_stored(&Key::new(&account, kind, 7));
        let named = |sort, name: &str| Subject::Resource { sort, name: name.to_owned() };
        assert_eq!(of(Kind::VmError, "VM db-1"), named(Sort::Vm, "db-1"));
        assert_eq!(of(Kind::SiteError, "Site a b"), named(Sort::Site, "a b"));
        assert_eq!(of(Kind::Disconnect, "Account main"), Subject::Account);
        assert_eq!(
            of(Kind::CollectorFailing, "Cannot read VMs"),
            Subject::Text("Cannot read VMs".to_owned())
        );
        let detail = |text: &str| read::<Detail>(&format!("{text:?}")).of_stored();
        assert_eq!(detail("its state is error"), Detail::State { state: "error".to_owned(), now: false });
        let now = Detail::State { state: "blocked".to_owned(), now: true };
        assert_eq!(detail("its state is now blocked"), now);
        assert_eq!(detail("GET /vm: 502"), Detail::Text("GET /vm: 502".to_owned()));
        let json = serde_json::to_string(&now).unwrap();
        assert_eq!(read::<Detail>(&json), now, "{json}");
    }
}
