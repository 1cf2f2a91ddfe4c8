//! `hostwatch healthcheck`: whether a daemon runs, and all of its loops with it.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::print;
use crate::daemon::control::{Reply, Request};
use crate::terminal::health;

pub(super) async fn run(file: &Path) -> Result<()> {
    let answer = Beside::of(file).ask(&Request::Health).await?;
    let Ok(Reply::Health(health)) = answer else { bail!("the daemon does not say how it is") };
    if !health.stuck.is_empty() {
        bail!("the daemon answers, but its loops are stuck: {}; restart it", health.stuck.join(", "));
    }
    print(&health::text(health.started_at, health.now))
}
