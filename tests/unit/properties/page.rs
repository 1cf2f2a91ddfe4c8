//! The page of metrics: whatever was read of an account, in whatever order, a reader of another hand finds on the page
//! what the account is, no more and no less; encoded piece by piece or at once, compressed or not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::time::Duration;

use crate::metrics::{Encoder, MetricsSettings, Own, Selection, StateSeries};
use crate::model::forecast::{self, Disconnect};
use crate::model::*;
use chrono::{DateTime, Utc};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::unit::properties::exposition::{self, Page, PageFormat};
use crate::unit::properties::{account, given};

/// A reading, after so many seconds.
type Step = (i64, Collector, Read);

fn rows<T: std::fmt::Debug + Clone>(
    row: impl Strategy<Value = T>,
    most: usize,
) -> impl Strategy<Value = Rows<T>> {
    (vec(row, 0..most), prop::bool::weighted(0.8)).prop_map(|(rows, complete)| Rows { rows, complete })
}

fn step() -> impl Strategy<Value = Step> {
    let read = prop_oneof![
        4 => rows(given::vm(), 6).prop_map(|rows| (Collector::Vms, Read::Vms(rows))),
        4 => rows(given::container(), 4).prop_map(|rows| (Collector::Containers, Read::Containers(rows))),
        4 => (0..20_u64).prop_flat_map(|home| {
            rows(given::site(home), 5).prop_map(move |rows| (Collector::Sites, Read::Sites(ContainerId::new(home), rows)))
        }),
        1 => rows(given::ip(), 5).prop_map(|rows| (Collector::Ips, Read::Ips(rows))),
        1 => rows(given::counted(), 3).prop_map(|rows| (Collector::SshKeys, Read::SshKeys(rows))),
        1 => (given::id(), given::number()).prop_map(|(site, count)| (Collector::Databases, Read::Databases(SiteId::new(site), count))),
        1 => (given::id(), given::number()).prop_map(|(site, count)| (Collector::CronJobs, Read::CronJobs(SiteId::new(site), count))),
        2 => given::report().prop_map(|report| (Collector::ExpectedBalance, Read::ExpectedBalance(report))),
        1 => vec(given::charge(), 0..5).prop_map(|charges| (Collector::Charges, Read::Charges(charges))),
    ];
    (prop_oneof![5 => 0..120_i64, 1 => 800..1000_i64], read)
        .prop_map(|(seconds, (collector, read))| (seconds, collector, read))
}

fn profile() -> impl Strategy<Value = Profile> {
    let unit = option::of(prop_oneof![Just(1_u64), Just(1 << 20), Just(1 << 30)]);
    (given::name(), option::of(given::zone()), unit).prop_map(
        |(currency, time_zone, vm_memory_unit_bytes)| {
            let stale_after = Collector::ALL.map(|one| (one, Duration::from_secs(900))).into();
            Profile { currency, time_zone, vm_memory_unit_bytes, stale_after, ..account::profile("main") }
        },
    )
}

fn settings() -> impl Strategy<Value = MetricsSettings> {
    (any::<bool>(), prop_oneof![3 => Just(0), 1 => 20..200_u64]).prop_map(|(all, cap)| MetricsSettings {
        state_series: if all { StateSeries::All } else { StateSeries::Current },
        max_series_per_collector: cap,
        selection: Selection::default(),
    })
}

fn inflated(page: &crate::metrics::Page, tail: &[u8]) -> String {
    let identity: Vec<u8> = page.identity(tail.to_vec()).flatten().collect();
    let gzip: Vec<u8> = page.gzip(tail).iter().flatten().copied().collect();
    let mut inflated = Vec::new();
    let mut one = flate2::bufread::GzDecoder::new(gzip.as_slice());
    one.read_to_end(&mut inflated).unwrap();
    assert!(one.into_inner().is_empty(), "one member and nothing after it");
    assert!(inflated == identity, "gzip and identity differ");
    assert_eq!(page.identity(tail.to_vec()).left(), identity.len() as u64);
    String::from_utf8(identity).unwrap()
}

/// What the oracle knows beside the state: which listings were ever complete.
#[derive(Default)]
struct Known {
    listings: BTreeSet<Collector>,
    sites: BTreeSet<ContainerId>,
}

