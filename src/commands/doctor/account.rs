//! The live checks of one account: each endpoint group with its credentials, the conclusions from its data, and
//! the number of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};
use tracing::Instrument as _;

use super::calls::{self, Reading, Readings};
use crate::alert::Kind;
use crate::clock;
use crate::commands::reading::{self, PATIENCE, Tally};
use crate::config::AccountSettings;
use crate::daemon::plan;
use crate::metrics::families;
use crate::model::forecast::{self, Disconnect};
use crate::model::{
    AccountName, AccountState, Collector, Container, ContainerId, ContainerState, Group, Health,
    KnownAccount, Language, Read, Report, Rows,
};
use crate::provider::poll::{self, span};
use crate::provider::{ApiError, Client, Hosts, Listed, ReportRead, TokenStanding};
use crate::terminal::doctor::{CheckSection, CheckVerdict};
use crate::view::{Reader, words};

/// The number of containers whose sites are read. The others are assumed to be similar.
const MOST_CONTAINERS: usize = 20;
/// A first charge that is overdue by more than this shows a wrong time zone.
const PAST_CHARGE: chrono::Duration = chrono::Duration::hours(1);

/// The results for one account.
pub(in crate::commands) struct Examined {
    pub(in crate::commands) section: CheckSection,
    pub(in crate::commands) state: Arc<AccountState>,
    pub(super) report: Result<Arc<Report>, String>,
}

/// The facts that the checks use. Readings of a group that is off are empty.
struct Facts<'a> {
    account: &'a AccountSettings,
    readings: Readings,
    report: Result<Arc<Report>, String>,
    token: Option<TokenStanding>,
    known: KnownAccount,
    now: DateTime<Utc>,
}

/// Examines one account with the cheapest call of each group, and the sites of some containers.
pub(in crate::commands) async fn examine(account: &AccountSettings, hosts: &Hosts) -> Examined {
    let mut facts = Facts {
        account,
        readings: Readings::default(),
        report: Err("billing is off".to_owned()),
        token: None,
        known: KnownAccount::new(Arc::clone(&account.profile)),
        now: clock::now(),
    };
    let tally = Arc::new(Tally::default());
    let mut checks = match reading::client(account, &tally, hosts) {
        Ok(client) => {
            facts.read(client, &tally).await;
            let checks = Facts::CHECKS.iter();
            checks.filter_map(|(name, check)| Some(((*name).to_owned(), check(&facts)?))).collect()
        }
        Err(error) => {
            facts.report = Err(error.to_string());
            vec![("client".to_owned(), CheckVerdict::fail(error.to_string()))]
        }
    };
    checks.extend(calls::checks(account, &facts.readings));
    let mut section = CheckSection::new(format!("Account {}", account.name()), checks);
    section.paste = to_fill_in(account.name(), facts.known.state());
    Examined { section, state: facts.known.publish(), report: facts.report }
}

/// Reading the facts.
impl Facts<'_> {
    async fn read(&mut self, client: Client, tally: &Tally) {
        let account = self.account;
        let name = account.name();
        if account.has(Group::Vm) {
            let call = async { client.begin_poll(Group::Vm)?.vms().await };
            let rows = self.readings.vms.add(tally, name, Collector::Vms, call).await;
            self.apply(rows.map(Read::Vms));
        }
        if account.has(Group::Hosting) {
            let call = async { client.begin_poll(Group::Hosting)?.containers().await };
            let rows = self.readings.containers.add(tally, name, Collector::Containers, call).await;
            let some = rows.iter().flat_map(|read| &read.rows).take(MOST_CONTAINERS);
            let some: Vec<ContainerId> = some.map(|container| container.id).collect();
            self.apply(rows.map(Read::Containers));
            for container in some {
                let call = async { client.begin_poll(Group::Hosting)?.sites(container).await };
                let rows = self.readings.sites.add(tally, name, Collector::Sites, call).await;
                let Some(rows) = rows else { break };
                self.readings.looked_into += 1;
                self.apply(Some(Read::Sites(container, rows)));
            }
        }
        self.token = client.token_standing();
        if account.has(Group::Billing) {
            let began = Instant::now();
            let read = poll::read_report(&plan(account, client, account.horizon_days), PATIENCE).await;
            self.now = clock::now();
            self.readings.balance = Reading {
                rows: read.as_ref().map_or(0, |read| read.report.moments.len() as u64),
                flaw: read.as_ref().ok().and_then(flaw_of_report),
                error: read.as_ref().err().map(|failure| failure.message.clone()),
                calls: tally.requests(Group::Billing),
                took: began.elapsed(),
            };
            self.report = read.map(|read| Arc::new(read.report)).map_err(|failure| failure.message);
        }
    }

    fn apply(&mut self, read: Option<Read>) {
        if let Some(read) = read {
            self.known.apply(read, clock::now());
        }
    }
}

