//! What the log says of an incident, so that a day of it reads as a story: opened, goes on, over.

use std::collections::BTreeMap;

use crate::alert::{Incident, Key, Phase};
use crate::store::Batch;

/// What was decided, of incidents as they stood before.
pub(super) fn tell(before: &BTreeMap<Key, Incident>, batch: &Batch) {
    let after: BTreeMap<&Key, &Incident> =
        batch.incidents.iter().map(|incident| (&incident.key, incident)).collect();
    let mut stood: BTreeMap<&Key, (Phase, u32)> = BTreeMap::new();
    for (key, reason) in &batch.decisions {
        let known = before.get(key);
        let Some(incident) = after.get(key).copied().or(known) else { continue };
        let stands = (incident.phase, incident.episode);
        // Of two decisions about one incident only the first is news of its phase.
        let was = stood.insert(key, stands).or_else(|| known.map(|known| (known.phase, known.episode)));
        let (severity, title) = (incident.severity.as_str(), incident.words());
        tracing::info!(incident = %key, severity, title, %reason, "{}", happened(was, stands));
    }
}

/// Of phases and episodes.
fn happened(was: Option<(Phase, u32)>, is: (Phase, u32)) -> &'static str {
    let was_open = was.is_some_and(|(phase, episode)| phase.is_open() && episode == is.1);
    let is_new = was.is_none_or(|(_, episode)| episode != is.1);
    match is.0 {
        Phase::Firing if was.is_some_and(|(phase, _)| phase == Phase::Recovering) => "incident not over yet",
        Phase::Firing if was_open => "incident goes on",
        Phase::Firing => "incident opened",
        Phase::Recovering => "incident recovering",
        // What is told once begins and ends at the same moment.
        Phase::Resolved if is_new => "incident opened",
        Phase::Resolved if was_open => "incident resolved",
        Phase::Resolved => "incident not confirmed",
        Phase::Unwatched => "incident no longer watched",
        Phase::Pending => "incident not confirmed yet",
        Phase::Watching => "incident ahead",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_said_by_phase_and_episode() {
        use Phase::{Firing, Pending, Recovering, Resolved, Unwatched};
        for (was, is, want) in [
            (None, (Pending, 0), "incident not confirmed yet"),
            (None, (Firing, 1), "incident opened"),
            (Some((Pending, 0)), (Firing, 1), "incident opened"),
            (Some((Firing, 1)), (Firing, 1), "incident goes on"),
            (Some((Firing, 1)), (Recovering, 1), "incident recovering"),
            (Some((Recovering, 1)), (Firing, 1), "incident not over yet"),
            (Some((Recovering, 1)), (Resolved, 1), "incident resolved"),
            (Some((Resolved, 1)), (Firing, 2), "incident opened"),
            (Some((Pending, 1)), (Resolved, 1), "incident not confirmed"),
            // A drop of the balance.
            (Some((Resolved, 1)), (Resolved, 2), "incident opened"),
            (Some((Firing, 1)), (Unwatched, 1), "incident no longer watched"),
        ] {
            assert_eq!(happened(was, is), want, "{was:?} {is:?}");
        }
    }
}
