//! Reports of the balance: which of them open a cut-off, which of them end it, and which prove nothing.

use super::{World, cut_off_in, money, report, rich, start, stories};
use crate::alert::{Cause, Kind, Severity};
use crate::model::forecast::Disconnect;
use crate::model::{Collector, Edd};
use crate::view::headline::Urgency;
use chrono::Duration;

#[test]
fn only_reports_that_prove_it_are_an_all_clear() {
    stories(
        World::healthy,
        "cut-off 53h, fail report error, heal report, paid => ops[disconnect]: rung:3
         report => ops[disconnect]: resolved
         cut-off 53h, 1d => rung:3",
    );
}

/// The expected balance is that of the report's last day, so it is below 0 whenever a date is ahead.
#[test]
fn a_report_whose_charges_cannot_be_read_is_no_overdue_account() {
    let mut world = World::healthy();
    world.report(cut_off_in(13 * 24));
    let mut unreadable = cut_off_in(13 * 24);
    unreadable.expected_balance = Some(money("-400"));
    unreadable.moments.edit(Vec::clear);
    unreadable.moments_rejected = 90;
    unreadable.whole_until = Some(start());
    world.report(unreadable);
    world.report(cut_off_in(13 * 24));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:14"]);
}

/// Charges may be left out for a day; then the expected balance is that of now.
#[test]
fn a_balance_below_0_in_reports_without_charges_is_used_up_after_a_day() {
    let mut world = World::healthy();
    let mut bare = cut_off_in(12 * 24);
    bare.expected_balance = Some(money("-40"));
    bare.moments.edit(Vec::clear);
    for hours in [23, 2] {
        (0..hours).for_each(|_| {
            world.pass(Duration::hours(1));
            world.report(bare.clone());
        });
        let want: &[&str] = if hours == 23 { &["rung:14"] } else { &["balance-used-up"] };
        assert_eq!(world.take_ladder(), want);
    }
}

/// An unreadable report is news: the last known date may come while nobody hears of it.
#[test]
fn a_cut_off_date_that_is_not_known_for_an_hour_is_told() {
    stories(
        World::healthy,
        "cut-off 13d => rung:14
         unreadable 500000, idle 50m, report =>
         idle 11m, report => billing_report opened
         words: Cut-off date unknown since Mon 2 Mar, last known Sun 15 Mar
         cut-off 13d, report => disconnect paid:2026-03-15 billing_report resolved

         unreadable 500000, idle 61m, report => billing_report opened
         words: Cut-off date unknown since Mon 2 Mar
         unwatch report => billing_report unwatched

         unreadable 500000, idle 3h =>

         cut-off 13d, unreadable-bare -400, idle 50m, report => rung:14
         idle 11m, report => billing_report opened

         unreadable 500000, sleep 40m, report, sleep 40m, report, idle 3m => billing_report opened

         cut-off 13d, unreadable 500000, idle 30m, paid, report, unreadable 500000, idle 50m, report => rung:14 resolved",
    );
    let mut world = World::healthy();
    world.live("cut-off 13d, unreadable 500000, idle 61m, report");
    let row = world.system.rows(world.now).into_iter().find(|row| row.kind == Kind::BillingReport).unwrap();
    assert_eq!(row.why, Some(Cause::Unchanged { minutes: 61 }));
    let severity_of = |steps: &str| {
        let mut world = World::healthy();
        world.live(steps);
        let exported = world.exported();
        exported.into_iter().find(|one| one.starts_with("billing_report")).unwrap()
    };
    assert_eq!(
        severity_of("cut-off 13d, unreadable 500000, idle 61m, report"),
        "billing_report/account warning 1"
    );
    let near = "billing_report/account critical 1";
    assert_eq!(severity_of("cut-off 2d, unreadable 500000, idle 61m, report"), near);
    // It comes near while no report can be read.
    let waits = "cut-off 13d, unreadable 500000, idle 61m, report, idle until 2026-03-12T12:00:00Z, report";
    assert!(severity_of(waits).contains(" critical 1"), "{}", severity_of(waits));
}

/// A report that is read whole can leave the known date open too. The mail names that date, whatever the report
/// computes past unreadable charges.
#[test]
fn a_report_that_proves_nothing_names_the_date_known_before_it() {
    let mut too_short = rich();
    too_short.date = Some(start() + Duration::hours(50));
    let mut bare = rich();
    bare.moments.edit(Vec::clear);
    let mut past_a_gap = report("250.50", Edd::Null);
    past_a_gap.moments.edit(|all| drop(all.drain(..20)));
    (past_a_gap.moments_rejected, past_a_gap.whole_until) = (20, Some(start()));
    for (report, doubt) in [
        (too_short, "the report ends before the cut-off date known so far (date: 2026-03-04T14:00:00Z)"),
        (bare, "only a day of reports without charges is a proof (charge_moments: no charge above 0)"),
        (past_a_gap, "the expected balance is not known to be above 0 (expected_balance: -649.5)"),
    ] {
        let mut world = World::healthy();
        world.report(cut_off_in(53));
        world.report(report.clone());
        assert!(world.awaited().contains(&Collector::ExpectedBalance), "it is asked again soon: {doubt}");
        world.pass(Duration::minutes(61));
        world.report(report);
        assert!(!world.awaited().contains(&Collector::ExpectedBalance), "it is told: {doubt}");
        let mails = world.mails();
        let mut told = mails.iter().flat_map(|mail| &mail.items);
        let told = told.find(|one| one.key.kind == Kind::BillingReport).expect(doubt);
        assert_eq!(told.words, "Cut-off date unknown since Mon 2 Mar, last known Wed 4 Mar", "{doubt}");
        assert_eq!(told.detail, doubt);
        let began = start() + Duration::seconds(61)..start() + Duration::minutes(5);
        assert!(began.contains(&told.since), "since the first of them: {}", told.since);
    }
}

