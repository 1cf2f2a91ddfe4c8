//! Carries out a lane's acts, a look at a time. Whatever has to be told is held until the daemon has demonstrably
//! taken it in: its metrics show the state only after the step that decided on it was kept.

use std::time::{Duration, Instant};

use hostwatch::sim::{Command, Fault, FaultKind};
use serde_json::json;

use crate::history::Span;
use crate::ladder::Expected;
use crate::script::{ACCOUNTS, Act, Episode, Family, Lane, Life, Money, Operator, Sort};
use crate::world::{Account, Page, World};

/// Nothing takes longer; a group whose credentials were refused five times is asked once in five minutes.
const PATIENCE: Duration = Duration::from_secs(420);
/// A step of the way to "sent" that is not reached is not waited for.
const REACHES_WITHIN: Duration = Duration::from_secs(5);

/// A lane on its way.
pub struct Runner {
    lane: Lane,
    next: usize,
    doing: Option<Box<dyn Doing>>,
    /// When the last step ended, or this one began.
    since: Instant,
}

/// An act under way.
pub trait Doing {
    /// Goes on as far as it can; true once it is over.
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool;
}

impl Runner {
    pub fn new(lane: Lane) -> Self {
        Self { lane, next: 0, doing: None, since: Instant::now() }
    }

    /// A lane of one act, now.
    pub fn once(name: &str, account: usize, act: Act) -> Self {
        let step = crate::script::Step { pause: Duration::ZERO, act };
        Self::new(Lane { name: name.to_owned(), account, steps: vec![step] })
    }

    /// False once there is nothing more to do.
    pub fn go(&mut self, world: &mut World, page: Option<&Page>, more: bool) -> bool {
        let name = &self.lane.name;
        if self.doing.is_none() {
            let Some(step) = self.lane.steps.get(self.next).filter(|_| more) else { return false };
            if self.since.elapsed() < step.pause {
                return true;
            }
            world.note(&format!("{name} #{}: {:?}", self.next, step.act));
            self.doing = Some(begin(&step.act, self.lane.account, name));
            self.since = Instant::now();
        }
        let done = self.doing.as_mut().is_some_and(|doing| doing.go(world, page));
        if done {
            world.note(&format!("{name} #{} is over", self.next));
            (self.doing, self.since) = (None, Instant::now());
            self.next += 1;
        }
        assert!(self.since.elapsed() < PATIENCE, "{name} #{} is not over after {PATIENCE:?}", self.next);
        true
    }
}

fn begin(act: &Act, account: usize, lane: &str) -> Box<dyn Doing> {
    match act.clone() {
        Act::Life(life) => {
            Box::new(LifeRun { account, life, phase: Phase::Begin, id: 0, name: String::new() })
        }
        Act::Family(family) => Box::new(FamilyRun { account, family, phase: 0, container: 0, until: None }),
        Act::Money(money) => Box::new(MoneyRun { account, money, phase: 0, until: None }),
        Act::Fault { fault, hold } => {
            let fault = Fault { name: Some(lane.to_owned()), ..fault };
            Box::new(FaultRun { account, what: Some(fault), hold, until: None })
        }
        Act::ReportError { hold } => Box::new(FaultRun { account, what: None, hold, until: None }),
        Act::Mail { .. } | Act::MailServerAway { .. } => Box::new(MailRun { act: act.clone(), until: None }),
        Act::Operator(operator) => Box::new(OperatorRun { operator, phase: 0, until: None }),
    }
}

fn is_past(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

fn control(world: &World, account: usize, name: &str, body: &serde_json::Value) {
    let command = Command::parse(name, body.to_string().as_bytes()).unwrap();
    world.accounts[account].provider.simulator.control(&command).unwrap();
}

/// A resource, as commands, metrics and keys speak of it.
struct Thing<'a> {
    account: usize,
    sort: Sort,
    id: u64,
    bad: &'a str,
}

