//! What is mailed as reports, payments and time move an account towards its cut-off and past it.

use super::*;
use crate::alert::Severity;
use crate::alert::ladder::rung_severity;
use crate::model::Money;
use crate::model::forecast::Disconnect;
use crate::model::forecast::tests::money;
use chrono::Duration;

use crate::alert::ladder::Sight;

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

/// One account's ladder, with what was mailed.
struct Climb {
    ladder: Ladder,
    settings: AlertSettings,
    open: bool,
    now: DateTime<Utc>,
    balance: Money,
}

impl Climb {
    fn new() -> Self {
        let settings = AlertSettings::defaults();
        Self { ladder: Ladder::default(), settings, open: false, now: start(), balance: money("100") }
    }

    /// A report that names the date so many hours after the start; what is mailed of it.
    fn date(&mut self, hours: i64) -> Vec<Move> {
        self.sight(Disconnect::At { at: start() + Duration::hours(hours), computed: false }, false)
    }

    fn bare(&mut self, disconnect: Disconnect) -> Vec<Move> {
        self.sight(disconnect, true)
    }

    fn sight(&mut self, disconnect: Disconnect, bare: bool) -> Vec<Move> {
        let used_up = Some(!self.balance.is_positive());
        let sight = Sight { disconnect, balance: Some(self.balance), used_up, bare };
        self.ladder.note_bare(bare, self.now);
        self.ladder.weigh(&sight, self.open, &self.settings, self.now);
        self.tick()
    }

    fn tick(&mut self) -> Vec<Move> {
        let Self { settings, open: is_open, now, .. } = self;
        let judge = Judge { settings, zone: Tz::UTC, is_open: *is_open, acknowledged: false, now: *now };
        self.ladder.adopt(settings, *now);
        let moves = self.ladder.decide(&judge);
        for &moved in &moves {
            self.ladder.took(moved, &judge);
            self.open = true;
        }
        moves
    }

    fn pass(&mut self, hours: i64) {
        self.now += Duration::hours(hours);
    }

    fn balance(&mut self, text: &str) -> &mut Self {
        self.balance = money(text);
        self
    }
}

#[test]
fn the_tightest_newly_crossed_rung_is_told_once() {
    let table: [(&[i64], &[Move]); 6] = [
        (&[20 * 24], &[]),
        (&[14 * 24, 14 * 24], &[Move::Rung(14)]),
        (&[53, 53], &[Move::Rung(3)]),
        (&[6 * 24, 53, 24], &[Move::Rung(7), Move::Rung(3), Move::Rung(1)]),
        (&[24, 0, -5], &[Move::Rung(1), Move::CutOff]),
        (&[-5, -5], &[Move::CutOff]),
    ];
    for (hours, want) in table {
        let mut climb = Climb::new();
        let told: Vec<Move> = hours.iter().flat_map(|&hours| climb.date(hours)).collect();
        assert_eq!(told, want, "{hours:?}");
    }
}

#[test]
fn a_payment_is_news_at_once_and_arms_the_ladder_below_the_new_date() {
    // hours left at first, after the payment, the rung then on
    for (first, then, on) in [(20, 40, 3), (20, 8 * 24, 14), (20, 30 * 24, 0), (-3, 20, 1), (53, 60, 3)] {
        let mut climb = Climb::new();
        climb.date(first);
        assert_eq!(climb.balance("150").date(then), [Move::Paid], "{first} to {then}");
        assert_eq!(climb.ladder.rung.unwrap_or_default(), on, "{first} to {then}");
        assert_eq!(climb.date(then), []);
    }
    // Cut off, paid in part, cut off again.
    let mut climb = Climb::new();
    climb.balance("-9").date(-1);
    for _ in 0..3 {
        let hours = (climb.now - start()).num_hours();
        let balance = climb.balance + money("15");
        climb.balance = balance;
        assert_eq!(climb.date(hours + 20), [Move::Paid]);
        climb.pass(20);
        assert_eq!(climb.tick(), [Move::CutOff]);
        climb.balance = balance - money("10");
        assert_eq!(climb.date(hours + 20), []);
    }
    // The same while nobody watched.
    let balance = climb.balance + money("5");
    climb.balance = balance;
    climb.pass(30);
    let hours = (climb.now - start()).num_hours();
    assert_eq!(climb.date(hours - 1), [Move::CutOff]);
    assert_eq!(climb.date(hours - 1), []);
}

