//! `hostwatch why`: the stored reasons of what was decided about an incident.

use anyhow::{Result, bail};

use super::beside::{near_keys, open_beside};
use super::output::print;
use crate::cli::Why;

pub(super) fn run(why: &Why) -> Result<()> {
    let key = why.key.as_str();
    let store = open_beside(&super::load(&why.config.file)?)?;
    let decisions = store.decisions(key, 50)?;
    if decisions.is_empty() {
        bail!("nothing was ever decided about '{key}'; {}", near_keys(&store, key)?);
    }
    let lines =
        decisions.iter().map(|one| format!("{}  {}\n", one.at.format("%Y-%m-%d %H:%M:%S UTC"), one.reason));
    print(&lines.collect::<String>())
}
