//! Kinds, severities, events and keys of incidents: the words that mails, metrics and commands share.

use std::fmt;
use std::str::FromStr;

use chrono::NaiveDate;

use crate::model::{AccountName, Collector};

/// What an incident is about (contract section 6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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

impl Kind {
    pub const ALL: [Self; 16] = [
        Self::Disconnect,
        Self::BillingReport,
        Self::OrderSuspended,
        Self::BalanceDrop,
        Self::VmError,
        Self::VmBlocked,
        Self::VmStopped,
        Self::VmStuck,
        Self::SiteError,
        Self::SiteBlocked,
        Self::SiteStuck,
        Self::ContainerDisabled,
        Self::ResourceGone,
        Self::UnknownState,
        Self::CollectorFailing,
        Self::CredentialsRejected,
    ];

    /// The name in keys, labels and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnect => "disconnect",
            Self::BillingReport => "billing_report",
            Self::OrderSuspended => "order_suspended",
            Self::BalanceDrop => "balance_drop",
            Self::VmError => "vm_error",
            Self::VmBlocked => "vm_blocked",
            Self::VmStopped => "vm_stopped",
            Self::VmStuck => "vm_stuck",
            Self::SiteError => "site_error",
            Self::SiteBlocked => "site_blocked",
            Self::SiteStuck => "site_stuck",
            Self::ContainerDisabled => "container_disabled",
            Self::ResourceGone => "resource_gone",
            Self::UnknownState => "unknown_state",
            Self::CollectorFailing => "collector_failing",
            Self::CredentialsRejected => "credentials_rejected",
        }
    }

    /// Watched without being asked for.
    pub const fn on_by_default(self) -> bool {
        !matches!(self, Self::VmStopped | Self::ResourceGone)
    }

    /// The collector whose readings show whether it lasts; `None` for what is about polling itself and
    /// for what several see.
    pub const fn seen_by(self) -> Option<Collector> {
        match self {
            Self::VmError | Self::VmBlocked | Self::VmStopped | Self::VmStuck => Some(Collector::Vms),
            Self::SiteError | Self::SiteBlocked | Self::SiteStuck => Some(Collector::Sites),
            Self::ContainerDisabled => Some(Collector::Containers),
            Self::Disconnect | Self::OrderSuspended | Self::BalanceDrop => Some(Collector::ExpectedBalance),
            Self::BillingReport
            | Self::ResourceGone
            | Self::UnknownState
            | Self::CollectorFailing
            | Self::CredentialsRejected => None,
        }
    }

    /// Where no rule says otherwise; `disconnect` takes its rung's.
    pub const fn default_severity(self) -> Severity {
        match self {
            Self::Disconnect
            | Self::VmError
            | Self::VmBlocked
            | Self::SiteError
            | Self::SiteBlocked
            | Self::ContainerDisabled
            | Self::CredentialsRejected => Severity::Critical,
            Self::BillingReport
            | Self::OrderSuspended
            | Self::BalanceDrop
            | Self::VmStopped
            | Self::VmStuck
            | Self::SiteStuck
            | Self::CollectorFailing => Severity::Warning,
            Self::ResourceGone | Self::UnknownState => Severity::Info,
        }
    }
}

/// How much it matters; the greater, the worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    Info,
    Warning,
    Critical,
}

impl Severity {
    pub const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Critical];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// Something told about an incident, once an episode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    Started,
    Opened,
    /// A rung of the ladder in days; 0 is overdue.
    Rung(u32),
    /// The disconnect date moved to this date.
    Extended(NaiveDate),
    Reminder(u32),
    Resolved,
    Removed,
    WasDown,
    Flapping,
    Digest(NaiveDate),
    Overflow,
    Test,
}

/// `account/kind/resource`: what one incident is about. The resource is a numeric id, `account`, or the
/// collector or group concerned; it never holds a character that a header or a path would mind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    pub account: AccountName,
    pub kind: Kind,
    pub resource: String,
}

impl Key {
    /// A key; characters outside `[A-Za-z0-9_.:-]` of the resource become `%XX`.
    pub fn new(account: &AccountName, kind: Kind, resource: impl fmt::Display) -> Self {
        Self { account: account.clone(), kind, resource: safe(&resource.to_string()) }
    }

    /// The key of an account-wide kind.
    pub fn account_wide(account: &AccountName, kind: Kind) -> Self {
        Self::new(account, kind, "account")
    }
}

fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes().take(200) {
        if byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A key, kind, severity or event that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is no {1}")]
pub struct Unreadable(pub String, pub &'static str);

impl FromStr for Kind {
    type Err = Unreadable;
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| Unreadable(text.to_owned(), "kind of incident"))
    }
}

impl FromStr for Severity {
    type Err = Unreadable;
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let found = Self::ALL.into_iter().find(|severity| severity.as_str() == text);
        found.ok_or_else(|| Unreadable(text.to_owned(), "severity (info, warning, critical)"))
    }
}

impl FromStr for Key {
    type Err = Unreadable;
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let bad = || Unreadable(text.to_owned(), "incident key (account/kind/resource)");
        let mut parts = text.splitn(3, '/');
        let (Some(account), Some(kind), Some(resource)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad());
        };
        let account = account.parse().map_err(|_| bad())?;
        Ok(Self { account, kind: kind.parse()?, resource: resource.to_owned() })
    }
}

impl FromStr for Event {
    type Err = Unreadable;
    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let bad = || Unreadable(text.to_owned(), "event");
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        Ok(match name {
            "started" => Self::Started,
            "opened" => Self::Opened,
            "rung" => Self::Rung(value.parse().map_err(|_| bad())?),
            "extended" => Self::Extended(value.parse().map_err(|_| bad())?),
            "reminder" => Self::Reminder(value.parse().map_err(|_| bad())?),
            "resolved" => Self::Resolved,
            "removed" => Self::Removed,
            "was-down" => Self::WasDown,
            "flapping" => Self::Flapping,
            "digest" => Self::Digest(value.parse().map_err(|_| bad())?),
            "overflow" => Self::Overflow,
            "test" => Self::Test,
            _ => return Err(bad()),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.account, self.kind, self.resource)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("started"),
            Self::Opened => f.write_str("opened"),
            Self::Rung(days) => write!(f, "rung:{days}"),
            Self::Extended(date) => write!(f, "extended:{date}"),
            Self::Reminder(count) => write!(f, "reminder:{count}"),
            Self::Resolved => f.write_str("resolved"),
            Self::Removed => f.write_str("removed"),
            Self::WasDown => f.write_str("was-down"),
            Self::Flapping => f.write_str("flapping"),
            Self::Digest(date) => write!(f, "digest:{date}"),
            Self::Overflow => f.write_str("overflow"),
            Self::Test => f.write_str("test"),
        }
    }
}

macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
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
    )*};
}

serde_as_text!(Kind, Severity, Key, Event);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        let date = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        let events = [
            (Event::Started, "started"),
            (Event::Opened, "opened"),
            (Event::Rung(0), "rung:0"),
            (Event::Extended(date), "extended:2026-03-01"),
            (Event::Reminder(2), "reminder:2"),
            (Event::Resolved, "resolved"),
            (Event::Removed, "removed"),
            (Event::WasDown, "was-down"),
            (Event::Flapping, "flapping"),
            (Event::Digest(date), "digest:2026-03-01"),
            (Event::Overflow, "overflow"),
            (Event::Test, "test"),
        ];
        for (event, text) in events {
            assert_eq!(event.to_string(), text);
            assert_eq!(text.parse(), Ok(event));
        }
        assert!("rung".parse::<Event>().is_err() && "closed".parse::<Event>().is_err());
        for severity in Severity::ALL {
            assert_eq!(severity.to_string(), severity.as_str());
            assert_eq!(severity.as_str().parse(), Ok(severity));
        }
        assert_eq!(Severity::ALL.map(Severity::as_str), ["info", "warning", "critical"]);
        let account: AccountName = "main".parse().unwrap();
        let key = Key::new(&account, Kind::UnknownState, "vm:a b\r\nX: y");
        assert_eq!(key.to_string(), "main/unknown_state/vm:a%20b%0D%0AX:%20y");
        assert_eq!(key.to_string().parse(), Ok(key));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let no = "gone".parse::<Kind>().unwrap_err();
        assert_eq!(no.to_string(), "'gone' is no kind of incident");
        for text in ["main", "main/vm_error", "main/gone/7", "a b/vm_error/7"] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
        let key: Key = "main/unknown_state/vm:a/b".parse().unwrap();
        assert_eq!(key.resource, "vm:a/b");
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
            ("vm_stopped", Some(Vms), "warning", false),
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
        assert_eq!(Kind::ALL.map(of), table);
        assert!(Kind::ALL.iter().all(|kind| kind.to_string() == kind.as_str()));
    }
}
