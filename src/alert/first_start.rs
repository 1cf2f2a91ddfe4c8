//! The first-start mail: what was already wrong when nobody knew yet. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::decide::StepDraft;
use super::engine::Engine;
use super::incident::Incident;
use super::key::Key;
use super::kind::{Event, Kind, Severity};
use super::notice::{self, Form, Item, Notice, Started};
use super::reason::{Cause, Withheld};
use super::rules;
use crate::model::freshness::state_collectors;
use crate::model::{AccountName, Snapshot};

impl Engine {
    /// The mails of the first start, one a recipient; recipients with the same share it.
    pub(super) fn first_start(
        &self,
        draft: &mut StepDraft<'_>,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Vec<Notice> {
        let listed = list(draft, now);
        // What each is told of, and of which accounts.
        let mut by_recipient: BTreeMap<&str, (BTreeSet<AccountName>, Vec<Item>)> = BTreeMap::new();
        for (account, watcher) in &self.watchers {
            for to in &watcher.to {
                by_recipient.entry(to).or_default().0.insert(account.clone());
            }
        }
        for item in &listed {
            for to in self.recipients(&item.key) {
                let (accounts, items) = by_recipient.entry(to).or_default();
                // Whom only a rule names hears of that account too.
                accounts.insert(item.key.account.clone());
                items.push(item.clone());
            }
        }
        let mut notices: Vec<Notice> = Vec::new();
        for (to, (accounts, mut items)) in by_recipient {
            notice::worst_first(&mut items);
            let accounts: Vec<AccountName> = accounts.into_iter().collect();
            let facts = self.started_facts(&|key| draft.get(key), snapshot, &accounts, to, now);
            let form = Form::Started(Started { needs: facts.needs + items.len(), ..facts });
            let same =
                notices.iter_mut().find(|n| n.form == form && n.items == items && n.accounts == accounts);
            match same {
                Some(same) => same.to.push(to.to_owned()),
                None => notices.push(Notice { form, items, to: vec![to.to_owned()], accounts }),
            }
        }
        notices
    }

    /// What is left of a waiting mail, to be sent anew: a first-start mail counts what needs each recipient once these
    /// incidents are as a step decided.
    pub(crate) fn counted_anew(
        &self,
        mail: Notice,
        decided: &[Incident],
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Vec<Notice> {
        if !matches!(mail.form, Form::Started(_)) {
            return vec![mail];
        }
        let decided = decided.iter().map(|incident| (&incident.key, incident));
        let known: BTreeMap<&Key, &Incident> = self.incidents().iter().chain(decided).collect();
        let anew = |to: String| {
            let began_since = |one: &&Incident| {
                let key = &one.key;
                let is_open = one.phase.is_open() && one.announced && one.folded_into.is_none();
                key.kind != Kind::Disconnect
                    && mail.accounts.contains(&key.account)
                    && self.recipients(key).contains(&to)
                    && mail.items.iter().all(|item| item.key != *key)
                    && is_open
                    && needs_somebody(one)
            };
            let since: Vec<&Incident> = known.values().copied().filter(began_since).collect();
            let get = |key: &Key| known.get(key).copied();
            let mut facts = self.started_facts(&get, snapshot, &mail.accounts, &to, now);
            facts.severity = since.iter().map(|one| one.severity).chain(facts.severity).max();
            facts.needs += mail.items.len() + since.len();
            facts.since = since.len();
            let form = Form::Started(facts);
            Notice { form, items: mail.items.clone(), to: vec![to], accounts: mail.accounts.clone() }
        };
        mail.to.iter().cloned().map(anew).collect()
    }

    /// Of everything but the incidents that the mail lists.
    fn started_facts<'a>(
        &self,
        get: &dyn Fn(&Key) -> Option<&'a Incident>,
        snapshot: &Snapshot,
        accounts: &[AccountName],
        to: &str,
        now: DateTime<Utc>,
    ) -> Started {
        let mut facts = Started::default();
        for account in accounts {
            let Some(state) = snapshot.accounts.get(account) else { continue };
            facts.resources += state.resource_count();
            let disconnect = Key::account_wide(account, Kind::Disconnect);
            let open = get(&disconnect).filter(|one| one.phase.is_open() && needs_somebody(one));
            if let Some(incident) = open
                && self.recipients(&disconnect).iter().any(|one| one == to)
            {
                facts.disconnect = true;
                facts.severity = facts.severity.max(Some(incident.severity));
                facts.overdue |= incident.ladder.as_ref().is_some_and(|ladder| ladder.is_overdue(now));
                facts.needs += 1;
            }
            for collector in state_collectors(&state.profile) {
                if let Some(failure) =
                    state.collectors.get(&collector).and_then(|status| status.failure.as_ref())
                {
                    let why = rules::clean(&failure.message, 200);
                    facts.unread.push(format!("{account}: cannot read {}: {why}", collector.words()));
                }
            }
        }
        facts
    }
}

fn needs_somebody(incident: &Incident) -> bool {
    incident.severity > Severity::Info
}

/// What is open, and now known to people: each with its decision.
fn list(draft: &mut StepDraft<'_>, now: DateTime<Utc>) -> Vec<Item> {
    let mut listed = Vec::new();
    for key in draft.keys() {
        let Some(incident) = draft.get(&key) else { continue };
        if !incident.phase.is_open() || key.kind == Kind::Disconnect || incident.announced {
            continue;
        }
        let mut incident = incident.clone();
        if let Some(silenced) = draft.silenced(&incident) {
            draft.note(incident, Withheld::SilencedAtStart(silenced));
            continue;
        }
        incident.announced = true;
        incident.pre_existing = true;
        incident.last_mailed = Some(now);
        incident.reason = Cause::KnownAtStart.into();
        listed.push(Item::new(&incident, Event::Started, now));
        draft.note(incident, Cause::KnownAtStart);
    }
    listed
}
