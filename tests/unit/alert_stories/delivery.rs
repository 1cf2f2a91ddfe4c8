//! Mails that the server defers, refuses or whose reply is lost. The last mail is true, and builds only on facts
//! that its reader was told.

use chrono::{DateTime, Duration, Utc};

use super::{Fate, World, stories, stories_of};
use crate::alert::{Digest, Kind, Lane};

/// The time and Message-ID of each attempt of a mail to "ops" about this.
fn attempts(world: &World, about: &str) -> Vec<(DateTime<Utc>, String)> {
    let all = world.attempts.iter().filter(|(_, mail, _)| {
        mail.to == "ops" && mail.items.iter().any(|item| item.key.to_string().contains(about))
    });
    all.map(|(at, mail, _)| (*at, mail.id.clone())).collect()
}

#[test]
fn a_beginning_that_surely_did_not_arrive_and_its_end_are_one_mail() {
    stories_of(
        World::healthy,
        &["defers", "away", "rejects", "refused"],
        "everybody {}, vm1=error, 10m, vm1=active, vms, 1h =>
         everybody accepts, 3h => vm_error/1 was-down

         everybody {}, vm1=error vm2=error, idle 10m, vm2=active, vms, everybody accepts, 3h \
         => ops[/1]: opened; ops[/2]: was-down
         vm1=active, vms => vm_error/1 resolved

         everybody {}, cut-off 6d, paid, report, everybody accepts, 30h => was-down

         everybody {}, vm1=error, cut-off 6d, cut-off 20h, everybody accepts, 5h \
         => ops[disconnect]: rung:1; ops[vm]: opened

         to ann bob, bob: {}, vm1=error, to bob, vm1=active, vms, everybody accepts, 2h => ann: opened resolved; \
         bob: was-down",
    );
    stories(
        World::healthy,
        "everybody defers, vm1=error, idle 25h, everybody accepts, idle 31m => opened

         everybody defers, cut-off 6d, idle 3h, vm1=error, everybody accepts, idle 3m => vm_error/1 opened disconnect rung:7

         everybody defers, vm1=error, restart 5m, everybody accepts, vm1=active, look, vms, idle 2h => was-down

         vm1=error, everybody away, idle 5m, vm1=active, vms, idle 20m, vm1=error, everybody accepts, 2h \
         => opened opened

         everybody away, cut-off 6d, restart 10m, paid, report, look, everybody accepts, 1h => was-down",
    );
    let mut world = World::healthy();
    let began = world.now;
    let once = "vm1=error, idle 40m, vm1=active, vms, idle 40m";
    world.live("everybody away").live(once).live(once).live("everybody accepts, idle 1h");
    assert_eq!(world.heard("ops", ""), "was-down");
    let told = world.last_told();
    assert!(told.since - began <= Duration::minutes(1), "its first beginning: {}", told.since);
    assert!(world.now - told.at <= Duration::minutes(102), "its last end: {}", told.at);
}

#[test]
fn after_a_lost_reply_the_same_mail_is_tried_and_an_end_is_worded_as_if_the_beginning_had_arrived() {
    // (what was told before, the mail whose reply is lost, about what)
    for (before, lost, about) in [
        ("", "vm1=error, idle 3m", "vm_error/1"),
        ("", "overdue 1h, vm1=blocked vm2=blocked, idle 10m", "disconnect"),
    ] {
        for fate in ["loses", "late"] {
            let mut world = World::healthy();
            let known = attempts(world.live(before), about).len();
            world.live(&format!("everybody {fate}")).live(lost).live("everybody accepts, idle 30m");
            let tried = attempts(&world, about).split_off(known);
            assert!(tried.len() >= 2 && tried[1].1 == tried[0].1, "{lost}, {fate}: {tried:?}");
        }
    }
    stories(
        World::healthy,
        "everybody loses, vm1=error, everybody away, idle 20m, vm1=active, vms, everybody accepts, idle 3h => resolved

         everybody late, vm1=error, everybody away, idle 20m, vm1=active, vms, everybody accepts, idle 3h \
         => opened resolved

         everybody loses, vm1=error vm2=error, everybody away, vm1=active, vms, everybody accepts, idle 31m \
         => ops[/1]: resolved; ops[/2]: opened

         everybody loses, vm1=error, everybody away, idle 25h, everybody accepts, idle 31m => opened reminder:1

         everybody loses, overdue 1h, everybody away, idle 26h, everybody accepts, idle 31m => rung:0

         vm1=error, 10m, everybody loses, vm1=active, vms, vm1=error, everybody accepts, 3h => opened opened

         vm1=error, 10m, everybody late, vm1=active, vms, vm1=error, everybody accepts, 3h => opened resolved opened

         no-reminders, vm1=error vm2=error, 10m, everybody loses, vm1=active vm2=active, vms, everybody away, idle 5m, \
         silence */vm_error/1 2h, vm1=error, 10m, vm1=active, 1h, everybody accepts, 3h \
         => ops[/1]: opened resolved; ops[/2]: opened resolved

         no-reminders, everybody loses, vm1=error, everybody away, idle 5m, silence */vm_error/1 1h, everybody accepts, 3h \
         => opened

         everybody loses, vm1=error, everybody refused, 3h, vm1=active, vms, everybody accepts, 30h => resolved

         everybody loses, vm1=error, everybody refused, 3h, everybody accepts, 30h => opened reminder:1",
    );
    // Both replies were lost; the mail about the payment did not arrive.
    stories(
        World::healthy,
        "everybody late, cut-off 6d, everybody away, idle 2h => rung:7
         everybody loses, cut-off 20d 600000, everybody away, idle 2h, everybody accepts, idle 3h => paid:2026-03-22",
    );
}

