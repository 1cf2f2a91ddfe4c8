//! Several accounts, and hundreds of them, of the same and of different recipients.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::{Daemon, Fate, Mail, Received, bill, cut_off_in, moment, rich, start, vm};
use crate::alert::{AlertSettings, Event, Kind, Rule, Watcher};
use crate::model::snapshot::PollEnd;
use crate::model::{AccountName, Collector, Edd, KnownAccount, Profile, Read, Report, Rows, Snapshot};

/// Accounts with VMs and a report each. The server accepts every mail.
struct Many {
    system: Daemon,
    books: BTreeMap<AccountName, KnownAccount>,
    snapshot: Snapshot,
    now: DateTime<Utc>,
    received: Vec<Received>,
}

impl Many {
    fn new(watchers: BTreeMap<AccountName, Watcher>) -> Self {
        let book = |name: &AccountName| {
            let collectors = [Collector::Vms, Collector::ExpectedBalance].into();
            let usual = crate::unit::account::profile(name.as_str());
            KnownAccount::new(Profile { collectors, time_zone: Some(chrono_tz::UTC), ..usual }.into())
        };
        let books: BTreeMap<_, _> = watchers.keys().map(|name| (name.clone(), book(name))).collect();
        let accounts = books.iter().map(|(name, book)| (name.clone(), book.publish())).collect();
        let (system, snapshot) = (Daemon::start(watchers, start()), Snapshot { accounts });
        Self { system, books, snapshot, now: start(), received: Vec::new() }
    }

    fn vms(&mut self, account: &AccountName, rows: &[(u64, &str)]) {
        let rows = rows.iter().map(|&(id, state)| vm(id, state)).collect();
        self.read(account, Collector::Vms, Read::Vms(Rows::new(rows, true)));
    }

    fn report(&mut self, account: &AccountName, report: Report) {
        self.read(account, Collector::ExpectedBalance, Read::ExpectedBalance(report));
    }

    fn read(&mut self, account: &AccountName, collector: Collector, read: Read) {
        let book = self.books.get_mut(account).unwrap();
        let observed = book.apply(read, self.now);
        let end =
            PollEnd { duration: std::time::Duration::ZERO, failure: None, complete: true, problem: None };
        book.end(collector, end, self.now);
        self.snapshot.accounts.insert(account.clone(), book.publish());
        self.system.poll(account, &observed, Some(collector), &self.snapshot, self.now);
        self.deliver();
    }

    /// Lets time pass minute by minute until this time.
    fn pass_until(&mut self, at: DateTime<Utc>) {
        while self.now < at {
            self.now += Duration::minutes(1);
            self.system.tick(&self.snapshot, self.now);
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        let Self { system, snapshot, received, now, .. } = self;
        let mut accept = |mail: &Mail| {
            received.push(Received { at: *now, mail: mail.clone() });
            Fate::Accept
        };
        system.deliver(snapshot, &mut accept, *now);
    }
}

/// Of each first mail: recipient, incidents, number of resources, number of cut-offs.
fn started(many: &Many) -> Vec<(&str, Vec<String>, usize, usize)> {
    let mut all = Vec::new();
    for mail in many.received.iter().map(|received| &received.mail) {
        let Some(numbers) = &mail.started else { continue };
        assert!(mail.items.iter().all(|told| told.event == Event::Started));
        let keys = mail.items.iter().map(|told| told.key.to_string()).collect();
        all.push((mail.to.as_str(), keys, numbers.resources, numbers.cut_offs));
    }
    all.sort();
    all
}

fn watcher(to: &[&str], settings: AlertSettings) -> Watcher {
    Watcher { settings: settings.into(), to: to.iter().map(|&to| to.to_owned()).collect() }
}

#[test]
fn each_recipient_gets_one_first_mail_of_his_accounts() {
    type Row = (AccountName, &'static [&'static str], &'static [(u64, &'static str)]);
    let accounts: [Row; 3] = [
        ("one".parse().unwrap(), &["ann", "bob"], &[(1, "error"), (2, "active")]),
        ("two".parse().unwrap(), &["bob"], &[(3, "blocked")]),
        ("three".parse().unwrap(), &["eve", "kim"], &[(4, "active")]),
    ];
    let watchers =
        accounts.iter().map(|(name, to, _)| (name.clone(), watcher(to, AlertSettings::defaults())));
    let mut many = Many::new(watchers.collect());
    for (name, _, vms) in &accounts {
        assert!(many.received.is_empty(), "nothing before every account was tried");
        many.report(name, rich());
        many.vms(name, vms);
    }
    let [first, second] = ["one/vm_error/1", "two/vm_blocked/3"].map(str::to_owned);
    let want = [
        ("ann", vec![first.clone()], 2, 0),
        ("bob", vec![first, second], 3, 0),
        ("eve", vec![], 1, 0),
        ("kim", vec![], 1, 0),
    ];
    assert_eq!(started(&many), want);
    assert_eq!(many.received.len(), want.len(), "nothing besides");
}

