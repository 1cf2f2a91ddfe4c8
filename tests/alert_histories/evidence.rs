//! What a reading says of each incident, judged anew and more simply than the rules do: a second opinion.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use hostwatch::alert::{Key, Kind};
use hostwatch::model::{AccountBook, Collector, FailureKind, Group};

use crate::life::name;
use crate::ops::{CONTAINERS, Op, Rows, SITES, VMS};

/// What one step showed.
pub type Evidence = BTreeMap<Key, Sign>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Seen wrong.
    Bad,
    /// Seen right, or gone from a listing that shows everything.
    Good,
}

/// Remembers what a reading alone does not tell.
#[derive(Default)]
pub struct Witness {
    /// Where a site was seen last.
    homes: BTreeMap<u64, u64>,
    rejected: BTreeSet<Collector>,
}

impl Witness {
    /// What this shows. Of an incident that is not in it, it shows nothing.
    pub fn look(&mut self, op: &Op, _book: &AccountBook, _now: DateTime<Utc>) -> Evidence {
        let mut evidence = Evidence::new();
        match op {
            Op::Vms { rows, complete } => {
                listed(&mut evidence, &VMS, rows, *complete, vm);
                unknown(&mut evidence, "vm", rows, *complete, &["migrating"]);
                self.ended(&mut evidence, Collector::Vms, None);
            }
            Op::Containers { rows, complete } => {
                listed(&mut evidence, &CONTAINERS, rows, *complete, container);
                unknown(&mut evidence, "container", rows, *complete, &["7"]);
                if *complete {
                    // Sites go with their container.
                    let left = |home: u64| rows.iter().any(|&(id, _)| id == home);
                    for id in SITES {
                        if rows.is_empty() || self.homes.get(&id).is_some_and(|&home| !left(home)) {
                            self.homes.remove(&id);
                            sign(&mut evidence, id, &site("gone"));
                        }
                    }
                    // The state of sites that nobody knows went with the last of them.
                    unknown(&mut evidence, "site", &Vec::new(), rows.is_empty(), &["Thawing"]);
                }
                self.ended(&mut evidence, Collector::Containers, None);
            }
            Op::Sites { home, rows, complete, ended } => {
                for &(id, state) in rows {
                    self.homes.insert(id, *home);
                    sign(&mut evidence, id, &site(state));
                }
                for id in SITES.into_iter().filter(|id| *complete && rows.iter().all(|row| row.0 != *id)) {
                    // Elsewhere it may be well or not: this listing says nothing of it.
                    if self.homes.get(&id).is_none_or(|known| known == home) {
                        self.homes.remove(&id);
                        sign(&mut evidence, id, &site("gone"));
                    }
                }
                unknown(&mut evidence, "site", rows, *complete, &["Thawing"]);
                if *ended {
                    self.ended(&mut evidence, Collector::Sites, None);
                }
            }
            Op::Report(bill) => {
                let clear = if bill.is_all_clear() { Sign::Good } else { Sign::Bad };
                evidence.insert(Key::account_wide(&name(), Kind::Disconnect), clear);
                let suspended = *bill == crate::ops::Bill::Suspended;
                let order = if suspended { Sign::Bad } else { Sign::Good };
                evidence.insert(Key::new(&name(), Kind::OrderSuspended, 7), order);
                self.ended(&mut evidence, Collector::ExpectedBalance, None);
            }
            Op::Fails(collector, kind) => self.ended(&mut evidence, *collector, Some(*kind)),
            Op::Wait(_) | Op::Restart(_) | Op::Clock(_) | Op::Smtp(_) | Op::Silence { .. } | Op::Ack => {}
        }
        evidence
    }

    /// A new start knows nothing of how polls went before.
    pub fn forget_polls(&mut self) {
        self.rejected.clear();
    }

