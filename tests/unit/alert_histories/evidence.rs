//! What a reading says of each incident, judged anew and more simply than the rules do: a second opinion.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Key, Kind};
use crate::model::{Collector, FailureKind, Group};
use chrono::{DateTime, Duration, Utc};

use super::life::name;
use super::ops::{Bill, CONTAINERS, Op, Rows, SITES, VMS};

/// What one step showed.
pub type Evidence = BTreeMap<Key, Sign>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Seen wrong.
    Bad,
    /// Seen right, or gone from a listing that shows everything.
    Good,
    /// Gone from the listing that had it; whether it moved, or was missed, is more than this witness knows.
    Perhaps,
    /// Gone with its container, which two whole listings do not have.
    GoneTwice,
    /// Seen wrong, where another thing that this witness does not know may decide.
    PerhapsBad,
}

/// Remembers what a reading alone does not tell.
#[derive(Default)]
pub struct Witness {
    /// Where a site was seen last.
    homes: BTreeMap<u64, u64>,
    /// The same of sites that are gone as well.
    last_homes: BTreeMap<u64, u64>,
    /// Whole listings in a row that do not have a container.
    absent: BTreeMap<u64, u32>,
    /// Sites last seen in the state that nobody knows.
    thawing: BTreeSet<u64>,
    /// When the account is cut off, as last reported.
    cut_off: Option<DateTime<Utc>>,
}