#[test]
fn a_mail_whose_recovery_waits_is_followed_by_one_about_its_next_episode() {
    for to in ["ops", "webhook:ops"] {
        for (fate, heard, other) in
            [("loses", "opened was-down", ""), ("late", "opened resolved was-down", " resolved")]
        {
            stories(
                World::healthy,
                &format!(
                    "to {to}, vm1=error vm2=error, idle 30m, vm1=active vm2=active, everybody {fate}, vms,
                     everybody defers, idle 10m, vm1=error, idle 30m, vm1=active, vms, idle 43m
                     everybody accepts, 4h => {to}[/1]: {heard}; {to}[/2]: opened resolved{}",
                    if to == "ops" { other } else { "" }
                ),
            );
        }
    }
}

#[test]
fn a_start_finds_the_mail_whose_reply_was_lost_and_reads_before_it_sends_anything() {
    for minutes in [5, 120] {
        let mut world = World::healthy();
        world.live(&format!(
            "everybody loses, vm1=error, restart {minutes}m, everybody accepts, look, idle 40m"
        ));
        assert_eq!(world.heard("ops", ""), "opened");
        let tried = attempts(&world, "vm_error/1");
        assert_eq!(tried[0].1, tried.last().unwrap().1, "{minutes} min: {tried:?}");
    }
    stories(
        World::healthy,
        "everybody loses, vm1=error, everybody accepts, restart 40m, tick =>
         vm1=active, look => resolved

         vm1=error, everybody loses, vm1=active, vms, everybody accepts, restart 40m, tick => opened
         vm1=error, look => opened

         everybody away, vm1=error vm2=error, restart 5m, vm2=active, vms, everybody accepts, look, 1h \
         => ops[/1]: opened; ops[/2]: was-down

         everybody loses, vm1=error, restart 10m, everybody refused, look, 10m, everybody accepts, 3h => opened

         everybody loses, cut-off 6d, restart 3h, everybody accepts, look, 1h => rung:7

         everybody rejects, vm1=error, cut-off 6d, everybody accepts, sleep 3h, tick =>
         look => vm_error/1 opened disconnect rung:7",
    );
}

#[test]
fn a_mail_whose_reply_is_always_lost_is_sent_again_five_times_and_then_counts_as_told() {
    let mut world = World::healthy();
    world.live("no-reminders, everybody loses, vm1=error, 4d");
    let tried = attempts(&world, "vm_error/1");
    assert_eq!(tried.len(), 6, "{tried:?}");
    assert!(tried.iter().all(|(_, id)| *id == tried[0].1), "{tried:?}");
    let debts = world.system.log.debts(world.now);
    assert!(
        debts.iter().any(|one| one.recipient == "ops" && one.unsure_since == Some(tried[0].0)),
        "{debts:?}"
    );
    assert!(debts.iter().all(|one| one.since == one.unsure_since), "{debts:?}");
    world.live("everybody accepts, vm1=active, vms, idle 26h");
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    let unsure =
        |world: &World| world.system.log.debts(world.now).iter().any(|one| one.unsure_since.is_some());
    assert!(unsure(&world), "another mail that arrives tells nothing of that one");
    world.live("idle 7d");
    assert!(!unsure(&world));
}