impl Thing<'_> {
    fn word(&self) -> &'static str {
        match self.sort {
            Sort::Vm => "vm",
            Sort::Site => "site",
            Sort::Container => "container",
        }
    }

    fn good(&self) -> &'static str {
        match self.sort {
            Sort::Vm => "active",
            Sort::Site => "Active",
            Sort::Container => "ENABLED",
        }
    }

    fn key(&self) -> String {
        let kind = match (self.sort, self.bad) {
            (Sort::Vm, "error") => "vm_error",
            (Sort::Vm, _) => "vm_blocked",
            (Sort::Site, "Error") => "site_error",
            (Sort::Site, _) => "site_blocked",
            (Sort::Container, _) => "container_disabled",
        };
        format!("{}/{kind}/{}", ACCOUNTS[self.account], self.id)
    }

    fn is(&self, page: &Page, state: &str) -> bool {
        let word = self.word();
        let account = ACCOUNTS[self.account];
        page.has(&format!(
            "hosting_{word}_state{{account=\"{account}\",{word}=\"{}\",state=\"{state}\"}} 1",
            self.id
        ))
    }

    /// Shown right, and no incident of it is open.
    fn is_well(&self, page: &Page) -> bool {
        self.is(page, self.good()) && !page.open.contains_key(&self.key())
    }

    fn is_gone(&self, page: &Page) -> bool {
        let (account, word) = (ACCOUNTS[self.account], self.word());
        let collector = format!("{word}s");
        let read =
            format!("hostwatch_collector_success{{account=\"{account}\",collector=\"{collector}\"}} 1");
        let shown = format!("hosting_{word}_info{{account=\"{account}\",{word}=\"{}\",", self.id);
        page.has(&read) && !page.begins(&shown) && !page.open.contains_key(&self.key())
    }

    fn becomes(&self, world: &mut World, wrong: bool) {
        let state = if wrong { self.bad } else { self.good() };
        let at = world.now();
        world.history.change(&self.key(), at, wrong);
        let word = self.word();
        control(world, self.account, &format!("set_{word}"), &json!({ word: self.id, "state": state }));
    }

    fn vanishes(&self, world: &mut World) {
        let at = world.now();
        world.history.change(&self.key(), at, false);
        let word = self.word();
        control(world, self.account, &format!("remove_{word}"), &json!({ word: self.id }));
        let account = &mut world.accounts[self.account];
        match self.sort {
            Sort::Vm => account.vms.remove(&self.id),
            Sort::Site => account.sites.remove(&self.id),
            Sort::Container => {
                for site in Account::sites_of(self.id) {
                    account.sites.remove(&site);
                }
                account.containers.remove(&self.id)
            }
        };
    }
}

/// Where a life stands, and in which episode.
enum Phase {
    Begin,
    Appears,
    Breaks(usize),
    IsWrong(usize),
    Lasts(usize, Instant),
    Recovers(usize),
    Vanishes,
}

struct LifeRun {
    account: usize,
    life: Life,
    phase: Phase,
    id: u64,
    /// Of a new site.
    name: String,
}

