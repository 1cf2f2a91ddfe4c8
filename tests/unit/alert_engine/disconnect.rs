//! The disconnect incident: its ladder, its end, and the balance beside it.

use crate::alert::{AlertSettings, Form, Kind, Phase, Severity};
use crate::model::{Collector, Edd, FailureKind, KnownAccount, Profile};
use crate::view::headline::Urgency;
use chrono::Duration;

use super::alert_support::*;

#[test]
fn the_ladder_tells_the_tightest_rung_once_through_restarts_and_failures() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    world.report(cut_off_in(53));
    world.restart(Duration::seconds(10));
    world.report(cut_off_in(53));
    assert!(world.told.is_empty(), "{:?}", world.events());
    // Nothing can be read any more; time goes on all the same.
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.pass(Duration::hours(54));
    let events = world.take_events();
    let ladder: Vec<_> = events.iter().filter(|event| event.contains("disconnect")).collect();
    assert_eq!(ladder, ["main/disconnect/account rung:1", "main/disconnect/account rung:0"]);
    assert!(world.incident(Kind::Disconnect, "account").reason.to_string().contains("as of"));
}

#[test]
fn only_reports_that_prove_it_are_an_all_clear() {
    let opened = || {
        let mut world = World::healthy();
        world.report(cut_off_in(53));
        world.told.clear();
        world
    };
    let doubtful = [
        ("a null date beside a negative balance", report("25.50", Edd::Null)),
        ("a date that cannot be read", report("5000", Edd::Unknown)),
        ("an unknown expected balance", {
            let mut report = rich();
            report.expected_balance = None;
            report
        }),
        ("one moment that is not positive", {
            let mut report = rich();
            report.moments.edit(|moments| moments[40].positive = Some(false));
            report
        }),
        ("a report that ends before the known date", {
            let mut report = rich();
            report.date = Some(start() + Duration::hours(50));
            report
        }),
        ("moments that could not be read", {
            let mut report = rich();
            report.moments_rejected = 2;
            report
        }),
    ];
    for (what, doubtful) in doubtful {
        let mut world = opened();
        for _ in 0..5 {
            world.report(doubtful.clone());
        }
        assert!(
            !world.events().iter().any(|event| event.ends_with("resolved")),
            "{what}: {:?}",
            world.events()
        );
        assert!(world.incident(Kind::Disconnect, "account").phase.is_open(), "{what}");
    }
    let mut world = opened();
    world.fail(Collector::ExpectedBalance, FailureKind::ReportError);
    world.report(rich());
    assert!(world.told.iter().all(|notice| notice.form != Form::Disconnect), "one report is not enough");
    world.report(rich());
    assert!(world.take_events().contains(&"main/disconnect/account resolved".to_owned()));
    // Armed again, from the top.
    world.report(cut_off_in(53));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
}

/// The expected balance is that of the report's end: below 0 wherever a date is ahead.
#[test]
fn a_report_whose_charges_cannot_be_read_is_no_overdue_account() {
    let mut world = World::healthy();
    world.report(cut_off_in(13 * 24));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:14"]);
    let mut unreadable = cut_off_in(13 * 24);
    unreadable.expected_balance = Some(money("-400"));
    unreadable.moments.edit(Vec::clear);
    unreadable.moments_rejected = 90;
    world.report(unreadable);
    world.report(cut_off_in(13 * 24));
    assert_eq!(world.take_events(), [""; 0]);
}

