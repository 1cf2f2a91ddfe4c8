//! `hostwatch healthcheck`: whether a daemon runs, with all of its loops.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::print;
use crate::daemon::control::{Reply, Request};

pub(super) async fn run(file: &Path) -> Result<()> {
    let answer = Beside::of(file).ask(&Request::Health).await?;
    let Ok(Reply::Health { stuck }) = answer else { bail!("the daemon does not say how it is") };
    if !stuck.is_empty() {
        bail!("the daemon answers, but its loops are stuck: {}; restart it", stuck.join(", "));
    }
    print("hostwatch runs; all of its loops work\n")
}
