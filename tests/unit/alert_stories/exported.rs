//! Incidents as metrics show them: 1 while an incident is open without a cause, then 0 for a day.

use super::World;

/// After each step, the series.
fn shows(mut world: World, steps: &[(&str, &[&str])]) {
    for (step, want) in steps {
        assert_eq!(world.live(step).exported(), *want, "{step}");
    }
}

#[test]
fn an_open_incident_is_1_and_0_for_a_day_after_its_end() {
    let (open, over) = (["vm_error/1 vm-1 critical 1"], ["vm_error/1 vm-1 critical 0"]);
    shows(
        World::healthy(),
        &[
            ("", &[]),
            ("vm1=error", &open),
            ("vm1=active", &open),
            ("vms", &over),
            ("idle 23h", &over),
            ("idle 1h", &[]),
        ],
    );
    // Deleted, and no longer watched.
    shows(
        World::healthy(),
        &[
            (
                "vm1=error vm2=error, vm2=gone, vms",
                &["vm_error/1 vm-1 critical 1", "vm_error/2 vm-2 critical 0"],
            ),
            ("unwatch vms", &["vm_error/1 vm-1 critical 0", "vm_error/2 vm-2 critical 0"]),
        ],
    );
    let mut world = World::healthy();
    ["web-1", "shop"].into_iter().for_each(|name| world.named_vm(name, "error"));
    assert_eq!(world.exported(), ["vm_error/1 shop critical 1"], "a new name replaces the old one");
}

/// Prometheus is not told of a worse severity before mails are: one failed poll may be the last one.
#[test]
fn failing_collectors_are_critical_once_all_of_them_fail_for_long() {
    let [warning, critical] = ["warning", "critical"].map(|how| format!("collector_failing/account {how} 1"));
    shows(
        World::healthy(),
        &[
            ("fail vms, fail containers, 20m", &[&warning]),
            ("fail sites, idle 10m", &[&warning]),
            ("idle 6m, look", &[&critical]),
            ("heal sites, sites", &[&warning]),
            ("fail sites", &[&warning]),
        ],
    );
}

#[test]
fn an_incident_that_was_explained_from_its_first_moment_is_not_shown() {
    let [on, off] = [1, 0].map(|is| format!("container_disabled/10 cont-10 critical {is}"));
    let site = "site_error/100 site-100 critical 1";
    shows(
        World::healthy(),
        &[
            ("c10=DISABLED_BY_QUOTA, s100=Error", &[&on]),
            ("c10=ENABLED, containers", &[&off]),
            ("sites", &[site, &off]),
            // If it gets a cause later, it stays.
            ("c10=DISABLED_BY_QUOTA, sites", &[site, &on]),
            // A restart forgets nothing and shows it at once.
            ("restart 3h", &[site, &on]),
            ("look", &[site, &on]),
        ],
    );
    // A blocked VM is shown only once the balance was read, which may explain it.
    let mut world = World::healthy();
    let shown = world.live("overdue 1d, restart 1h, vm1=blocked").exported();
    assert!(!shown.iter().any(|one| one.starts_with("vm_blocked")), "{shown:?}");
}

#[test]
fn a_cut_off_has_the_severity_of_its_stage_and_overdue_stands_beside_it() {
    let [warning, critical, over] =
        ["warning 1", "critical 1", "critical 0"].map(|is| format!("disconnect/account {is}"));
    let overdue = ["overdue/account critical 1", "overdue/account critical 0"];
    let both: [&str; 2] = [&critical, overdue[0]];
    shows(
        World::modest(),
        &[
            ("cut-off 20d 2550", &[]),
            ("cut-off 12d 2550", &[&warning]),
            ("cut-off 2d 2550", &[&critical]),
            ("cut-off -1d 2550", &both),
            ("paid, report 2", &[&over, overdue[1]]),
            ("restart 23h", &[&over, overdue[1]]),
            ("report, idle 2h", &[]),
            ("cut-off -1d 2550", &both),
            ("unwatch report", &[&over, overdue[1]]),
        ],
    );
    // Time alone makes an account overdue, and a payment beyond all rungs hides it.
    shows(World::modest(), &[("cut-off 1d, fail report, idle 10m", &[&critical]), ("idle 4m", &[&critical])]);
    shows(World::healthy(), &[("cut-off 20h, hourly 21", &both)]);
    shows(World::modest(), &[("cut-off 2d", &[&critical]), ("cut-off 40d 500000", &[])]);
}

#[test]
fn an_account_is_known_once_each_collector_that_sees_states_has_read() {
    let mut world = World::unborn();
    for (steps, is_known) in [
        ("vm1=error, containers, sites, fail report", false),
        ("heal report, report", true),
        ("restart 3h", true),
        ("leave", false),
        ("come-back", false),
    ] {
        assert_eq!(world.live(steps).is_known(), is_known, "{steps}");
    }
}
