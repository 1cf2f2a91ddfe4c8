//! Looks at every mail at each attempt, and knows the readings and the operator's actions: the laws of section
//! 6 that an outsider can check. It knows nothing of the engine's state.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{AlertSettings, Event, Key, Kind, Severity};
use crate::model::Collector;
use chrono::{DateTime, Duration, Utc};

use super::alert_support::{Fate, Mail, Told};
use super::belief::Belief;
use super::evidence::Evidence;
use super::inbox::{Heard, Inbox, Run};
use super::money::Account;
use super::ops::{Bill, Config, EXCLUDED_VM};

pub struct Auditor {
    settings: AlertSettings,
    past_settings: Vec<AlertSettings>,
    to: Vec<String>,
    max_per_hour: usize,
    now: DateTime<Utc>,
    /// The time of the last start, or of the last waking.
    horizon: DateTime<Utc>,
    /// The clock was set to a time before a poll.
    was_set_back: bool,
    pub belief: Belief,
    pub account: Account,
    pub inbox: Inbox,
    silences: Vec<(&'static str, DateTime<Utc>)>,
    acks: BTreeMap<Key, DateTime<Utc>>,
    /// The last poll of each collector.
    polls: BTreeMap<Collector, Poll>,
    /// For each incident, the number of polls of its collector that had ended when a listing last contained it
    /// or lacked it.
    read: BTreeMap<Key, u32>,
    tries: BTreeMap<String, Try>,
    /// Recipients whose last answer to RCPT was 550, and when.
    refused: BTreeMap<String, DateTime<Utc>>,
    /// Facts of mails that were refused for their content: when last, and how often.
    refused_facts: BTreeMap<(String, Key, Event), (DateTime<Utc>, u32)>,
    /// Recipients whose mails were refused for good after they were no longer recipients.
    lost_for_good: BTreeSet<String>,
    /// Mails that may have arrived and count for the hourly limit.
    sent: BTreeMap<String, Vec<DateTime<Utc>>>,
    /// Recipients who took a mail in this step, but a first one or one about money, and when.
    served: BTreeSet<(DateTime<Utc>, String)>,
    /// Recipients of the account since the start: each has a first mail. Recipients of a rule or of
    /// `escalate_to` may have none.
    awaits_first: Vec<String>,
    /// A first mail was attempted.
    has_begun: bool,
    /// Recipients who have one, and recipients to whom one was attempted.
    begun: BTreeSet<String>,
    asked: BTreeSet<String>,
}

#[derive(Clone, Copy)]
struct Poll {
    ended: DateTime<Utc>,
    is_good: bool,
    count: u32,
}

/// One attempt of a mail.
struct Try {
    mail: Mail,
    last: Fate,
    lost_replies: u32,
}

/// The role of a recipient for a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    To,
    Escalation,
    Left,
}

const HOUR: Duration = Duration::hours(1);
const AWAITED_FOR: Duration = Duration::minutes(2);

impl Auditor {
    pub fn new(config: &Config, now: DateTime<Utc>) -> Self {
        let settings = config.settings.clone();
        Self {
            belief: Belief::new(settings.confirm_polls, settings.recover_polls, now),
            account: Account::new(&settings),
            settings,
            past_settings: Vec::new(),
            to: config.to.clone(),
            max_per_hour: config.max_per_hour,
            now,
            horizon: now,
            was_set_back: false,
            inbox: Inbox::default(),
            silences: Vec::new(),
            acks: BTreeMap::new(),
            polls: BTreeMap::new(),
            read: BTreeMap::new(),
            tries: BTreeMap::new(),
            refused: BTreeMap::new(),
            refused_facts: BTreeMap::new(),
            lost_for_good: BTreeSet::new(),
            sent: BTreeMap::new(),
            served: BTreeSet::new(),
            awaits_first: config.to.clone(),
            has_begun: false,
            begun: BTreeSet::new(),
            asked: BTreeSet::new(),
        }
    }
}

