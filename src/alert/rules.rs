//! Findings: the verdict of a reading on each resource. Pure: no state, no mails.
//!
//! A finding speaks only of what a reading showed. A state that is neither right nor wrong for a kind (an
//! unknown value, or `blocked` for `vm_error`) freezes the incident. Only a state known to be right lets it
//! recover.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::rows::Watched;
use super::finding::{Finding, Value, Verdict};
use super::incident::Incident;
use super::key::{Key, Target};
use super::kind::Kind;
use super::reason::Cause;
use super::settings::AlertSettings;
use super::subject::{Detail, Subject};
use crate::model::account::EMPTY_FOR;
pub(crate) use crate::model::sanitize::one_line as clean;
use crate::model::states::sounds_bad;
use crate::model::{
    AccountState, Collector, Container, Health, Listing, Observed, Order, OrderState, Report, Seen, Site,
    Sort,
};

mod collectors;
mod rows;
mod stopped;

pub(crate) use self::collectors::{failure_of, judge_collector, told_after};

/// One reading of an account. `is_started`: the last start is so long ago that an empty listing proves something.
pub(crate) fn judge(
    state: &AccountState,
    observed: &Observed,
    open: &BTreeMap<Key, Incident>,
    settings: &AlertSettings,
    is_started: bool,
) -> Vec<Finding> {
    let judge = Judge { state, open, settings, is_started };
    match observed {
        Observed::Vms(seen) => judge.listing(&state.vms, seen),
        Observed::Containers(seen) => {
            let mut findings = judge.listing(&state.containers, seen);
            if state.containers.complete && state.containers.rows.is_empty() && is_started {
                // An account without containers has only this finding to say that its sites are gone.
                findings.extend(judge.listing(&Listing::<Site>::default(), &Seen::nothing(BTreeMap::new())));
            }
            findings
        }
        Observed::Sites(container, seen) => {
            let none = Listing::default();
            // The container comes first, since it covers its sites.
            let mut findings: Vec<Finding> = judge.stopped_sites(*container, seen).into_iter().collect();
            findings.extend(judge.listing(state.sites.get(container).unwrap_or(&none), seen));
            findings
        }
        Observed::Report => judge.orders(),
    }
}

/// The number of rows that a listing lost, if they were all of several. Sites go with their containers.
fn lost<T: Watched>(seen: &Seen) -> Option<usize> {
    seen.emptied.filter(|count| T::SORT != Sort::Site && *count > 1)
}

/// The name of a resource; without one its id.
fn name_of(name: Option<&str>, id: impl std::fmt::Display) -> String {
    name.map_or_else(|| id.to_string(), str::to_owned)
}

struct Judge<'a> {
    state: &'a AccountState,
    open: &'a BTreeMap<Key, Incident>,
    settings: &'a AlertSettings,
    is_started: bool,
}

