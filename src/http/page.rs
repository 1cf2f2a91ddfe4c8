//! The status page: the status as HTML. Everything in it is escaped by the template, but for the chart,
//! which holds only numbers and dates. No script, no style outside of the sheet.

use askama::Template;
use chrono::NaiveDate;

use super::query;
use crate::alert::Severity;
use crate::model::forecast::Disconnect;
use crate::model::{AccountName, Money, PayBy, sanitize};
use crate::view::{
    AccountStatus, Billing, CollectorRow, Health, Query, ResourceRow, StateCount, Status, Urgency, words,
};

/// The style sheet, served beside the page.
pub(super) const STYLE: &str = include_str!("templates/style.css");

/// The page as HTML.
pub(super) fn render(status: &Status, query: &Query, telemetry_path: &str) -> String {
    let page = Page { status, query, telemetry_path };
    sanitize::document(page.render().expect("a template over owned values has no way to fail"))
}

#[derive(Template)]
#[template(path = "http/templates/status.html")]
struct Page<'a> {
    status: &'a Status,
    query: &'a Query,
    telemetry_path: &'a str,
}

/// What the template asks for beside plain fields.
impl Page<'_> {
    fn several(&self) -> bool {
        self.status.accounts.len() > 1
    }

    /// The account whose billing is shown in full: the only one, or the one looked at.
    fn chosen(&self) -> Option<&AccountStatus> {
        match self.status.accounts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn level(&self, level: &Urgency) -> &'static str {
        match level {
            Urgency::Attention => "bad",
            Urgency::Unknown => "unknown",
            Urgency::Notice => "notice",
            Urgency::Fine => "fine",
        }
    }

    fn health(&self, health: &Health) -> &'static str {
        match health {
            Health::Bad => "bad",
            Health::Unknown => "unknown",
            Health::Passing | Health::Off => "off",
            Health::Fine => "fine",
        }
    }

    fn severity(&self, severity: &Severity) -> &'static str {
        match severity {
            Severity::Critical => "bad",
            Severity::Warning => "unknown",
            Severity::Info => "off",
        }
    }

    fn day(&self, account: &AccountStatus, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::day(*at, account.zone(), self.status.generated_at)
    }

    fn date(&self, account: &AccountStatus, date: &chrono::NaiveDate) -> String {
        words::date(*date, account.zone(), self.status.generated_at)
    }

    fn moment(&self, account: &AccountStatus, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::moment(*at, account.zone(), self.status.generated_at)
    }

    /// In the zone of this account.
    fn moment_of(&self, account: &AccountName, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::moment(*at, self.status.zone_of(account), self.status.generated_at)
    }

    fn distance(&self, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::distance(*at, self.status.generated_at)
    }

    fn amount(&self, account: &AccountStatus, money: &Money) -> String {
        words::spaced_amount(*money, &account.currency)
    }

    /// An amount to pay, rounded up to whole units.
    fn to_pay(&self, account: &AccountStatus, money: &Money) -> String {
        words::spaced_amount(money.ceil_units(), &account.currency)
    }

    /// How much longer the money would last.
    fn is_computed(&self, billing: &Billing) -> bool {
        matches!(billing.facts.disconnect, Disconnect::At { computed: true, .. })
    }

    fn is_at_once(&self, billing: &Billing) -> bool {
        billing.facts.pay_by.is_some_and(PayBy::is_at_once)
    }

    fn last_day(&self, billing: &Billing) -> Option<NaiveDate> {
        billing.facts.pay_by.and_then(PayBy::date)
    }

    fn days_more(&self, days: &i64) -> String {
        match days {
            0 => "under a day more".to_owned(),
            1 => "1 day more".to_owned(),
            days => format!("{days} days more"),
        }
    }

    fn is_nothing(&self, money: &Money) -> bool {
        *money == Money::ZERO
    }

    /// Every kind and state, with a link that shows only those.
    fn state_link(&self, count: &StateCount) -> String {
        let kind = Some(count.kind.to_string());
        query::link(&Query { kind, state: Some(count.state.clone()), page: 1, ..self.query.clone() })
    }

    fn is_chosen(&self, count: &StateCount) -> bool {
        self.query.kind.as_deref() == Some(count.kind.as_str())
            && self.query.state.as_deref() == Some(&count.state)
    }

    fn is_filtered(&self) -> bool {
        self.query.kind.is_some() || self.query.state.is_some() || !self.query.text.is_empty()
    }

    fn all_link(&self) -> String {
        query::link(&Query { account: self.query.account.clone(), page: 1, ..Query::default() })
    }

    fn page_link(&self, page: usize) -> String {
        query::link(&Query { page, ..self.query.clone() })
    }

    fn account_link(&self, account: &AccountStatus) -> String {
        query::link(&Query { account: Some(account.name.to_string()), page: 1, ..Query::default() })
            .replace("#resources", "")
    }

    fn name(&self, row: &ResourceRow) -> String {
        row.name.clone().unwrap_or_else(|| "(no name)".to_owned())
    }

    /// Collectors of every account, those without trouble left out where there are several accounts.
    fn collectors(&self) -> Vec<(&AccountStatus, &CollectorRow)> {
        let accounts = self.status.accounts.iter();
        let all = accounts.flat_map(|account| account.collectors.iter().map(move |row| (account, row)));
        all.filter(|(_, row)| !self.several() || row.success != Some(true)).collect()
    }
}
