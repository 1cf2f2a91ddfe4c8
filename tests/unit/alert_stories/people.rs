//! Recipients of accounts and rules who join and leave, and recipients to whom incidents are escalated.

use super::{World, stories, stories_of};
use crate::alert::{Kind, Rule, Severity};

#[test]
fn a_new_recipient_is_told_once_how_things_stand_and_nobody_else_is() {
    stories(
        World::healthy,
        "vm1=error vm2=blocked, cut-off 5d, idle 3m => ops[vm]: opened opened; ops[disconnect]: rung:7
         to ops ann => ; ann: disconnect rung:7 vm_error/1 opened vm_blocked/2 opened
         fail report, fail vms, to ops ann bob => ; bob: disconnect rung:7
         heal everything, report, vm1=active, tick => ; bob: vm_blocked/2 opened
         vms => vm_error/1 resolved; ann: vm_error/1 resolved; bob:
         silence main/* 1h, to ops ann bob eve => eve: disconnect rung:7
         idle 61m => eve: vm_blocked/2 opened
         restart 1m, look, idle 1h => ; ann: ; bob: ; eve:

         vm1=error, vm1=active, vms, to ops ann, idle 2h => ann:

         vm1=error vm2=error, fail vms, silence vm-2 2h, to ops ann, idle 10m => ann:
         heal vms, vms, idle 5m => ann: vm_error/1 opened
         idle 2h => ann: vm_error/2 opened

         vm1=error, vm1=active, to ops ann, vms, 1h => opened resolved; ann:

         vm1=error, vm1=active, to ops ann, vm1=error, 1h => opened; ann: opened

         vm1=error, 10m, silence vm-1 1h, to ops ann, 30m, vm1=active, vms, 3h => opened resolved; ann:",
    );
}

#[test]
fn a_former_recipient_hears_only_the_ends_of_what_it_was_told() {
    stories(
        World::healthy,
        "to ops ann, vm1=error, to ops, vm2=error, idle 25h => ann: vm_error/1 opened
         vm1=active vm2=active, vms, idle 1h => ann: vm_error/1 resolved

         to ops ann, vm1=error, 1h, to ops, 1h, to ops ann, 3h, vm1=active, vms, 1h \
         => opened resolved; ann: opened resolved

         to ops ann, vm1=error, 1h, to ops, vm1=active, vms, 10m, to ops ann, 10m => ann: opened resolved
         vm1=error, 1h => ann: opened

         to ops ann, vm1=error, ann: defers, to ops, vm1=active, vms, 20h, ann: accepts, 1h => ann: opened resolved

         to ops ann, ann: refused, vm1=error, to ops, ann: accepts, vm1=active, vms, idle 25h => ann:

         to ops ann, ann: refused, vm1=error, 10m, to ops, 30h, ann: accepts, vm1=active, vms, 30h => ann:",
    );
    // The end lapses at the first refusal.
    stories_of(
        World::healthy,
        &["refused", "rejects"],
        "to ops ann, vm1=error, ann: {}, to ops, vm1=active, vms, 10m, ann: accepts, 30h => ann: opened

         to ops ann, vm1=error vm2=error, ann: {}, to ops, vm1=active, vms, 2h, ann: accepts, vm2=active, vms, 1h \
         => ann: opened opened

         to ops ann, cut-off 6d, ann: {}, to ops, paid, report, 10m, ann: accepts, 30h => ann: rung:7",
    );
}

#[test]
fn a_recipient_of_a_rule_hears_the_incidents_of_that_rule_in_place_of_the_others() {
    stories(
        World::healthy,
        "rule vm_error to=dba, vm1=error, 1h, vm1=active, vms, 1h => ; dba: vm_error/1 opened resolved

         vm1=error, 10m, rule vm_error to=dba, 10m, vm1=active, vms, 1h => opened resolved; dba: opened resolved

         rule vm_error except=vm-1, vm1=error =>
         vm2=error => vm_error/2 opened

         vm1=error => opened
         severity: critical
         rule vm_error severity=info, to ops ann => ; ann: opened
         to ops, vm1=active, vms => resolved
         severity: info",
    );
}

#[test]
fn a_rule_that_changed_while_the_daemon_was_stopped_counts_from_the_start() {
    let mut world = World::healthy();
    world.live("vm1=error");
    let rule = Rule { severity: Some(Severity::Info), ..Rule::default() };
    world.settings.rules.insert(Kind::VmError, rule);
    world.live("restart 30s, look, vm1=active, vms");
    let told = world.received.iter().flat_map(|one| &one.mail.items);
    let severities: Vec<Severity> = told.map(|told| told.severity).collect();
    assert_eq!(severities, [Severity::Critical, Severity::Info]);
}

#[test]
fn a_critical_incident_is_escalated_once_an_episode_after_its_time_and_its_end_goes_to_all() {
    stories(
        World::with_boss,
        "vm1=error, 719m => opened; boss:
         restart 30s, look, 20h => reminder:1; boss: vm_error/1 escalated
         vm1=active, vms => resolved; boss: resolved
         vm1=error, idle 700m => boss:
         idle 30m => boss: vm_error/1 escalated
         severity: critical

         vm1=error, 11h, restart 30m, look, 50m => boss: escalated

         vm1=error, 5h, sleep 8h, look, 5m => boss: escalated

         vm1=error, 13h, vm1=active, vms, 1h, vm1=error, 1h, vm1=active, vms, 20h => boss: escalated resolved

         rule order_suspended severity=critical, order SUSPENDED, 13h => boss: order_suspended/71 escalated

         fail everything, 13h => boss: collector_failing escalated",
    );
    // Others are escalated to in time though no mail reached "ops".
    stories_of(
        World::with_boss,
        &["away", "refused", "late"],
        "ops: {}, vm1=error, 10h => boss:
         3h => boss: escalated",
    );
}

#[test]
fn what_is_over_acknowledged_silenced_explained_or_no_more_than_a_warning_is_not_escalated() {
    stories(
        World::with_boss,
        "vm1=error, idle 1h, vm1=active, vms, 30h => boss:

         vm1=error, idle 1h, ack vm_error/1, 30h => boss:

         vm1=error, 1h, boss: refused, 12h, ack vm_error/1, boss: accepts, 30h => boss:

         vm1=error, 13h, ack vm_error/1, 2h, vm1=active, vms, 1h => boss: escalated resolved

         silence vm-1 20h, vm1=error, 20h, 5m, 11h => vm_error/1 opened; boss:
         2h => boss: escalated

         vm1=building, idle 1h, vms, idle 14h => vm_stuck/1 opened; boss:

         order SUSPENDED, 13h => boss:

         c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, idle 13h => boss: container_disabled/10 escalated

         overdue 1h, vm1=blocked, 20h, paid, report, look, 10m => ops[vm]: opened; boss[vm]:",
    );
    stories(
        World::unborn,
        "vm1=error, look, ops: away => started; boss:
         vm1=active, vms, 6h, vm1=error, 719m => boss:
         10m => boss: escalated",
    );
}

#[test]
fn a_cut_off_is_escalated_from_the_last_safe_day_on_with_all_that_follows() {
    stories(
        World::with_boss,
        "cut-off 6d => rung:7; boss:
         idle 2d => rung:4; boss: rung:4|escalated
         idle 4d => ops[disconnect]: rung:3 rung:1 rung:0; boss[disconnect]: rung:3 rung:1 rung:0
         idle 25h => .. disconnect overdue:2026-03-09; boss: .. disconnect overdue:2026-03-09",
    );
}

#[test]
fn a_list_of_escalation_that_changes_repeats_no_beginning_and_loses_no_end() {
    stories(
        World::with_boss,
        "escalate, vm1=error, 13h, escalate boss, 10m => boss: escalated

         escalate, cut-off 60h, 1h => rung:3
         escalate boss => boss: escalated

         boss: away, vm1=error, 13h, vm1=active, vms, boss: accepts, 1h => boss:

         vm1=error, 13h, escalate, 1h, vm1=active, vms, 1h => boss: escalated resolved

         vm1=error, 13h, to ops boss, 5h, vm1=active, vms, 1h => boss: escalated resolved

         to ops boss, vm1=error, 1h, to ops, 30h, vm1=active, vms, 1h => boss: opened resolved

         to ops boss, vm1=error, 30h => boss: opened reminder:1",
    );
}
