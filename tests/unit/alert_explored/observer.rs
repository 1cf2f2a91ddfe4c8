//! The observer: it knows the mails that each recipient read, and the laws about them. It shares no decision
//! with the engine.
#![allow(clippy::wildcard_enum_match_arm, reason = "this world has a few of them")]

use std::collections::BTreeMap;

use super::life::{Broken, Life};
use super::ops::Answer;
use super::truth::{Resource, Truth, crossing};
use crate::alert::{Due, Event, Facts, Item, Key, Kind, Notice};
use chrono::{DateTime, Duration, Utc};

/// An end that could not be mailed for so long is dropped.
const LAPSES: Duration = Duration::days(7);
/// A rung can be told again once the date is so far beyond it.
const BEHIND: Duration = Duration::days(1);

#[derive(Clone, Debug, Default)]
pub struct Observer {
    pub truth: Truth,
    known: BTreeMap<(String, Key), Known>,
    /// The events that each recipient read, and whether a reply about them was lost since.
    keys: BTreeMap<(String, String), Read>,
}

/// The knowledge of one recipient about one incident.
#[derive(Clone, Debug, Default)]
struct Known {
    read: Says,
    /// A beginning was read or perhaps read, and no end was surely read since.
    perhaps_open: bool,
    /// No reply came to the last mail about it. The mail of a killed daemon is sent again until one comes.
    unsure: bool,
    /// The reply to an end was lost.
    perhaps_over: bool,
    /// For the cut-off: the stage in the last mail.
    cut_off: Option<Stage>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Says {
    #[default]
    Nothing,
    /// A mail about the incident said that this episode began.
    Wrong(u32),
    /// A mail about another incident listed it as a consequence.
    Listed,
    Over,
}

/// The date, and the tightest rung that was crossed then.
#[derive(Clone, Copy, Debug)]
struct Stage {
    date: Option<DateTime<Utc>>,
    rung: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Read {
    arrived: bool,
    lost: bool,
}

impl Observer {
    /// A mail is attempted.
    pub fn attempt(
        &mut self,
        notice: &Notice,
        answer: Answer,
        is_silenced: bool,
        is_acked: &dyn Fn(&Key, u32) -> bool,
        now: DateTime<Utc>,
    ) -> Result<(), Broken> {
        let to = &notice.to;
        let (is_lost, arrives) = (answer.is_lost(), answer.arrives());
        for item in &notice.items {
            self.is_true(item, to, is_silenced, is_acked, now)
                .map_err(|why| format!("{to} is told {}: {why} ({} at {now})", item.event_key(), item.key))?;
            let read = self.keys.entry((to.clone(), item.event_key())).or_default();
            if arrives && read.arrived && !read.lost {
                return Err(format!("{to} reads {} twice", item.event_key()));
            }
            read.arrived |= arrives;
            read.lost = is_lost || (read.lost && answer != Answer::Accept);
            self.reads(item, to, answer, now);
        }
        Ok(())
    }

    fn reads(&mut self, item: &Item, to: &str, answer: Answer, now: DateTime<Utc>) {
        let (is_lost, arrives) = (answer.is_lost(), answer.arrives());
        let stage = Stage { date: self.truth.cut_off.date, rung: self.truth.cut_off.rung(now) };
        let known = self.known.entry((to.to_owned(), item.key.clone())).or_default();
        known.unsure = matches!(answer, Answer::Lost { .. });
        if item.event.is_end() {
            known.perhaps_over |= is_lost;
            if arrives {
                (known.read, known.cut_off) = (Says::Over, None);
            }
            if arrives && !is_lost {
                (known.perhaps_open, known.perhaps_over) = (false, false);
            }
        } else if let Event::Reminder(_) = item.event {
            if arrives {
                known.read = Says::Wrong(item.incident.episode);
            }
        } else {
            known.perhaps_open |= arrives || is_lost;
            known.perhaps_over &= !arrives && !is_lost;
            if arrives {
                known.read = Says::Wrong(item.incident.episode);
                known.cut_off = Some(stage).filter(|_| item.key.kind == Kind::Disconnect);
            }
        }
        for one in item.covers.iter().filter(|_| arrives) {
            let known = self.known.entry((to.to_owned(), one.key.clone())).or_default();
            if !matches!(known.read, Says::Wrong(episode) if episode == one.episode) {
                known.read = Says::Listed;
            }
        }
    }

