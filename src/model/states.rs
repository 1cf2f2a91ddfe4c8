//! States as open enums (interface 3): an unknown value keeps its own name.

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
                    other => Self::Unknown(other.into()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
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
        // Case matters: the interface writes VM states in lower case and site states with a capital.
        assert!(!VmState::from("Active").is_known());
    }
}
