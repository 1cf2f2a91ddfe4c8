//! Polls that fail: each account has one incident, whose value is the set of failing collectors.

use super::{World, stories, stories_of};
use crate::alert::{Kind, Severity};

#[test]
fn each_failure_has_one_incident_and_its_time() {
    // (collector and failure, told at once, told once it has lasted)
    let table = [
        ("vms", "", "collector_failing opened"),
        ("vms missing", "", "collector_failing opened"),
        ("vms credentials", "credentials_rejected/vm opened", ""),
        ("containers", "", "collector_failing opened"),
        ("report", "", "collector_failing opened"),
        ("report credentials", "credentials_rejected/billing opened", ""),
        ("report missing", "", "collector_failing opened"),
        ("report error", "billing_report opened", ""),
    ];
    for (what, at_once, later) in table {
        stories(
            World::healthy,
            &format!("fail {what} => {at_once}\nidle 14m =>\nidle 1m => {later}\nidle 1h =>"),
        );
    }
}

#[test]
fn readings_that_are_not_whole_for_an_hour_are_told() {
    stories(
        World::healthy,
        "hides vm1, idle 30m, hides vm1, idle 29m, hides vm1 =>
         idle 1m, hides vm1 => collector_failing opened
         words: Cannot read VMs
         detail: one row was not shown
         vm2=error => vm_error/2 opened
         vms => collector_failing resolved

         hides vm1, idle 3h =>

         hides vm1, sleep 40m, hides vm1, sleep 40m, hides vm1, idle 3m => collector_failing opened

         hides c10, idle 40m, containers, containers, hides c10, idle 59m, hides c10 =>

         hides vm1, idle 50m, fail vms, idle 10m => collector_failing opened
         words: Cannot read VMs
         detail: it did not work",
    );
}

#[test]
fn credentials_are_rejected_where_every_call_of_their_group_is_refused() {
    stories(
        World::unborn,
        "fail ips credentials, look => started

         fail ips credentials, fail vms credentials, look => credentials_rejected/vm started",
    );
    stories(
        World::healthy,
        "containers, fail sites credentials, later 8m, containers, sites, later 8m, containers, sites \
         => collector_failing opened
         later 20m, sites => credentials_rejected/hosting opened
         containers 2 => credentials_rejected/hosting resolved

         fail containers credentials =>",
    );
}

#[test]
fn a_collector_that_answers_again_is_told() {
    stories(
        World::healthy,
        "fail vms, idle 15m => collector_failing opened
         words: Cannot read VMs
         detail: it did not work
         fail vms credentials => credentials_rejected/vm opened
         words: Credentials of the vm endpoints rejected
         heal vms, vms =>
         vms => credentials_rejected/vm resolved collector_failing resolved

         fail report error => billing_report opened
         words: Balance report not available
         fail report, report, report, heal report, report =>
         report => billing_report resolved

         fail vms, fail vms credentials => credentials_rejected/vm opened
         idle 30m =>
         heal vms, vms 2 => credentials_rejected/vm resolved

         fail vms, idle 16m, heal vms, vms => opened
         idle 5m =>
         vms => resolved
         detail: answers again",
    );
}

#[test]
fn refusals_are_told_as_failures_and_an_answer_is_never_called_silence() {
    stories(
        World::healthy,
        "fail vms refused, idle 10m =>
         idle 6m => collector_failing opened
         words: Cannot read VMs

         fail vms never-accepted => credentials_rejected/vm opened

         fail everything unusable, 20m => collector_failing opened
         severity: critical
         words: Cannot read VMs, containers, sites and the balance

         fail everything refused, 20m => collector_failing opened
         words: Cannot read VMs, containers, sites and the balance",
    );
}

#[test]
fn non_payment_explains_refusals_and_no_other_failure() {
    stories(
        World::healthy,
        "overdue 1h => disconnect rung:0
         fail everything refused, 50m =>

         overdue 1h => disconnect rung:0
         fail vms never-accepted, 50m =>

         overdue 1h => disconnect rung:0
         fail vms refused, fail sites, 50m => collector_failing opened

         cut-off 8d => disconnect rung:14
         fail vms refused, 20m => collector_failing opened",
    );
}

#[test]
fn rows_of_the_pages_before_a_failure_are_told_and_rows_behind_it_are_not() {
    stories(
        World::healthy,
        "breaks-off vm2 vm1=error => vm_error/1 opened
         breaks-off vm2 vm1=error, 5m =>
         breaks-off vm2 vm1=active, breaks-off vm2 vm1=active => vm_error/1 resolved

         confirm 2, breaks-off vm2 vm1=error =>
         breaks-off vm2 vm1=error => vm_error/1 opened

         vm2=error => vm_error/2 opened
         breaks-off vm2 vm1=active, breaks-off vm2 vm1=active, idle 20m => collector_failing opened",
    );
}

