//! Kinds, severities and events of incidents: the words that mails, metrics and commands share.

use std::fmt;
use std::str::FromStr;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoEnumIterator as _, IntoStaticStr, VariantArray, VariantNames};

use super::key::Sort;
use crate::model::Collector;

/// What an incident is about (contract section 6); its name is that in keys, labels and configuration.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Serialize,
    Deserialize,
    strum::Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", parse_err_ty = Unreadable, parse_err_fn = no_kind)]
pub enum Kind {
    Disconnect,
    BillingReport,
    OrderSuspended,
    BalanceDrop,
    VmError,
    VmBlocked,
    VmStopped,
    VmStuck,
    SiteError,
    SiteBlocked,
    SiteStuck,
    ContainerDisabled,
    ResourceGone,
    UnknownState,
    CollectorFailing,
    CredentialsRejected,
}

/// What is fixed about a kind.
struct Facts {
    /// What is wrong, in the words of a subject line; empty where the thing's own words say it.
    problem: &'static str,
    severity: Severity,
    seen_by: Option<Collector>,
    on_by_default: bool,
}

const fn facts(problem: &'static str, severity: Severity, seen_by: Option<Collector>) -> Facts {
    Facts { problem, severity, seen_by, on_by_default: true }
}

impl Kind {
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
    /// What comes first in their order.
    pub(super) const FIRST: Self = Self::Disconnect;

    /// One row a kind.
    const fn facts(self) -> Facts {
        use Severity::{Critical, Info, Warning};
        const BALANCE: Option<Collector> = Some(Collector::ExpectedBalance);
        const VMS: Option<Collector> = Some(Collector::Vms);
        const SITES: Option<Collector> = Some(Collector::Sites);
        const CONTAINERS: Option<Collector> = Some(Collector::Containers);
        match self {
            Self::Disconnect => facts("disconnect", Critical, BALANCE),
            Self::BillingReport => facts("not available", Warning, None),
            Self::OrderSuspended => facts("suspended", Warning, BALANCE),
            Self::BalanceDrop => facts("dropped", Warning, BALANCE),
            Self::VmError => facts("in error", Critical, VMS),
            Self::VmBlocked => facts("blocked", Critical, VMS),
            Self::VmStopped => facts("stopped", Warning, VMS),
            Self::VmStuck => facts("stuck", Warning, VMS),
            Self::SiteError => facts("in error", Critical, SITES),
            Self::SiteBlocked => facts("stopped", Critical, SITES),
            Self::SiteStuck => facts("stuck", Warning, SITES),
            Self::ContainerDisabled => facts("disabled", Critical, CONTAINERS),
            Self::ResourceGone => Facts { on_by_default: false, ..facts("gone", Info, None) },
            Self::UnknownState => facts("", Info, None),
            Self::CollectorFailing => facts("", Warning, None),
            Self::CredentialsRejected => facts("rejected", Critical, None),
        }
    }

    /// The name in keys, labels and configuration.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// What is wrong, in the words of a subject line; empty where the thing's own words say it: `Cannot read VMs`.
    pub const fn problem(self) -> &'static str {
        self.facts().problem
    }

    /// Watched without being asked for.
    pub const fn on_by_default(self) -> bool {
        self.facts().on_by_default
    }

    /// The collector whose readings show whether it lasts; `None` for what is about polling itself and
    /// for what several see.
    pub const fn seen_by(self) -> Option<Collector> {
        self.facts().seen_by
    }

    /// Where no rule says otherwise; `disconnect` takes its rung's.
    pub const fn default_severity(self) -> Severity {
        self.facts().severity
    }

    /// What ends it, or keeps it from coming, is a payment.
    pub const fn is_about_money(self) -> bool {
        matches!(self, Self::Disconnect | Self::OrderSuspended | Self::BalanceDrop)
    }

    /// What sort of resource the number in its key is of.
    #[allow(clippy::wildcard_enum_match_arm)] // the other collectors see no state of a resource
    pub const fn sort(self) -> Option<Sort> {
        match self.seen_by() {
            Some(Collector::Vms) => Some(Sort::Vm),
            Some(Collector::Containers) => Some(Sort::Container),
            Some(Collector::Sites) => Some(Sort::Site),
            _ => None,
        }
    }
}

/// How much it matters; the greater, the worse.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Serialize,
    Deserialize,
    strum::Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", parse_err_ty = Unreadable, parse_err_fn = no_severity)]
pub enum Severity {
    Info,
    Warning,
    Critical,
}

impl Severity {
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What a mail says of an incident, once an episode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Event {
    Started,
    Opened,
    /// A rung of the ladder in days; 0 is overdue.
    Rung(u32),
    /// The disconnect date moved to this date.
    Extended(NaiveDate),
    /// A payment moved the disconnect date to this date.
    Paid(NaiveDate),
    /// The balance is used up, the disconnect date is ahead.
    BalanceUsedUp,
    /// Cut off still; the day of this reminder.
    Overdue(NaiveDate),
    /// The data are deleted in so many days.
    Deletion(u32),
    Reminder(u32),
    Resolved,
    Removed,
    WasDown,
    /// Nothing looks at it any more; nobody knows whether it is over.
    Unwatched,
    /// The so manieth mail about what else follows from it.
    Covered(u32),
    Flapping,
    /// Open for long, and nobody acknowledged it: mailed to others, once.
    Escalated,
    Digest(NaiveDate),
    Overflow,
    Test,
}

impl Event {
    /// The end of an incident, as far as anybody watched.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Resolved | Self::Removed | Self::WasDown | Self::Unwatched)
    }
}

