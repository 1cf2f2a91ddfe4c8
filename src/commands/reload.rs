//! `hostwatch reload`: has the running daemon take up its configuration.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::print;
use crate::daemon::control::{Reply, Request};

/// Runs the command.
///
/// # Errors
/// If no daemon answers, or if the configuration was refused.
pub(super) async fn run(file: &Path) -> Result<()> {
    match Beside::of(file).ask(&Request::Reload).await? {
        Ok(Reply::Done(said)) => print(&format!("{said}\n")),
        Ok(_) => bail!("the daemon answered something else; is it of another version?"),
        Err(reason) => bail!("{reason}"),
    }
}
