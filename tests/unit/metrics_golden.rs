//! State of each kind of resource, and its exact exposition text; the text is in `snapshots`.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use crate::metrics::{Encoder, StateSeries};
use crate::model::*;
use account::*;

/// The page after one refresh, without HELP lines and unneeded account families.
fn text(book: &KnownAccount, settings: StateSeries) -> String {
    let mut encoder = Encoder::new(settings);
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let page: Vec<u8> = encoder.page().identity("").flatten().collect();
    let page = String::from_utf8(page).unwrap();
    let of_account = ["hosting_account_info", "hosting_billing_lead_seconds"];
    let lines = page
        .lines()
        .filter(|line| !line.starts_with("# HELP") && !of_account.iter().any(|family| line.contains(family)));
    lines.map(|line| format!("{line}\n")).collect()
}

fn of(read: impl IntoIterator<Item = Read>) -> KnownAccount {
    let mut book = book(profile("main"));
    for read in read {
        book.apply(read, read_at());
    }
    book
}

#[test]
fn vms() {
    let odd = "<script>alert(1)</script>\"\\\n'";
    let immense = Vm { memsize: Some(u64::MAX), ..bare_vm(18, "migrating") };
    let book = of([Read::Vms(all(vec![vm(17, "active", odd), immense]))]);
    insta::assert_snapshot!(text(&book, StateSeries::default()));
}

#[test]
fn containers() {
    let mut bare = container(32, "7");
    bare.memory_limit_mb = Some(u64::MAX);
    bare.disk_quota_mb = None;
    bare.created = None;
    bare.updated = None;
    bare.in_transfer = None;
    let book = of([Read::Containers(all(vec![container(31, "ENABLED"), bare]))]);
    insta::assert_snapshot!(text(&book, StateSeries::Current));
}

#[test]
fn sites() {
    let mut secure = site(105, 31, "StoppedByQuota");
    secure.certificate_id = Some(9);
    let book = of([
        Read::Containers(all(vec![container(31, "ENABLED")])),
        Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Active"), secure])),
    ]);
    let text = text(&book, StateSeries::Current);
    let sites: String =
        text.lines().filter(|line| line.contains("site")).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(sites);
}

#[test]
fn inventory() {
    let ip = |id, vm| Ip { id: IpId::new(id), address: Some("2001:db8::5".into()), vm };
    let book = of([
        Read::Counted(Collector::Databases, Some(SiteId::new(104)), 3),
        Read::Counted(Collector::CronJobs, Some(SiteId::new(104)), 0),
        Read::Ips(all(vec![ip(5, Some(VmId::new(17))), ip(6, None)])),
        Read::Counted(Collector::SshKeys, None, 0),
    ]);
    insta::assert_snapshot!(text(&book, StateSeries::default()));
}

#[test]
fn billing_of_an_account_that_runs_dry() {
    let book = of([Read::ExpectedBalance(report("25.50", "10.00")), Read::Charges(money("1010.30"))]);
    insta::assert_snapshot!(text(&book, StateSeries::default()));
}

#[test]
fn a_date_that_the_charges_do_not_bear_out_stands_beside_theirs() {
    let mut report = report("25.50", "10.00");
    report.edd = Edd::At(t("2026-03-20T11:00:00"));
    let book = of([Read::ExpectedBalance(report)]);
    let text = text(&book, StateSeries::default());
    assert!(
        text.contains("\nhosting_billing_disconnect_timestamp_seconds{account=\"main\"} 1774004400\n"),
        "{text}"
    );
    assert!(
        text.contains(
            "\nhosting_billing_disconnect_computed_timestamp_seconds{account=\"main\"} 1772622000\n"
        )
    );
}

#[test]
fn billing_that_tells_nothing_is_absent() {
    let mut report = report("25.50", "10.00");
    report.moments = Moments::default();
    report.orders.clear();
    report.expected_balance = None;
    report.date = None;
    let book = of([Read::ExpectedBalance(report.clone())]);
    let text_of = |book: &KnownAccount| text(book, StateSeries::default());
    let text = text_of(&book);
    let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!samples.is_empty() && samples.iter().all(|sample| sample.ends_with(" 0")), "{text}");
    // There are orders, but no order is known.
    (report.moments_rejected, report.whole_until) = (1, Some(read_at()));
    assert_eq!(text_of(&of([Read::ExpectedBalance(report)])), "");
}
