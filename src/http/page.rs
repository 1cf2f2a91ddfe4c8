//! The status page: the status as HTML. Everything in it is escaped by the template, but for the chart,
//! which holds only numbers and dates. No script, no style outside of the sheet.

use askama::Template;

use crate::model::Money;
use crate::view::headline::Level;
use crate::view::incidents::IncidentRow;
use crate::view::resources::{Health, ResourceRow, StateCount};
use crate::view::status::{Account, CollectorRow};
use crate::view::{Query, Status, words};

/// The style sheet, served beside the page.
pub(super) const STYLE: &str = include_str!("templates/style.css");

/// The page as HTML.
pub(super) fn render(status: &Status, telemetry_path: &str) -> String {
    let page =
        Page { status, telemetry_path }.render().expect("a template over owned values has no way to fail");
    words::harmless(page)
}

#[derive(Template)]
#[template(path = "http/templates/status.html")]
struct Page<'a> {
    status: &'a Status,
    telemetry_path: &'a str,
}

/// What the template asks for beside plain fields.
impl Page<'_> {
    fn several(&self) -> bool {
        self.status.accounts.len() > 1
    }

    /// The account whose billing is shown in full: the only one, or the one looked at.
    fn chosen(&self) -> Option<&Account> {
        match self.status.accounts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn level(&self, level: &Level) -> &'static str {
        match level {
            Level::Attention => "bad",
            Level::Unknown => "unknown",
            Level::Notice => "notice",
            Level::Fine => "fine",
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

    fn day(&self, account: &Account, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::day(*at, account.zone, self.status.generated_at)
    }

    fn date(&self, account: &Account, date: &chrono::NaiveDate) -> String {
        words::date(*date, account.zone, self.status.generated_at)
    }

    fn moment(&self, account: &Account, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::moment(*at, account.zone, self.status.generated_at)
    }

    /// In the zone of the account that an incident belongs to.
    fn moment_of(&self, row: &IncidentRow, at: &chrono::DateTime<chrono::Utc>) -> String {
        let zone = self.status.accounts.iter().find(|account| account.name == row.account);
        words::moment(*at, zone.map_or(chrono_tz::Tz::UTC, |account| account.zone), self.status.generated_at)
    }

    fn distance(&self, at: &chrono::DateTime<chrono::Utc>) -> String {
        words::distance(*at, self.status.generated_at)
    }

    fn amount(&self, account: &Account, money: &Money) -> String {
        words::amount(*money, &account.currency)
    }

    /// An amount to pay, rounded up to whole units.
    fn to_pay(&self, account: &Account, money: &Money) -> String {
        words::amount(money.ceil_units(), &account.currency)
    }

    /// How much longer the money would last.
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
        let query = &self.status.query;
        link(&Query {
            kind: Some(count.kind.to_owned()),
            state: Some(count.state.clone()),
            page: 1,
            ..query.clone()
        })
    }

    fn is_chosen(&self, count: &StateCount) -> bool {
        let query = &self.status.query;
        query.kind.as_deref() == Some(count.kind) && query.state.as_deref() == Some(&count.state)
    }

    fn is_filtered(&self) -> bool {
        let query = &self.status.query;
        query.kind.is_some() || query.state.is_some() || !query.text.is_empty()
    }

    fn all_link(&self) -> String {
        link(&Query { account: self.status.query.account.clone(), page: 1, ..Query::default() })
    }

    fn page_link(&self, page: usize) -> String {
        link(&Query { page, ..self.status.query.clone() })
    }

    fn account_link(&self, account: &Account) -> String {
        link(&Query { account: Some(account.name.clone()), page: 1, ..Query::default() })
            .replace("#resources", "")
    }

    fn name(&self, row: &ResourceRow) -> String {
        row.name.clone().unwrap_or_else(|| "(no name)".to_owned())
    }

    /// Collectors of every account, those without trouble left out where there are several accounts.
    fn collectors(&self) -> Vec<(&Account, &CollectorRow)> {
        let accounts = self.status.accounts.iter();
        let all = accounts.flat_map(|account| account.collectors.iter().map(move |row| (account, row)));
        all.filter(|(_, row)| !self.several() || row.success != Some(true)).collect()
    }
}

/// The page's own address with this query, at the list of resources.
fn link(query: &Query) -> String {
    let mut pairs = form_urlencoded::Serializer::for_suffix(String::from("/?"), "/?".len());
    let Query { account, kind, state, text, page } = query;
    for (name, value) in [("account", account), ("kind", kind), ("state", state)] {
        if let Some(value) = value {
            pairs.append_pair(name, value);
        }
    }
    if !text.is_empty() {
        pairs.append_pair("q", text);
    }
    if *page > 1 {
        pairs.append_pair("page", &page.to_string());
    }
    pairs.finish() + "#resources"
}
