//! What commands print: values in, text out. Pure; knows no terminal, so that its width and whether it
//! has colours are told. Text of others goes through [`text::plain`] before it is laid out: nothing that
//! a provider wrote can move the cursor, turn the line or ring the bell.

mod sheet;
pub mod status;
mod text;
mod words;

pub use sheet::Style;
pub use status::Status;

/// What a script learns from a command's exit status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing needs anybody.
    Fine,
    NeedsYou,
    /// Not known; never taken for fine.
    Unknown,
}

impl Answer {
    /// The exit status; 2 is clap's, for a wrong command line.
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::NeedsYou => 1,
            Self::Unknown => 3,
        }
    }
}