#[test]
fn a_null_date_beside_a_negative_balance_opens_with_the_computed_moment() {
    let mut world = World::healthy();
    world.report(report("25.50", crate::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    let ladder = world.incident(Kind::Disconnect, "account").ladder.clone().unwrap();
    assert!(ladder.computed);
}

#[test]
fn a_date_that_moves_back_is_told_once_and_arms_the_ladder_again() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.told.clear();
    world.report(cut_off_in(10 * 24));
    assert_eq!(world.take_events(), [""; 0], "it has to hold for an hour");
    world.pass(Duration::hours(1));
    world.report(cut_off_in(10 * 24));
    world.report(cut_off_in(10 * 24));
    assert_eq!(world.take_events(), ["main/disconnect/account extended:2026-03-12"]);
    world.report(cut_off_in(53));
    assert_eq!(world.take_events(), [""; 0], "that rung was mailed within a day");
    world.report(cut_off_in(24));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:1"]);
    let incident = world.incident(Kind::Disconnect, "account");
    assert_eq!((incident.episode, incident.arming), (1, 1));
    // A payment counts at once.
    world.report(report("99.50", crate::model::Edd::At(start() + Duration::days(10))));
    assert_eq!(world.take_events(), ["main/disconnect/account paid:2026-03-12"]);
}

#[test]
fn the_last_day_starts_a_thread_of_its_own() {
    let mut world = World::healthy();
    world.report(cut_off_in(6 * 24));
    assert_eq!(world.events(), ["main/disconnect/account rung:7"]);
    world.last_opens_threads();
    world.told.clear();
    world.report(cut_off_in(90));
    assert_eq!(world.events(), ["main/disconnect/account rung:4"]);
    assert!(world.told[0].items[0].threads.is_empty());
}

#[test]
fn one_good_report_does_not_stop_the_ladder() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.report(rich());
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.told.clear();
    world.pass(Duration::hours(54));
    let events = world.take_events();
    let ladder: Vec<_> = events.iter().filter(|event| event.contains("disconnect")).collect();
    assert_eq!(ladder, ["main/disconnect/account rung:1", "main/disconnect/account rung:0"]);
}

#[test]
fn a_failed_poll_after_one_report_with_more_money_than_ever_tells_no_rung_twice() {
    let mut world = World::healthy();
    let lasts = |balance: &str, days: i64| report(balance, Edd::At(start() + Duration::days(days)));
    world.report(lasts("5000", 80));
    world.report(lasts("10.50", 1));
    world.report(lasts("90", 9));
    let told = ["main/disconnect/account rung:1", "main/disconnect/account paid:2026-03-11"];
    assert_eq!(world.take_events(), told);
    // It was told today, and the balance was higher yet.
    world.report(lasts("10.50", 1));
    world.report(report("9000", Edd::Null));
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.pass(Duration::hours(2));
    let told = world.take_events();
    assert!(!told.iter().any(|event| event.contains("disconnect")), "{told:?}");
    // Two days after, it is as true as ever that nothing proves the contrary.
    world.pass(Duration::hours(30));
    assert!(world.take_events().contains(&"main/disconnect/account rung:0".to_owned()));
}

#[test]
fn the_ladder_goes_on_by_the_clock_in_its_second_life_too() {
    let mut world = World::healthy();
    world.report(cut_off_in(6 * 24));
    world.report(rich());
    world.report(rich());
    assert_eq!(world.incident(Kind::Disconnect, "account").phase, Phase::Resolved);
    world.told.clear();
    world.report(cut_off_in(16 * 24));
    world.told.clear();
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.pass(Duration::hours(3 * 24));
    let told = world.take_events();
    assert!(told.contains(&"main/disconnect/account rung:14".to_owned()), "{told:?}");
}

#[test]
fn a_date_that_its_own_charges_contradict_says_so() {
    let mut world = World::healthy();
    // 25.50 at 10 a day cannot pay the third charge.
    world.report(cut_off_in(6 * 24));
    let detail = &world.incident(Kind::Disconnect, "account").detail;
    assert!(detail.ends_with("; by its own charges Thu 5 Mar 12:00 UTC"), "{detail}");
    for days in [4, 3, 2] {
        world.report(cut_off_in(days * 24));
        let detail = &world.incident(Kind::Disconnect, "account").detail;
        assert!(!detail.contains("by its own charges"), "no more than a day apart: {detail}");
    }
}

/// Nothing to be charged, and that much left.
fn bare(balance: &str) -> crate::model::Report {
    let mut report = report(balance, crate::model::Edd::Null);
    report.moments.edit(Vec::clear);
    report.expected_balance = Some(money(balance));
    report
}

