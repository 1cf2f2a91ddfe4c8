//! Looks at every decision of the engine and at what became of each incident: the properties.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::engine::Outcome;
use crate::alert::{AlertSettings, Event, Form, Incident, Input, Key, Kind, Notice, Phase, Reason, Severity};
use chrono::{DateTime, Utc};

use super::alert_support::postbox::{Postbox, State};
use super::evidence::{Evidence, Sign};
use super::ops::EXCLUDED_VM;

type Incidents = BTreeMap<Key, Incident>;

pub struct Auditor {
    settings: AlertSettings,
    /// Event keys by recipient, and the mail that tells them.
    told: BTreeMap<(String, String), String>,
    withdrawn: BTreeSet<String>,
    episodes: BTreeMap<(Key, u32), Episode>,
    streaks: BTreeMap<Key, Streaks>,
    /// The tightest rung told since the ladder was armed.
    rung: Option<u32>,
    /// Of the last mail of the disconnect.
    arming: u32,
}

/// What became of one opening of an incident.
#[derive(Default, Debug)]
struct Episode {
    confirmed: bool,
    /// What was told, and by which mail.
    told: Vec<(Event, String)>,
    /// Every reason given.
    reasons: Vec<Reason>,
    folded_into: Option<(Key, u32)>,
}

/// Whether a silence, or that nothing watched it any more, is a reason not to have been told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excuses {
    Accepted,
    Over,
}

#[derive(Clone, Copy, Default, Debug)]
struct Streaks {
    good: u32,
    bad: u32,
}

impl Auditor {
    pub fn new(settings: AlertSettings) -> Self {
        Self {
            settings,
            told: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
            episodes: BTreeMap::new(),
            streaks: BTreeMap::new(),
            rung: None,
            arming: 0,
        }
    }

    /// One decision, before it is taken in.
    pub fn look(
        &mut self,
        input: &Input,
        evidence: &Evidence,
        before: &Incidents,
        outcome: &Outcome,
        now: DateTime<Utc>,
    ) {
        for (key, sign) in evidence {
            let streaks = self.streaks.entry(key.clone()).or_default();
            *streaks = match sign {
                Sign::Bad => Streaks { good: 0, bad: streaks.bad + 1 },
                Sign::Good => Streaks { good: streaks.good + 1, bad: 0 },
                Sign::PerhapsBad => Streaks { bad: streaks.bad + 1, ..*streaks },
                Sign::Perhaps => Streaks { good: streaks.good + 1, ..*streaks },
                Sign::GoneTwice => Streaks { good: streaks.good + 2, ..*streaks },
            };
        }
        for incident in &outcome.incidents {
            let old = before.get(&incident.key);
            self.has_reason(incident, old, outcome);
            self.is_proved(incident, old, input, evidence);
            assert!(!self.is_excluded(&incident.key), "a rule leaves {} out: {incident:?}", incident.key);
            let folded_into = incident.folded_into.as_ref().map(|root| {
                let changed = outcome.incidents.iter().find(|one| one.key == *root);
                let root = changed.or_else(|| before.get(root)).unwrap();
                (root.key.clone(), root.episode)
            });
            let episode = self.episodes.entry((incident.key.clone(), incident.episode)).or_default();
            episode.confirmed |= incident.phase.is_open();
            episode.folded_into = folded_into.or_else(|| episode.folded_into.take());
            let reasons = outcome.decisions.iter().filter(|(key, _)| *key == incident.key);
            episode.reasons.extend(reasons.map(|(_, reason)| reason.clone()));
        }
        self.mails_are_few(outcome);
        self.ladder_descends(outcome, now);
    }

    /// What newer mails replaced was not told.
    pub fn withdrawn(&mut self, postbox: &Postbox) {
        self.withdrawn.extend(
            postbox.mails.iter().filter(|mail| postbox.is_withdrawn(&mail.id)).map(|mail| mail.id.clone()),
        );
        let of_one = |id: &str, to: &str| {
            postbox.mails.iter().any(|mail| mail.id == id && mail.to == to && mail.state == State::Withdrawn)
        };
        self.told.retain(|(_, to), id| !of_one(id, to));
    }

