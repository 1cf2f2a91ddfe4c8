//! The weekly digest: what is open, what ended within the week, to whom. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::engine::Engine;
use super::incident::{Incident, Phase};
use super::kind::Event;
use super::notice::{Digest, Form, Item, Notice, worst_first};
use crate::model::AccountName;

/// What a digest looks back on.
pub const SPAN: Duration = Duration::days(7);

impl Engine {
    /// The digests of accounts for which one is due, with the date it has there: one mail a recipient
    /// and date. `facts` fills in what the engine does not know: polls and mails.
    pub fn digests(
        &self,
        due: &BTreeMap<AccountName, NaiveDate>,
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
            let same = notices.iter_mut().find(|notice| {
                notice.accounts == listed
                    && matches!(&notice.form, Form::Digest(digest) if digest.date == date)
            });
            if let Some(same) = same {
                same.to.push(to.to_owned());
                continue;
            }
            let mut items: Vec<Item> = self
                .watched()
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
        item.overlay = self.overlays().words(incident, now);
        // A digest answers no mail.
        item.threads.clear();
        item
    }
}

fn is_of_the_week(incident: &Incident, now: DateTime<Utc>) -> bool {
    let ended_lately = || incident.resolved_at.is_some_and(|at| now - at <= SPAN);
    incident.phase.is_open() || (incident.phase == Phase::Resolved && incident.announced && ended_lately())
}
