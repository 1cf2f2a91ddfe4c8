//! The output of commands: values in, text out. Pure: width and colours are arguments. Foreign text goes
//! through [`text::plain`] before it is laid out, so that a provider's text can neither move the cursor, nor
//! reverse the line, nor ring the bell.

pub(crate) mod doctor;
pub(crate) mod forecast;
mod layout;
mod orders;
mod records;
pub(crate) mod rehearsal;
mod status;
mod text;
mod words;

pub(crate) use crate::view::Status;
pub(crate) use forecast::Forecasts;
pub(crate) use layout::Style;
pub(crate) use text::{harmless_json, in_columns, name};

/// The meaning of a command's exit status for scripts. Of several accounts the greatest answer decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// No action is needed.
    Fine,
    /// Not known, which is never taken for fine.
    Unknown,
    NeedsYou,
}

impl Answer {
    /// The exit status. 2 is clap's, for a wrong command line.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::NeedsYou => 1,
            Self::Unknown => 3,
        }
    }
}
