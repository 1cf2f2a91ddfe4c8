//! Mails after a cut-off, day by day, and what ends them.

use chrono::Duration;

use super::{World, moment, stories, stories_of};

/// An account that was cut off on Tuesday at 06:00, and told so then.
fn overdue() -> World {
    let mut world = World::with_boss();
    world.live("cut-off at 2026-03-03T06:00:00Z 500, idle until 2026-03-03T06:10:00Z, balance -500");
    assert_eq!(world.heard("ops", ""), "rung:1 rung:0");
    world.forget();
    world
}

/// The events of a mail each day for a week, then every third day until day 37.
fn every_day() -> String {
    let date = |day| (moment("2026-03-03T06:00:00Z") + Duration::days(day)).date_naive();
    let events = (1..=7).chain((10..=37).step_by(3)).map(|day| format!("overdue:{}", date(day)));
    events.collect::<Vec<_>>().join(" ")
}

/// Wakes both earlier and much later in the day than the cut-off, which came at six.
const WAKES: [&str; 3] = ["00:30", "09:00", "21:00"];

#[test]
fn an_overdue_account_is_mailed_on_each_due_day_by_a_machine_that_wakes_once_a_day() {
    let daily = every_day();
    stories_of(overdue, &WAKES, &format!("wakes {{}} 45 => {daily}"));
    // Only a date has a day of deletion.
    stories(
        World::healthy,
        "deletion 9, later until 2026-03-03T09:00:00Z, bare -400, wakes 09:00 12 => rung:0 overdue:2026-03-04 \
         overdue:2026-03-05 overdue:2026-03-06 overdue:2026-03-07 overdue:2026-03-08 overdue:2026-03-09 \
         overdue:2026-03-10 overdue:2026-03-13",
    );
}

