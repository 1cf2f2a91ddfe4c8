//! `hostwatch reload`: has the running daemon take up its configuration.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::print;

pub(super) async fn run(file: &Path) -> Result<()> {
    match Beside::of(file).reload().await? {
        Ok(()) => print("The configuration was reloaded.\n"),
        Err(reason) => bail!("{reason}"),
    }
}