    /// Is the mail's sentence about the incident true at this moment?
    fn is_true(
        &self,
        item: &Item,
        to: &str,
        is_silenced: bool,
        is_acked: &dyn Fn(&Key, u32) -> bool,
        now: DateTime<Utc>,
    ) -> Result<(), Broken> {
        let key = &item.key;
        let known = self.known.get(&(to.to_owned(), key.clone())).cloned().unwrap_or_default();
        let is_open = self.truth.is_open(key);
        let law = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
        match &item.event {
            Event::Resolved | Event::Removed | Event::Unwatched => {
                law(!is_open, "it is not over")?;
                law(known.perhaps_open, "an end without its beginning")
            }
            Event::WasDown => {
                law(!is_open, "it is not over")?;
                law(!known.perhaps_open, "the beginning was perhaps told")?;
                law(self.truth.of(key).is_none_or(|one| one.was_audible), "all of it was silenced")
            }
            _ if key.kind == Kind::Disconnect => self.is_true_of_cut_off(item, now),
            Event::Opened | Event::Started => {
                law(is_open, "it is not wrong")?;
                law(!is_silenced, "it is silenced")?;
                law(!self.truth.is_surely_explained(key), "it is explained")
            }
            Event::Worse => {
                law(is_open && !is_silenced, "it is not wrong, or silenced")?;
                law(!self.truth.is_surely_explained(key), "it is explained")?;
                law(known.perhaps_open, "worse than what was never told")
            }
            Event::Reminder(_) => {
                law(is_open, "it is not wrong")?;
                law(!is_silenced && !is_acked(key, item.incident.episode), "it is silenced or acknowledged")?;
                law(!self.truth.is_surely_explained(key), "it is explained")?;
                law(known.perhaps_open, "a reminder without a beginning")
            }
            event => Err(format!("an event of another world: {event}")),
        }
    }