#[test]
fn the_deletion_of_data_takes_the_place_of_that_day_s_mail_and_ends_the_mails() {
    stories_of(
        overdue,
        &WAKES,
        "deletion 9, wakes {} 14 => overdue:2026-03-04 deletion:7 overdue:2026-03-06 overdue:2026-03-07 \
         overdue:2026-03-08 deletion:3 overdue:2026-03-10 deletion:1 deletion:0",
    );
    let daily = every_day();
    stories_of(
        overdue,
        &WAKES,
        &format!("deletion 60, wakes {{}} 70 => {daily} deletion:7 deletion:3 deletion:1 deletion:0"),
    );
    stories(
        overdue,
        "deletion 9, wakes 09:00 1, sleep until 2026-03-10T09:00:00Z, look, idle 3m, wakes 09:00 3 \
         => overdue:2026-03-04 deletion:3 deletion:1 deletion:0

         deletion 9, wakes 09:00 1, idle 10m, ack disconnect/account, wakes 09:00 6 \
         => overdue:2026-03-04 deletion:7 overdue:2026-03-08 deletion:3 overdue:2026-03-10

         deletion 9, silence main/disconnect/* 5d, wakes 09:00 4 => deletion:7

         deletion 10, cut-off at 2026-03-02T23:00:00Z -500, idle until 2026-03-09T22:50:00Z => .. overdue:2026-03-08
         idle 20m => deletion:3",
    );
    stories(
        World::healthy,
        "deletion 1, cut-off 20h, 4d => rung:1 rung:0 deletion:0

         deletion 2, cut-off 20h, 5d => rung:1 rung:0 deletion:1 deletion:0

         deletion 2, overdue 3d, 2d => rung:0

         deletion 2, overdue 30h, 2d => rung:0 deletion:0

         deletion 9, cut-off 6d, silence main/disconnect/* 14d, 13d => rung:7 deletion:7 deletion:3
         3d => rung:0 deletion:0

         deletion 2, silence main/disconnect/* 30d, cut-off 6d, 9d => ops[disconnect]: deletion:1 deletion:0
         paid, report, 1h => ops[disconnect]: resolved

         deletion 9, overdue 1h, 50h => rung:0 overdue:2026-03-03 deletion:7
         paid, report, 10d => resolved

         deletion 9, overdue 1h, 50h => rung:0 overdue:2026-03-03 deletion:7
         rule disconnect off, 3d => unwatched",
    );
}

#[test]
fn an_overdue_account_is_told_once_on_each_of_its_own_days() {
    for (zone, cut_off) in [
        (chrono_tz::Asia::Vladivostok, "2026-03-03T06:00:00Z"),
        // Clocks change within the week.
        (chrono_tz::Europe::Berlin, "2026-03-27T22:30:00Z"),
    ] {
        let cut_off = moment(cut_off);
        let mut world = World::healthy();
        world.live(&format!(
            "zone {zone}, later until {:?}, cut-off 2h 500, hourly 266",
            cut_off - Duration::hours(2)
        ));
        let date = |at: chrono::DateTime<chrono::Utc>| at.with_timezone(&zone).date_naive();
        let mut days = Vec::new();
        for (at, item) in world.told_of("ops", "disconnect") {
            if item.event.to_string().starts_with("overdue") {
                assert_eq!(item.event.to_string(), format!("overdue:{}", date(at)), "{zone}");
                days.push((date(at) - date(cut_off)).num_days());
            }
        }
        assert_eq!(days, [1, 2, 3, 4, 5, 6, 7, 10], "{zone}");
    }
}

/// The provider names the present moment, the next charge or no date at all.
#[test]
fn an_account_that_is_off_stays_overdue_while_nothing_is_left() {
    stories_of(
        overdue,
        &["cut-off -20s -500", "cut-off 60s -500", "no-date -500", "cut-off 23h -500"],
        "deletion 6
         {}, idle 30m, {}, idle 23h, {}, idle 30m, {}, idle 1d => overdue:2026-03-04 overdue:2026-03-05
         {}, idle 1d => deletion:3",
    );
    // One payment leads to more than the balance before the cut-off, the other to the same.
    for (kopecks, until) in [(1500, "2026-03-06"), (500, "2026-03-05")] {
        stories(
            World::modest,
            &format!(
                "no-date 500, idle 24h => rung:1 rung:0
                 idle 50m, no-date -500, idle 50m, no-date -500, idle 50m, no-date -100 =>
                 idle 22h => overdue:2026-03-04
                 no-date {kopecks} => disconnect paid:{until}"
            ),
        );
    }
}

#[test]
fn a_payment_ends_the_daily_mails_with_the_first_report_that_shows_it() {
    stories(
        overdue,
        "wakes 09:00 1, paid => overdue:2026-03-04
         report => resolved
         wakes 09:00 9 =>

         deletion 4, sleep until 2026-03-04T09:00:00Z, vms, containers, sites, paid, tick =>
         overdue 27h, tick => deletion:3
         sleep until 2026-03-05T09:00:00Z, vms, containers, sites, paid, tick =>
         overdue 51h, tick => overdue:2026-03-05",
    );
    // A report without a date shows the payment first.
    stories(
        World::modest,
        "cut-off 1h 2550, idle 2h => rung:1 rung:0
         paid, idle 1h, cut-off 90d 499000 => disconnect paid:2026-05-31
         paid, cut-off 91d 498000 =>",
    );
}

#[test]
fn an_account_that_is_overdue_at_the_first_start_is_mailed_daily_to_all_and_to_escalation_recipients() {
    stories(
        World::unborn,
        "later until 2026-03-03T09:00:00Z, overdue 3h, vms, containers, sites \
         => ops[disconnect]: rung:0; boss: rung:0|escalated
         wakes 09:00 3 => overdue:2026-03-04 overdue:2026-03-05 overdue:2026-03-06; \
         boss: overdue:2026-03-04 overdue:2026-03-05 overdue:2026-03-06",
    );
}
