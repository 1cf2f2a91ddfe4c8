//! `hostwatch status`: asks the running daemon, and shows its answer.

use anyhow::{Context as _, Result};

use super::output;
use super::output::{print, warn};
use crate::cli::ListArgs;
use crate::commands::beside::Beside;
use crate::terminal::{Answer, Status, harmless_json};

/// Prints the status. The exit status is the daemon's verdict, or "not known" if the daemon of other accounts
/// answers.
pub(super) async fn run(args: ListArgs) -> Result<Answer> {
    Ok(show(&args, None).await?.answer())
}

/// Prints the status of all accounts, or one.
pub(super) async fn show(args: &ListArgs, account: Option<&str>) -> Result<Status> {
    let beside = Beside::of(&args.config.file);
    let (daemon, json) = beside.status(account).await?;
    let mut status = serde_json::from_slice::<Status>(&json).with_context(|| {
        format!(
            "what {daemon} answered is no status that this version knows; is the daemon of another version?"
        )
    })?;
    let other = beside.watches_others(&status).filter(|_| account.is_none());
    if let Some(other) = other {
        if args.json {
            warn(&format!("{daemon}: {other}"));
        }
        status.is_of_another(&other);
    }
    if args.json {
        print(&format!("{}\n", harmless_json(String::from_utf8_lossy(&json).trim_end())))?;
    } else {
        print(&status.text(output::style(args.screen)))?;
    }
    Ok(status)
}
