//! The daemon's store, for commands beside it.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::config::Settings;
use crate::store::Store;

/// What to say to a key that nobody knows.
pub(super) fn near_keys(store: &Store, key: &str) -> Result<String> {
    let known = store.load()?.incidents;
    let close = known.iter().map(|incident| incident.key.to_string());
    let close: Vec<String> =
        close.filter(|other| other.contains(key) || key.contains(other.as_str())).take(10).collect();
    Ok(match close.is_empty() {
        true => "`hostwatch incidents` lists the keys".to_owned(),
        false => format!("did you mean {}?", close.join(", ")),
    })
}

pub(super) fn open_beside(settings: &Settings) -> Result<Store> {
    if settings.email.is_none() {
        bail!("without [email] nothing is stored; the status page shows what the daemon knows");
    }
    let path: &Path = &settings.store_path;
    Store::open_beside(path).with_context(|| format!("is the daemon's store at {}?", path.display()))
}
