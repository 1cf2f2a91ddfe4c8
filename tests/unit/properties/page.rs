//! The page of metrics: after any readings in any order, an independent reader accepts it in both formats. The
//! page is the same, encoded piece by piece or at once, compressed or not. metrics_golden.rs has its values.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::Duration;

use crate::metrics::{Encoder, Own, StateSeries};
use crate::model::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::unit::properties::exposition::{self, Page, PageFormat, Series};
use crate::unit::properties::{account, given};

/// A reading, with the seconds before it.
type Step = (i64, Collector, Read);

/// Some rows, made of an id, a state and a name each.
fn rows<T: std::fmt::Debug>(
    most: usize,
    row: impl Fn(u64, &str, &str) -> T + Clone,
) -> impl Strategy<Value = Rows<T>> {
    let row = (given::id(), given::state(), given::name())
        .prop_map(move |(id, state, name)| row(id, &state, &name));
    (vec(row, 0..most), prop::bool::weighted(0.8)).prop_map(|(rows, complete)| Rows::new(rows, complete))
}

fn step() -> impl Strategy<Value = Step> {
    use crate::unit::account::{container, money, site, vm};
    let shop = |id, state: &str, name: &str| Container { name: Some(name.into()), ..container(id, state) };
    let home = |home, id, state: &str, name: &str| Site { name: Some(name.into()), ..site(id, home, state) };
    let ip = |id, _: &str, name: &str| Ip { id: IpId::new(id), address: Some(name.into()), vm: None };
    let read = prop_oneof![
        4 => rows(6, vm).prop_map(|rows| (Collector::Vms, Read::Vms(rows))),
        4 => rows(4, shop).prop_map(|rows| (Collector::Containers, Read::Containers(rows))),
        4 => (0..20_u64).prop_flat_map(move |of| {
            let rows = rows(5, move |id, state, name| home(of, id, state, name));
            rows.prop_map(move |rows| (Collector::Sites, Read::Sites(ContainerId::new(of), rows)))
        }),
        1 => rows(5, ip).prop_map(|rows| (Collector::Ips, Read::Ips(rows))),
        1 => given::number().prop_map(|count| (Collector::SshKeys, Read::Counted(Collector::SshKeys, None, count))),
        2 => (prop::sample::select(vec![Collector::Databases, Collector::CronJobs]), given::id(), given::number())
            .prop_map(|(of, site, count)| (of, Read::Counted(of, Some(SiteId::new(site)), count))),
        2 => given::report().prop_map(|report| (Collector::ExpectedBalance, Read::ExpectedBalance(report))),
        1 => (0..3_u32).prop_map(|sum| (Collector::Charges, Read::Charges(money(&sum.to_string())))),
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

fn settings() -> impl Strategy<Value = StateSeries> {
    any::<bool>().prop_map(|all| if all { StateSeries::All } else { StateSeries::Current })
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

/// The facts about the account, without the daemon's own metrics.
fn facts(page: &Page) -> BTreeMap<&Series, &String> {
    page.samples.iter().filter(|((name, _), _)| name.starts_with("hosting_")).collect()
}

/// The daemon's own metrics, with some values.
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
    fn a_page_is_the_same_however_it_is_encoded(profile in profile(), settings in settings(), steps in vec(step(), 0..12), wait in prop_oneof![3 => Just(0_i64), 1 => 0..2000_i64]) {
        let mut book = account::book(profile);
        let (mut by_part, mut at_once) = (Encoder::new(settings), Encoder::new(settings));
        for encoder in [&mut by_part, &mut at_once] {
            let incidents = AccountIncidents { are_known: true, series: Vec::new() };
            encoder.set_incidents(&book.state().profile.name, incidents);
        }
        let mut now = given::now();
        for (seconds, collector, read) in steps {
            now += chrono::Duration::seconds(seconds);
            book.apply(read, now);
            by_part.refresh(book.state(), &[collector], now);
            at_once.refresh(book.state(), &Collector::ALL, now);
            inflated(&by_part.page(), b"x 1\n");
        }
        now += chrono::Duration::seconds(wait);
        by_part.refresh(book.state(), &Collector::ALL, now);
        prop_assert!(!by_part.refresh(book.state(), &Collector::ALL, now), "nothing was read, and the page changed");
        // Everything is encoded again.
        for settings in [StateSeries::All, StateSeries::Current, settings] {
            at_once.configure(settings);
        }
        at_once.refresh(book.state(), &Collector::ALL, now);
        let page = inflated(&by_part.page(), b"");
        prop_assert_eq!(&page, &inflated(&at_once.page(), b""));

        let read = exposition::read(&page, PageFormat::Text).map_err(TestCaseError::fail)?;
        let own = own(&book);
        for (openmetrics, format) in [(false, PageFormat::Text), (true, PageFormat::OpenMetrics)] {
            let whole = exposition::read(&inflated(&by_part.page(), &own.encode(openmetrics)), format);
            let whole = whole.map_err(TestCaseError::fail)?;
            prop_assert_eq!(facts(&whole), facts(&read), "the same facts in both formats");
            prop_assert!(whole.families.values().all(|family| family.help.is_some() && family.kind.is_some()));
        }
    }

    /// Two accounts on one page: each has its own samples, and they stay when the other account goes.
    #[test]
    fn accounts_share_a_page_and_nothing_else(one in vec(step(), 0..5), other in vec(step(), 0..5)) {
        let now = given::now();
        let mut books = [account::book(account::profile("main")), account::book(account::profile("other"))];
        let mut encoder = Encoder::new(StateSeries::default());
        for (book, steps) in books.iter_mut().zip([one, other]) {
            for (_, _, read) in steps {
                book.apply(read, now);
            }
            encoder.refresh(book.state(), &Collector::ALL, now);
        }
        exposition::read(&inflated(&encoder.page(), b""), PageFormat::Text).map_err(TestCaseError::fail)?;
        encoder.remove(&"other".parse().unwrap());
        let mut alone = Encoder::new(StateSeries::default());
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
    let mut encoder = Encoder::new(StateSeries::default());
    encoder.refresh(book.state(), &Collector::ALL, account::read_at());
    let page = exposition::read(&inflated(&encoder.page(), b""), PageFormat::Text).unwrap();
    let labels = [("account", "main"), ("state", "odd\u{fffd}")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(page.samples[&("hosting_vms".to_owned(), labels.into())], "2");
}