#[test]
fn a_cut_off_is_computed_from_the_charges_where_no_date_is_named() {
    let mut world = World::healthy();
    let at = world.now + Duration::days(3);
    world.live("no-date 2550");
    assert_eq!(world.heard("ops", ""), "rung:3");
    let cut_off = Disconnect::At { at, computed: true };
    let row = world.row(Kind::Disconnect, "account").unwrap();
    assert_eq!(row.cut_off, Some(cut_off));
    assert_eq!(row.reason, "cut-off Thu 5 Mar (computed); less than 3 days left");
    stories(
        World::healthy,
        "cut-off 6d 2550 => rung:7
         detail: cut-off Sun 8 Mar
         cut-off 3d 2550 => rung:3
         detail: cut-off Thu 5 Mar

         bare -1 => rung:0
         detail: cut-off now",
    );
}

#[test]
fn a_report_without_charges_proves_nothing_until_it_held_for_a_day() {
    // With a null date, the balance may be that of the report's last day, which is used up whenever a date is ahead.
    stories(
        World::healthy,
        "cut-off 13d 2550 => rung:14
         bare -400, hourly 23 => billing_report opened
         words: Cut-off date unknown since Mon 2 Mar, last known Sun 15 Mar
         detail: only a day of reports without charges is a proof (charge_moments: no charge above 0)
         hourly 1 => rung:0
         reason: the balance is used up
         detail: cut-off now
         hourly 1 => billing_report resolved",
    );
    stories(
        World::healthy,
        "bare -4 => rung:0

         cut-off 53h, bare 50000, hourly 23 => rung:3 billing_report opened
         hourly 3 => .. resolved

         cut-off 13d 2550, bare 0, hourly 23 => rung:14 billing_report opened
         hourly 3 => .. resolved

         bare 0, hourly 30 => ops[disconnect]:",
    );
    // Charges of 0.00 name orders that cost nothing, and tell as little about others.
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    let mut free = rich();
    free.expected_balance = Some(money("500"));
    free.moments.edit(|moments| {
        for moment in moments {
            (moment.amount, moment.balance) = (money("0.00"), money("500"));
        }
    });
    (0..4).for_each(|_| world.report(free.clone()));
    assert_eq!(world.take_ladder(), ["rung:3"]);
    for _ in 0..25 {
        world.later(Duration::hours(1));
        world.report(free.clone());
    }
    assert_eq!(world.take_ladder().last().unwrap(), "resolved");
}

#[test]
fn a_date_that_cannot_be_read_takes_no_known_one_back() {
    stories(
        World::healthy,
        "cut-off 13d 2550, unreadable-bare -400, report 2 => rung:14
         idle 7d => rung:7

         cut-off 40d 2550, unreadable-bare -400, report 2 => ops[disconnect]:
         idle 34d => ops[disconnect]: .. rung:7

         unreadable-bare -400 => rung:0",
    );
}

#[test]
fn a_date_beyond_every_rung_goes_as_quietly_as_it_came() {
    let mut world = World::healthy();
    let is_known = |world: &World| world.calendar().is_some_and(|entry| !entry.cancelled);
    for steps in ["cut-off 40d 500000", "paid", "cut-off 40d 500000", "paid"] {
        assert!(is_known(world.live(steps)), "one good report is not yet two");
    }
    assert!(!is_known(world.live("report")));
    assert_eq!(world.heard("ops", ""), "");
}

/// The account never had a mail, or was paid while the date was far or near: only the report decides.
#[test]
fn one_report_has_one_verdict_after_any_mail_before() {
    let then = report("315.50", Edd::At(start() + Duration::hours(31 * 24 + 12)));
    let day = |days| start() + Duration::days(days);
    let mails = [(None, None), (Some(0), Some(Severity::Info)), (Some(3), Some(Severity::Warning))];
    for (paid_on, mailed) in mails {
        let mut world = World::modest();
        world.report(if paid_on.is_some() { report("45.50", Edd::At(day(5))) } else { then.clone() });
        world.now = day(paid_on.unwrap_or(0)) + Duration::minutes(5);
        world.report(then.clone());
        let told = world.mails().into_iter().rfind(|mail| mail.form == "disconnect");
        assert_eq!(told.map(|mail| mail.items[0].severity), mailed);
        for (days, level, sentence, severity) in [
            (7, Urgency::Fine, "All 7 resources fine · paid until 3 Apr (main)", Severity::Info),
            (
                18,
                Urgency::Attention,
                "Cut-off Fri 3 Apr: pay 165 RUB by Mon 30 Mar (main)",
                Severity::Warning,
            ),
            (28, Urgency::Attention, "Cut-off Fri 3 Apr: pay 265 RUB today (main)", Severity::Critical),
        ] {
            world.now = day(days);
            world.report(then.clone());
            let status = world.status();
            let headline = &status.headline;
            assert_eq!((headline.level, headline.sentence.as_str()), (level, sentence), "day {days}");
            let open = status.incidents.open.first();
            assert!(open.is_none_or(|row| row.severity == severity), "day {days}");
        }
    }
}
