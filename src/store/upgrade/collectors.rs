//! Failing collectors: a store of release 0.2 has an incident for each. Now an account has one incident, whose
//! value is their set.

use std::collections::{BTreeMap, BTreeSet};

use super::incident;
use super::old::{OldIncident, OldPhase, OldStore, is_of_collector};

use crate::alert::{Failing, Incident, Notified, Told, Value, What};
use crate::alert::{Key, Kind, Target};
use crate::model::{AccountName, Collector};

/// The incident of one collector, and the recipient's knowledge of it.
pub(super) type Entry<'a> = (&'a OldIncident, Notified);

/// The key of the joined incident.
pub(super) fn merged(account: &AccountName) -> Key {
    Key::account_wide(account, Kind::CollectorFailing)
}

/// The key under which an incident continues.
pub(super) fn key_now(key: &Key) -> Key {
    if is_of_collector(key) { merged(&key.account) } else { key.clone() }
}

/// The incidents of one account's collectors.
pub(super) fn of_account<'a>(old: &'a OldStore, account: &AccountName) -> Vec<&'a OldIncident> {
    let first = Key::new(account, Kind::CollectorFailing, Target::Other(String::new()));
    let all = old.incidents.range(first..).map(|(_, one)| one);
    let its = all.take_while(|one| one.key.kind == Kind::CollectorFailing && one.key.account == *account);
    its.filter(|one| is_of_collector(&one.key)).collect()
}

pub(super) fn incidents(old: &OldStore) -> impl Iterator<Item = (Incident, String)> {
    let keys = old.incidents.keys().filter(|key| is_of_collector(key));
    let accounts: BTreeSet<&AccountName> = keys.map(|key| &key.account).collect();
    accounts.into_iter().filter_map(|account| joined(&of_account(old, account)))
}

/// The joined incident, which is open while one of them is. Its words come from the one that was told; the next
/// poll renews them.
fn joined(all: &[&OldIncident]) -> Option<(Incident, String)> {
    let goes_on = |one: &&&OldIncident| one.phase.is_open() || one.phase == OldPhase::Pending;
    let rank =
        |one: &&&OldIncident| (one.phase.is_open(), goes_on(one), one.folded_into.is_none(), one.last_change);
    let root = all.iter().max_by_key(rank)?;
    let mut incident = incident::incident(root);
    incident.key = merged(&root.key.account);
    incident.episode = all.iter().map(|one| incident::incident(one).episode).max()?;
    incident.cause = None;
    let failing = all.iter().filter(goes_on).filter_map(|one| Some((collector(one)?, failing(one))));
    let failing: BTreeMap<Collector, Failing> = failing.collect();
    if let Some(since) = failing.values().map(|one| one.since).min() {
        (incident.since, incident.run_since) = (since, since);
    }
    incident.value = Value::Failing(failing);
    let updated_at = all.iter().map(|one| one.updated_at.clone()).max()?;
    Some((incident, updated_at))
}

fn collector(one: &OldIncident) -> Option<Collector> {
    let named = one.key.resource.to_string();
    Collector::ALL.into_iter().find(|collector| collector.as_str() == named)
}

fn failing(one: &OldIncident) -> Failing {
    let good = if one.phase == OldPhase::Recovering { one.streak.max(1) } else { 0 };
    Failing { since: one.held_since.min(one.since), read_at: one.last_observed, good, lasts: false }
}

/// A recipient's knowledge of the joined incident, from its knowledge of each.
pub(super) fn told(incident: &Incident, each: &[Entry<'_>]) -> Notified {
    let knows = |one: &OldIncident, entry: &Notified| one.phase.is_open() && entry.told.knows(one.episode);
    let known: Vec<&Entry<'_>> = each.iter().filter(|(one, entry)| knows(one, entry)).collect();
    let newest = each.iter().max_by_key(|(_, entry)| entry.told.at).map(|(_, entry)| entry);
    let Some(newest) = newest else { return Notified::default() };
    let mut entry = newest.clone();
    entry.told = match known.iter().map(|(_, entry)| &entry.told).min_by_key(|told| told.began) {
        Some(first) => {
            let newest = known.iter().map(|(_, entry)| &entry.told).max_by_key(|told| told.at);
            Told {
                at: newest.map_or(first.at, |one| one.at),
                set: known_set(incident, each, &known),
                what: What::Wrong,
                episode: incident.episode,
                by_first_mail: known.iter().all(|(_, entry)| entry.told.by_first_mail),
                ..first.clone()
            }
        }
        None if incident.phase.is_open() => Told::default(),
        None => Told { episode: incident.episode, ..newest.told.clone() },
    };
    let owed = each.iter().filter_map(|(_, entry)| entry.owed.clone()).min_by_key(|owed| owed.since);
    entry.owed = owed.map(|mut owed| {
        owed.episode = incident.episode;
        owed
    });
    entry
}

/// The collectors that the recipient knows of, directly or from the mail about their cause.
fn known_set(incident: &Incident, each: &[Entry<'_>], known: &[&Entry<'_>]) -> BTreeSet<String> {
    let Value::Failing(failing) = &incident.value else { return BTreeSet::new() };
    let is_told = |key: &Key| known.iter().any(|(one, _)| one.key == *key);
    let is_known = |one: &OldIncident| is_told(&one.key) || one.folded_into.as_ref().is_some_and(is_told);
    let named = each.iter().filter(|(one, _)| is_known(one)).filter_map(|(one, _)| collector(one));
    let named: BTreeSet<Collector> = named.collect();
    let fails = |collector: &&Collector| failing.get(collector).is_some_and(|one| one.good == 0);
    named.iter().filter(fails).map(|one| one.as_str().to_owned()).collect()
}