impl Known {
    fn note(&mut self, state: &AccountState) {
        let complete = [
            (Collector::Vms, state.vms.complete),
            (Collector::Containers, state.containers.complete),
            (Collector::SshKeys, state.ssh_keys.complete),
        ];
        self.listings
            .extend(complete.into_iter().filter(|(_, complete)| *complete).map(|(collector, _)| collector));
        self.sites.retain(|container| state.sites.contains_key(container));
        self.sites.extend(state.sites.iter().filter(|(_, listing)| listing.complete).map(|(id, _)| *id));
    }
}

/// What a page should hold, as the contract's table of families has it (section 5).
struct Want<'a> {
    state: &'a AccountState,
    known: &'a Known,
    now: DateTime<Utc>,
    all_states: bool,
    samples: BTreeMap<exposition::Series, Decimal>,
}

impl Want<'_> {
    fn put(&mut self, family: &str, labels: &[(&str, String)], value: impl Into<Decimal>) {
        let mut all: BTreeMap<String, String> = labels
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| ((*name).to_owned(), value.replace('\0', "\u{fffd}")))
            .collect();
        all.insert("account".to_owned(), "main".to_owned());
        // Counts of states that a label cannot tell apart are one count.
        *self.samples.entry((family.to_owned(), all)).or_default() += value.into();
    }

    fn maybe(&mut self, family: &str, labels: &[(&str, String)], value: Option<impl Into<Decimal>>) {
        if let Some(value) = value {
            self.put(family, labels, value);
        }
    }

    fn fresh(&self, at: Option<DateTime<Utc>>) -> bool {
        at.is_some_and(|at| (self.now - at).num_seconds() <= 900)
    }

    fn state(&mut self, family: &str, of: (&str, u64), current: &str, known: &[&str]) {
        let all = self.all_states;
        for state in known.iter().filter(|_| all) {
            self.put(
                family,
                &[(of.0, of.1.to_string()), ("state", (*state).to_owned())],
                u64::from(*state == current),
            );
        }
        if !self.all_states || !known.contains(&current) {
            self.put(family, &[(of.0, of.1.to_string()), ("state", current.to_owned())], 1);
        }
    }

    fn count<'s>(&mut self, family: &str, known: &[&str], current: impl Iterator<Item = &'s str>) {
        for state in known {
            self.put(family, &[("state", (*state).to_owned())], 0);
        }
        for state in current {
            self.put(family, &[("state", state.to_owned())], 1);
        }
    }

    fn all(mut self) -> BTreeMap<exposition::Series, Decimal> {
        let profile = &self.state.profile;
        let zone = profile.time_zone.map_or("", |zone| zone.name());
        self.put(
            "hosting_account_info",
            &[("currency", profile.currency.clone()), ("time_zone", zone.to_owned())],
            1,
        );
        self.put("hosting_billing_lead_days", &[], u64::from(profile.lead_days));
        self.vms();
        self.containers();
        self.sites();
        self.rest();
        self.billing();
        self.samples
    }

    fn vms(&mut self) {
        let state = self.state;
        if !self.fresh(state.vms.read_at) {
            return;
        }
        let known: Vec<&str> = VmState::KNOWN.iter().map(VmState::as_str).collect();
        for vm in state.vms.rows.iter() {
            let id = [("vm", vm.id.to_string())];
            let info = [
                id[0].clone(),
                ("vm_id", text(&vm.vm_id)),
                ("name", text(&vm.name)),
                ("tariff", text(&vm.tariff)),
            ];
            self.put("hosting_vm_info", &info, 1);
            self.state("hosting_vm_state", ("vm", vm.id.get()), vm.state.as_str(), &known);
            self.maybe("hosting_vm_cpus", &id, vm.ncpu);
            let unit = state.profile.vm_memory_unit_bytes.map(u128::from);
            let bytes = vm.memsize.zip(unit).map(|(size, unit)| u128::from(size) * unit);
            self.maybe("hosting_vm_memory_bytes", &id, bytes.and_then(|bytes| u64::try_from(bytes).ok()));
            self.maybe("hosting_vm_monitoring_enabled", &id, vm.monitoring_enabled.map(u64::from));
            self.maybe("hosting_vm_disks", &id, vm.disks);
            self.maybe("hosting_vm_ips", &id, vm.ips.as_ref().map(|ips| ips.len()));
        }
        if self.known.listings.contains(&Collector::Vms) {
            self.count("hosting_vms", &known, state.vms.rows.iter().map(|vm| vm.state.as_str()));
        }
    }

    fn containers(&mut self) {
        let state = self.state;
        if !self.fresh(state.containers.read_at) {
            return;
        }
        let known: Vec<&str> = ContainerState::KNOWN.iter().map(ContainerState::as_str).collect();
        for row in state.containers.rows.iter() {
            let id = [("container", row.id.to_string())];
            let info = [
                id[0].clone(),
                ("login", text(&row.login)),
                ("name", text(&row.name)),
                ("server", text(&row.server)),
            ];
            self.put("hosting_container_info", &info, 1);
            self.state("hosting_container_state", ("container", row.id.get()), row.state.as_str(), &known);
            let bytes = |megabytes: Option<u64>| {
                megabytes.and_then(|megabytes| u64::try_from(u128::from(megabytes) << 20).ok())
            };
            self.maybe("hosting_container_memory_limit_bytes", &id, bytes(row.memory_limit_mb));
            self.maybe("hosting_container_disk_quota_bytes", &id, bytes(row.disk_quota_mb));
            self.maybe("hosting_container_in_transfer", &id, row.in_transfer.map(u64::from));
            self.maybe(
                "hosting_container_created_timestamp_seconds",
                &id,
                row.created.map(|at| at.timestamp()),
            );
            self.maybe(
                "hosting_container_updated_timestamp_seconds",
                &id,
                row.updated.map(|at| at.timestamp()),
            );
        }
        if self.known.listings.contains(&Collector::Containers) {
            self.count(
                "hosting_containers",
                &known,
                state.containers.rows.iter().map(|row| row.state.as_str()),
            );
        }
    }

    fn sites(&mut self) {
        let state = self.state;
        let known: Vec<&str> = SiteState::KNOWN.iter().map(SiteState::as_str).collect();
        for listing in
            state.sites.values().filter(|listing| self.fresh(listing.read_at)).cloned().collect::<Vec<_>>()
        {
            for site in listing.rows.iter() {
                let id = [("site", site.id.to_string())];
                let container = ("container", site.container.to_string());
                let info = [
                    id[0].clone(),
                    ("name", text(&site.name)),
                    container,
                    ("engine", text(&site.engine)),
                    ("engine_version", text(&site.engine_version)),
                ];
                self.put("hosting_site_info", &info, 1);
                self.state("hosting_site_state", ("site", site.id.get()), site.state.as_str(), &known);
                self.maybe("hosting_site_workers", &id, site.workers);
                self.maybe("hosting_site_force_https", &id, site.force_https.map(u64::from));
                self.maybe("hosting_site_certificate", &id, site.certificate_id.map(|id| u64::from(id > 0)));
                self.maybe(
                    "hosting_site_created_timestamp_seconds",
                    &id,
                    site.created.map(|at| at.timestamp()),
                );
                self.maybe(
                    "hosting_site_updated_timestamp_seconds",
                    &id,
                    site.updated.map(|at| at.timestamp()),
                );
            }
        }
        let listed = |row: &Container| {
            self.known.sites.contains(&row.id)
                && state.sites.get(&row.id).is_some_and(|sites| self.fresh(sites.read_at))
        };
        let containers = &state.containers;
        let counted = self.known.listings.contains(&Collector::Containers) && self.fresh(containers.read_at);
        if counted && containers.rows.iter().all(listed) {
            self.count("hosting_sites", &known, state.all_sites().map(|site| site.state.as_str()));
        }
    }

    fn rest(&mut self) {
        let state = self.state;
        for (family, tallies) in
            [("hosting_databases", &state.databases), ("hosting_cron_jobs", &state.cron_jobs)]
        {
            for (site, tally) in
                tallies.iter().filter(|(_, tally)| self.fresh(Some(tally.read_at))).collect::<Vec<_>>()
            {
                self.put(family, &[("site", site.to_string())], tally.count);
            }
        }
        if self.fresh(state.ips.read_at) {
            for ip in state.ips.rows.iter() {
                let vm = ip.vm.map_or(String::new(), |vm| vm.to_string());
                self.put(
                    "hosting_ip_info",
                    &[("ip", ip.id.to_string()), ("address", text(&ip.address)), ("vm", vm)],
                    1,
                );
            }
        }
        if self.fresh(state.ssh_keys.read_at) && self.known.listings.contains(&Collector::SshKeys) {
            self.put("hosting_ssh_keys", &[], state.ssh_keys.rows.len());
        }
        if self.fresh(state.charges.read_at) {
            let today = state.charges.read_at.unwrap().with_timezone(&state.profile.zone()).date_naive();
            let recent = |charge: &&Charge| (0..30).contains(&(today - charge.event_date).num_days());
            let sum: Decimal =
                state.charges.rows.iter().filter(recent).map(|charge| charge.total.decimal()).sum();
            self.put("hosting_billing_charged_amount", &[], sum);
        }
    }

    fn billing(&mut self) {
        let billing = &self.state.billing;
        let (Some(report), Some(read_at)) = (&billing.report, billing.read_at) else { return };
        let (expected, at) = match forecast::disconnect(report) {
            Disconnect::At { at, .. } => (Some(1), Some(at.timestamp())),
            Disconnect::Now => (Some(1), None),
            Disconnect::NotExpected => (Some(0), None),
            Disconnect::Unknown => (None, None),
        };
        self.maybe("hosting_billing_disconnect_expected", &[], expected);
        self.maybe("hosting_billing_disconnect_timestamp_seconds", &[], at);
        let computed = forecast::first_unpaid(report).map(|at| at.timestamp());
        self.maybe("hosting_billing_disconnect_computed_timestamp_seconds", &[], computed);
        if !self.fresh(billing.read_at) {
            return;
        }
        self.maybe("hosting_billing_balance", &[], forecast::balance_now(report).map(Money::decimal));
        self.maybe("hosting_billing_expected_balance", &[], report.expected_balance.map(Money::decimal));
        self.maybe("hosting_billing_horizon_timestamp_seconds", &[], report.date.map(|at| at.timestamp()));
        for days in [7, 30, 90] {
            let label = [("days", days.to_string())];
            let balance = forecast::balance_in(report, read_at, days);
            self.maybe("hosting_billing_forecast_balance", &label, balance.map(Money::decimal));
            let required = forecast::top_up_required(report, read_at, days);
            self.maybe("hosting_billing_top_up_required", &label, required.map(Money::decimal));
        }
        let next = forecast::next_charge(report, read_at);
        self.maybe(
            "hosting_billing_next_charge_timestamp_seconds",
            &[],
            next.map(|next| next.at.timestamp()),
        );
        self.maybe("hosting_billing_next_charge_amount", &[], next.map(|next| next.amount.decimal()));
        if report.moments.is_empty() && report.moments_rejected > 0 {
            // There are orders, and none is known.
            return;
        }
        let mut ahead = Vec::new();
        for (index, order) in (0..).zip(&report.orders) {
            let charges: Vec<ChargeMoment> =
                report.moments.iter().filter(|one| one.order == Some(index)).collect();
            let tariff = order.tariff.as_ref();
            let name = tariff.and_then(|tariff| tariff.name.clone().or_else(|| tariff.short_name.clone()));
            let generic = tariff.and_then(|tariff| tariff.generic_type.clone());
            let id = [("order", order.id.to_string())];
            let info = [
                id[0].clone(),
                ("comment", text(&order.comment)),
                ("tariff", text(&name)),
                ("generic_type", text(&generic)),
                ("state", order.state.to_string()),
            ];
            self.put("hosting_billing_order_info", &info, 1);
            let sum: Decimal = charges.iter().map(|one| one.amount.decimal()).sum();
            self.put("hosting_billing_order_charges_amount", &id, sum);
            if charges.iter().any(|one| one.at >= read_at) {
                ahead.push(order.state.as_str());
            }
        }
        let known: Vec<&str> = OrderState::KNOWN.iter().map(OrderState::as_str).collect();
        self.count("hosting_billing_orders", &known, ahead.into_iter());
    }
}

