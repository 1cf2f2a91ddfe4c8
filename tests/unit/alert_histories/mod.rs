//! Random histories in the world of alerts: successful, failed and partial polls, dates that move, restarts,
//! sleeps, silences, acknowledgements and reloads. The clock is set, and the mail server refuses, defers, is
//! away or loses replies. In every history, the mails agree with the contract (section 6).
//!
//! `HOSTWATCH_TESTS=all PROPTEST_RNG_SEED=7 cargo test --lib alert_histories` runs more of them, and others.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use super::alert_support;

mod auditor;
mod belief;
mod evidence;
mod inbox;
mod life;
mod money;
mod ops;

use crate::alert::{AlertSettings, Key, Kind};
use crate::model::{AccountName, Collector, FailureKind};
use alert_support::Fate;
use chrono::{DateTime, Duration, Utc};
use life::Life;
use ops::{Bill, CONTAINERS, Config, Op, Rows, SITES, VMS};
use proptest::prelude::*;

/// A few histories; `HOSTWATCH_TESTS=all` runs more of them, and another `PROPTEST_RNG_SEED` others. A history that failed
/// gets a test of its own, as text.
fn config() -> ProptestConfig {
    let cases = if super::tools::runs_all() { 1_700 } else { 24 };
    ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() }
}

fn name() -> AccountName {
    "main".parse().unwrap()
}

/// The state of everything, in a single reading.
#[derive(Clone, Debug)]
struct Truth {
    vms: Rows,
    containers: Rows,
    sites: Vec<Rows>,
    bill: Bill,
}

impl Truth {
    fn healthy() -> Self {
        Self {
            vms: VMS.map(|id| (id, "active")).to_vec(),
            containers: CONTAINERS.map(|id| (id, "ENABLED")).to_vec(),
            sites: vec![SITES.map(|id| (id, "Active")).to_vec(), Vec::new()],
            bill: Bill::Rich,
        }
    }

    /// Every reading at `now`, of a state that began at `since`.
    fn sweep(&self, since: DateTime<Utc>, now: DateTime<Utc>) -> Vec<Op> {
        let age = (now - since).num_seconds();
        let bill = match self.bill {
            Bill::CutIn(seconds, left) => Bill::CutIn(seconds - age, left),
            Bill::UsedUpAhead(seconds) => Bill::UsedUpAhead(seconds - age),
            bill => bill,
        };
        let mut ops = vec![
            Op::Report(bill),
            Op::Containers { rows: self.containers.clone(), complete: true },
            Op::Vms { rows: self.vms.clone(), complete: true },
        ];
        let homes: Vec<usize> =
            (0..2).filter(|&k| self.containers.iter().any(|row| row.0 == CONTAINERS[k])).collect();
        if homes.is_empty() {
            ops.push(Op::NoSites);
        }
        for (done, &k) in homes.iter().enumerate() {
            let ended = done + 1 == homes.len();
            ops.push(Op::Sites { home: CONTAINERS[k], rows: self.sites[k].clone(), complete: true, ended });
        }
        ops
    }
}

fn truth() -> impl Strategy<Value = Truth> {
    let vms = ops::rows(&VMS, ops::vm_state().boxed(), 0.9);
    let containers = ops::rows(&CONTAINERS, ops::container_state().boxed(), 0.9);
    let sites = ops::rows(&SITES, ops::site_state().boxed(), 0.9);
    (vms, containers, sites, ops::bill()).prop_map(|(vms, containers, sites, bill)| {
        // Each site lives in one container.
        let (left, right): (Rows, Rows) = sites.into_iter().partition(|row| row.0 % 2 == 0);
        Truth { vms, containers, sites: vec![left, right], bill }
    })
}

/// Runs a history, then a state that lasts, then health.
fn whole_life(config: &Config, history: &[Op], last: &Truth) {
    let mut life = Life::new(config);
    for op in history {
        life.live(op);
    }

    // Now the state stays longer than anything waits. All mail is sent, and nothing is silenced.
    life.calm_down();
    let calm = life.world.now;
    stays(&mut life, last);
    every_problem_is_known(&life, last, calm);
    the_last_word_is_true(&life, calm);
    let left_out: Vec<_> = life.auditor.left_out().collect();
    assert!(left_out.is_empty(), "no first mail for {left_out:?}");

    let healthy = Truth::healthy();
    stays(&mut life, &healthy);
    every_end_is_known(&life, calm);
    nothing_more_comes(&mut life, &healthy);
}