/// A key, kind, severity or event that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is no {1}")]
pub struct Unreadable(pub String, pub &'static str);

fn no_kind(text: &str) -> Unreadable {
    Unreadable(text.to_owned(), "kind of incident")
}

fn no_severity(text: &str) -> Unreadable {
    Unreadable(text.to_owned(), "severity (info, warning, critical)")
}

impl FromStr for Event {
    type Err = Unreadable;
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let bad = || Unreadable(text.to_owned(), "event");
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let mut event = Self::iter().find(|event| name == <&str>::from(event)).ok_or_else(bad)?;
        if let Self::Rung(number) | Self::Reminder(number) | Self::Deletion(number) | Self::Covered(number) =
            &mut event
        {
            *number = value.parse().map_err(|_| bad())?;
        }
        if let Self::Extended(date) | Self::Paid(date) | Self::Overdue(date) | Self::Digest(date) = &mut event
        {
            *date = value.parse().map_err(|_| bad())?;
        }
        Ok(event)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.into())?;
        match self {
            Self::Rung(number) | Self::Reminder(number) | Self::Deletion(number) | Self::Covered(number) => {
                write!(f, ":{number}")
            }
            Self::Extended(date) | Self::Paid(date) | Self::Overdue(date) | Self::Digest(date) => {
                write!(f, ":{date}")
            }
            Self::Started
            | Self::BalanceUsedUp
            | Self::Opened
            | Self::Resolved
            | Self::Removed
            | Self::WasDown
            | Self::Unwatched
            | Self::Flapping
            | Self::Escalated
            | Self::Overflow
            | Self::Test => Ok(()),
        }
    }
}

/// Kept as its text.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(super) use serde_as_text;

serde_as_text!(Event);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for &kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        let date = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        let events = [
            (Event::Started, "started"),
            (Event::Opened, "opened"),
            (Event::Rung(0), "rung:0"),
            (Event::Extended(date), "extended:2026-03-01"),
            (Event::Paid(date), "paid:2026-03-01"),
            (Event::BalanceUsedUp, "balance-used-up"),
            (Event::Overdue(date), "overdue:2026-03-01"),
            (Event::Deletion(7), "deletion:7"),
            (Event::Reminder(2), "reminder:2"),
            (Event::Resolved, "resolved"),
            (Event::Removed, "removed"),
            (Event::WasDown, "was-down"),
            (Event::Flapping, "flapping"),
            (Event::Escalated, "escalated"),
            (Event::Digest(date), "digest:2026-03-01"),
            (Event::Overflow, "overflow"),
            (Event::Test, "test"),
        ];
        for (event, text) in events {
            assert_eq!(event.to_string(), text);
            assert_eq!(text.parse(), Ok(event));
        }
        assert!("rung".parse::<Event>().is_err() && "closed".parse::<Event>().is_err());
        for &severity in Severity::ALL {
            assert_eq!(severity.to_string(), severity.as_str());
            assert_eq!(severity.as_str().parse(), Ok(severity));
        }
        assert_eq!(Severity::NAMES, ["info", "warning", "critical"]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let no = "gone".parse::<Kind>().unwrap_err();
        assert_eq!(no.to_string(), "'gone' is no kind of incident");
        let no = "bad".parse::<Severity>().unwrap_err();
        assert_eq!(no.to_string(), "'bad' is no severity (info, warning, critical)");
    }

    #[test]
    fn kinds_know_who_sees_them_and_how_bad_they_are() {
        use Collector::{Containers, ExpectedBalance, Sites, Vms};
        let table = [
            ("disconnect", Some(ExpectedBalance), "critical", true),
            ("billing_report", None, "warning", true),
            ("order_suspended", Some(ExpectedBalance), "warning", true),
            ("balance_drop", Some(ExpectedBalance), "warning", true),
            ("vm_error", Some(Vms), "critical", true),
            ("vm_blocked", Some(Vms), "critical", true),
            ("vm_stopped", Some(Vms), "warning", true),
            ("vm_stuck", Some(Vms), "warning", true),
            ("site_error", Some(Sites), "critical", true),
            ("site_blocked", Some(Sites), "critical", true),
            ("site_stuck", Some(Sites), "warning", true),
            ("container_disabled", Some(Containers), "critical", true),
            ("resource_gone", None, "info", false),
            ("unknown_state", None, "info", true),
            ("collector_failing", None, "warning", true),
            ("credentials_rejected", None, "critical", true),
        ];
        let of = |kind: Kind| {
            (kind.as_str(), kind.seen_by(), kind.default_severity().as_str(), kind.on_by_default())
        };
        assert_eq!(Kind::ALL.iter().copied().map(of).collect::<Vec<_>>(), table);
        assert!(Kind::ALL.iter().all(|kind| kind.to_string() == kind.as_str()));
    }
}
