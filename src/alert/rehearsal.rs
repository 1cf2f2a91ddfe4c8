//! A rehearsal: walks one report through the days until the account is cut off and its data are deleted, while
//! nobody pays. It shows each mail and its time, and sends and stores nothing. `due` itself names the next
//! moment to look at.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time;

use chrono::{DateTime, Duration, Utc};

use super::case::Due;
use super::cut_off::CutOff;
use super::engine::Engine;
use super::facts::Facts;
use super::flight::Attempt;
use super::incident::Incident;
use super::key::Key;
use super::kind::Kind;
use super::log::Log;
use super::notice::Item;
use super::reason::Cause;
use super::settings::Watcher;
use super::silence::Muted;
use crate::model::forecast::Disconnect;
use crate::model::{AccountName, Collector, KnownAccount, PollEnd, Profile, Read, Report, Snapshot};

/// A mail to one recipient at one moment, and the knowledge at that time.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub at: DateTime<Utc>,
    pub to: String,
    pub item: Item,
    pub snapshot: Snapshot,
}

/// The maximum number of moments. A walk of two years has some hundred.
const MOST: usize = 1000;

/// Walks from `now` on. Charges that time has passed leave the report; the rest stays. A running daemon would
/// not repeat mails that it has sent already. `off` is a past cut-off that the daemon knows of: the reports of
/// an account that is off name other dates.
pub(crate) fn rehearse(
    profile: &Profile,
    report: &Report,
    off: Option<Disconnect>,
    watcher: &Watcher,
    now: DateTime<Utc>,
) -> Vec<Told> {
    // A rehearsal only has the report, so it waits for no other collector.
    let profile = Profile { collectors: [Collector::ExpectedBalance].into(), ..profile.clone() };
    let mut walk = Walk::new(profile, off, watcher, now);
    let mut at = Some(now);
    for _ in 0..MOST {
        let Some(moment) = at else { break };
        walk.read(report.clone().at(moment), moment);
        walk.tell(moment);
        at = walk.next(moment);
    }
    walk.told
}

struct Walk {
    name: AccountName,
    known: KnownAccount,
    engine: Engine,
    log: Log,
    told: Vec<Told>,
}

