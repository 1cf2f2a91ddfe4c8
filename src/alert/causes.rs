//! Root causes: which open incident explains another, and which readings have to come before either is told.
//!
//! Non-payment explains blocked and stopped VMs, and sites and containers that the service disabled. A disabled
//! container explains its sites. An error is explained only by its own container being disabled.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::case::Evidence;
use super::cut_off::CutOff;
use super::finding::Value;
use super::incident::{Incident, Phase};
use super::key::{Key, Target};
use super::kind::Kind;
use super::rules::failure_of;
use crate::model::freshness::{AWAITED_FOR, all_looked, has_looked};
use crate::model::{AccountState, Collector, ContainerState, FailureKind, SiteState, Sort};

/// All that may explain an incident of one account.
pub(super) struct Causes<'a> {
    pub incidents: &'a BTreeMap<Key, Incident>,
    pub cut_off: Option<&'a CutOff>,
    pub state: &'a AccountState,
    /// The last start or wake.
    pub horizon: DateTime<Utc>,
    pub now: DateTime<Utc>,
}

impl Causes<'_> {
    /// The incident that explains this one now. The cause stays until it is over or a reading shows the resource wrong:
    /// one that left all listings, recovers, or is on its way back shows nothing else.
    pub(super) fn now(&self, incident: &Incident) -> Option<Key> {
        let key = &incident.key;
        let row = key.kind.sort().zip(key.id());
        let is_listed = row.is_none_or(|(sort, id)| self.state.resource(sort, id).is_some());
        let is_shown_wrong = is_listed && incident.phase == Phase::Firing && incident.moved_on().is_none();
        let kept = incident.cause.as_ref().filter(|cause| !is_shown_wrong && self.open(cause).is_some());
        kept.cloned().or_else(|| self.of(incident))
    }

    fn of(&self, incident: &Incident) -> Option<Key> {
        let key = &incident.key;
        let unpaid = self.may_be_for_non_payment(incident) || self.may_be_unpaid(incident);
        let is = |sort| key.kind.sort() == Some(sort);
        // A container that is off for non-payment explains no other container.
        self.other_of_resource(incident)
            .or_else(|| unpaid.then(|| self.overdue()).flatten())
            .or_else(|| is(Sort::Site).then(|| self.container(key)).flatten())
            .or_else(|| (unpaid && !is(Sort::Container)).then(|| self.unpaid_container()).flatten())
    }

    fn open(&self, key: &Key) -> Option<&Incident> {
        self.incidents.get(key).filter(|incident| incident.explains())
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Incident> {
        let account = &self.state.profile.name;
        let range = self.incidents.range(Key::new(account, kind, Target::FIRST)..);
        range.map(|(_, one)| one).take_while(move |one| one.key.kind == kind && one.key.account == *account)
    }

    /// Another incident of the same resource, which went on to another wrong state. It explains this one, so
    /// that the resource is named once. An error is explained by its container alone.
    fn other_of_resource(&self, incident: &Incident) -> Option<Key> {
        let key = &incident.key;
        let is_error = matches!(key.kind, Kind::VmError | Kind::SiteError);
        key.kind.sort().filter(|_| incident.moved_on().is_some() && !is_error)?;
        let same_sight = Kind::ALL.iter().filter(|kind| **kind != key.kind && kind.sort() == key.kind.sort());
        let mut others = same_sight.filter_map(|&kind| self.open(&Key { kind, ..key.clone() }));
        others
            .find(|other| other.moved_on().is_none() && other.cause.is_none())
            .map(|other| other.key.clone())
    }

    /// The account is cut off, or its balance is used up.
    fn overdue(&self) -> Option<Key> {
        let key = Key::account_wide(&self.state.profile.name, Kind::Disconnect);
        let is_unpaid = self.cut_off.is_some_and(|cut_off| cut_off.used_up || cut_off.is_overdue(self.now));
        self.open(&key).filter(|_| is_unpaid).map(|_| key)
    }

    /// A container that is off for non-payment.
    fn unpaid_container(&self) -> Option<Key> {
        let unpaid = |one: &&Incident| one.explains() && one.cause.is_none() && is_unpaid(one);
        self.of_kind(Kind::ContainerDisabled).find(unpaid).map(|one| one.key.clone())
    }

    /// The incident of a site's container, or the cause of that. If only stopped sites show that the container
    /// is off, its incident explains nothing but stopped sites.
    fn container(&self, key: &Key) -> Option<Key> {
        let site = self.state.site(key.id()?.into())?;
        let container = Key::new(&key.account, Kind::ContainerDisabled, site.container.get());
        let incident = self.open(&container)?;
        let by_sites = incident.value == Value::SitesStopped;
        let explains =
            !by_sites || (key.kind == Kind::SiteBlocked && site.state == SiteState::StoppedByService);
        explains.then(|| self.root(incident))
    }

    /// Whether all calls that an incident of collectors is about were refused as those of a suspended account are.
    fn may_be_unpaid(&self, incident: &Incident) -> bool {
        let concerns = |one: &Collector| {
            matches!(&incident.value, Value::Failing(all) if all.contains_key(one))
                || incident.key.resource == one.group().into()
        };
        let mut failures =
            Collector::ALL.into_iter().filter(concerns).filter_map(|one| failure_of(self.state, one));
        failures.next().is_some_and(FailureKind::may_be_unpaid) && failures.all(FailureKind::may_be_unpaid)
    }

    fn root(&self, incident: &Incident) -> Key {
        self.of(incident).unwrap_or_else(|| incident.key.clone())
    }

    fn is_stopped_by_service(&self, key: &Key) -> bool {
        let site = key.id().and_then(|id| self.state.site(id.into()));
        site.is_some_and(|site| site.state == SiteState::StoppedByService)
    }

    /// The end of a wait for readings that began at `from`, while that is ahead.
    fn until(&self, from: DateTime<Utc>) -> Option<DateTime<Utc>> {
        Some(from + AWAITED_FOR).filter(|until| self.now < *until)
    }

    fn looked(&self, collector: Collector) -> bool {
        !self.state.profile.collectors.contains(&collector) || has_looked(self.state, collector)
    }

    /// The end of the wait for the report, or the first try of it, since the last start or wake.
    pub(super) fn awaits_report(&self) -> Option<DateTime<Utc>> {
        // A clock that was set back leaves the report of before at the time of the wake.
        let is_read = self.state.billing.latest().is_some_and(|(_, at)| at > self.horizon);
        self.until(self.horizon).filter(|_| !is_read && !self.looked(Collector::ExpectedBalance))
    }

    /// Whether the last poll of the collector failed without showing the incident. Rows of the pages and listings
    /// that such a poll could read are observations.
    fn is_unseen(&self, own: Collector, incident: &Incident) -> bool {
        let status = self.state.collectors.get(&own).filter(|status| !status.success);
        status.is_some_and(|status| incident.read_at <= status.began.unwrap_or(self.horizon))
    }

    #[allow(clippy::wildcard_enum_match_arm)] // non-payment explains none of the others
    fn may_be_for_non_payment(&self, incident: &Incident) -> bool {
        match incident.key.kind {
            Kind::VmBlocked | Kind::VmStopped => true,
            Kind::ContainerDisabled => is_unpaid(incident),
            Kind::SiteBlocked => self.is_stopped_by_service(&incident.key),
            _ => false,
        }
    }

    /// The end of the wait for a report that tells of the cut-off, if non-payment may explain an open incident.
    pub(super) fn awaits_report_on(&self, incident: &Incident) -> Option<DateTime<Utc>> {
        let since = incident.since.max(self.horizon);
        let is_on = self.state.profile.collectors.contains(&Collector::ExpectedBalance);
        let awaits =
            || !self.looked(Collector::ExpectedBalance) || self.state.billing.told_at() < Some(since);
        let is_concerned = is_on && incident.phase.is_open() && self.may_be_for_non_payment(incident);
        self.until(since).filter(|_| is_concerned && awaits())
    }

    /// The end of the wait for the containers, if one of them may explain an open incident of a site.
    fn awaits_containers_on(&self, incident: &Incident) -> Option<DateTime<Utc>> {
        let is_read = || {
            let status = self.state.collectors.get(&Collector::Containers);
            status.is_some_and(|status| status.looked && status.success)
        };
        let is_site = incident.key.kind.seen_by() == Some(Collector::Sites);
        self.until(incident.since.max(self.horizon)).filter(|_| is_site && !is_read())
    }

    /// Whether the readings that an incident rests on count.
    pub(super) fn evidence(&self, incident: &Incident) -> Evidence {
        let (key, state) = (&incident.key, self.state);
        let own = key.kind.seen_by();
        if key.kind == Kind::Disconnect {
            return self.awaits_report().map_or(Evidence::Sound, Evidence::Awaited);
        }
        let awaits_look = own.map_or_else(|| !all_looked(state), |own| !self.looked(own));
        let awaits_look = self.until(self.horizon).filter(|_| awaits_look);
        if !incident.phase.is_open() {
            // A reading from before the last start is no proof of an end.
            return awaits_look.map_or(Evidence::Sound, Evidence::Awaited);
        }
        let awaits_itself = incident.trusted_from.filter(|from| incident.read_at < *from);
        let awaited = [
            awaits_look,
            self.awaits_report_on(incident),
            self.awaits_containers_on(incident),
            awaits_itself.and_then(|from| self.until(from)),
        ];
        if let Some(until) = awaited.into_iter().flatten().max() {
            Evidence::Awaited(until)
        } else if own.is_some_and(|own| self.is_unseen(own, incident)) {
            Evidence::Unread
        } else {
            Evidence::Sound
        }
    }
}

/// Whether a container's incident shows that it is off for non-payment.
fn is_unpaid(incident: &Incident) -> bool {
    match &incident.value {
        Value::SitesStopped => true,
        Value::State(state) => state == ContainerState::DisabledByService.as_str(),
        Value::None | Value::States(_) | Value::Failing(_) | Value::Balance(_) | Value::Cost(_) => false,
    }
}