impl Judge<'_> {
    fn listing<T: Watched>(&self, listing: &Listing<T>, seen: &Seen) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut is_unknown = false;
        for row in listing.rows.iter().filter(|row| row.health() != Health::Fine) {
            if !seen.shown.contains(&row.id().into()) {
                continue;
            }
            is_unknown |= row.health() == Health::Unknown
                && self.settings.covers(Kind::UnknownState, &name_of(row.name(), row.id()));
            for &kind in T::KINDS {
                let verdict = row.verdict(kind, self.settings);
                let begins = kind != Kind::VmStopped || self.has_stopped(row.id().into(), seen);
                if matches!(verdict, Verdict::Bad { .. }) && self.settings.enabled(kind) && begins {
                    findings.extend(self.about(row, kind, verdict));
                }
            }
        }
        // This asks each container's listing, and is seldom needed.
        let whole = LazyCell::new(|| seen.shows_all && self.shows_whole_account::<T>());
        for incident in self.open_of(T::KINDS) {
            let Some(id) = incident.key.id() else { continue };
            let by_sites = T::SORT == Sort::Container && incident.is_held_by_sites();
            let row = listing.rows.binary_search_by_key(&id, |row| row.id().into()).ok();
            let row = row.map(|index| &listing.rows[index]);
            let verdict = match row {
                // The container's own state does not show it.
                Some(_) if by_sites => continue,
                Some(row) if seen.shown.contains(&id) => {
                    let verdict = row.verdict(incident.key.kind, self.settings);
                    let is_other = verdict == Verdict::Frozen;
                    if is_other { Verdict::Other } else { verdict }
                }
                Some(_) => continue,
                None if self.lives_elsewhere::<T>(id) || self.may_be_unread::<T>() => continue,
                None if seen.removed.contains_key(&id) => Verdict::Gone { listings: 2 },
                // Nobody knows the rows from before the start.
                None if listing.rows.is_empty() && !self.is_started => continue,
                None if *whole && !listing.unreadable.contains(&id) => Verdict::Gone { listings: 1 },
                None => continue,
            };
            if matches!(verdict, Verdict::Bad { .. }) {
                continue;
            }
            let detail = match row {
                Some(row) => Detail::State { state: clean(row.state_name(), 40), now: true },
                None => Detail::NotListed,
            };
            findings.push(self.again(incident, verdict, detail));
        }
        findings
            .extend(self.unknown_states::<T>(is_unknown, seen.shows_all && listing.unreadable.is_empty()));
        findings.extend(self.all_gone(listing, seen));
        self.gone::<T>(seen, &mut findings);
        self.listed_again(listing, seen, &mut findings);
        findings
    }

    /// Whether this VM was seen to stop, now or earlier. Many are stopped on purpose, for good.
    fn has_stopped(&self, id: u64, seen: &Seen) -> bool {
        let key = Key::new(&self.state.profile.name, Kind::VmStopped, id);
        seen.stopped.contains(&id) || self.open.get(&key).is_some_and(Incident::goes_on)
    }

    /// A site may have moved to another container.
    fn lives_elsewhere<T: Watched>(&self, id: u64) -> bool {
        T::SORT == Sort::Site && self.state.has_site(id.into())
    }

    /// A site may be in a container whose sites cannot be read.
    fn may_be_unread<T: Watched>(&self) -> bool {
        T::SORT == Sort::Site && failure_of(self.state, Collector::Sites).is_some()
    }

    /// Whether a missing resource is gone. For VMs and containers it is. For sites it is only once the listings
    /// of all containers were read whole, since the site may be in a container that was not read since the
    /// start.
    fn shows_whole_account<T: Watched>(&self) -> bool {
        let read = |container: &Container| {
            self.state.sites.get(&container.id).is_some_and(|listing| listing.complete)
        };
        let containers = &self.state.containers;
        T::SORT != Sort::Site
            || (!self.may_be_unread::<T>() && containers.complete && containers.rows.iter().all(read))
    }

    fn about<T: Watched>(&self, row: &T, kind: Kind, verdict: Verdict) -> Option<Finding> {
        let id = row.id();
        let name = name_of(row.name(), id);
        if !self.settings.covers(kind, &name) {
            return None;
        }
        Some(Finding {
            key: Key::new(&self.state.profile.name, kind, id.into()),
            verdict,
            subject: Subject::Resource { sort: T::SORT, name: clean(&name, 60) },
            detail: Detail::State { state: clean(row.state_name(), 40), now: false },
        })
    }

    fn again(&self, incident: &Incident, verdict: Verdict, detail: Detail) -> Finding {
        Finding { key: incident.key.clone(), verdict, subject: incident.subject.clone(), detail }
    }

    /// The incidents of this account that are not over. The map is ordered by account, then by kind.
    fn open_of<'b>(&'b self, kinds: &'b [Kind]) -> impl Iterator<Item = &'b Incident> {
        let account = &self.state.profile.name;
        let of_kind = move |&kind| {
            let first = Key::new(account, kind, Target::FIRST);
            let mine = move |key: &Key| key.account == *account && key.kind == kind;
            self.open.range(first..).take_while(move |(key, _)| mine(key)).map(|(_, incident)| incident)
        };
        let all = kinds.iter().flat_map(of_kind);
        all.filter(|incident| incident.goes_on())
    }

    /// Every state of this sort that hostwatch does not know is one incident. `is_shown`: the reading shows one;
    /// `is_whole`: it shows all rows.
    fn unknown_states<T: Watched>(&self, is_shown: bool, is_whole: bool) -> Option<Finding> {
        let (sort, settings) = (T::SORT, self.settings);
        let key = Key::new(&self.state.profile.name, Kind::UnknownState, Target::All(sort));
        let rows = self.state.resources_of(sort).filter(|row| row.health == Health::Unknown);
        // The iterator is lazy: this runs for each container's listing, and an account may have 20,000 sites.
        let mut watched = rows.filter(|row| settings.covers(Kind::UnknownState, &name_of(row.name, row.id)));
        if is_shown && settings.watches(&key) {
            let states: BTreeSet<String> = watched.map(|row| clean(row.state, 40)).collect();
            let subject = Subject::States { sort, names: states.iter().cloned().collect() };
            let verdict = Verdict::Bad { hold: Duration::ZERO, value: Value::States(states) };
            return Some(Finding { key, verdict, subject, detail: Detail::CannotTell { sort } });
        }
        let known = self.open.get(&key).filter(|incident| incident.goes_on())?;
        let is_over = is_whole && watched.next().is_none() && self.shows_whole_account::<T>();
        is_over.then(|| self.again(known, Verdict::Good, Detail::NoLongerSeen))
    }

    /// The listing that lost all of its rows, two at least, for an hour. After a start nobody knows the rows from before,
    /// and the incident goes on.
    fn all_gone<T: Watched>(&self, listing: &Listing<T>, seen: &Seen) -> Option<Finding> {
        let key = Key::new(&self.state.profile.name, Kind::ResourceGone, Target::All(T::SORT));
        let known = self.open.get(&key).filter(|incident| incident.goes_on());
        let is_shown = || {
            !listing.unreadable.is_empty()
                || listing.rows.iter().any(|row| seen.shown.contains(&row.id().into()))
        };
        let hold = EMPTY_FOR.to_std().unwrap_or_default();
        let (verdict, detail) = (Verdict::Bad { hold, value: Value::None }, Detail::NotListed);
        match (known, lost::<T>(seen)) {
            (_, Some(count)) => {
                Some(Finding { key, verdict, subject: Subject::AllGone { sort: T::SORT, count }, detail })
            }
            (Some(known), None) if is_shown() => Some(self.again(known, Verdict::Good, Detail::ListedAgain)),
            (Some(known), None) if listing.rows.is_empty() && seen.shows_all => {
                Some(self.again(known, verdict, detail))
            }
            (_, None) => None,
        }
    }

    /// The resources that are gone. If none of several is left, they are one incident.
    fn gone<T: Watched>(&self, seen: &Seen, findings: &mut Vec<Finding>) {
        if seen.removed.is_empty() || lost::<T>(seen).is_some() || !self.shows_whole_account::<T>() {
            return;
        }
        for (&id, name) in seen.removed.iter().filter(|(id, _)| !self.lives_elsewhere::<T>(**id)) {
            let target = Target::Of(T::SORT, id);
            let name = name_of(name.as_deref(), id);
            if !self.settings.wants(Kind::ResourceGone, &name) {
                continue;
            }
            findings.push(Finding {
                key: Key::new(&self.state.profile.name, Kind::ResourceGone, target),
                verdict: Verdict::bad(),
                subject: Subject::Resource { sort: T::SORT, name: clean(&name, 60) },
                detail: Detail::NotListed,
            });
        }
    }

    /// A resource that was gone is listed again.
    fn listed_again<T: Watched>(&self, listing: &Listing<T>, seen: &Seen, findings: &mut Vec<Finding>) {
        for incident in self.open_of(&[Kind::ResourceGone]) {
            let Target::Of(sort, id) = incident.key.resource else { continue };
            if sort != T::SORT {
                continue;
            }
            let is_listed = listing.rows.binary_search_by_key(&id, |row| row.id().into()).is_ok();
            if is_listed && seen.shown.contains(&id) {
                findings.push(self.again(incident, Verdict::Good, Detail::ListedAgain));
            }
        }
    }

    /// Orders that left the report. A report without any charge names zero orders. It proves nothing,
    /// however long such reports go on. The incident stays until a report with charges shows its order or lacks
    /// it.
    fn orders_that_left(&self, report: &Report, findings: &mut Vec<Finding>) {
        for incident in self.open_of(&[Kind::OrderSuspended]) {
            let left = report.orders.iter().all(|order| incident.key.id() != Some(order.id.get()));
            if left && !report.moments.is_empty() {
                let verdict = Verdict::Unwatched(Cause::LeftReport);
                findings.push(self.again(incident, verdict, Detail::LeftReport));
            }
        }
    }

    fn orders(&self) -> Vec<Finding> {
        // Of reports from before the start the orders are not known.
        let Some((report, _)) = self.state.billing.latest() else { return Vec::new() };
        let mut findings = Vec::new();
        for order in &report.orders {
            let key = Key::new(&self.state.profile.name, Kind::OrderSuspended, order.id.get());
            let verdict = match order.state {
                OrderState::Suspended => Verdict::bad(),
                OrderState::Unknown(ref state) if sounds_bad(state) => Verdict::bad(),
                OrderState::Unknown(_) => Verdict::Other,
                OrderState::Awaiting | OrderState::Ordered | OrderState::Completed | OrderState::Rejected => {
                    Verdict::Good
                }
            };
            let bad = matches!(verdict, Verdict::Bad { .. });
            let name = order_name(order);
            if (bad && self.settings.wants(Kind::OrderSuspended, &name))
                || (!bad && self.open.contains_key(&key))
            {
                findings.push(Finding {
                    key,
                    verdict,
                    subject: Subject::Order { name },
                    detail: Detail::State { state: clean(order.state.as_str(), 40), now: !bad },
                });
            }
        }
        self.orders_that_left(report, &mut findings);
        findings
    }
}

/// The name of an order, or its number.
pub(super) fn order_name(order: &Order) -> String {
    order.comment.as_deref().map_or_else(|| order.id.to_string(), |text| clean(text, 60))
}
