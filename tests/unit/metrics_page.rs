//! The whole page: its families, vanishing samples, parts that are encoded again, and promtool's opinion.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;
use super::properties::exposition::{self, PageFormat};
use super::tools;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::metrics::own::Notification;
use crate::metrics::{Encoder, Own, StateSeries, families as rows, reference};
use crate::model::mails::OutboxSummary;
use crate::model::*;
use account::*;

fn body(encoder: &Encoder, own: &[u8]) -> String {
    let text: Vec<u8> = encoder.page().identity(own.to_vec()).flatten().collect();
    String::from_utf8(text).unwrap()
}

fn encoded(books: &[&KnownAccount]) -> Encoder {
    let mut encoder = Encoder::new(StateSeries::default());
    for book in books {
        encoder.set_incidents(&book.state().profile.name, incidents());
        assert!(encoder.refresh(book.state(), &Collector::ALL, read_at()));
    }
    encoder
}

/// An open incident of an account that was read.
fn incidents() -> AccountIncidents {
    let one = IncidentSeries {
        kind: "vm_error",
        resource: "17".to_owned(),
        name: "web-1".to_owned(),
        severity: "critical",
        is_open: true,
    };
    AccountIncidents { are_known: true, series: vec![one] }
}

/// The daemon's own metrics, with a sample of every family.
fn own() -> Own {
    let own = Own::new("0.2.0", "abcdef").with_process();
    let account: AccountName = "main".parse().unwrap();
    let book = full("main");
    own.account(&account, &book.state().profile.collectors);
    for (&collector, status) in &book.state().collectors {
        own.collector(&account, collector, status);
    }
    own.request(&account, Group::Vm, "200", Duration::from_millis(80));
    own.throttled(&account, Group::Hosting, Duration::from_millis(1500));
    own.rejected(&account, Collector::Vms, 2);
    own.inconsistent(&account);
    own.unknown_values(&account, "vm.state", 1);
    own.incidents("main", &BTreeMap::from([(["main", "vm_error", "critical", "firing"], 1)]));
    own.notification(Notification::Sent);
    own.outbox(&OutboxSummary {
        owed: 2,
        in_flight: 1,
        refused: 1,
        held: 1,
        unsure: 1,
        oldest: Some(read_at()),
    });
    own.store_usable(true);
    own.heartbeat_configured(true);
    own.heartbeat(read_at());
    own.external_url(Some("https://watch.example.com/"));
    own.reload(true, read_at());
    own
}

#[test]
fn a_removed_heartbeat_has_no_last_ping() {
    let own = Own::new("0.2.0", "abcdef");
    let shown = || {
        let page = String::from_utf8(own.encode(false)).unwrap();
        page.lines().filter(|line| line.starts_with("hostwatch_heartbeat_")).collect::<Vec<_>>().join("\n")
    };
    own.heartbeat_configured(true);
    assert_eq!(shown(), "hostwatch_heartbeat_configured 1");
    own.heartbeat(read_at());
    own.heartbeat_configured(true);
    assert!(
        shown().contains("hostwatch_heartbeat_last_success_timestamp_seconds "),
        "a reload forgets no ping"
    );
    own.heartbeat_configured(false);
    assert_eq!(shown(), "hostwatch_heartbeat_configured 0");
}

#[test]
fn the_incidents_of_one_account_are_counted_anew_and_the_others_stay() {
    let own = Own::new("0.2.0", "abcdef");
    let open = |account: &'static str, kind: &'static str, count: u64| {
        ([account, kind, "critical", "firing"], count)
    };
    own.incidents("a", &BTreeMap::from([open("a", "vm_error", 1)]));
    own.incidents("b", &BTreeMap::from([open("b", "vm_error", 2)]));
    own.incidents("a", &BTreeMap::from([open("a", "site_error", 3)]));
    let page = String::from_utf8(own.encode(false)).unwrap();
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("hostwatch_incidents{")).collect();
    let line = |account, kind, count| {
        format!(
            r#"hostwatch_incidents{{account="{account}",kind="{kind}",severity="critical",state="firing"}} {count}"#
        )
    };
    assert_eq!(found, [line("a", "site_error", 3), line("b", "vm_error", 2)]);
}

/// The names of a page's families by type, as a strict reader finds them.
fn families(page: &str) -> BTreeMap<String, String> {
    let page = exposition::read(page, PageFormat::Text).unwrap();
    page.families.into_iter().map(|(name, family)| (name, family.kind.unwrap())).collect()
}