impl Walk {
    fn new(profile: Profile, off: Option<Disconnect>, watcher: &Watcher, now: DateTime<Utc>) -> Self {
        let name = profile.name.clone();
        let (mut incidents, mut cut_offs) = (BTreeMap::new(), BTreeMap::new());
        if let Some(off) = off {
            let key = Key::account_wide(&name, Kind::Disconnect);
            let mut incident = Incident::new(key.clone(), now);
            incident.open(Cause::DatePassed, now);
            incidents.insert(key, incident);
            cut_offs.insert(name.clone(), CutOff::of_known(off));
        }
        let watchers = BTreeMap::from([(name.clone(), watcher.clone())]);
        Self {
            known: KnownAccount::new(Arc::new(profile)),
            engine: Engine::new(watchers, incidents, cut_offs, now),
            log: Log::started(),
            told: Vec::new(),
            name,
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { accounts: [(self.name.clone(), self.known.publish())].into() }
    }

    fn read(&mut self, report: Report, at: DateTime<Utc>) {
        let observed = self.known.apply(Read::ExpectedBalance(report), at);
        let end = PollEnd { duration: time::Duration::ZERO, failure: None, complete: true, problem: None };
        self.known.end(Collector::ExpectedBalance, end, at);
        let snapshot = self.snapshot();
        self.engine.poll(&self.name, &observed, Some(Collector::ExpectedBalance), &snapshot, at);
    }

    /// Sends every mail that can leave now; all of them arrive.
    fn tell(&mut self, now: DateTime<Utc>) {
        let snapshot = self.snapshot();
        let Self { engine, log, told, .. } = self;
        let muted = Muted::default();
        let facts = Facts::new(engine, &snapshot, &muted, MOST, now);
        log.note_all(&facts);
        for to in log.recipients() {
            while let Ok(Some(mail)) = log.claim(&to, &format!("{}@rehearsal", told.len()), &facts, |_| true)
            {
                log.settle(&to, mail.lane, &mail.id, Attempt::Sent, &facts);
                let items = mail.notice.into_iter().flat_map(|notice| notice.items);
                told.extend(items.map(|item| Told {
                    at: now,
                    to: to.clone(),
                    item,
                    snapshot: snapshot.clone(),
                }));
            }
        }
    }

    /// The next moment at which something is owed, if nothing changes.
    fn next(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let snapshot = self.snapshot();
        let (engine, muted) = (&self.engine, Muted::default());
        let facts = Facts::new(engine, &snapshot, &muted, MOST, now);
        let key = Key::account_wide(&self.name, Kind::Disconnect);
        let watcher = engine.watchers().get(&self.name)?;
        let opens = || {
            let cut_off = engine.cut_offs.get(&self.name)?;
            let rungs = watcher.settings.disconnect_days.iter().copied().chain([0]);
            rungs.filter_map(|rung| cut_off.crosses(rung, &watcher.settings)).filter(|at| *at > now).min()
        };
        let everybody = watcher.recipients(Kind::Disconnect).iter().chain(&watcher.settings.escalate_to);
        let next = everybody.filter_map(|to| match self.log.why(&key, to, &facts)? {
            Due::Nothing(_, until) => until,
            Due::Tell(..) => None,
        });
        next.chain(opens()).filter(|at| *at > now).min().map(|at| at.max(now + Duration::seconds(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::AlertSettings;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};

    fn now() -> DateTime<Utc> {
        t("2026-03-01T12:00:00")
    }

    /// The day and event of each mail.
    fn walk(report: &Report, settings: AlertSettings) -> Vec<String> {
        let watcher = Watcher { settings: settings.into(), to: vec!["ops".into()] };
        let profile = crate::unit::account::profile("main");
        let told = rehearse(&profile, report, None, &watcher, now());
        told.iter().map(|told| format!("{} {}", told.at.format("%m-%d %H:%M"), told.item.event)).collect()
    }

    #[test]
    fn a_rehearsal_goes_down_the_ladder_and_through_the_days_after_it() {
        // The charge of 26 March, 11:00 uses the balance up.
        let dry = report("250", "10", 90, Edd::Null);
        let before = [
            "03-12 11:00 rung:14",
            "03-19 11:00 rung:7",
            "03-22 00:00 rung:4",
            "03-23 11:00 rung:3",
            "03-25 11:00 rung:1",
        ];
        let days = |days: &[i64]| -> Vec<String> {
            let date = |day: &i64| t("2026-03-26T11:00:00") + Duration::days(*day);
            days.iter()
                .map(|day| format!("{} overdue:{}", date(day).format("%m-%d %H:%M"), date(day).date_naive()))
                .collect()
        };
        let unknown = walk(&dry, AlertSettings::defaults());
        assert_eq!(unknown[..5], before);
        assert_eq!(unknown[5], "03-26 11:00 rung:0");
        assert_eq!(unknown[6..], days(&[1, 2, 3, 4, 5, 6, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37]));
        let known = walk(&dry, AlertSettings { deletion_days: 9, ..AlertSettings::defaults() });
        let left = |day: &str, left: u32| format!("{day} 11:00 deletion:{left}");
        let after = [
            days(&[1]),
            vec![left("03-28", 7)],
            days(&[3, 4, 5]),
            vec![left("04-01", 3)],
            days(&[7]),
            vec![left("04-03", 1), left("04-04", 0)],
        ];
        assert_eq!(known[6..], after.concat());
    }

    #[test]
    fn a_rehearsal_begins_with_the_tightest_rung_and_is_empty_where_nothing_is_ahead() {
        let near = walk(&report("50", "10", 90, Edd::Null), AlertSettings::defaults());
        assert_eq!(near[0], "03-01 12:00 rung:7");
        assert_eq!(walk(&report("5000", "10", 90, Edd::Null), AlertSettings::defaults()), [""; 0]);
    }

    #[test]
    fn a_rehearsal_names_the_recipients_of_an_escalation() {
        let settings = AlertSettings { escalate_to: vec!["boss".into()], ..AlertSettings::defaults() };
        let watcher = Watcher { settings: settings.into(), to: vec!["ops".into(), "ann".into()] };
        let dry = report("250", "10", 90, Edd::Null);
        let told = rehearse(&crate::unit::account::profile("main"), &dry, None, &watcher, now());
        let to = |event: &str| -> Vec<&str> {
            let mails = told.iter().filter(|told| told.item.event.to_string() == event);
            mails.map(|told| told.to.as_str()).collect()
        };
        assert_eq!(to("rung:7"), ["ann", "ops"]);
        assert_eq!(to("escalated"), ["boss"]);
        assert_eq!(to("rung:0"), ["ann", "boss", "ops"]);
    }

    /// The report of an account that is off names its next charge, but not the time at which it was cut off.
    #[test]
    fn a_rehearsal_of_an_account_that_is_off_goes_by_the_cut_off_that_the_daemon_knows() {
        let off = Disconnect::At { at: t("2026-02-27T09:00:00"), computed: false };
        let settings = AlertSettings { deletion_days: 9, ..AlertSettings::defaults() };
        let watcher = Watcher { settings: settings.into(), to: vec!["ops".into()] };
        let report = report("-20", "10", 90, Edd::At(t("2026-03-03T09:00:00")));
        let told = rehearse(&crate::unit::account::profile("main"), &report, Some(off), &watcher, now());
        let events: Vec<String> = told.iter().map(|told| told.item.event.to_string()).collect();
        assert_eq!(events[0], "rung:0");
        assert_eq!(events.last().unwrap(), "deletion:0");
        assert_eq!(told.last().unwrap().at, t("2026-03-08T09:00:00"));
        assert!(events[1..].iter().all(|event| !event.starts_with("rung")), "{events:?}");
    }
}
