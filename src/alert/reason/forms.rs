//! How the values of a reason read. Stored as the bare value.

use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::model::when;

/// A value that is stored as it is and has words of its own.
macro_rules! form {
    ($(#[$doc:meta])* $name:ident($value:ty), $self:ident, $f:ident => $write:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(pub(crate) $value);

        impl From<$value> for $name {
            fn from(value: $value) -> Self {
                Self(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&$self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $write
            }
        }
    };
}

form! {
    /// `1 day`, `3 days`.
    Days(i64), self, f => match self.0 {
        1 => f.write_str("1 day"),
        days => write!(f, "{days} days"),
    }
}

form! {
    /// `Tue 24 Mar`.
    Day(NaiveDate), self, f => f.write_str(&when::kept_day(self.0))
}

form! {
    /// `23 min`, `2 h 5 min`, `2 d 5 h`.
    Minutes(u64), self, f => match self.0 {
        0 => f.write_str("less than a minute"),
        minutes @ 1..60 => write!(f, "{minutes} min"),
        minutes => {
            let (hours, days) = (minutes / 60, minutes / 1440);
            let (whole, unit, part, smaller) = match days {
                0 => (hours, "h", minutes % 60, "min"),
                days => (days, "d", hours % 24, "h"),
            };
            write!(f, "{whole} {unit}")?;
            if part == 0 { Ok(()) } else { write!(f, " {part} {smaller}") }
        }
    }
}

form! {
    /// `this poll`, `2 polls in a row`.
    InARow(u32), self, f => match self.0 {
        0 | 1 => f.write_str("this poll"),
        polls => write!(f, "{polls} polls in a row"),
    }
}
