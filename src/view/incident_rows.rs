//! The incidents and mails that are shown at one moment. Incidents are kept by account: a change replaces the
//! rows of its account, and other rows stay. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;

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
    /// The time by which this machine's clock is ahead of the provider's, if they differ. True if the provider's decides.
    pub clock: Option<(TimeDelta, bool)>,
    /// The store's file cannot be written.
    pub store_fails: bool,
}

/// Open and recently closed incidents by account, in any order. Clones share the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct IncidentRows(Arc<BTreeMap<AccountName, Arc<[IncidentRow]>>>);

impl IncidentRows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &IncidentRow> {
        self.0.values().flat_map(|rows| rows.iter())
    }

    /// Replaces the rows of one account.
    pub(crate) fn put(&mut self, account: &AccountName, rows: Vec<IncidentRow>) {
        let accounts = Arc::make_mut(&mut self.0);
        if rows.is_empty() {
            accounts.remove(account);
        } else {
            accounts.insert(account.clone(), rows.into());
        }
    }
}

#[cfg(test)]
impl FromIterator<IncidentRow> for IncidentRows {
    fn from_iter<I: IntoIterator<Item = IncidentRow>>(rows: I) -> Self {
        let mut accounts: BTreeMap<AccountName, Vec<IncidentRow>> = BTreeMap::new();
        for row in rows {
            accounts.entry(row.account.clone()).or_default().push(row);
        }
        let mut all = Self::default();
        accounts.into_iter().for_each(|(account, rows)| all.put(&account, rows));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Kind, Phase, Severity};
    use crate::unit::account::incident_row;

    fn row(account: &AccountName) -> IncidentRow {
        incident_row(account.as_str(), Kind::VmError, Severity::Critical, Phase::Firing)
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
