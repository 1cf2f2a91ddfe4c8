//! The outbox in numbers, and the error that holds it back. Pure.

use chrono::{DateTime, Utc};

use crate::alert::{Debts, Key, Kind};
use crate::model::mails::OutboxSummary;
use crate::view::incidents::ServerError;

impl OutboxSummary {
    /// All debts and the mails on their way.
    pub(crate) fn of(debts: &[Debts]) -> Self {
        let owed =
            || debts.iter().filter(|debt| !debt.owed.is_empty() || debt.first.or(debt.digest).is_some());
        Self {
            owed: owed().count() as u64,
            in_flight: debts.iter().map(|debt| debt.in_flight.len() as u64).sum(),
            refused: owed().filter(|debt| debt.refused_since.is_some()).count() as u64,
            held: owed().filter(|debt| debt.is_held).count() as u64,
            unsure: debts.iter().filter(|debt| debt.unsure_since.is_some()).count() as u64,
            oldest: debts.iter().filter_map(oldest).min(),
        }
    }
}

/// The time since when the oldest debt to a recipient counts as undelivered.
fn oldest(debt: &Debts) -> Option<DateTime<Utc>> {
    let on_their_way = debt.in_flight.iter().map(|mail| mail.since);
    let others = [debt.first, debt.digest.filter(|_| !debt.limited)].into_iter().flatten();
    let undelivered = debt.owed.iter().filter(|one| is_undelivered(debt, &one.key)).map(|one| one.since);
    on_their_way.chain(others).chain(undelivered).min()
}

impl ServerError {
    /// Of several errors: a refused login, then a server that is down, then a refused recipient.
    pub(crate) fn of(debts: &[Debts]) -> Option<Self> {
        let waiting = debts.iter().filter(|debt| debt.is_owed());
        let tried = waiting.filter(|debt| debt.error.is_some());
        let debt =
            tried.max_by_key(|debt| (debt.is_login_refused, debt.is_server_down, debt.refused_since))?;
        let (refused, is_of_server) = (debt.is_login_refused, debt.is_server_down);
        Some(Self { error: debt.error.clone()?, refused, is_of_server })
    }
}

/// Whether a debt counts as undelivered. The hourly limit holds mails back on purpose.
pub(super) fn is_undelivered(debt: &Debts, key: &Key) -> bool {
    !debt.limited || key.kind == Kind::Disconnect
}

#[cfg(test)]
mod tests {
    use chrono::Duration;

    use super::*;
    use crate::alert::{MailOnItsWay, OwedEvent};

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + Duration::minutes(minute)
    }

    fn key(account: &str, kind: Kind) -> Key {
        Key::new(&account.parse().unwrap(), kind, 7)
    }

    fn owed(account: &str, kind: Kind, minute: i64) -> OwedEvent {
        OwedEvent { key: key(account, kind), event: Some("opened".to_owned()), since: at(minute) }
    }

    fn debts(owed: Vec<OwedEvent>) -> Debts {
        Debts { recipient: "ops@example.com".to_owned(), owed, ..Debts::default() }
    }

    #[test]
    fn a_recipient_is_counted_once() {
        let all = [
            debts(vec![
                owed("a", Kind::VmError, 5),
                owed("a", Kind::VmStuck, 3),
                owed("b", Kind::VmError, 9),
            ]),
            Debts { refused_since: Some(at(1)), is_held: true, ..debts(vec![owed("b", Kind::SiteError, 8)]) },
            Debts { is_held: true, ..debts(vec![owed("d", Kind::SiteError, 9)]) },
            Debts {
                in_flight: vec![MailOnItsWay {
                    since: at(2),
                    keys: vec![key("a", Kind::VmError), key("c", Kind::VmError)],
                }],
                refused_since: Some(at(1)),
                ..debts(Vec::new())
            },
            Debts { digest: Some(at(7)), ..debts(Vec::new()) },
        ];
        let want =
            OutboxSummary { owed: 4, in_flight: 1, refused: 1, held: 2, unsure: 0, oldest: Some(at(2)) };
        assert_eq!(OutboxSummary::of(&all), want);
        assert_eq!(OutboxSummary::of(&[]), OutboxSummary::default());
    }

    #[test]
    fn the_error_is_that_of_what_holds_back_most() {
        let tried =
            |error: &str| Debts { error: Some(error.to_owned()), ..debts(vec![owed("a", Kind::VmError, 2)]) };
        let all = [
            Debts { owed: Vec::new(), is_login_refused: true, ..tried("nothing waits") },
            tried("deferred"),
            Debts { refused_since: Some(at(1)), ..tried("no such user") },
            Debts { is_server_down: true, ..tried("unreachable") },
            Debts { is_login_refused: true, ..tried("login") },
        ];
        let error =
            |debts: &[Debts]| ServerError::of(debts).map(|one| (one.error, one.is_of_server, one.refused));
        let want = [("deferred", false, false), ("no such user", false, false), ("unreachable", true, false)];
        let want = want.into_iter().chain([("login", false, true)]);
        for (upto, (text, is_of_server, refused)) in (2..).zip(want) {
            assert_eq!(error(&all[..upto]), Some((text.to_owned(), is_of_server, refused)));
        }
        assert_eq!(error(&all[..1]), None);
    }

    #[test]
    fn mails_that_wait_for_the_hourly_limit_are_not_stuck_except_those_about_money() {
        let waits = Debts { limited: true, digest: Some(at(1)), ..debts(vec![owed("a", Kind::VmError, 2)]) };
        let money = Debts { limited: true, ..debts(vec![owed("a", Kind::Disconnect, 3)]) };
        for (debts, oldest) in [(waits, None), (money, Some(at(3)))] {
            let all = OutboxSummary::of(&[debts]);
            assert_eq!((all.owed, all.oldest), (1, oldest));
        }
    }
}