fn text(text: &Option<Box<str>>) -> String {
    text.as_deref().unwrap_or_default().to_owned()
}

fn values(page: &Page) -> BTreeMap<exposition::Series, Decimal> {
    let samples = page.samples.iter().filter(|((name, _), _)| name.starts_with("hosting_"));
    samples.map(|(series, value)| (series.clone(), value.parse().unwrap())).collect()
}

/// The daemon's own metrics, with something in them.
fn own(book: &KnownAccount) -> Own {
    let own = Own::new("0.2.0", "abc\"\\\ndef");
    let name = &book.state().profile.name;
    own.account(name, &book.state().profile.collectors);
    own.request(name, Group::Vm, "200", Duration::from_millis(80));
    own.unknown_values(name, "vm.state", 1);
    own
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("page", 48))]

    #[test]
    fn the_page_says_what_was_read(profile in profile(), settings in settings(), steps in vec(step(), 0..12), wait in prop_oneof![3 => Just(0_i64), 1 => 0..2000_i64]) {
        let mut book = account::book(profile);
        let (mut by_part, mut at_once) = (Encoder::new(settings.clone()), Encoder::new(settings.clone()));
        let mut known = Known::default();
        let mut now = given::now();
        for (seconds, collector, read) in steps {
            now += chrono::Duration::seconds(seconds);
            book.apply(read, now);
            by_part.refresh(book.state(), &[collector], now);
            at_once.refresh(book.state(), &Collector::ALL, now);
            known.note(book.state());
            inflated(&by_part.page(), b"x 1\n");
        }
        now += chrono::Duration::seconds(wait);
        by_part.refresh(book.state(), &Collector::ALL, now);
        prop_assert!(!by_part.refresh(book.state(), &Collector::ALL, now), "nothing was read, and the page changed");
        // Everything anew.
        at_once.configure(MetricsSettings { max_series_per_collector: 1 << 40, ..settings.clone() });
        at_once.configure(settings.clone());
        at_once.refresh(book.state(), &Collector::ALL, now);
        let page = inflated(&by_part.page(), b"");
        prop_assert_eq!(&page, &inflated(&at_once.page(), b""));

        let read = exposition::read(&page, PageFormat::Text);
        let got = values(&read.map_err(TestCaseError::fail)?);
        let all_states = settings.state_series == StateSeries::All;
        let want = Want { state: book.state(), known: &known, now, all_states, samples: BTreeMap::new() }.all();
        if settings.max_series_per_collector == 0 {
            for (series, value) in &want {
                prop_assert_eq!(got.get(series), Some(value), "{:?}", series);
            }
            let more = got.keys().find(|series| !want.contains_key(*series));
            prop_assert_eq!(more, None, "on the page, and not in `Want`");
        } else {
            // Under a cap, nothing that is not so; what it leaves out is told.
            let missing = want.keys().filter(|series| !got.contains_key(*series)).count() as u64;
            prop_assert!(got.iter().all(|(series, value)| want.get(series) == Some(value)));
            prop_assert_eq!(by_part.dropped(&book.state().profile.name).values().sum::<u64>(), missing);
        }

        let own = own(&book);
        for (openmetrics, format) in [(false, PageFormat::Text), (true, PageFormat::OpenMetrics)] {
            let whole = exposition::read(&inflated(&by_part.page(), &own.encode(openmetrics)), format);
            let whole = whole.map_err(TestCaseError::fail)?;
            prop_assert_eq!(&values(&whole), &got, "the same facts in both formats");
            prop_assert!(whole.families.values().all(|family| family.help.is_some() && family.kind.is_some()));
        }
    }

    /// Two accounts on one page: each has its own, and one that goes takes nothing of the other.
    #[test]
    fn accounts_share_a_page_and_nothing_else(one in vec(step(), 0..5), other in vec(step(), 0..5)) {
        let now = given::now();
        let mut books = [account::book(account::profile("main")), account::book(account::profile("other"))];
        let mut encoder = Encoder::new(MetricsSettings::default());
        for (book, steps) in books.iter_mut().zip([one, other]) {
            for (_, _, read) in steps {
                book.apply(read, now);
            }
            encoder.refresh(book.state(), &Collector::ALL, now);
        }
        exposition::read(&inflated(&encoder.page(), b""), PageFormat::Text).map_err(TestCaseError::fail)?;
        encoder.remove(&"other".parse().unwrap());
        let mut alone = Encoder::new(MetricsSettings::default());
        alone.refresh(books[0].state(), &Collector::ALL, now);
        prop_assert_eq!(inflated(&encoder.page(), b""), inflated(&alone.page(), b""));
    }
}

/// Two names of a state that a label cannot tell apart.
#[test]
fn states_that_look_the_same_are_counted_together() {
    let mut book = account::full("main");
    let vms = vec![account::vm(1, "odd\0", "a"), account::vm(2, "odd\u{fffd}", "b")];
    book.apply(Read::Vms(account::all(vms)), account::read_at());
    let mut encoder = Encoder::new(MetricsSettings::default());
    encoder.refresh(book.state(), &Collector::ALL, account::read_at());
    let page = exposition::read(&inflated(&encoder.page(), b""), PageFormat::Text).unwrap();
    let labels = [("account", "main"), ("state", "odd\u{fffd}")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(page.samples[&("hosting_vms".to_owned(), labels.into())], "2");
}
