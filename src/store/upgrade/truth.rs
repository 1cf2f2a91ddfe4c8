//! The incidents and cut-offs of a store of release 0.2, converted.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::super::StoreError;
use super::incident::incident;
use super::old::{OldIncident, OldPhase};
use crate::alert::{CutOff, Failing, Incident, Phase, Value};
use crate::alert::{Key, Kind};
use crate::model::{AccountName, Collector};

/// The key under which an incident continues. Each failing collector had one; now an account has one for all.
pub(super) fn key_now(key: &Key) -> Key {
    if key.kind == Kind::CollectorFailing { Key::account_wide(&key.account, key.kind) } else { key.clone() }
}

/// Unknown states had an incident each, and have one for each sort of resource now: the next reading opens it anew.
pub(super) fn incidents(old: &BTreeMap<Key, OldIncident>) -> BTreeMap<Key, Incident> {
    let is_alone = |one: &&OldIncident| !matches!(one.key.kind, Kind::CollectorFailing | Kind::UnknownState);
    let each = old.values().filter(is_alone).map(incident);
    let of_collectors: Vec<_> = old.values().filter(|one| one.key.kind == Kind::CollectorFailing).collect();
    let of_accounts = of_collectors.chunk_by(|one, next| one.key.account == next.key.account);
    let all = each.chain(of_accounts.filter_map(joined));
    all.filter(|one| one.episode > 0 || one.phase != Phase::Resolved)
        .map(|one| (one.key.clone(), one))
        .collect()
}

/// The incident of an account's collectors, which is open while one of theirs is. Its words come from the one that is
/// open longest; the next poll renews them.
fn joined(all: &[&OldIncident]) -> Option<Incident> {
    let open = || all.iter().filter(|one| one.phase.is_open());
    let newest = || all.iter().max_by_key(|one| one.last_change);
    let root = open().min_by_key(|one| one.since).or_else(newest)?;
    let failing = open().filter_map(|one| Some((collector(one)?, failing(one))));
    Some(Incident {
        key: key_now(&root.key),
        episode: all.iter().map(|one| incident(one).episode).max()?,
        severity: open().map(|one| one.severity).max().unwrap_or(root.severity),
        value: Value::Failing(failing.collect()),
        cause: None,
        ..incident(root)
    })
}

fn collector(one: &OldIncident) -> Option<Collector> {
    let named = one.key.resource.to_string();
    Collector::ALL.into_iter().find(|collector| collector.as_str() == named)
}

fn failing(one: &OldIncident) -> Failing {
    let good = if one.phase == OldPhase::Recovering { one.streak.max(1) } else { 0 };
    Failing { since: one.since, read_at: one.last_observed, good, lasts: false }
}

/// The believed date of each account's cut-off.
pub(super) fn cut_offs(
    old: &BTreeMap<Key, OldIncident>,
    now: DateTime<Utc>,
) -> Result<BTreeMap<AccountName, CutOff>, StoreError> {
    let disconnects = old.values().filter(|one| one.key.kind == Kind::Disconnect);
    let known = disconnects.filter(|one| one.ladder.is_some() || one.calendar.is_some());
    known.map(|one| Ok((one.key.account.clone(), cut_off(one, now)?))).collect()
}

/// The fields of the old ladder about the date, under today's names. It had only one highest balance.
fn cut_off(old: &OldIncident, now: DateTime<Utc>) -> Result<CutOff, StoreError> {
    let mut believed = CutOff::default();
    if let Some(mut ladder) = old.ladder.clone() {
        if let Some(highest) = ladder.get_mut("highest") {
            *highest = Some(highest.take()).filter(|highest| !highest.is_null()).into_iter().collect();
        }
        believed = serde_json::from_value(ladder)?;
    }
    // A move that no mail told is younger than every mail.
    believed.paid_at = old.ladder().paid.then_some(now);
    (believed.clear, believed.calendar) = (old.streak, old.calendar);
    Ok(believed)
}
