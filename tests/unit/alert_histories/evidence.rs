//! The signs of each incident in a reading, judged separately and more simply than by the rules: a second
//! opinion.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Key, Kind};
use crate::model::{Collector, FailureKind, Group};
use chrono::{DateTime, Duration, Utc};

use super::name;
use super::ops::{Bill, CONTAINERS, Op, Rows, SITES, VMS};

/// The signs of each incident in one step.
pub type Evidence = BTreeMap<Key, Sign>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Seen wrong.
    Bad,
    /// Seen right, or gone from a complete listing.
    Good,
    /// Gone from the listing that had it. This witness does not know whether it moved or was missed.
    Perhaps,
    /// Gone with its container, which two complete listings lack, or from the one container of two that counted.
    GoneTwice,
    /// Seen wrong, but another fact that this witness does not know may decide.
    PerhapsBad,
    /// Seen in a state that is neither wrong nor right.
    Other,
}

/// Remembers facts that a single reading does not show.
#[derive(Default)]
pub struct Witness {
    /// The containers whose last listings show a site.
    homes: BTreeMap<u64, BTreeSet<u64>>,
    /// The container in which a site was last seen, whether or not it is gone.
    last_homes: BTreeMap<u64, u64>,
    /// Complete listings in a row that lack a container.
    absent: BTreeMap<u64, u32>,
    /// Sites last seen in an unknown state.
    thawing: BTreeSet<u64>,
    /// The date of the cut-off in the last report.
    cut_off: Option<DateTime<Utc>>,
}

