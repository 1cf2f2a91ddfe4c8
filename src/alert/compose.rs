//! The contents of one mail to one recipient: everything that is owed in a lane, or a summary if an hourly limit held it
//! back.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::case::{Due, Role, Why};
use super::due;
use super::facts::{Facts, is_money};
use super::flight::{Addressee, HOUR, Lane};
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind, Severity};
use super::log::Log;
use super::notice::{Form, Item, Notice, Started, Summary};
use super::notified::{Told, What};
use super::reason::Cause;
use super::silence::Decided;
use super::subject::Subject;
use crate::model::{AccountName, Collector, WEBHOOK};

/// Programs read webhooks: each incident is a post of its own, and no limit holds any back.
pub(super) fn is_webhook(to: &str) -> bool {
    to.starts_with(WEBHOOK)
}

impl Log {
    /// One mail of what is owed: everything of the lane, or a summary if the hourly limit held it back.
    ///
    /// # Errors
    /// The lane, if its sender is not ready for this mail.
    pub(super) fn notice(
        &mut self,
        lane: Lane,
        to: &str,
        mut owed: Vec<(Key, Event, Cause)>,
        facts: &Facts<'_>,
        is_ready: bool,
    ) -> Result<Option<Notice>, Lane> {
        let now = facts.now;
        // A fact that is sent in spite of a hold does not take the first mail along.
        let is_first =
            lane == Lane::Other && self.hold(lane, to, now).is_none() && self.is_first_due(to, facts);
        if !is_first && (owed.is_empty() || self.is_limited(lane, to, facts)) {
            return Ok(None);
        }
        if is_first && !self.has_first_mail(to, facts) {
            self.change_addressee(to, Addressee::forget_first);
            return Ok(None);
        }
        if !is_ready {
            return Err(lane);
        }
        // Receivers keep a ticket for each group of alerts, and close it when all of the group is over.
        let is_alone = lane == Lane::Money || (is_webhook(to) && !is_first);
        if is_alone && lane == Lane::Other {
            let severity = |key: &Key| facts.incident(key).map(|incident| incident.severity);
            let worst = owed.into_iter().min_by_key(|(key, ..)| (Reverse(severity(key)), key.clone()));
            owed = worst.into_iter().collect();
        }
        let mut items: Vec<Item> = if is_first {
            self.first_items(to, facts)
        } else {
            let make = |(key, event, why): (Key, Event, Cause)| self.item(&key, event, why, to, facts);
            owed.into_iter().filter_map(make).collect()
        };
        let limited = lane == Lane::Other && self.addressees.get(to).is_some_and(|one| one.limited);
        let form = if is_first {
            Form::Started(self.started_numbers(to, &items, facts))
        } else if limited && items.len() > 1 {
            let owed = items.iter().filter_map(|item| self.entry(&item.key, to)?.owed.as_ref());
            let since = owed.map(|owed| owed.event_since).min().unwrap_or(now);
            Form::Summary(Summary { max_per_hour: facts.max_per_hour, since })
        } else if items.is_empty() {
            return Ok(None);
        } else {
            Form::News
        };
        sort(&mut items);
        items.truncate(if is_alone { 1 } else { usize::MAX });
        Ok(Some(Notice { accounts: accounts(&form, &items, to, facts), form, items, to: to.to_owned() }))
    }

    /// The digest that is owed, showing the present state.
    ///
    /// # Errors
    /// The lane, if its sender is not ready for this mail.
    pub(super) fn digest(
        &mut self,
        to: &str,
        facts: &Facts<'_>,
        is_ready: bool,
    ) -> Result<Option<Notice>, Lane> {
        let lane = Lane::Digest;
        let addressee = self.addressees.get(to).filter(|one| one.is_fit(lane, facts.now));
        let owed = addressee.and_then(|one| one.digest.clone());
        // After a start or a sleep a digest waits for the first readings, as all mails do.
        let Some(digest) = owed.filter(|_| !facts.is_looking() && self.hold(lane, to, facts.now).is_none())
        else {
            return Ok(None);
        };
        if self.is_limited(lane, to, facts) {
            return Ok(None);
        }
        if !is_ready {
            return Err(lane);
        }
        let is_meant = |one: &&Incident| digest.accounts.contains(&one.key.account);
        let is_of_its_time = |one: &&Incident| {
            let is_over = matches!(one.phase, Phase::Resolved | Phase::Removed);
            one.phase.is_open() || (is_over && one.ended >= Some(digest.from) && self.was_told(&one.key))
        };
        let listed = facts.engine.incidents.values().filter(is_meant).filter(is_of_its_time);
        let event = Event::Digest(digest.date);
        let listed = listed.filter_map(|one| {
            let item = self.item(&one.key, event.clone(), one.why.clone(), to, facts)?;
            // A digest is no reply to a mail.
            let muted = facts.muted.decided(one, facts.ack(one), facts.now);
            Some(Item { severity: one.severity, thread: None, is_reminded: false, muted, ..item })
        });
        let mut items: Vec<Item> = listed.collect();
        sort(&mut items);
        items.sort_by_key(|item| item.ended().is_some());
        let accounts = digest.accounts.clone();
        Ok(Some(Notice { form: Form::Digest(digest), items, to: to.to_owned(), accounts }))
    }