impl Doing for LifeRun {
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        let thing = Thing { account: self.account, sort: self.life.sort, id: self.id, bad: self.life.bad };
        let key = thing.key();
        match self.phase {
            Phase::Begin => {
                if world.accounts[self.account].cut_off {
                    return false;
                }
                self.choose(world);
            }
            Phase::Appears => {
                let Some(page) = page else { return false };
                // The id is the provider's to give: the daemon says which it is.
                let start = format!("hosting_site_info{{account=\"{}\",site=\"", ACCOUNTS[self.account]);
                let named = format!("name=\"{}\"", self.name);
                let Some(line) = page.line_with(&start, &named) else { return false };
                let id = line[start.len()..].split('"').next().unwrap_or_default();
                self.id = id.parse().unwrap();
                let thing = Thing { id: self.id, ..thing };
                if thing.is_well(page) {
                    world.accounts[self.account].sites.insert(self.id);
                    self.phase = Phase::Breaks(0);
                }
            }
            Phase::Breaks(episode) => {
                world.count(&format!("broken: {}", thing.word()));
                thing.becomes(world, true);
                self.phase = match self.life.episodes[episode] {
                    Episode::Held(_) => Phase::IsWrong(episode),
                    Episode::Glimpse(time) => Phase::Lasts(episode, Instant::now() + time),
                };
            }
            Phase::IsWrong(episode) => {
                let Some(page) = page.filter(|page| thing.is(page, self.life.bad)) else { return false };
                world.history.seen(&key, page.at, true);
                let Episode::Held(time) = self.life.episodes[episode] else { return true };
                self.phase = Phase::Lasts(episode, Instant::now() + time);
            }
            Phase::Lasts(episode, until) => {
                if Instant::now() < until {
                    return false;
                }
                if self.life.vanishes && episode + 1 == self.life.episodes.len() {
                    world.count(&format!("vanished: {}", thing.word()));
                    thing.vanishes(world);
                    self.phase = Phase::Vanishes;
                } else {
                    thing.becomes(world, false);
                    self.phase = Phase::Recovers(episode);
                }
            }
            Phase::Recovers(episode) => {
                let Some(page) = page.filter(|page| thing.is_well(page)) else { return false };
                world.history.seen(&key, page.at, false);
                if episode + 1 < self.life.episodes.len() {
                    self.phase = Phase::Breaks(episode + 1);
                    return false;
                }
                if self.life.sort == Sort::Site {
                    // They would become ever more.
                    thing.vanishes(world);
                }
                return self.over(world);
            }
            Phase::Vanishes => {
                let Some(page) = page.filter(|page| thing.is_gone(page)) else { return false };
                world.history.seen(&key, page.at, false);
                return self.over(world);
            }
        }
        false
    }
}

impl LifeRun {
    fn choose(&mut self, world: &mut World) {
        let account = &mut world.accounts[self.account];
        account.lives += 1;
        let fresh = match self.life.sort {
            Sort::Vm => account.fresh_vms.pop(),
            Sort::Container => account.fresh_containers.pop(),
            Sort::Site => None,
        };
        if let Some(id) = fresh {
            self.id = id;
            self.phase = Phase::Breaks(0);
            return;
        }
        if self.life.sort != Sort::Site {
            (self.life.sort, self.life.bad) = (Sort::Site, "Error");
        }
        account.sites_made += 1;
        self.name = format!("new-{}.example.com", account.sites_made);
        control(world, self.account, "add_site", &json!({ "container": 301, "name": self.name }));
        self.phase = Phase::Appears;
    }

    fn over(&self, world: &mut World) -> bool {
        world.accounts[self.account].lives -= 1;
        true
    }
}

/// A container takes its sites along.
struct FamilyRun {
    account: usize,
    family: Family,
    phase: u32,
    container: u64,
    until: Option<Instant>,
}