/// Whoever heard of no cut-off before is told of its end what there was.
#[test]
fn the_end_of_a_cut_off_knows_how_it_stood() {
    let mut world = World::healthy();
    world.report(cut_off_in(-1));
    for _ in 0..2 {
        world.report(rich());
    }
    let item = &world.told.last().unwrap().items[0];
    assert_eq!(item.event.to_string(), "resolved");
    let ladder = item.ladder.as_ref().unwrap();
    assert!(ladder.rung == Some(0) && ladder.edd == Some(start() - Duration::hours(1)), "{ladder:?}");
    let incident = world.incident(Kind::Disconnect, "account");
    assert!(incident.ladder.is_none(), "nothing of it goes on");
    assert!(item.calendar == incident.calendar && item.calendar.unwrap().cancelled);
}

#[test]
fn every_rung_says_why_it_is_told() {
    // (hours left at first, then, what the second mail says of it)
    let table = [
        (10 * 24, 7 * 24 - 1, "cut-off is 3 days earlier than before, now less than 7 days away"),
        (9 * 24, 6 * 24, "less than 7 days left"),
        (9 * 24, 5 * 24, "cut-off is 4 days earlier than before, now less than 7 days away"),
        (53, -1, "the cut-off date has passed"),
        (10 * 24, -1, "the cut-off date has passed"),
    ];
    for (first, then, want) in table {
        let mut world = World::healthy();
        world.report(cut_off_in(first));
        assert!(world.incident(Kind::Disconnect, "account").reason.to_string().starts_with("less than "));
        world.told.clear();
        world.report(cut_off_in(then));
        assert_eq!(world.told.len(), 1, "{:?}", world.events());
        assert_eq!(world.told[0].items[0].reason.to_string(), want, "{first} hours left, then {then}");
        // The same once more is nothing to keep open, and nothing to tell.
        world.report(cut_off_in(then));
        assert_eq!(world.incident(Kind::Disconnect, "account").reason.to_string(), want);
        assert_eq!(world.told.len(), 1);
    }
}

#[test]
fn a_balance_that_is_used_up_without_a_charge_to_come_is_overdue() {
    let mut world = World::healthy();
    world.report(bare("0"));
    assert_eq!(world.events(), ["main/disconnect/account rung:0"]);
    assert_eq!(world.told[0].items[0].detail, "the balance is used up");
}

/// A date that is there and cannot be read, no charge, and less than nothing at the report's end.
#[test]
fn a_date_that_cannot_be_read_takes_no_known_one_back() {
    let unreadable = || crate::model::Report { edd: Edd::Unknown, ..bare("-400") };
    for days in [13, 40] {
        let mut world = World::healthy();
        world.report(cut_off_in(days * 24));
        world.told.clear();
        for _ in 0..3 {
            world.report(unreadable());
        }
        assert_eq!(world.events(), [""; 0], "{days}");
        world.pass(Duration::days(days - 6));
        assert_eq!(
            world.take_events().last().unwrap(),
            "main/disconnect/account rung:7",
            "as was known before"
        );
    }
    // Where none is known nothing is left.
    let mut world = World::healthy();
    world.report(unreadable());
    assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
}

/// They name orders that cost nothing, and say of what else there is no more than a report without any.
#[test]
fn charges_of_nothing_prove_as_little_as_none() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.told.clear();
    let mut free = rich();
    free.expected_balance = Some(money("500"));
    free.moments.edit(|moments| {
        for moment in moments {
            (moment.amount, moment.balance) = (money("0.00"), money("500"));
        }
    });
    for _ in 0..4 {
        world.report(free.clone());
    }
    assert_eq!(world.take_events(), [""; 0]);
    assert!(world.incident(Kind::Disconnect, "account").phase.is_open());
    let reason = world.incident(Kind::Disconnect, "account").reason.to_string();
    assert_eq!(reason, "still open: a report without a single charge proves nothing yet");
    for _ in 0..25 {
        world.later(Duration::hours(1));
        world.report(free.clone());
    }
    assert_eq!(world.take_events().last().unwrap(), "main/disconnect/account resolved");
}

