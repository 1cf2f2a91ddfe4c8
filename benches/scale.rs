//! The cost of hostwatch's computations at the size of docs/performance.md: 10,000 VMs, 1,000 containers,
//! 20,000 sites, an order a VM. Times are processor times. `cargo bench --bench scale`.
//!
//! The measured code is private to the library, so this compiles its modules itself.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unused_imports,
    reason = "a benchmark, which uses a part of each module"
)]

#[path = "../tests/unit/account/mod.rs"]
mod account;
#[path = "../src/alert/mod.rs"]
mod alert;
#[path = "../src/clock.rs"]
mod clock;
#[path = "../src/failpoint.rs"]
mod failpoint;
#[path = "../src/metrics/mod.rs"]
mod metrics;
#[path = "../src/model/mod.rs"]
mod model;
#[path = "../src/provider/mod.rs"]
mod provider;
#[path = "../src/state.rs"]
mod state;
#[path = "../src/trust.rs"]
mod trust;
#[path = "../src/view/mod.rs"]
mod view;

/// The place in which the tests of those modules look for it.
#[cfg(test)]
mod unit {
    pub(crate) use crate::account;
}

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::alert::{AlertSettings, Cause, Incident, Key, Kind, rules};
use crate::metrics::{Encoder, Own, StateSeries};
use crate::model::{changes, forecast, *};
use crate::provider::report::{self, Most};
use crate::provider::wire::{DecodeContext, Diagnostics, SiteRow, VmRow, page};
use account::{all, book, container, money, profile, read_at, site, t, vm};
use bytes::Bytes;
use chrono::{DateTime, NaiveDateTime, Utc};
use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;

const VMS: u64 = 10_000;
const CONTAINERS: u64 = 1_000;
const SITES: u64 = 20_000;
const DAYS: i64 = 90;
/// The number of VMs that are broken at once, for the rules.
const BROKEN: u64 = 500;

fn vms(broken: impl Fn(u64) -> bool) -> Read {
    let row = |id| vm(id, if broken(id) { "error" } else { "active" }, &format!("web-{id}.example.com"));
    Read::Vms(all((1..=VMS).map(row).collect()))
}

fn sites_of(home: u64, broken: impl Fn(u64) -> bool) -> Read {
    let each = SITES / CONTAINERS;
    let row = |id| site(id, home, if broken(id) { "Error" } else { "Active" });
    let rows = ((home - 1) * each + 1..=home * each).map(row).collect();
    Read::Sites(ContainerId::new(home), all(rows))
}

/// One charge a day of each order, a few seconds after one another.
fn report() -> Report {
    let like = account::report("1", "1");
    let order = |id| Arc::new(Order { id: OrderId::new(id), ..(*like.orders[0]).clone() });
    let amount = money("3.97");
    let mut left = money("5000000");
    let moments =
        (0..DAYS).flat_map(|day| (0..VMS as u32).map(move |order| (day, order))).map(|(day, order)| {
            left -= amount;
            ChargeMoment {
                at: t("2026-03-02T03:00:00") + chrono::Duration::seconds(day * 86_400 + i64::from(order / 4)),
                amount,
                balance: left,
                positive: Some(left.is_positive()),
                order: Some(order),
            }
        });
    let moments: Moments = moments.collect();
    Report { orders: (1..=VMS).map(order).collect(), expected_balance: Some(left), moments, ..like }
}

fn full() -> KnownAccount {
    let mut book = book(profile("main"));
    book.apply(vms(|_| false), read_at());
    book.apply(
        Read::Containers(all((1..=CONTAINERS).map(|id| container(id, "ENABLED")).collect())),
        read_at(),
    );
    for home in 1..=CONTAINERS {
        book.apply(sites_of(home, |_| false), read_at());
    }
    book.apply(Read::ExpectedBalance(report()), read_at());
    book.apply(Read::Charges(money("10")), read_at());
    book
}

