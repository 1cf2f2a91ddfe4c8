//! Resources that break and recover. A state that must be mailed is held until the daemon has surely processed
//! it: its metrics show a state only after the step that decided on it was stored.

use std::time::Instant;

use serde_json::json;

use super::lanes::{Doing, control, is_past};
use super::script::{ACCOUNTS, Episode, Family, Life, Sort};
use super::world::{Account, Page, World};

/// The life of a resource from now on.
pub fn life(account: usize, life: Life) -> Box<dyn Doing> {
    Box::new(LifeRun { account, life, phase: Phase::Begin, id: 0, name: String::new(), polled: None })
}

/// The life of a container and its sites.
pub fn family(account: usize, family: Family) -> Box<dyn Doing> {
    Box::new(FamilyRun { account, family, phase: 0, container: 0, until: None })
}

/// A resource, as commands, metrics and keys name it.
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

    /// Whether it is shown right, and no incident of it is open.
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

/// The phase of a life, and its episode.
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
    /// For a new site: its name.
    name: String,
    /// The number of successful polls once the glimpsed state was over.
    polled: Option<u64>,
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
                // The provider chooses the id, and the daemon shows it.
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
                let Some(page) = page else { return false };
                let glimpsed = matches!(self.life.episodes[episode], Episode::Glimpse(_));
                if glimpsed && !self.is_long_over(page, &format!("{}s", thing.word())) {
                    return false;
                }
                if !thing.is_well(page) {
                    return false;
                }
                world.history.seen(&key, page.at, false);
                self.polled = None;
                if episode + 1 < self.life.episodes.len() {
                    self.phase = Phase::Breaks(episode + 1);
                    return false;
                }
                if self.life.sort == Sort::Site {
                    // They would become more and more.
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

    /// Whether the daemon has decided on everything that a poll saw of it: two later polls have ended, and the
    /// second one began after the first.
    fn is_long_over(&mut self, page: &Page, collector: &str) -> bool {
        let polled = page.polled(ACCOUNTS[self.account], collector);
        // A new start counts from 0.
        let before = self.polled.map_or(polled, |before| if polled < before { 0 } else { before });
        self.polled = Some(before);
        polled >= before + 2
    }

    fn over(&self, world: &mut World) -> bool {
        world.accounts[self.account].lives -= 1;
        true
    }
}

/// A container that takes its sites along.
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
        let first = self.family.cause_ends_first;
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
                // A site that the container's mail covered is now mailed itself, or it is well without a mail.
                let spoken_for = |key: &String, page: &Page| {
                    page.open.get(key).is_none_or(|reason| reason.contains("covered by"))
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
                    if first { sites.iter().all(|site| site.is_well(page)) } else { container.is_well(page) }
                };
                let Some(page) = page.filter(done) else { return false };
                if first {
                    sites.iter().for_each(|site| world.history.seen(&site.key(), page.at, false));
                } else {
                    world.history.seen(&container.key(), page.at, false);
                }
                world.accounts[account].lives -= 1;
                return true;
            }
        }
        self.phase += 1;
        false
    }
}
