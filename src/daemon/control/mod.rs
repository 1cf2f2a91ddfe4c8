//! The daemon's answers to commands, on a Unix socket of its own that browsers do not reach.
//!
//! A command sends one [`Request`] and gets one [`Reply`]. [`records`] answers requests about incidents, the
//! notification log and the store. It serves the pipeline, or from the store alone if no daemon runs.

mod desk;
mod protocol;
mod records;
mod socket;

pub(super) use desk::{Desk, Question};
pub(crate) use protocol::{Asked, Reply, Request, whole};
pub(crate) use records::{World, answer as answer_from, answer_from_store};
pub(crate) use socket::{open, path, places, short};
