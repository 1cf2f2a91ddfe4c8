//! The notification log: one entry for each recipient and incident, and the walk that finds what is owed to
//! each recipient.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chrono::{DateTime, Utc};

use super::case::{Case, Due, Role, Why};
use super::due;
use super::facts::{Facts, is_money};
use super::flight::{Addressee, Flight, Lane};
use super::incident::Incident;
use super::key::Key;
use super::kind::{Kind, Severity};
use super::notice::Item;
use super::notified::{Notified, Owed, Told, What};
use super::noting::{Entries, Noting, Tidings, pull_back};
use super::settings::AlertSettings;

/// The contents of the log: what recipients were told, and the mails on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Entries,
    /// Incidents of which something may be owed, by recipient. Walks find them, and `claim` compares them
    /// again.
    pub(super) candidates: BTreeMap<String, BTreeSet<Key>>,
    pub(crate) flights: Noting<(String, Lane), Flight>,
    pub(crate) addressees: Noting<String, Addressee>,
    pub(crate) tidings: Tidings,
    /// Whether it is decided who gets a first mail. An empty store has not decided yet.
    pub(super) is_started: bool,
    /// Incidents that wait for a reading. They are compared again after each reading.
    pub(super) awaiting: BTreeSet<Key>,
}

impl Log {
    /// Compares all incidents, since time alone may make something owed.
    pub(crate) fn note_all(&mut self, facts: &Facts<'_>) {
        let recipients: BTreeSet<&String> = facts.recipients().collect();
        let everybody: BTreeSet<&String> = facts.everybody().collect();
        // A recipient that left the configuration is owed no first mail and no digest.
        self.addressees.change_all(
            |to| !recipients.contains(&to),
            |one| {
                (one.first, one.digest) = (None, None);
                one.unfit.clear();
            },
        );
        self.addressees.change_all(|to| !everybody.contains(&to), |one| one.unsure_since = None);
        if !self.is_started && facts.engine.all_attempted(facts.snapshot) {
            self.is_started = true;
            for to in recipients {
                if self.has_first_mail(to, facts) {
                    self.change_addressee(to, |one| one.first = Some(facts.now));
                }
            }
            self.tidings.has_news = true;
        }
        let keys: BTreeSet<Key> =
            facts.engine.incidents.keys().chain(self.entries.keys().map(|(key, _)| key)).cloned().collect();
        self.note(&keys, facts);
    }

    /// A log whose first mails left long ago.
    pub(crate) fn started() -> Self {
        Self { is_started: true, ..Self::default() }
    }

    /// Whether it is decided who gets a first mail.
    pub(crate) fn is_started(&self) -> bool {
        self.is_started
    }

    /// Compares the incidents that a reading changed, and those that waited for one.
    pub(crate) fn note_reading(&mut self, changed: impl Iterator<Item = Key>, facts: &Facts<'_>) {
        let mut keys = std::mem::take(&mut self.awaiting);
        keys.extend(changed);
        self.note(&keys, facts);
    }

    /// Compares these incidents.
    pub(super) fn note(&mut self, keys: &BTreeSet<Key>, facts: &Facts<'_>) {
        let nothing = Notified::default();
        // Incidents that ended so long ago that nobody asks about them.
        let is_forgotten = |key: &Key| facts.incident(key).is_none();
        if keys.iter().any(is_forgotten) {
            self.entries.remove_all(|(key, _)| keys.contains(key) && is_forgotten(key));
        }
        for incident in keys.iter().filter_map(|key| facts.incident(key)) {
            let key = &incident.key;
            let news = self.concerned(key, facts).into_iter().filter_map(|(to, entry)| {
                let due = due::due(&self.case(incident, entry.unwrap_or(&nothing), to, facts));
                (!self.is_settled(key, to, entry, &due)).then(|| (to.to_owned(), due))
            });
            for (to, due) in news.collect::<Vec<_>>() {
                self.keep(incident, &to, &due, facts.now);
            }
        }
    }

