//! `hostwatch poll`: has the running daemon poll the provider now, and shows the status after it.

use anyhow::Result;

use super::output::warn;
use super::records::{answer, unfit};
use super::status;
use crate::cli::OfAccount;
use crate::daemon::control::{Reply, Request};
use crate::model::freshness::sees_states;
use crate::terminal::Answer;
use crate::view::Status;

/// Prints the status. The answer says whether everything that was requested was read: states and the balance.
pub(super) async fn run(poll: OfAccount) -> Result<Answer> {
    let OfAccount { list, account } = poll;
    let request = Request::Poll { account: account.clone() };
    let Reply::Polled(unfinished) = answer(&list.config.file, request).await? else { return Err(unfit()) };
    let status = status::show(&list, account.as_deref()).await?;
    for (account, collector) in &unfinished {
        warn(&format!("still being read: {} of account {account}", collector.words()));
    }
    Ok(if unfinished.is_empty() && !has_failed(&status) { Answer::Fine } else { Answer::NeedsYou })
}

/// Whether the poll failed. It does not ask for charges, so their failures of a week do not count.
fn has_failed(status: &Status) -> bool {
    let mut rows = status.accounts.iter().flat_map(|account| &account.collectors);
    rows.any(|row| sees_states(row.collector) && row.success == Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Collector, Language};
    use crate::unit::account::{ended, full, read_at, snapshot};
    use crate::view::{About, Alerting, Query, Reader};

    #[test]
    fn a_poll_is_judged_only_by_its_own_questions() {
        for (collector, want) in [(Collector::Charges, false), (Collector::Vms, true)] {
            let mut book = full("main");
            book.end(collector, ended(Some("500 Internal Server Error")), read_at());
            let about = About { version: "0.1.0", commit: "abcdef", started_at: read_at() };
            let reader = Reader::new(Language::En, read_at());
            let status =
                Status::new(&snapshot([&book]), &Alerting::default(), &about, &Query::default(), reader);
            assert_eq!(has_failed(&status), want, "{collector:?}");
        }
    }
}