#[test]
fn a_date_beyond_every_rung_goes_as_quietly_as_it_came() {
    let far = || {
        let edd = crate::model::Edd::At(start() + Duration::days(40));
        crate::model::Report { edd, ..rich() }
    };
    let mut world = World::healthy();
    world.report(far());
    let known = |world: &World| world.incident(Kind::Disconnect, "account").ladder.is_some();
    for well in [false, true] {
        assert!(known(&world));
        if well {
            // One report that is well is not yet two.
            world.report(rich());
            assert!(known(&world));
            world.report(rich());
        } else {
            world.report(rich());
            world.report(far());
        }
    }
    assert!(!known(&world));
    let reason = world.incident(Kind::Disconnect, "account").reason.to_string();
    assert_eq!(reason, "no cut-off is expected any more");
    assert_eq!(world.incident(Kind::Disconnect, "account").phase, Phase::Watching);
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn mails_of_a_ladder_answer_each_other_up_to_the_last_day_and_from_it() {
    let mut world = World::healthy();
    // (hours left, rung, answers the mail before)
    for (hours, rung, answers) in [(13 * 24, 14, false), (6 * 24, 7, true), (90, 4, false), (60, 3, true)] {
        let before: Vec<String> = match world.engine.incidents().get(&world.key(Kind::Disconnect, "account"))
        {
            Some(incident) => incident.threads.values().cloned().collect(),
            None => Vec::new(),
        };
        world.report(cut_off_in(hours));
        assert_eq!(world.events().last().unwrap(), &format!("main/disconnect/account rung:{rung}"));
        let threads: Vec<String> = world.told.last().unwrap().items[0].threads.values().cloned().collect();
        assert_eq!(threads, if answers { before } else { Vec::new() }, "rung {rung}");
        world.last_opens_threads();
    }
}

#[test]
fn what_is_known_from_before_the_first_mail_is_marked_so() {
    let mut world = World::new(crate::alert::AlertSettings::defaults());
    world.report(cut_off_in(53));
    assert!(world.incident(Kind::Disconnect, "account").pre_existing);
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    assert!(!world.incident(Kind::Disconnect, "account").pre_existing);
}

/// Whatever a clock of ours shows when the report is read, and whatever it is set to and back: the rung is that of the
/// days that were left by it, also across a start.
#[test]
fn a_clock_that_is_days_ahead_tells_the_rung_of_its_own_time_and_no_tighter_one() {
    for (ahead, rung) in [(0, 14), (1, 14), (2, 7), (4, 7), (5, 4), (6, 3), (7, 3), (8, 1)] {
        for starts_anew in [false, true] {
            let mut world = World::healthy();
            let set = Duration::days(ahead);
            world.now += set;
            if starts_anew {
                world.restart(Duration::minutes(1));
            }
            world.report(cut_off_in(9 * 24));
            world.pass(Duration::minutes(10));
            if starts_anew {
                world.restart(Duration::minutes(1));
                world.report(cut_off_in(9 * 24));
            }
            let want = format!("main/disconnect/account rung:{rung}");
            assert_eq!(world.take_events(), [want], "{ahead} days ahead, {starts_anew}");
            world.now -= set;
            world.report(cut_off_in(9 * 24));
            world.pass(Duration::minutes(10));
            let rungs = world.take_events();
            let rungs = rungs.iter().filter(|event| event.contains("rung:"));
            assert_eq!(rungs.count(), 0, "{ahead} days ahead, {starts_anew}");
        }
    }
}

/// As an account that pays before anybody was mailed: a date that the last report takes back crosses no rung.
#[test]
fn a_date_that_nobody_was_mailed_of_and_the_last_report_takes_back_moves_nothing() {
    let mut world = World::healthy();
    world.report(report("5000.00", crate::model::Edd::At(start() + Duration::hours(14 * 24 + 1))));
    world.report(rich());
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), [""; 0], "one report of two that prove it");
    // While no other comes, that one is no proof.
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.tick();
    assert_eq!(world.take_events(), ["main/disconnect/account rung:14"]);
}

/// Between the report before a payment and the first that names the new date, one named none.
#[test]
fn a_payment_counts_though_a_report_without_a_date_showed_it_first() {
    use crate::model::Edd;
    let mut world = World::healthy();
    world.report(report("25.50", Edd::At(start() + Duration::hours(1))));
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:1", "main/disconnect/account rung:0"]);
    world.report(rich());
    world.pass(Duration::hours(1));
    world.report(report("4990.00", Edd::At(start() + Duration::days(90))));
    assert_eq!(world.take_events(), ["main/disconnect/account paid:2026-05-31"]);
    // Less than at the last date is no payment.
    world.report(rich());
    world.report(report("4980.00", Edd::At(start() + Duration::days(91))));
    assert_eq!(world.take_events(), [""; 0]);
}

