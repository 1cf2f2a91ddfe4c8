//! `hostwatch reload`: has the running daemon take up its configuration.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::print;
use crate::config::{self, Environment};

pub(super) async fn run(file: &Path) -> Result<()> {
    let beside = Beside::of(file);
    let asked = beside.reload().await;
    if asked.is_err() && beside.settings.is_none() {
        // The file says where the daemon is, and why it would be refused.
        config::load(Some(file), &Environment::of_process())?;
    }
    match asked? {
        Ok(()) => print("The configuration was reloaded.\n"),
        Err(reason) => bail!("{reason}"),
    }
}