fn encoding(c: &mut Criterion<Cpu>) {
    let mut group = c.benchmark_group("encode");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    let mut book = full();
    let mut encoder = Encoder::new(StateSeries::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let page = encoder.page();
    group.throughput(Throughput::Bytes(page.identity("").left()));
    group.bench_function("the whole page", |b| {
        b.iter(|| {
            let mut encoder = Encoder::new(StateSeries::default());
            encoder.refresh(book.state(), &Collector::ALL, read_at());
            encoder.page()
        });
    });
    let text: Vec<u8> = page.identity("").flatten().collect();
    group.bench_function("gzip alone, of its text at once", |b| {
        b.iter(|| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&text).unwrap();
            encoder.finish().unwrap()
        });
    });
    group.throughput(Throughput::Elements(1));
    let mut changed = |group: &mut criterion::BenchmarkGroup<'_, _>, name, reads: [Read; 2], which| {
        let mut turn = false;
        group.bench_function(name, |b| {
            b.iter_batched(
                || {
                    turn = !turn;
                    book.apply(reads[usize::from(!turn)].clone(), read_at());
                    book.publish()
                },
                |state| {
                    assert!(encoder.refresh(&state, &[which], read_at()));
                    encoder.page()
                },
                BatchSize::PerIteration,
            );
        });
    };
    changed(&mut group, "one VM changed", [vms(|id| id == 7), vms(|_| false)], Collector::Vms);
    let one_site = [sites_of(7, |id| id == 123), sites_of(7, |_| false)];
    changed(&mut group, "one site changed", one_site, Collector::Sites);
    group.bench_function("nothing changed", |b| {
        b.iter(|| encoder.refresh(book.state(), &Collector::ALL, read_at()));
    });
    let own = Own::new("0", "0").with_process();
    own.account(&"main".parse().unwrap(), &Collector::ALL.into());
    group.bench_function("a scrape, but for the network", |b| b.iter(|| page.gzip(&own.encode(false))));
    group.finish();
}

/// The same records for plain serde: no field may be missing, null or odd.
mod plain {
    use super::*;

    #[derive(Deserialize)]
    pub struct VmPage {
        pub count: u64,
        pub next: Option<Box<str>>,
        pub results: Vec<PlainVm>,
    }

    #[derive(Deserialize)]
    pub struct PlainVm {
        id: u64,
        vm_id: Box<str>,
        name: Box<str>,
        r#type: Box<str>,
        ncpu: u64,
        memsize: u64,
        state: Box<str>,
        monitoring_enabled: bool,
        ips: Vec<PlainIp>,
        storages: Vec<u64>,
    }

    #[derive(Deserialize)]
    struct PlainIp {
        id: u64,
        ipvalue: Box<str>,
    }

    impl From<PlainVm> for Vm {
        fn from(row: PlainVm) -> Self {
            let ip = |ip: PlainIp| VmIp { address: Some(ip.ipvalue) };
            Self {
                id: row.id.into(),
                state: VmState::from(&*row.state),
                vm_id: Some(row.vm_id),
                name: Some(row.name),
                tariff: Some(row.r#type),
                ncpu: Some(row.ncpu),
                memsize: Some(row.memsize),
                monitoring_enabled: Some(row.monitoring_enabled),
                ips: Some(row.ips.into_iter().map(ip).collect()),
                disks: Some(row.storages.len() as u32),
            }
        }
    }

    #[derive(Deserialize)]
    pub struct SitePage {
        pub count: u64,
        pub entities: Vec<PlainSite>,
    }

    #[derive(Deserialize)]
    pub struct PlainSite {
        id: u64,
        name: Box<str>,
        state: Box<str>,
        created: NaiveDateTime,
        updated: NaiveDateTime,
        force_https: bool,
        certificate_id: u64,
        main_alias: Box<str>,
        engine: Box<str>,
        engine_version: Box<str>,
        num_workers: u64,
    }