/// The events that the auditor is told.
impl Auditor {
    /// A step ended, with this evidence.
    pub fn look(&mut self, evidence: &Evidence, now: DateTime<Utc>) {
        self.now = now;
        self.served.clear();
        // Even if the clock is set later, the hour of these is over.
        self.sent.values_mut().for_each(|sent| sent.retain(|sent| now - *sent < HOUR));
        let silences = self.silences.clone();
        let settings = self.settings.clone();
        let is_silenced = |key: &Key| is_silenced(&silences, key, now);
        self.belief.take(evidence, is_silenced, |key| is_off(&settings, key), now);
        let is_clear = self.belief.of(&Key::account_wide(&super::name(), Kind::Disconnect));
        self.account.looked(&is_clear);
    }

    /// Listings to which these incidents belong were read.
    pub fn read(&mut self, keys: impl Iterator<Item = Key>) {
        let ended = |key: &Key| key.kind.seen_by().and_then(|collector| self.polls.get(&collector));
        self.read.extend(keys.map(|key| (key.clone(), ended(&key).map_or(0, |last| last.count))));
    }

    pub fn reported(&mut self, bill: Bill, at: DateTime<Utc>) {
        self.account.reported(bill, at);
    }

    /// The daemon starts again.
    pub fn restarts(&mut self, now: DateTime<Utc>) {
        self.wakes(now);
        self.account.restarts();
        self.read.clear();
    }

    pub fn polled(&mut self, collector: Collector, is_good: bool, at: DateTime<Utc>) {
        let count = self.polls.get(&collector).map_or(0, |before| before.count) + 1;
        self.polls.insert(collector, Poll { ended: at, is_good, count });
    }

    /// The machine slept, or the clock was set: no remembered time may be in the future.
    pub fn wakes(&mut self, now: DateTime<Utc>) {
        self.horizon = now;
        self.was_set_back |= self.polls.values().any(|one| one.ended > now);
        self.belief.wakes(now);
        self.account.wakes(now);
        self.inbox.wakes(now);
        let moments = self.acks.values_mut().chain(self.polls.values_mut().map(|one| &mut one.ended));
        moments.filter(|at| **at > now).for_each(|at| *at = now);
        // "Clock steps hold nothing back": a pause or an hour that began ahead of the clock is over.
        self.refused.retain(|_, at| *at <= now);
        let of_facts = self.refused_facts.values_mut().map(|(at, _)| at);
        of_facts.filter(|at| **at > now).for_each(|at| *at = now - HOUR);
        self.sent.values_mut().for_each(|sent| sent.retain(|at| *at <= now));
    }

    pub fn silenced(&mut self, pattern: &'static str, until: DateTime<Utc>) {
        self.silences.push((pattern, until));
    }

    pub fn lifted_oldest_silence(&mut self) {
        self.silences.remove(0);
    }

    pub fn acknowledged(&mut self, key: &Key, at: DateTime<Utc>) {
        self.acks.insert(key.clone(), at);
    }

    pub fn unacknowledged(&mut self) {
        self.acks.clear();
    }

    /// The newest incident that a mail told as wrong, or an earlier one.
    pub fn last_told(&self, before: usize) -> Option<Key> {
        self.inbox.wrong.iter().rev().nth(before).cloned()
    }

    pub fn reloaded(&mut self, settings: &AlertSettings, to: &[String], now: DateTime<Utc>) {
        self.past_settings.push(std::mem::replace(&mut self.settings, settings.clone()));
        self.belief.retire(|key| is_off(settings, key), now);
        self.lost_for_good.retain(|one| !to.contains(one));
        self.awaits_first.retain(|one| to.contains(one));
        self.to = to.to_vec();
    }
}

