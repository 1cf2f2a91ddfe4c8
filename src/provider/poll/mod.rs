//! Collectors: when each listing of an account is read, and what is passed on. Keeps no state of the
//! account and judges nothing.

mod collectors;
mod poller;
mod report;
mod scheduler;
mod sweep;

pub(crate) use poller::{AccountPlan, Update};
pub(crate) use report::read_report;
pub(crate) use scheduler::run;

use crate::model::{AccountName, Collector};

/// Names account and collector in whatever is logged within. One a poll, not one a collector: there are thousands.
pub(crate) fn span(account: &AccountName, collector: Collector) -> tracing::Span {
    tracing::error_span!("poll", %account, collector = collector.as_str())
}
