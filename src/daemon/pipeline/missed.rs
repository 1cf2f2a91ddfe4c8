//! Who missed the last news of an incident: asked of the outbox, and told by the engine.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};

use super::super::notes::address;
use super::Pipeline;
use crate::alert::{self, Item, Missed};
use crate::store::{Refused, StoreError};

/// An end that was refused is told anew for so long.
const ENDS_FOR: Duration = Duration::days(5);
/// Where others know it, one recipient is tried anew so often, besides after each mail that gets through.
const AGAIN: usize = 3;

impl Pipeline {
    pub(super) fn missed(&self, now: DateTime<Utc>) -> Result<Vec<Missed>, StoreError> {
        let mut missed = if self.recipients_may_be_new { self.newcomers()? } else { Vec::new() };
        let held = self.held()?;
        let store = self.published.store.lock();
        let refused = store.refused(now - ENDS_FOR)?;
        let behind: BTreeSet<(&alert::Key, &str)> =
            refused.iter().map(|one| (&one.key, one.to.as_str())).collect();
        for one in &refused {
            let recipients = self.engine.recipients_by_now(&one.key);
            let knows = |to: &String| !behind.contains(&(&one.key, address(to).as_str()));
            let is_due = one.reached || alert::tries_again(&one.given_up, now);
            if held.contains(&one.key)
                || !is_due
                || (one.given_up.len() > AGAIN && recipients.iter().any(knows))
            {
                continue;
            }
            if let Some(item) = item(&store, one)? {
                if item.event.is_end() && one.given_up.iter().any(|&at| now - at >= ENDS_FOR) {
                    continue;
                }
                // An end is for whoever heard of the beginning, recipient still or not.
                let left = Some(&one.to).filter(|_| item.event.is_end());
                let to = recipients.iter().chain(left).find(|to| address(to) == one.to);
                let to = to.into_iter().cloned().collect();
                missed.push(Missed { key: one.key.clone(), to, refused: Some(item) });
            }
        }
        missed.retain(|one| !one.to.is_empty());
        Ok(missed)
    }

    /// Recipients for whom no mail about an open incident was made, while there was one for others.
    fn newcomers(&self) -> Result<Vec<Missed>, StoreError> {
        let (mut addressed, (limited, _)) = {
            let store = self.published.store.lock();
            (store.addressed()?, store.rate_limited()?)
        };
        for held in limited {
            for item in held.items {
                addressed.entry(item.key).or_default().extend(held.to.iter().map(|to| address(to)));
            }
        }
        let found = addressed.into_iter().map(|(key, known)| {
            let is_new = |to: &&String| !known.contains(&address(to));
            let to = self.engine.recipients(&key).iter().filter(is_new).cloned().collect();
            Missed { key, to, refused: None }
        });
        Ok(found.filter(|missed| !missed.to.is_empty()).collect())
    }
}

/// What a mail that was refused said of its incident; `None` of one by an older release.
fn item(store: &crate::store::Store, refused: &Refused) -> Result<Option<Item>, StoreError> {
    let made = store.made(&refused.message_id)?;
    let items = made.into_iter().flat_map(|made| made.notice.items);
    Ok({ items }.find(|item| item.key == refused.key))
}