    /// Whether anybody was told of the last episode of an incident, by a mail of its own or by another.
    pub(crate) fn was_told(&self, key: &Key) -> bool {
        self.entries.of_incident(key).any(|(_, entry)| entry.told.what != What::Nothing)
    }

    /// Whether the first mail is owed and can leave. After a start or a sleep it waits for the first readings,
    /// as all mails do.
    fn is_first_due(&self, to: &str, facts: &Facts<'_>) -> bool {
        let is_due = |one: &Addressee| one.first.is_some() && one.is_fit(Lane::Other, facts.now);
        self.addressees.get(to).is_some_and(is_due)
            && facts.recipients().any(|one| one == to)
            && !facts.is_looking()
    }

    /// Whether a recipient gets the mail about the first start. A recipient that only rules name gets mails
    /// about open incidents instead.
    pub(super) fn has_first_mail(&self, to: &str, facts: &Facts<'_>) -> bool {
        let mut watchers = facts.engine.watchers().values();
        watchers.any(|one| one.to.iter().any(|one| one == to)) || !self.first_items(to, facts).is_empty()
    }

    /// The beginning of the newest refusal or failure that still holds back the mails of a lane.
    pub(super) fn hold(&self, lane: Lane, to: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let one = self.addressees.get(to)?;
        let refused = one.refused.filter(|hold| now < hold.until()).map(|hold| hold.since);
        let backoff = one.backoff.get(&lane).filter(|one| now < one.soon());
        let held = one.held.filter(|_| one.held_until().is_some_and(|until| now < until));
        refused.max(backoff.map(|one| one.since)).max(held)
    }

    /// Whether the last hour had as many mails as the limit allows. The rest then waits for a summary. Mails about money
    /// have no limit.
    fn is_limited(&mut self, lane: Lane, to: &str, facts: &Facts<'_>) -> bool {
        if is_webhook(to) || lane == Lane::Money {
            return false;
        }
        let mut is_limited = false;
        self.change_addressee(to, |one| {
            one.sent.retain(|at| facts.now - *at < HOUR);
            is_limited = one.sent.len() >= facts.max_per_hour;
            one.limited |= is_limited;
        });
        is_limited
    }

    /// The items of a first mail: all open incidents that nobody was told of.
    fn first_items(&self, to: &str, facts: &Facts<'_>) -> Vec<Item> {
        let open = facts.engine.incidents.values().filter(|one| {
            one.phase.is_open() && !is_money(&one.key) && one.cause.is_none() && facts.silenced(one).is_none()
        });
        let is_new =
            |one: &&Incident| self.entry(&one.key, to).is_none_or(|entry| !entry.surely().knows(one.episode));
        let mine = open.filter(|one| self.role(one, to, facts) == Role::To).filter(is_new);
        mine.filter_map(|one| self.item(&one.key, Event::Started, Cause::KnownAtStart, to, facts)).collect()
    }

    /// The numbers of a first mail, counted over the recipient's accounts.
    fn started_numbers(&self, to: &str, items: &[Item], facts: &Facts<'_>) -> Started {
        let mut started = Started::default();
        for (account, state) in &facts.snapshot.accounts {
            let is_mine = facts.watcher(account).is_some_and(|one| one.to.iter().any(|one| one == to));
            if !is_mine && items.iter().all(|item| item.key.account != *account) {
                continue;
            }
            started.resources += state.resource_count();
            let disconnect = Key::account_wide(account, Kind::Disconnect);
            let open = facts
                .incident(&disconnect)
                .filter(|one| one.phase.is_open() && one.severity > Severity::Info);
            if let Some(incident) = open.filter(|_| facts.is_recipient(to, &disconnect)) {
                started.severity = started.severity.max(Some(incident.severity));
                started.overdue |= facts.cut_off(&disconnect).is_some_and(|one| one.is_overdue(facts.now));
                started.cut_offs += 1;
            }
        }
        started
    }

