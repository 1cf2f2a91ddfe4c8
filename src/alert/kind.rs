//! Kinds, severities and events of incidents: the words that mails, metrics and commands share.

use std::fmt;
use std::str::FromStr;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoEnumIterator as _, IntoStaticStr, VariantArray, VariantNames};

use crate::model::{Collector, Sort, serde_as_text};

/// The kind of an incident (contract section 6). Keys, labels and the configuration use its name.
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
    OrderCost,
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

impl Kind {
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
    /// The first kind in their order.
    pub(super) const FIRST: Self = Self::Disconnect;

    /// The severity of each kind and the collector that sees it, one row a kind.
    const fn facts(self) -> (Severity, Option<Collector>) {
        use Severity::{Critical, Info, Warning};
        const BALANCE: Option<Collector> = Some(Collector::ExpectedBalance);
        const VMS: Option<Collector> = Some(Collector::Vms);
        const SITES: Option<Collector> = Some(Collector::Sites);
        const CONTAINERS: Option<Collector> = Some(Collector::Containers);
        match self {
            Self::Disconnect => (Critical, BALANCE),
            Self::BillingReport => (Warning, None),
            Self::OrderSuspended => (Warning, BALANCE),
            Self::BalanceDrop => (Warning, BALANCE),
            Self::OrderCost => (Info, BALANCE),
            Self::VmError => (Critical, VMS),
            Self::VmBlocked => (Critical, VMS),
            Self::VmStopped => (Warning, VMS),
            Self::VmStuck => (Warning, VMS),
            Self::SiteError => (Critical, SITES),
            Self::SiteBlocked => (Critical, SITES),
            Self::SiteStuck => (Warning, SITES),
            Self::ContainerDisabled => (Critical, CONTAINERS),
            Self::ResourceGone => (Info, None),
            Self::UnknownState => (Info, None),
            Self::CollectorFailing => (Warning, None),
            Self::CredentialsRejected => (Critical, None),
        }
    }

    /// The name in keys, labels and configuration.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether it is watched unless the configuration turns it off.
    pub const fn on_by_default(self) -> bool {
        !matches!(self, Self::ResourceGone)
    }

    /// The collector whose readings show whether it lasts; `None` for kinds about polling itself and kinds that
    /// several collectors show.
    pub const fn seen_by(self) -> Option<Collector> {
        self.facts().1
    }

    /// The severity if no rule names another; `disconnect` has that of its rung.
    pub const fn default_severity(self) -> Severity {
        self.facts().0
    }

    /// Whether it is over as soon as it begins.
    pub const fn is_momentary(self) -> bool {
        matches!(self, Self::BalanceDrop | Self::OrderCost)
    }

    /// Whether a payment ends or prevents it.
    pub const fn is_about_money(self) -> bool {
        matches!(self, Self::Disconnect | Self::OrderSuspended | Self::BalanceDrop | Self::OrderCost)
    }

    /// The sort of the resource whose number is in its key.
    pub fn sort(self) -> Option<Sort> {
        let collector = self.seen_by()?;
        Sort::ALL.into_iter().find(|sort| sort.seen_by() == collector)
    }
}

/// The severity; a greater one is worse.
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

/// The event that a mail reports of an incident, once an episode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Event {
    Started,
    Opened,
    /// A threshold before the cut-off, in days; 0 is overdue.
    Rung(u32),
    /// The disconnect date moved to this date.
    Extended(NaiveDate),
    /// A payment moved the disconnect date to this date.
    Paid(NaiveDate),
    /// The balance is used up, and the cut-off is ahead.
    BalanceUsedUp,
    /// The account is still cut off; the day of this reminder.
    Overdue(NaiveDate),
    /// An order costs more a day since this day.
    Dearer(NaiveDate),
    /// The data are deleted in this number of days.
    Deletion(u32),
    Reminder(u32),
    Resolved,
    Removed,
    WasDown,
    /// Nothing watches it any more, so nobody knows whether it is over.
    Unwatched,
    /// More is wrong than the recipient was told: another collector fails, another unknown state.
    Worse,
    /// It was open for long without an acknowledgement: mailed to others, once.
    Escalated,
    Digest(NaiveDate),
    Test,
}

impl Event {
    /// Whether the event ends an incident, or the watching of it.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Resolved | Self::Removed | Self::WasDown | Self::Unwatched)
    }

    /// The number behind the name.
    fn number(&mut self) -> Option<&mut u32> {
        if let Self::Rung(number) | Self::Reminder(number) | Self::Deletion(number) = self {
            return Some(number);
        }
        None
    }

    /// The day behind the name.
    fn date(&mut self) -> Option<&mut NaiveDate> {
        if let Self::Extended(date)
        | Self::Paid(date)
        | Self::Overdue(date)
        | Self::Dearer(date)
        | Self::Digest(date) = self
        {
            return Some(date);
        }
        None
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
        if let Some(number) = event.number() {
            *number = value.parse().map_err(|_| bad())?;
        }
        if let Some(date) = event.date() {
            *date = value.parse().map_err(|_| bad())?;
        }
        Ok(event)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.into())?;
        let mut event = self.clone();
        if let Some(number) = event.number() {
            write!(f, ":{number}")?;
        }
        if let Some(date) = event.date() {
            write!(f, ":{date}")?;
        }
        Ok(())
    }
}

serde_as_text!(Event);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_severities_round_trip_as_words() {
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
            (Event::Dearer(date), "dearer:2026-03-01"),
            (Event::BalanceUsedUp, "balance-used-up"),
            (Event::Overdue(date), "overdue:2026-03-01"),
            (Event::Deletion(7), "deletion:7"),
            (Event::Reminder(2), "reminder:2"),
            (Event::Resolved, "resolved"),
            (Event::Removed, "removed"),
            (Event::WasDown, "was-down"),
            (Event::Worse, "worse"),
            (Event::Escalated, "escalated"),
            (Event::Digest(date), "digest:2026-03-01"),
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
    fn unreadable_words_are_quoted_in_the_error() {
        let no = "gone".parse::<Kind>().unwrap_err();
        assert_eq!(no.to_string(), "'gone' is no kind of incident");
        let no = "bad".parse::<Severity>().unwrap_err();
        assert_eq!(no.to_string(), "'bad' is no severity (info, warning, critical)");
    }

    #[test]
    fn each_kind_has_a_collector_and_a_severity() {
        use Collector::{Containers, ExpectedBalance, Sites, Vms};
        let table = [
            ("disconnect", Some(ExpectedBalance), "critical", true),
            ("billing_report", None, "warning", true),
            ("order_suspended", Some(ExpectedBalance), "warning", true),
            ("balance_drop", Some(ExpectedBalance), "warning", true),
            ("order_cost", Some(ExpectedBalance), "info", true),
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
