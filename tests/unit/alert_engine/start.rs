//! The first start: one mail of what is wrong already.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::alert::{
    AlertSettings, Engine, Event, Form, Input, Kind, Notice, Phase, Remembered, Rule, Severity, Started,
    Watcher,
};
use crate::model::snapshot::PollEnd;
use crate::model::{
    AccountName, Collector, Failure, FailureKind, KnownAccount, Profile, Read, Rows, Snapshot,
};
use chrono::Duration;

use super::alert_support::*;

#[test]
fn the_first_start_is_one_mail_that_lists_what_is_wrong_and_recovery_is_told() {
    let mut world = World::new(AlertSettings::defaults());
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(cut_off_in(53));
    // A disconnect mail waits for nothing.
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    world.containers(&[(10, "DISABLED_BY_QUOTA")]);
    world.sites(10, &[(100, "StoppedByQuota")]);
    assert!(world.told.is_empty());
    world.end(Collector::Sites, None);
    assert_eq!(world.told.len(), 1);
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    // The site is part of its container's trouble.
    assert_eq!((facts.resources, facts.needs, facts.disconnect), (4, 3, true));
    assert_eq!((facts.severity, facts.overdue), (Some(Severity::Critical), false));
    assert_eq!(world.take_events(), ["main/vm_error/1 started", "main/container_disabled/10 started"]);
    world.pass(Duration::days(3));
    assert!(!world.events().iter().any(|event| event.contains("reminder")), "{:?}", world.events());
    world.told.clear();
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn the_first_start_says_that_an_account_is_overdue_already() {
    let mut world = World::new(AlertSettings::defaults());
    world.report(cut_off_in(-53));
    world.vms(&[(1, "active")]);
    world.containers(&[]);
    world.end(Collector::Sites, None);
    let Some(Form::Started(facts)) = world.told.last().map(|notice| &notice.form) else {
        panic!("{:?}", world.told)
    };
    assert_eq!((facts.severity, facts.overdue), (Some(Severity::Critical), true));
}

#[test]
fn the_first_start_never_says_all_is_well_of_what_it_could_not_read() {
    let mut world = World::new(AlertSettings::defaults());
    world.fail(Collector::Vms, FailureKind::Other);
    world.containers(&[(10, "ENABLED")]);
    world.end(Collector::Sites, None);
    world.report(rich());
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    assert_eq!(facts.unread.len(), 1);
    assert!(facts.unread[0].contains("VMs"), "{:?}", facts.unread);
}

#[test]
fn what_outlives_its_cause_before_the_first_mail_is_in_that_mail() {
    let mut world = World::new(AlertSettings::defaults());
    world.report(report("-3", crate::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.report(rich());
    world.report(rich());
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    world.containers(&[]);
    world.end(Collector::Sites, None);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 started"]);
}

/// An account of VMs and a report: to whom, the VMs' states, and when it is cut off.
struct Account {
    name: &'static str,
    to: &'static [&'static str],
    rule: Option<(Kind, &'static str)>,
    vms: &'static [(u64, &'static str)],
    hours_left: Option<i64>,
}

/// What is told while each account is read once, in order.
fn first_mails(accounts: &[Account]) -> Vec<Notice> {
    let name = |account: &Account| -> AccountName { account.name.parse().unwrap() };
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let mut watchers = BTreeMap::new();
    let mut books = Vec::new();
    for account in accounts {
        let mut settings = AlertSettings::defaults();
        if let Some((kind, to)) = account.rule {
            settings.rules.insert(kind, Rule { to: texts(&[to]), ..Rule::default() });
        }
        watchers.insert(name(account), Watcher { settings: settings.into(), to: texts(account.to) });
        let profile = Profile {
            name: name(account),
            currency: "RUB".into(),
            time_zone: None,
            lead_days: 3,
            vm_memory_unit_bytes: None,
            collectors: [Collector::Vms, Collector::ExpectedBalance].into(),
            stale_after: BTreeMap::new(),
            guide: Default::default(),
        };
        books.push(KnownAccount::new(Arc::new(profile)));
    }
    let mut engine = Engine::new(watchers, Remembered::default(), false, None, start());
    let mut told = Vec::new();
    let mut snapshot = Snapshot::default();
    for (account, book) in accounts.iter().zip(&mut books) {
        let rows = account.vms.iter().map(|&(id, state)| vm(id, state)).collect();
        let report = account.hours_left.map_or_else(rich, cut_off_in);
        let reads = [
            (Collector::ExpectedBalance, Read::ExpectedBalance(report)),
            (Collector::Vms, Read::Vms(Rows { rows, complete: true })),
        ];
        for (collector, read) in reads {
            let observed = book.apply(read, start());
            let end = PollEnd { duration: std::time::Duration::ZERO, failure: None, complete: true };
            book.end(collector, end, start());
            snapshot.accounts.insert(name(account), book.publish());
            let input = Input::Poll { account: name(account), observed, ended: Some(collector) };
            let outcome = engine.step(&input, &snapshot, start());
            told.extend(outcome.notices.iter().cloned());
            engine.commit(outcome, Vec::new());
        }
    }
    told
}

/// To whom, of which accounts, which incidents, what else.
type FirstMail = (Vec<String>, Vec<String>, Vec<String>, Started);

fn started(told: &[Notice]) -> Vec<FirstMail> {
    let facts = |notice: &Notice| match &notice.form {
        Form::Started(facts) => Some(facts.clone()),
        Form::Opened
        | Form::Closed
        | Form::Disconnect
        | Form::Reminder
        | Form::Covered
        | Form::Unwatched
        | Form::Overflow(_)
        | Form::Digest(_) => None,
    };
    let mails = told.iter().filter_map(|notice| facts(notice).map(|facts| (notice, facts)));
    let all = mails.map(|(notice, facts)| {
        let accounts = notice.accounts.iter().map(ToString::to_string).collect();
        (notice.to.clone(), accounts, notice.items.iter().map(|item| item.key.to_string()).collect(), facts)
    });
    all.collect()
}

fn mail(to: &[&str], accounts: &[&str], items: &[&str], resources: usize, needs: usize) -> FirstMail {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    (texts(to), texts(accounts), texts(items), Started { resources, needs, ..Started::default() })
}

#[test]
fn each_recipient_gets_one_first_mail_of_his_accounts() {
    let one = Account {
        name: "one",
        to: &["ann", "bob"],
        rule: None,
        vms: &[(1, "error"), (2, "active")],
        hours_left: None,
    };
    let two = Account { name: "two", to: &["bob"], vms: &[(3, "blocked")], ..one };
    let three = Account { name: "three", to: &["eve", "kim"], vms: &[(4, "active")], ..one };
    let want = [
        mail(&["ann"], &["one"], &["one/vm_error/1"], 2, 1),
        mail(&["bob"], &["one", "two"], &["one/vm_error/1", "two/vm_blocked/3"], 3, 2),
        mail(&["eve", "kim"], &["three"], &[], 1, 0),
    ];
    let told = first_mails(&[one, two, three]);
    assert_eq!(started(&told), want);
    assert_eq!(told.len(), want.len(), "nothing before every account was tried, and nothing besides");
    for item in told.iter().flat_map(|notice| &notice.items) {
        assert_eq!(item.event, Event::Started);
    }
}

#[test]
fn whom_only_a_rule_names_gets_a_first_mail_of_what_is_his() {
    let account = Account {
        name: "one",
        to: &["ann"],
        rule: Some((Kind::VmError, "dba")),
        vms: &[(1, "error"), (2, "blocked")],
        hours_left: Some(53),
    };
    let told = first_mails(&[account]);
    let mut anns = mail(&["ann"], &["one"], &["one/vm_blocked/2"], 2, 2);
    (anns.3.disconnect, anns.3.severity) = (true, Some(Severity::Critical));
    let dbas = mail(&["dba"], &["one"], &["one/vm_error/1"], 2, 1);
    assert_eq!(started(&told), [anns, dbas]);
    // The disconnect went to Ann alone, before.
    assert_eq!((&told[0].form, &told[0].to), (&Form::Disconnect, &vec!["ann".to_owned()]));
}

#[test]
fn what_is_wrong_at_the_first_start_opens_before_it_is_told() {
    let mut world = World::new(AlertSettings::defaults());
    world.vms(&[(1, "error"), (2, "active")]);
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!((incident.phase, incident.announced), (Phase::Firing, false));
    assert_eq!(incident.reason.to_string(), "will be in the first-start mail");
    assert!(!world.engine.is_started());
    world.containers(&[]);
    world.end(Collector::Sites, None);
    let failure = Failure::new(FailureKind::Other, "it\ndid not work");
    world.end(Collector::ExpectedBalance, Some(failure));
    assert!(world.engine.is_started());
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!((incident.announced, incident.pre_existing), (true, true));
    assert_eq!(incident.last_mailed, Some(world.now));
    assert_eq!(incident.reason.to_string(), "already so at the first start");
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    assert_eq!(facts.unread, ["main: cannot read the balance: it did not work"]);
}
