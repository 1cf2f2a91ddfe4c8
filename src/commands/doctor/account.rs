//! One account, live: each endpoint group with its credentials, what follows from what it shows, and how
//! many calls that takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::calls::{self, Counted};
use crate::alert::Kind;
use crate::clock;
use crate::commands::reading::{self, Tally};
use crate::config::Account;
use crate::daemon;
use crate::metrics::families;
use crate::model::{
    AccountState, Collector, Container, ContainerState, Group, KnownAccount, Read, Report, Resource,
    SiteState, VmState,
};
use crate::provider::poll;
use crate::provider::{ApiError, Client, Hosts, Listed};
use crate::terminal::doctor::{Check, Outcome, Section};

/// Nobody waits longer for one listing.
const PATIENCE: Duration = Duration::from_secs(90);
/// Containers whose sites are read; the others are taken to be alike.
const MOST_CONTAINERS: usize = 20;
/// A first charge this long ago cannot be what is to come.
const PAST_CHARGE: chrono::Duration = chrono::Duration::hours(1);

/// What was found of one account.
pub(super) struct Examined {
    pub(super) section: Section,
    pub(super) state: Arc<AccountState>,
    pub(super) report: Result<Arc<Report>, String>,
}

struct Patient<'a> {
    account: &'a Account,
    tally: Arc<Tally>,
    book: KnownAccount,
    counted: Counted,
    checks: Vec<Check>,
}

/// Examines one account: the cheapest call of each group, and the sites of some containers.
pub(super) async fn examine(account: &Account, hosts: &Hosts) -> Examined {
    let tally = Arc::new(Tally::default());
    let mut patient = Patient {
        account,
        tally: Arc::clone(&tally),
        book: KnownAccount::new(Arc::clone(&account.profile)),
        counted: Counted::default(),
        checks: Vec::new(),
    };
    let report = match reading::client(account, &tally, hosts) {
        Ok(client) => {
            patient.vms(&client).await;
            patient.containers(&client).await;
            patient.billing(client).await
        }
        Err(error) => {
            patient.checks.push(Check::new("client", Outcome::Fail, error.to_string()));
            Err(error.to_string())
        }
    };
    patient.states();
    let counted = patient.counted;
    patient.checks.extend(calls::checks(account, counted));
    let section = Section { title: format!("Account {}", account.name()), checks: patient.checks };
    Examined { section, state: patient.book.publish(), report }
}