#[test]
fn contents_that_a_server_refuses_like_us_are_told_in_their_light_form_after_five_minutes() {
    stories(
        World::healthy,
        "everybody doubts, vm1=error, 4m =>
         2m => vm_error/1 opened
         cut-off 6d, 4m =>
         2m => disconnect rung:7",
    );
    let mut world = World::unborn();
    world.live("everybody doubts, look, 6m");
    assert_eq!(world.mails().iter().map(|mail| mail.form).collect::<Vec<_>>(), ["started"]);
    // Another mail finds out first whether the server takes any.
    let mut world = World::healthy();
    world.live("everybody doubts, vm1=error, 1m, everybody accepts, vm2=error, 10m");
    let tried: Vec<_> = world.mails().iter().map(|mail| (mail.items[0].key.id(), mail.is_light)).collect();
    assert_eq!(tried, [(Some(2), false), (Some(1), true)]);
}

#[test]
fn contents_that_are_refused_like_us_are_to_blame_once_another_mail_was_taken() {
    for (between, tried_at_minutes) in [
        ("vm2=error, 8h", [0, 5, 65, 185, 425].as_slice()),
        // Nothing else was taken, whatever was looked at meanwhile.
        ("20m", &[0, 5, 10, 15, 20]),
    ] {
        let mut world = World::healthy();
        let from = world.now;
        world.live(&format!("to ops, no-reminders, everybody doubts-vm1, vm1=error, {between}"));
        let about = world
            .attempts
            .iter()
            .filter(|(_, mail, _)| mail.items.iter().any(|item| item.key.id() == Some(1)));
        let tried: Vec<i64> = about.map(|(at, ..)| (*at - from).num_minutes() / 5 * 5).collect();
        assert_eq!(tried, tried_at_minutes, "{between}");
    }
}

#[test]
fn a_mail_that_is_held_for_its_contents_keeps_its_error_when_another_arrives() {
    let mut world = World::healthy();
    world.live("everybody rejects, vm1=error, look");
    world.system.log.failed("ops", Lane::Other, "554 5.6.0 no", true, world.now);
    world.live("everybody accepts, vm2=error");
    assert!(world.take_events().contains(&"main/vm_error/2 opened".to_owned()));
    let debts = world.system.log.debts(world.now);
    let held = debts.iter().find(|one| one.recipient == "ops").unwrap();
    assert!(held.owed.len() == 1 && held.error.is_some() && held.refused_since.is_some(), "{held:?}");
    world.live("idle 2h");
    assert!(world.system.log.debts(world.now).is_empty());
}

#[test]
fn a_first_mail_or_digest_that_is_held_for_its_contents_keeps_its_error_when_another_arrives() {
    let (mut first, mut digest) = (World::unborn(), World::healthy());
    first.live("everybody rejects, look");
    digest.system.log.owe_digest("ops", weekly_digest(digest.now));
    digest.live("everybody rejects, idle 1m");
    for (lane, mut world) in [(Lane::Other, first), (Lane::Digest, digest)] {
        world.system.log.failed("ops", lane, "554 5.6.0 no", true, world.now);
        world.live("everybody accepts, vm1=error");
        assert!(world.take_events().contains(&"main/vm_error/1 opened".to_owned()), "{lane:?}");
        let debts = world.system.log.debts(world.now);
        assert!(debts.len() == 1 && debts[0].error.is_some(), "{lane:?}: {debts:?}");
        world.live("idle 2h");
        assert!(world.system.log.debts(world.now).is_empty(), "{lane:?}");
    }
}

#[test]
fn a_recipient_waits_since_its_oldest_debt() {
    let mut world = World::healthy();
    world.live("everybody defers, vm1=error, look");
    let debts = |world: &World| world.system.log.debts(world.now);
    let since = debts(&world)[0].since;
    assert!(since.is_some());
    world.live("2h, vm2=error, 2h");
    let debts = debts(&world);
    assert_eq!((debts[0].since, debts[0].owed.len() + debts[0].in_flight.len()), (since, 2), "{debts:?}");
}