/// The part of a report that cannot be read, and the reason why it tells no cut-off. The rehearsal tells what follows.
fn flaw_of_report(read: &ReportRead) -> Option<String> {
    let ReportRead { report, problems } = read;
    let unread = match report.moments_rejected {
        0 => "not all could be read".to_owned(),
        rejected => format!("{rejected} charges could not be read"),
    };
    let unread = problems.first().map(|problem| format!("{unread}, such as {problem}"));
    let dateless = forecast::proves_nothing(report, Disconnect::Unknown, false).map(|doubt| {
        let held = forecast::held(report, doubt).map_or_else(String::new, |held| format!(" ({held})"));
        format!("{doubt}{held}")
    });
    let flaws: Vec<String> = unread.into_iter().chain(dateless).collect();
    (!flaws.is_empty()).then(|| flaws.join("; "))
}

/// A check on facts; `None` if it does not apply.
type Check<'a> = fn(&Facts<'a>) -> Option<CheckVerdict>;

impl<'a> Facts<'a> {
    const CHECKS: [(&'static str, Check<'a>); 14] = [
        ("vm", |facts| facts.off(Group::Vm, "vm_api_key")),
        ("VMs", |facts| Some(facts.on(Group::Vm)?.readings.vms.verdict(""))),
        ("VM data", |facts| Some(facts.on(Group::Vm)?.gives(Group::Vm))),
        ("hosting", |facts| facts.off(Group::Hosting, "hosting_token")),
        ("containers", |facts| Some(facts.on(Group::Hosting)?.readings.containers.verdict(""))),
        ("sites", |facts| facts.readings.sites.error.as_deref().map(CheckVerdict::fail)),
        ("sites", Self::sites),
        ("token", Self::token),
        ("hosting data", |facts| Some(facts.on(Group::Hosting)?.gives(Group::Hosting))),
        ("billing", |facts| facts.off(Group::Billing, "billing_username and billing_password")),
        ("expected balance", |facts| {
            Some(facts.on(Group::Billing)?.readings.balance.verdict(" charges to come"))
        }),
        ("time zone", Self::time_zone),
        ("billing data", |facts| Some(facts.on(Group::Billing)?.gives(Group::Billing))),
        ("states", Self::states),
    ];

    fn reader(&self) -> Reader {
        Reader::english(self.account.profile.zone(), self.now)
    }

    fn on(&self, group: Group) -> Option<&Self> {
        self.account.has(group).then_some(self)
    }

    fn off(&self, group: Group, keys: &str) -> Option<CheckVerdict> {
        (!self.account.has(group)).then(|| CheckVerdict::skip(format!("off: no {keys}, or no address")))
    }

    fn sites(&self) -> Option<CheckVerdict> {
        let (some, of) = (self.readings.looked_into, self.readings.containers.rows);
        let part = if some < of { format!(" in {some} of {of} containers") } else { String::new() };
        let is_read = some > 0 && self.readings.sites.error.is_none();
        is_read.then(|| self.readings.sites.verdict(&part))
    }