impl Doing for FamilyRun {
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        let account = self.account;
        let container =
            Thing { account, sort: Sort::Container, id: self.container, bad: "DISABLED_BY_ADMIN" };
        let ids = if self.container == 0 { [0, 0] } else { Account::sites_of(self.container) };
        let sites = ids.map(|id| Thing { account, sort: Sort::Site, id, bad: "StoppedByAdmin" });
        let (first, second) = if self.family.cause_ends_first { (true, false) } else { (false, true) };
        match self.phase {
            0 => {
                if world.accounts[account].cut_off {
                    return false;
                }
                let Some(id) = world.accounts[account].fresh_containers.pop() else { return true };
                world.accounts[account].lives += 1;
                world.count("broken: container with its sites");
                self.container = id;
                Thing { id, ..container }.becomes(world, true);
            }
            1 => {
                let Some(page) = page.filter(|page| container.is(page, container.bad)) else { return false };
                world.history.seen(&container.key(), page.at, true);
                sites.iter().for_each(|site| site.becomes(world, true));
            }
            2 => {
                let seen = |page: &&Page| sites.iter().all(|site| site.is(page, site.bad));
                if page.filter(seen).is_none() {
                    return false;
                }
                self.until = Some(Instant::now() + self.family.hold);
            }
            3 if !is_past(self.until) => return false,
            3 => {
                let now = world.now();
                for site in &sites {
                    let line = world.history.lines.entry(site.key()).or_default();
                    let from = line.changes.last().unwrap().0;
                    line.folded.push((from, now));
                }
                if first {
                    container.becomes(world, false);
                } else {
                    sites.iter().for_each(|site| site.becomes(world, false));
                }
            }
            4 => {
                // What the container's mail spoke for now speaks for itself, or is well without a mail.
                let spoken_for = |key: &String, page: &Page| {
                    page.open.get(key).is_none_or(|reason| reason.contains("folded into"))
                };
                let done = |page: &&Page| {
                    if first {
                        container.is_well(page) && sites.iter().all(|site| !spoken_for(&site.key(), page))
                    } else {
                        sites.iter().all(|site| site.is_well(page))
                    }
                };
                let Some(page) = page.filter(done) else { return false };
                if first {
                    world.history.seen(&container.key(), page.at, false);
                    sites.iter().for_each(|site| world.history.seen(&site.key(), page.at, true));
                    sites.iter().for_each(|site| site.becomes(world, false));
                } else {
                    container.becomes(world, false);
                }
            }
            _ => {
                let done = |page: &&Page| {
                    if second { container.is_well(page) } else { sites.iter().all(|site| site.is_well(page)) }
                };
                let Some(page) = page.filter(done) else { return false };
                if second {
                    world.history.seen(&container.key(), page.at, false);
                } else {
                    sites.iter().for_each(|site| world.history.seen(&site.key(), page.at, false));
                }
                world.accounts[account].lives -= 1;
                return true;
            }
        }
        self.phase += 1;
        false
    }
}

struct MoneyRun {
    account: usize,
    money: Money,
    phase: u32,
    until: Option<Instant>,
}

/// More than the report looks ahead.
const PLENTY: u32 = 200;

impl MoneyRun {
    fn name(&self) -> &'static str {
        ACCOUNTS[self.account]
    }

    fn expect(&self, world: &mut World, event: Option<String>) {
        let now = world.now();
        let expected =
            event.map(|event| Expected { event, from: now, to: chrono::DateTime::<chrono::Utc>::MAX_UTC });
        world.history.ladder.entry(self.name()).or_default().extend(expected);
    }

    /// What was expected since the phase began was seen.
    fn seen(&self, world: &mut World, page: &Page) {
        for expected in world.history.ladder.entry(self.name()).or_default().iter_mut().rev() {
            if expected.to != chrono::DateTime::<chrono::Utc>::MAX_UTC {
                break;
            }
            expected.to = page.at;
        }
    }

    fn lasts(&self, world: &mut World, days: u32) {
        let before = std::mem::replace(&mut world.accounts[self.account].lasts, days);
        if days < before {
            *world.history.drops.entry(self.name()).or_default() += 1;
        }
        control(world, self.account, "last_days", &json!({ "days": days }));
    }

    fn is_clear(&self, page: &Page) -> bool {
        let name = self.name();
        page.has(&format!("hosting_billing_disconnect_expected{{account=\"{name}\"}} 0"))
            && !page.open.contains_key(&format!("{name}/disconnect/account"))
    }
}