    fn ended(&mut self, evidence: &mut Evidence, collector: Collector, failed: Option<FailureKind>) {
        use FailureKind as F;
        let report = collector == Collector::ExpectedBalance;
        let failing = match failed {
            None => Some(Sign::Good),
            Some(F::Other) => Some(Sign::Bad),
            Some(F::NotFound) if !report => Some(Sign::Bad),
            Some(F::NotFound | F::Credentials | F::ReportError) => None,
        };
        let key = Key::new(&name(), Kind::CollectorFailing, collector.as_str());
        evidence.extend(failing.map(|sign| (key, sign)));
        if report {
            let sign = match failed {
                None => Some(Sign::Good),
                Some(F::NotFound | F::ReportError) => Some(Sign::Bad),
                Some(F::Other | F::Credentials) => None,
            };
            let key = Key::account_wide(&name(), Kind::BillingReport);
            evidence.extend(sign.map(|sign| (key, sign)));
        }
        if failed == Some(F::Credentials) {
            self.rejected.insert(collector);
        } else {
            self.rejected.remove(&collector);
        }
        let group: Group = collector.group();
        let key = Key::new(&name(), Kind::CredentialsRejected, group.as_str());
        match failed {
            Some(F::Credentials) => {
                evidence.insert(key, Sign::Bad);
            }
            None if self.rejected.iter().all(|other| other.group() != group) => {
                evidence.insert(key, Sign::Good);
            }
            None | Some(F::Other | F::NotFound | F::ReportError) => {}
        }
    }
}

/// What a state says of each kind.
type Says = Vec<(Kind, Sign)>;

pub fn vm(state: &str) -> Says {
    use Sign::{Bad, Good};
    let (error, blocked, stopped, stuck) = (Kind::VmError, Kind::VmBlocked, Kind::VmStopped, Kind::VmStuck);
    match state {
        "active" | "gone" => vec![(error, Good), (blocked, Good), (stopped, Good), (stuck, Good)],
        "stopped" => vec![(error, Good), (blocked, Good), (stopped, Bad), (stuck, Good)],
        "error" => vec![(error, Bad), (stuck, Good)],
        "blocked" => vec![(blocked, Bad), (stuck, Good)],
        "building" => vec![(stuck, Bad)],
        _ => Vec::new(),
    }
}

pub fn container(state: &str) -> Says {
    match state {
        "ENABLED" | "gone" => vec![(Kind::ContainerDisabled, Sign::Good)],
        "DISABLED_BY_SERVICE" | "DISABLED_BY_QUOTA" => vec![(Kind::ContainerDisabled, Sign::Bad)],
        _ => Vec::new(),
    }
}

pub fn site(state: &str) -> Says {
    use Sign::{Bad, Good};
    let (error, blocked, stuck) = (Kind::SiteError, Kind::SiteBlocked, Kind::SiteStuck);
    match state {
        "Active" | "Stopped" | "gone" => vec![(error, Good), (blocked, Good), (stuck, Good)],
        "Error" => vec![(error, Bad), (stuck, Good)],
        "StoppedByService" | "StoppedByQuota" => vec![(blocked, Bad), (stuck, Good)],
        "Backuping" => vec![(stuck, Bad)],
        _ => Vec::new(),
    }
}

fn sign(evidence: &mut Evidence, id: u64, says: &Says) {
    evidence.extend(says.iter().map(|&(kind, sign)| (Key::new(&name(), kind, id), sign)));
}

fn listed(evidence: &mut Evidence, ids: &[u64], rows: &Rows, complete: bool, says: fn(&str) -> Says) {
    for &id in ids {
        match rows.iter().find(|row| row.0 == id) {
            Some((_, state)) => sign(evidence, id, &says(state)),
            None if complete => sign(evidence, id, &says("gone")),
            None => {}
        }
    }
}

/// States that nobody knows are incidents of their own.
fn unknown(evidence: &mut Evidence, sort: &str, rows: &Rows, complete: bool, odd: &[&str]) {
    for state in odd {
        let key = Key::new(&name(), Kind::UnknownState, format!("{sort}:{state}"));
        if rows.iter().any(|row| row.1 == *state) {
            evidence.insert(key, Sign::Bad);
        } else if complete {
            evidence.insert(key, Sign::Good);
        }
    }
}