#[test]
fn the_page_has_the_families_of_the_table_and_no_others() {
    // One account whose cut-off is ahead and one without: together they show every family.
    let mut dry = full("dry");
    dry.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let page = body(&encoded(&[&full("main"), &dry]), &own().encode(false));
    let want = rows().map(|family| (family.name.to_owned(), family.kind.into_str().to_owned()));
    assert_eq!(families(&page), want.collect::<BTreeMap<_, _>>());
    for family in rows() {
        assert!(
            page.contains(&family.header(false)),
            "{} has another HELP: {}",
            family.name,
            family.header(false)
        );
    }
}

#[test]
fn docs_hold_the_reference() {
    tools::hold("docs/metrics.md", &reference(), "cargo test --lib metrics_page");
}

#[test]
fn only_what_changed_changes_the_page() {
    let mut book = full("main");
    let mut encoder = encoded(&[&book]);
    let before = body(&encoder, b"");
    assert!(!encoder.refresh(book.state(), &Collector::ALL, read_at()), "nothing was read");
    let later = read_at() + chrono::Duration::seconds(60);
    let vms = |state| Read::Vms(all(vec![vm(17, state, "web-1"), vm(18, "active", "web-2")]));
    book.apply(vms("active"), later);
    assert!(!encoder.refresh(book.state(), &Collector::ALL, later), "the same was read");
    book.apply(vms("error"), later);
    assert!(!encoder.refresh(book.state(), &[Collector::Sites], later), "not asked for");
    assert!(encoder.refresh(book.state(), &[Collector::Vms], later));
    let after = body(&encoder, b"");
    let old: BTreeSet<_> = before.lines().collect();
    let new: Vec<_> = after.lines().filter(|line| !old.contains(line)).collect();
    assert_eq!(
        new,
        [
            "hosting_vm_state{account=\"main\",vm=\"17\",state=\"active\"} 0",
            "hosting_vm_state{account=\"main\",vm=\"17\",state=\"error\"} 1",
            "hosting_vms{account=\"main\",state=\"active\"} 1",
            "hosting_vms{account=\"main\",state=\"error\"} 1",
        ]
    );
    encoder.remove(&"main".parse().unwrap());
    assert_eq!(body(&encoder, b""), "");
}

