//! `hostwatch healthcheck`: whether a daemon runs, with all of its loops.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::print;
use crate::daemon::control::{Reply, Request};
use crate::model::Language;
use crate::view::words;

pub(super) async fn run(file: &Path) -> Result<()> {
    let answer = Beside::of(file).ask(&Request::Health).await?;
    let Ok(Reply::Health(health)) = answer else { bail!("the daemon does not say how it is") };
    if !health.stuck.is_empty() {
        bail!("the daemon answers, but its loops are stuck: {}; restart it", health.stuck.join(", "));
    }
    let up = words::lasted(health.now - health.started_at, Language::En);
    print(&format!("hostwatch runs, up {up}; all of its loops work\n"))
}
