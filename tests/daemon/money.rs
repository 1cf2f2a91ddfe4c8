//! What is mailed of money: payments, the second cut-off, what follows a cut-off, and how much to pay at the moment of
//! each mail. The real binary by clocks that move, and an account whose reports the test writes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Duration, Timelike, Utc};
use serde_json::{Value, json};

use crate::common::clock::Clock;
use crate::common::smtp::SmtpServer;
use crate::common::*;

/// A provider that answers everything with one report.
pub(crate) struct Billing {
    address: std::net::SocketAddr,
    report: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Billing {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (report, asked) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
        let (shown, count) = (Arc::clone(&report), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let _ = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).count();
                let body: Option<Value> = shown.lock().unwrap().clone();
                let status = if body.is_some() { "200 OK" } else { "400 Bad Request" };
                let body = body.unwrap_or_default().to_string();
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes());
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { address, report, asked }
    }

    /// From now on; waits until the daemon has read it.
    pub(crate) fn says(&self, report: impl Into<Option<Value>>) {
        *self.report.lock().unwrap() = report.into();
        self.polled();
    }

    fn polled(&self) {
        let enough = self.asked.load(Ordering::Relaxed) + 3;
        until("polls", || self.asked.load(Ordering::Relaxed) >= enough);
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
        let (provider, billing, smtp) = (Provider::start(SCENARIO), Billing::start(), SmtpServer::plain());
        let clock = Clock::new();
        let start = clock.now();
        *billing.report.lock().unwrap() = Some(first(start));
        let mut daemon = Daemon::prepare(&provider, smtp.address, extra);
        daemon.configure("vm_api_key = \"vm-api-key\"\n", "");
        daemon.configure("hosting_token = \"hosting-token\"\n", "");
        daemon.configure(
            &format!("panel_url = \"http://{}\"", provider.address),
            &format!("panel_url = \"http://{}\"", billing.address),
        );
        daemon.environment.extend(clock.environment());
        daemon.run();
        Self { billing, smtp, clock, daemon, start, _provider: provider }
    }

    /// What every report says from now on.
    pub(crate) fn says(&self, report: Value) {
        self.billing.says(report);
    }

    /// The events of a kind, in the order of arrival.
    fn told(&self, kind: &str) -> Vec<String> {
        let pairs = received(&self.smtp).into_iter().flat_map(|mail| mail.pairs);
        let prefix = format!("main/{kind}/account ");
        pairs.filter_map(|pair| Some(pair.strip_prefix(&prefix)?.to_owned())).collect()
    }

    /// Waits for the next event after so many: its mail.
    pub(crate) fn next(&self, before: usize, event: &str) -> Received {
        until(&format!("event {before}, {event}"), || self.told("disconnect").len() > before);
        let told = self.told("disconnect");
        assert!(told[before].starts_with(event), "{event} is due: {told:?}");
        let of_it = |mail: &Received| mail.pairs[0].starts_with("main/disconnect/account ");
        received(&self.smtp).into_iter().filter(of_it).nth(before).unwrap()
    }

    /// Moves the clock to a moment, and lets the reports of then come.
    pub(crate) fn go(&mut self, at: DateTime<Utc>) {
        // A conversation under way would time out.
        self.daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 0");
        self.daemon.shows("hostwatch_outbox_messages{state=\"sending\"} 0");
        self.clock.pass(at - self.clock.now());
        self.billing.polled();
    }

    fn nothing_after(&self, before: usize) {
        self.billing.polled();
        let told = self.told("disconnect");
        assert_eq!(told.len(), before, "{told:?}");
    }
}

/// Ten a day from tomorrow on, or from the moment that is named, with that much now.
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