/// A provider that names no date: behind the cut-off its next charge is no later one.
#[test]
fn an_account_that_is_off_stays_overdue_while_nothing_is_left() {
    use crate::model::Edd;
    let charged = |balance: &str, days: i64| {
        let mut report = report(balance, Edd::Null);
        report.moments.edit(|moments| moments.iter_mut().for_each(|one| one.at += Duration::days(days)));
        report.date = report.date.map(|date| date + Duration::days(days));
        report
    };
    // More than was there before the cut-off, and as much.
    for (payment, until) in [("15.00", "2026-03-09"), ("5.00", "2026-03-08")] {
        let mut world = World::healthy();
        world.report(charged("5.00", 0));
        assert_eq!(world.take_events(), ["main/disconnect/account rung:1"]);
        world.pass(Duration::hours(24));
        assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
        for balance in ["-5.00", "-5.00", "-1.00"] {
            world.pass(Duration::minutes(50));
            world.report(charged(balance, 5));
        }
        assert_eq!(world.take_events(), [""; 0], "no later date, and paid in part it is still off");
        world.pass(Duration::hours(22));
        assert_eq!(world.take_events(), ["main/disconnect/account overdue:2026-03-04"]);
        world.report(charged(payment, 5));
        assert_eq!(world.take_events(), [format!("main/disconnect/account paid:{until}")]);
    }
}

#[test]
fn an_overdue_account_stays_so_while_its_reports_name_only_the_next_charge() {
    for (named, names_next) in [(true, false), (false, false), (true, true)] {
        let mut settings = crate::alert::AlertSettings::defaults();
        settings.deletion_days = 4;
        let mut world = World::healthy_with(settings);
        let edd = if named { Edd::At(start() + Duration::hours(12)) } else { Edd::Null };
        world.report(report("5", edd));
        world.told.clear();
        let mut told = Vec::new();
        for day in 1..=5 {
            // Nothing is paid, and the charges go on being listed.
            world.now = start() + Duration::days(day) + Duration::hours(1);
            let next = Edd::At(world.now + Duration::hours(23));
            let mut unpaid = report("-5", if names_next { next } else { Edd::Null });
            unpaid.moments.edit(|moments| moments.retain(|moment| moment.at > world.now));
            for _ in 0..2 {
                world.report(unpaid.clone());
                world.pass(Duration::hours(1));
            }
            told.extend(world.take_events());
        }
        told.retain(|event| event.contains("disconnect"));
        let of = |event: &str| format!("main/disconnect/account {event}");
        assert_eq!(told[0], of("rung:0"));
        let goes_on = |event: &String| event.contains("deletion:") || event.contains("overdue:");
        assert!(told[1..].iter().all(goes_on), "{told:?}");
        assert!(told.contains(&of("deletion:1")), "{told:?}");
    }
}

/// The date has no offset, and somebody corrects the zone.
#[test]
fn another_zone_puts_the_cut_off_of_an_overdue_account_right() {
    let mut world = World::healthy_with(AlertSettings { deletion_days: 9, ..AlertSettings::defaults() });
    let named = |hours: i64| report("-5", Edd::At(start() + Duration::hours(hours)));
    world.report(report("5", Edd::At(start() + Duration::hours(12))));
    world.pass(Duration::hours(13));
    let incident = |world: &World| world.incident(Kind::Disconnect, "account").clone();
    assert_eq!(incident(&world).words(), "Account main is cut off for non-payment");
    world.told.clear();
    let profile = world.book.state().profile.clone();
    let there = Profile { time_zone: Some(chrono_tz::Asia::Vladivostok), ..(*profile).clone() };
    for (zone, stands_at) in [(profile.clone(), 12), (there.into(), 2), (profile, 2)] {
        let book = std::mem::replace(&mut world.book, KnownAccount::new(zone.clone()));
        world.book = book.with_profile(zone);
        world.report(named(2));
        let ladder = incident(&world).ladder.unwrap();
        let cut_off = start() + Duration::hours(stands_at);
        assert_eq!(ladder.edd, Some(cut_off));
        assert_eq!(ladder.deleted_at, Some(cut_off + Duration::days(9)));
        assert!(world.told.is_empty(), "{:?}", world.events());
    }
    world.pass(Duration::hours(14));
    assert_eq!(world.take_events(), ["main/disconnect/account overdue:2026-03-03"]);
}

