//! What a reading says about resources: findings. Pure; remembers nothing, tells nobody.
//!
//! A finding speaks only of what was shown. A state that is neither right nor wrong for a kind (a VM
//! that is `blocked` for `vm_error`, a value nobody knows) freezes the incident: only a state known to
//! be right lets it recover.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::incident::{Incident, Phase};
use super::kind::{Key, Kind};
use super::settings::Settings;
use crate::model::resources::Resource;
pub use crate::model::sanitize::one_line as clean;
use crate::model::{
    AccountState, Collector, CollectorStatus, Container, ContainerState, FailureKind, Group, Listing,
    Observed, OrderState, Seen, Shown, Site, SiteState, Vm, VmState,
};

/// What one observation says of one incident.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub key: Key,
    pub verdict: Verdict,
    /// The resource in words, safe for a subject line.
    pub subject: String,
    /// What is wrong, constant over the incident.
    pub problem: String,
    /// What was observed.
    pub detail: String,
}

/// Right, wrong, or no evidence either way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Wrong, once it has lasted for `hold` in the state `held`.
    Bad {
        hold: Duration,
        held: String,
    },
    Good,
    /// Says nothing about this kind.
    Frozen,
    /// A complete listing no longer has the resource.
    Gone,
}

type Incidents = BTreeMap<Key, Incident>;

/// What one reading of an account says.
pub fn judge(
    state: &AccountState,
    observed: &Observed,
    open: &Incidents,
    settings: &Settings,
) -> Vec<Finding> {
    let judge = Judge { state, open, settings };
    match observed {
        Observed::Vms(seen) => judge.listing(&state.vms, seen),
        Observed::Containers(seen) => {
            let mut findings = judge.listing(&state.containers, seen);
            if seen.complete && state.containers.rows.is_empty() {
                // No container, no listing of sites: nobody else would say that they are gone.
                let nothing = Seen { shown: Shown::All, removed: Vec::new(), complete: true };
                findings.extend(judge.listing(&Listing::<Site>::default(), &nothing));
            }
            findings
        }
        Observed::Sites(container, seen) => {
            let none = Listing::default();
            judge.listing(state.sites.get(container).unwrap_or(&none), seen)
        }
        Observed::Report => judge.orders(),
        Observed::Other => Vec::new(),
    }
}

/// What the end of a poll says about the collector and its credentials.
pub fn judge_collector(state: &AccountState, collector: Collector, settings: &Settings) -> Vec<Finding> {
    let Some(status) = state.collectors.get(&collector) else { return Vec::new() };
    let account = &state.profile.name;
    let failure = status.failure.as_ref();
    let kind = failure.map(|failure| failure.kind);
    let detail = failure.map_or_else(|| "answers again".to_owned(), |failure| clean(&failure.message, 300));
    let bad = |hold| Verdict::Bad { hold, held: String::new() };
    let mut findings = vec![Finding {
        key: Key::new(account, Kind::CollectorFailing, collector.as_str()),
        verdict: match kind {
            None => Verdict::Good,
            // Told by kinds of their own, with the remedy; one cause, one mail.
            Some(FailureKind::Credentials | FailureKind::ReportError) => Verdict::Frozen,
            Some(FailureKind::NotFound) if collector == Collector::ExpectedBalance => Verdict::Frozen,
            Some(FailureKind::NotFound | FailureKind::Other) => bad(settings.collector_failing_after),
        },
        subject: format!("Polling of {}", collector.as_str()),
        problem: "failing".to_owned(),
        detail: detail.clone(),
    }];
    let group = collector.group();
    findings.push(Finding {
        key: Key::new(account, Kind::CredentialsRejected, group.as_str()),
        verdict: match kind {
            // Another collector of the group may still be refused.
            None if rejected_elsewhere(state, group) => Verdict::Frozen,
            None => Verdict::Good,
            Some(FailureKind::Credentials) => bad(Duration::ZERO),
            Some(FailureKind::NotFound | FailureKind::ReportError | FailureKind::Other) => Verdict::Frozen,
        },
        subject: format!("Credentials of the {} endpoints", group.as_str()),
        problem: "rejected".to_owned(),
        detail: detail.clone(),
    });
    if collector == Collector::ExpectedBalance {
        findings.push(Finding {
            key: Key::account_wide(account, Kind::BillingReport),
            verdict: match kind {
                None => Verdict::Good,
                Some(FailureKind::NotFound | FailureKind::ReportError) => bad(Duration::ZERO),
                Some(FailureKind::Credentials | FailureKind::Other) => Verdict::Frozen,
            },
            subject: "Expected-balance report".to_owned(),
            problem: "not available".to_owned(),
            detail,
        });
    }
    findings
}

