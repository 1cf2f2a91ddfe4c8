//! Escalation: who else hears of what is critical and stays open, and when. Pure.

use std::borrow::Cow;
use std::time::Duration;

use super::decide::StepDraft;
use super::incident::{Incident, Phase};
use super::kind::{Event, Severity};
use super::reason::Cause;
use super::settings::{AlertSettings, Watcher};

impl StepDraft<'_> {
    /// Why an incident is escalated now, where it is: once an episode.
    pub(super) fn escalates(&self, incident: &Incident, settings: &AlertSettings) -> Option<Cause> {
        let lasts = incident.phase == Phase::Firing
            && incident.severity == Severity::Critical
            && incident.announced
            && incident.folded_into.is_none()
            && !incident.told_unwatched;
        if !lasts || self.silenced(incident).is_some() {
            return None;
        }
        if let Some(at_once) = self.escalates_at_once(incident, settings) {
            return Some(at_once);
        }
        // Older stores have only the last mail.
        let mailed = incident.critical_mailed.or(incident.last_mailed)?;
        let waited = (self.now - mailed).to_std().unwrap_or_default();
        let left_alone = !incident.pre_existing && !self.muted.is_acknowledged(incident, self.now);
        (is_open_to(incident, settings) && left_alone && waited >= settings.escalate_after)
            .then(|| Cause::Escalated { to: names(settings), after: words(settings.escalate_after) })
    }

    /// The same of a cut-off from the last safe day on, acknowledged or not.
    pub(super) fn escalates_at_once(&self, incident: &Incident, settings: &AlertSettings) -> Option<Cause> {
        let near =
            incident.ladder.as_ref().is_some_and(|ladder| ladder.is_near(settings.lead_days, self.now));
        (is_open_to(incident, settings) && near).then(|| Cause::EscalatedAtOnce { to: names(settings) })
    }

    /// Tells those that it is escalated to; for all others nothing changes, the day of their reminder neither.
    pub(super) fn escalate(&mut self, mut incident: Incident, why: Cause) {
        incident.escalated = true;
        self.tell_beside(incident, why, Event::Escalated, Vec::new());
    }
}

/// It was not escalated yet, and there is somebody to whom it could be.
fn is_open_to(incident: &Incident, settings: &AlertSettings) -> bool {
    !incident.escalated && !settings.escalate_to.is_empty()
}

/// Who is told of an event: those that an incident was escalated to hear what follows of it, but for reminders.
pub(super) fn addressees<'a>(
    watcher: &'a Watcher,
    incident: Option<&Incident>,
    usual: &'a [String],
    event: &Event,
) -> Cow<'a, [String]> {
    let others = &watcher.settings.escalate_to;
    if *event == Event::Escalated {
        return Cow::Borrowed(others);
    }
    let follows = incident.is_some_and(|incident| incident.escalated) && !matches!(event, Event::Reminder(_));
    if !follows || others.is_empty() {
        return Cow::Borrowed(usual);
    }
    let mut all = usual.to_vec();
    all.extend(others.iter().filter(|other| !usual.contains(other)).cloned());
    Cow::Owned(all)
}

fn names(settings: &AlertSettings) -> String {
    settings.escalate_to.join(", ")
}

/// `12 h`, `90 min`.
fn words(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    if minutes >= 60 && minutes.is_multiple_of(60) {
        format!("{} h", minutes / 60)
    } else {
        format!("{minutes} min")
    }
}