/// A silence ends more than a day after the mail was due that it held back.
#[test]
fn a_deletion_that_was_held_back_says_how_many_days_are_left() {
    let mut settings = crate::alert::AlertSettings::defaults();
    settings.deletion_days = 9;
    let mut world = World::healthy_with(settings);
    world.report(report("5", Edd::At(start() + Duration::hours(12))));
    world.pass(Duration::hours(13));
    world.told.clear();
    world.silence("main/disconnect/*", Duration::hours(72));
    world.pass(Duration::hours(71));
    assert_eq!(world.take_events(), [""; 0]);
    world.pass(Duration::hours(2));
    assert_eq!(world.events(), ["main/disconnect/account deletion:7"]);
    assert_eq!(world.told[0].items[0].reason.to_string(), "6 days before the data are deleted");
}

/// The provider left its date out for a day, and what stood in for it passed; then it names a later one.
#[test]
fn a_date_that_a_report_names_takes_the_place_of_what_stood_in_for_it() {
    use crate::model::forecast::Disconnect;
    let mut settings = crate::alert::AlertSettings::defaults();
    settings.deletion_days = 30;
    let mut world = World::healthy_with(settings);
    let read = |world: &mut World, hours, edd| {
        world.now = start() + Duration::hours(hours);
        let mut report = report("25.50", edd);
        report.moments.edit(|moments| moments.retain(|moment| moment.at > world.now));
        world.report(report);
        let mut told = world.take_events();
        told.sort();
        told
    };
    let of = |event: &str| format!("main/disconnect/account {event}");
    read(&mut world, 2 * 24, Edd::Null);
    assert_eq!(read(&mut world, 3 * 24 + 1, Edd::Null), [of("rung:0")]);
    // Less than a day ahead, and no payment.
    let named = start() + Duration::days(5);
    read(&mut world, 4 * 24 + 2, Edd::At(named));
    let told = read(&mut world, 4 * 24 + 4, Edd::At(named));
    assert_eq!(told, [of("balance-used-up"), of("extended:2026-03-07")], "once it held for an hour");
    assert_eq!(read(&mut world, 5 * 24 + 1, Edd::At(named)), [of("rung:0")]);
    let ladder = world.incident(Kind::Disconnect, "account").ladder.clone().unwrap();
    assert_eq!(ladder.disconnect(), Disconnect::At { at: named, computed: false });
    assert_eq!(ladder.deleted_at, Some(named + Duration::days(30)));
}

/// A calendar takes another day only with a higher number.
#[test]
fn another_last_day_to_pay_is_a_move_in_the_calendar() {
    let mut world = World::healthy();
    world.report(cut_off_in(24 * 10));
    let entry = |world: &World| world.incident(Kind::Disconnect, "account").calendar.unwrap();
    let before = entry(&world);
    world.pass(Duration::minutes(2));
    assert_eq!(entry(&world), before);
    world.settings.lead_days += 2;
    world.set_settings();
    world.pass(Duration::minutes(2));
    let after = entry(&world);
    assert_eq!((after.sequence, after.cut_off), (before.sequence + 1, before.cut_off));
    assert_eq!(after.pay_by, before.pay_by.map(|day| day - Duration::days(2)));
}