    /// A mail that was queued.
    pub fn mailed(&mut self, id: &str, notice: &Notice) {
        if notice.items.is_empty() {
            self.tell("started", &notice.to, id);
        }
        for item in &notice.items {
            self.tell(&item.event_key(), &notice.to, id);
            let episode = self.episodes.get_mut(&(item.key.clone(), item.episode));
            let episode = episode.unwrap_or_else(|| panic!("tells of {} out of nowhere", item.event_key()));
            episode.told.push((item.event.clone(), id.to_owned()));
        }
    }

    /// At the end: every incident that was confirmed is in a mail that is not withdrawn, or has a reason not to be.
    pub fn nobody_is_left_in_the_dark(&self, incidents: &Incidents) {
        for ((key, episode), told) in &self.episodes {
            let known = self.is_known(key, *episode, Excuses::Accepted);
            // What is over by now went with its cause.
            let root = incidents.get(key).and_then(|incident| incident.folded_into.as_ref());
            let root = root.or(told.folded_into.as_ref().map(|(root, _)| root));
            // What may explain it, or its cause, was not looked at yet.
            let waits = |one: &Incident| one.phase.is_open() && one.waits.is_some();
            let root_waits = root.and_then(|root| incidents.get(root)).is_some_and(waits);
            let own = incidents.get(key).filter(|one| one.episode == *episode);
            if own.is_some_and(waits) || root_waits {
                continue;
            }
            assert!(known.is_ok(), "{key} #{episode}: {} {:#?}", known.unwrap_err(), incidents.get(key));
        }
    }

    /// The end of what people were told of was told to them, once everything is over.
    pub fn ends_are_told(&self) {
        for ((key, number), episode) in &self.episodes {
            let event_only = key.kind == Kind::BalanceDrop;
            // News of a later episode took the place of its end.
            let later =
                self.episodes.range((key.clone(), number + 1)..).take_while(|((other, _), _)| other == key);
            let moved_on =
                later.flat_map(|(_, later)| &later.told).any(|(_, mail)| !self.withdrawn.contains(mail));
            let mut told = episode.told.iter().filter(|(_, mail)| !self.withdrawn.contains(mail)).peekable();
            let excuse = |reason: &Reason| reason.to_string().contains("silenced by");
            if told.peek().is_none() || event_only || moved_on || episode.reasons.iter().any(excuse) {
                continue;
            }
            assert!(told.any(|(event, _)| event.is_end()), "{key} #{number} never ended: {episode:#?}");
        }
    }

    /// Was this episode mailed, or its cause? The silences are over.
    pub fn was_told(&self, key: &Key, episode: u32) -> Result<(), String> {
        self.is_known(key, episode, Excuses::Over)
    }

    fn is_known(&self, key: &Key, number: u32, excuses: Excuses) -> Result<(), String> {
        let Some(episode) = self.episodes.get(&(key.clone(), number)) else { return Ok(()) };
        let mailed = |episode: &Episode| episode.told.iter().any(|(_, mail)| !self.withdrawn.contains(mail));
        // Newer news of an incident replaces older news that did not arrive.
        let newer = self.episodes.range((key.clone(), number)..).take_while(|((other, _), _)| other == key);
        let replaced = !episode.told.is_empty() && newer.map(|(_, later)| later).any(mailed);
        if !episode.confirmed || mailed(episode) || replaced {
            return Ok(());
        }
        let said = |words: &str| episode.reasons.iter().any(|reason| reason.to_string().contains(words));
        if let Some((root, root_episode)) = &episode.folded_into {
            return self.is_known(root, *root_episode, excuses).map_err(|why| format!("root {root}: {why}"));
        }
        // Its news may have been replaced by newer of what nobody heard of before its rule was switched off.
        let since = self.episodes.range((key.clone(), number)..).take_while(|((other, _), _)| other == key);
        let retired = since
            .flat_map(|(_, later)| &later.reasons)
            .any(|reason| reason.to_string().contains("its rule is switched off"));
        if (said("silenced by") || retired) && excuses == Excuses::Accepted {
            return Ok(());
        }
        let all: Vec<_> = self.episodes.iter().filter(|((other, _), _)| other == key).collect();
        Err(format!("nobody was told of #{number}, and no reason says why: {all:#?}"))
    }

