//! `hostwatch incidents`: what the store knows of incidents, the open ones first.

use std::path::Path;

use anyhow::Result;

use super::beside::open_beside;
use super::output::print;
use crate::alert::{Incident, Phase};
use crate::clock;

pub(super) fn run(file: &Path) -> Result<()> {
    let store = open_beside(&super::load(file)?)?;
    let overlays = store.silences(clock::now())?;
    let mut incidents = store.load()?.incidents;
    incidents.retain(|incident| incident.phase != Phase::Watching);
    incidents.sort_by(|a, b| {
        let rank = |incident: &Incident| (!incident.phase.is_open(), std::cmp::Reverse(incident.severity));
        rank(a).cmp(&rank(b)).then_with(|| b.last_change.cmp(&a.last_change))
    });
    if incidents.is_empty() {
        return print("no incidents\n");
    }
    let mut text = String::new();
    for incident in incidents {
        let since = incident.since.format("%Y-%m-%d %H:%M UTC");
        let overlay = overlays.words(&incident, clock::now()).map(|words| format!("; {words}"));
        text.push_str(&format!(
            "{:<10} {:<8} since {since}  {}\n           {}: {}; {}{}\n",
            incident.phase.as_str(),
            incident.severity,
            incident.words(),
            incident.key,
            incident.detail,
            incident.reason,
            overlay.unwrap_or_default()
        ));
    }
    print(&text)
}
