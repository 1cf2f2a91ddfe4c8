//! Random histories through the pure engine: polls good, failed and partial, dates that move, restarts, clocks set,
//! a mail server that is down, silences, acknowledgements. Whatever happens, the contract (section 6) holds.
//! `PROPTEST_CASES=5000 cargo test --lib alert_histories` looks longer.
#![allow(clippy::unwrap_used)]

use super::alert_support;
mod auditor;
mod evidence;
mod life;
mod ops;

use crate::alert::{AlertSettings, Key};
use life::{Life, name};
use ops::{Bill, CONTAINERS, Op, Rows, SITES, VMS};
use proptest::prelude::*;

fn config() -> ProptestConfig {
    // A history that failed goes into a test of its own, in words.
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Everything as it is, read once.
#[derive(Clone, Debug)]
struct Truth {
    vms: Rows,
    containers: Rows,
    sites: Vec<Rows>,
    bill: Bill,
}

impl Truth {
    fn healthy() -> Self {
        Self {
            vms: VMS.map(|id| (id, "active")).to_vec(),
            containers: CONTAINERS.map(|id| (id, "ENABLED")).to_vec(),
            sites: vec![SITES.map(|id| (id, "Active")).to_vec(), Vec::new()],
            bill: Bill::Rich,
        }
    }

    fn sweep(&self) -> Vec<Op> {
        let mut ops = vec![
            Op::Report(self.bill),
            Op::Containers { rows: self.containers.clone(), complete: true },
            Op::Vms { rows: self.vms.clone(), complete: true },
        ];
        let homes: Vec<usize> =
            (0..2).filter(|&k| self.containers.iter().any(|row| row.0 == CONTAINERS[k])).collect();
        if homes.is_empty() {
            ops.push(Op::NoSites);
        }
        for (done, &k) in homes.iter().enumerate() {
            let ended = done + 1 == homes.len();
            ops.push(Op::Sites { home: CONTAINERS[k], rows: self.sites[k].clone(), complete: true, ended });
        }
        ops
    }
}

fn truth() -> impl Strategy<Value = Truth> {
    let vms = ops::rows(&VMS, ops::vm_state().boxed(), 0.9);
    let containers = ops::rows(&CONTAINERS, ops::container_state().boxed(), 0.9);
    let sites = ops::rows(&SITES, ops::site_state().boxed(), 0.9);
    (vms, containers, sites, ops::bill()).prop_map(|(vms, containers, sites, bill)| {
        // Each site lives in one container.
        let (left, right): (Rows, Rows) = sites.into_iter().partition(|row| row.0 % 2 == 0);
        Truth { vms, containers, sites: vec![left, right], bill }
    })
}

/// Lives through a history, then through a state that lasts, then through health.
fn whole_life(settings: AlertSettings, history: &[Op], last: &Truth) {
    let mut life = Life::new(settings);
    for op in history {
        life.live(op);
    }
    if life.engine.is_started() {
        life.auditor.nobody_is_left_in_the_dark(&life.incidents());
    }

    // Now it stays as it is, longer than anything waits; mail goes out and nobody has silenced anything.
    life.end_silences();
    life.live(&Op::Smtp(true));
    for wait in [1, 1, 1, 1, 1, 7 * 60, 1, 1] {
        last.sweep().iter().for_each(|op| life.live(op));
        life.live(&Op::Wait(wait));
    }
    what_is_wrong_is_known(&life, last);
    auditor::the_last_word_is_true(&life.postbox, &life.incidents());

    let healthy = Truth::healthy();
    for wait in [1, 1, 1, 1, 60, 1, 1] {
        healthy.sweep().iter().for_each(|op| life.live(op));
        life.live(&Op::Wait(wait));
    }
    life.auditor.nobody_is_left_in_the_dark(&life.incidents());
    life.auditor.ends_are_told();
    auditor::the_last_word_is_true(&life.postbox, &life.incidents());
    let incidents = life.incidents();
    let open = incidents.values().find(|incident| incident.phase.is_open());
    assert!(open.is_none(), "all is well, and this is open: {open:#?}");
}

/// Each resource that has been in a wrong state for hours has an incident that people know of.
fn what_is_wrong_is_known(life: &Life, last: &Truth) {
    let all = [
        (&last.vms, evidence::vm as fn(&str) -> Vec<_>),
        (&last.containers, evidence::container),
        (&last.sites[0], evidence::site),
        (&last.sites[1], evidence::site),
    ];
    let lives = |home: u64| last.containers.iter().any(|row| row.0 == home);
    let incidents = life.incidents();
    for (index, (rows, says)) in all.into_iter().enumerate() {
        if (index == 2 && !lives(CONTAINERS[0])) || (index == 3 && !lives(CONTAINERS[1])) {
            continue;
        }
        for &(id, state) in rows {
            for (kind, sign) in says(state) {
                let key = Key::new(&name(), kind, id);
                let excluded =
                    kind == crate::alert::Kind::VmError && !life.settings.covers(kind, &format!("vm-{id}"));
                // One that was stopped before anybody looked is no incident.
                let excluded = excluded || kind == crate::alert::Kind::VmStopped;
                if sign != evidence::Sign::Bad || !life.settings.enabled(kind) || excluded {
                    continue;
                }
                let incident = incidents.get(&key);
                let incident = incident.unwrap_or_else(|| panic!("{key}: {state}, and no incident"));
                assert!(incident.phase.is_open(), "{key}: {state}, and not open: {incident:#?}");
                assert!(!incident.flapping, "{key} has been quiet for hours: {incident:#?}");
                let told = life.auditor.was_told(&key, incident.episode);
                assert!(told.is_ok(), "{key}: {told:?} {incident:#?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_contract_holds_of_what_comes_and_goes(
        settings in ops::settings(), history in ops::unsteady_history(), last in truth()
    ) {
        whole_life(settings, &history, &last);
    }

    #[test]
    fn the_contract_holds(settings in ops::settings(), history in ops::history(), last in truth()) {
        whole_life(settings, &history, &last);
    }
}

#[test]
fn what_is_over_went_with_a_cause_that_waits_for_a_look() {
    use crate::model::{Collector, FailureKind};
    let history = [
        Op::Fails(Collector::Sites, FailureKind::Other),
        Op::Vms { rows: vec![], complete: false },
        Op::Report(Bill::Dropped),
        Op::Containers { rows: vec![], complete: false },
        Op::Restart(1),
        Op::Containers { rows: vec![(10, "ENABLED"), (11, "DISABLED_BY_SERVICE")], complete: false },
        Op::Sites { home: 11, rows: vec![(100, "Error")], complete: false, ended: false },
        Op::Sites { home: 10, rows: vec![(100, "Active")], complete: false, ended: false },
        Op::Sites { home: 10, rows: vec![(100, "Active")], complete: false, ended: false },
    ];
    let last = Truth { vms: vec![], containers: vec![], sites: vec![vec![], vec![]], bill: Bill::Rich };
    whole_life(AlertSettings { lead_days: 3, ..AlertSettings::defaults() }, &history, &last);
}
