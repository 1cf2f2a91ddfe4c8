//! `hostwatch status`: asks the running daemon, and shows what it answers.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::output;
use super::output::{print, warn};
use crate::cli::{self, CONFIG_FILE};
use crate::commands::ask::DaemonAddress;
use crate::commands::beside::Beside;
use crate::http::DEFAULT_LISTEN_ADDRESS;
use crate::terminal::{Answer, Status, harmless_json};

/// Prints the status; the answer is the daemon's verdict, and that nothing is known where another daemon answers.
pub(super) async fn run(args: cli::StatusArgs) -> Result<Answer> {
    let file = args.config.file.as_path();
    let beside = Beside::of(file);
    let (daemon, json) = answer(&args, &beside).await?;
    let mut status = Status::read(&json).with_context(|| {
        format!(
            "what {daemon} answered is no status that this version knows; is the daemon of another version?"
        )
    })?;
    // Who names an address without a configuration asks about that daemon, whatever it watches.
    let meant = beside.settings.filter(|_| args.url.is_none() || file != Path::new(CONFIG_FILE));
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

/// Who answers, and what: the address that was named, else the daemon's socket, else where a daemon listens by default.
async fn answer(args: &cli::StatusArgs, beside: &Beside) -> Result<(DaemonAddress, Vec<u8>)> {
    let file = args.config.file.as_path();
    let daemons = match &args.url {
        Some(url) => vec![DaemonAddress::Web(url.clone())],
        None if !beside.sockets.is_empty() => beside.sockets.clone(),
        // Who named a file means that one; the default may well be for root alone.
        None if beside.settings.is_none() && file != Path::new(CONFIG_FILE) => {
            bail!("{}: cannot be read; `hostwatch check-config` says why", file.display());
        }
        None => {
            let url = format!("http://{DEFAULT_LISTEN_ADDRESS}").parse().context("the default address")?;
            vec![DaemonAddress::Web(url)]
        }
    };
    let is_guess = args.url.is_none() && beside.sockets.is_empty();
    let mut kept = None;
    for daemon in daemons {
        match daemon.status().await {
            Ok(json) => {
                if is_guess {
                    beside.is_ours(&daemon).await?;
                }
                return Ok((daemon, json));
            }
            Err(error) => error.keep(&mut kept)?,
        }
    }
    Err(kept.context("no daemon was asked")?.into())
}
