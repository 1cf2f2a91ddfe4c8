//! `hostwatch poll`: has the running daemon poll the provider now, and shows the results.

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::{laid_out, print};
use crate::cli::Poll;
use crate::daemon::control::{Reply, Request};
use crate::terminal;
use crate::view::PolledRecords;

/// Prints the results. The answer says whether all polls succeeded.
pub(super) async fn run(poll: Poll) -> Result<terminal::Answer> {
    let request = Request::Poll { account: poll.account };
    let answered = Beside::of(&poll.list.config.file).ask(&request).await?;
    let Reply::Polled(polled) = answered.map_err(anyhow::Error::msg)? else {
        bail!("the daemon answered something else; is it of another version?");
    };
    print(&laid_out(poll.list.json, poll.list.screen, &*polled, PolledRecords::text)?)?;
    Ok(polled.answer())
}