/// The laws.
impl Auditor {
    /// A mail was handed to the server, with this answer.
    pub fn attempted(&mut self, at: DateTime<Utc>, mail: &Mail, fate: Fate) {
        let is_repeated = self.is_repeated(at, mail);
        assert!(!self.lost_for_good.contains(&mail.to), "to a former recipient who is refused: {mail:#?}");
        self.is_well_formed(at, mail, is_repeated);
        self.is_no_sooner_than_its_holds(at, mail, is_repeated);
        if !is_repeated {
            self.is_within_the_hourly_limit(at, mail);
        }
        let is_for_nobody = mail.form == "started" && self.role_of(&mail.to) == Role::Left;
        assert!(!is_for_nobody, "a first mail to somebody who left: {mail:#?}");
        for item in &mail.items {
            self.is_due(at, mail, item, is_repeated);
        }
        self.takes_note(at, mail, fate, is_repeated);
    }

    /// After a lost reply, the same bytes are sent again five times at most.
    fn is_repeated(&self, at: DateTime<Utc>, mail: &Mail) -> bool {
        let Some(before) = self.tries.get(&mail.id) else { return false };
        assert_eq!(before.mail, *mail, "one Message-ID, two mails");
        assert!(!matches!(before.last, Fate::Accept), "it was accepted: {mail:#?}");
        assert!(
            before.lost_replies <= 5,
            "sent again at {at} after {} lost replies: {mail:#?}",
            before.lost_replies
        );
        true
    }

    fn is_well_formed(&self, at: DateTime<Utc>, mail: &Mail, is_repeated: bool) {
        let is_money = is_about_money(mail);
        assert!(!is_money || mail.items.len() == 1, "a mail about a cut-off stands alone: {mail:#?}");
        let is_first = mail.form == "started";
        assert!(is_first || !mail.items.is_empty(), "a mail about nothing: {mail:#?}");
        let is_of_cut_offs = mail.items.iter().all(|item| item.key.kind == Kind::Disconnect);
        let may_have_none = !self.awaits_first.contains(&mail.to);
        assert!(
            is_first || is_of_cut_offs || may_have_none || self.has_begun,
            "only a cut-off is told before the first mail: {mail:#?}"
        );
        if !is_repeated && !is_money && !is_first {
            // A fact that was refused for its mail's content is sent alone.
            let is_suspect = |item: &Told| {
                self.refused_facts.keys().any(|(to, key, _)| *to == mail.to && *key == item.key)
            };
            let is_new = !self.served.contains(&(at, mail.to.clone()));
            assert!(is_new || mail.items.iter().any(is_suspect), "two mails from one step: {mail:#?}");
        }
        let mut keys: Vec<&Key> = mail.items.iter().map(|item| &item.key).collect();
        keys.dedup();
        assert_eq!(keys.len(), mail.items.len(), "an incident stands twice in {mail:#?}");
        let severities = mail.items.windows(2).all(|pair| pair[0].severity >= pair[1].severity);
        assert!(severities, "the worst comes first: {mail:#?}");
    }

    /// After 550 to RCPT, the recipient gets no mail for at least an hour. After a second 554 to DATA, the
    /// same holds for the mail's facts. New facts that are critical or about money are excepted from both.
    fn is_no_sooner_than_its_holds(&self, at: DateTime<Utc>, mail: &Mail, is_repeated: bool) {
        let matters = |item: &Told| item.key.kind == Kind::Disconnect || item.severity == Severity::Critical;
        if let Some(since) = self.refused.get(&mail.to).filter(|_| !is_repeated) {
            let may = at - *since >= HOUR || mail.items.iter().any(matters);
            assert!(may, "550 to RCPT at {since}, and tried again at {at}: {mail:#?}");
        }
        for item in mail.items.iter().filter(|_| !is_repeated && mail.form != "started") {
            let fact = (mail.to.clone(), item.key.clone(), item.event.clone());
            // The first is followed at once by a mail without anything beside the text.
            let Some((since, 2..)) = self.refused_facts.get(&fact) else { continue };
            // It may have been over meanwhile, or the mail of its cause told it: then it is due anew.
            let is_anew = self.belief.of(&item.key).may_have_been_over_since(*since)
                || self.belief.may_have_been_explained_since(&item.key, *since)
                || item.key.kind == Kind::Disconnect;
            let may = at - *since >= HOUR || (matters(item) && is_anew);
            assert!(may, "554 to DATA at {since}, and told again at {at}: {item:#?}");
        }
    }

