//! Keys of incidents: `account/kind/resource`.

use std::fmt;
use std::str::FromStr;

use super::kind::{Kind, Unreadable};
use crate::model::{AccountName, Collector, Group, Sort, serde_as_text};

/// The subject of one incident: account, kind and resource.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key {
    pub account: AccountName,
    pub kind: Kind,
    pub resource: Target,
}

/// The part of an account that an incident is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Target {
    /// A target of an older or newer store.
    Other(String),
    /// The whole account.
    Account,
    /// A VM, site, container or order, following the kind.
    Id(u64),
    Group(Group),
    /// All resources of a sort: `vms`.
    All(Sort),
    /// The number of a resource that is gone: `site:7`.
    Of(Sort, u64),
}

impl Key {
    pub(crate) fn new(account: &AccountName, kind: Kind, resource: impl Into<Target>) -> Self {
        Self { account: account.clone(), kind, resource: resource.into() }
    }

    /// The lowest key of an account, for ranges.
    pub(super) fn first_of(account: &AccountName) -> Self {
        Self::new(account, Kind::FIRST, Target::FIRST)
    }

    /// The key of an account-wide kind.
    pub(crate) fn account_wide(account: &AccountName, kind: Kind) -> Self {
        Self::new(account, kind, Target::Account)
    }

    /// The number of the resource, if the key is about one.
    pub(crate) fn id(&self) -> Option<u64> {
        if let Target::Id(id) = self.resource { Some(id) } else { None }
    }

    /// Whether it is about a listing that lost all its resources.
    pub(super) fn is_of_empty_listing(&self) -> bool {
        self.kind == Kind::ResourceGone && matches!(self.resource, Target::All(_))
    }

    /// Whether it is mailed once, without reminders. Somebody may have stopped a VM or emptied a listing on purpose.
    pub(super) fn is_told_once(&self) -> bool {
        self.kind.is_momentary() || self.kind == Kind::VmStopped || self.is_of_empty_listing()
    }

    /// The collectors whose readings show whether the incident lasts.
    pub(crate) fn shown_by(&self) -> impl Iterator<Item = Collector> {
        let of_group = if let Target::Group(group) = self.resource { Some(group) } else { None };
        let one = match self.resource {
            Target::Of(sort, _) | Target::All(sort) => Some(sort.seen_by()),
            Target::Account if self.kind == Kind::BillingReport => Some(Collector::ExpectedBalance),
            Target::Account | Target::Id(_) | Target::Group(_) | Target::Other(_) => self.kind.seen_by(),
        };
        Collector::ALL
            .into_iter()
            .filter(move |collector| Some(collector.group()) == of_group || Some(*collector) == one)
    }
}

impl Target {
    /// The lowest target of a kind, for ranges.
    pub(super) const FIRST: Self = Self::Other(String::new());

    /// Reads the text form. Unknown text is kept as it is, so that the key stays the same.
    fn read(text: &str) -> Self {
        if text == "account" {
            return Self::Account;
        }
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
        if let Some(id) = number(text) {
            return Self::Id(id);
        }
        if let Some(group) = Group::ALL.into_iter().find(|group| group.as_str() == text) {
            return Self::Group(group);
        }
        if let Some(sort) = Sort::ALL.into_iter().find(|sort| sort.seen_by().as_str() == text) {
            return Self::All(sort);
        }
        let of = text.split_once(':').and_then(|(sort, id)| Some(Self::Of(sort.parse().ok()?, number(id)?)));
        of.unwrap_or_else(|| Self::Other(text.to_owned()))
    }
}

impl From<u64> for Target {
    fn from(id: u64) -> Self {
        Self::Id(id)
    }
}

impl From<Group> for Target {
    fn from(group: Group) -> Self {
        Self::Group(group)
    }
}

#[cfg(test)]
impl From<&str> for Target {
    fn from(text: &str) -> Self {
        Self::read(text)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account => f.write_str("account"),
            Self::Id(id) => write!(f, "{id}"),
            Self::Group(group) => f.write_str(group.as_str()),
            Self::All(sort) => f.write_str(sort.seen_by().as_str()),
            Self::Of(sort, id) => write!(f, "{sort}:{id}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.account, self.kind, self.resource)
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
        Ok(Self { account, kind: kind.parse()?, resource: Target::read(resource) })
    }
}

serde_as_text!(Key);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_parsing_and_printing() {
        let table = [
            ("main/disconnect/account", Target::Account),
            ("main/vm_error/7", Target::Id(7)),
            ("main/vm_error/007", Target::Other("007".to_owned())),
            ("main/vm_error/99999999999999999999", Target::Other("99999999999999999999".to_owned())),
            ("main/unknown_state/vms", Target::All(Sort::Vm)),
            ("main/resource_gone/containers", Target::All(Sort::Container)),
            ("main/credentials_rejected/vm", Target::Group(Group::Vm)),
            ("main/resource_gone/site:12", Target::Of(Sort::Site, 12)),
            ("main/resource_gone/vm:a/b", Target::Other("vm:a/b".to_owned())),
            ("main/resource_gone/vm:012", Target::Other("vm:012".to_owned())),
            ("main/resource_gone/disk:x", Target::Other("disk:x".to_owned())),
            ("main/vm_error/", Target::Other(String::new())),
        ];
        for (text, resource) in table {
            let key: Key = text.parse().unwrap();
            assert_eq!((&key.resource, key.to_string().as_str()), (&resource, text));
            assert_eq!(serde_json::to_string(&key).unwrap(), format!("\"{text}\""));
            assert_eq!(key.id(), (text == "main/vm_error/7").then_some(7));
        }
        for text in ["main", "main/vm_error", "main/gone/7", "a b/vm_error/7"] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_target_is_below_the_first() {
        for text in ["", "0", "7", "account", "vms", "vm", "vm:7", "site:x", "zz"] {
            assert!(Target::FIRST <= Target::read(text), "{text}");
        }
    }
}
