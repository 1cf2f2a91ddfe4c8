//! The first start: one mail lists the problems that are there already, or that some could not be read.

use super::{World, stories};
use crate::alert::{Kind, Severity, Started};

/// The numbers in the first mail to "ops", after these steps.
fn numbers(steps: &str) -> Started {
    let mut world = World::unborn();
    let received = &world.live(steps).received;
    let first = received.iter().map(|received| &received.mail).find(|mail| mail.form == "started");
    first.unwrap().started.clone().unwrap()
}

#[test]
fn the_first_start_is_one_mail_that_lists_problems_and_their_recovery_is_told() {
    // A disconnect mail waits for nothing. A site belongs to its container's problem.
    let steps = "vm1=error, cut-off 53h, c10=DISABLED_BY_QUOTA, s100=StoppedByQuota";
    stories(
        World::unborn,
        "vm1=error =>
         cut-off 53h => disconnect rung:3; boss: rung:3|escalated
         c10=DISABLED_BY_QUOTA =>
         s100=StoppedByQuota => vm_error/1 started container_disabled/10 started
         reason: already so at the first start
         3d => ops[vm]:; ops[container]: ; boss[vm]:
         vm1=active, vms => ops[vm]: resolved
         vm1=error, 25h => ops[vm]: opened reminder:1; boss[vm]: escalated

         no-date -300, vm1=blocked, paid, report, vms, containers, sites => .. vm_blocked/1 started

         vm1=error, vm1=active, vms =>
         look => started
         1h =>

         vm1=stopped, look, 1h => started",
    );
    let told = numbers(steps);
    assert_eq!((told.resources, told.cut_offs), (7, 1));
    assert_eq!((told.severity, told.overdue), (Some(Severity::Critical), false));
    let told = numbers("overdue 53h, look");
    assert_eq!((told.severity, told.overdue), (Some(Severity::Critical), true));
}

#[test]
fn the_first_mail_comes_though_a_collector_could_not_read() {
    stories(
        World::unborn,
        "vm1=error, fail vms, containers, sites, report, 10m => vm_error/1 started

         fail vms, look, 5m, heal vms, vm1=error, 10m => started vm_error/1 opened",
    );
}

#[test]
fn an_incident_is_open_before_the_first_mail_tells_it() {
    let mut world = World::unborn();
    assert!(world.live("vm1=error").is_open(Kind::VmError, "1"));
    assert!(world.received.is_empty());
}

#[test]
fn a_problem_of_the_first_mail_is_told_again_only_as_over() {
    stories(
        World::unborn,
        "silence vm-1 2h, vm1=error vm2=error, look, 1h => vm_error/2 started
         65m => vm_error/1 opened

         vm1=error, restart 5m, look, 1h => started

         vm1=error, look, 10m, restart 10m, vm1=active, look, look, 10m => started resolved

         vm1=blocked, overdue 1h, look, 5m => ops[vm]: ; ops[disconnect]: rung:0

         vm1=error, look, ack vm_error/1, 1d, vm1=active, vms, vm1=error, 13h => started resolved opened; \
         boss: escalated

         vm1=error, cut-off 6d, look, 3d => ops[disconnect]: rung:7 rung:4 rung:3; \
         boss[disconnect]: rung:4|escalated rung:3

         vms, containers, sites, cut-off 20h, 5m => ops[disconnect]: rung:1; boss[disconnect]: rung:1|escalated",
    );
}

#[test]
fn a_first_mail_that_could_not_leave_tells_how_things_are_when_it_can() {
    stories(
        World::unborn,
        "everybody away, vm1=error, look, 10m, restart 5m, everybody accepts, look, 1h => started
         vm1=active, vms, 10m => resolved

         everybody defers, vm1=error, look, vm1=active, vms, everybody accepts, idle 31m => started was-down

         everybody away, vm1=error, look, vm1=active, vms, everybody accepts, idle 2m => started was-down

         everybody defers, vm1=error vm2=error, look, vm1=active, vms, everybody accepts, idle 31m \
         => ops[/1]: was-down; ops[/2]: started

         everybody loses, vm1=error, look, restart 2h, everybody accepts, look, 2h => started
         vm1=active, vms, 10m => resolved

         everybody loses, vm1=error, look, vm1=active, vms, 1h, everybody accepts, 26h =>

         everybody refused, vm1=error, look, 2h, everybody accepts, 2h => started

         to ops ann, ann: refused, look, to ops, everybody accepts, idle 25h => started; ann:

         to ops ann, ann: loses, vm1=error, look, to ops, everybody accepts, 25h => started; ann:",
    );
}

#[test]
fn whoever_left_before_the_first_mail_arrived_is_owed_nothing() {
    for fate in ["refused", "rejects", "defers", "loses"] {
        let mut world = World::unborn();
        world.live(&format!("to ops ann, ann: {fate}, vm1=error, look, to ops, 1d"));
        let debts = world.system.log.debts(world.now);
        assert!(debts.iter().all(|one| one.recipient == "ops"), "{fate}: {debts:?}");
    }
}

/// A post has room for so many alerts, and an end needs a beginning.
#[test]
fn a_problem_that_the_first_post_only_counts_has_a_post_of_its_own() {
    let all = |state: &str| (1..=60).map(|id| format!("vm{id}={state} ")).collect::<String>();
    let mut world = World::unborn();
    world.live(&format!("to webhook:ops ops, escalate, {}, look, idle 5m", all("error")));
    assert_eq!(world.heard("webhook:ops", ""), ["started"; 60].join(" "));
    let posts = world.received.iter().filter(|one| one.mail.to == "webhook:ops");
    let sizes: Vec<usize> = posts.map(|one| one.mail.items.len()).collect();
    assert_eq!(sizes, [vec![49], vec![1; 11]].concat());
    assert_eq!(world.mails().len(), 1, "a mail lists them all");
    world.live("idle 4d");
    assert_eq!(world.heard("webhook:ops", ""), ["started"; 60].join(" "), "none has reminders");
    world.live(&format!("{}, vms, idle 10m", all("active")));
    assert_eq!(world.heard("webhook:ops", "vm_error/60"), "started resolved");
}

#[test]
fn a_receiver_that_takes_short_posts_alone_is_told_of_each_problem() {
    let errors = (1..=60).map(|id| format!("vm{id}=error ")).collect::<String>();
    let mut world = World::unborn();
    world.live(&format!("webhook:ops: takes-short, to webhook:ops, escalate, {errors}, look, idle 5m"));
    assert_eq!(world.heard("webhook:ops", ""), ["started"; 60].join(" "));
    let sizes: Vec<usize> = world.attempts.iter().map(|(_, mail, _)| mail.items.len()).collect();
    assert_eq!(sizes, [vec![49, 0], vec![1; 60]].concat());
}