/// Beside a null date the balance may be that of the report's end, which is used up wherever a date is ahead.
#[test]
fn a_report_without_charges_makes_no_account_overdue_before_its_date_until_it_held_for_a_day() {
    for balance in ["-400", "0"] {
        let mut world = World::healthy();
        world.report(cut_off_in(13 * 24));
        world.told.clear();
        world.report(bare(balance));
        for _ in 0..23 {
            world.pass(Duration::hours(1));
            world.report(bare(balance));
        }
        assert_eq!(world.take_events(), [""; 0], "{balance}: it proves nothing");
        let ladder = world.incident(Kind::Disconnect, "account").ladder.clone().unwrap();
        assert_eq!((ladder.gone, ladder.used_up), (false, false));
        // The date is an older report's, which mails and page say.
        let read_at = world.book.state().billing.unconfirmed();
        assert_eq!((read_at, ladder.as_of(world.book.state(), world.now)), (ladder.read_at, ladder.read_at));
        world.pass(Duration::hours(1));
        world.report(bare(balance));
        assert_eq!(world.events(), ["main/disconnect/account rung:0"], "a day of nothing else");
        let item = &world.told[0].items[0];
        assert_eq!(item.reason.to_string(), "the balance is used up", "of this very report");
        assert_eq!(item.detail, "the balance is used up; cut-off Sun 15 Mar 12:00 UTC");
        assert_eq!(world.book.state().billing.unconfirmed(), None);
    }
    // Where no date is known it is overdue at once.
    let mut world = World::healthy();
    world.report(bare("-4"));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
}

/// Whose orders are all suspended is charged nothing more: the date that has passed goes on to tell when data are deleted.
#[test]
fn an_overdue_account_without_charges_keeps_the_date_since_when_it_is() {
    let mut settings = crate::alert::AlertSettings::defaults();
    settings.deletion_days = 4;
    let mut world = World::healthy_with(settings);
    world.report(report("5", Edd::At(start() + Duration::hours(12))));
    let mut told = Vec::new();
    for day in 1..=5 {
        world.now = start() + Duration::days(day) + Duration::hours(1);
        world.report(bare("-5"));
        world.pass(Duration::hours(2));
        let ladder = world.incident(Kind::Disconnect, "account").ladder.clone().unwrap();
        assert_eq!(ladder.disconnect().at(), Some(start() + Duration::hours(12)));
        told.extend(world.take_events());
    }
    told.retain(|event| event.contains("disconnect"));
    let of = |event: &str| format!("main/disconnect/account {event}");
    let want = ["rung:1", "rung:0", "deletion:3", "deletion:1", "deletion:0"];
    assert_eq!(told, want.map(of));
}

/// Never mailed, paid while far off, paid while near: what stands is what the report says.
#[test]
fn one_report_has_one_verdict_whatever_was_mailed_before() {
    let then = report("315.50", Edd::At(start() + Duration::hours(31 * 24 + 12)));
    let day = |days| start() + Duration::days(days);
    let mut verdicts = Vec::new();
    for paid_on in [None, Some(0), Some(3)] {
        let mut world = World::healthy();
        world.report(if paid_on.is_some() { report("45.50", Edd::At(day(5))) } else { then.clone() });
        world.now = day(paid_on.unwrap_or(0)) + Duration::minutes(5);
        world.report(then.clone());
        let told = world.told.iter().rfind(|notice| notice.form == Form::Disconnect);
        let told = told.map(|notice| notice.items[0].severity);
        let mails = [None, Some(Severity::Info), Some(Severity::Warning)];
        assert_eq!(told, mails[paid_on.map_or(0, |day| 1 + usize::from(day > 0))]);
        for days in [7, 18, 28] {
            world.now = day(days);
            world.report(then.clone());
            let status = world.status();
            let severity = status.incidents.open.first().map(|row| row.severity);
            verdicts.push((days, status.headline, severity));
        }
    }
    let of = |days| verdicts.iter().filter(move |verdict| verdict.0 == days).collect::<Vec<_>>();
    for (days, level, sentence, severity) in [
        (7, Urgency::Fine, "All 7 resources fine · paid until 3 Apr (main)", Severity::Info),
        (18, Urgency::Attention, "Cut-off Fri 3 Apr: pay 165 RUB by Mon 30 Mar (main)", Severity::Warning),
        (28, Urgency::Attention, "Cut-off Fri 3 Apr: pay 265 RUB today (main)", Severity::Critical),
    ] {
        for (_, headline, stands) in of(days) {
            assert_eq!((headline.level, headline.sentence.as_str()), (level, sentence), "day {days}");
            assert!(stands.is_none_or(|stands| stands == severity), "day {days}: {stands:?}");
        }
    }
}