fn rejected_elsewhere(state: &AccountState, group: Group) -> bool {
    let rejected = |status: &CollectorStatus| {
        status.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Credentials)
    };
    state.collectors.iter().any(|(collector, status)| collector.group() == group && rejected(status))
}

/// A row that rules look at.
trait Watched: Resource<Id: Into<u64>> {
    /// The word before its name in subjects.
    const NOUN: &'static str;
    /// The word in keys of kinds that take in several sorts of resources.
    const SORT: &'static str;
    const KINDS: &'static [Kind];
    fn name(&self) -> Option<&str>;
    fn state_name(&self) -> &str;
    fn state_is_known(&self) -> bool;
    fn verdict(&self, kind: Kind, settings: &Settings) -> Verdict;
    /// In no state that any rule minds; lets a sweep skip what is well.
    fn is_well(&self) -> bool;
}

struct Judge<'a> {
    state: &'a AccountState,
    open: &'a Incidents,
    settings: &'a Settings,
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
                if matches!(verdict, Verdict::Bad { .. }) && self.settings.enabled(kind) {
                    findings.extend(self.about(row, kind, verdict));
                }
            }
        }
        let removed: BTreeSet<u64> = seen.removed.iter().copied().collect();
        // Asked of every container's listing, and seldom needed.
        let whole = LazyCell::new(|| seen.complete && self.shows_whole_account::<T>());
        for incident in self.open_of(T::KINDS) {
            let Ok(id) = incident.key.resource.parse::<u64>() else { continue };
            let row = listing.rows.binary_search_by_key(&id, |row| row.id().into()).ok();
            let row = row.map(|index| &listing.rows[index]);
            let verdict = match row {
                Some(row) if seen.shown.has(id) => row.verdict(incident.key.kind, self.settings),
                Some(_) => continue,
                None if !self.lives_elsewhere::<T>(id) && (removed.contains(&id) || *whole) => Verdict::Gone,
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
        findings
    }

    /// A site may have moved to another container.
    fn lives_elsewhere<T: Watched>(&self, id: u64) -> bool {
        T::SORT == "site" && self.state.has_site(id.into())
    }

    /// What no listing shows is gone: true of VMs and containers, and of sites once those of every
    /// container were read whole; another container's may not have been since the start.
    fn shows_whole_account<T: Watched>(&self) -> bool {
        let read = |container: &Container| {
            self.state.sites.get(&container.id).is_some_and(|listing| listing.complete)
        };
        let containers = &self.state.containers;
        T::SORT != "site" || (containers.complete && containers.rows.iter().all(read))
    }

    fn about<T: Watched>(&self, row: &T, kind: Kind, verdict: Verdict) -> Option<Finding> {
        let id = row.id();
        let name = row.name().map_or_else(|| id.to_string(), str::to_owned);
        if !self.settings.covers(kind, &name) {
            return None;
        }
        Some(Finding {
            key: Key::new(&self.state.profile.name, kind, id),
            verdict,
            subject: format!("{} {}", T::NOUN, clean(&name, 60)),
            problem: problem(kind).to_owned(),
            detail: format!("its state is {}", clean(row.state_name(), 40)),
        })
    }

    fn again(&self, incident: &Incident, verdict: Verdict, detail: String) -> Finding {
        Finding {
            key: incident.key.clone(),
            verdict,
            subject: incident.subject.clone(),
            problem: incident.problem.clone(),
            detail,
        }
    }

    /// Incidents of this account that are not over; the map is ordered by account, then by kind.
    fn open_of<'b>(&'b self, kinds: &'b [Kind]) -> impl Iterator<Item = &'b Incident> {
        let account = &self.state.profile.name;
        let of_kind = move |&kind| {
            let first = Key { account: account.clone(), kind, resource: String::new() };
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
        let account = &self.state.profile.name;
        for value in found {
            let remedy = match T::SORT {
                "container" => "; name it in container_states",
                _ => "",
            };
            findings.push(Finding {
                key: Key::new(account, Kind::UnknownState, format!("{}:{value}", T::SORT)),
                verdict: Verdict::Bad { hold: Duration::ZERO, held: String::new() },
                subject: format!("{} state {}", T::NOUN, clean(value, 40)),
                problem: "not known to hostwatch".to_owned(),
                detail: format!("nothing can be said of resources in this state{remedy}"),
            });
        }
        if !seen.complete {
            return;
        }
        let prefix = format!("{}:", T::SORT);
        for incident in self.open_of(&[Kind::UnknownState]) {
            if !incident.key.resource.starts_with(&prefix) {
                continue;
            }
            let of =
                |name: &str| Key::new(account, Kind::UnknownState, format!("{prefix}{name}")) == incident.key;
            let still_there = match T::SORT {
                "vm" => self.state.vms.rows.iter().any(|vm| !vm.is_well() && of(vm.state.as_str())),
                "container" => {
                    self.state.containers.rows.iter().any(|row| !row.is_well() && of(row.state.as_str()))
                }
                _ => {
                    !self.shows_whole_account::<T>()
                        || self.state.all_sites().any(|site| !site.is_well() && of(site.state.as_str()))
                }
            };
            if !still_there {
                findings.push(self.again(incident, Verdict::Good, "no longer seen".to_owned()));
            }
        }
    }

    fn gone<T: Watched>(&self, seen: &Seen, findings: &mut Vec<Finding>) {
        if !self.settings.enabled(Kind::ResourceGone) {
            return;
        }
        if seen.removed.is_empty() || !self.shows_whole_account::<T>() {
            return;
        }
        for &id in seen.removed.iter().filter(|&&id| !self.lives_elsewhere::<T>(id)) {
            findings.push(Finding {
                key: Key::new(&self.state.profile.name, Kind::ResourceGone, format!("{}:{id}", T::SORT)),
                verdict: Verdict::Bad { hold: Duration::ZERO, held: String::new() },
                subject: format!("{} {id}", T::NOUN),
                problem: "gone".to_owned(),
                detail: "no longer listed by the provider".to_owned(),
            });
        }
    }

    fn orders(&self) -> Vec<Finding> {
        let Some(report) = &self.state.billing.report else { return Vec::new() };
        let mut findings = Vec::new();
        for order in &report.orders {
            let key = Key::new(&self.state.profile.name, Kind::OrderSuspended, order.id);
            let verdict = match order.state {
                OrderState::Suspended => Verdict::Bad { hold: Duration::ZERO, held: String::new() },
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
                    problem: "suspended".to_owned(),
                    detail: format!("its state is {}", clean(order.state.as_str(), 40)),
                });
            }
        }
        findings
    }
}

