//! One round over all accounts of a fleet. Each is checked until it is as expected; then its fault is lifted,
//! and it is checked until it is well again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use hostwatch_sim::{Command, FaultKind};

use super::common::{Daemon, received};
use super::fleet::{Fleet, Subject};
use super::page::{Page, families, family};
use super::rules::{Effect, Shown, When, Why, polls_before, rejects, requests, words};
use super::table::{CONTROL, PLACES, Place, STATE};

/// The longest time of a round.
pub const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(400);

type Facts = BTreeSet<String>;
/// The difference from the expected state.
type Met = Result<(), String>;

/// Mails by their events.
#[derive(Default)]
pub struct Post {
    read: usize,
    pairs: BTreeSet<String>,
}

impl Post {
    pub fn look(&mut self, fleet: &Fleet) -> &BTreeSet<String> {
        let count = fleet.smtp.seen().accepted().len();
        if count != self.read {
            self.pairs = received(&fleet.smtp).into_iter().flat_map(|mail| mail.pairs).collect();
            self.read = count;
        }
        &self.pairs
    }

    /// Whether a mail has the event, by itself or in the mail of the first start.
    fn tells(&self, key: &str, incident: &str) -> bool {
        ["opened", "started"].iter().any(|event| self.pairs.contains(&format!("{key}/{incident} {event}")))
    }
}

pub struct Round<'a> {
    pub fleet: &'a Fleet,
    pub daemon: &'a Daemon,
    pub when: When,
    /// The page before the faults.
    pub before: Page,
    pub post: Post,
    /// The facts that were served during the fault.
    during: BTreeMap<&'static str, Facts>,
    /// The good polls that were counted with the first poll that met the fault. A busy machine counts late, so
    /// that there may be many; none may come behind it.
    turned: BTreeMap<&'static str, u64>,
    /// The successful polls when the fault was lifted.
    lifted: BTreeMap<&'static str, u64>,
}

impl<'a> Round<'a> {
    /// The round before the faults are switched on.
    pub fn new(fleet: &'a Fleet, daemon: &'a Daemon, when: When, before: Page) -> Self {
        let post = Post::default();
        Self {
            fleet,
            daemon,
            when,
            before,
            post,
            during: BTreeMap::new(),
            turned: BTreeMap::new(),
            lifted: BTreeMap::new(),
        }
    }