#[test]
fn a_mail_without_a_reply_goes_on_while_a_collector_fails_and_holds_up_no_other() {
    stories(
        World::healthy,
        "to ops, everybody loses, vm1=error, fail vms, everybody accepts, idle 5m => vm_error/1 opened
         idle 20m => collector_failing opened

         to ops, everybody loses, vm1=error, everybody defers, 10m, everybody accepts, 1h => opened",
    );
}

/// A digest lists what is open, so a newer mail or a change outdates it.
#[test]
fn a_digest_without_a_reply_is_not_sent_again_once_it_is_outdated() {
    for (meanwhile, is_outdated) in [
        ("idle 5m", false),
        ("vm1=active, vms, everybody accepts", true),
        ("vm2=error, everybody accepts", true),
        ("everybody away, vm1=active, vms, everybody accepts", true),
        ("everybody accepts, restart 40m, tick, vm1=active, look", true),
        ("everybody accepts, restart 40m, tick, look", false),
    ] {
        let mut world = World::healthy();
        world.live("to ops, no-reminders, vm1=error, 1h, everybody loses");
        world.system.log.owe_digest("ops", weekly_digest(world.now));
        world.live(&format!("tick, {meanwhile}, everybody accepts, idle 1h"));
        let tried: Vec<_> = world.attempts.iter().filter(|(_, mail, _)| mail.form == "digest").collect();
        let again = tried.iter().filter(|(_, _, fate)| matches!(fate, Fate::Accept)).count();
        assert_eq!(again == 0, is_outdated, "{meanwhile}: {tried:?}");
        assert!(tried.iter().all(|one| one.1.id == tried[0].1.id), "{meanwhile}: {tried:?}");
        let debts = world.system.log.debts(world.now);
        assert_eq!(debts.iter().any(|one| one.unsure_since.is_some()), is_outdated, "{meanwhile}: {debts:?}");
    }
}

#[test]
fn a_first_mail_or_digest_whose_contents_are_refused_is_tried_ever_more_seldom() {
    // Each mail is made anew, so that what it says is true.
    let hours_of = |steps: &str, world: &mut World| {
        let from = world.now;
        world.attempts.clear();
        world.live(steps);
        world.attempts.iter().map(|(at, ..)| (*at - from).num_hours()).collect::<Vec<_>>()
    };
    let mut world = World::unborn();
    assert_eq!(hours_of("everybody rejects, look, idle 8h", &mut world), [0, 0, 1, 3, 7]);
    world.live("everybody accepts, idle 8h");
    assert!(world.mails().iter().any(|mail| mail.form == "started"));
    world.system.log.owe_digest("ops", weekly_digest(world.now));
    assert_eq!(hours_of("everybody rejects, idle 8h", &mut world), [0, 0, 1, 3, 7]);
}

#[test]
fn a_digest_that_is_refused_goes_in_its_light_form_and_the_mails_of_what_it_lists_do_not() {
    for fate in ["doubts", "rejects"] {
        let mut world = World::healthy();
        world.live("to ops, no-reminders, vm1=error, 1h");
        world.system.log.owe_digest("ops", weekly_digest(world.now));
        world.live(&format!("everybody {fate}, tick, everybody accepts, vm1=active, 1h"));
        let tried = world.attempts.iter().map(|(_, mail, _)| (mail.form, mail.is_light));
        let mut tried: Vec<_> = tried.skip_while(|(form, _)| *form != "digest").collect();
        tried[1..].sort_unstable();
        tried.dedup();
        assert_eq!(tried, [("digest", false), ("digest", true), ("incidents", false)], "{fate}");
    }
}

#[test]
fn a_refused_recipient_or_mail_is_tried_again_after_1_2_4_and_at_most_24_hours() {
    // A mail that is refused for its contents is tried once more at once, as text alone.
    let gaps_hours: [&[i64]; 2] = [&[1, 2, 4, 8, 16, 24, 24, 24], &[0, 1, 2, 4, 8, 16, 24, 24, 24]];
    for (fate, gaps_hours) in ["refused", "rejects"].into_iter().zip(gaps_hours) {
        let mut world = World::healthy();
        world.live(&format!("ops: {fate}, vm1=error, 5d"));
        let tried = attempts(&world, "vm_error/1");
        let gap =
            |pair: &[(DateTime<Utc>, String)]| (pair[1].0 - pair[0].0 + Duration::minutes(30)).num_hours();
        assert_eq!(tried.windows(2).map(gap).collect::<Vec<_>>(), gaps_hours, "{fate}");
    }
    stories_of(
        World::healthy,
        &["refused", "rejects"],
        "to ops ann, ops: {}, vm1=error, ops: accepts, idle 59m => ; ann: opened
         idle 2m => vm_error/1 opened
         idle 5h => ; ann:
         vm1=active, vms => resolved

         vm1=error, 10m, everybody {}, vm1=active, vms, everybody accepts => opened
         2h => resolved

         vm1=error, 10m, everybody {}, vm1=active, vms, everybody accepts, 10m, vm1=error, 2h => opened opened

         vm1=error, 23h, everybody {}, 2h, everybody accepts, 3h => opened reminder:1

         everybody {}, cut-off 6d, 10m, everybody accepts, cut-off 60h, 1h => rung:3

         everybody {}, cut-off 6d, everybody accepts, 2h => rung:7",
    );
}

