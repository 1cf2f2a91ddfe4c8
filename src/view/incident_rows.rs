//! What is shown of incidents and mails at one moment; incidents by account: what changes of one is made anew, the others'
//! rows stay as they are. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::incidents::{IncidentRow, Mails};
use crate::alert::CalendarEntry;
use crate::model::AccountName;

/// Incidents and mails at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alerting {
    pub incidents: IncidentRows,
    pub mails: Mails,
    /// The cut-off of each account that ever had one.
    pub calendar: BTreeMap<AccountName, CalendarEntry>,
    /// How this machine's clock differs from the provider's.
    pub clock: Option<String>,
    /// The store's file does not take what is decided.
    pub store_fails: bool,
}

/// Open incidents and recently closed ones, of each account in any order. Clones share the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct IncidentRows(Arc<BTreeMap<AccountName, Arc<[IncidentRow]>>>);

impl IncidentRows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &IncidentRow> {
        self.0.values().flat_map(|rows| rows.iter())
    }

    /// Replaces those of one account.
    pub(crate) fn put(&mut self, account: &AccountName, rows: Vec<IncidentRow>) {
        let accounts = Arc::make_mut(&mut self.0);
        if rows.is_empty() {
            accounts.remove(account);
        } else {
            accounts.insert(account.clone(), rows.into());
        }
    }
}

impl FromIterator<IncidentRow> for IncidentRows {
    fn from_iter<I: IntoIterator<Item = IncidentRow>>(rows: I) -> Self {
        let mut accounts: BTreeMap<AccountName, Vec<IncidentRow>> = BTreeMap::new();
        for row in rows {
            accounts.entry(row.account.clone()).or_default().push(row);
        }
        Self(Arc::new(accounts.into_iter().map(|(account, rows)| (account, rows.into())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Incident, Key, Kind, Muted, Phase, Severity};
    use chrono::DateTime;

    fn row(account: &AccountName) -> IncidentRow {
        let now = DateTime::UNIX_EPOCH;
        let mut incident = Incident::new(Key::new(account, Kind::VmError, 7), Severity::Critical, now);
        incident.phase = Phase::Firing;
        IncidentRow::of(&incident, &Muted::default(), now).unwrap()
    }

    #[test]
    fn one_account_changes_and_the_rows_of_the_others_stay_where_they_are() {
        let (a, b): (AccountName, AccountName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let before: IncidentRows = [row(&a), row(&b)].into_iter().collect();
        let mut after = before.clone();
        after.put(&a, vec![row(&a), row(&a)]);
        assert_eq!((before.iter().count(), after.iter().count()), (2, 3));
        assert!(Arc::ptr_eq(&before.0[&b], &after.0[&b]));
        after.put(&a, Vec::new());
        assert_eq!(after.iter().map(|row| &row.account).collect::<Vec<_>>(), [&b]);
    }
}
