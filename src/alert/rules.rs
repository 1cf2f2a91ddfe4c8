//! What a reading says about resources: findings. Pure; keeps no state, sends nothing.
//!
//! A finding speaks only of what was shown. A state that is neither right nor wrong for a kind (a VM
//! that is `blocked` for `vm_error`, a value nobody knows) freezes the incident: only a state known to
//! be right lets it recover.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::rows::Watched;
use super::incident::{Incident, Phase};
use super::key::{Key, Sort, Target};
use super::kind::Kind;
use super::reason::Cause;
use super::settings::AlertSettings;
pub(crate) use crate::model::sanitize::one_line as clean;
use crate::model::{AccountState, Container, Listing, Observed, OrderState, Report, Seen, Site};

mod collectors;
mod rows;
mod stopped;

pub(crate) use self::collectors::{cannot_read, is_failing, judge_collector};
pub(crate) use self::stopped::SITES_STOPPED;

/// What one observation says of one incident.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub key: Key,
    pub verdict: Verdict,
    /// The resource in words, safe for a subject line.
    pub subject: String,
    /// What was observed.
    pub detail: String,
}

/// Right, wrong, or no evidence either way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Wrong, once it has lasted for `hold` in the state `held`.
    Bad {
        hold: Duration,
        held: String,
    },
    Good,
    /// Says nothing about this kind.
    Frozen,
    /// So many complete listings in a row do not have the resource.
    Gone {
        listings: u32,
    },
    /// Nothing shows any more whether it is wrong.
    Unwatched(Cause),
}

impl Verdict {
    /// Wrong, however short it lasts.
    fn bad() -> Self {
        Self::Bad { hold: Duration::ZERO, held: String::new() }
    }
}

/// The state that such a detail names: `blocked` of `its state is now blocked`; `None` of what has none.
pub(crate) fn state_in(detail: &str) -> Option<&str> {
    let state = detail.strip_prefix("its state is ")?;
    Some(state.strip_prefix("now ").unwrap_or(state))
}

type Incidents = BTreeMap<Key, Incident>;

/// What one reading of an account says.
pub(crate) fn judge(
    state: &AccountState,
    observed: &Observed,
    open: &Incidents,
    settings: &AlertSettings,
) -> Vec<Finding> {
    let judge = Judge { state, open, settings };
    match observed {
        Observed::Vms(seen) => judge.listing(&state.vms, seen),
        Observed::Containers(seen) => {
            let mut findings = judge.listing(&state.containers, seen);
            if seen.complete && state.containers.rows.is_empty() {
                // No container, no listing of sites: nobody else would say that they are gone.
                findings.extend(judge.listing(&Listing::<Site>::default(), &Seen::nothing(Vec::new())));
            }
            findings
        }
        Observed::Sites(container, seen) => {
            let none = Listing::default();
            // The container first: it covers its sites.
            let mut findings: Vec<Finding> = judge.stopped_sites(*container, seen).into_iter().collect();
            findings.extend(judge.listing(state.sites.get(container).unwrap_or(&none), seen));
            findings
        }
        Observed::Report => judge.orders(),
        Observed::Other => Vec::new(),
    }
}

struct Judge<'a> {
    state: &'a AccountState,
    open: &'a Incidents,
    settings: &'a AlertSettings,
}