#[test]
fn a_refusal_holds_back_what_it_concerns_and_nothing_about_money_or_critical() {
    stories(
        World::healthy,
        "ops: rejects, vm1=error, ops: accepts, idle 10m =>
         order SUSPENDED => order_suspended/71 opened
         65m => vm_error/1 opened

         vm1=error vm2=error, everybody rejects, vm1=active, vms, everybody accepts => opened opened
         vm2=active, vms, 5m => vm_error/2 resolved

         ops: refused, vm1=error, 1s, vm2=error, 1s, cut-off 6d, 1s, cut-off 60h, ops: accepts, idle 61m => \
         rung:3 opened opened

         to ops ann, ann: refused, vm1=error, idle 10m, vm1=active, vms => opened resolved
         everybody accepts, idle 25h => ; ann: was-down",
    );
    let mut world = World::healthy();
    world.live("everybody rejects, vm1=error, everybody accepts, vm2=error");
    world.forget();
    world.live("vm1=active vm2=active, vms");
    let items: Vec<usize> = world.mails().iter().map(|mail| mail.items.len()).collect();
    assert_eq!(items, [1, 1], "the one that was refused goes alone");
    assert_eq!(world.take_events(), ["main/vm_error/2 resolved", "main/vm_error/1 was-down"]);

    let mut world = World::healthy();
    // (steps, how many attempts they make)
    for (steps, more) in [
        ("ops: refused, vm1=error", 1),
        ("idle 5m, order SUSPENDED, idle 5m", 0),
        ("vm2=error", 1),
        ("idle 5m", 0),
        ("cut-off 6d", 1),
    ] {
        let before = attempts(&world, "").len();
        assert_eq!(attempts(world.live(steps), "").len(), before + more, "{steps}");
    }
}

#[test]
fn a_mail_about_money_waits_behind_no_other() {
    for fate in ["defers", "loses"] {
        let mut world = World::healthy();
        world.live(&format!("everybody {fate}, vm1=error, 2h, cut-off 6d"));
        assert_eq!(attempts(&world, "disconnect").len(), 1, "{fate}: behind a mail about a VM");
        world.live("idle 2h, cut-off 60h");
        let tried = attempts(&world, "disconnect");
        let last = tried.last().unwrap();
        assert!(last.0 == world.now && last.1 != tried[0].1, "{fate}: behind an older mail about money");
        world.live("everybody accepts, idle 2h");
        assert_eq!(world.heard("ops", "disconnect"), "rung:3", "the older one is not sent any more");
    }
    let mut world = World::healthy();
    world.live("everybody loses, cut-off 18h -500");
    assert_eq!(attempts(&world, "disconnect").len(), 1, "one report, one mail");
    world.live("everybody accepts, idle 17h");
    assert_eq!(world.heard("ops", "disconnect"), "rung:1");
}

#[test]
fn an_end_that_cannot_leave_lapses_after_seven_days_and_a_problem_that_goes_on_never_does() {
    stories(
        World::healthy,
        "no-reminders, vm1=error, everybody away, idle 5m, vm1=active, 6d, everybody accepts, 26h => opened resolved

         no-reminders, vm1=error, everybody away, idle 5m, vm1=active, 8d, everybody accepts, 26h => opened

         no-reminders, everybody away, vm1=error, 20d, everybody accepts, 26h => opened

         vm1=error, everybody away, 9d, vm1=active, vms, idle 1d, everybody accepts, idle 1h => opened resolved

         everybody away, vm1=error, 9d, vm1=active, vms, idle 1d, everybody accepts, idle 1h => was-down

         everybody refused, vm1=error, 10m, vm1=active, vms, 8d, everybody accepts, 30h =>",
    );
}