impl Doing for MoneyRun {
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        let name = self.name();
        let now = world.now();
        match (self.money, self.phase) {
            (Money::Lasts(days), 0) => {
                if world.accounts[self.account].lasts == days {
                    return true;
                }
                world.count("money: less or more of it");
                let edd = world.accounts[self.account].disconnect_after(days, now);
                let event = world.accounts[self.account].ladder.date(edd, now);
                self.expect(world, event);
                self.lasts(world, days);
            }
            (Money::Lasts(days), _) => {
                let edd = world.accounts[self.account].disconnect_after(days, now);
                let series = format!("hosting_billing_disconnect_timestamp_seconds{{account=\"{name}\"}}");
                let seen = |page: &&Page| page.value(&series) == Some(edd.timestamp() as f64);
                let Some(page) = page.filter(seen) else { return false };
                self.seen(world, page);
                return true;
            }
            (Money::Plenty, 0) => {
                world.count("money: enough of it");
                let event = world.accounts[self.account].ladder.clear();
                self.expect(world, event);
                self.lasts(world, PLENTY);
            }
            (Money::Plenty, _) => {
                let Some(page) = page.filter(|page| self.is_clear(page)) else { return false };
                self.seen(world, page);
                return true;
            }
            (Money::Suspended(_), _) => return self.suspended(world, page),
            (Money::CutOff, _) => return self.cut_off(world, page),
        }
        self.phase += 1;
        false
    }
}

impl MoneyRun {
    fn suspended(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        let Money::Suspended(hold) = self.money else { return true };
        let name = self.name();
        let key = format!("{name}/order_suspended/7001");
        let shows = |page: &Page, state: &str| {
            let start = format!("hosting_billing_order_info{{account=\"{name}\",order=\"7001\",");
            page.rest(&start).is_some_and(|rest| rest.contains(&format!("state=\"{state}\"")))
        };
        let now = world.now();
        match self.phase {
            0 => {
                world.count("money: order suspended");
                world.history.change(&key, now, true);
                control(world, self.account, "set_order", &json!({ "order": 7001, "state": "SUSPENDED" }));
            }
            1 => {
                let Some(page) = page.filter(|page| shows(page, "SUSPENDED")) else { return false };
                world.history.seen(&key, page.at, true);
                self.until = Some(Instant::now() + hold);
            }
            2 if !is_past(self.until) => return false,
            2 => {
                world.history.change(&key, now, false);
                control(world, self.account, "set_order", &json!({ "order": 7001, "state": "ORDERED" }));
            }
            _ => {
                let well = |page: &&Page| shows(page, "ORDERED") && !page.open.contains_key(&key);
                let Some(page) = page.filter(well) else { return false };
                world.history.seen(&key, page.at, false);
                return true;
            }
        }
        self.phase += 1;
        false
    }

    /// Everything goes dark and comes back. Alone: whoever is off for payment is not told of beside it.
    fn cut_off(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        let name = self.name();
        match self.phase {
            0 => {
                let account = &mut world.accounts[self.account];
                if account.cut_offs == 1 {
                    return true;
                }
                account.cut_off = true;
                if account.lives > 0 {
                    return false;
                }
                account.cut_offs += 1;
                world.count("money: cut off");
                let event = world.accounts[self.account].ladder.used_up();
                self.expect(world, event);
                self.everything(world, true);
                world.accounts[self.account].lasts = 0;
                *world.history.drops.entry(name).or_default() += 1;
                control(world, self.account, "set_balance", &json!({ "amount": "-5" }));
            }
            1 => {
                let series = format!("hosting_billing_balance{{account=\"{name}\"}}");
                let Some(page) = page.filter(|page| page.value(&series) == Some(-5.0)) else { return false };
                self.seen(world, page);
                self.until = Some(Instant::now() + Duration::from_secs(3));
            }
            2 if !is_past(self.until) => return false,
            2 => {
                let event = world.accounts[self.account].ladder.clear();
                self.expect(world, event);
                self.everything(world, false);
                self.lasts(world, PLENTY);
            }
            _ => {
                let others = |page: &Page| {
                    let blocked = ["vm_blocked", "site_blocked", "container_disabled"];
                    let mine =
                        |key: &String| blocked.iter().any(|kind| key.starts_with(&format!("{name}/{kind}/")));
                    page.open.keys().any(mine)
                };
                let done = |page: &&Page| self.is_clear(page) && !others(page);
                let Some(page) = page.filter(done) else { return false };
                self.seen(world, page);
                world.accounts[self.account].cut_off = false;
                return true;
            }
        }
        self.phase += 1;
        false
    }

