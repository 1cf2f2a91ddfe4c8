//! Collectors: the times at which each listing of an account is read, and the passing on of results. They keep
//! no state of the account and judge nothing.

mod collectors;
mod poller;
mod report;
mod scheduler;
mod sweep;

pub(crate) use poller::{AccountPlan, Update};
pub(crate) use report::read_report;
pub(crate) use scheduler::run;

use crate::model::{AccountName, Collector};

/// A span that names account and collector in all log lines inside. There is one for each poll, not for each
/// collector, since there are thousands of collectors.
pub(crate) fn span(account: &AccountName, collector: Collector) -> tracing::Span {
    tracing::error_span!("poll", %account, collector = collector.as_str())
}