/// Reads the state at once, and then for more than a day.
fn stays(life: &mut Life, truth: &Truth) {
    let since = life.world.now;
    let first = [(1, 1), (1, 1), (1, 1), (1, 1), (31, 6), (1, 1), (61, 4)];
    for (minutes, looks) in first.into_iter().chain([(300, 8); 5]).chain([(420, 14)]) {
        let now = life.world.now + Duration::seconds(20);
        truth.sweep(since, now).iter().for_each(|op| life.live(op));
        life.pass(minutes, looks);
    }
}

/// If a resource has been in a wrong state for a day, each of its recipients was told, by its own mail or by
/// the mail about its cause.
fn every_problem_is_known(life: &Life, last: &Truth, calm: DateTime<Utc>) {
    let all = [
        (&last.vms, evidence::vm as fn(&str) -> Vec<_>),
        (&last.containers, evidence::container),
        (&last.sites[0], evidence::site),
        (&last.sites[1], evidence::site),
    ];
    let lives = |home: u64| last.containers.iter().any(|row| row.0 == home);
    for (index, (rows, says)) in all.into_iter().enumerate() {
        if (index == 2 && !lives(CONTAINERS[0])) || (index == 3 && !lives(CONTAINERS[1])) {
            continue;
        }
        let home = (index >= 2).then(|| Key::new(&name(), Kind::ContainerDisabled, CONTAINERS[index - 2]));
        for &(id, state) in rows {
            for (kind, sign) in says(state) {
                let key = Key::new(&name(), kind, id);
                // A VM that was stopped before the first reading is no incident.
                let is_out = life.auditor.is_off(&key) || kind == Kind::VmStopped;
                if sign != evidence::Sign::Bad || is_out {
                    continue;
                }
                for to in life.auditor.recipients(kind) {
                    let is_known = knows(life, &to, &key)
                        || home.iter().any(|home| knows(life, &to, home))
                        || knows_cause(life, &to, &key);
                    let heard = life.auditor.inbox.of(&to, &key);
                    assert!(is_known, "{to} does not know that {key} is {state}: {heard:#?}");
                }
            }
        }
    }
    let key = Key::account_wide(&name(), Kind::Disconnect);
    let date = match last.bill {
        Bill::CutIn(seconds, _) => Some(calm + Duration::seconds(seconds)),
        _ => None,
    };
    for to in date.iter().flat_map(|_| life.auditor.recipients(Kind::Disconnect)) {
        let heard = life.auditor.inbox.of(&to, &key);
        let account = &life.auditor.account;
        let known = account.is_known(date.unwrap(), heard, life.world.now);
        // The end of an earlier episode that could not be sent.
        let is_stale = heard.last().is_some_and(|last| calm - last.at >= LAPSES);
        let may_have_lapsed = is_stale && account.tightest(date.unwrap(), life.world.now).is_none();
        assert!(known.is_ok() || may_have_lapsed, "{to}: {known:?} {heard:#?}");
    }
}

fn knows(life: &Life, to: &str, key: &Key) -> bool {
    let inbox = &life.auditor.inbox;
    inbox.reads_as_wrong(to, key) || inbox.is_listed(to, key) || inbox.is_unsure(to, key)
}

/// The next mail of a cause that this recipient knows names it.
fn knows_cause(life: &Life, to: &str, key: &Key) -> bool {
    let cause = key.id().and_then(|id| life.world.cause(key.kind, &id.to_string()));
    cause.and_then(|cause| cause.parse().ok()).is_some_and(|cause| knows(life, to, &cause))
}

/// A recipient who reads only the mails, in the order of their arrival, knows the true state.
fn the_last_word_is_true(life: &Life, calm: DateTime<Utc>) {
    for (to, key, heard) in life.auditor.inbox.last_words() {
        let maybe = life.auditor.belief.of(key);
        let is_unsure = life.auditor.inbox.is_unsure(to, key);
        if is_unsure || key.kind.is_momentary() || (heard.event.is_end() && key.kind == Kind::Disconnect) {
            continue;
        }
        let is_told = life.auditor.recipients(key.kind).iter().any(|one| one == to);
        let is_true = match heard.event.is_end() {
            true => maybe.may_be_over || !is_told || knows_cause(life, to, key),
            false => maybe.may_be_open || may_have_lapsed(&maybe, calm),
        };
        assert!(
            is_true || life.auditor.inbox.is_listed(to, key),
            "the last that {to} reads of {key}: {heard:?} {maybe:#?}"
        );
    }
}