    fn is_true_of_cut_off(&self, item: &Item, now: DateTime<Utc>) -> Result<(), Broken> {
        let truth = &self.truth.cut_off;
        let law = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
        law(truth.open, "no cut-off is ahead")?;
        let said = item.cut_off.as_ref().and_then(|one| one.date());
        law(said == truth.date, "it names another date")?;
        let day = truth.date.map(|date| date.date_naive());
        match &item.event {
            Event::Rung(rung) => law(truth.rung(now) == Some(*rung), "that is not the tightest rung"),
            Event::Extended(date) => law(day == Some(*date), "it names another day"),
            Event::Paid(date) => law(day == Some(*date) && truth.paid, "nobody paid"),
            Event::Overdue(_) => law(truth.is_overdue(now), "it is not overdue"),
            event => Err(format!("an event of another world: {event}")),
        }
    }
}

/// The laws of each state.
pub fn holds(life: &Life) -> Result<(), Broken> {
    let observer = &life.observer;
    for ((to, key), known) in &observer.known {
        let is_over = !observer.truth.is_open(key);
        if !matches!(known.read, Says::Wrong(_)) || !is_over || known.perhaps_over || is_lapsed(life, key) {
            continue;
        }
        let is_this = |(one, incident): (&str, &Key)| one == to && incident == key;
        let is_end = |event: &Event| event.is_end() && *event != Event::WasDown;
        let owed = life.log.owed().filter(|(.., owed)| owed.event.as_ref().is_some_and(is_end));
        if !owed.map(|(to, key, _)| (to, key)).any(is_this) && !life.log.on_their_way().any(is_this) {
            return Err(format!("{to} was told that {key} began, it is over, and its end is not owed"));
        }
    }
    Ok(())
}

fn is_lapsed(life: &Life, key: &Key) -> bool {
    life.observer.truth.over_at(key).is_some_and(|at| life.now - at >= LAPSES)
}

/// The laws of a state in which nothing changed for two days and the server took every mail.
pub fn settled(life: &Life) -> Result<(), Broken> {
    let snapshot = life.snapshot();
    let Life { engine, muted, now, .. } = life;
    let facts = Facts::new(engine, &snapshot, muted, 60, *now);
    for (to, key, owed) in life.log.owed() {
        if let Some(Due::Tell(event, _)) = life.log.why(key, to, &facts) {
            return Err(format!("{to} is still owed {event} of {key} since {}", owed.since));
        }
    }
    // A mail whose reply was lost is sent again once what it says was read.
    let is_read = |key: &Key| {
        let resource = Resource::ALL.into_iter().find(|one| one.key() == *key);
        resource.and_then(|one| life.observer.truth.things.get(&one)).is_none_or(|thing| thing.is_read)
    };
    if let Some((to, key)) = life.log.on_their_way().find(|(_, key)| is_read(key)) {
        return Err(format!("a mail to {to} about {key} is still on its way"));
    }
    for ((to, key), known) in &life.observer.known {
        let is_over = !life.observer.truth.is_open(key);
        if is_over && matches!(known.read, Says::Wrong(_)) && !known.unsure && !is_lapsed(life, key) {
            return Err(format!("{to} believes that {key} is wrong, and it is over"));
        }
    }
    if !life.log.is_started() {
        return Ok(());
    }
    life.to.iter().try_for_each(|to| {
        Resource::ALL.into_iter().try_for_each(|resource| knows(life, to, resource))?;
        knows_the_cut_off(life, to)
    })
}

fn knows(life: &Life, to: &str, resource: Resource) -> Result<(), Broken> {
    let (truth, key) = (&life.observer.truth, resource.key());
    let Some(thing) = truth.things.get(&resource).filter(|one| one.open && one.is_read && one.good == 0)
    else {
        return Ok(());
    };
    if life.is_silenced() || truth.is_explained(&key) {
        return Ok(());
    }
    let known = life.observer.known.get(&(to.to_owned(), key.clone()));
    let read = known.map_or(Says::Nothing, |one| one.read);
    if read == Says::Wrong(thing.episode) || known.is_some_and(|one| one.unsure) {
        return Ok(());
    }
    Err(format!("{key} is wrong, and {to} read {read:?} (episode {})", thing.episode))
}

fn knows_the_cut_off(life: &Life, to: &str) -> Result<(), Broken> {
    let truth = &life.observer.truth.cut_off;
    let Some(date) = truth.date.filter(|_| truth.open && !truth.is_clearing()) else { return Ok(()) };
    let key = Key::account_wide(&super::truth::name(), Kind::Disconnect);
    let rung = truth.rung(life.now);
    let known = life.observer.known.get(&(to.to_owned(), key));
    if known.is_some_and(|one| one.unsure) {
        return Ok(());
    }
    let told = known.and_then(|one| one.cut_off);
    let far = |rung: Option<u32>| rung.unwrap_or(u32::MAX);
    let Some(told) = told else {
        return if rung.is_none() { Ok(()) } else { Err(format!("{to} knows of no cut-off at {date}")) };
    };
    if far(rung) < far(told.rung) {
        return Err(format!("rung {rung:?} of {date} was not told to {to}, who knows {told:?}"));
    }
    let is_behind = match told.rung {
        Some(0) => rung != Some(0),
        Some(rung) => crossing(date, rung) - life.now > BEHIND,
        None => false,
    };
    if is_behind && told.date != Some(date) {
        return Err(format!("{to} does not know that the cut-off moved to {date}, but {told:?}"));
    }
    Ok(())
}