    fn is_within_the_hourly_limit(&self, at: DateTime<Utc>, mail: &Mail) {
        let is_money = is_about_money(mail);
        if is_money || mail.form == "started" {
            return;
        }
        let sent = self.sent.get(&mail.to).into_iter().flatten();
        let sent = sent.filter(|sent| at - **sent < HOUR).count();
        assert!(sent < self.max_per_hour, "mail {} of an hour: {mail:#?}", sent + 1);
    }

    /// Is one incident in a mail true, and due to this recipient?
    fn is_due(&self, at: DateTime<Utc>, mail: &Mail, item: &Told, is_repeated: bool) {
        let Told { key, event, .. } = item;
        let to = mail.to.as_str();
        let what =
            || format!("{key} {event} to {to} at {at}: {item:#?}\nheard: {:#?}", self.inbox.of(to, key));
        let run = self.inbox.run(to, key);
        let maybe = self.belief.of(key);
        let is_first = mail.form == "started";
        assert_eq!(*event == Event::Started, is_first, "{}", what());

        // The recipient.
        let role = self.role(to, key.kind);
        assert!(role != Role::Left || (event.is_end() && *event != Event::WasDown), "it left: {}", what());
        if role == Role::Escalation {
            self.is_escalated(at, item, &run, &what);
        } else {
            assert!(*event != Event::Escalated, "{}", what());
        }

        // Silences and switched-off rules.
        let is_silenced = is_silenced(&self.silences, key, at);
        let is_held = is_silenced && !event.is_end() && !matches!(event, Event::Deletion(_));
        // A first mail that was handed to the server cannot be taken back.
        let is_held = is_held && !(is_first && is_repeated);
        assert!(!is_held, "it is silenced: {}", what());
        assert!(event.is_end() || !self.is_off(key), "its rule is off: {}", what());

        // The truth of the fact.
        if key.kind == Kind::BalanceDrop {
            assert!(self.account.has_dropped && *event == Event::Opened, "{}", what());
            return;
        }
        if let Event::Dearer(_) = event {
            // A report from before the clock was set back covers other days, so that a day's charge looks like a price.
            assert!(self.was_set_back, "no order is dearer: {}", what());
        } else if event.is_end() {
            // It may be watched again, and says no more than that it was not watched.
            let mut past = self.past_settings.iter().chain([&self.settings]);
            let was_off = *event == Event::Unwatched && past.any(|settings| is_off(settings, key));
            let is_over = maybe.may_be_over || was_off;
            assert!(is_over, "it is not over: {} {maybe:#?}", what());
        } else if key.kind != Kind::Disconnect {
            assert!(maybe.may_be_open, "it is not wrong: {} {maybe:#?}", what());
        }
        if *event == Event::WasDown {
            let last = self.inbox.of(to, key).iter().rfind(|heard| heard.is_sure);
            let last = last.map_or(DateTime::UNIX_EPOCH, |heard| heard.at);
            let is_news = maybe.heard_until.is_some_and(|until| until >= last);
            assert!(is_news || key.kind == Kind::Disconnect, "nothing went wrong: {} {maybe:#?}", what());
        }
        // A mail that was decided before its collector failed is sent again.
        if is_repeated {
            return;
        }
        if !event.is_end() {
            self.is_read(at, key, is_first, &what);
        }

        // The novelty of the fact.
        self.is_news(at, item, &run, role, &what);
        if let Some(thread) = &item.thread {
            let is_known = self.tries.get(thread).is_some_and(|one| one.mail.to == to);
            assert!(is_known, "it answers a mail that nobody sent: {}", what());
        }
        if key.kind == Kind::Disconnect {
            self.account.judge(at, to, item, &self.inbox, &maybe, &what);
            let is_overdue = matches!(event, Event::Overdue(_));
            let ack = self.acks.get(key).filter(|ack| **ack > at - Duration::days(3));
            let was_off = |heard: &&Heard| heard.event == Event::Rung(0) && Some(&heard.at) < ack;
            let told_off = self.inbox.of(to, key).iter().rfind(was_off);
            let goes_on = |heard: &Heard| !maybe.may_have_been_over_since(heard.at);
            let is_held = is_overdue && told_off.is_some_and(goes_on);
            assert!(!is_held, "it is acknowledged: {}", what());
        }
    }