#[test]
fn failing_collectors_are_one_incident_that_is_told_again_when_it_gets_worse_for_good() {
    stories(
        World::healthy,
        "fail vms, fail report, 20m => collector_failing opened
         severity: warning
         2h =>

         fail vms, 20m, fail containers, 10m => opened
         2h => collector_failing worse
         words: Cannot read VMs and containers
         reason: more than the last mail said

         fail vms, 20m, fail containers, idle 5m, heal containers, containers 2, fail containers, idle 10m, \
         heal containers, containers 2, 1h => opened

         fail vms, fail containers, 20m, fail sites, idle 10m, heal sites, sites 2, 1h => opened

         fail vms, fail containers, 20m, heal containers, 1h => opened
         heal vms, vms 2, 5m => resolved
         words: Cannot read VMs and containers

         fail vms, 20m, heal vms, vms, fail containers, heal containers, vms, containers 2 => opened resolved
         words: Cannot read VMs

         fail vms, 20m, restart 1m, look, 40m => opened
         fail containers, 30m => worse

         fail vms, 20m, fail ips, 2h => opened

         fail vms, 20m, fail report, 20m, heal report, report 2, fail report, 20m => opened worse

         fail vms, 10m, restart 1m, look, 10m =>

         fail vms, fail sites, idle 10m, heal everything, look, look, fail vms, fail sites, idle 10m =>",
    );
}

#[test]
fn a_provider_of_whose_states_nothing_can_be_read_is_one_critical_mail() {
    stories_of(
        World::healthy,
        &["fail everything", "fail vms, fail containers, fail sites"],
        "{}, 20m => collector_failing opened
         severity: critical
         heal everything, look, look, 1h => collector_failing resolved",
    );
    stories(
        World::healthy,
        "fail everything, 20m => opened
         words: Provider API does not answer: nothing is watched",
    );
}

#[test]
fn failing_collectors_keep_their_name_until_they_were_tried_after_a_restart() {
    let mut world = World::healthy();
    for steps in ["fail everything, 20m", "restart 1m, tick", "look", "3m"] {
        let row = world.live(steps).row(Kind::CollectorFailing, "account").unwrap();
        let is = (row.title.as_str(), row.severity);
        assert_eq!(is, ("Provider API does not answer: nothing is watched", Severity::Critical), "{steps}");
    }
}

#[test]
fn a_failure_is_told_to_who_joins_and_ends_for_those_who_acknowledged_it() {
    stories(
        World::healthy,
        "fail vms, 20m, to ops ann, 10m => opened; ann: opened
         heal vms, vms 2, 10m => resolved; ann: resolved

         fail report, 20m, ack collector_failing/account, 9d => opened
         heal report, report 2, 1h => resolved",
    );
}

#[test]
fn a_collector_whose_rule_is_off_is_not_told_or_watched_no_longer() {
    stories(
        World::healthy,
        "fail vms, rule collector_failing off, idle 1h =>

         fail vms, 20m, unwatch vms, 5m => opened unwatched

         fail vms, 20m, rule collector_failing off, 3m => opened unwatched
         heal vms, 40m =>

         fail vms, 20m, everybody away, rule collector_failing off, 3m, fail vms, 3m, everybody accepts, 31m => opened unwatched

         fail vms, 20m, rule collector_failing off, 3m, heal vms, 3m, vms 3, idle 3h, fail vms, rule collector_failing on, 5m \
         => opened unwatched",
    );
}

#[test]
fn mails_about_resources_wait_while_their_collector_fails_and_a_cut_off_waits_for_nothing() {
    stories(
        World::healthy,
        "recover 1, vm1=error, cut-off 8d => vm_error/1 opened disconnect rung:14
         fail vms, fail report, idle 26h => ops[vm]:; ops[disconnect]: rung:7
         heal vms, vms, tick => ops[vm]: reminder:1

         cut-off 8d, fail report, idle 25h => ops[disconnect]: rung:14 rung:7
         reason: less than 7 days left (as of Mon 2 Mar 12:02 UTC; no newer report confirms it)

         vm1=error, fail vms, 20m, heal vms, vm1=active, vms, 10m => ops[vm]: opened resolved

         everybody away, vm1=error, fail vms, 5m, everybody accepts, 1h => ops[vm]:
         heal vms, look, 1m => ops[vm]: opened

         fail everything, cut-off 6d, heal report, report, 1m => ops[disconnect]: rung:7",
    );
}