#[test]
fn a_recipient_whom_only_a_rule_names_gets_a_first_mail_of_that_rules_incidents() {
    let name: AccountName = "one".parse().unwrap();
    let mut settings = AlertSettings::defaults();
    settings.rules.insert(Kind::VmError, Rule { to: vec!["dba".into()], ..Rule::default() });
    let mut many = Many::new([(name.clone(), watcher(&["ann"], settings))].into());
    many.report(&name, cut_off_in(53));
    many.vms(&name, &[(1, "error"), (2, "blocked")]);
    let [blocked, error] = ["one/vm_blocked/2", "one/vm_error/1"].map(str::to_owned);
    assert_eq!(started(&many), [("ann", vec![blocked], 2, 1), ("dba", vec![error], 2, 0)]);
    let mails: Vec<&Mail> = many.received.iter().map(|received| &received.mail).collect();
    // The disconnect mail went to Ann only, and before.
    assert_eq!((mails[0].form, mails[0].to.as_str()), ("disconnect", "ann"));
}

const COUNT: usize = 300;

fn name(number: usize) -> AccountName {
    format!("shop-{number:03}").parse().unwrap()
}

/// Accounts of one recipient after their first mail; the ladder has the last safe day as its first rung.
fn shops() -> Many {
    let settings = AlertSettings { disconnect_days: vec![4, 3, 1], ..AlertSettings::defaults() };
    let watcher = watcher(&["ops"], settings);
    let mut many = Many::new((0..COUNT).map(|number| (name(number), watcher.clone())).collect());
    for number in 0..COUNT {
        many.vms(&name(number), &[(1, "active")]);
        many.report(&name(number), rich());
    }
    let forms: Vec<&str> = many.received.iter().map(|received| received.mail.form).collect();
    assert_eq!(forms, ["started"]);
    many.received.clear();
    many.now += Duration::minutes(5);
    many
}

/// A report that names a cut-off, which fits its charges within a day.
fn cut_off_at(at: DateTime<Utc>, now: DateTime<Utc>) -> Report {
    bill(now, now, 1000 * (at - now).num_days() + 550, Edd::At(at))
}

/// The accounts, with their events, in all mails.
fn told(received: &[Received]) -> BTreeSet<(String, String)> {
    let items = received.iter().flat_map(|received| &received.mail.items);
    items.map(|item| (item.key.account.to_string(), item.event.to_string())).collect()
}

#[test]
fn three_hundred_accounts_that_are_near_at_one_midnight_are_as_many_mails() {
    let mut many = shops();
    for number in 0..COUNT {
        let earlier = Duration::minutes(i64::try_from(number).unwrap());
        many.report(&name(number), cut_off_at(moment("2026-03-10T15:00:00Z") - earlier, many.now));
    }
    let midnight = moment("2026-03-06T00:00:00Z");
    many.now = midnight - Duration::minutes(3);
    many.pass_until(midnight - Duration::minutes(1));
    // Their balances drop, and mails tell that.
    assert!(many.received.iter().all(|one| one.mail.form != "disconnect"));
    many.received.clear();
    many.pass_until(midnight + Duration::minutes(2));
    let all = told(&many.received);
    assert!(all.iter().all(|(_, event)| event == "rung:4"), "{all:?}");
    assert_eq!(all.len(), COUNT, "no limit holds mails about money");
    let is_alone = |one: &Received| one.mail.items.len() == 1 && one.mail.form == "disconnect";
    assert!(many.received.iter().all(is_alone));
    many.pass_until(midnight + Duration::hours(3));
    let items: usize = many.received.iter().map(|one| one.mail.items.len()).sum();
    assert_eq!(items, COUNT, "none is told twice");
}
