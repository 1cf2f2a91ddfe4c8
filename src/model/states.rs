//! States as open enums (interface 3). A value is known whatever its case, blanks and `_` or `-` between its words; an
//! unknown one keeps its own name.

use std::fmt;

macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// A value that the interface does not list, as it came.
            Unknown(Box<str>),
        }

        impl $name {
            /// All values that the interface lists, in its order.
            pub(crate) const KNOWN: &'static [Self] = &[$(Self::$variant),*];

            /// The names of the listed values.
            pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
                Self::KNOWN.iter().map(Self::as_str)
            }

            /// The provider's name.
            pub(crate) fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Unknown(text) => text,
                }
            }

            /// Whether the interface lists it.
            pub(crate) fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => {
                        let known = Self::KNOWN.iter().find(|known| is_same(known.as_str(), other));
                        known.cloned().unwrap_or_else(|| Self::Unknown(other.trim().into()))
                    }
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Whether a state that the interface does not list names a failure.
pub(crate) fn sounds_bad(state: &str) -> bool {
    let state = state.to_lowercase();
    ["error", "fail", "block", "suspend"].iter().any(|word| state.contains(word))
}

/// Whether two spellings are of one state.
fn is_same(one: &str, other: &str) -> bool {
    let letters = |text: &str| {
        let letters = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    letters(one) == letters(other)
}

open_enum! {
    /// State of a VM (interface 3.1).
    VmState {
        Pending = "pending", Building = "building", Active = "active",
        Stopped = "stopped", Blocked = "blocked", Error = "error",
    }
}

open_enum! {
    /// State of a site (interface 3.2).
    SiteState {
        Active = "Active", Stopped = "Stopped", Building = "Building", Starting = "Starting",
        Stopping = "Stopping", Restarting = "Restarting", Updating = "Updating",
        StoppedByAdmin = "StoppedByAdmin", StoppedByService = "StoppedByService",
        StoppedByQuota = "StoppedByQuota", Backuping = "Backuping", Restoring = "Restoring",
        Error = "Error",
    }
}

open_enum! {
    /// State of a container (interface 3.3). On the wire it is a number, and the interface does not explain the
    /// numbers. A number that the configuration does not name stays `Unknown("7")`.
    ContainerState {
        Enabled = "ENABLED", DisabledByService = "DISABLED_BY_SERVICE",
        DisabledByAdmin = "DISABLED_BY_ADMIN", DisabledByQuota = "DISABLED_BY_QUOTA",
    }
}

open_enum! {
    /// State of a billing order (interface 3.4).
    OrderState {
        Awaiting = "AWAITING", Ordered = "ORDERED", Suspended = "SUSPENDED",
        Completed = "COMPLETED", Rejected = "REJECTED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_round_trip_and_unknown_ones_keep_their_name() {
        for state in SiteState::KNOWN {
            assert_eq!(&SiteState::from(state.as_str()), state);
            assert!(state.is_known());
        }
        let odd = VmState::from("migrating");
        assert_eq!((odd.as_str(), odd.is_known()), ("migrating", false));
        for spelling in ["error", "ERROR", "Error", " error ", "e-r_r or"] {
            assert_eq!(VmState::from(spelling), VmState::Error, "{spelling}");
        }
        for spelling in ["disabled_by_service", "DisabledByService", "disabled-by service"] {
            assert_eq!(ContainerState::from(spelling), ContainerState::DisabledByService, "{spelling}");
        }
        assert_eq!(SiteState::from("stopped by quota"), SiteState::StoppedByQuota);
        assert_eq!(OrderState::from("Suspended"), OrderState::Suspended);
        for odd in ["errors", "err", "", "7"] {
            assert!(!VmState::from(odd).is_known(), "{odd}");
        }
    }
}
