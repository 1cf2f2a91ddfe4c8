//! `hostwatch ack`: somebody looks after an incident. The daemon sees it within a second.

use anyhow::{Result, bail};

use super::beside::{near_keys, open_beside};
use super::output::print;
use crate::alert::{Key, Kind};
use crate::cli::Ack;
use crate::clock;

pub(super) fn run(ack: &Ack) -> Result<()> {
    let mut store = open_beside(&super::load(&ack.config.file)?)?;
    let known = store.load()?.incidents;
    let Some(incident) = known.iter().find(|incident| incident.key.to_string() == ack.key) else {
        bail!("there is no incident '{}'; {}", ack.key, near_keys(&store, &ack.key)?);
    };
    let key: &Key = &incident.key;
    if ack.remove {
        if !store.take_back_ack(key)? {
            bail!("{key} was not acknowledged");
        }
        return print(&format!("{key}: no longer acknowledged\n"));
    }
    if !incident.phase.is_open() {
        bail!("{key} is not open: it is {}; there is nothing to acknowledge", incident.phase.as_str());
    }
    store.acknowledge(key, incident.episode, &ack.comment, clock::now())?;
    let effect = if key.kind == Kind::Disconnect {
        "the next rungs are mailed all the same: each is news"
    } else {
        "no more reminders of it; its end is mailed"
    };
    print(&format!("{key}: acknowledged; {effect}\n"))
}