#[test]
fn the_end_of_a_mailed_incident_is_told_after_any_events() {
    stories(
        World::healthy,
        "vm1=error, everybody away, vm1=active, vms, silence vm-1 3h, vm1=error, everybody accepts, 1h => opened
         vm1=active, vms, 3h => resolved|was-down

         vm1=error, everybody away, vm1=active, vms, rule vm_error off, everybody accepts, 1h \
         => opened resolved|unwatched

         vm1=error, everybody away, vm1=active, vms, vm1=gone, vms, everybody accepts, 1h => opened resolved|removed

         vm1=error, everybody away, vm1=active, vms, 1m, vm1=error, vm1=active, fail vms, everybody accepts, 1h, \
         heal vms, vms, vms, 3m => ops[vm]: opened resolved|was-down

         vm1=blocked, look, vm1=active, vms, vm1=error, vm1=blocked, 3h => ops[vm_blocked]: .. opened
         vm1=active, vms, 3h => vm_error/1 resolved vm_blocked/1 resolved",
    );
    // Its VM is wrong in another way by then.
    stories_of(
        World::healthy,
        &["vm1=blocked", "vm1=stopped, vm1=blocked"],
        "vm1=blocked, look, everybody rejects, vm1=active, vms, everybody accepts, vm1=error, 1m, {}, 5h \
         => ops[vm_blocked]: .. opened
         vm1=active, vms, 26h => ops[vm_blocked]: resolved|was-down",
    );
}

#[test]
fn an_operator_drops_what_waits_or_tries_it_at_once() {
    stories(
        World::healthy,
        "ops: refused, vm1=error vm2=error, drop ops vm_error/1, ops: accepts, idle 2h => vm_error/2 opened
         vm1=active vm2=active, vms => vm_error/2 resolved
         vm1=error => vm_error/1 opened

         ops: away, cut-off 6d, drop ops, ops: accepts, idle 3h => ops[disconnect]:
         idle 2d => ops[disconnect]: rung:4

         ops: refused, vm1=error, ops: accepts, idle 10m =>
         retry ops, tick => opened",
    );
    let mut world = World::healthy();
    world.live("ops: away, cut-off 6d");
    let since = world.now;
    world.live("idle 3d");
    let owed = world.system.log.debts(world.now).remove(0).owed;
    let of_cut_off = owed.iter().find(|one| one.key.kind == Kind::Disconnect).unwrap();
    let told = (of_cut_off.event.as_deref(), of_cut_off.since);
    assert_eq!(told, (Some("rung:3"), since), "whatever it turned into meanwhile");
}

fn weekly_digest(to: DateTime<Utc>) -> Digest {
    let from = to - Duration::days(7);
    Digest { date: to.date_naive(), from, to, accounts: vec!["main".parse().unwrap()] }
}

#[test]
fn a_mail_is_made_once_its_sender_is_ready_and_none_overtakes_one_about_money() {
    let mut world = World::healthy();
    world.live("everybody away, cut-off 6d, vm1=error, idle 10m");
    let now = world.now;
    let system = &mut world.system;
    system.log.owe_digest("ops", weekly_digest(now));
    let all = [Lane::Money, Lane::Other, Lane::Digest];
    assert_eq!(system.claim("ops", &all[1..], now), Err(Lane::Money));
    assert_eq!(system.log.in_mail("ops", Lane::Money).count(), 0, "nothing is on its way");
    assert_eq!(system.claim("ops", &all, now), Ok(Some(Lane::Money)));
    assert_eq!(system.claim("ops", &all, now), Ok(None), "it has no reply yet");
    for next in [Lane::Other, Lane::Digest] {
        system.settle("ops", Lane::Money, now);
        system.settle("ops", Lane::Other, now);
        assert_eq!(system.claim("ops", &all[..1], now), Err(next));
        assert_eq!(system.claim("ops", &all, now), Ok(Some(next)));
    }
}

#[test]
fn a_digest_that_falls_due_in_a_sleep_waits_for_the_first_readings() {
    let mut world = World::healthy();
    world.sleep(Duration::days(1));
    world.system.log.owe_digest("ops", weekly_digest(world.now));
    world.tick();
    assert!(world.mails().is_empty(), "nothing was read since the sleep");
    world.live("look");
    let forms: Vec<&str> = world.mails().iter().map(|mail| mail.form).collect();
    assert_eq!(forms, ["digest"]);
}