impl Patient<'_> {
    async fn vms(&mut self, client: &Client) {
        if !self.is_on(Group::Vm, "vm_api_key") {
            return;
        }
        let began = Instant::now();
        let read = limited(async { client.begin_poll(Group::Vm)?.vms().await }).await;
        let calls = self.tally.requests(Group::Vm);
        self.counted.vm_calls = calls;
        if let Some(listed) = self.listed("VMs", read, calls, began) {
            self.book.apply(Read::Vms(listed.into_rows()), clock::now());
        }
        self.follows(Group::Vm);
    }

    async fn containers(&mut self, client: &Client) {
        if !self.is_on(Group::Hosting, "hosting_token") {
            return;
        }
        let began = Instant::now();
        let read = limited(async { client.begin_poll(Group::Hosting)?.containers().await }).await;
        let calls = self.tally.requests(Group::Hosting);
        self.counted.container_calls = calls;
        if let Some(listed) = self.listed("containers", read, calls, began) {
            let some: Vec<_> =
                listed.rows.iter().take(MOST_CONTAINERS).map(|one: &Container| one.id).collect();
            self.counted.containers = u64::try_from(listed.rows.len()).unwrap_or(u64::MAX);
            self.book.apply(Read::Containers(listed.into_rows()), clock::now());
            self.sites(client, &some).await;
        }
        self.follows(Group::Hosting);
    }

    async fn sites(&mut self, client: &Client, containers: &[crate::model::ContainerId]) {
        let (began, before) = (Instant::now(), self.tally.requests(Group::Hosting));
        for &container in containers {
            match limited(async { client.begin_poll(Group::Hosting)?.sites(container).await }).await {
                Ok(listed) => {
                    self.counted.looked_into += 1;
                    self.counted.sites += u64::try_from(listed.rows.len()).unwrap_or(u64::MAX);
                    self.book.apply(Read::Sites(container, listed.into_rows()), clock::now());
                }
                Err(error) => {
                    self.checks.push(Check::new("sites", Outcome::Fail, error));
                    break;
                }
            }
        }
        self.counted.site_calls = self.tally.requests(Group::Hosting) - before;
        let (sites, of) = (self.counted.sites, self.counted.containers);
        if self.counted.looked_into > 0 {
            let some = if self.counted.looked_into < of {
                format!(" in {} of {of} containers", self.counted.looked_into)
            } else {
                String::new()
            };
            let took = took(self.counted.site_calls, began);
            self.checks.push(Check::new("sites", Outcome::Ok, format!("{sites}{some}, {took}")));
        }
    }

    async fn billing(&mut self, client: Client) -> Result<Arc<Report>, String> {
        if !self.is_on(Group::Billing, "billing_username and billing_password") {
            return Err("billing is off".to_owned());
        }
        let began = Instant::now();
        let plan = daemon::plan(self.account, client, self.account.horizon_days);
        let report = poll::read_report(&plan, PATIENCE).await.map_err(|failure| failure.message);
        let now = clock::now();
        match &report {
            Ok(report) => {
                let charges = report.moments.len();
                let says = format!(
                    "{charges} charges to come, {}",
                    took(self.tally.requests(Group::Billing), began)
                );
                let check = Check::new("expected balance", Outcome::Ok, says);
                self.checks.push(if report.moments_rejected == 0 {
                    check
                } else {
                    let says =
                        format!("{}; {} charges could not be read", check.says, report.moments_rejected);
                    Check { outcome: Outcome::Warn, says, ..check }
                });
                self.time_zone(report, now);
            }
            Err(error) => self.checks.push(Check::new("expected balance", Outcome::Fail, error)),
        }
        self.follows(Group::Billing);
        report.map(Arc::new)
    }

    /// Charges to come are not in the past, if the account's zone is the one it is taken for.
    fn time_zone(&mut self, report: &Report, now: DateTime<Utc>) {
        let zone = self.account.profile.zone();
        let there = now.with_timezone(&zone).format("%H:%M on %Y-%m-%d");
        let says = format!("{}: it is {there} there", zone.name());
        let first = report.moments.first().map(|moment| now - moment.at).filter(|&late| late > PAST_CHARGE);
        self.checks.push(match first {
            None => Check::new("time zone", Outcome::Ok, says),
            Some(late) => {
                let says =
                    format!("{says}, and the next charge of the report was due {} h ago", late.num_hours());
                Check::new("time zone", Outcome::Warn, says)
                    .remedy("set time_zone to the zone in which the provider writes its dates")
            }
        });
    }

    fn is_on(&mut self, group: Group, keys: &str) -> bool {
        let on = self.account.has(group);
        if !on {
            let says = format!("off: no {keys}, or no address");
            self.checks.push(Check::new(group.as_str(), Outcome::Skip, says));
        }
        on
    }

    fn listed<T: Resource>(
        &mut self,
        what: &str,
        read: Result<Listed<T>, String>,
        calls: u64,
        began: Instant,
    ) -> Option<Listed<T>> {
        match read {
            Ok(listed) => {
                let says = format!("{}, {}", listed.rows.len(), took(calls, began));
                self.checks.push(if listed.complete {
                    Check::new(what, Outcome::Ok, says)
                } else {
                    let problem = listed.problems.first();
                    let problem =
                        problem.map(|problem| format!(", such as {}: {}", problem.path, problem.what));
                    let says = format!("{says}; not all could be read{}", problem.unwrap_or_default());
                    Check::new(what, Outcome::Warn, says)
                });
                Some(listed)
            }
            Err(error) => {
                self.checks.push(Check::new(what, Outcome::Fail, error));
                None
            }
        }
    }

    /// Which metrics and alerts come of a group's collectors.
    fn follows(&mut self, group: Group) {
        let account = self.account;
        let on = &account.profile.collectors;
        let ours = |collector: Collector| collector.group() == group && on.contains(&collector);
        let collectors: Vec<&str> =
            on.iter().filter(|collector| ours(**collector)).map(|collector| collector.as_str()).collect();
        let what = format!("{} gives", group.as_str());
        if collectors.is_empty() {
            let says = "nothing: its schedules are all off";
            self.checks.push(
                Check::new(what, Outcome::Warn, says).remedy("give [schedule] a cron expression for it"),
            );
            return;
        }
        let families = families().filter(|family| family.collector().is_some_and(ours));
        let names: Vec<&str> = families.map(|family| family.name).collect();
        let kinds = Kind::ALL
            .iter()
            .copied()
            .filter(|kind| account.alert.enabled(*kind) && kind.seen_by().is_some_and(ours));
        let kinds: Vec<&str> = kinds.map(Kind::as_str).collect();
        let alerts = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
        let such = names.first().map(|name| format!(" such as {name}")).unwrap_or_default();
        let says = format!("{} metrics{such}; alerts: {alerts}", names.len());
        self.checks.push(Check::new(what, Outcome::Ok, says));
    }

    /// States that nobody here knows raise no alert of their own.
    fn states(&mut self) {
        let state = self.book.state();
        let mut odd: Vec<String> = Vec::new();
        let mut note = |kind: &str, state: &str| {
            let text = format!("{kind} '{state}'");
            if !odd.contains(&text) {
                odd.push(text);
            }
        };
        let mut numbers = false;
        for container in state.containers.rows.iter() {
            if let ContainerState::Unknown(name) = &container.state {
                numbers |= name.parse::<i64>().is_ok();
                note("container", name);
            }
        }
        for vm in state.vms.rows.iter() {
            if let VmState::Unknown(name) = &vm.state {
                note("VM", name);
            }
        }
        for site in state.all_sites() {
            if let SiteState::Unknown(name) = &site.state {
                note("site", name);
            }
        }
        if odd.is_empty() {
            return;
        }
        let remedy = if numbers {
            format!("name the numbers in [accounts.{}.container_states]", self.account.name())
        } else {
            "ask the provider what they mean; hostwatch reports them as unknown".to_owned()
        };
        odd.truncate(10);
        let says = format!("without a meaning known here: {}", odd.join(", "));
        self.checks.push(Check::new("states", Outcome::Warn, says).remedy(remedy));
    }
}

async fn limited<T>(call: impl Future<Output = Result<T, ApiError>>) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(format!("not read within {} s", PATIENCE.as_secs())),
    }
}

fn took(calls: u64, began: Instant) -> String {
    let plural = if calls == 1 { "" } else { "s" };
    format!("{calls} call{plural}, {:.1} s", began.elapsed().as_secs_f64())
}
