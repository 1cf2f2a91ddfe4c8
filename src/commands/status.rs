//! `hostwatch status`: asks the running daemon, and shows its answer.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::output;
use super::output::{print, warn};
use crate::cli::{self, CONFIG_FILE};
use crate::commands::ask::DaemonAddress;
use crate::commands::beside::Beside;
use crate::terminal::{Answer, Status, harmless_json};

/// Prints the status. The exit status is the daemon's verdict, or "not known" if the daemon of other accounts
/// answers.
pub(super) async fn run(args: cli::StatusArgs) -> Result<Answer> {
    let file = args.config.file.as_path();
    let beside = Beside::of(file);
    let (daemon, json) = match &args.url {
        Some(url) => {
            let daemon = DaemonAddress::Web(url.clone());
            let json = daemon.status().await?;
            (daemon, json)
        }
        None => beside.status().await?,
    };
    let mut status = Status::read(&json).with_context(|| {
        format!(
            "what {daemon} answered is no status that this version knows; is the daemon of another version?"
        )
    })?;
    // A user who names an address and no configuration asks about that daemon, whatever it watches.
    let meant = beside.settings.ok().filter(|_| args.url.is_none() || file != Path::new(CONFIG_FILE));
    let meant = meant.map(|settings| settings.accounts.iter().map(|one| one.name().clone()).collect());
    if let Some(other) = meant.and_then(|meant| status.watches_others(&meant)) {
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
    Ok(status.answer())
}
