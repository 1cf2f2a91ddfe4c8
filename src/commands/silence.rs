//! `hostwatch silence`: no mail of what matches a pattern, for a while. The daemon sees it within a second.

use anyhow::{Result, anyhow, bail};
use chrono::Duration;

use super::beside::open_beside;
use super::output::print;
use crate::cli::Silence;
use crate::clock;
use crate::config;
use crate::store::Store;

pub(super) fn run(silence: &Silence) -> Result<()> {
    let mut store = open_beside(&super::load(&silence.config.file)?)?;
    let now = clock::now();
    if let Some(id) = silence.remove {
        if !store.end_silence(id, now)? {
            bail!("there is no silence {id}; `hostwatch silence --list` shows those that are on");
        }
        return print(&format!("silence {id} ended; what is still wrong is mailed now\n"));
    }
    let (Some(pattern), Some(duration)) = (&silence.pattern, &silence.duration) else {
        return list_silences(&store);
    };
    let duration = config::duration(duration).map_err(|error| anyhow!("--for: {error}"))?;
    let until = now + Duration::from_std(duration)?;
    let id = store.silence(pattern, until, &silence.comment, now)?;
    let overlays = store.silences(now)?;
    let known = store.load()?.incidents;
    let added = overlays.silences.iter().filter(|one| one.id == id);
    let open = known.iter().filter(|incident| incident.phase.is_open());
    let covered = added.flat_map(|one| {
        let covers = |incident: &&crate::alert::Incident| one.covers(&incident.key, incident.name());
        open.clone().filter(covers).map(|incident| format!("  {}  {}\n", incident.key, incident.words()))
    });
    let covered: String = covered.collect();
    let covered = if covered.is_empty() { "  nothing that is open now\n".to_owned() } else { covered };
    print(&format!(
        "silence {id} until {}: no mail of what matches '{pattern}'; what is still wrong then is mailed then\n{covered}",
        until.format("%Y-%m-%d %H:%M UTC")
    ))
}

fn list_silences(store: &Store) -> Result<()> {
    let silences = store.silences(clock::now())?.silences;
    if silences.is_empty() {
        return print("no silences\n");
    }
    let lines = silences.iter().map(|one| {
        let until = one.until.format("%Y-%m-%d %H:%M UTC");
        format!("{:>4}  until {until}  {}  {}\n", one.id, one.pattern, one.comment)
    });
    print(&lines.collect::<String>())
}