    impl PlainSite {
        pub fn at(self, container: ContainerId) -> Site {
            let utc = |naive| Some(crate::model::time::at_zone(naive, chrono_tz::Europe::Moscow));
            Site {
                id: self.id.into(),
                state: SiteState::from(&*self.state),
                container,
                main_alias: (self.main_alias != self.name).then_some(self.main_alias),
                name: Some(self.name),
                engine: Some(self.engine),
                engine_version: Some(self.engine_version),
                workers: Some(self.num_workers),
                force_https: Some(self.force_https),
                certificate_id: Some(self.certificate_id),
                created: utc(self.created),
                updated: utc(self.updated),
            }
        }
    }
}

/// A hundred rows as the provider writes them, with the parts that a client does not use.
fn pages() -> (String, String) {
    let vm = |id: u64| {
        format!(
            r#"{{"id":{},"vm_id":"v7o8b{id}","name":"web-{id}.example.com","type":"medium","ncpu":2,"memsize":2048,"state":"active","monitoring_enabled":true,"ips":[{{"id":{id},"ipvalue":"198.18.19.{}"}},{{"id":{},"ipvalue":"2001:db8::{id:x}"}}],"storages":[{},{}],"ssh_keys":[71]}}"#,
            10_000 + id,
            id % 250,
            id + 5000,
            id + 8000,
            id + 9000
        )
    };
    let site = |id: u64| {
        format!(
            r#"{{"id":{id},"name":"site{id}.example.com","state":"Active","created":"2025-06-01T10:20:{:02}","updated":"2026-02-01T00:00:00","force_https":true,"certificate_id":{id},"main_alias":"site{id}.example.com","aliases":["www.site{id}.example.com","m.site{id}.example.com"],"engine":"php","engine_version":"8.3","engine_directives":["memory_limit=256M"],"charset":"utf-8","cron_mail":"ops@example.com","environment_variables":["A=b"],"read_only_environment_variables":[],"num_workers":4,"cache_static":30,"comment":"the shop of customer {id}","container":{{"id":7,"name":"shop"}}}}"#,
            id % 60
        )
    };
    let join = |row: &dyn Fn(u64) -> String| (1..=100).map(row).collect::<Vec<_>>().join(",");
    (
        format!(
            r#"{{"count":10000,"next":"https://panel.example.com/api/cvds/v1/vms/?page=2","previous":null,"results":[{}]}}"#,
            join(&vm)
        ),
        format!(r#"{{"count":100,"entities":[{}]}}"#, join(&site)),
    )
}

fn context() -> DecodeContext {
    DecodeContext { zone: Some(chrono_tz::Europe::Moscow), container_states: BTreeMap::new() }
}

fn decoded_vms(body: &[u8]) -> Vec<Vm> {
    page::<VmRow>(body, Group::Vm, (), &context(), &mut Diagnostics::default()).unwrap().rows
}

fn decoded_sites(body: &[u8], container: ContainerId) -> Vec<Site> {
    page::<SiteRow>(body, Group::Hosting, container, &context(), &mut Diagnostics::default()).unwrap().rows
}

fn decoding(c: &mut Criterion<Cpu>) {
    let (vms, sites) = pages();
    let home = ContainerId::new(7);
    let plain_vms = |body: &[u8]| {
        let page: plain::VmPage = serde_json::from_slice(body).unwrap();
        black_box((page.count, page.next));
        page.results.into_iter().map(Vm::from).collect::<Vec<_>>()
    };
    let plain_sites = |body: &[u8]| {
        let page: plain::SitePage = serde_json::from_slice(body).unwrap();
        black_box(page.count);
        page.entities.into_iter().map(|row| row.at(home)).collect::<Vec<_>>()
    };
    assert_eq!(decoded_vms(vms.as_bytes()), plain_vms(vms.as_bytes()));
    assert_eq!(decoded_sites(sites.as_bytes(), home), plain_sites(sites.as_bytes()));
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Bytes(vms.len() as u64));
    group.bench_function("100 VMs", |b| b.iter(|| decoded_vms(black_box(vms.as_bytes()))));
    group.bench_function("100 VMs, plain serde_json", |b| b.iter(|| plain_vms(black_box(vms.as_bytes()))));
    group.throughput(Throughput::Bytes(sites.len() as u64));
    group.bench_function("100 sites", |b| {
        b.iter(|| decoded_sites(black_box(sites.as_bytes()), home));
    });
    group.bench_function("100 sites, plain serde_json", |b| {
        b.iter(|| plain_sites(black_box(sites.as_bytes())));
    });
    let body = report_body(10_000);
    group.sample_size(20).throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("a report of 10,000 charges", |b| {
        let most = Most { moments: u64::MAX, order_bytes: u64::MAX };
        b.iter(|| {
            let pieces = black_box(body.as_bytes()).chunks(16 << 10);
            let pieces = pieces.map(|piece| Ok(Bytes::copy_from_slice(piece)));
            report::decode(pieces, &context(), most, &mut Diagnostics::default()).unwrap()
        });
    });
    group.finish();
}

fn report_body(moments: u64) -> String {
    let moment = |index: u64| {
        format!(
            r#"{{"amount":"3.97","balance":"{}.50","moment":"2026-03-{:02}T03:00:{:02}","positive":true,"order":{{"id":{},"comment":"VM web-{index}","last_charge_date":"2026-02-28T03:00:00","paid_till":"2026-03-01T03:00:00","start_date":"2025-01-01T03:00:00","end_date":null,"state":"ORDERED","tariff":{{"id":101,"amount":"119.00","billing_period":[1,"month"],"charge_period":[1,"day"],"generic_type":"dedicated","independent":true,"name":"VM medium","short_name":"medium","type":"std"}}}}}}"#,
            9_000_000 - 4 * index,
            1 + index * 28 / moments,
            index % 60,
            index % 1000
        )
    };
    let list = (0..moments).map(moment).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"date":"2026-06-01T00:00:00","edd":null,"error":null,"expected_balance":"1.50","charge_moments":[{list}]}}"#
    )
}