impl Watched for Vm {
    const NOUN: &'static str = "VM";
    const SORT: &'static str = "vm";
    const KINDS: &'static [Kind] = &[Kind::VmError, Kind::VmBlocked, Kind::VmStopped, Kind::VmStuck];

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn state_name(&self) -> &str {
        self.state.as_str()
    }

    fn state_is_known(&self) -> bool {
        self.state.is_known()
    }

    fn is_well(&self) -> bool {
        self.state == VmState::Active
    }

    #[allow(clippy::wildcard_enum_match_arm)] // only its own kinds are asked for
    fn verdict(&self, kind: Kind, settings: &Settings) -> Verdict {
        use VmState as S;
        let now = |bad: bool, good: bool| pick(bad, good, Duration::ZERO, "");
        match kind {
            Kind::VmError => now(self.state == S::Error, matches!(self.state, S::Active | S::Stopped)),
            Kind::VmBlocked => now(self.state == S::Blocked, matches!(self.state, S::Active | S::Stopped)),
            Kind::VmStopped => now(self.state == S::Stopped, self.state == S::Active),
            Kind::VmStuck => pick(
                matches!(self.state, S::Pending | S::Building),
                self.state.is_known(),
                settings.stuck_after,
                self.state.as_str(),
            ),
            _ => Verdict::Frozen,
        }
    }
}