#[test]
fn without_a_payment_a_later_date_counts_once_it_held_for_an_hour() {
    let mut climb = Climb::new();
    climb.date(53);
    assert_eq!(climb.date(20 * 24), []);
    climb.now += Duration::minutes(59);
    assert_eq!(climb.date(20 * 24), []);
    assert_eq!(climb.date(10 * 24), []);
    climb.now += Duration::minutes(1);
    // The earliest of those that were seen.
    assert_eq!(climb.date(20 * 24), [Move::Later]);
    assert_eq!(climb.ladder.told, Some(start() + Duration::days(10)));
    assert_eq!(climb.ladder.rung, Some(14));
    // Less than a day beyond the rung is left alone.
    let mut climb = Climb::new();
    climb.date(3 * 24);
    for _ in 0..3 {
        assert_eq!(climb.date(4 * 24), []);
        climb.pass(1);
    }
}

#[test]
fn a_date_that_alternates_is_told_once() {
    for (one, other, most) in [(53, 20 * 24, 1), (5 * 24, 9 * 24, 1), (60, -12, 2), (6 * 24, 30 * 24, 1)] {
        for hours_between in [0, 2] {
            let mut climb = Climb::new();
            let mut told = Vec::new();
            for _ in 0..5 {
                told.extend(climb.date(one));
                climb.pass(hours_between);
                told.extend(climb.date(other));
                climb.pass(hours_between);
                told.extend(climb.date(other));
            }
            let rungs = told.iter().filter(|moved| **moved != Move::Later).count();
            assert!(rungs <= most && told.len() <= most + 1, "{one} and {other}: {told:?}");
        }
    }
    // With its balance too.
    let mut climb = Climb::new();
    let mut told = Vec::new();
    for _ in 0..5 {
        told.extend(climb.balance("45").date(5 * 24));
        told.extend(climb.balance("95").date(9 * 24));
    }
    assert_eq!(told, [Move::Rung(7), Move::Paid, Move::Rung(7), Move::Later]);
    // A day later it is news again, where it still is so.
    climb.pass(25);
    assert_eq!(climb.balance("45").date(5 * 24), [Move::Rung(4)]);
}

#[test]
fn a_jump_is_measured_from_where_the_date_stood() {
    let mut climb = Climb::new();
    assert_eq!(climb.date(13 * 24), [Move::Rung(14)]);
    // Weeks of small payments, all of them mailed; each leaves thirteen days.
    for _ in 0..5 {
        climb.pass(48);
        climb.balance += money("20");
        let hours = (climb.now - start()).num_hours();
        assert_eq!(climb.date(hours + 13 * 24), [Move::Paid]);
    }
    let hours = (climb.now - start()).num_hours();
    assert_eq!(climb.date(hours + 8 * 24), [Move::Earlier]);
    assert_eq!(climb.date(hours + 8 * 24), []);
    // Days that pass are no jump.
    climb.pass(20);
    assert_eq!(climb.tick(), []);
    // From above the ladder the rung carries it.
    let mut climb = Climb::new();
    assert_eq!(climb.date(14 * 24 + 12), []);
    climb.ladder.weigh(
        &Sight {
            disconnect: Disconnect::At { at: start() + Duration::days(9), computed: false },
            balance: None,
            used_up: None,
            bare: false,
        },
        false,
        &climb.settings,
        start(),
    );
    assert_eq!(climb.ladder.fell_from, Some(start() + Duration::hours(14 * 24 + 12)));
    assert_eq!(climb.tick(), [Move::Rung(14)]);
    assert_eq!(climb.ladder.fell_from, None);
}

#[test]
fn a_used_up_balance_is_told_by_itself_and_the_rungs_belong_to_the_date() {
    let mut climb = Climb::new();
    assert_eq!(climb.balance("-5").date(13 * 24), [Move::UsedUp, Move::Rung(14)]);
    assert_eq!(climb.date(13 * 24), []);
    for (hours, want) in [(6 * 24, Move::Rung(7)), (3, Move::Rung(7)), (53, Move::Rung(3))] {
        let told = climb.date(hours.max(53));
        assert!(told.is_empty() || told == [want] || told == [Move::Rung(3)], "{told:?}");
    }
    climb.pass(60);
    assert_eq!(climb.tick(), [Move::CutOff]);
    // Paid and used up again: the last word may not be "paid".
    let mut climb = Climb::new();
    climb.balance("-5").date(40 * 24);
    assert_eq!(climb.balance("200").date(40 * 24), [Move::Paid]);
    assert_eq!(climb.balance("-7").date(40 * 24), [Move::UsedUp]);
    // No date at all: overdue.
    let mut climb = Climb::new();
    assert_eq!(climb.balance("0").bare(Disconnect::Now), [Move::CutOff]);
    assert_eq!(climb.bare(Disconnect::Now), []);
}