#[test]
fn families_vanish_when_stale_and_the_disconnect_does_not() {
    let mut book = full("main");
    let other = ContainerId::new(47);
    book.apply(Read::Containers(all(vec![container(31, "ENABLED"), container(47, "ENABLED")])), read_at());
    book.apply(Read::Sites(other, all(vec![site(300, 47, "Active")])), read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let mut encoder = encoded(&[&book]);
    let edge = read_at() + chrono::Duration::seconds(900);
    assert!(!encoder.refresh(book.state(), &Collector::ALL, edge), "up to stale_after nothing goes");
    // The sites of one container were read meanwhile. The others vanish, and the count with them.
    book.apply(Read::Sites(other, all(vec![site(300, 47, "Active")])), edge);
    let past = edge + chrono::Duration::seconds(1);
    assert!(encoder.refresh(book.state(), &Collector::ALL, past));
    let page = body(&encoder, b"");
    let names: Vec<_> = families(&page).into_keys().collect();
    let sites: Vec<_> = names.iter().filter(|name| name.starts_with("hosting_site")).collect();
    assert!(
        sites.contains(&&"hosting_site_info".to_owned()) && !sites.contains(&&"hosting_sites".to_owned())
    );
    assert!(page.contains("site=\"300\"") && !page.contains("site=\"104\""));
    let rest: Vec<_> = names.iter().filter(|name| !name.starts_with("hosting_site")).collect();
    assert_eq!(
        rest,
        [
            "hosting_account_info",
            "hosting_billing_disconnect_computed_timestamp_seconds",
            "hosting_billing_disconnect_expected",
            "hosting_billing_disconnect_timestamp_seconds",
            "hosting_billing_lead_seconds",
            "hostwatch_incident_open"
        ]
    );
    // They come back with the next good reading.
    fill(&mut book, past);
    encoder.refresh(book.state(), &Collector::ALL, past);
    assert!(families(&body(&encoder, b"")).contains_key("hosting_vm_state"));
}

#[test]
fn that_no_cut_off_is_ahead_is_known_by_a_fresh_report_alone() {
    let mut book = book(profile("main"));
    let clear = forecast::tests::report("1000", "10", 5, Edd::Null);
    book.apply(Read::ExpectedBalance(clear), read_at());
    let mut encoder = Encoder::new(StateSeries::default());
    let mut shown = |at| {
        encoder.refresh(book.state(), &Collector::ALL, at);
        body(&encoder, b"").contains("hosting_billing_disconnect_expected{account=\"main\"} 0")
    };
    assert!(shown(read_at()));
    assert!(!shown(read_at() + chrono::Duration::days(1)));
}

#[test]
fn a_collector_that_is_switched_off_leaves_nothing_on_the_page() {
    let book = full("main");
    let mut encoder = Encoder::new(StateSeries::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let mut less = profile("main");
    less.collectors = [Collector::Vms].into();
    let book = book.with_profile(Arc::new(less));
    assert!(encoder.refresh(book.state(), &Collector::ALL, read_at()));
    let page = body(&encoder, b"");
    for prefix in
        ["hosting_billing", "hosting_site", "hosting_container", "hosting_ip", "hosting_ssh", "hosting_cron"]
    {
        assert!(!page.contains(prefix), "{prefix} in {page}");
    }
    assert!(page.contains("hosting_vm_info{"));
}

#[test]
fn counts_wait_for_a_complete_listing() {
    let mut book = book(profile("main"));
    let mut encoder = Encoder::new(StateSeries::default());
    let mut counts = |book: &KnownAccount| {
        encoder.refresh(book.state(), &Collector::ALL, read_at());
        let counts = ["hosting_vms", "hosting_containers", "hosting_sites"];
        let have = families(&body(&encoder, b""));
        counts.into_iter().filter(|name| have.contains_key(*name)).collect::<Vec<_>>()
    };
    let part = |rows| Rows::new(rows, false);
    book.apply(Read::Vms(part(vec![vm(1, "active", "a")])), read_at());
    assert_eq!(counts(&book), [""; 0]);
    book.apply(Read::Vms(all(vec![vm(1, "active", "a")])), read_at());
    assert_eq!(counts(&book), ["hosting_vms"]);
    book.apply(Read::Vms(part(vec![vm(1, "error", "a")])), read_at());
    assert_eq!(counts(&book), ["hosting_vms"], "once is enough: nothing is lost since");
    book.apply(Read::Containers(all(vec![container(1, "ENABLED"), container(2, "ENABLED")])), read_at());
    assert_eq!(counts(&book), ["hosting_vms", "hosting_containers"]);
    book.apply(Read::Sites(ContainerId::new(1), all(vec![site(1, 1, "Active")])), read_at());
    assert_eq!(counts(&book), ["hosting_vms", "hosting_containers"], "the sites of 2 are not known");
    book.apply(Read::Sites(ContainerId::new(2), Rows::new(vec![], false)), read_at());
    assert_eq!(counts(&book), ["hosting_vms", "hosting_containers"], "nor are they all known now");
    book.apply(Read::Sites(ContainerId::new(2), all(vec![])), read_at());
    assert_eq!(counts(&book), ["hosting_vms", "hosting_containers", "hosting_sites"]);
}

#[test]
fn own_counters_start_at_zero_and_unknown_gauges_are_absent() {
    let own = Own::new("0.2.0", "abcdef");
    let account: AccountName = "main".parse().unwrap();
    own.account(&account, &[Collector::Vms].into());
    let text = String::from_utf8(own.encode(false)).unwrap();
    for series in [
        "hostwatch_collector_success{account=\"main\",collector=\"vms\"} 0",
        "hostwatch_collector_polls_total{account=\"main\",collector=\"vms\",result=\"failure\"} 0",
        "hostwatch_collector_polls_total{account=\"main\",collector=\"vms\",result=\"partial\"} 0",
        "hostwatch_records_rejected_total{account=\"main\",collector=\"vms\"} 0",
        "hostwatch_api_throttled_seconds_total{account=\"main\",group=\"vm\"} 0",
        "hostwatch_notifications_total{result=\"refused\"} 0",
        "hostwatch_notifications_total{result=\"retry\"} 0",
    ] {
        assert!(text.contains(&format!("{series}\n")), "{series} in {text}");
    }
    for absent in ["last_success", "_complete", "_incidents", "_outbox", "_reload", "group=\"billing\""] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
    let mut status = CollectorStatus { polls: 1, ..CollectorStatus::default() };
    own.collector(&account, Collector::Vms, &status);
    let text = String::from_utf8(own.encode(false)).unwrap();
    assert!(text.contains("hostwatch_collector_success{account=\"main\",collector=\"vms\"} 0\n"));
    assert!(!text.contains("last_success"), "there was none yet");
    status.success = true;
    status.last_success = Some(read_at());
    own.collector(&account, Collector::Vms, &status);
    let text = String::from_utf8(own.encode(false)).unwrap();
    assert!(text.contains("result=\"partial\"} 1\n") && text.contains("result=\"failure\"} 1\n"));
    assert!(text.contains("last_success_timestamp_seconds{account=\"main\",collector=\"vms\"} 1772366400\n"));
    own.external_url(Some("https://watch.example.com/hw/"));
    let text = String::from_utf8(own.encode(false)).unwrap();
    assert!(text.contains("hostwatch_web_info{external_url=\"https://watch.example.com/hw\"} 1\n"), "{text}");
    own.external_url(None);
    assert!(!String::from_utf8(own.encode(false)).unwrap().contains("web_info"));
    // If the same configuration is loaded again, nothing is forgotten. A collector that is switched off
    // vanishes.
    own.account(&account, &[Collector::Vms, Collector::Ips].into());
    let text = String::from_utf8(own.encode(false)).unwrap();
    assert!(text.contains("hostwatch_collector_success{account=\"main\",collector=\"vms\"} 1\n"), "{text}");
    own.account(&account, &[Collector::Ips].into());
    let text = String::from_utf8(own.encode(false)).unwrap();
    assert!(!text.contains("collector=\"vms\"") && text.contains("collector=\"ips\"}"), "{text}");
    own.remove_account(&account);
    assert!(!String::from_utf8(own.encode(false)).unwrap().contains("account="));
}

#[test]
fn promtool_has_nothing_to_say() {
    if Command::new("promtool").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI needs promtool on PATH");
        println!("SKIPPED: promtool is not on PATH");
        return;
    }
    let mut dry = full("dry");
    dry.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let odd = "<script>alert(1)</script>\"\\\n'\0\r\u{7f}";
    dry.apply(Read::Vms(all(vec![vm(1, odd, odd)])), read_at());
    let page = body(&encoded(&[&full("main"), &dry]), &own().encode(false));
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let said = promtool.wait_with_output().unwrap();
    let words = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
    assert_eq!(words.trim(), "");
}

#[test]
fn gzip_and_identity_are_the_same_text_at_size() {
    let mut book = book(profile("main"));
    let vms = (0..3000).map(|id| vm(id, "active", &format!("vm-{id}"))).collect();
    book.apply(Read::Vms(all(vms)), read_at());
    let encoder = encoded(&[&book]);
    let whole: Vec<u8> = encoder.page().gzip(b"x 1\n").iter().flatten().copied().collect();
    let mut text = String::new();
    flate2::read::GzDecoder::new(whole.as_slice()).read_to_string(&mut text).unwrap();
    assert!(text == body(&encoder, b"x 1\n"));
    let samples = |of: &str| text.lines().filter(|line| line.contains(of)).count();
    assert!(samples("vm=\"0\"") > 10, "{}", samples("vm=\"0\""));
    assert_eq!(samples("vm=\""), 3000 * samples("vm=\"0\""), "each VM has the same families");
    assert!(whole.len() * 10 < text.len(), "{} of {}", whole.len(), text.len());
}

#[test]
fn an_incident_that_changes_has_one_series_in_each_page() {
    let book = full("main");
    let mut encoder = encoded(&[&book]);
    let shown = |encoder: &Encoder| -> Vec<String> {
        let page = body(encoder, b"");
        page.lines().filter(|line| line.starts_with("hostwatch_incident_open{")).map(str::to_owned).collect()
    };
    let line = |labels: &str, value: u8| {
        vec![format!("hostwatch_incident_open{{account=\"main\",kind=\"vm_error\",{labels}}} {value}")]
    };
    assert_eq!(shown(&encoder), line("resource=\"17\",name=\"web-1\",severity=\"critical\"", 1));
    let mut changed = incidents();
    changed.series[0].severity = "warning";
    changed.series[0].name = "web-2".to_owned();
    changed.series[0].is_open = false;
    let name = &book.state().profile.name;
    assert!(encoder.set_incidents(name, changed.clone()) && !encoder.set_incidents(name, changed));
    assert!(encoder.refresh(book.state(), &[], read_at()));
    assert_eq!(shown(&encoder), line("resource=\"17\",name=\"web-2\",severity=\"warning\"", 0));
    encoder.remove(name);
    assert_eq!(body(&encoder, b""), "");
}

#[test]
fn an_account_is_described_once_its_incidents_are_known() {
    let book = full("main");
    let mut encoder = Encoder::new(StateSeries::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    assert!(!body(&encoder, b"").contains("hosting_account_info"));
    let known = AccountIncidents { are_known: true, series: Vec::new() };
    encoder.set_incidents(&book.state().profile.name, known);
    assert!(encoder.refresh(book.state(), &[], read_at()));
    assert!(body(&encoder, b"").contains("hosting_account_info{account=\"main\""));
    assert!(!body(&encoder, b"").contains("hostwatch_incident_open{"), "no family without a sample");
}
