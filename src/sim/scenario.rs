//! The scenario file and its account (docs/provider.md, "Scenario"). It parses TOML; the caller reads the file.

use super::control::Command;
use super::names;
use super::options::Args;
use super::time::Span;
use super::world::World;
use super::world::period::{Period, Unit};
use super::world::records::{CRON_FIELDS, Container, Site, State, Vm};
use super::world::tariffs::{VM_TARIFFS, Wanted};
use super::{Now, SimError};
use chrono::{NaiveDateTime, NaiveTime, TimeDelta};
use rust_decimal::Decimal;
use serde::Deserialize;

/// The contents of a scenario file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    seed: Option<u64>,
    time_zone: Option<String>,
    resource_orders: Option<bool>,
    vms: Option<usize>,
    containers: Option<usize>,
    sites: Option<usize>,
    ssh_keys: Option<usize>,
    #[serde(default)]
    vm: Vec<Named>,
    #[serde(default)]
    container: Vec<Named>,
    #[serde(default)]
    site: Vec<SiteLine>,
    #[serde(default)]
    order: Vec<OrderLine>,
    #[serde(default)]
    event: Vec<toml::Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteLine {
    name: String,
    container: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderLine {
    comment: String,
    amount: Decimal,
    billing_period: Option<Period>,
    charge_period: Option<Period>,
    /// The time since it began.
    age: Option<Span>,
}

/// The maximum number of sites in a scenario.
const MOST: usize = 100_000;
/// The days of past charges.
const HISTORY: TimeDelta = TimeDelta::days(30);

impl Scenario {
    /// Reads a scenario file.
    pub(super) fn parse(text: &str) -> Result<Scenario, SimError> {
        toml::from_str(text).map_err(|e| SimError::Scenario(e.to_string()))
    }

    /// Makes the account in its state at `now`.
    pub(super) fn build(self, args: &Args, now: &Now) -> Result<World, SimError> {
        let wrong = |what: String| SimError::Scenario(what);
        let now = now();
        let zone = self.time_zone.as_deref().unwrap_or("Europe/Moscow");
        let zone = zone.parse().map_err(|_| wrong(format!("time_zone `{zone}` is not known")))?;
        for (name, n) in [
            ("vms", args.vms.or(self.vms)),
            ("containers", args.containers.or(self.containers)),
            ("sites", args.sites.or(self.sites)),
        ] {
            if n.is_some_and(|n| n > MOST) {
                return Err(wrong(format!("{name} must be at most {MOST}")));
            }
        }
        let seed = args.seed.or(self.seed).unwrap_or(1);
        let mut world = World::new(now - HISTORY, zone, seed);
        self.populate(&mut world, args)?;
        world.live_through(now);
        world.set_balance(comfortable(&world));
        for mut event in self.event {
            let at = event.remove("at").ok_or_else(|| wrong("an event has no `at`".to_owned()))?;
            let at: Span = at.try_into().map_err(|e| wrong(format!("event at: {e}")))?;
            let named = event.get("do").map(ToString::to_string).unwrap_or_default();
            let command: Command = event.try_into().map_err(|e| wrong(format!("event {named}: {e}")))?;
            world.plan(now + at.0, command);
        }
        Ok(world)
    }

    fn populate(&self, world: &mut World, args: &Args) -> Result<(), SimError> {
        let ordered = self.resource_orders.unwrap_or(true);
        let count = |flag: Option<usize>, key: Option<usize>, lines: usize, default: usize| {
            flag.or(key).unwrap_or(if lines > 0 { lines } else { default })
        };
        for n in 0..self.ssh_keys.unwrap_or(2) {
            let body = names::token(&mut world.rng, 40);
            world.add_key(
                format!("key-{}", n + 1),
                format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{body} ops@example.com"),
            );
        }
        let first_key = world.keys.rows().first().map(|k| k.id);
        for n in 0..count(args.vms, self.vms, self.vm.len(), names::VMS.len()) {
            // Large tariffs are rarer.
            let pick = world.rng.usize(0..15);
            let kind = VM_TARIFFS[[0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4][pick]].0.to_owned();
            let name = self.vm.get(n).map_or_else(|| names::vm(n), |l| l.name.clone());
            let start = past(world, 400);
            let key = first_key.filter(|_| n % 2 == 0);
            let ssh_keys = key.into_iter().collect();
            let id = world.add_vm(Vm { name, kind, ssh_keys, ..Vm::default() }, ordered.then_some(start));
            // A few VMs also have IPv6. One of the default seven is off on purpose.
            if n % 5 == 0 {
                world.add_ip(id, 6);
            }
            if let Some(vm) = world.vms.get_mut(id).filter(|_| self.vm.is_empty() && n == 4) {
                vm.life.state = State::Borrowed("stopped");
            }
        }
        for n in 0..count(args.containers, self.containers, self.container.len(), names::CONTAINERS.len()) {
            let name = self.container.get(n).map_or_else(|| names::container(n), |l| l.name.clone());
            let mut new = Container::named(name);
            new.memory_limit = 256 << world.rng.u32(0..4);
            new.redis = (n % 2 == 0).then_some(64);
            let start = past(world, 400);
            world.add_container(new, start, ordered);
        }
        self.add_sites(world, count(args.sites, self.sites, self.site.len(), names::SITES.len()))?;
        self.add_orders(world);
        Ok(())
    }

    fn add_sites(&self, world: &mut World, count: usize) -> Result<(), SimError> {
        let containers = world.containers.ids();
        if containers.is_empty() && count > 0 {
            return Err(SimError::Scenario("sites need a container".to_owned()));
        }
        for n in 0..count {
            let line = self.site.get(n);
            let (name, engine) = names::site(n);
            let container = match line.and_then(|l| l.container.as_deref()) {
                Some(name) => {
                    let found = world.containers.rows().iter().find(|c| c.name == name);
                    found.ok_or_else(|| SimError::unknown("container", name))?.id
                }
                // Neighbours share a container, so that its sites are next to each other.
                None => containers[n * containers.len() / count],
            };
            let engine = if line.is_some() { "php" } else { engine }.to_owned();
            let dynamic = engine != "static";
            let new = Site {
                container,
                name: line.map_or(name, |l| l.name.clone()),
                certificate_id: if n % 3 == 2 { 0 } else { 30_000 + n as i64 },
                force_https: n % 3 != 2,
                engine,
                ..Site::default()
            };
            let created = past(world, 400);
            let id = world.add_site(new, dynamic && n % 2 == 0, created);
            if dynamic && n % 3 == 0 {
                let every = |field: &str| if field == "minutes" { "*/10" } else { "*" };
                let every = CRON_FIELDS.map(|field| (field, every(field).to_owned())).into();
                world.add_cron_job(id, every, "php cron.php".to_owned(), "queue".to_owned(), created);
            }
        }
        Ok(())
    }

    fn add_orders(&self, world: &mut World) {
        let domain = OrderLine {
            comment: "example.com".to_owned(),
            amount: Decimal::new(119_000, 2),
            billing_period: Some(Period(1, Unit::Year)),
            charge_period: Some(Period(1, Unit::Month)),
            ..OrderLine::default()
        };
        let generated = (self.order.is_empty() && self.resource_orders.unwrap_or(true)).then_some(&domain);
        for line in self.order.iter().chain(generated) {
            let month = Period(1, Unit::Month);
            let tariff = world.tariffs.get(Wanted {
                name: if generated.is_some() {
                    "Domain name".to_owned()
                } else {
                    format!("Tariff {}", line.comment)
                },
                short_name: "extra",
                amount: line.amount,
                billing: line.billing_period.unwrap_or(month),
                charge: line.charge_period.unwrap_or(Period(1, Unit::Day)),
                generic_type: None,
                independent: generated.is_none(),
                kind: "std",
            });
            // `age` counts back from the start of the scenario, and not from that of its history.
            let start = match line.age {
                Some(age) => world.local_now() + HISTORY - age.0,
                None => past(world, 90),
            };
            world.open_order(&line.comment, tariff, start);
        }
    }
}

/// A quarter of an hour on one of the last `days` days. Quarters make the charges of big accounts fall
/// together.
fn past(world: &mut World, days: i64) -> NaiveDateTime {
    let (day, quarter) = (world.rng.i64(1..=days), world.rng.i64(0..96));
    (world.local_now().date() - TimeDelta::days(day)).and_time(NaiveTime::MIN)
        + TimeDelta::minutes(15 * quarter)
}

/// A balance for more than 90 days, rounded up to a whole thousand.
fn comfortable(world: &World) -> Decimal {
    let day = TimeDelta::days(31);
    // The charges of one month ahead stand for all months, since by default nothing is charged less often than
    // monthly.
    let month = world.ledger.due_until(world.local_now() + day);
    let thousand = Decimal::from(1000);
    ((month * Decimal::from(4) / thousand).ceil() + Decimal::ONE) * thousand
}