impl Witness {
    /// The signs in this step. Incidents without a sign are left out.
    pub fn look(&mut self, op: &Op, now: DateTime<Utc>) -> Evidence {
        let mut evidence = Evidence::new();
        match op {
            Op::Vms { rows, complete } => {
                listed(&mut evidence, &VMS, rows, *complete, vm);
                all_gone(&mut evidence, "vms", rows, *complete);
                unknown(&mut evidence, "vms", rows, *complete, &["migrating"]);
                self.ended(&mut evidence, Collector::Vms, Some(*complete), None);
            }
            Op::Containers { rows, complete } => {
                listed(&mut evidence, &CONTAINERS, rows, *complete, container);
                all_gone(&mut evidence, "containers", rows, *complete);
                unknown(&mut evidence, "containers", rows, *complete, &["7"]);
                if *complete {
                    // Sites go with their container.
                    let left = |home: u64| rows.iter().any(|&(id, _)| id == home);
                    for home in CONTAINERS {
                        let absent = self.absent.entry(home).or_default();
                        *absent = if left(home) { 0 } else { *absent + 1 };
                    }
                    for id in SITES {
                        let homes = self.homes.entry(id).or_default();
                        let is_missed = homes.iter().any(|&home| !left(home));
                        // One listing may have missed a container, whose rows then go on to count.
                        homes.retain(|home| self.absent[home] < 2);
                        if rows.is_empty() || homes.is_empty() || is_missed {
                            let last = self.last_homes.get(&id);
                            let twice = last.is_some_and(|home| self.absent[home] >= 2);
                            let sign = if twice { Sign::GoneTwice } else { Sign::Perhaps };
                            self.gone(&mut evidence, id, sign);
                        }
                    }
                    self.still_thaws(&mut evidence, true);
                }
                self.ended(&mut evidence, Collector::Containers, Some(*complete), None);
            }
            Op::Sites { home, rows, complete, ended } => {
                for &(id, state) in rows {
                    let homes = self.homes.entry(id).or_default();
                    homes.insert(*home);
                    // Of two containers that list a site the lowest decides, if it was read whole.
                    let is_doubtful = homes.len() > 1;
                    self.last_homes.insert(id, *home);
                    let says = site(state).into_iter().map(|(kind, sign)| match sign {
                        Sign::Good if is_doubtful => (kind, Sign::Perhaps),
                        Sign::Bad if is_doubtful => (kind, Sign::PerhapsBad),
                        sign => (kind, sign),
                    });
                    sign(&mut evidence, id, &says.collect());
                    self.thawing.remove(&id);
                    if state == "Thawing" {
                        self.thawing.insert(id);
                    }
                }
                for id in SITES.into_iter().filter(|id| *complete && rows.iter().all(|row| row.0 != *id)) {
                    // In another container it may be well or not: this listing says nothing about it.
                    let homes = self.homes.entry(id).or_default();
                    let (was_here, is_elsewhere) = (homes.remove(home), !homes.is_empty());
                    if was_here || !is_elsewhere {
                        // The rows of the other container did not count up to now.
                        let sign = if is_elsewhere { Sign::GoneTwice } else { Sign::Perhaps };
                        self.gone(&mut evidence, id, sign);
                    }
                }
                if rows.iter().any(|row| row.1 == "Thawing") {
                    evidence.insert(Key::new(&name(), Kind::UnknownState, "sites"), Sign::Bad);
                } else {
                    self.still_thaws(&mut evidence, *complete);
                }
                // A container is off if all its sites are, and until one is right again.
                let stopped = rows.iter().any(|row| row.1 == "StoppedByService");
                let sign = if stopped { Sign::PerhapsBad } else { Sign::Perhaps };
                evidence.insert(Key::new(&name(), Kind::ContainerDisabled, *home), sign);
                if *ended {
                    self.ended(&mut evidence, Collector::Sites, Some(true), None);
                }
            }
            Op::Report(bill) => {
                self.cut_off = match bill {
                    Bill::CutIn(seconds, _) | Bill::UsedUpAhead(seconds) => {
                        Some(now + Duration::seconds(*seconds))
                    }
                    Bill::RunsOut => Some(now + Duration::days(3)),
                    Bill::UsedUp => Some(now + Duration::days(1)),
                    Bill::Rich | Bill::Dropped | Bill::Unreadable | Bill::Short | Bill::Suspended => {
                        self.cut_off
                    }
                };
                let clear = match bill {
                    Bill::Rich | Bill::Dropped | Bill::Suspended => Sign::Good,
                    // The report has to reach as far as the known date. If two dates are known, other code
                    // decides which.
                    Bill::Short if self.cut_off.is_none_or(|date| date <= now + Duration::days(2)) => {
                        Sign::Perhaps
                    }
                    Bill::Short
                    | Bill::CutIn(..)
                    | Bill::RunsOut
                    | Bill::UsedUp
                    | Bill::UsedUpAhead(_)
                    | Bill::Unreadable => Sign::Bad,
                };
                evidence.insert(Key::account_wide(&name(), Kind::Disconnect), clear);
                let suspended = *bill == Bill::Suspended;
                let order = if suspended { Sign::Bad } else { Sign::Good };
                evidence.insert(Key::new(&name(), Kind::OrderSuspended, 7), order);
                let has_date = matches!(bill, Bill::Rich | Bill::Dropped | Bill::Suspended | Bill::CutIn(..));
                self.ended(&mut evidence, Collector::ExpectedBalance, Some(has_date), None);
            }
            Op::NoSites => self.ended(&mut evidence, Collector::Sites, Some(true), None),
            Op::Fails(collector, kind) => self.ended(&mut evidence, *collector, None, Some(*kind)),
            Op::Wait(_)
            | Op::Restart(_)
            | Op::Sleep(_)
            | Op::Clock(_)
            | Op::Server(..)
            | Op::Silence { .. }
            | Op::Unsilence
            | Op::Ack(_)
            | Op::Unack
            | Op::Rule(..)
            | Op::Ann(_) => {}
        }
        evidence
    }

    /// Incidents of the sites that were last seen in this container. One listing without a site may have missed
    /// it.
    pub fn sites_in(&self, home: u64) -> impl Iterator<Item = Key> {
        let sites = self.last_homes.iter().filter(move |(_, known)| **known == home).map(|(site, _)| *site);
        let kinds = [Kind::SiteError, Kind::SiteBlocked, Kind::SiteStuck];
        sites.flat_map(move |site| kinds.map(|kind| Key::new(&name(), kind, site)))
    }

    fn gone(&mut self, evidence: &mut Evidence, site: u64, how: Sign) {
        self.thawing.remove(&site);
        let gone = self::site("gone").into_iter().map(|(kind, _)| (kind, how));
        sign(evidence, site, &gone.collect());
    }

    /// One listing is not all of them: the state is gone when no site was last seen in it.
    fn still_thaws(&self, evidence: &mut Evidence, complete: bool) {
        if complete && self.thawing.is_empty() {
            evidence.insert(Key::new(&name(), Kind::UnknownState, "sites"), Sign::Perhaps);
        }
    }