    /// The end of the hosting token. A fixed token that ends is a trap.
    fn token(&self) -> Option<CheckVerdict> {
        let standing = self.token?;
        let until = standing.until.map(|until| self.reader().moment(until));
        let has_ended = standing.until.is_some_and(|until| until <= self.now);
        Some(match (standing.is_bought, until) {
            (_, Some(until)) if has_ended && self.readings.containers.error.is_none() => {
                CheckVerdict::warn(format!("the token says that it ended {until}, and the provider takes it"))
            }
            (_, Some(until)) if has_ended => CheckVerdict::fail(format!("the token ended {until}")),
            (true, Some(until)) => {
                CheckVerdict::ok(format!("fetched, holds until {until}; the next is fetched before that"))
            }
            (true, None) => CheckVerdict::ok("fetched; the next is fetched when it is refused"),
            (false, None) => return None,
            (false, Some(until)) => CheckVerdict::warn(format!("hosting_token holds until {until}")).remedy(
                "set hosting_token_url and hosting_api_key, and hostwatch fetches the next ones itself",
            ),
        })
    }

    /// Checks the account's zone: charges ahead must not be in the past.
    fn time_zone(&self) -> Option<CheckVerdict> {
        let report = self.report.as_ref().ok()?;
        let zone = self.account.profile.zone();
        let there = self.reader().moment(self.now);
        let says = format!("{}: it is {there} there", zone.name());
        let first = report.made.map(|(at, _)| at).or(report.moments.first().map(|moment| moment.at));
        let late = first.map(|at| self.now - at);
        let Some(late) = late.filter(|&late| late > PAST_CHARGE) else { return Some(CheckVerdict::ok(says)) };
        let late = words::lasted(late, Language::En);
        let verdict =
            CheckVerdict::warn(format!("{says}, and the next charge of the report was due {late} ago"));
        Some(verdict.remedy("set time_zone to the zone in which the provider writes its dates"))
    }

    /// The metrics and alerts that a group's collectors provide.
    fn gives(&self, group: Group) -> CheckVerdict {
        if self.readings.failed(group) {
            return CheckVerdict::skip("nothing until that works");
        }
        let on = &self.account.profile.collectors;
        let ours = |collector: Collector| collector.group() == group && on.contains(&collector);
        if !on.iter().copied().any(ours) {
            return CheckVerdict::warn("nothing: its schedules are all off")
                .remedy("give [schedule] a cron expression for it");
        }
        let families = families().filter(|family| family.collector().is_some_and(ours));
        let names: Vec<&str> = families.map(|family| family.name).collect();
        let kinds = Kind::ALL.iter().filter(|kind| self.account.alert.enabled(**kind));
        let kinds = kinds.filter(|kind| kind.seen_by().is_some_and(ours));
        let kinds: Vec<&str> = kinds.copied().map(Kind::as_str).collect();
        let alerts = if kinds.is_empty() { "no alerts".to_owned() } else { kinds.join(", ") };
        let such = names.first().map(|name| format!(" such as {name}")).unwrap_or_default();
        CheckVerdict::ok(format!("would watch: {alerts}; {} metrics{such}", names.len()))
    }

    /// Unknown states of resources and orders.
    fn states(&self) -> Option<CheckVerdict> {
        let resources = self.known.state().resources().filter(|seen| seen.health == Health::Unknown);
        let resources = resources.map(|seen| (words::sort(seen.kind, Language::En), seen.state));
        let orders = self.report.iter().flat_map(|report| &report.orders);
        let orders =
            orders.filter(|order| !order.state.is_known()).map(|order| ("order", order.state.as_str()));
        let odd: BTreeSet<(&str, &str)> = resources.chain(orders).collect();
        let numbers = !unnamed_states(self.known.state()).is_empty();
        let remedy = if numbers {
            "name the numbers, as the block below begins to".to_owned()
        } else {
            "ask the provider what they mean; hostwatch reports them as unknown".to_owned()
        };
        let odd: Vec<String> = odd.iter().take(10).map(|(what, state)| format!("{what} '{state}'")).collect();
        let says = format!("unknown: {}", odd.join(", "));
        (!odd.is_empty()).then(|| CheckVerdict::warn(says).remedy(remedy))
    }
}

