//! `hostwatch status`: asks the running daemon, and shows what it answers.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::output::print;
use super::screen;
use crate::cli::{self, CONFIG_FILE, LISTEN_ADDRESS};
use crate::commands::ask::Door;
use crate::config::{self, Environment};
use crate::daemon::control;
use crate::terminal::{Answer, Status, harmless_json};

/// Prints the status; the answer is the daemon's verdict.
pub(super) async fn run(args: cli::Status) -> Result<Answer> {
    let door = door(&args)?;
    let json = door.status().await?;
    let status = Status::read(&json).with_context(|| {
        format!(
            "what {door} answered is no status that this version knows; is the daemon of another version?"
        )
    })?;
    if args.json {
        print(&format!("{}\n", harmless_json(String::from_utf8_lossy(&json).trim_end())))?;
    } else {
        print(&status.text(screen::style(args.screen)))?;
    }
    Ok(status.answer())
}

/// The address that was named, else the socket beside the store, else where a daemon listens by default.
fn door(args: &cli::Status) -> Result<Door> {
    if let Some(url) = &args.url {
        return Ok(Door::Web(url.clone()));
    }
    let file = args.config.file.as_path();
    match config::find_store(Some(file), &Environment::of_process()) {
        Some(store) => {
            let socket = control::path(&store);
            if socket.exists() {
                return Ok(Door::Socket(socket));
            }
        }
        // Who named a file means that one; the default may well be for root alone.
        None if file != Path::new(CONFIG_FILE) => {
            bail!("{}: cannot be read; `hostwatch check-config` says why", file.display());
        }
        None => {}
    }
    let url = format!("http://{LISTEN_ADDRESS}").parse().context("the default address")?;
    Ok(Door::Web(url))
}