impl Judge<'_> {
    fn listing<T: Watched>(&self, listing: &Listing<T>, seen: &Seen) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut unknown = BTreeSet::new();
        for row in listing.rows.iter().filter(|row| !row.is_well()) {
            if !seen.shown.has(row.id().into()) {
                continue;
            }
            if !row.state_is_known() {
                unknown.insert(row.state_name().to_owned());
            }
            for &kind in T::KINDS {
                let verdict = row.verdict(kind, self.settings);
                let begins = kind != Kind::VmStopped || self.has_stopped(row.id().into(), seen);
                if matches!(verdict, Verdict::Bad { .. }) && self.settings.enabled(kind) && begins {
                    findings.extend(self.about(row, kind, verdict));
                }
            }
        }
        let removed: BTreeSet<u64> = seen.removed.iter().copied().collect();
        // Asked of every container's listing, and seldom needed.
        let whole = LazyCell::new(|| seen.complete && self.shows_whole_account::<T>());
        for incident in self.open_of(T::KINDS) {
            let Some(id) = incident.key.id() else { continue };
            let by_sites = T::SORT == Sort::Container && incident.held == SITES_STOPPED;
            let row = listing.rows.binary_search_by_key(&id, |row| row.id().into()).ok();
            let row = row.map(|index| &listing.rows[index]);
            let verdict = match row {
                // Its own state does not show it.
                Some(_) if by_sites => continue,
                Some(row) if seen.shown.has(id) => row.verdict(incident.key.kind, self.settings),
                Some(_) => continue,
                None if self.lives_elsewhere::<T>(id) => continue,
                None if removed.contains(&id) => Verdict::Gone { listings: 2 },
                None if *whole => Verdict::Gone { listings: 1 },
                None => continue,
            };
            if matches!(verdict, Verdict::Bad { .. }) {
                continue;
            }
            let detail = match row {
                Some(row) => format!("its state is now {}", clean(row.state_name(), 40)),
                None => "no longer listed by the provider".to_owned(),
            };
            findings.push(self.again(incident, verdict, detail));
        }
        self.unknown_states::<T>(&unknown, seen, &mut findings);
        self.gone::<T>(seen, &mut findings);
        self.listed_again(listing, seen, &mut findings);
        findings
    }

    /// Was this VM seen to stop, now or earlier? Many are stopped on purpose, for good.
    fn has_stopped(&self, id: u64, seen: &Seen) -> bool {
        let key = Key::new(&self.state.profile.name, Kind::VmStopped, id);
        let goes_on = |incident: &Incident| incident.phase.is_open() || incident.phase == Phase::Pending;
        seen.stopped.contains(&id) || self.open.get(&key).is_some_and(goes_on)
    }

    /// A site may have moved to another container.
    fn lives_elsewhere<T: Watched>(&self, id: u64) -> bool {
        T::SORT == Sort::Site && self.state.has_site(id.into())
    }

    /// What no listing shows is gone: true of VMs and containers, and of sites once those of every
    /// container were read whole; another container's may not have been since the start.
    fn shows_whole_account<T: Watched>(&self) -> bool {
        let read = |container: &Container| {
            self.state.sites.get(&container.id).is_some_and(|listing| listing.complete)
        };
        let containers = &self.state.containers;
        T::SORT != Sort::Site || (containers.complete && containers.rows.iter().all(read))
    }

    fn about<T: Watched>(&self, row: &T, kind: Kind, verdict: Verdict) -> Option<Finding> {
        let id = row.id();
        let name = row.name().map_or_else(|| id.to_string(), str::to_owned);
        if !self.settings.covers(kind, &name) {
            return None;
        }
        Some(Finding {
            key: Key::new(&self.state.profile.name, kind, id.into()),
            verdict,
            subject: format!("{} {}", T::SORT.noun(), clean(&name, 60)),
            detail: format!("its state is {}", clean(row.state_name(), 40)),
        })
    }

    fn again(&self, incident: &Incident, verdict: Verdict, detail: String) -> Finding {
        Finding { key: incident.key.clone(), verdict, subject: incident.subject.clone(), detail }
    }

    /// Incidents of this account that are not over; the map is ordered by account, then by kind.
    fn open_of<'b>(&'b self, kinds: &'b [Kind]) -> impl Iterator<Item = &'b Incident> {
        let account = &self.state.profile.name;
        let of_kind = move |&kind| {
            let first = Key::new(account, kind, Target::FIRST);
            let mine = move |key: &Key| key.account == *account && key.kind == kind;
            self.open.range(first..).take_while(move |(key, _)| mine(key)).map(|(_, incident)| incident)
        };
        let all = kinds.iter().flat_map(of_kind);
        all.filter(|incident| incident.phase.is_open() || incident.phase == Phase::Pending)
    }

    fn unknown_states<T: Watched>(&self, found: &BTreeSet<String>, seen: &Seen, findings: &mut Vec<Finding>) {
        if !self.settings.enabled(Kind::UnknownState) {
            return;
        }
        let sort = T::SORT;
        let remedy = if sort == Sort::Container { "; name it in container_states" } else { "" };
        for value in found {
            findings.push(Finding {
                key: Key::new(&self.state.profile.name, Kind::UnknownState, Target::of(sort, value)),
                verdict: Verdict::bad(),
                subject: format!("Unknown {} state \"{}\"", sort.in_sentence(), clean(value, 40)),
                detail: format!("cannot tell whether resources in this state are OK{remedy}"),
            });
        }
        if !seen.complete || (sort == Sort::Site && !self.shows_whole_account::<T>()) {
            return;
        }
        let still_there = match sort {
            Sort::Vm => odd_states(self.state.vms.rows.iter()),
            Sort::Container => odd_states(self.state.containers.rows.iter()),
            Sort::Site => odd_states(self.state.all_sites()),
        };
        // Containers that are off show another state than their usual one.
        let away = sort == Sort::Container && self.is_off_in_unnamed_state();
        for incident in self.open_of(&[Kind::UnknownState]) {
            let ours = matches!(incident.key.resource, Target::Of(other, _) if other == sort);
            let stays = away && incident.folded_into.is_none();
            if ours && !stays && !still_there.contains(&incident.key.resource) {
                findings.push(self.again(incident, Verdict::Good, "no longer seen".to_owned()));
            }
        }
    }

    fn gone<T: Watched>(&self, seen: &Seen, findings: &mut Vec<Finding>) {
        let wanted = self.settings.enabled(Kind::ResourceGone) && !seen.removed.is_empty();
        if !wanted || !self.shows_whole_account::<T>() {
            return;
        }
        for &id in seen.removed.iter().filter(|&&id| !self.lives_elsewhere::<T>(id)) {
            let target = Target::of(T::SORT, &id.to_string());
            findings.push(Finding {
                key: Key::new(&self.state.profile.name, Kind::ResourceGone, target),
                verdict: Verdict::bad(),
                subject: format!("{} {id}", T::SORT.noun()),
                detail: "no longer listed by the provider".to_owned(),
            });
        }
    }

    /// What was gone is back.
    fn listed_again<T: Watched>(&self, listing: &Listing<T>, seen: &Seen, findings: &mut Vec<Finding>) {
        for incident in self.open_of(&[Kind::ResourceGone]) {
            let Target::Of(sort, id) = &incident.key.resource else { continue };
            let Some(id) = id.parse().ok().filter(|_| *sort == T::SORT) else { continue };
            let is_listed = listing.rows.binary_search_by_key(&id, |row| row.id().into()).is_ok();
            if is_listed && seen.shown.has(id) {
                let verdict = Verdict::Unwatched(Cause::ListedAgain);
                findings.push(self.again(incident, verdict, "listed again".to_owned()));
            }
        }
    }

    /// Orders that a report has no more. One without a single charge names no order at all, and so proves nothing, however
    /// long such reports go on: the incident stays until a report with charges shows or leaves out its order.
    fn orders_that_left(&self, report: &Report, findings: &mut Vec<Finding>) {
        for incident in self.open_of(&[Kind::OrderSuspended]) {
            let left = report.orders.iter().all(|order| incident.key.id() != Some(order.id.get()));
            if left && !report.moments.is_empty() {
                let verdict = Verdict::Unwatched(Cause::LeftReport);
                findings.push(self.again(incident, verdict, "no longer in the report".to_owned()));
            }
        }
    }

    fn orders(&self) -> Vec<Finding> {
        let Some(report) = &self.state.billing.report else { return Vec::new() };
        let mut findings = Vec::new();
        for order in &report.orders {
            let key = Key::new(&self.state.profile.name, Kind::OrderSuspended, order.id.get());
            let verdict = match order.state {
                OrderState::Suspended => Verdict::bad(),
                OrderState::Unknown(_) => Verdict::Frozen,
                OrderState::Awaiting | OrderState::Ordered | OrderState::Completed | OrderState::Rejected => {
                    Verdict::Good
                }
            };
            let bad = matches!(verdict, Verdict::Bad { .. });
            let name = order.comment.as_deref().map_or_else(|| order.id.to_string(), |text| clean(text, 60));
            let wanted = self.settings.enabled(Kind::OrderSuspended)
                && self.settings.covers(Kind::OrderSuspended, &name);
            if (bad && wanted) || (!bad && self.open.contains_key(&key)) {
                findings.push(Finding {
                    key,
                    verdict,
                    subject: format!("Order {name}"),
                    detail: format!("its state is {}", clean(order.state.as_str(), 40)),
                });
            }
        }
        self.orders_that_left(report, &mut findings);
        findings
    }
}

/// States other than the usual, as keys name them.
fn odd_states<'a, T: Watched + 'a>(rows: impl Iterator<Item = &'a T>) -> BTreeSet<Target> {
    rows.filter(|row| !row.is_well()).map(|row| Target::of(T::SORT, row.state_name())).collect()
}