/// The containers whose state is a number without a name, by that number.
pub(in crate::commands) fn unnamed_states(state: &AccountState) -> BTreeMap<i64, Vec<&Container>> {
    let mut unnamed: BTreeMap<i64, Vec<&Container>> = BTreeMap::new();
    for container in state.containers.rows.iter().filter(|one| !one.state.is_known()) {
        if let Ok(number) = container.state.as_str().parse() {
            unnamed.entry(number).or_default().push(container);
        }
    }
    unnamed
}

/// A table for the configuration: the numbers without a name, and the number of containers with each.
fn to_fill_in(account: &AccountName, state: &AccountState) -> Vec<String> {
    let unnamed = unnamed_states(state);
    if unnamed.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = ContainerState::KNOWN.iter().map(ContainerState::as_str).collect();
    let head = [format!("# {}", names.join(", ")), format!("[accounts.{account}.container_states]")];
    let rows = unnamed.into_iter().map(|(number, containers)| {
        format!("{number} = \"\" # {}", words::count(containers.len(), "container", "containers"))
    });
    head.into_iter().chain(rows).collect()
}

impl Reading {
    /// Adds one more call of the listing.
    async fn add<T>(
        &mut self,
        tally: &Tally,
        account: &AccountName,
        collector: Collector,
        call: impl Future<Output = Result<Listed<T>, ApiError>>,
    ) -> Option<Rows<T>> {
        let group = collector.group();
        let (began, before) = (Instant::now(), tally.requests(group));
        let call = call.instrument(span(account, collector));
        let read = match tokio::time::timeout(PATIENCE, call).await {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err(format!("not read within {} s", PATIENCE.as_secs())),
        };
        self.calls += tally.requests(group) - before;
        self.took += began.elapsed();
        match read {
            Ok(listed) => {
                self.rows += listed.rows.len() as u64;
                let is_whole = listed.is_whole();
                let what = if is_whole { "some values are odd" } else { "not all could be read" };
                let such = listed.problems.first().map(|problem| format!("{what}, such as {problem}"));
                let flaw = such.or_else(|| (!is_whole).then(|| what.to_owned()));
                self.flaw = self.flaw.take().or(flaw);
                self.error = listed.failure.map(|error| error.to_string());
                Some(Rows::new(listed.rows, is_whole))
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }

    fn verdict(&self, of_what: &str) -> CheckVerdict {
        let says = format!("{}{of_what}, {}", self.rows, self.cost());
        match (&self.error, &self.flaw) {
            (Some(error), _) => CheckVerdict::fail(error),
            (None, Some(flaw)) => CheckVerdict::warn(format!("{says}; {flaw}")),
            (None, None) => CheckVerdict::ok(says),
        }
    }

    fn cost(&self) -> String {
        let plural = if self.calls == 1 { "" } else { "s" };
        format!("{} call{plural}, {:.1} s", self.calls, self.took.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::report;

    #[test]
    fn a_report_that_tells_no_cut_off_is_flawed_and_one_that_does_is_not() {
        let flaw = |balance: &str, edd: Edd, problem: Option<&str>| {
            let problems = problem.map(str::to_owned).into_iter().collect();
            flaw_of_report(&ReportRead { report: report(balance, "10", 3, edd), problems })
        };
        assert_eq!(flaw("250", Edd::Null, None), None);
        assert_eq!(flaw("5", Edd::Null, None), None, "a cut-off by the charges");
        assert_eq!(
            flaw("250", Edd::Unknown, Some("$.edd: \"soon\" is no datetime")).unwrap(),
            "not all could be read, such as $.edd: \"soon\" is no datetime; \
             the report's cut-off date is missing or not a date"
        );
    }
}
