//! `[metrics]`: only selected families are on the page.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use crate::metrics::{Encoder, MetricsSettings, Own, Selection, families};
use crate::model::*;
use account::*;

fn page(encoder: &Encoder) -> String {
    let text: Vec<u8> = encoder.page().identity("").flatten().collect();
    String::from_utf8(text).unwrap()
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
