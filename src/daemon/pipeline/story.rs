//! Log lines about incidents, people's decisions and payments, which read as a story: opened, acknowledged,
//! goes on, over.

use std::collections::BTreeMap;

use crate::alert::{Engine, Event, Key, Muted, Phase, Stand};
use crate::model::{AccountName, Language, Snapshot, forecast};
use crate::view::words::{self, capital};
use crate::view::{forms, reasons};

/// The number of incidents that a line names; others are counted.
const MOST_NAMED: usize = 5;

/// Logs the changes of these incidents, each given as it stood before.
pub(super) fn tell(changed: &BTreeMap<Key, Stand>, engine: &Engine) {
    for (key, &was) in changed {
        let Some(incident) = engine.incidents.get(key).filter(|one| one.stand() != was) else { continue };
        let severity = incident.severity.as_str();
        let title = capital(&forms::listed(incident, &Event::Resolved, Language::En));
        let reason = reasons::cause(&incident.why, Language::En);
        tracing::info!(incident = %key, severity, title, %reason, "{}", happened(was, incident.stand()));
        if key.kind.is_momentary() && incident.phase == Phase::Resolved {
            // The incident is over as soon as it is told.
            tracing::info!(incident = %key, severity, title, %reason, "incident resolved");
        }
    }
}

/// Logs an account that was paid.
pub(super) fn tell_payment(account: &AccountName, snapshot: &Snapshot) {
    let report = snapshot.accounts.get(account).and_then(|state| state.billing.latest());
    let balance =
        report.and_then(|(report, _)| forecast::balance_now(report)).map(|balance| balance.to_string());
    tracing::info!(%account, balance, "a payment was seen");
}

/// Logs the differences between two states of people's decisions. An acknowledgement that ended with its
/// incident is not logged.
pub(super) fn tell_decisions(before: &Muted, after: &Muted, engine: &Engine) {
    for (key, ack) in after.acks.iter().filter(|(key, ack)| before.acks.get(*key) != Some(*ack)) {
        tracing::info!(incident = %key, note = note(&ack.comment), "incident acknowledged");
    }
    for (key, ack) in before.acks.iter().filter(|(key, _)| !after.acks.contains_key(*key)) {
        let incident = engine.incidents.get(key);
        if incident.is_some_and(|one| one.phase.is_open() && one.episode == ack.episode) {
            tracing::info!(incident = %key, "acknowledgement taken back");
        }
    }
    for one in after.silences.iter().filter(|one| before.silences.iter().all(|known| known.id != one.id)) {
        let until = one.until.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        tracing::info!(
            silence = one.id,
            pattern = one.pattern,
            until,
            note = note(&one.comment),
            "silence began"
        );
    }
    for one in before.silences.iter().filter(|one| after.silences.iter().all(|known| known.id != one.id)) {
        tracing::info!(silence = one.id, pattern = one.pattern, "silence ended");
    }
}

fn note(comment: &str) -> Option<&str> {
    Some(comment).filter(|comment| !comment.is_empty())
}

/// `main/vm_error/1, main/vm_error/2 and 7 more`; `None` without keys.
pub(super) fn several<'a>(keys: impl Iterator<Item = &'a Key>) -> Option<String> {
    let keys: Vec<String> = keys.map(Key::to_string).collect();
    (!keys.is_empty()).then(|| words::few(&keys, MOST_NAMED, Language::En))
}

/// The words for a change of phase and episode.
fn happened(was: Stand, is: Stand) -> &'static str {
    let is_new = was.1 != is.1;
    let was_open = was.0.is_open() && !is_new;
    match is.0 {
        Phase::Firing if was.0 == Phase::Recovering => "incident not over yet",
        Phase::Firing => "incident opened",
        Phase::Recovering => "incident recovering",
        // An incident that is told once begins and ends at the same moment.
        Phase::Resolved | Phase::Removed if is_new => "incident opened",
        Phase::Resolved | Phase::Removed if was_open => "incident resolved",
        Phase::Resolved | Phase::Removed => "incident not confirmed",
        Phase::Unwatched => "incident no longer watched",
        Phase::Pending => "incident not confirmed yet",
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_some_incidents_and_counts_the_rest() {
        let keys: Vec<Key> = (1..=7).map(|id| format!("a/vm_error/{id}").parse().unwrap()).collect();
        let of = |most: usize| several(keys[..most].iter());
        assert_eq!(of(0), None);
        assert_eq!(of(2).unwrap(), "a/vm_error/1, a/vm_error/2");
        let five = of(5).unwrap();
        assert!(five.ends_with("a/vm_error/5"), "{five}");
        assert_eq!(of(7).unwrap(), format!("{five} and 2 more"));
    }

    #[test]
    fn the_log_names_phase_and_episode() {
        use Phase::{Firing, Pending, Recovering, Resolved, Unwatched};
        for (was, is, want) in [
            ((Resolved, 0), (Pending, 0), "incident not confirmed yet"),
            ((Resolved, 0), (Firing, 1), "incident opened"),
            ((Pending, 0), (Firing, 1), "incident opened"),
            ((Firing, 1), (Recovering, 1), "incident recovering"),
            ((Recovering, 1), (Firing, 1), "incident not over yet"),
            ((Recovering, 1), (Resolved, 1), "incident resolved"),
            ((Resolved, 1), (Firing, 2), "incident opened"),
            ((Pending, 1), (Resolved, 1), "incident not confirmed"),
            // A balance drop.
            ((Resolved, 1), (Resolved, 2), "incident opened"),
            ((Firing, 1), (Unwatched, 1), "incident no longer watched"),
        ] {
            assert_eq!(happened(was, is), want, "{was:?} {is:?}");
        }
    }
}
