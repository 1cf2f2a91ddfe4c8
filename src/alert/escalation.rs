//! Escalation: who else hears of what is critical and stays open, and when. Pure.

use std::borrow::Cow;
use std::time::Duration;

use super::decide::StepDraft;
use super::incident::Incident;
use super::kind::Event;
use super::next::Escalation;
use super::reason::Cause;
use super::settings::{AlertSettings, Watcher};

impl StepDraft<'_> {
    /// Why an incident is escalated now, where it is.
    pub(super) fn escalates(&self, incident: &Incident, settings: &AlertSettings) -> Option<Cause> {
        let due = Escalation::of(incident, settings, self.muted, self.now)?;
        (due.at <= self.now).then(|| cause(due, settings))
    }

    /// The same of a cut-off from the last safe day on, acknowledged or not.
    pub(super) fn escalates_at_once(&self, incident: &Incident, settings: &AlertSettings) -> Option<Cause> {
        let due = Escalation::at_once(incident, settings, self.now).filter(|due| due.at <= self.now)?;
        Some(cause(due, settings))
    }

    /// Tells those that it is escalated to; for all others nothing changes, the day of their reminder neither.
    pub(super) fn escalate(&mut self, mut incident: Incident, why: Cause) {
        incident.escalated = true;
        self.tell_beside(incident, why, Event::Escalated, Vec::new());
    }
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

fn cause(due: Escalation, settings: &AlertSettings) -> Cause {
    let to = settings.escalate_to.join(", ");
    match due.ack_prevents {
        true => Cause::Escalated { to, after: words(settings.escalate_after) },
        false => Cause::EscalatedAtOnce { to },
    }
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
