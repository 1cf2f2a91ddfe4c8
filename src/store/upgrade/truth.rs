//! The incidents and cut-offs of a store of release 0.2, converted.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::super::StoreError;
use super::collectors;
use super::incident::incident;
use super::old::{OldIncident, OldStore, is_of_collector};
use crate::alert::{CutOff, Incident, Phase};
use crate::alert::{Key, Kind};
use crate::model::AccountName;

/// An incident, and the time at which its row was last written.
pub(super) type Written = (Incident, String);

/// Unknown states had an incident each, and have one for each sort of resource now: the next reading opens it anew.
pub(super) fn incidents(old: &OldStore) -> BTreeMap<Key, Written> {
    let each =
        old.incidents.values().filter(|one| !is_of_collector(&one.key) && one.key.kind != Kind::UnknownState);
    let each = each.map(|one| (incident(one), one.updated_at.clone()));
    let all = each.chain(collectors::incidents(old));
    all.filter(|(one, _)| one.episode > 0 || one.phase != Phase::Resolved)
        .map(|(one, at)| (one.key.clone(), (one, at)))
        .collect()
}

/// The believed date of each account's cut-off.
pub(super) fn cut_offs(
    old: &OldStore,
    now: DateTime<Utc>,
) -> Result<BTreeMap<AccountName, CutOff>, StoreError> {
    let disconnects = old.incidents.values().filter(|one| one.key.kind == Kind::Disconnect);
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
    let ladder = old.ladder();
    // A move that no mail told is younger than every mail.
    believed.paid_at = ladder.paid.then_some(now);
    (believed.clear, believed.calendar) = (old.streak, old.calendar);
    Ok(believed)
}
