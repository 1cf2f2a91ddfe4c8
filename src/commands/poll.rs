//! `hostwatch poll`: has the running daemon poll the provider now, and shows the results.

use anyhow::Result;

use super::output::{laid_out, print};
use super::records::{answer, unfit};
use crate::cli::OfAccount;
use crate::daemon::control::{Reply, Request};
use crate::terminal;
use crate::view::PolledRecords;

/// Prints the results. The answer says whether all polls succeeded.
pub(super) async fn run(poll: OfAccount) -> Result<terminal::Answer> {
    let request = Request::Poll { account: poll.account };
    let Reply::Polled(polled) = answer(&poll.list.config.file, request).await? else { return Err(unfit()) };
    print(&laid_out(poll.list.json, poll.list.screen, &*polled, PolledRecords::text)?)?;
    Ok(polled.answer())
}