/// An end that cannot be sent for a week lapses; the last try may have been a day earlier.
const LAPSES: Duration = Duration::days(6);

fn may_have_lapsed(maybe: &belief::Maybe, calm: DateTime<Utc>) -> bool {
    calm - maybe.over_since >= LAPSES
}

/// Each recipient who was told that something is wrong was told that it is over.
fn every_end_is_known(life: &Life, calm: DateTime<Utc>) {
    let inbox = &life.auditor.inbox;
    for (to, key, heard) in inbox.last_words() {
        let maybe = life.auditor.belief.of(key);
        // A listing that was empty for a day is over without a word.
        let is_quiet = key.kind.is_momentary() || key.kind == Kind::ResourceGone;
        let is_over =
            heard.event.is_end() || is_quiet || inbox.is_unsure(to, key) || may_have_lapsed(&maybe, calm);
        assert!(is_over, "{to} was never told that {key} is over: {:#?} {maybe:#?}", inbox.of(to, key));
    }
}

/// Nothing changes, and all recipients were told.
fn nothing_more_comes(life: &mut Life, truth: &Truth) {
    let from = life.world.attempts.len();
    let since = life.world.now;
    for _ in 0..2 {
        let now = life.world.now + Duration::seconds(20);
        truth.sweep(since, now).iter().for_each(|op| life.live(op));
        life.pass(26 * 60, 26);
    }
    let more: Vec<_> = life.world.attempts[from..].iter().map(|(at, mail, _)| (at, mail)).collect();
    assert!(more.is_empty(), "all is well and told, and this comes: {more:#?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_contract_holds_for_resources_that_come_and_go(
        config in ops::config(), history in ops::unsteady_history(), last in truth()
    ) {
        whole_life(&config, &history, &last);
    }

    #[test]
    fn the_contract_holds_for_cut_offs(
        config in ops::config(), history in ops::billed_history(), last in truth()
    ) {
        whole_life(&config, &history, &last);
    }

    #[test]
    fn the_contract_holds(config in ops::config(), history in ops::history(), last in truth()) {
        whole_life(&config, &history, &last);
    }
}

/// Runs a history that once broke a law, with these numbers of polls that confirm and recover, as `ops` and `boss`.
fn once_broken(confirm_polls: u32, recover_polls: u32, history: &[Op], last: &Truth) {
    let escalate_after = std::time::Duration::from_secs(3 * 3600);
    let escalate_to = vec!["boss".into()];
    let usual = AlertSettings::defaults();
    let settings = AlertSettings { confirm_polls, recover_polls, escalate_after, escalate_to, ..usual };
    whole_life(&Config::of(settings), history, last);
}

/// Nothing is listed, and the bill is this.
fn empty(bill: Bill) -> Truth {
    Truth { vms: vec![], containers: vec![], sites: vec![vec![], vec![]], bill }
}

