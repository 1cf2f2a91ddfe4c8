//! The outbox in numbers, in total and by account, and the error that holds it back. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::alert::{Debts, Key, Kind};
use crate::model::AccountName;
use crate::model::mails::OutboxSummary;
use crate::view::incidents::ServerError;

impl OutboxSummary {
    /// All debts and the mails on their way.
    pub(crate) fn of(debts: &[Debts]) -> Self {
        debts.iter().map(|debt| Self::part(debt, None)).fold(Self::default(), Self::and)
    }

    /// The same for each account.
    pub(crate) fn of_accounts(debts: &[Debts]) -> BTreeMap<AccountName, Self> {
        let mut all: BTreeMap<AccountName, Self> = BTreeMap::new();
        for debt in debts {
            let on_their_way = debt.in_flight.iter().flat_map(|mail| &mail.keys);
            let keys = debt.owed.iter().map(|one| &one.key).chain(on_their_way);
            for account in keys.map(|key| &key.account).collect::<BTreeSet<_>>() {
                let known = all.entry(account.clone()).or_default();
                *known = known.and(Self::part(debt, Some(account)));
            }
        }
        all
    }

    /// The debt to one recipient, or the part of it that concerns one account.
    fn part(debt: &Debts, account: Option<&AccountName>) -> Self {
        let is_its = |key: &Key| account.is_none_or(|account| key.account == *account);
        let owed = || debt.owed.iter().filter(|one| is_its(&one.key));
        let on_their_way =
            debt.in_flight.iter().filter(|mail| account.is_none() || mail.keys.iter().any(is_its));
        let on_their_way: Vec<DateTime<Utc>> = on_their_way.map(|mail| mail.since).collect();
        // The first mail and the digest concern no single account.
        let others = [debt.first, debt.digest.filter(|_| !debt.limited)];
        let others = others.into_iter().flatten().filter(|_| account.is_none());
        let is_owed =
            owed().next().is_some() || (account.is_none() && (debt.first.is_some() || debt.digest.is_some()));
        let undelivered = owed().filter(|one| is_undelivered(debt, &one.key)).map(|one| one.since);
        Self {
            owed: u64::from(is_owed),
            in_flight: on_their_way.len() as u64,
            refused: u64::from(is_owed && debt.refused_since.is_some()),
            held: u64::from(is_owed && debt.is_held),
            unsure: u64::from(account.is_none() && debt.unsure_since.is_some()),
            oldest: on_their_way.into_iter().chain(others).chain(undelivered).min(),
        }
    }

    fn and(self, part: Self) -> Self {
        Self {
            owed: self.owed + part.owed,
            in_flight: self.in_flight + part.in_flight,
            refused: self.refused + part.refused,
            held: self.held + part.held,
            unsure: self.unsure + part.unsure,
            oldest: self.oldest.into_iter().chain(part.oldest).min(),
        }
    }
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
    fn a_recipient_is_counted_once_and_an_account_by_the_mails_about_it() {
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
        let summary = |owed, in_flight, refused, held, oldest: i64| OutboxSummary {
            owed,
            in_flight,
            refused,
            held,
            unsure: 0,
            oldest: Some(at(oldest)),
        };
        assert_eq!(OutboxSummary::of(&all), summary(4, 1, 1, 2, 2));
        let of_accounts: Vec<(String, OutboxSummary)> =
            OutboxSummary::of_accounts(&all).into_iter().map(|(name, one)| (name.to_string(), one)).collect();
        let want = [
            ("a", summary(1, 1, 0, 0, 2)),
            ("b", summary(2, 0, 1, 1, 8)),
            ("c", summary(0, 1, 0, 0, 2)),
            ("d", summary(1, 0, 0, 1, 9)),
        ];
        assert_eq!(of_accounts, want.map(|(name, one)| (name.to_owned(), one)));
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
            let all = OutboxSummary::of(std::slice::from_ref(&debts));
            assert_eq!((all.owed, all.oldest), (1, oldest));
            let of_accounts = OutboxSummary::of_accounts(&[debts]);
            assert_eq!(of_accounts.into_values().collect::<Vec<_>>(), [all]);
        }
    }
}
