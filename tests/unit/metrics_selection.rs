//! `[metrics]`: families that are not selected are nowhere on the page, and the cap leaves out whole resources, says how much
//! it left out, and keeps to the same ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use std::collections::BTreeMap;

use crate::metrics::{Encoder, MetricsSettings, Own, Selection, families};
use crate::model::*;
use account::*;

fn page(encoder: &Encoder) -> String {
    let text: Vec<u8> = encoder.page().identity("").flatten().collect();
    String::from_utf8(text).unwrap()
}

fn capped(most: u64) -> MetricsSettings {
    MetricsSettings { max_series_per_collector: most, ..MetricsSettings::default() }
}

/// Series of a page by the value of this label.
fn series_by(page: &str, label: &str) -> BTreeMap<u64, usize> {
    let mut found = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let value = line.split(&format!("{{account=\"main\",{label}=\"")).nth(1);
        if let Some(id) = value.and_then(|rest| rest.split('"').next()?.parse().ok()) {
            *found.entry(id).or_default() += 1;
        }
    }
    found
}

#[test]
fn hidden_families_are_nowhere_and_the_others_are_as_before() {
    let book = full("main");
    let mut encoder = Encoder::new(MetricsSettings::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let whole = page(&encoder);
    let texts = |texts: [&str; 2]| texts.map(str::to_owned).into();
    let selection =
        Selection { allow: texts(["*_s*", "*_vm_*"]), deny: texts(["hosting_site_c*", "*_info"]) };
    // By a reload, and from the start.
    encoder.configure(MetricsSettings { selection: selection.clone(), ..MetricsSettings::default() });
    assert!(encoder.refresh(book.state(), &Collector::ALL, read_at()));
    let mut other =
        Encoder::new(MetricsSettings { selection: selection.clone(), ..MetricsSettings::default() });
    other.refresh(book.state(), &Collector::ALL, read_at());
    let left = page(&encoder);
    assert!(left == page(&other));
    for family in families().filter(|family| family.name.starts_with("hosting_")) {
        let lines = |page: &str| {
            let starts = [format!("{}{{", family.name), format!("# HELP {} ", family.name)];
            page.lines().filter(|line| starts.iter().any(|start| line.starts_with(start.as_str()))).count()
        };
        let want = if selection.hides(family.name) { 0 } else { lines(&whole) };
        assert_eq!(lines(&left), want, "{}", family.name);
    }
    assert!(left.contains("hosting_site_state{") && left.contains("hosting_sites{"));
    encoder.configure(MetricsSettings::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    assert!(page(&encoder) == whole, "and back again");
}

#[test]
fn own_families_are_hidden_too() {
    let own = Own::new("0.2.0", "abcdef").with_process();
    own.select(Selection { allow: vec!["hostwatch_*".into()], deny: vec!["*_build_info".into()] });
    for openmetrics in [false, true] {
        let text = String::from_utf8(own.encode(openmetrics)).unwrap();
        assert!(!text.contains("process_") && !text.contains("build_info"), "{text}");
        assert!(text.contains("hostwatch_notifications_total{result=\"sent\"} 0\n"));
    }
}

#[test]
fn past_the_cap_whole_resources_are_left_out_the_highest_ids_first() {
    let mut book = book(profile("main"));
    let vms = |ids: std::ops::RangeInclusive<u64>| all(ids.map(|id| vm(id, "active", "web")).collect());
    book.apply(Read::Vms(vms(1..=20)), read_at());
    let mut whole = Encoder::new(MetricsSettings::default());
    whole.refresh(book.state(), &Collector::ALL, read_at());
    let each = series_by(&page(&whole), "vm")[&1];
    // Room for twelve VMs beside the six counts by state, and for half of another.
    let most = (12 * each + 6 + each / 2) as u64;
    let mut encoder = Encoder::new(capped(most));
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let want: BTreeMap<u64, usize> = (1..=12).map(|id| (id, each)).collect();
    assert_eq!(series_by(&page(&encoder), "vm"), want);
    assert_eq!(encoder.dropped(&"main".parse().unwrap())[&Collector::Vms], (8 * each) as u64);
    // The counts are of all.
    assert!(page(&encoder).contains("hosting_vms{account=\"main\",state=\"active\"} 20\n"));
    // One more at the end changes nothing that is shown; one less at the start lets one in.
    book.apply(Read::Vms(vms(1..=21)), read_at());
    encoder.refresh(book.state(), &[Collector::Vms], read_at());
    assert_eq!(series_by(&page(&encoder), "vm"), want);
    assert_eq!(encoder.dropped(&"main".parse().unwrap())[&Collector::Vms], (9 * each) as u64);
    for _ in 0..2 {
        book.apply(Read::Vms(vms(2..=21)), read_at());
    }
    encoder.refresh(book.state(), &[Collector::Vms], read_at());
    assert_eq!(series_by(&page(&encoder), "vm").into_keys().collect::<Vec<_>>(), Vec::from_iter(2..=13));
    // Below the cap nothing is left out.
    for _ in 0..2 {
        book.apply(Read::Vms(vms(2..=5)), read_at());
    }
    encoder.refresh(book.state(), &[Collector::Vms], read_at());
    assert_eq!(encoder.dropped(&"main".parse().unwrap())[&Collector::Vms], 0);
    assert_eq!(series_by(&page(&encoder), "vm").len(), 4);
}

#[test]
fn the_cap_of_sites_holds_across_containers() {
    let mut book = book(profile("main"));
    let containers: Vec<u64> = (1..=40).collect();
    book.apply(
        Read::Containers(all(containers.iter().map(|&id| container(id, "ENABLED")).collect())),
        read_at(),
    );
    // Site 1 is in the last container, 40 in the first: what counts is the site's own id.
    let sites = |home: u64, extra: bool| {
        let mut rows = vec![site(41 - home, home, "Active")];
        rows.extend(extra.then(|| site(100, home, "Active")));
        Read::Sites(ContainerId::new(home), all(rows))
    };
    for &home in &containers {
        book.apply(sites(home, false), read_at());
    }
    let mut whole = Encoder::new(MetricsSettings::default());
    whole.refresh(book.state(), &Collector::ALL, read_at());
    let each = series_by(&page(&whole), "site")[&1];
    let most = (15 * each + 13) as u64;
    let mut encoder = Encoder::new(capped(most));
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let shown = |encoder: &Encoder| series_by(&page(encoder), "site").into_keys().collect::<Vec<_>>();
    assert_eq!(shown(&encoder), Vec::from_iter(1..=15));
    // A change in one shard moves the cut in all of them.
    for _ in 0..2 {
        book.apply(Read::Sites(ContainerId::new(40), all(vec![])), read_at());
    }
    encoder.refresh(book.state(), &[Collector::Sites], read_at());
    assert_eq!(shown(&encoder), Vec::from_iter(2..=16));
    book.apply(sites(40, true), read_at());
    encoder.refresh(book.state(), &[Collector::Sites], read_at());
    assert_eq!(shown(&encoder), Vec::from_iter(1..=15));
    assert_eq!(encoder.dropped(&"main".parse().unwrap())[&Collector::Sites], (26 * each) as u64);
    // The containers have a cap of their own.
    let each = series_by(&page(&whole), "container")[&1];
    assert_eq!(series_by(&page(&encoder), "container").len(), (most as usize - 4) / each);
}

#[test]
fn balances_are_never_left_out() {
    let book = full("main");
    let mut encoder = Encoder::new(capped(1));
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let page = page(&encoder);
    assert!(page.contains("hosting_billing_top_up_required{account=\"main\",days=\"90\"} "));
    assert!(!page.contains(",order=\"") && !page.contains("hosting_site_"), "{page}");
    assert_eq!(page.matches(",ip=\"").count(), 1, "one of two fits");
    assert!(page.contains("hosting_sites{") && page.contains("hosting_billing_orders{"));
}

#[test]
fn a_collector_that_is_switched_off_leaves_nothing_on_the_page() {
    let book = full("main");
    let mut encoder = Encoder::new(MetricsSettings::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let mut less = profile("main");
    less.collectors = [Collector::Vms].into();
    let book = book.with_profile(std::sync::Arc::new(less));
    assert!(encoder.refresh(book.state(), &Collector::ALL, read_at()));
    let page = page(&encoder);
    for prefix in
        ["hosting_billing", "hosting_site", "hosting_container", "hosting_ip", "hosting_ssh", "hosting_cron"]
    {
        assert!(!page.contains(prefix), "{prefix} in {page}");
    }
    assert!(page.contains("hosting_vm_info{"));
}
