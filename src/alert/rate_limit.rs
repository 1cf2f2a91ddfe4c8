//! The hourly limit: what is held back once so many mails went out, and the summary of it.
//! Disconnect mails, the first-start mail and the digest are never kept back. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use super::key::Key;
use super::kind::{Event, Kind};
use super::notice::{Form, Item, Notice, Overflow, worst_first};
use crate::model::AccountName;

/// What comes within this of the first item kept back goes into the same summary.
const GATHER_SECONDS: i64 = 10;
/// The span that the cap counts over, and the longest between two summaries.
pub(crate) const WINDOW: Duration = Duration::hours(1);

/// Does the cap apply to this mail?
pub(crate) fn applies(notice: &Notice) -> bool {
    match notice.form {
        Form::Opened | Form::Closed | Form::Reminder => true,
        Form::Unwatched => notice.items.iter().all(|item| item.key.kind != Kind::Disconnect),
        Form::Disconnect | Form::Covered | Form::Started(_) | Form::Overflow(_) | Form::Digest(_) => false,
    }
}

/// Is a summary of what is held since `since` due? The first one goes out beyond the cap, so that
/// nobody waits an hour to hear of a storm; the next as soon as the cap allows, or an hour later.
pub(crate) fn is_due(
    since: DateTime<Utc>,
    last_summary: Option<DateTime<Utc>>,
    mails_in_window: u32,
    max_per_hour: u32,
    now: DateTime<Utc>,
) -> bool {
    let gathered = now - since >= Duration::seconds(GATHER_SECONDS) || now < since;
    let waited = last_summary.is_none_or(|last| now - last >= WINDOW || now < last);
    gathered && (waited || mails_in_window < max_per_hour)
}

/// One summary a recipient of everything held; recipients with the same items share it. An incident
/// that came and went meanwhile is told once, as having been; the beginning of one that nothing looks at any more
/// (`is_watched`) not at all, nor that nothing looks at one that is watched again.
pub(crate) fn summaries<'a>(
    held: impl IntoIterator<Item = (&'a [String], &'a [Item])>,
    overflow: &Overflow,
    is_watched: impl Fn(&Key) -> bool,
) -> Vec<Notice> {
    let mut by_recipient: BTreeMap<&str, BTreeMap<(Key, u32), Item>> = BTreeMap::new();
    for (to, items) in held {
        for recipient in to {
            let known = by_recipient.entry(recipient).or_default();
            for item in items {
                let id = (item.key.clone(), item.episode);
                let joined = match known.remove(&id) {
                    Some(earlier) => join(&earlier, item.clone()),
                    None => item.clone(),
                };
                known.insert(id, joined);
            }
        }
    }
    let mut notices: Vec<Notice> = Vec::new();
    for (to, items) in by_recipient {
        let mut items: Vec<Item> =
            items.into_values().filter(|item| is_news(item, is_watched(&item.key))).collect();
        if items.is_empty() {
            continue;
        }
        worst_first(&mut items);
        if let Some(same) = notices.iter_mut().find(|notice| notice.items == items) {
            same.to.push(to.to_owned());
            continue;
        }
        let mut accounts: Vec<AccountName> = items.iter().map(|item| item.key.account.clone()).collect();
        accounts.sort();
        accounts.dedup();
        let to = vec![to.to_owned()];
        notices.push(Notice { form: Form::Overflow(overflow.clone()), items, to, accounts });
    }
    notices
}

fn is_news(item: &Item, is_watched: bool) -> bool {
    if item.event == Event::Unwatched { !is_watched } else { is_watched || item.event.is_end() }
}

