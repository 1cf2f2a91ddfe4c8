//! An account with a row of everything, for tests of metrics and pages.
#![allow(dead_code, clippy::unwrap_used, reason = "support of tests, each of which uses a part of it")]

use crate::model::Sort;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::alert::{Decided, Detail, Key, Kind, Phase, Severity, Subject, Wrong};
use crate::model::*;
use crate::view::IncidentRow;
use crate::view::forms::{Clause, Tense};
use chrono::{DateTime, Utc};

pub fn t(text: &str) -> DateTime<Utc> {
    crate::model::time::Stamp::read(text).unwrap().at(Some(chrono_tz::UTC)).unwrap()
}

/// The time at which everything was read.
pub fn read_at() -> DateTime<Utc> {
    t("2026-03-01T12:00:00")
}

pub fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// The collectors of these accounts, each of which has a line on every page.
pub const ON: [Collector; 9] = [
    Collector::Vms,
    Collector::Containers,
    Collector::Sites,
    Collector::ExpectedBalance,
    Collector::Charges,
    Collector::Databases,
    Collector::CronJobs,
    Collector::Ips,
    Collector::SshKeys,
];

pub fn profile(name: &str) -> Profile {
    Profile {
        name: name.parse().unwrap(),
        currency: "RUB".into(),
        time_zone: Some(chrono_tz::Europe::Moscow),
        lead_days: 3,
        tightest_rung: 1,
        vm_memory_unit_bytes: Some(1_048_576),
        collectors: ON.into(),
        stale_after: Collector::ALL.into_iter().map(|one| (one, Duration::from_secs(900))).collect(),
        guide: Default::default(),
        language: Default::default(),
    }
}

pub fn book(profile: Profile) -> KnownAccount {
    KnownAccount::new(Arc::new(profile))
}

pub fn all<T>(rows: Vec<T>) -> Rows<T> {
    Rows::new(rows, true)
}

pub fn vm(id: u64, state: &str, name: &str) -> Vm {
    let ip = VmIp { address: Some("192.0.2.5".into()) };
    Vm {
        id: VmId::new(id),
        state: VmState::from(state),
        vm_id: Some(format!("cvds-{id}").into()),
        name: Some(name.into()),
        tariff: Some("std-1".into()),
        ncpu: Some(2),
        memsize: Some(4096),
        monitoring_enabled: Some(true),
        ips: Some([ip].into()),
        disks: Some(1),
    }
}

/// A VM that has only the fields that a record must have.
pub fn bare_vm(id: u64, state: &str) -> Vm {
    Vm {
        vm_id: None,
        name: None,
        tariff: None,
        ncpu: None,
        memsize: None,
        monitoring_enabled: None,
        ips: None,
        disks: None,
        ..vm(id, state, "")
    }
}

pub fn container(id: u64, state: &str) -> Container {
    Container {
        id: ContainerId::new(id),
        state: ContainerState::from(state),
        login: Some("user31".into()),
        name: Some("shop".into()),
        server: Some("node7.example.net".into()),
        memory_limit_mb: Some(512),
        disk_quota_mb: Some(10_240),
        created: Some(t("2025-01-01T00:00:00")),
        updated: Some(t("2026-02-01T00:00:00")),
        in_transfer: Some(false),
    }
}

pub fn site(id: u64, container: u64, state: &str) -> Site {
    Site {
        id: SiteId::new(id),
        state: SiteState::from(state),
        container: ContainerId::new(container),
        name: Some(format!("site{id}.example.com").into()),
        main_alias: None,
        engine: Some("php".into()),
        engine_version: Some("8.3".into()),
        workers: Some(4),
        force_https: Some(true),
        certificate_id: Some(0),
        created: Some(t("2025-01-01T00:00:00")),
        updated: Some(t("2026-02-01T00:00:00")),
    }
}

/// One charge a day at 11:00 from 2 March on, of two orders in turn, for 90 days.
pub fn report(balance: &str, per_day: &str) -> Report {
    let order = |id, state: &str| {
        Arc::new(Order {
            id: OrderId::new(id),
            state: OrderState::from(state),
            comment: Some(format!("order {id}").into()),
            tariff: Some(Arc::new(Tariff {
                generic_type: Some("hosting".into()),
                name: Some("Standard".into()),
                short_name: None,
            })),
        })
    };
    let date = Some(t("2026-05-31T00:00:00"));
    let orders = vec![order(71, "ORDERED"), order(72, "AWAITING")];
    Report { date, orders, ..forecast::tests::report(balance, per_day, 90, Edd::Null) }
}

/// An account of which everything was read at [`read_at`].
pub fn full(name: &str) -> KnownAccount {
    let mut book = book(profile(name));
    fill(&mut book, read_at());
    book
}

pub fn fill(book: &mut KnownAccount, at: DateTime<Utc>) {
    let ip = |id, vm| Ip { id: IpId::new(id), address: Some("192.0.2.9".into()), vm };
    let reads = [
        Read::Vms(all(vec![vm(17, "active", "web-1"), vm(18, "active", "web-2")])),
        Read::Containers(all(vec![container(31, "ENABLED")])),
        Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Active"), site(105, 31, "Stopped")])),
        Read::Counted(Collector::Databases, Some(SiteId::new(104)), 3),
        Read::Counted(Collector::CronJobs, Some(SiteId::new(104)), 0),
        Read::Ips(all(vec![ip(5, Some(VmId::new(17))), ip(6, None)])),
        Read::Counted(Collector::SshKeys, None, 1),
        Read::ExpectedBalance(report("5000.50", "10.25")),
        Read::Charges(money("10.10")),
    ];
    for read in reads {
        book.apply(read, at);
    }
    for collector in ON {
        book.end(collector, ended(None), at);
    }
}

pub fn ended(failure: Option<&str>) -> PollEnd {
    let failure = failure.map(|text| Failure::new(FailureKind::Other, text));
    PollEnd { duration: Duration::from_millis(1250), failure, complete: true, problem: None }
}

pub fn snapshot<'a>(books: impl IntoIterator<Item = &'a KnownAccount>) -> Snapshot {
    let accounts = books.into_iter().map(|book| (book.state().profile.name.clone(), book.publish()));
    Snapshot { accounts: accounts.collect::<BTreeMap<_, _>>() }
}

/// The decision of somebody who took an incident on.
pub fn acknowledged() -> Decided {
    let (at, note) = (Some(read_at()), Some("Ann is on it".into()));
    Decided { acknowledged: true, acknowledged_at: at, note, silenced_until: None }
}

/// An incident of resource 17, seen for five minutes, as it is shown.
pub fn incident_row(account: &str, kind: Kind, severity: Severity, phase: Phase) -> IncidentRow {
    let account: AccountName = account.parse().unwrap();
    IncidentRow {
        key: Key::new(&account, kind, 17),
        title: format!("{kind} of {account}"),
        account,
        kind,
        severity,
        phase,
        resource_name: "web-1".into(),
        since: read_at() - chrono::Duration::minutes(5),
        last_change: read_at(),
        resolved_at: (phase == Phase::Resolved).then(read_at),
        reason: "the VM's state is error".into(),
        decided: Decided::default(),
        caused_by: None,
        subject: Subject::Resource { sort: kind.sort().unwrap_or(Sort::Vm), name: "web-1".into() },
        clause: Clause::new(Wrong::of(kind), Tense::Is),
        detail: Detail::default(),
        why: None,
        cut_off: None,
        deleted_at: None,
    }
}
