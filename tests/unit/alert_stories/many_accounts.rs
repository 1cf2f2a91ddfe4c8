//! Several accounts, and hundreds of them, of the same and of different recipients.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Daemon, Fate, Mail, Received, cut_off_in, rich, start, vm};
use crate::alert::{AlertSettings, Event, Kind, Rule, Watcher};
use crate::model::snapshot::PollEnd;
use crate::model::{AccountName, Collector, KnownAccount, Profile, Read, Report, Rows, Snapshot};

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
