//! The weekly digest: what is open, what ended within the week, to whom. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::engine::Engine;
use super::incident::{Incident, Phase};
use super::kind::Event;
use super::notice::{Digest, Form, Item, Notice, worst_first};
use super::settings::zone_of;
use crate::model::AccountName;

/// What a digest looks back on.
pub(crate) const SPAN: Duration = Duration::days(7);

impl Engine {
    /// The digests of accounts for which one is due, with the date it has there: one mail a recipient
    /// and date. `ended`: what the store has of the week. `facts` fills in what the engine does not know: polls and
    /// mails.
    pub(crate) fn digests(
        &self,
        due: &BTreeMap<AccountName, NaiveDate>,
        ended: &[Incident],
        facts: impl Fn(NaiveDate, &BTreeSet<AccountName>) -> Digest,
        now: DateTime<Utc>,
    ) -> Vec<Notice> {
        let mut by_recipient: BTreeMap<(NaiveDate, &str), BTreeSet<AccountName>> = BTreeMap::new();
        for (account, &date) in due {
            for to in self.recipients_of(account) {
                by_recipient.entry((date, to)).or_default().insert(account.clone());
            }
        }
        let mut notices: Vec<Notice> = Vec::new();
        for ((date, to), accounts) in by_recipient {
            let listed: Vec<AccountName> = accounts.iter().cloned().collect();
            // Of the same day, then: an account has one.
            if let Some(same) = notices.iter_mut().find(|notice| notice.accounts == listed) {
                same.to.push(to.to_owned());
                continue;
            }
            let mut items: Vec<Item> = self
                .watched()
                .chain(ended.iter().filter(|one| !self.incidents().contains_key(&one.key)))
                .filter(|incident| accounts.contains(&incident.key.account) && is_of_the_week(incident, now))
                .map(|incident| self.digest_item(incident, date, now))
                .collect();
            worst_first(&mut items);
            items.sort_by_key(|item| item.ended.is_some());
            let form = Form::Digest(facts(date, &accounts));
            notices.push(Notice { form, items, to: vec![to.to_owned()], accounts: listed });
        }
        notices
    }

    fn digest_item(&self, incident: &Incident, date: NaiveDate, now: DateTime<Utc>) -> Item {
        let mut item = Item::new(incident, Event::Digest(date), now);
        item.ended = incident.resolved_at.filter(|_| !incident.phase.is_open());
        item.muted = self.muted().words(incident, zone_of(&self.watchers, &incident.key.account), now);
        // A digest answers no mail.
        item.threads.clear();
        item
    }
}

fn is_of_the_week(incident: &Incident, now: DateTime<Utc>) -> bool {
    let ended_lately = || incident.resolved_at.is_some_and(|at| now - at <= SPAN);
    incident.phase.is_open() || (incident.phase == Phase::Resolved && incident.announced && ended_lately())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Ack, AlertSettings, Key, Kind, Muted, Remembered, Severity, Watcher};

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn watcher(to: &[&str]) -> Watcher {
        Watcher {
            settings: AlertSettings::defaults().into(),
            to: to.iter().map(|&to| to.to_owned()).collect(),
        }
    }

    fn account(name: &str) -> AccountName {
        name.parse().unwrap()
    }

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn engine(watchers: &[(&str, &[&str])], incidents: Vec<Incident>) -> Engine {
        let watchers = watchers.iter().map(|(name, to)| (account(name), watcher(to))).collect();
        let remembered = Remembered::of(incidents.into_iter().map(Ok::<_, ()>), now()).unwrap();
        Engine::new(watchers, remembered, true, None, now())
    }

    fn facts(date: NaiveDate, _: &BTreeSet<AccountName>) -> Digest {
        let (from, to) = (now() - SPAN, now());
        Digest { date, from, to, accounts: Vec::new(), mails_sent: 0, mails_dead: 0, mails_queued: 0 }
    }

    fn incident(id: u64, phase: Phase, severity: Severity) -> Incident {
        let key = Key::new(&account("main"), Kind::VmError, id);
        let mut incident = Incident::new(key, severity, now());
        (incident.phase, incident.announced, incident.episode) = (phase, true, 1);
        incident.threads.insert("ann".into(), "thread".into());
        incident
    }

    fn ended(id: u64, ago: Duration) -> Incident {
        let mut incident = incident(id, Phase::Resolved, Severity::Critical);
        incident.resolved_at = Some(now() - ago);
        incident
    }

    #[test]
    fn what_is_open_comes_first_and_then_what_ended_within_the_week() {
        let mut untold = ended(7, Duration::hours(1));
        untold.announced = false;
        let mut again = incident(3, Phase::Recovering, Severity::Warning);
        again.resolved_at = Some(now() - Duration::days(1));
        let mut elsewhere = incident(8, Phase::Firing, Severity::Critical);
        elsewhere.key.account = account("former");
        let all = vec![
            ended(1, Duration::hours(1)),
            incident(2, Phase::Firing, Severity::Warning),
            again,
            incident(4, Phase::Firing, Severity::Critical),
            ended(5, SPAN),
            ended(6, SPAN + Duration::seconds(1)),
            untold,
            elsewhere,
            incident(9, Phase::Pending, Severity::Critical),
        ];
        let mut engine = engine(&[("main", &["ann"])], all.clone());
        let key = Key::new(&account("main"), Kind::VmError, 4);
        let ack = Ack { episode: 1, at: now(), comment: String::new() };
        engine.set_muted(Muted { acks: [(key, ack)].into(), ..Muted::default() });
        let due = [(account("main"), date("2027-01-15"))].into();
        let notices = engine.digests(&due, &all, facts, now());
        assert_eq!(notices.len(), 1);
        let items = &notices[0].items;
        let listed: Vec<(u64, bool)> =
            items.iter().map(|item| (item.key.id().unwrap(), item.ended.is_some())).collect();
        assert_eq!(listed, [(4, false), (2, false), (3, false), (1, true), (5, true)]);
        assert_eq!(items[3].ended, Some(now() - Duration::hours(1)));
        let words: Vec<Option<&str>> = items.iter().map(|item| item.muted.as_deref()).collect();
        assert_eq!(words, [Some("acknowledged"), None, None, None, None]);
        for item in items {
            assert_eq!(item.event, Event::Digest(date("2027-01-15")));
            assert!(item.threads.is_empty(), "it answers no mail");
        }
    }

    #[test]
    fn each_recipient_gets_one_a_day_of_his_accounts() {
        let watchers: [(&str, &[&str]); 4] =
            [("a", &["ann", "bob"]), ("b", &["bob"]), ("c", &["bob", "eve", "kim"]), ("d", &[])];
        let (today, tomorrow) = (date("2027-01-15"), date("2027-01-16"));
        let due = [("a", today), ("b", today), ("c", tomorrow), ("d", today)];
        let due = due.into_iter().map(|(name, date)| (account(name), date)).collect();
        let notices = engine(&watchers, Vec::new()).digests(&due, &[], facts, now());
        let told: Vec<(Vec<String>, Vec<String>, Form)> = notices
            .into_iter()
            .map(|one| (one.to, one.accounts.iter().map(ToString::to_string).collect(), one.form))
            .collect();
        let text = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let form = |date| Form::Digest(facts(date, &BTreeSet::new()));
        let want = [
            (text(&["ann"]), text(&["a"]), form(today)),
            (text(&["bob"]), text(&["a", "b"]), form(today)),
            (text(&["bob", "eve", "kim"]), text(&["c"]), form(tomorrow)),
        ];
        assert_eq!(told, want);
    }
}
