//! Money: how long it lasts, an order that is suspended, an account that is cut off.

use std::time::{Duration, Instant};

use serde_json::json;

use super::history::Moment;
use super::ladder::{Fact, What};
use super::lanes::{Doing, control, is_past};
use super::script::{ACCOUNTS, Money};
use super::world::{Page, World};

/// A change of an account's money.
pub fn money(account: usize, money: Money) -> Box<dyn Doing> {
    Box::new(MoneyRun { account, money, phase: 0, until: None })
}

struct MoneyRun {
    account: usize,
    money: Money,
    phase: u32,
    until: Option<Instant>,
}

/// More days than the report covers.
const PLENTY: u32 = 200;

impl MoneyRun {
    fn name(&self) -> &'static str {
        ACCOUNTS[self.account]
    }

    /// Reports show this from now on.
    fn shows(&self, world: &mut World, what: What) {
        let fact = Fact { what, from: world.now(), to: Moment::MAX_UTC };
        world.history.ladder.entry(self.name()).or_default().push(fact);
    }

    /// The daemon has read it.
    fn seen(&self, world: &mut World, page: &Page) {
        if let Some(fact) = world.history.ladder.entry(self.name()).or_default().last_mut() {
            fact.to = fact.to.min(page.at);
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
                self.shows(world, What::Date { edd, lasts: days });
                self.lasts(world, days);
            }
            (Money::Lasts(days), _) => {
                let edd = world.accounts[self.account].disconnect_after(days, now);
                let series = format!("hosting_billing_disconnect_timestamp_seconds{{account=\"{name}\"}}");
                // Only a report with its amounts can prove a payment.
                let balance = format!("hosting_billing_balance{{account=\"{name}\"}}");
                let seen = |page: &&Page| {
                    page.value(&series) == Some(edd.timestamp() as f64) && page.value(&balance).is_some()
                };
                let Some(page) = page.filter(seen) else { return false };
                self.seen(world, page);
                return true;
            }
            (Money::Plenty, 0) => {
                world.count("money: enough of it");
                self.shows(world, What::Clear);
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

    /// Cuts everything off and brings it back. It runs alone, since blocked resources get no mail of their own.
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
                self.shows(world, What::UsedUp);
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
                self.shows(world, What::Clear);
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