impl Witness {
    /// What this shows. Of an incident that is not in it, it shows nothing.
    pub fn look(&mut self, op: &Op, now: DateTime<Utc>) -> Evidence {
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
                    for home in CONTAINERS {
                        let absent = self.absent.entry(home).or_default();
                        *absent = if left(home) { 0 } else { *absent + 1 };
                    }
                    for id in SITES {
                        let home = self.homes.get(&id).copied();
                        if rows.is_empty() || home.is_none_or(|home| !left(home)) {
                            let last = self.last_homes.get(&id);
                            let twice = last.is_some_and(|home| self.absent[home] >= 2);
                            let sign = if twice { Sign::GoneTwice } else { Sign::Perhaps };
                            self.gone(&mut evidence, id, sign);
                        }
                    }
                    self.still_thaws(&mut evidence, true);
                }
                self.ended(&mut evidence, Collector::Containers, None);
            }
            Op::Sites { home, rows, complete, ended } => {
                for &(id, state) in rows {
                    self.homes.insert(id, *home);
                    self.last_homes.insert(id, *home);
                    sign(&mut evidence, id, &site(state));
                    self.thawing.remove(&id);
                    if state == "Thawing" {
                        self.thawing.insert(id);
                    }
                }
                for id in SITES.into_iter().filter(|id| *complete && rows.iter().all(|row| row.0 != *id)) {
                    // Elsewhere it may be well or not: this listing says nothing of it.
                    if self.homes.get(&id).is_none_or(|known| known == home) {
                        self.gone(&mut evidence, id, Sign::Perhaps);
                    }
                }
                if rows.iter().any(|row| row.1 == "Thawing") {
                    evidence.insert(Key::new(&name(), Kind::UnknownState, "site:Thawing"), Sign::Bad);
                } else {
                    self.still_thaws(&mut evidence, *complete);
                }
                // A container is off where all its sites are, and until none is.
                let stopped = rows.iter().any(|row| row.1 == "StoppedByService");
                let sign = if stopped { Sign::PerhapsBad } else { Sign::Perhaps };
                evidence.insert(Key::new(&name(), Kind::ContainerDisabled, *home), sign);
                if *ended {
                    self.ended(&mut evidence, Collector::Sites, None);
                }
            }
            Op::Report(bill) => {
                self.cut_off = match bill {
                    Bill::CutIn(hours) => Some(now + Duration::hours(*hours)),
                    Bill::RunsOut => Some(now + Duration::days(3)),
                    Bill::UsedUp => Some(now + Duration::days(1)),
                    Bill::Rich | Bill::Dropped | Bill::Unreadable | Bill::Short | Bill::Suspended => {
                        self.cut_off
                    }
                };
                let clear = match bill {
                    Bill::Rich | Bill::Dropped | Bill::Suspended => true,
                    // It has to look as far as the date that is known.
                    Bill::Short => self.cut_off.is_none_or(|date| date <= now + Duration::days(2)),
                    Bill::CutIn(_) | Bill::RunsOut | Bill::UsedUp | Bill::Unreadable => false,
                };
                let clear = if clear { Sign::Good } else { Sign::Bad };
                evidence.insert(Key::account_wide(&name(), Kind::Disconnect), clear);
                let suspended = *bill == Bill::Suspended;
                let order = if suspended { Sign::Bad } else { Sign::Good };
                evidence.insert(Key::new(&name(), Kind::OrderSuspended, 7), order);
                self.ended(&mut evidence, Collector::ExpectedBalance, None);
            }
            Op::NoSites => self.ended(&mut evidence, Collector::Sites, None),
            Op::Fails(collector, kind) => self.ended(&mut evidence, *collector, Some(*kind)),
            Op::Wait(_)
            | Op::Restart(_)
            | Op::Clock(_)
            | Op::Smtp(_)
            | Op::Silence { .. }
            | Op::Ack
            | Op::RuleOff(_) => {}
        }
        evidence
    }

    fn gone(&mut self, evidence: &mut Evidence, site: u64, how: Sign) {
        self.homes.remove(&site);
        self.thawing.remove(&site);
        let gone = self::site("gone").into_iter().map(|(kind, _)| (kind, how));
        sign(evidence, site, &gone.collect());
    }

    /// One listing is not every listing: the state is gone when no site was last seen in it.
    fn still_thaws(&self, evidence: &mut Evidence, complete: bool) {
        if complete && self.thawing.is_empty() {
            evidence.insert(Key::new(&name(), Kind::UnknownState, "site:Thawing"), Sign::Perhaps);
        }
    }

    fn ended(&self, evidence: &mut Evidence, collector: Collector, failed: Option<FailureKind>) {
        use FailureKind as F;
        let report = collector == Collector::ExpectedBalance;
        let failing = match failed {
            None => Some(Sign::Good),
            Some(F::Other) => Some(Sign::Bad),
            Some(F::NotFound) if !report => Some(Sign::Bad),
            // Its own where others of its group are let in.
            Some(F::Credentials) => Some(Sign::PerhapsBad),
            Some(F::NotFound | F::ReportError) => None,
        };
        let key = Key::new(&name(), Kind::CollectorFailing, collector);
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
        let group: Group = collector.group();
        let key = Key::new(&name(), Kind::CredentialsRejected, group);
        match failed {
            // Unless another of the group is let in.
            Some(F::Credentials) => {
                evidence.insert(key, Sign::PerhapsBad);
            }
            None => {
                evidence.insert(key, Sign::Good);
            }
            Some(F::Other | F::NotFound | F::ReportError) => {}
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
        // Its sites may be stopped all the same.
        "ENABLED" | "gone" => vec![(Kind::ContainerDisabled, Sign::Perhaps)],
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
            // One listing may have missed it.
            None if complete => {
                let gone = says("gone").into_iter().map(|(kind, _)| (kind, Sign::Perhaps));
                sign(evidence, id, &gone.collect());
            }
            None => {}
        }
    }
}

/// States that nobody knows are incidents of their own.
fn unknown(evidence: &mut Evidence, sort: &str, rows: &Rows, complete: bool, odd: &[&str]) {
    for state in odd {
        let key = Key::new(&name(), Kind::UnknownState, format!("{sort}:{state}").as_str());
        if rows.iter().any(|row| row.1 == *state) {
            evidence.insert(key, Sign::Bad);
        } else if complete {
            // One listing may have missed what was in it.
            evidence.insert(key, Sign::Perhaps);
        }
    }
}