#[test]
fn a_digest_covers_the_time_and_accounts_of_one_that_did_not_leave() {
    for fate in ["away", "defers", "refused"] {
        let mut world = World::healthy();
        let older = weekly_digest(world.now);
        world.system.log.owe_digest("ops", older.clone());
        world.live(&format!("everybody {fate}, 1d"));
        let shop = vec!["shop".parse().unwrap()];
        let newer = Digest { from: older.to, accounts: shop, ..weekly_digest(world.now) };
        world.system.log.owe_digest("ops", newer.clone());
        world.live("1d");
        let accounts = newer.accounts.iter().chain(&older.accounts).cloned().collect();
        let owed = world.system.log.addressees.get("ops").and_then(|one| one.digest.clone());
        assert_eq!(owed, Some(Digest { from: older.from, accounts, ..newer }), "{fate}");
    }
}

#[test]
fn whoever_is_told_by_escalation_alone_is_named_when_a_mail_may_not_have_arrived() {
    let mut world = World::with_boss();
    world.live("boss: loses, vm1=error, 2d");
    let debts = world.system.log.debts(world.now);
    assert!(debts.iter().any(|one| one.recipient == "boss" && one.unsure_since.is_some()), "{debts:?}");
}

/// Lives through a story of each of eight VMs, where three mails an hour may go to one recipient.
fn limited(story: &str) -> World {
    let mut world = World::healthy();
    world.live("limit 3");
    for id in 3..11 {
        world.live(&format!("vm{id}=active"));
    }
    for id in 1..9 {
        world.live(&story.replace('#', &id.to_string()));
    }
    world
}

/// The server refuses a mail whose reply it lost before: the mail may have arrived, and the hour has had one.
#[test]
fn a_mail_that_may_have_arrived_counts_for_the_hourly_limit_though_its_repetition_is_refused() {
    let mut world = World::healthy();
    world.live(
        "2h, limit 1, everybody late, vm1=error, 1m, everybody rejects, 5m, everybody accepts, idle 3h",
    );
    let tried = attempts(&world, "vm_error/1");
    let (first, last) = (tried.first().unwrap(), tried.last().unwrap());
    assert!(last.1 != first.1 && last.0 - first.0 == Duration::hours(1), "{tried:?}");
}

/// Past the limit of an hour, events wait for one summary. Money waits for no limit.
#[test]
fn at_most_so_many_mails_an_hour_go_to_one_recipient_and_all_are_told() {
    let mut world = limited("vm#=error, 2m");
    assert_eq!(world.live("cut-off 6d, 1m").heard("ops", "disconnect"), "rung:7");
    world.live("to ops ann, 5m");
    assert_eq!(world.told_of("ann", "vm_error").len(), 8, "the limit is of each recipient");
    world.live("70m");
    for id in 1..9 {
        world.live(&format!("vm{id}=active, vms, 1m"));
    }
    world.live("3h");
    let mut came_and_went = limited("vm#=error, vm#=active, vms, 1m");
    came_and_went.live("restart 1m, look, 3h");
    for world in [world, came_and_went] {
        let to_ops =
            world.received.iter().filter(|one| one.mail.to == "ops" && one.mail.form != "disconnect");
        let times: Vec<DateTime<Utc>> = to_ops.map(|one| one.at).collect();
        for four in times.windows(4) {
            assert!(four[3] - four[0] >= Duration::hours(1), "{four:?}");
        }
        for id in 1..9 {
            let heard = world.heard("ops", &format!("vm_error/{id}"));
            assert!(["opened resolved", "was-down"].contains(&heard.as_str()), "{id}: {heard}");
        }
    }
}

/// "Outdated in part": the rest of the mail is owed again, also while nothing was read since a start.
#[test]
fn the_rest_of_an_outdated_mail_whose_reply_was_lost_is_told() {
    stories(
        World::healthy,
        "vm1=error => opened
         vm1=gone, everybody loses, vm2=error, vms, vm2=active, vms, everybody accepts, 30m => \
         vm_error/1 removed vm_error/2 resolved

         vm1=error => opened
         vm1=gone, everybody loses, vm2=error, vms, vm2=active, vms, restart 1m, everybody accepts, look, 30m => \
         vm_error/1 removed vm_error/2 resolved",
    );
}
