//! Mails about money through stops, kills, sleeps and escalations. The real binary with clocks that move, and an
//! account whose reports the test writes.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::common::clock::Clock;
use crate::common::hook::{Answer, Hook};
use crate::common::smtp::SmtpServer;
use crate::common::*;

/// A provider that answers everything with one report.
pub(crate) struct Billing(Hook);

impl Billing {
    /// Reports this from now on, or nothing that can be read.
    fn reports(&self, report: Option<&Value>) {
        let json = |report: &Value| Answer::Json(report.to_string().into());
        self.0.answers(report.map_or(Answer::Status(400), json));
    }

    /// The same, and waits until the daemon has read it.
    pub(crate) fn says(&self, report: impl Into<Option<Value>>) {
        self.reports(report.into().as_ref());
        self.polled();
    }

    fn polled(&self) {
        let enough = self.0.posts().len() + 4;
        until("polls", || self.0.posts().len() >= enough);
    }
}

/// One account, its clock, its reports and its mails.
pub(crate) struct World {
    pub(crate) billing: Billing,
    pub(crate) smtp: SmtpServer,
    clock: Clock,
    pub(crate) daemon: Daemon,
    pub(crate) start: DateTime<Utc>,
    _provider: Provider,
}

impl World {
    /// With a first report.
    pub(crate) fn new(extra: &str, first: impl Fn(DateTime<Utc>) -> Value) -> Self {
        let (provider, billing, smtp) =
            (Provider::start(SCENARIO), Billing(Hook::start()), SmtpServer::plain());
        let clock = Clock::new();
        let start = clock.now();
        billing.reports(Some(&first(start)));
        let mut daemon = Daemon::prepare(&provider, smtp.address, extra);
        daemon.configure("vm_api_key = \"vm-api-key\"\n", "");
        daemon.configure("hosting_token = \"hosting-token\"\n", "");
        daemon.configure(
            &format!("panel_url = \"http://{}\"", provider.address),
            &format!("panel_url = \"http://{}\"", billing.0.address),
        );
        daemon.environment.extend(clock.environment());
        daemon.run();
        wait_for(&smtp, STARTED);
        daemon.owes_nothing();
        Self { billing, smtp, clock, daemon, start, _provider: provider }
    }

    /// Reports this from now on.
    pub(crate) fn says(&self, report: Value) {
        self.billing.says(report);
    }

    /// The events of a kind, in the order of arrival.
    fn told(&self, kind: &str) -> Vec<String> {
        let pairs = received(&self.smtp).into_iter().flat_map(|mail| mail.pairs);
        let prefix = format!("main/{kind}/account ");
        pairs.filter_map(|pair| Some(pair.strip_prefix(&prefix)?.to_owned())).collect()
    }

    /// Waits for the mail of the next event, after the number before.
    pub(crate) fn next(&self, before: usize, event: &str) -> Received {
        until(&format!("event {before}, {event}"), || self.told("disconnect").len() > before);
        let told = self.told("disconnect");
        assert!(told[before].starts_with(event), "{event} is due: {told:?}");
        let of_it = |mail: &Received| mail.pairs[0].starts_with("main/disconnect/account ");
        received(&self.smtp).into_iter().filter(of_it).nth(before).unwrap()
    }

    fn nothing_after(&self, before: usize) {
        self.billing.polled();
        let told = self.told("disconnect");
        assert_eq!(told.len(), before, "{told:?}");
    }
}

/// Ten a day from tomorrow on, or from the given moment, with this balance now.
pub(crate) fn report(start: DateTime<Utc>, balance: i64, edd: Option<DateTime<Utc>>) -> Value {
    let order = json!({"id": 1, "comment": "shop", "state": "ORDERED"});
    let mut left = balance;
    let charge = |day: i64| {
        left -= 10;
        let moment = moment(start + Duration::days(day));
        json!({"amount": "10.00", "balance": left.to_string(), "moment": moment, "positive": left > 0, "order": order})
    };
    let charges: Vec<Value> = (1..=100).map(charge).collect();
    json!({
        "date": moment(start + Duration::days(101)), "edd": edd.map(moment), "error": null,
        "expected_balance": left.to_string(), "charge_moments": charges,
    })
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[test]
fn a_drop_while_nobody_watched_is_told() {
    let mut world = World::new("", |start| report(start, 2000, None));
    world.billing.polled();
    world.daemon.stop();
    world.clock.pass(Duration::hours(30));
    world.billing.reports(Some(&report(world.start, 1200, None)));
    world.daemon.configure("currency = \"RUB\"\n", "");
    world.daemon.run();
    until("the drop", || world.told("balance_drop") == ["opened"]);
    let mails = received(&world.smtp);
    let drop = mails.iter().find(|mail| mail.subject.contains("dropped")).unwrap();
    assert!(drop.subject.starts_with("[WARNING] Balance dropped 8"), "{}", drop.subject);
    assert!(!format!("{}{}", drop.subject, drop.text).contains("(no name)"), "{}", drop.text);
    for line in ["incident opened", "incident resolved"] {
        world.daemon.log.wait(&format!("message=\"{line}\" incident=main/balance_drop/account"));
    }
    assert_eq!(world.daemon.log.count("a payment was seen"), 0);
    world.says(report(world.start, 3000, None));
    world.daemon.log.wait("message=\"a payment was seen\" account=main balance=");
}

#[test]
fn a_sleep_before_a_decision_is_noticed() {
    let extra = "[metrics]\nstale_after = \"30d\"\n";
    let mut world = World::new(extra, |start| report(start, 5, Some(start + Duration::hours(20))));
    world.next(0, "rung:1");
    world.daemon.stop();
    world.daemon.arm("none");
    world.daemon.run();
    world.nothing_after(1);
    // It falls asleep with an unprocessed good report, and wakes while the provider is down.
    world.daemon.arm("reading-applied");
    world.daemon.has_reached("reading-applied");
    world.billing.reports(None);
    world.clock.pass(Duration::hours(21));
    world.daemon.arm("none");
    let mail = world.next(1, "rung:0");
    assert!(mail.text.contains("as of "), "{}", mail.text);
}

/// The row for 7 days in the mail's table of amounts.
fn for_7_days(mail: &Received) -> &str {
    mail.text.lines().find(|line| line.contains("  7 days ")).unwrap()
}

#[test]
fn amounts_outlive_a_restart() {
    let extra = "[metrics]\nstale_after = \"30d\"\n";
    let mut world = World::new(extra, |start| report(start, 85, Some(start + Duration::days(9))));
    world.next(0, "rung:14");
    world.billing.says(None);
    world.daemon.owes_nothing();
    world.daemon.kill();
    world.clock.pass(Duration::days(2) + Duration::hours(1));
    world.daemon.run();
    let mail = world.next(1, "rung:7");
    assert!(for_7_days(&mail).contains("6\u{a0}RUB"), "{}", mail.text);
    assert!(mail.text.contains("as of "), "{}", mail.text);
    let (_, page) = world.daemon.request("GET", "/");
    assert!(page.contains("236"), "{page}");
}