/// Two items of one episode as one.
fn join(earlier: &Item, mut later: Item) -> Item {
    let untold = matches!(earlier.event, Event::Opened | Event::Flapping);
    if untold && matches!(later.event, Event::Resolved | Event::Removed) {
        later.event = Event::WasDown;
        later.threads.clear();
    } else if untold && matches!(later.event, Event::Reminder(_) | Event::Covered(_)) {
        later.event = earlier.event.clone();
    }
    later
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Incident, Kind, Severity, Started};

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + Duration::seconds(seconds)
    }

    fn item(id: u64, event: Event) -> Item {
        let key = Key::new(&"main".parse().unwrap(), Kind::VmError, id);
        let mut item = Item::new(&Incident::new(key, Severity::Critical, at(0)), event, at(0));
        item.threads.insert("a".into(), "thread".into());
        item
    }

    /// What follows from it was found while its own mail was held back.
    #[test]
    fn what_follows_from_what_is_held_back_is_told_with_it() {
        let mut covered = item(1, Event::Covered(1));
        covered.covers = vec!["Site a in error".to_owned()];
        let joined = join(&item(1, Event::Opened), covered);
        assert_eq!((joined.event, joined.covers), (Event::Opened, vec!["Site a in error".to_owned()]));
    }

    #[test]
    fn disconnect_first_start_and_overviews_are_never_kept_back() {
        let overflow = Overflow { max_per_hour: 1, since: at(0) };
        let table = [
            (Form::Opened, true),
            (Form::Closed, true),
            (Form::Reminder, true),
            (Form::Disconnect, false),
            (Form::Started(Started::default()), false),
            (Form::Overflow(overflow), false),
        ];
        let notice = |form, items| Notice { form, items, to: Vec::new(), accounts: Vec::new() };
        for (form, want) in table {
            assert_eq!(applies(&notice(form.clone(), Vec::new())), want, "{form:?}");
        }
        let gone = item(1, Event::Unwatched);
        let key = Key::account_wide(&gone.key.account, Kind::Disconnect);
        let of_money = Item { key, ..gone.clone() };
        assert!(applies(&notice(Form::Unwatched, vec![gone.clone()])));
        assert!(!applies(&notice(Form::Unwatched, vec![gone, of_money])));
    }

    #[test]
    fn a_summary_is_due_once_gathered_and_then_as_the_cap_allows() {
        let table = [
            // seconds since the first was held, since the last summary, mails in the window, due
            (0, None, 60, false),
            (9, None, 60, false),
            (10, None, 60, true),
            (10, Some(0), 60, false),
            (10, Some(10), 60, false),
            (10, Some(10), 59, true),
            (10, Some(3600), 60, true),
            // The clock was set back.
            (-5, Some(-5), 60, true),
        ];
        for (held, last, mails, due) in table {
            let now = at(100_000);
            let since = now - Duration::seconds(held);
            let last = last.map(|last| now - Duration::seconds(last));
            assert_eq!(is_due(since, last, mails, 60, now), due, "{held} s held, last {last:?}, {mails}");
        }
    }

    #[test]
    fn two_events_of_one_episode_are_told_as_one() {
        let table = [
            (Event::Opened, Event::Resolved, Event::WasDown),
            (Event::Flapping, Event::Removed, Event::WasDown),
            // Its opening was mailed.
            (Event::Reminder(1), Event::Resolved, Event::Resolved),
            (Event::Reminder(1), Event::Reminder(2), Event::Reminder(2)),
            (Event::Flapping, Event::Reminder(1), Event::Flapping),
            (Event::Opened, Event::Flapping, Event::Flapping),
        ];
        for (earlier, later, want) in table {
            let joined = join(&item(1, earlier.clone()), item(1, later.clone()));
            assert_eq!(joined.threads.is_empty(), want == Event::WasDown, "{earlier} then {later}");
            assert_eq!(joined.event, want, "{earlier} then {later}");
        }
    }

    #[test]
    fn what_came_and_went_is_told_once_and_each_hears_what_is_his() {
        let (ann, both) = (vec!["ann".to_owned()], vec!["ann".to_owned(), "bob".to_owned()]);
        let rounds = [
            (&both, vec![item(1, Event::Opened), item(2, Event::Opened)]),
            (&ann, vec![item(3, Event::Resolved)]),
            (&both, vec![item(1, Event::Resolved), item(2, Event::Reminder(1))]),
        ];
        let held = rounds.iter().map(|(to, items)| (to.as_slice(), items.as_slice()));
        let overflow = Overflow { max_per_hour: 1, since: at(0) };
        let notices = summaries(held.clone(), &overflow, |_| true);
        let told: Vec<(Vec<String>, Vec<String>)> = notices
            .iter()
            .map(|n| (n.to.clone(), n.items.iter().map(|i| format!("{} {}", i.key, i.event)).collect()))
            .collect();
        let text = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let of_both = ["main/vm_error/1 was-down", "main/vm_error/2 opened"];
        let want = [
            (text(&["ann"]), text(&[of_both[0], of_both[1], "main/vm_error/3 resolved"])),
            (text(&["bob"]), text(&of_both)),
        ];
        assert_eq!(told, want);
        assert!(notices[0].items[0].threads.is_empty(), "nobody was sent the mail that opened it");
        let left = summaries(held, &overflow, |key| key.id() != Some(2));
        let keys = |notice: &Notice| notice.items.iter().filter_map(|item| item.key.id()).collect::<Vec<_>>();
        assert_eq!(
            left.iter().map(keys).collect::<Vec<_>>(),
            [vec![1, 3], vec![1]],
            "2 is not watched any more"
        );
        let (to, gone) = (vec!["ann".to_owned()], vec![item(1, Event::Unwatched), item(2, Event::Unwatched)]);
        let left = summaries([(&to[..], &gone[..])], &overflow, |key| key.id() == Some(2));
        assert_eq!(left.iter().map(keys).collect::<Vec<_>>(), [vec![1]], "2 is watched again");
    }
}