    /// Readings count if they are newer than the last start and their collector works. A first mail lists
    /// incidents from before a collector failed, and says that it fails.
    fn is_read(&self, at: DateTime<Utc>, key: &Key, is_first: bool, what: &dyn Fn() -> String) {
        let Some(collector) = key.kind.seen_by() else { return };
        let last = self.polls.get(&collector);
        let is_looked = last.is_some_and(|poll| poll.ended >= self.horizon);
        assert!(is_looked || at - self.horizon >= AWAITED_FOR, "nobody looked yet: {}", what());
        let is_billing = collector == Collector::ExpectedBalance;
        // A failed poll of sites may have read the sites of one container.
        let is_known = |poll: &Poll| self.read.get(key).is_some_and(|read| read + 1 >= poll.count);
        let fails = last.is_some_and(|poll| !poll.is_good && !is_known(poll)) && !is_billing;
        assert!(!fails || is_first, "it cannot be read: {}", what());
    }

    fn is_escalated(&self, at: DateTime<Utc>, item: &Told, run: &Run, what: &dyn Fn() -> String) {
        let Told { key, event, .. } = item;
        let never = matches!(event, Event::Reminder(_) | Event::Started | Event::WasDown);
        assert!(!never, "not for escalate_to: {}", what());
        assert!(*event == Event::Escalated || run.may_know || key.kind == Kind::Disconnect, "{}", what());
        if *event != Event::Escalated || key.kind == Kind::Disconnect {
            return;
        }
        let is_acknowledged =
            self.acks.get(key).is_some_and(|ack| !self.belief.of(key).may_have_been_over_since(*ack));
        assert!(!is_acknowledged, "it is acknowledged: {}", what());
        let after = Duration::from_std(self.settings.escalate_after).unwrap();
        let others = self.settings.rules.get(&key.kind).map(|rule| &rule.to).filter(|to| !to.is_empty());
        let others = others.unwrap_or(&self.to).iter().map(|to| self.inbox.run(to, key));
        // A recipient who knows this episode only from the first mail is no reason to escalate it.
        let is_new = |run: &Run| self.belief.of(key).may_have_been_over_since(run.last);
        let others: Vec<Run> =
            others.filter(|run| run.may_not_know || !run.by_first_mail || is_new(run)).collect();
        let mut told = others.iter().filter(|run| run.may_know).map(|run| run.began);
        let owed = self.belief.of(key).owed_since.filter(|_| !others.is_empty());
        // If a recipient was told nothing between an earlier episode and this one, a mail was due all the time.
        let is_untold = |run: &Run, (until, began): (DateTime<Utc>, DateTime<Utc>)| {
            let mut told = self.inbox.of(&run.to, key).iter().filter(|heard| heard.is_sure);
            !told.any(|heard| until <= heard.at && heard.at <= began)
        };
        let settles = self.belief.of(key).settles;
        let settles = settles.filter(|&span| others.iter().any(|run| is_untold(run, span)));
        let mut owed = owed.into_iter().chain(settles.map(|(_, began)| began));
        // Bytes that are sent again were due by the clock of their time.
        let at = at.max(item.at);
        let is_due = told.any(|since| at - since >= after) || owed.any(|since| at - since >= after);
        assert!(is_due, "too early: {}", what());
    }

