//! Identifiers as types of their own, so that a site's id is never taken for a container's.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::as_text::serde_as_text;

macro_rules! numeric_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Wraps the provider's number.
            pub const fn new(value: u64) -> Self {
                Self(value)
            }
            /// The provider's number.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl From<u64> for $name {
            fn from(value: u64) -> Self {
                Self(value)
            }
        }

        impl From<$name> for u64 {
            fn from(id: $name) -> u64 {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

numeric_id! {
    /// `id` of a VM (interface 2.5); `vm_id` is another field, a string.
    VmId,
    /// `id` of a container (interface 2.1).
    ContainerId,
    /// `id` of a site (interface 2.3).
    SiteId,
    /// `id` of an IP record (interface 2.7).
    IpId,
    /// `id` of a billing order (interface 2.8).
    OrderId,
}

/// The name in `[accounts.NAME]`, one or more of `[A-Za-z0-9_-]`; the `account` label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AccountName(Arc<str>);

impl AccountName {
    /// The name as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AccountName {
    type Err = BadAccountName;

    fn from_str(text: &str) -> Result<Self, BadAccountName> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.is_empty() || !text.chars().all(fits) {
            return Err(BadAccountName);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

serde_as_text!(AccountName);

/// An account's name is empty or has a character outside `[A-Za-z0-9_-]`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an account's name is made of letters, digits, '_' and '-'")]
pub(crate) struct BadAccountName;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_names_keep_to_the_label_alphabet() {
        for good in ["main", "a", "Shop_2-eu"] {
            assert_eq!(good.parse::<AccountName>().unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a/b", "a\n", "é", "a.b"] {
            assert_eq!(bad.parse::<AccountName>(), Err(BadAccountName), "{bad:?}");
        }
    }
}