    /// Never two notices of one event to one recipient.
    fn tell(&mut self, event_key: &str, to: &[String], id: &str) {
        for recipient in to {
            let old = self.told.insert((event_key.to_owned(), recipient.clone()), id.to_owned());
            assert!(old.is_none(), "{event_key} is told to {recipient} twice: {old:?} and {id}");
        }
    }

    /// Every change of an incident comes with a reason.
    fn has_reason(&self, incident: &Incident, old: Option<&Incident>, outcome: &Outcome) {
        let state = |one: &Incident| {
            (
                one.phase,
                one.episode,
                // That of a cut-off follows from its date and the clock.
                Some(one.severity).filter(|_| one.key.kind != Kind::Disconnect),
                one.announced,
                one.flapping,
                one.folded_into.clone(),
                one.reminders,
            )
        };
        let fresh = Incident::new(incident.key.clone(), incident.severity, incident.since);
        if state(incident) == state(old.unwrap_or(&fresh)) {
            return;
        }
        let reasons = outcome.decisions.iter().filter(|(key, _)| *key == incident.key);
        let reasons: Vec<&Reason> = reasons.map(|(_, reason)| reason).collect();
        assert!(
            !reasons.is_empty() && reasons.iter().all(|reason| !reason.to_string().is_empty()),
            "{} changes without a reason: {old:#?} -> {incident:#?}",
            incident.key
        );
    }

    /// Opened by what was seen wrong often enough, closed by what was seen right often enough, and by nothing else.
    fn is_proved(&self, incident: &Incident, old: Option<&Incident>, input: &Input, evidence: &Evidence) {
        let key = &incident.key;
        let was = old.map_or(Phase::Watching, |old| old.phase);
        let seen = evidence.get(key).copied();
        let streaks = self.streaks.get(key).copied().unwrap_or_default();
        if key.kind == Kind::BalanceDrop {
            return;
        }
        // It was seen right for half an hour.
        let has_settled = old.is_some_and(Incident::is_settling) && matches!(input, Input::Tick(_));
        // One end tells of all that failed together.
        let has_waited = key.kind == Kind::CollectorFailing
            && was == Phase::Recovering
            && matches!(input, Input::Tick(_))
            && streaks.good >= self.settings.recover_polls;
        if was.is_open() && incident.phase == Phase::Resolved && !has_settled && !has_waited {
            assert!(is_good(seen), "{key} is closed by {input:?}");
            let enough = self.settings.recover_polls;
            assert!(streaks.good >= enough, "{key} is closed after {} of {enough}", streaks.good);
        }
        if was == Phase::Pending && incident.phase == Phase::Resolved {
            let partly = seen == Some(Sign::PerhapsBad);
            assert!(is_good(seen) || partly, "{key} is dropped by {input:?}");
        }
        if !was.is_open() && incident.phase.is_open() && key.kind != Kind::Disconnect {
            // The first collector whose time has come tells of all that fail.
            let with_another = key.kind == Kind::CollectorFailing && incident.folded_into.is_some();
            // Watched again, it goes on as it was; nothing is told of it before it is seen.
            let goes_on = was == Phase::Unwatched && incident.unseen_since_back;
            if with_another || goes_on {
                return;
            }
            let by_time = key.kind == Kind::CollectorFailing && matches!(input, Input::Tick(_));
            let bad = matches!(seen, Some(Sign::Bad | Sign::PerhapsBad));
            assert!(by_time || bad, "{key} is opened by {input:?}");
            let enough = self.settings.confirm_polls;
            assert!(streaks.bad >= enough, "{key} is opened after {} of {enough}", streaks.bad);
        }
    }

    fn is_excluded(&self, key: &Key) -> bool {
        let out = self.settings.rules.get(&Kind::VmError).is_some_and(|rule| !rule.except.is_empty());
        let named = key.kind == Kind::VmError && key.id() == Some(EXCLUDED_VM);
        (out && named) || !self.settings.enabled(key.kind)
    }