    /// Each event comes once, an end only after its beginning, and all in their order.
    fn is_news(&self, at: DateTime<Utc>, item: &Told, run: &Run, role: Role, what: &dyn Fn() -> String) {
        let Told { key, event, .. } = item;
        let maybe = self.belief.of(key);
        let last = self.inbox.last(&run.to, key);
        let is_other_episode = last.is_some_and(|last| maybe.may_have_been_over_since(last.at));
        let is_money = key.kind == Kind::Disconnect;
        match event {
            Event::Resolved | Event::Removed | Event::Unwatched => {
                assert!(run.may_know, "an end without a beginning: {}", what());
            }
            Event::WasDown => assert!(run.may_not_know, "it was told: {}", what()),
            Event::Worse => {
                assert!(run.may_know, "worse than what was never told: {}", what());
                let is_set = matches!(key.kind, Kind::CollectorFailing | Kind::UnknownState);
                assert!(is_set, "{}", what());
            }
            Event::Opened | Event::Started | Event::Escalated => {
                assert!(run.may_not_know || is_other_episode, "told twice: {}", what());
            }
            Event::Reminder(count) => {
                assert!(run.may_know && role == Role::To, "a reminder of news: {}", what());
                assert!((1..=3).contains(count), "{}", what());
                let is_next = *count == run.reminders + 1 || *count == run.other_reminders + 1;
                assert!(is_next || !run.is_certain, "{}", what());
                assert!(!run.by_first_mail, "none of what the first mail told: {}", what());
                let every = self.settings.remind_every.get(&item.severity).expect("info has none");
                let every = Duration::from_std(*every).unwrap();
                assert!(!run.is_certain || at - run.last >= every, "too early: {}", what());
                let ack = self.acks.get(key).filter(|ack| **ack >= run.began);
                let is_held = ack.is_some_and(|ack| !maybe.may_have_been_over_since(*ack));
                assert!(!is_held, "it is acknowledged: {}", what());
            }
            Event::Rung(_) | Event::BalanceUsedUp => assert!(is_money, "{}", what()),
            Event::Extended(_) | Event::Paid(_) | Event::Overdue(_) => {
                assert!(is_money && run.may_know, "{}", what());
            }
            // No silence stops it, so it may be the first mail of a recipient who joined meanwhile.
            Event::Deletion(_) => {
                let is_known = run.may_know || is_silenced(&self.silences, key, at);
                assert!(is_money && is_known, "{}", what());
            }
            Event::Dearer(_) => assert!(key.kind == Kind::OrderCost && run.may_not_know, "{}", what()),
            Event::Digest(_) | Event::Test => panic!("no event of an incident: {}", what()),
        }
    }