    fn everything(&self, world: &mut World, wrong: bool) {
        let now = world.now();
        let account = &world.accounts[self.account];
        let all = [
            ("vm_blocked", &account.vms),
            ("site_blocked", &account.sites),
            ("container_disabled", &account.containers),
        ];
        let keys: Vec<String> = all
            .iter()
            .flat_map(|(kind, ids)| ids.iter().map(move |id| format!("{}/{kind}/{id}", self.name())))
            .collect();
        for key in keys {
            world.history.change(&key, now, wrong);
        }
    }
}

/// A fault of the provider for a while; without one, a report that carries an error.
struct FaultRun {
    account: usize,
    what: Option<Fault>,
    hold: Duration,
    until: Option<Instant>,
}

impl Doing for FaultRun {
    fn go(&mut self, world: &mut World, _page: Option<&Page>) -> bool {
        let name = ACCOUNTS[self.account];
        if self.until.is_none() {
            self.until = Some(Instant::now() + self.hold);
            let span = Span { from: world.now(), to: None };
            let mut may = |key: String| world.history.may.entry(key).or_default().push(span.clone());
            let kind = match &self.what {
                None => {
                    may(format!("{name}/billing_report/account"));
                    "report with an error".to_owned()
                }
                Some(fault) => {
                    let code = fault.code.filter(|_| fault.kind == FaultKind::Status);
                    if fault.kind == FaultKind::ExpiredCredentials || matches!(code, Some(401 | 403)) {
                        may(format!("{name}/credentials_rejected/{}", fault.on));
                    }
                    if fault.on == "billing" && code == Some(404) {
                        may(format!("{name}/billing_report/account"));
                    }
                    format!("{:?}", fault.kind)
                }
            };
            world.count(&format!("provider fault: {kind}"));
            match &self.what {
                None => control(world, self.account, "report_error", &json!({ "text": "no contract" })),
                Some(fault) => {
                    let simulator = &world.accounts[self.account].provider.simulator;
                    simulator.control(&Command::Fault(fault.clone())).unwrap();
                }
            }
            return false;
        }
        if !is_past(self.until) {
            return false;
        }
        match &self.what {
            None => control(world, self.account, "report_error", &json!({ "text": null })),
            Some(fault) => control(world, self.account, "clear_faults", &json!({ "name": fault.name })),
        }
        let now = world.now();
        let mine = world.history.may.iter_mut().filter(|(key, _)| key.starts_with(&format!("{name}/")));
        let concerned = |key: &str| match &self.what {
            None => key.ends_with("/billing_report/account"),
            Some(fault) => {
                key.ends_with(&format!("/{}", fault.on)) || (fault.on == "billing" && key.contains("report"))
            }
        };
        for (_, spans) in mine.filter(|(key, _)| concerned(key)) {
            spans.iter_mut().filter(|span| span.to.is_none()).for_each(|span| span.to = Some(now));
        }
        true
    }
}

struct MailRun {
    act: Act,
    until: Option<Instant>,
}

impl Doing for MailRun {
    fn go(&mut self, world: &mut World, _page: Option<&Page>) -> bool {
        let (Act::Mail { hold, .. } | Act::MailServerAway { hold }) = self.act else { return true };
        if self.until.is_none() {
            self.until = Some(Instant::now() + hold);
            world.mail_blocked = true;
            world.trouble();
            match &self.act {
                Act::Mail { stage, reply, to, times, .. } => {
                    world.smtp.as_ref().unwrap().on_times(*stage, to, *times, reply.clone());
                }
                _ => {
                    world.count("mail server away");
                    world.mail_server_goes();
                }
            }
            return false;
        }
        if !is_past(self.until) {
            return false;
        }
        match &self.act {
            Act::Mail { .. } => world.smtp.as_ref().unwrap().forget_rules(),
            _ => world.mail_server_comes(),
        }
        world.mail_blocked = false;
        true
    }
}

struct OperatorRun {
    operator: Operator,
    phase: u32,
    until: Option<Instant>,
}

