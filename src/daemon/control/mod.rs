//! What the daemon answers to commands beside it, on a Unix socket of its own that no browser reaches.
//!
//! A command asks one [`Request`] and gets one [`Answer`]. What rests on the store alone is answered by
//! [`records`], with or without a daemon.

mod desk;
mod protocol;
mod records;
mod socket;

pub(super) use desk::Desk;
pub(crate) use protocol::{Reply, Request, whole};
pub(crate) use records::{Watching, answer as answer_from};
pub(crate) use socket::{open, path, places};