    fn takes_note(&mut self, at: DateTime<Utc>, mail: &Mail, fate: Fate, is_repeated: bool) {
        let known = self.tries.entry(mail.id.clone());
        let known = known.or_insert_with(|| Try { mail: mail.clone(), last: fate, lost_replies: 0 });
        known.last = fate;
        known.lost_replies += u32::from(matches!(fate, Fate::LoseReply { .. }));
        if mail.form == "started" {
            self.has_begun = true;
            self.asked.insert(mail.to.clone());
        }
        let to = &mail.to;
        let (has_left, is_money) = (self.role_of(to) == Role::Left, is_about_money(mail));
        match fate {
            Fate::Accept | Fate::LoseReply { .. } => {
                if fate == Fate::Accept {
                    self.refused.remove(to);
                    let counts = !is_repeated && !is_money && mail.form != "started";
                    self.served.extend(counts.then(|| (at, to.clone())));
                    for item in &mail.items {
                        self.refused_facts.retain(|(one, key, _), _| one != to || *key != item.key);
                    }
                }
                if !is_repeated && !is_money {
                    self.sent.entry(to.clone()).or_default().push(at);
                }
                let arrives = matches!(fate, Fate::Accept | Fate::LoseReply { arrived: true });
                self.begun.extend((mail.form == "started").then(|| to.clone()));
                self.inbox.take(at, mail, fate == Fate::Accept, arrives);
            }
            Fate::RefuseRecipient => {
                self.refused.insert(to.clone(), at);
            }
            Fate::RefuseMail | Fate::RefuseLong => {
                for item in &mail.items {
                    let fact = (to.clone(), item.key.clone(), item.event.clone());
                    let (since, times) = self.refused_facts.entry(fact).or_insert((at, 0));
                    (*since, *times) = (at, *times + 1);
                }
            }
            Fate::Defer | Fate::Away | Fate::Doubt | Fate::DoubtVm1 => {}
        }
        if has_left && matches!(fate, Fate::RefuseRecipient | Fate::RefuseMail) {
            self.lost_for_good.insert(to.clone());
            self.inbox.forget(to);
        }
    }

    fn role(&self, to: &str, kind: Kind) -> Role {
        let rule = self.settings.rules.get(&kind).map(|rule| &rule.to).filter(|to| !to.is_empty());
        if rule.unwrap_or(&self.to).iter().any(|one| one == to) {
            Role::To
        } else if self.settings.escalate_to.iter().any(|one| one == to) {
            Role::Escalation
        } else {
            Role::Left
        }
    }

    /// The role for any kind.
    fn role_of(&self, to: &str) -> Role {
        let is_left = Kind::ALL.iter().all(|&kind| self.role(to, kind) == Role::Left);
        if is_left { Role::Left } else { Role::To }
    }

    /// The recipients who should have got the first mail and did not.
    pub fn left_out(&self) -> impl Iterator<Item = &String> {
        self.to.iter().filter(|&to| self.asked.contains(to) && !self.begun.contains(to))
    }

    /// The recipients of this kind.
    pub fn recipients(&self, kind: Kind) -> Vec<String> {
        let rule = self.settings.rules.get(&kind).map(|rule| &rule.to).filter(|to| !to.is_empty());
        rule.unwrap_or(&self.to).clone()
    }

    /// No rule and no recipient watches it.
    pub fn is_off(&self, key: &Key) -> bool {
        is_off(&self.settings, key)
    }
}

fn is_off(settings: &AlertSettings, key: &Key) -> bool {
    let except = settings.rules.get(&Kind::VmError).is_some_and(|rule| !rule.except.is_empty());
    let is_named = key.kind == Kind::VmError && key.id() == Some(EXCLUDED_VM);
    (except && is_named) || !settings.watches(key)
}

/// The end of a watch is a mail like others.
fn is_about_money(mail: &Mail) -> bool {
    mail.items.iter().any(|item| item.key.kind == Kind::Disconnect && item.event != Event::Unwatched)
}

/// Does one of these silences hold back the mails about an incident?
fn is_silenced(silences: &[(&'static str, DateTime<Utc>)], key: &Key, now: DateTime<Utc>) -> bool {
    let is_vm = matches!(key.kind, Kind::VmError | Kind::VmBlocked | Kind::VmStopped | Kind::VmStuck);
    silences.iter().filter(|(_, until)| now < *until).any(|(pattern, _)| match *pattern {
        "main/vm_*/*" => is_vm,
        "vm-1" => is_vm && key.id() == Some(1),
        "*" => key.kind != Kind::Disconnect,
        "main/disconnect/*" => key.kind == Kind::Disconnect,
        other => panic!("no meaning of {other}"),
    })
}