    /// All recipients that may have to hear of an incident, each with its entry.
    fn concerned<'a>(&'a self, key: &'a Key, facts: &Facts<'a>) -> BTreeMap<&'a str, Option<&'a Notified>> {
        let watcher = facts.watcher(&key.account);
        let named = watcher
            .into_iter()
            .flat_map(|one| one.recipients(key.kind).iter().chain(&one.settings.escalate_to));
        let told = self.entries.of_incident(key).map(|(to, entry)| (to.as_str(), Some(entry)));
        named.map(|to| (to.as_str(), None)).chain(told).collect()
    }

    /// Whether the recipient knows, and nothing is owed or was. That is so for nearly all.
    fn is_settled(&self, key: &Key, to: &str, entry: Option<&Notified>, due: &Due) -> bool {
        matches!(due, Due::Nothing(Why::Told | Why::Acknowledged | Why::Explained(_) | Why::Fine, _))
            && entry.is_none_or(|entry| entry.owed.is_none() && entry.told.is_open())
            && self.candidates.get(to).is_none_or(|candidates| !candidates.contains(key))
    }

    pub(super) fn entry(&self, key: &Key, to: &str) -> Option<&Notified> {
        self.entries.get(&(key.clone(), to.to_owned()))
    }

    pub(super) fn put_entry(&mut self, key: &Key, to: &str, entry: Notified) {
        self.entries.insert((key.clone(), to.to_owned()), entry);
    }

    pub(super) fn change_entry(&mut self, key: &Key, to: &str, change: impl FnOnce(&mut Notified)) {
        self.entries.change(&(key.clone(), to.to_owned()), change);
    }

    /// Notes the incidents that the post of the first start only counts. Returns the entries before it.
    pub(super) fn count(&mut self, items: &[Item], to: &str, now: DateTime<Utc>) -> BTreeMap<Key, Notified> {
        let mut before = BTreeMap::new();
        for Item { key, .. } in items {
            let entry = self.entry(key, to).cloned().unwrap_or_default();
            let told = Told { by_first_mail: true, at: now, ..entry.told.clone() };
            self.put_entry(key, to, Notified { told, ..entry.clone() });
            before.insert(key.clone(), entry);
        }
        before
    }

    /// Whether other mails wait for the first one. Once its contents were refused, they do not.
    fn awaits_first(&self, to: &str) -> bool {
        let waits = |one: &Addressee| one.first.is_some() && !one.unfit.contains_key(&Lane::Other);
        self.addressees.get(to).is_some_and(waits)
    }

    pub(super) fn change_addressee(&mut self, to: &str, change: impl FnOnce(&mut Addressee)) {
        let mut addressee = self.addressees.get(to).cloned().unwrap_or_default();
        change(&mut addressee);
        if addressee == Addressee::default() {
            self.addressees.remove(&to.to_owned());
        } else {
            self.addressees.insert(to.to_owned(), addressee);
        }
    }

    /// Stores the result of a comparison. A debt keeps the time at which it was first owed.
    fn keep(&mut self, incident: &Incident, to: &str, due: &Due, now: DateTime<Utc>) {
        let key = &incident.key;
        // Incidents of two sorts are told after they ended. Some ended before the first mail could leave.
        // Others ended before their collector (or that of their cause) was read again; these only if nothing
        // explains them by now.
        let opens_now = incident.changes.last() == Some(&now) && incident.cause.is_none();
        let is_held = |why: &Why| {
            let is_unread = matches!(why, Why::NotRead | Why::Unread);
            let is_held = (*why == Why::FirstMail && self.is_started) || (is_unread && opens_now);
            is_held && incident.phase.is_open()
        };
        let (event, is_owed, is_wait) = match due {
            Due::Tell(event, _) => (Some(event), true, false),
            Due::Nothing(why, _) => (None, is_held(why) || *why == Why::SameReport, why.is_a_wait()),
        };
        if matches!(due, Due::Nothing(Why::NotRead | Why::Unread, _)) {
            self.awaiting.insert(key.clone());
        }
        match (event, self.candidates.get_mut(to)) {
            (Some(_), Some(candidates)) if candidates.contains(key) => {}
            (Some(_), _) => {
                self.tidings.has_news = true;
                self.candidates.entry(to.to_owned()).or_default().insert(key.clone());
            }
            (None, Some(candidates)) => drop(candidates.remove(key)),
            (None, None) => {}
        }
        let known = self.entry(key, to);
        let is_kept = known.is_some_and(|entry| match (&entry.owed, event) {
            (Some(owed), Some(event)) => owed.event.as_ref() == Some(event),
            (Some(_), None) => is_owed || is_wait,
            (None, _) => !is_owed && entry.told.is_open(),
        });
        if is_kept || (known.is_none() && !is_owed) {
            return;
        }
        let mut entry = known.cloned().unwrap_or_default();
        if is_owed {
            let (episode, began) = (incident.episode, incident.since);
            let new = || Owed { since: now, episode, began, event: None, event_since: now };
            let owed = entry.owed.get_or_insert_with(new);
            if event.is_some() && owed.event.as_ref() != event {
                self.tidings.has_news = true;
                if owed.is_an_end() {
                    (owed.episode, owed.began) = (episode, began);
                }
                (owed.event, owed.event_since) = (event.cloned(), now);
            }
        } else if !is_wait {
            entry.owed = None;
        }
        let knows =
            entry.told.is_open() || (matches!(entry.told.what, What::Listed(_)) && incident.phase.is_open());
        let has_left = matches!(due, Due::Nothing(Why::Left, _)) && !knows;
        if entry == Notified::default() || has_left {
            self.entries.remove(&(key.clone(), to.to_owned()));
        } else {
            self.put_entry(key, to, entry);
        }
    }

    /// Drops what is owed: the recipient hears nothing more of this episode of an incident, or of all episodes
    /// that are owed to it. The next rung of a cut-off is owed all the same.
    pub(crate) fn let_go(&mut self, to: &str, key: Option<&Key>, facts: &Facts<'_>) {
        let candidates = self.candidates.get(to).cloned().unwrap_or_default();
        for key in candidates.into_iter().filter(|one| key.is_none_or(|key| key == one)) {
            let (Some(incident), Some(entry)) = (facts.incident(&key), self.entry(&key, to).cloned()) else {
                continue;
            };
            let case = self.case(incident, &entry, to, facts);
            if let Due::Tell(event, _) = due::due(&case) {
                let told = due::told_after(&case, due::known(&case), &event, "");
                let dropped = (!is_money(&key)).then_some(incident.episode);
                self.put_entry(&key, to, Notified { told, dropped, ..Notified::default() });
            }
            self.note(&[key].into(), facts);
        }
    }

    /// Lets everything that is owed to one recipient, or to all, be tried at once.
    pub(crate) fn retry(&mut self, to: Option<&str>, now: DateTime<Utc>) {
        let is_meant = |one: &str| to.is_none_or(|to| to == one);
        self.entries.change_all(|(_, one)| is_meant(one), |entry| entry.refused = None);
        self.addressees.change_all(|one| is_meant(one), Addressee::retry);
        self.flights.change_all(|(one, _)| is_meant(one), |flight| flight.retry(now));
    }

    /// Lets the first mail of each recipient find out at once whether the server takes mail from us again.
    pub(crate) fn probe(&mut self, now: DateTime<Utc>) {
        self.addressees.change_all(|_| true, |one| one.probe(now));
    }

    /// An incident and a recipient, with all facts that the decision depends on.
    pub(super) fn case<'a>(
        &self,
        incident: &'a Incident,
        entry: &'a Notified,
        to: &str,
        facts: &Facts<'a>,
    ) -> Case<'a> {
        let key = &incident.key;
        let cause = incident.cause.as_ref().and_then(|cause| facts.incident(cause));
        Case {
            incident,
            cut_off: facts.cut_off(key),
            entry,
            role: self.role(incident, to, facts),
            started: self.is_started && !self.awaits_first(to),
            evidence: facts.evidence(incident),
            cause_reaches: cause.is_some_and(|cause| {
                // A silence of the cause does not take back a mail that went out.
                let knows = self.entry(&cause.key, to).is_some_and(|one| one.told.knows(cause.episode));
                facts.is_recipient(to, &cause.key) && (knows || facts.silenced(cause).is_none())
            }),
            silenced: facts.silenced(incident),
            is_acknowledged: facts.ack(incident).is_some(),
            cut_off_says: key.kind.is_momentary() && {
                let disconnect = self.entry(&Key::account_wide(&key.account, Kind::Disconnect), to);
                disconnect.and_then(|one| one.owed.as_ref()).is_some_and(|owed| owed.event.is_some())
            },
            horizon: facts.engine.horizon,
            settings: facts.watcher(&key.account).map_or_else(|| fallback(), |one| &*one.settings),
            now: facts.now,
        }
    }

    pub(super) fn role(&self, incident: &Incident, to: &str, facts: &Facts<'_>) -> Role {
        let key = &incident.key;
        if facts.is_recipient(to, key) {
            return Role::To;
        }
        let settings = facts.watcher(&key.account).map(|one| &one.settings);
        if !settings.is_some_and(|settings| settings.escalate_to.iter().any(|one| one == to)) {
            return Role::Left;
        }
        let others = self.entries.of_incident(key);
        let others = others.filter(|(other, _)| facts.is_recipient(other, key));
        let since = others.filter_map(|(_, one)| match &one.told {
            told if !told.knows(incident.episode) => one.owed.as_ref().map(|owed| owed.since),
            told if told.by_first_mail || told.severity != Some(Severity::Critical) => None,
            told => Some(told.began),
        });
        // Others may have been owed the end of an earlier episode for longer.
        Role::Escalation { since: since.min().map(|since| since.max(incident.since)) }
    }

    /// The clock was set: moments that lie ahead of it are set to now. A pause or a limit that began there is over.
    pub(crate) fn wake(&mut self, now: DateTime<Utc>) {
        self.entries.change_all(
            |_| true,
            |entry| {
                entry.refused.iter_mut().filter(|hold| hold.since > now).for_each(|hold| hold.times = 0);
                pull_back(entry.moments(), now);
            },
        );
        self.addressees.change_all(
            |_| true,
            |one| {
                one.sent.retain(|at| *at <= now);
                if one.moments().any(|at| *at > now) {
                    one.retry();
                }
                pull_back(one.moments(), now);
            },
        );
        self.flights.change_all(|_| true, |flight| pull_back(flight.moments(), now));
    }

    /// For each recipient of an incident: the event that is owed, or the reason why none is.
    pub(crate) fn answers(&self, key: &Key, facts: &Facts<'_>) -> Vec<(String, Due)> {
        let concerned = self.concerned(key, facts).into_keys();
        concerned.filter_map(|to| Some((to.to_owned(), self.why(key, to, facts)?))).collect()
    }

    /// The event that is owed to a recipient, or the reason why none is.
    pub(crate) fn why(&self, key: &Key, to: &str, facts: &Facts<'_>) -> Option<Due> {
        let (incident, nothing) = (facts.incident(key)?, Notified::default());
        Some(due::due(&self.case(incident, self.entry(key, to).unwrap_or(&nothing), to, facts)))
    }
}

/// An account that left the configuration only has ends to tell, which depend on no setting.
fn fallback() -> &'static AlertSettings {
    static DEFAULTS: LazyLock<AlertSettings> = LazyLock::new(AlertSettings::defaults);
    &DEFAULTS
}