#[test]
fn reports_without_a_charge_move_nothing_for_a_day() {
    let mut climb = Climb::new();
    climb.date(30);
    let later = Disconnect::At { at: start() + Duration::days(60), computed: false };
    assert_eq!(climb.bare(later), []);
    climb.pass(7);
    assert_eq!(climb.balance("900").bare(later), [Move::Rung(1)], "by the date known before");
    assert!(climb.ladder.doubts_bare(climb.now));
    climb.pass(18);
    assert_eq!(climb.bare(later), [Move::Paid]);
}

#[test]
fn payments_that_take_longer_tell_the_new_last_safe_day() {
    for (hours, before, then, want) in [
        (5 * 24 + 12, 1, 6, Some(Move::LastSafeDay(7))),
        (60, 1, 9, Some(Move::LastSafeDay(10))),
        (5 * 24 + 12, 1, 5, Some(Move::Rung(6))),
        (60, 3, 9, None),
        (60, 3, 1, None),
    ] {
        let mut climb = Climb::new();
        let set = |climb: &mut Climb, lead_days: u32| {
            climb.settings.lead_days = lead_days;
            climb.settings.disconnect_days = vec![14, 7, 3, 1, lead_days + 1];
        };
        set(&mut climb, before);
        assert_eq!(climb.date(hours).len(), 1);
        set(&mut climb, then);
        assert_eq!(climb.tick(), want.into_iter().collect::<Vec<_>>(), "{hours} h, {before} to {then}");
        assert_eq!(climb.tick(), []);
    }
}

#[test]
fn what_an_older_release_mailed_is_not_mailed_again() {
    let old = |json: &str| Climb { ladder: serde_json::from_str(json).unwrap(), open: true, ..Climb::new() };
    let cut_off = r#"{"edd":"2027-01-14T08:00:00Z","computed":false,"used_up":true,"read_at":"2027-01-15T07:00:00Z",
        "rung":0,"told":"2027-01-14T08:00:00Z"}"#;
    let mut climb = old(cut_off);
    assert_eq!(climb.tick(), [], "{}", climb.now);
    climb.pass(25);
    assert_eq!(climb.tick().len(), 1, "a day later it is reminded of");
    // It called this overdue, though its date is ahead.
    let ahead = cut_off.replace("2027-01-14", "2027-01-20");
    let mut climb = old(&ahead);
    climb.balance("-5");
    assert_eq!(climb.date(5 * 24), []);
    climb.pass(48);
    assert_eq!(climb.tick(), [Move::Rung(3)]);
    let told = r#"{"edd":"2027-01-20T08:00:00Z","computed":false,"used_up":false,"read_at":null,"rung":7,"told":null}"#;
    assert_eq!(old(told).tick(), []);
}

#[test]
fn severities() {
    let table = [
        (-1, Severity::Critical),
        (4 * 24, Severity::Critical),
        (4 * 24 + 1, Severity::Warning),
        (30 * 24 - 1, Severity::Warning),
        (30 * 24, Severity::Info),
    ];
    let settings = AlertSettings::defaults();
    // On a rung of thirty days it is as far away as the mail of that rung says.
    let far = AlertSettings { disconnect_days: vec![30, 14, 7, 4], ..AlertSettings::defaults() };
    for (days, want) in [(22, Severity::Info), (14, Severity::Warning), (31, Severity::Info)] {
        let ladder = Ladder { edd: Some(start() + Duration::days(days)), ..Ladder::default() };
        assert_eq!((ladder.severity(&far, start()), ladder.standing(&far, start())), (want, want), "{days}");
    }
    for (hours, want) in table {
        let edd = Some(start() + Duration::hours(hours));
        let ladder = Ladder { edd, ..Ladder::default() };
        assert_eq!(ladder.severity(&settings, start()), want, "{hours} h left");
        let used_up = Ladder { used_up: true, ..ladder };
        assert_eq!(used_up.severity(&settings, start()), Severity::Critical);
    }
    assert_eq!(rung_severity(4, 3), Severity::Critical);
    assert_eq!(rung_severity(7, 3), Severity::Warning);
    assert_eq!(rung_severity(30, 3), Severity::Info);
}