    /// `whole`: of a poll that succeeded, whether it read everything, or the report named the cut-off. For how long
    /// that has been so is for the rules to know.
    fn ended(
        &self,
        evidence: &mut Evidence,
        collector: Collector,
        whole: Option<bool>,
        failed: Option<FailureKind>,
    ) {
        use FailureKind as F;
        let report = collector == Collector::ExpectedBalance;
        let failing = match failed {
            None if whole == Some(false) && !report => Some(Sign::PerhapsBad),
            None => Some(Sign::Good),
            Some(F::NotFound | F::Other | F::Unusable | F::Refused) => Some(Sign::Bad),
            // It is the collector's own failure if others of its group are let in.
            Some(F::Credentials | F::NeverAccepted) => Some(Sign::PerhapsBad),
            Some(F::ReportError) => None,
        };
        let key = Key::new(&name(), Kind::CollectorFailing, collector.as_str());
        evidence.extend(failing.map(|sign| (key, sign)));
        if report {
            let sign = match failed {
                None if whole == Some(false) => Some(Sign::PerhapsBad),
                None => Some(Sign::Good),
                Some(F::ReportError) => Some(Sign::Bad),
                Some(
                    F::NotFound | F::Other | F::Unusable | F::Refused | F::Credentials | F::NeverAccepted,
                ) => None,
            };
            let key = Key::account_wide(&name(), Kind::BillingReport);
            evidence.extend(sign.map(|sign| (key, sign)));
        }
        let group: Group = collector.group();
        let key = Key::new(&name(), Kind::CredentialsRejected, group);
        match failed {
            // Unless another collector of the group is let in.
            Some(F::Credentials | F::NeverAccepted) => {
                evidence.insert(key, Sign::PerhapsBad);
            }
            None => {
                evidence.insert(key, Sign::Good);
            }
            Some(F::Other | F::Unusable | F::Refused | F::NotFound | F::ReportError) => {}
        }
    }
}

/// The sign of a state for each kind.
type Says = Vec<(Kind, Sign)>;

pub fn vm(state: &str) -> Says {
    use Sign::{Bad, Good, Other};
    let signs = match state {
        "active" | "gone" => [Good; 4],
        "stopped" => [Good, Good, Bad, Good],
        "error" => [Bad, Other, Other, Good],
        "blocked" => [Other, Bad, Other, Good],
        "building" => [Other, Other, Other, Bad],
        _ => [Other; 4],
    };
    [Kind::VmError, Kind::VmBlocked, Kind::VmStopped, Kind::VmStuck].into_iter().zip(signs).collect()
}

pub fn container(state: &str) -> Says {
    let sign = match state {
        // Its sites may be stopped all the same.
        "ENABLED" | "gone" => Sign::Perhaps,
        "DISABLED_BY_SERVICE" | "DISABLED_BY_QUOTA" => Sign::Bad,
        _ => Sign::Other,
    };
    vec![(Kind::ContainerDisabled, sign)]
}

pub fn site(state: &str) -> Says {
    use Sign::{Bad, Good, Other};
    let signs = match state {
        "Active" | "Stopped" | "gone" => [Good; 3],
        "Error" => [Bad, Other, Good],
        "StoppedByService" | "StoppedByQuota" => [Other, Bad, Good],
        "Backuping" => [Other, Other, Bad],
        _ => [Other; 3],
    };
    [Kind::SiteError, Kind::SiteBlocked, Kind::SiteStuck].into_iter().zip(signs).collect()
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

/// For how long a listing was empty, and whether it had rows before, is for the rules to know.
fn all_gone(evidence: &mut Evidence, sort: &str, rows: &Rows, complete: bool) {
    let key = Key::new(&name(), Kind::ResourceGone, sort);
    if !rows.is_empty() {
        evidence.insert(key, Sign::Good);
    } else if complete {
        evidence.insert(key, Sign::PerhapsBad);
    }
}

/// Unknown states are incidents of their own.
fn unknown(evidence: &mut Evidence, sort: &str, rows: &Rows, complete: bool, odd: &[&str]) {
    for state in odd {
        let key = Key::new(&name(), Kind::UnknownState, sort);
        if rows.iter().any(|row| row.1 == *state) {
            evidence.insert(key, Sign::Bad);
        } else if complete {
            // One listing may have missed the resources in that state.
            evidence.insert(key, Sign::Perhaps);
        }
    }
}
