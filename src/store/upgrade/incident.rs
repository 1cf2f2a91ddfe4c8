//! Converts an incident of release 0.2.

use super::old::{OldIncident, OldPhase};
use crate::alert::{Cause, Detail, Incident, Kind, Phase, Subject, Value};

/// The state of a container's incident that is open because of its sites.
const SITES_STOPPED: &str = "StoppedByService";

/// The converted incident; an open one keeps its episode. One that flapped recovers as all others do.
pub(super) fn incident(old: &OldIncident) -> Incident {
    let phase = phase(old);
    let cause = old.cause();
    let is_over = !phase.is_open() && phase != Phase::Pending;
    // An incident that was only suspected has no episode of its own any more.
    let never_opened = phase == Phase::Pending || (is_over && cause == Some(Cause::Unconfirmed));
    let (run_since, streak) = match phase {
        Phase::Recovering => (old.last_observed, old.streak),
        Phase::Pending => (old.held_since, old.streak),
        Phase::Firing | Phase::Resolved | Phase::Removed | Phase::Unwatched => (old.held_since, 0),
    };
    Incident {
        episode: old.episode - u32::from(never_opened && old.episode > 0),
        phase,
        severity: old.severity,
        subject: subject(old).of_stored(&old.key),
        value: value(old),
        detail: Detail::Text(old.detail.clone()).of_stored(),
        since: old.since,
        run_since,
        read_at: old.last_observed,
        streak,
        cause: old.folded_into.clone().filter(|_| phase.is_open()),
        why: cause.unwrap_or(if is_over { Cause::SeenRight } else { Cause::SeenWrong }),
        ended: is_over.then(|| old.resolved_at.unwrap_or(old.last_change)),
        ..Incident::new(old.key.clone(), old.since)
    }
}

fn phase(old: &OldIncident) -> Phase {
    match old.phase {
        OldPhase::Pending => Phase::Pending,
        OldPhase::Firing => Phase::Firing,
        OldPhase::Recovering => Phase::Recovering,
        OldPhase::Resolved if old.cause() == Some(Cause::NoLongerListed) => Phase::Removed,
        OldPhase::Watching | OldPhase::Resolved => Phase::Resolved,
        OldPhase::Unwatched => Phase::Unwatched,
    }
}

/// The subject, which is a whole sentence for kinds without words of their own.
fn subject(old: &OldIncident) -> Subject {
    let says_all = matches!(old.key.kind, Kind::BalanceDrop | Kind::CollectorFailing);
    let problem = if says_all { format!(" {}", old.problem) } else { String::new() };
    Subject::Text(format!("{}{problem}", old.subject).trim().to_owned())
}

fn value(old: &OldIncident) -> Value {
    let held = old.held.as_str();
    if old.key.kind == Kind::BalanceDrop {
        held.parse().map_or(Value::None, Value::Balance)
    } else if held.is_empty() {
        Value::None
    } else if old.key.kind == Kind::ContainerDisabled && held == SITES_STOPPED {
        Value::SitesStopped
    } else {
        Value::State(held.to_owned())
    }
}
