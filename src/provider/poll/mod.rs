//! Collectors: when each listing of an account is read, and what is passed on. Keeps no state of the
//! account and judges nothing.

mod collectors;
mod report;
mod scheduler;
mod sweep;

use chrono::{DateTime, Utc};

use crate::model::snapshot::PollEnd;
use crate::model::{AccountName, Collector, Read};

pub use report::read_report;
pub use scheduler::{Plan, run};

/// What a collector has to say: listings as they come, and how the poll ended.
#[derive(Debug)]
pub struct Update {
    pub account: AccountName,
    pub collector: Collector,
    /// When the listings were read.
    pub at: DateTime<Utc>,
    pub reads: Vec<Read>,
    /// Of the last update of a poll.
    pub end: Option<PollEnd>,
    /// Records that could not be decoded, with what was wrong with the first few.
    pub rejected: u64,
    pub problems: Vec<String>,
}
