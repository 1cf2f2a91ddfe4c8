//! Silences and acknowledgements that begin and end around changes of state.

use super::{World, stories, stories_of};

#[test]
fn a_silence_holds_back_beginnings_and_no_end() {
    stories(
        World::healthy,
        "vm1=error, silence vm-1 2h, vm1=active, vms, vm1=error, 1h => opened resolved
         1h, 5m => opened

         silence vm-1 1h, vm1=error, 50m =>
         10m, vm1=active, vms, 1h => opened resolved

         silence vm-1 1h, vm1=error, 50m, vm1=active, vms, vm1=error, 30m => opened

         silence vm-1 2h, vm1=error vm2=error, 1h => vm_error/2 opened
         idle 61m => vm_error/1 opened
         idle 1h =>

         silence vm-1 2h, vm1=error, lift, tick => vm_error/1 opened

         vm1=error, silence vm-1 2h, 5h => opened

         everybody away, vm1=error, 10m, silence vm-1 2h, vm1=active, vms, everybody accepts, 4h => was-down

         everybody away, vm1=error, idle 5m, silence vm-1 3h, everybody accepts, 170m =>
         50m => opened

         silence vm-1 2h, vm1=error, sleep 3h, look, 3m => opened

         silence main/container_disabled/* 2h, c10=DISABLED_BY_SERVICE, vm1=error => vm_error/1 opened",
    );
}

#[test]
fn an_episode_that_lies_wholly_under_silences_is_owed_nothing() {
    stories(
        World::healthy,
        "silence main/vm_* 2h, vm1=error, vm1=active, vms, 6h =>

         silence vm-1 1h, vm1=error, 50m, silence main/vm_error/* 1h, 40m, vm1=active, vms, 3h =>",
    );
    stories(World::unborn, "silence vm-1 2h, vm1=error, look, 30m, vm1=active, vms, idle 3h => started");
}

#[test]
fn a_silence_that_ends_while_nothing_is_read_is_followed_by_a_mail_once_the_vm_was_read() {
    stories(
        World::healthy,
        "silence vm-2 2h, vm2=error, 1h, restart 3h =>
         look, 5m => opened

         silence vm-2 2h, vm2=error, 1h, restart 3h, fail vms, look, 30m => ops[vm]:
         heal vms, 20m => ops[vm]: opened

         silence main/site_* 1h, s100=Error, fail sites, later 61m, tick => ops[site]:
         heal sites, sites => ops[site]: opened",
    );
}

#[test]
fn a_silence_holds_a_cut_off_back_only_where_its_pattern_names_the_kind() {
    stories_of(
        World::healthy,
        &["*", "main/*"],
        "silence {} 2h, vm1=error, c10=DISABLED_BY_ADMIN, cut-off 6d, idle 1h => disconnect rung:7
         idle 65m => vm_error/1 opened container_disabled/10 opened",
    );
    stories(
        World::healthy,
        "silence main/disconnect/* 60h, cut-off 6d, idle 59h => balance_drop opened
         idle 2h => disconnect rung:4

         silence main/disconnect/* 3d, cut-off 80h, 48h, paid, report, 2d => ops[disconnect]:

         cut-off 6d, silence main/disconnect/* 3d, paid, report, 1h => rung:7 resolved",
    );
}

#[test]
fn reminders_wait_for_the_end_of_a_silence_and_are_not_used_up_by_it() {
    stories(
        World::healthy,
        "vm1=error vm2=error, silence vm-1 49h, idle 2939m => opened opened vm_error/2 reminder:1 vm_error/2 reminder:2
         idle 1m => vm_error/1 reminder:1",
    );
}

#[test]
fn a_new_recipient_hears_of_a_silenced_incident_when_its_silence_ends() {
    stories(
        World::healthy,
        "silence vm-1 1h, vm1=error, 30m, to ops ann, 20m => ; ann:
         40m => opened; ann: opened",
    );
}

#[test]
fn an_acknowledgement_stops_the_reminders_of_its_episode_for_those_who_were_told() {
    stories(
        World::healthy,
        "vm1=error, 1h, ack vm_error/1, 1h, restart 1m, look, 3d => opened
         vm1=active, vms => resolved
         vm1=error, 25h => opened reminder:1
         ack vm_error/1, 1d, vm1=active, vms, vm1=error, 25h => resolved opened reminder:1

         vm1=error, to ops ann, 30h, ack vm_error/1, to ops ann bob, 10m => ann: opened reminder:1; bob: opened

         everybody away, vm1=error, ack vm_error/1, everybody accepts, 30h => opened",
    );
}

#[test]
fn an_acknowledgement_of_a_cut_off_ends_with_the_next_rung_and_of_an_overdue_account_after_three_days() {
    stories(
        World::healthy,
        "cut-off 6d, 1h, ack disconnect/account, 3d, ack disconnect/account, 2d => rung:7 rung:4 rung:3 rung:1

         overdue 1h, 1h, ack disconnect/account, 71h => rung:0
         4h => overdue:2026-03-05

         overdue 1h, 1h, ack disconnect/account, 1h, paid, report, 1h, overdue 1h, 25h \
         => ops[disconnect]: rung:0 resolved rung:0 overdue:2026-03-03",
    );
}