impl Watched for Container {
    const NOUN: &'static str = "Container";
    const SORT: &'static str = "container";
    const KINDS: &'static [Kind] = &[Kind::ContainerDisabled];

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn state_name(&self) -> &str {
        self.state.as_str()
    }

    fn state_is_known(&self) -> bool {
        self.state.is_known()
    }

    fn is_well(&self) -> bool {
        self.state == ContainerState::Enabled
    }

    fn verdict(&self, _kind: Kind, _settings: &Settings) -> Verdict {
        let good = self.state == ContainerState::Enabled;
        pick(!good && self.state.is_known(), good, Duration::ZERO, "")
    }
}

impl Watched for Site {
    const NOUN: &'static str = "Site";
    const SORT: &'static str = "site";
    const KINDS: &'static [Kind] = &[Kind::SiteError, Kind::SiteBlocked, Kind::SiteStuck];

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn state_name(&self) -> &str {
        self.state.as_str()
    }

    fn state_is_known(&self) -> bool {
        self.state.is_known()
    }

    fn is_well(&self) -> bool {
        self.state == SiteState::Active
    }

    #[allow(clippy::wildcard_enum_match_arm)] // only its own kinds are asked for
    fn verdict(&self, kind: Kind, settings: &Settings) -> Verdict {
        use SiteState as S;
        let right = matches!(self.state, S::Active | S::Stopped);
        let blocked = matches!(self.state, S::StoppedByAdmin | S::StoppedByService | S::StoppedByQuota);
        match kind {
            Kind::SiteError => pick(self.state == S::Error, right, Duration::ZERO, ""),
            Kind::SiteBlocked => pick(blocked, right, Duration::ZERO, ""),
            Kind::SiteStuck => {
                let backup = matches!(self.state, S::Backuping | S::Restoring);
                let hold = if backup { settings.stuck_after_backup } else { settings.stuck_after };
                let passing = backup
                    || matches!(
                        self.state,
                        S::Building | S::Starting | S::Stopping | S::Restarting | S::Updating
                    );
                pick(passing, self.state.is_known(), hold, self.state.as_str())
            }
            _ => Verdict::Frozen,
        }
    }
}

fn pick(bad: bool, good: bool, hold: Duration, held: &str) -> Verdict {
    match (bad, good) {
        (true, _) => Verdict::Bad { hold, held: held.to_owned() },
        (false, true) => Verdict::Good,
        (false, false) => Verdict::Frozen,
    }
}

/// What is wrong, in the words of a subject line.
pub fn problem(kind: Kind) -> &'static str {
    match kind {
        Kind::Disconnect => "disconnect",
        Kind::BillingReport => "not available",
        Kind::OrderSuspended => "suspended",
        Kind::BalanceDrop => "dropped",
        Kind::VmError | Kind::SiteError => "in error",
        Kind::VmBlocked => "blocked",
        Kind::SiteBlocked | Kind::VmStopped => "stopped",
        Kind::VmStuck | Kind::SiteStuck => "stuck",
        Kind::ContainerDisabled => "disabled",
        Kind::ResourceGone => "gone",
        Kind::UnknownState => "not known to hostwatch",
        Kind::CollectorFailing => "failing",
        Kind::CredentialsRejected => "rejected",
    }
}