    /// Runs until every account has shown its fault and is well again.
    pub fn run(&mut self) {
        let mut broken: Vec<&Subject> = self.fleet.subjects.iter().collect();
        let mut healing: Vec<&Subject> = Vec::new();
        let end = Instant::now() + PATIENCE;
        while !(broken.is_empty() && healing.is_empty()) {
            let page = Page::parse(&self.daemon.page());
            self.post.look(self.fleet);
            let mut wanting = Vec::new();
            broken.retain(|subject| match self.is_broken(subject, &page) {
                Ok(()) => {
                    let key = subject.key;
                    self.during.insert(key, page.facts(key, self.fleet.place));
                    self.lifted.insert(key, page.polls(key, self.fleet.place.collector, "success"));
                    subject.provider.simulator.control(&Command::ClearFaults { name: None }).unwrap();
                    healing.push(subject);
                    false
                }
                Err(what) => {
                    wanting.push(format!("{}: {what}", subject.key));
                    true
                }
            });
            healing.retain(|subject| match self.is_well(subject, &page) {
                Ok(()) => false,
                Err(what) => {
                    wanting.push(format!("{}, healing: {what}", subject.key));
                    true
                }
            });
            assert!(Instant::now() < end, "{} {:?}: {wanting:#?}", self.fleet.place.collector, self.when);
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the account shows its fault as it should.
    fn is_broken(&mut self, subject: &Subject, page: &Page) -> Met {
        let (place, key) = (self.fleet.place, subject.key);
        let effect = subject.effect(place, self.when);
        let (success, complete, result) = effect.poll();
        // The readings of a poll are served at the end of the next one at the latest.
        let needed = 2 + self.unharmed(effect, result);
        let polls = self.polls(page, key, result);
        if polls > 0 {
            let good = self.polls(page, key, "success");
            self.turned.entry(key).or_insert(good);
        }
        if polls < needed {
            return Err(format!("{polls} polls ended in {result}, not {needed}"));
        }
        let turned = self.turned[key];
        for other in ["success", "partial", "failure"].into_iter().filter(|other| *other != result) {
            let polls = self.polls(page, key, other);
            let is_late = self.when == When::Later && other == "success";
            assert!(
                polls <= if is_late { turned } else { self.unharmed(effect, other) },
                "{key}: {polls} polls ended in {other}, not in {result}"
            );
        }
        let gauge = |name: &str| {
            page.sum(key, &format!("hostwatch_collector_{name}"), &[("collector", place.collector)])
        };
        let shown = (gauge("success"), gauge("complete"));
        assert_eq!(shown, (Some(success.into()), Some(complete.into())), "{key}: success and complete");
        self.counted(subject, page)?;
        if let Some((incidents, at_once)) = effect.incident(place)
            && (at_once || self.when == When::Later)
            && !incidents.iter().any(|incident| self.post.tells(key, incident))
        {
            return Err(format!("no mail tells of any of {incidents:?}"));
        }
        self.logged(subject, effect)?;
        if self.when == When::Later {
            let good = self.before.facts(key, place);
            self.is_served(effect, &page.facts(key, place), &good)?;
        }
        Ok(())
    }

    /// The good polls that ended between the last check and the fault, or were under way, and those before the
    /// failure.
    fn unharmed(&self, effect: Effect, result: &str) -> u64 {
        if result != "success" {
            return 0;
        }
        polls_before(effect) + if self.when == When::Later { 5 } else { 0 }
    }

    fn polls(&self, page: &Page, key: &str, result: &str) -> u64 {
        let collector = self.fleet.place.collector;
        page.polls(key, collector, result) - self.before.polls(key, collector, result)
    }

    /// Checks requests, rejected records and unknown values.
    fn counted(&self, subject: &Subject, page: &Page) -> Met {
        let (place, key) = (self.fleet.place, subject.key);
        let since = |name: &str, labels: &[(&str, &str)]| {
            page.count(key, name, labels) - self.before.count(key, name, labels)
        };
        let Some(fault) = &subject.fault else { return Ok(()) };
        let effect = subject.effect(place, self.when);
        let rejected = since("hostwatch_records_rejected_total", &[("collector", place.collector)]);
        assert_eq!(rejected > 0, rejects(fault, place, self.when), "{key}: {rejected} records rejected");
        let unknown = "hostwatch_unknown_values_total";
        if let (Effect::FieldAbsent, Some(field)) = (effect, place.optional.1) {
            if since(unknown, &[("field", field)]) == 0 {
                return Err(format!("{field} is not counted"));
            }
        } else if !rejects(fault, place, self.when) {
            let total = since(unknown, &[]);
            assert_eq!(total, 0, "{key}: unknown values");
        }
        if effect == Effect::DoesNotAddUp && since("hostwatch_reports_inconsistent_total", &[]) == 0 {
            return Err("the report is not counted".to_owned());
        }
        if effect == Effect::Failed(Why::ParentStays) {
            let parents = "/api/v1/hosting/containers/";
            let ended = page.polls(key, place.collector, "success");
            assert!(subject.asked(parents) as u64 > ended, "{key}: the containers are not read again");
        }
        Ok(())
    }

    /// Checks the requests that met the fault, once all polls with them were counted.
    fn asked(&self, subject: &Subject, page: &Page) {
        let (place, key) = (self.fleet.place, subject.key);
        let Some(fault) = &subject.fault else { return };
        let Some((code, least, most)) = requests(fault, place) else { return };
        let effect = subject.effect(place, self.when);
        let labels = [("group", place.group), ("code", code.as_str())];
        let count = |page: &Page| page.count(key, "hostwatch_api_requests_total", &labels);
        let asked = count(page) - count(&self.before);
        let expected = match (effect, fault.count) {
            (_, Some(count)) => count.into()..=count.into(),
            (Effect::Failed(Why::Credentials | Why::Forbidden | Why::AskedToWait), _) => {
                // A poll that was refused three times asks no more. A group that was refused in five polls is
                // not asked for a while.
                let failed = self.polls(page, key, "failure");
                1..=(failed + 1) * u64::from(place.listings)
            }
            (Effect::Failed(_), _) => {
                // The fault was lifted during a poll, and may have begun during one.
                let failed = self.polls(page, key, "failure") + polls_before(effect);
                let cut_short = if self.when == When::Later { 2 } else { 1 };
                let whole = failed.saturating_sub(cut_short);
                let of_each = |times: u32| u64::from(place.listings * times);
                whole * of_each(least)..=(failed + 1) * of_each(most)
            }
            _ => u64::from(place.listings)..=u64::MAX,
        };
        assert!(expected.contains(&asked), "{key}: {asked} requests ended in {code}: {expected:?}");
    }

    fn logged(&self, subject: &Subject, effect: Effect) -> Met {
        let (place, key) = (self.fleet.place, subject.key);
        let of_it = |line: &String| {
            let line = format!("{line} ");
            line.contains(&format!(" account={key} "))
                && (line.contains(&format!(" collector={} ", place.collector))
                    || !line.contains(" collector="))
        };
        let lines: Vec<String> = self.daemon.log.lines().into_iter().filter(of_it).collect();
        let said = |message: &str| {
            lines.iter().filter(|line| line.contains(&format!("message=\"{message}\""))).collect()
        };
        let Some(message) = effect.message() else {
            for message in ["cannot read", "what was read is not complete"] {
                let lines: Vec<&String> = said(message);
                assert!(lines.is_empty(), "{key}: {lines:#?}");
            }
            return Ok(());
        };
        let said: Vec<&String> = said(message);
        let Some(line) = said.first() else { return Err(format!("not said: {message}")) };
        let fault = subject.fault.as_ref().expect("without a fault nothing is said");
        if effect != Effect::DoesNotAddUp {
            for word in words(fault, place, self.fleet.time_out_seconds()) {
                assert!(line.contains(&word), "{key}: {word:?} is not in {line}");
            }
        }
        // Each message comes once, whatever the number of polls. A reset and a refusal have two possible
        // messages, and a fault that begins during a poll may look like another.
        let two_ways = self.when == When::Later
            || fault.kind == FaultKind::Reset
            || matches!(effect, Effect::Failed(Why::Credentials | Why::Forbidden));
        assert!(said.len() == 1 || two_ways && said.len() <= 3, "{key}: {said:#?}");
        Ok(())
    }

    /// Whether the listing is served as it should be; `good` is the whole listing.
    fn is_served(&self, effect: Effect, served: &Facts, good: &Facts) -> Met {
        let place = self.fleet.place;
        let wrong = |what: &str| {
            let (less, more): (Vec<_>, Vec<_>) =
                (good.difference(served).take(5).collect(), served.difference(good).take(5).collect());
            Err(format!("{what}; not served: {less:#?}; served: {more:#?}"))
        };
        match effect {
            Effect::Failed(Why::LaterPage) if self.when == When::First => {
                if served.is_subset(good) {
                    Ok(())
                } else {
                    wrong("rows of the pages before the failure")
                }
            }
            // Nothing is known of it, or the known state goes on.
            Effect::Failed(_) | Effect::ParentRead if self.when == When::First => {
                if served.is_empty() {
                    Ok(())
                } else {
                    wrong("nothing can be known")
                }
            }
            Effect::FieldAbsent => {
                let shows = |line: &&String| place.shows_optional == Some(family(line));
                let (others, of_it): (Facts, Facts) = served.iter().cloned().partition(|line| !shows(&line));
                let rest: Facts = good.iter().filter(|line| !shows(line)).cloned().collect();
                let hidden = place.shows_optional.is_none() || of_it.is_disjoint(good);
                if others == rest && hidden { Ok(()) } else { wrong("only a field is missing") }
            }
            Effect::DoesNotAddUp => {
                if families(served) == families(good) {
                    Ok(())
                } else {
                    wrong("shown as reported")
                }
            }
            // The report's own fields are there, if they can be read; the values that follow from its charges are
            // unknown.
            Effect::Doubtful(_) if place.is("expected_balance") => {
                let own = ["hosting_billing_expected_balance", "hosting_billing_horizon_timestamp_seconds"];
                if families(served).is_subset(&BTreeSet::from(own)) {
                    Ok(())
                } else {
                    wrong("the charges are unknown")
                }
            }
            Effect::Doubtful(shown) if self.when == When::First => {
                // Too few rows make a wrong count, so it is absent until all were seen once.
                let rows: Facts = good.iter().filter(|line| !place.counts(family(line))).cloned().collect();
                let right = match shown {
                    // A site without any, or one that cannot be there twice, is known in any case.
                    _ if rows.is_empty() => served.is_subset(good) && served != good,
                    Shown::All => *served == rows,
                    Shown::Some => !served.is_empty() && served.is_subset(&rows) && *served != rows,
                    Shown::Nothing => served.is_empty(),
                };
                if right { Ok(()) } else { wrong(&format!("{shown:?} rows were seen")) }
            }
            Effect::Harmless | Effect::Failed(_) | Effect::ParentRead | Effect::Doubtful(_) => {
                if served == good { Ok(()) } else { wrong("all is served") }
            }
        }
    }

    /// Whether the account is as if there had been no fault.
    fn is_well(&self, subject: &Subject, page: &Page) -> Met {
        let (place, key) = (self.fleet.place, subject.key);
        well(self.fleet, subject, page)?;
        if page.polls(key, place.collector, "success") < self.lifted[key] + 2 {
            return Err("two good polls".to_owned());
        }
        let facts = page.facts(key, place);
        if self.when == When::Later {
            let good = self.before.facts(key, place);
            if facts != good {
                let missing: Vec<_> = good.symmetric_difference(&facts).take(8).collect();
                return Err(format!("not as before: {missing:#?}"));
            }
        }
        self.asked(subject, page);
        let effect = subject.effect(place, self.when);
        if matches!(effect, Effect::Failed(_)) {
            let line = format!("message=\"can read again\" account={key} collector={}", place.collector);
            if self.daemon.log.count(&line) == 0 {
                return Err("the log does not say so".to_owned());
            }
        }
        let post = &self.post;
        let is_resolved = |incident: &String| post.pairs.contains(&format!("{key}/{incident} resolved"));
        if let Some((incidents, at_once)) = effect.incident(place)
            && (at_once || self.when == When::Later)
            && !incidents.iter().filter(|incident| post.tells(key, incident)).all(is_resolved)
        {
            return Err("no mail tells of the recovery".to_owned());
        }
        Ok(())
    }

    /// Judges the pages of first polls, now that all facts are known, and the conditions on all accounts
    /// together.
    pub fn judge(&mut self) {
        let place = self.fleet.place;
        let page = Page::parse(&self.daemon.page());
        for subject in &self.fleet.subjects {
            let effect = subject.effect(place, self.when);
            let good = page.facts(subject.key, place);
            if self.when == When::First {
                let met = self.is_served(effect, &self.during[subject.key], &good);
                assert_eq!(met, Ok(()), "{} {:?}", subject.key, effect);
            }
            // "One collector's failure, or one account's, touches no other". Exceptions are data that
            // need the containers first, and groups whose credentials are not used for a while.
            for other in PLACES.iter().filter(|other| STATE.contains(&other.collector)) {
                let follows = place.is("containers") && other.is("sites") && self.when == When::First;
                let refused = effect.stops_the_group() && other.group == place.group;
                let other = other.collector;
                if !place.is(other) && !follows && !refused {
                    for result in ["partial", "failure"] {
                        assert_eq!(page.polls(subject.key, other, result), 0, "{} {other}", subject.key);
                    }
                }
            }
        }
        let pairs = self.post.look(self.fleet);
        let (mut wanted, mut allowed) = (BTreeSet::new(), BTreeSet::new());
        let mut needs_somebody = false;
        for subject in &self.fleet.subjects {
            let Some((incidents, at_once)) = subject.effect(place, self.when).incident(place) else {
                continue;
            };
            if !(at_once || self.when == When::Later) {
                continue;
            }
            let key = subject.key;
            let said =
                |incident: &String| pairs.iter().any(|pair| pair.starts_with(&format!("{key}/{incident} ")));
            assert!(incidents.iter().any(said), "{key}: no mail tells of any of {incidents:?}");
            for incident in incidents.into_iter().filter(said) {
                let pair = |event: &str| format!("{key}/{incident} {event}");
                // Incidents of the first poll may be in the mail of the first start.
                let at_start = self.when == When::First && pairs.contains(&pair("started"));
                needs_somebody |= at_start;
                wanted.extend([pair(if at_start { "started" } else { "opened" }), pair("resolved")]);
                // The other collectors of the group are left alone too, and may come to that later.
                if subject.effect(place, self.when).stops_the_group() {
                    allowed.insert(pair("worse"));
                }
            }
        }
        if !needs_somebody {
            wanted.insert(format!("{CONTROL}/started/account started"));
        }
        let (less, more): (Vec<_>, Vec<String>) =
            (wanted.difference(pairs).collect(), pairs.difference(&(&wanted | &allowed)).cloned().collect());
        assert!(less.is_empty() && more.is_empty(), "mails that did not come: {less:#?}; not due: {more:#?}");
    }
}

/// Whether the account's listing is whole.
pub fn well(fleet: &Fleet, subject: &Subject, page: &Page) -> Met {
    let (place, key) = (fleet.place, subject.key);
    for name in ["success", "complete"] {
        let name = format!("hostwatch_collector_{name}");
        if page.sum(key, &name, &[("collector", place.collector)]) != Some(1.0) {
            return Err(format!("{name} is not 1"));
        }
    }
    let (facts, model) = (page.facts(key, place), page.facts(CONTROL, place));
    if facts.is_empty() || families(&facts) != families(&model) {
        return Err(format!("families are missing: {:?}", families(&facts)));
    }
    let (have, want) = (shape(&facts, key, place), shape(&model, CONTROL, place));
    if !subject.is_wide && have != want {
        let missing: Vec<_> = want.symmetric_difference(&have).take(8).collect();
        return Err(format!("not as where all is well: {missing:#?}"));
    }
    Ok(())
}

/// The facts that are the same for every account of a scenario, without the account's name. Money and future
/// times depend on the moment at which the account began, so their values are left out.
fn shape(facts: &Facts, key: &str, place: &Place) -> Facts {
    let has_value = |line: &str| place.group != "billing" || family(line).contains("horizon");
    let shape = |line: &String| {
        let line = if has_value(line) { line } else { line.rsplit_once(' ').unwrap().0 };
        line.replace(&format!("account=\"{key}\""), "")
    };
    facts.iter().map(shape).collect()
}