fn vms(rows: &[(u64, &'static str)]) -> Op {
    Op::Vms { rows: rows.to_vec(), complete: false }
}

fn containers(rows: &[(u64, &'static str)], complete: bool) -> Op {
    Op::Containers { rows: rows.to_vec(), complete }
}

fn sites(home: u64, rows: &[(u64, &'static str)], ended: bool) -> Op {
    Op::Sites { home, rows: rows.to_vec(), complete: false, ended }
}

#[test]
fn a_consequence_is_over_while_its_cause_waits_for_a_reading() {
    let history = [
        Op::Fails(Collector::Sites, FailureKind::Other),
        vms(&[]),
        Op::Report(Bill::Dropped),
        containers(&[], false),
        Op::Restart(1),
        containers(&[(10, "ENABLED"), (11, "DISABLED_BY_SERVICE")], false),
        sites(11, &[(100, "Error")], false),
        sites(10, &[(100, "Active")], false),
        sites(10, &[(100, "Active")], false),
    ];
    once_broken(1, 2, &history, &empty(Bill::Rich));
}

#[test]
fn a_cut_off_that_moved_away_unwatched() {
    let history = [
        Op::Report(Bill::Rich),
        Op::Report(Bill::RunsOut),
        Op::Server(None, Fate::RefuseRecipient),
        Op::Rule(Kind::Disconnect, false),
    ];
    once_broken(1, 1, &history, &empty(Bill::CutIn(15 * 86_400, 500)));
}

#[test]
fn a_payment_that_was_used_up_before_it_was_told() {
    let history = [
        Op::Report(Bill::CutIn(0, 500)),
        Op::Server(None, Fate::RefuseRecipient),
        vms(&[(1, "blocked")]),
        Op::Report(Bill::CutIn(3600, 3000)),
        Op::Report(Bill::CutIn(0, 500)),
    ];
    once_broken(1, 2, &history, &empty(Bill::CutIn(7200, 500)));
}

#[test]
fn a_site_whose_listing_was_read_before_the_clock_was_set_back() {
    let history = [
        containers(&[(10, "DISABLED_BY_SERVICE")], false),
        containers(&[(10, "ENABLED")], false),
        sites(10, &[(101, "StoppedByService")], true),
        Op::Clock(-1),
        vms(&[]),
        Op::Fails(Collector::Sites, FailureKind::Other),
        Op::Report(Bill::Rich),
        containers(&[(10, "ENABLED")], false),
        Op::Wait(2),
    ];
    once_broken(1, 2, &history, &empty(Bill::Rich));
}

#[test]
fn an_opened_mail_and_a_first_mail_that_both_were_lost() {
    let mut history = vec![
        Op::Fails(Collector::ExpectedBalance, FailureKind::Other),
        Op::Server(None, Fate::LoseReply { arrived: false }),
        vms(&[]),
        containers(&[(10, "ENABLED")], false),
        sites(10, &[], true),
        Op::Wait(200),
        Op::Wait(533),
        sites(10, &[(100, "Error")], false),
        Op::Restart(500),
    ];
    history.extend(vec![vms(&[]); 5]);
    let containers = CONTAINERS.map(|id| (id, "ENABLED")).to_vec();
    let sites = vec![vec![(100, "Error")], vec![]];
    once_broken(1, 1, &history, &Truth { containers, sites, ..empty(Bill::Rich) });
}

#[test]
fn a_container_of_a_lost_first_mail_is_explained_before_it_is_told_again() {
    let history = [
        Op::Server(None, Fate::LoseReply { arrived: false }),
        containers(&[(10, "DISABLED_BY_SERVICE")], false),
        Op::Report(Bill::Rich),
        containers(&[], true),
        containers(&[(11, "ENABLED")], true),
        sites(11, &[], true),
        vms(&[]),
        Op::Restart(60),
    ];
    let containers = vec![(10, "DISABLED_BY_SERVICE")];
    once_broken(1, 3, &history, &Truth { containers, ..empty(Bill::UsedUp) });
}

#[test]
fn a_balance_that_is_no_higher_than_before_the_rule_was_off_frees_no_rung() {
    let history = [
        Op::Report(Bill::Rich),
        Op::Report(Bill::CutIn(3600, 500)),
        Op::Server(None, Fate::RefuseRecipient),
        Op::Rule(Kind::Disconnect, false),
        Op::Report(Bill::CutIn(73 * 3600, 500)),
    ];
    once_broken(1, 2, &history, &empty(Bill::Unreadable));
}

#[test]
fn an_escalation_that_was_refused_and_is_explained_by_the_next_one() {
    let history = [
        containers(&[(10, "ENABLED")], false),
        sites(10, &[], true),
        Op::Server(Some("boss"), Fate::RefuseMail),
        Op::Report(Bill::Rich),
        vms(&[]),
        sites(10, &[(102, "StoppedByQuota")], false),
        Op::Wait(360),
        vms(&[]),
        vms(&[]),
        Op::Sleep(1),
        vms(&[]),
    ];
    let sites = vec![vec![(102, "Error")], vec![]];
    once_broken(1, 1, &history, &Truth { containers: vec![(10, "ENABLED")], sites, ..empty(Bill::Rich) });
}

#[test]
fn a_first_mail_that_was_lost_waits_while_its_recipient_is_refused() {
    let history = [
        Op::Ann(true),
        Op::Server(Some("ann"), Fate::LoseReply { arrived: false }),
        Op::Fails(Collector::Sites, FailureKind::Other),
        containers(&[], false),
        Op::Fails(Collector::Vms, FailureKind::Other),
        Op::Report(Bill::Rich),
        vms(&[(1, "error")]),
        Op::Server(Some("ann"), Fate::RefuseRecipient),
        vms(&[(1, "error")]),
        vms(&[(1, "active")]),
    ];
    once_broken(2, 1, &history, &empty(Bill::Rich));
}