    /// What one step has to tell one person is one mail of a form; the disconnect stands alone.
    fn mails_are_few(&self, outcome: &Outcome) {
        let mut seen = BTreeSet::new();
        for notice in &outcome.notices {
            let disconnect = notice.items.iter().any(|item| item.key.kind == Kind::Disconnect);
            assert!(!disconnect || notice.items.len() == 1, "a disconnect mail stands alone: {notice:#?}");
            for to in &notice.to {
                let form = match notice.form {
                    Form::Disconnect => continue,
                    Form::Opened | Form::Started(_) => "opened",
                    Form::Closed => "closed",
                    Form::Reminder => "reminder",
                    Form::Covered => continue,
                    Form::Unwatched => "unwatched",
                    Form::Overflow(_) => "overflow",
                    Form::Digest(_) => "digest",
                };
                assert!(seen.insert((form, to)), "two mails {form} to {to}: {:#?}", outcome.notices);
            }
        }
    }

    /// Rungs are told from the top down, until the date moves back or the disconnect is off.
    fn ladder_descends(&mut self, outcome: &Outcome, now: DateTime<Utc>) {
        let items = outcome.notices.iter().flat_map(|notice| &notice.items);
        for item in items.filter(|item| item.key.kind == Kind::Disconnect) {
            let ladder = item.ladder.clone().unwrap_or_default();
            match item.event {
                Event::Rung(rung) => {
                    let again = item.arming != self.arming;
                    assert!(
                        again || self.rung.is_none_or(|told| rung < told),
                        "rung {rung} after {:?}",
                        self.rung
                    );
                    let current = ladder.current_rung(&self.settings.disconnect_days, now);
                    assert_eq!(Some(rung), current, "the tightest rung crossed: {ladder:?}");
                    self.rung = Some(rung);
                }
                Event::Extended(_) | Event::Paid(_) => {
                    assert!(!ladder.is_overdue(now), "{ladder:?}");
                    self.rung = ladder.rung;
                }
                Event::BalanceUsedUp => assert!(ladder.used_up && !ladder.is_overdue(now), "{ladder:?}"),
                Event::Overdue(_) | Event::Deletion(_) => {
                    assert!(ladder.is_overdue(now) && self.rung == Some(0), "{ladder:?}");
                }
                Event::Resolved | Event::WasDown | Event::Unwatched => self.rung = None,
                Event::Escalated => assert!(item.severity == Severity::Critical, "{ladder:?}"),
                Event::Covered(_) => {}
                Event::Started
                | Event::Opened
                | Event::Reminder(_)
                | Event::Removed
                | Event::Flapping
                | Event::Digest(_)
                | Event::Overflow
                | Event::Test => panic!("no event of a disconnect: {}", item.event),
            }
            self.arming = item.arming;
        }
        // It may also end in silence.
        let closed = |one: &&Incident| one.key.kind == Kind::Disconnect && one.phase == Phase::Resolved;
        if outcome.incidents.iter().any(|incident| closed(&incident)) {
            self.rung = None;
        }
    }
}

/// Whoever reads only the mails, in the order in which they arrive, knows how things stand.
pub fn the_last_word_is_true(postbox: &Postbox, incidents: &Incidents) {
    let mut last: BTreeMap<(&str, Key), Event> = BTreeMap::new();
    for to in ["ops", "boss"] {
        for (key, event) in postbox.read_by(to) {
            last.insert((to, key), event);
        }
    }
    for ((to, key), event) in last {
        let incident = &incidents[&key];
        // One is over as soon as it is told; another's mail speaks for the other.
        if key.kind == Kind::BalanceDrop || incident.folded_into.is_some() {
            continue;
        }
        let open = incident.phase.is_open();
        // Another episode may be open that did not go to them.
        let open = if to == "boss" { open && !event.is_end() } else { open };
        assert!(open != event.is_end(), "the last that {to} reads of {key} is {event}: {incident:#?}");
    }
}

fn is_good(seen: Option<Sign>) -> bool {
    matches!(seen, Some(Sign::Good | Sign::Perhaps | Sign::GoneTwice))
}