impl OperatorRun {
    fn after(&mut self, time: Duration) -> bool {
        self.until = Some(Instant::now() + time);
        self.phase += 1;
        false
    }

    /// Down; up again once the time is over.
    fn comes_back(&self, world: &mut World) -> bool {
        let back = is_past(self.until);
        if back {
            world.start();
        }
        back
    }

    fn reload(world: &mut World, accounts: &[&str], extra: &str) {
        world.configure(accounts, extra);
        world.daemon.signal("HUP");
    }
}

const RELOADED: &str = "hostwatch_config_last_reload_successful";

impl Doing for OperatorRun {
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        match (self.operator.clone(), self.phase) {
            (Operator::Kill { away }, 0) => {
                world.count("SIGKILL at any moment");
                world.kill();
                self.after(away)
            }
            (Operator::KillAt { point, .. }, 0) => {
                world.daemon.arm(point);
                self.after(REACHES_WITHIN)
            }
            (Operator::KillAt { point, away }, 1) => {
                let file = world.daemon.directory.path().join("failpoint");
                let reached =
                    std::fs::read_to_string(file).is_ok_and(|text| text == format!("reached {point}"));
                if !reached && !is_past(self.until) {
                    return false;
                }
                world.count(&format!("SIGKILL at {}", if reached { point } else { "any moment" }));
                world.kill();
                self.after(away)
            }
            (Operator::KillTwice { between }, 0) => {
                world.count("SIGKILL at any moment");
                world.kill();
                world.start();
                self.after(between)
            }
            (Operator::KillTwice { .. }, 1) => {
                if is_past(self.until) {
                    world.count("SIGKILL just after the start");
                    world.kill();
                    return self.after(Duration::ZERO);
                }
                false
            }
            (Operator::Restart { away }, 0) => {
                world.count("SIGTERM");
                world.stop();
                self.after(away)
            }
            (
                Operator::Kill { .. }
                | Operator::KillAt { .. }
                | Operator::KillTwice { .. }
                | Operator::Restart { .. },
                _,
            ) => self.comes_back(world),
            (Operator::WithoutAccount { .. }, 0) => {
                world.count("reload without an account");
                Self::reload(world, &ACCOUNTS[..1], "");
                self.after(Duration::ZERO)
            }
            (Operator::WithoutAccount { hold }, 1) => {
                let gone = |page: &&Page| !page.begins("hosting_account_info{account=\"beta\"");
                if page.filter(gone).is_some() { self.after(hold) } else { false }
            }
            (Operator::Broken { .. }, 0) => {
                world.count("reload of what is wrong");
                Self::reload(world, &ACCOUNTS, "nonsense = 1");
                self.after(Duration::ZERO)
            }
            (Operator::Broken { hold }, 1) => {
                let refused = |page: &&Page| page.has(&format!("{RELOADED} 0"));
                if page.filter(refused).is_some() { self.after(hold) } else { false }
            }
            (Operator::WithoutAccount { .. } | Operator::Broken { .. }, 2) => {
                if is_past(self.until) {
                    Self::reload(world, &ACCOUNTS, "");
                    return self.after(Duration::ZERO);
                }
                false
            }
            (Operator::WithoutAccount { .. } | Operator::Broken { .. }, _) => {
                let whole = |page: &&Page| {
                    page.has(&format!("{RELOADED} 1")) && page.begins("hosting_account_info{account=\"beta\"")
                };
                page.filter(whole).is_some()
            }
            (Operator::Changed, 0) => {
                world.count("reload of another schedule");
                Self::reload(world, &ACCOUNTS, "[alerts]\nstuck_after = \"31m\"");
                self.after(Duration::from_millis(500))
            }
            (Operator::Changed, 1) => {
                if is_past(self.until) {
                    Self::reload(world, &ACCOUNTS, "");
                    return self.after(Duration::from_millis(500));
                }
                false
            }
            (Operator::Changed, _) => is_past(self.until),
        }
    }
}