/// The same without a single charge.
fn bare(start: DateTime<Utc>, balance: i64) -> Value {
    let mut report = report(start, balance, None);
    report["charge_moments"] = json!([]);
    report["expected_balance"] = json!(balance.to_string());
    report
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `Tue 24 Nov`, of a subject.
fn day(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let this_year = at.format("%Y").to_string() == now.format("%Y").to_string();
    at.format(if this_year { "%a %-d %b" } else { "%a %-d %b %Y" }).to_string()
}

#[test]
fn paid_in_part_and_cut_off_again() {
    let cut_off = |start: DateTime<Utc>| start + Duration::hours(20);
    let mut world = World::new("", |start| report(start, 5, Some(cut_off(start))));
    world.next(0, "rung:1");
    let first = cut_off(world.start);
    world.go(first + Duration::hours(1));
    world.next(1, "rung:0");
    let mut before = 2;
    for (hours, balance) in [(30, 6), (60, 7)] {
        let again = first + Duration::hours(hours);
        world.billing.says(report(world.start, balance, Some(again)));
        let paid = world.next(before, &format!("paid:{}", again.date_naive()));
        let subject = format!("[CRITICAL] Cut-off now {}, was ", day(again, world.clock.now()));
        assert!(
            paid.subject.starts_with(&subject) && paid.subject.ends_with(" RUB now (main)"),
            "{}",
            paid.subject
        );
        // A restart forgets nothing.
        world.daemon.stop();
        world.daemon.run();
        world.go(again + Duration::minutes(5));
        world.next(before + 1, "rung:0");
        before += 2;
    }
    world.billing.says(report(world.start, 5000, None));
    world.next(before, "resolved");
    world.nothing_after(before + 1);
}

#[test]
fn a_used_up_balance_is_news_of_its_own_and_the_rungs_belong_to_the_date() {
    let mut world = World::new("", |start| report(start, 900, None));
    let cut_off = world.start + Duration::hours(13 * 24 + 12);
    world.billing.says(report(world.start, -5, Some(cut_off)));
    let used_up = world.next(0, "balance-used-up");
    let subject = format!("[CRITICAL] Balance used up, cut-off {}: pay ", day(cut_off, world.clock.now()));
    assert!(used_up.subject.starts_with(&subject), "{}", used_up.subject);
    world.next(1, "rung:14");
    for (before, days) in [(2, 7), (3, 3), (4, 1), (5, 0)] {
        world.go(cut_off - Duration::days(days) + Duration::minutes(5));
        world.next(before, &format!("rung:{days}"));
    }
}

#[test]
fn a_balance_that_dropped_while_nobody_watched_is_told() {
    let mut world = World::new("", |start| report(start, 2000, None));
    world.billing.polled();
    world.daemon.stop();
    world.clock.pass(Duration::hours(30));
    *world.billing.report.lock().unwrap() = Some(report(world.start, 1200, None));
    world.daemon.run();
    until("the drop", || world.told("balance_drop") == ["opened"]);
    let mails = received(&world.smtp);
    let drop = mails.iter().find(|mail| mail.subject.contains("dropped")).unwrap();
    assert!(drop.subject.starts_with("[WARNING] Balance dropped 7"), "{}", drop.subject);
}

#[test]
fn a_later_last_safe_day_is_told_past_its_rung() {
    let extra = "[billing]\nlead_days = 1\n";
    let world = World::new(extra, |start| report(start, 60, Some(start + Duration::hours(5 * 24 + 12))));
    assert!(world.next(0, "rung:7").subject.starts_with("[WARNING]"));
    world.daemon.configure("lead_days = 1", "lead_days = 6");
    assert_eq!(world.daemon.request("POST", "/-/reload").0, 200);
    assert!(world.next(1, "rung:7").subject.starts_with("[CRITICAL]"));
    world.nothing_after(2);
}

#[test]
fn jumps_count_from_where_the_date_stood_and_dates_that_alternate_are_told_once() {
    let at = |days: i64| move |start: DateTime<Utc>| start + Duration::hours(days * 24 + 10);
    let mut world = World::new("", |start| report(start, 100, Some(at(13)(start))));
    world.next(0, "rung:14");
    // Small payments, each a day's cost.
    for payment in 1..4 {
        world.go(world.start + Duration::days(payment));
        world.billing.says(report(world.start, 100 + payment, Some(at(13 + payment)(world.start))));
        world.next(payment as usize, "paid:");
    }
    let fell = at(12)(world.start);
    world.billing.says(report(world.start, 60, Some(fell)));
    world.next(4, &format!("extended:{}", fell.date_naive()));
    for _ in 0..6 {
        for days in [30, 12] {
            world.billing.says(report(world.start, 60, Some(at(days)(world.start))));
            world.clock.pass(Duration::minutes(4));
        }
    }
    world.nothing_after(5);
}

#[test]
fn what_proves_nothing_closes_nothing() {
    let mut world = World::new("", |start| report(start, 15, Some(start + Duration::hours(40))));
    world.next(0, "rung:3");
    world.billing.says(bare(world.start, 500));
    world.go(world.start + Duration::hours(12));
    world.nothing_after(1);
    // What stands for no date is neither a date long past, nor one far off, nor good news.
    for no_date in ["0001-01-01T00:00:00", "9999-12-31T23:59:59"] {
        let mut none = report(world.start, 5000, None);
        none["edd"] = json!(no_date);
        world.billing.says(none);
        world.nothing_after(1);
    }
    assert!(world.daemon.page().contains("kind=\"disconnect\""), "it is open");
    // The date known before stands.
    world.billing.says(bare(world.start, 500));
    world.go(world.start + Duration::hours(17));
    let mail = world.next(1, "rung:1").text;
    assert!(mail.contains("no newer report confirms it") && !mail.contains("could be read"), "{mail}");
    let (_, text, _) = world.daemon.command(&["forecast"]);
    assert!(
        text.contains("not known: a report without a single charge") && text.contains("Balance then"),
        "{text}"
    );
    // After a day of nothing else it is good news, a restart in between or not, as far as the last report reaches.
    let mut last = bare(world.start, 500);
    let end = world.start + Duration::days(110);
    last["date"] = json!(moment(end));
    world.billing.says(last);
    world.daemon.stop();
    world.daemon.run();
    world.go(world.start + Duration::hours(37));
    let resolved = world.next(2, "resolved").subject;
    let end = day(end, world.clock.now());
    let end = end.split_once(' ').unwrap().1;
    assert!(resolved.contains(&format!("No cut-off before {end} ")), "{resolved}");
}

#[test]
fn a_cut_off_account_is_mailed_again_until_its_data_are_deleted() {
    // An hour later it is still the same day.
    let cut_off = |start: DateTime<Utc>| {
        let at = start + Duration::hours(5);
        if at.hour() == 23 { at + Duration::hours(2) } else { at }
    };
    let extra = "[billing]\ndeletion_days = 8\n";
    let mut world = World::new(extra, |start| report(start, 5, Some(cut_off(start))));
    let at = cut_off(world.start) + Duration::hours(1);
    let deleted = (cut_off(world.start) + Duration::days(8)).format(" deleted %a %-d %b").to_string();
    world.next(0, "rung:1");
    world.go(at);
    assert!(world.next(1, "rung:0").text.contains(&deleted));
    let mut before = 2;
    // Nobody can read anything more.
    world.billing.says(None);
    for (days, event) in
        [(1, "deletion:7"), (2, "overdue:"), (3, "overdue:"), (4, "overdue:"), (5, "deletion:3")]
    {
        world.go(at + Duration::days(days));
        let mail = world.next(before, event);
        assert!(mail.text.contains(&deleted) && mail.subject.starts_with("[CRITICAL] "), "{}", mail.text);
        world.nothing_after(before + 1);
        before += 1;
    }
    // An ack stops reminders, and no news of the deletion.
    assert_eq!(world.daemon.command(&["ack", "main/disconnect/account"]).0, 0);
    until("the ack", || world.daemon.request("GET", "/api/v1/status").1.contains("\"acknowledged\":true"));
    world.go(at + Duration::days(6));
    world.nothing_after(before);
    world.go(at + Duration::days(7));
    world.next(before, "deletion:1");
    world.go(at + Duration::days(8));
    let last = world.next(before + 1, "deletion:0");
    assert!(last.subject.starts_with("[CRITICAL] Data deleted today"), "{}", last.subject);
    for days in [9, 12, 30] {
        world.go(at + Duration::days(days));
    }
    world.nothing_after(before + 2);
}

#[test]
fn a_sleep_between_a_reading_and_what_follows_from_it_is_noticed_first() {
    let extra = "[metrics]\nstale_after = \"30d\"\n";
    let mut world = World::new(extra, |start| report(start, 5, Some(start + Duration::hours(20))));
    world.next(0, "rung:1");
    world.daemon.stop();
    world.daemon.arm("none");
    world.daemon.run();
    world.nothing_after(1);
    // It falls asleep with a good report in its hand, and wakes where nobody answers.
    world.daemon.arm("reading-applied");
    world.daemon.has_reached("reading-applied");
    *world.billing.report.lock().unwrap() = None;
    world.clock.pass(Duration::hours(21));
    world.daemon.arm("none");
    let mail = world.next(1, "rung:0");
    assert!(mail.text.contains("as of "), "{}", mail.text);
}

#[test]
fn what_proves_nothing_gives_no_amounts() {
    let extra = "[alerts]\nrecover_polls = 1000\n";
    let mut world = World::new(extra, |start| report(start, 5, Some(start + Duration::hours(5))));
    world.next(0, "rung:1");
    world.go(world.start + Duration::hours(6));
    world.next(1, "rung:0");
    // Paid, which reports have not said often enough yet; then one leaves every charge out.
    world.billing.says(report(world.start, 5000, None));
    world.go(world.start + Duration::hours(26));
    world.billing.says(bare(world.start, 5000));
    world.go(world.start + Duration::hours(30));
    let mail = world.next(2, "overdue:");
    let rows: Vec<&str> = mail.text.lines().filter(|line| line.contains(" days ")).collect();
    assert!(rows[0].contains("nothing") && rows[0].contains("4\u{202f}920.00"), "{}", mail.text);
    let (_, status, _) = world.daemon.command(&["status", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["accounts"][0]["billing"]["orders_with_charges"], 1, "{status}");
}

#[test]
fn an_ack_hides_no_near_cut_off() {
    let world = World::new("", |start| report(start, 5, Some(start + Duration::hours(20))));
    world.next(0, "rung:1");
    assert_eq!(world.daemon.command(&["ack", "main/disconnect/account"]).0, 0);
    until("the ack", || world.daemon.request("GET", "/api/v1/status").1.contains("\"acknowledged\":true"));
    let (code, status, _) = world.daemon.command(&["status"]);
    assert!(
        code == 1 && status.starts_with("✕ Cut-off ") && status.contains(", acknowledged "),
        "{code} {status}"
    );
    let page = world.daemon.request("GET", "/").1;
    assert!(page.contains("<title>✕ Cut-off "), "{page}");
}

#[test]
fn what_to_pay_is_that_of_the_moment_of_the_mail() {
    let extra = "[metrics]\nstale_after = \"30d\"\n";
    let mut world = World::new(extra, |start| report(start, 85, Some(start + Duration::days(9))));
    world.next(0, "rung:14");
    let required = "hosting_billing_top_up_required{account=\"main\",days=\"7\"}";
    world.daemon.shows(&format!("{required} 0"));
    // From here on the clock alone.
    world.billing.says(None);
    world.go(world.start + Duration::days(2) + Duration::hours(1));
    let mail = world.next(1, "rung:7");
    let row = |mail: &Received| mail.text.lines().find(|line| line.contains("  7 days ")).unwrap().to_owned();
    assert!(row(&mail).contains("6\u{a0}RUB"), "{}", row(&mail));
    world.daemon.shows(&format!("{required} 5.01"));
    world.go(world.start + Duration::days(5) + Duration::hours(1));
    let mail = world.next(2, "rung:4");
    assert!(row(&mail).contains("36\u{a0}RUB"), "{}", row(&mail));
    let (_, status, _) = world.daemon.command(&["status", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    let pay = &status["accounts"][0]["billing"]["pay"];
    let of = |index: usize| (&pay[index]["days"], &pay[index]["amount"]);
    assert_eq!(of(0), (&json!(7), &json!("35.01")));
    assert_eq!(of(1), (&json!(30), &json!("265.01")));
}

#[test]
fn charges_of_one_moment_are_told_apart_by_their_balances() {
    let world = World::new("", |start| {
        let mut whole = report(start, 1000, None);
        let charges = whole["charge_moments"].as_array_mut().unwrap();
        // Three at a time, the newest first.
        for (index, charge) in charges.iter_mut().enumerate() {
            charge["moment"] = json!(moment(start + Duration::days(1 + index as i64 / 3)));
        }
        charges.reverse();
        whole
    });
    world.daemon.shows("hosting_billing_balance{account=\"main\"} 1000");
    world.daemon.shows("hosting_billing_next_charge_amount{account=\"main\"} 30");
    world.daemon.shows("hosting_billing_forecast_balance{account=\"main\",days=\"7\"} 790");
}

/// The row of the mail's table of what to pay.
fn for_7_days(mail: &Received) -> &str {
    mail.text.lines().find(|line| line.contains("  7 days ")).unwrap()
}

#[test]
fn what_to_pay_is_known_after_a_restart_while_nothing_can_be_read() {
    let extra = "[metrics]\nstale_after = \"30d\"\n";
    let mut world = World::new(extra, |start| report(start, 85, Some(start + Duration::days(9))));
    world.next(0, "rung:14");
    world.billing.says(None);
    world.daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 0");
    world.daemon.shows("hostwatch_outbox_messages{state=\"sending\"} 0");
    world.daemon.kill();
    world.clock.pass(Duration::days(2) + Duration::hours(1));
    world.daemon.run();
    let mail = world.next(1, "rung:7");
    assert!(for_7_days(&mail).contains("6\u{a0}RUB"), "{}", mail.text);
    assert!(mail.text.contains("as of "), "{}", mail.text);
    let (_, page) = world.daemon.request("GET", "/");
    assert!(page.contains("236"), "{page}");

    // `forecast` cannot ask the provider either.
    let (code, text, error) = world.daemon.command(&["forecast"]);
    assert!(code == 1 && text.contains("Forecast of main, as of "), "{code} {text} {error}");
    assert!(text.contains("the balance now is not known: ") && text.contains("Balance then"), "{text}");
    let (_, json, _) = world.daemon.command(&["forecast", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let account = &json["accounts"][0];
    let amounts = [0, 1].map(|span| &account["billing"]["pay"][span]["amount"]);
    assert_eq!(amounts, [&json!("5.01"), &json!("235.01")], "{account}");
    assert!(account["error"].is_string() && account["billing"]["as_of"].is_string(), "{account}");
    // Without the daemon nobody knows.
    world.daemon.stop();
    let (code, text, _) = world.daemon.command(&["forecast"]);
    assert!(code == 3 && text.contains("main: not known"), "{code} {text}");
}