fn billing(c: &mut Criterion<Cpu>) {
    let report = report();
    let mut next = report.clone();
    next.moments = report.moments.iter_from(VMS as usize).collect();
    let mut group = c.benchmark_group("forecast of 900,000 charges");
    group.sample_size(20);
    group.bench_function("balances, top-ups and the disconnect date", |b| {
        b.iter(|| {
            let spans = forecast::SPANS_DAYS.map(|days| {
                let balance = forecast::balance_in(&report, read_at(), days);
                (balance, forecast::top_up_required(&report, read_at(), days))
            });
            (spans, forecast::disconnect(&report), forecast::next_charge(&report, read_at()))
        });
    });
    group.bench_function("cost of each order", |b| b.iter(|| forecast::order_costs(&report, read_at())));
    group.bench_function("changes since the report before", |b| {
        b.iter(|| changes::changes(&report, &next, read_at() + chrono::Duration::days(1)));
    });
    group.finish();
}

/// Processor time, so that a busy machine gives the same numbers.
struct Cpu(WallTime);

impl Measurement for Cpu {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }
    fn end(&self, began: ThreadTime) -> Duration {
        began.elapsed()
    }
    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }
    fn zero(&self) -> Duration {
        Duration::ZERO
    }
    fn to_f64(&self, value: &Duration) -> f64 {
        self.0.to_f64(value)
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        self.0.formatter()
    }
}

/// Open incidents of these resources.
fn open(kind: Kind, ids: impl Iterator<Item = u64>) -> BTreeMap<Key, Incident> {
    let account: AccountName = "main".parse().unwrap();
    let at: DateTime<Utc> = read_at();
    let incident = |id: u64| {
        let key = Key::new(&account, kind, id);
        let mut incident = Incident::new(key.clone(), at);
        incident.open(Cause::SeenWrong, at);
        (key, incident)
    };
    ids.map(incident).collect()
}

fn judging(c: &mut Criterion<Cpu>) {
    let settings = AlertSettings::defaults();
    let mut book = full();
    let mut group = c.benchmark_group("rules");
    group.sample_size(20);
    let nothing: BTreeMap<Key, Incident> = BTreeMap::new();
    let seen = |book: &mut KnownAccount, read: Read| book.apply(read, read_at());
    let observed = seen(&mut book, vms(|_| false));
    group.bench_function("10,000 VMs, all well", |b| {
        b.iter(|| rules::judge(book.state(), &observed[0], &nothing, &settings, true));
    });
    let broken = |id: u64| id.is_multiple_of(VMS / BROKEN);
    let observed = seen(&mut book, vms(broken));
    let incidents = open(Kind::VmError, (1..=VMS).filter(|&id| broken(id)));
    group.bench_function("10,000 VMs, 500 in error", |b| {
        b.iter(|| rules::judge(book.state(), &observed[0], &incidents, &settings, true));
    });
    for (name, share) in [("well", 0), ("500 in error", BROKEN), ("all in error", SITES)] {
        let broken = |id: u64| share > 0 && id.is_multiple_of(SITES / share);
        let sweep: Vec<Observed> =
            (1..=CONTAINERS).flat_map(|home| seen(&mut book, sites_of(home, broken))).collect();
        let incidents = open(Kind::SiteError, (1..=SITES).filter(|&id| broken(id)));
        group.bench_function(format!("a sweep of 20,000 sites in 1,000 containers, {name}"), |b| {
            b.iter(|| {
                let judged = sweep
                    .iter()
                    .map(|one| rules::judge(book.state(), one, &incidents, &settings, true).len());
                judged.sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu(WallTime)).without_plots();
    targets = encoding, decoding, billing, judging
}
criterion_main!(benches);