    /// The incidents that wait for the account's mail about the cut-off, which has their words.
    fn said_by_cut_off(&self, account: &AccountName, to: &str, facts: &Facts<'_>) -> Vec<Incident> {
        let momentary = facts.engine.incidents_of(account).filter(|one| one.key.kind.is_momentary());
        let waits = |one: &&Incident| {
            let due = self.why(&one.key, to, facts);
            matches!(due, Some(Due::Nothing(Why::SameReport, _)))
        };
        momentary.filter(waits).cloned().collect()
    }

    fn item(&self, key: &Key, event: Event, why: Cause, to: &str, facts: &Facts<'_>) -> Option<Item> {
        let incident = facts.incident(key)?;
        let entry = self.entry(key, to).cloned().unwrap_or_default();
        let lists = |one: &&&Incident| !event.is_end() && facts.silenced(one).is_none();
        let explained = facts.explained.get(key).into_iter().flatten();
        let covers: Vec<Incident> = explained.filter(lists).map(|one| (*one).clone()).collect();
        let case = self.case(incident, &entry, to, facts);
        let known = due::known(&case);
        let told = due::told_after(&case, known, &event, "");
        let is_reminded = !is_money(key) && due::next_reminder(&case, &told).is_some();
        let as_of = facts
            .cut_off(key)
            .and_then(|one| one.as_of(facts.snapshot.accounts.get(&key.account)?, facts.now));
        let thread = told.thread.filter(|id| !id.is_empty() && known.is_open());
        let cut_off = facts.cut_off(key).cloned();
        let severity =
            if is_money(key) { told.severity.unwrap_or(incident.severity) } else { incident.severity };
        let missed = entry.owed.as_ref().filter(|_| event == Event::WasDown);
        let is_end = event.is_end();
        let is_of_money = is_money(key) && event != Event::Unwatched;
        let says = if is_of_money { self.said_by_cut_off(&key.account, to, facts) } else { Vec::new() };
        Some(Item {
            key: key.clone(),
            event,
            severity,
            why,
            began: missed.map_or(incident.since, |owed| owed.began),
            episodes: missed.map_or(1, |owed| incident.episode - owed.episode + 1),
            before: known.clone(),
            thread,
            as_of,
            incident: if is_end { ended(incident, known) } else { incident.clone() },
            cut_off,
            covers,
            says,
            at: facts.now,
            is_reminded,
            muted: Decided::default(),
            deleted_at: facts.deleted_at(key),
        })
    }
}

/// An incident as the mail about its end names it: with the collectors or states that the recipient was told of.
fn ended(incident: &Incident, told: &Told) -> Incident {
    let mut ended = incident.clone();
    let is_told = |one: &Collector| told.set.contains(one.as_str());
    if !told.is_open() || told.set.is_empty() {
        return ended;
    }
    if let Subject::Unread { collectors } = &mut ended.subject {
        *collectors = Collector::ALL.into_iter().filter(is_told).collect();
    } else if let Subject::States { names, .. } = &mut ended.subject {
        *names = told.set.iter().cloned().collect();
    }
    ended
}

/// The accounts that a mail is about.
fn accounts(form: &Form, items: &[Item], to: &str, facts: &Facts<'_>) -> Vec<AccountName> {
    let mine = facts
        .engine
        .watchers()
        .iter()
        .filter(|(_, one)| matches!(form, Form::Started(_)) && one.to.iter().any(|one| one == to));
    let all: BTreeSet<&AccountName> =
        items.iter().map(|item| &item.key.account).chain(mine.map(|(account, _)| account)).collect();
    all.into_iter().cloned().collect()
}

fn sort(items: &mut [Item]) {
    items.sort_by(|a, b| worst_first(a).cmp(&worst_first(b)).then_with(|| a.key.cmp(&b.key)));
}

/// Sorts critical before warning, money before the rest, and the nearest cut-off first.
fn worst_first(item: &Item) -> impl Ord + use<> {
    let cut_off = item.cut_off.as_ref().filter(|cut_off| !cut_off.gone).and_then(|cut_off| cut_off.edd);
    (Reverse(item.severity), !is_money(&item.key), cut_off)
}
