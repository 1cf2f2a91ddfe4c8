//! The state of everything as one value: what the page shows and `/api/v1/status` answers with
//! (docs/api.md). Pure: snapshot, incidents, query and time in, a value out.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::Serialize;

use super::headline::{self, Verdict};
use super::incidents::{IncidentRow, OutboxSummary, Watch};
use super::resources::Resources;
use crate::chart::Chart;
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountState, Collector, Money, PayBy, Report, Snapshot};

/// The orders that are listed.
const TOP_ORDERS: usize = 20;
/// The closed incidents that are listed.
const RECENT: usize = 20;
/// The spans, in days, for which it is said what to pay.
const PAY_SPANS: [u32; 2] = [30, 90];

/// What to show of the resources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    pub account: Option<String>,
    pub kind: Option<String>,
    pub state: Option<String>,
    /// Part of a name, or an id.
    pub text: String,
    /// From 1; what is past the end is the last one.
    pub page: usize,
}

impl Query {
    /// Reads `account=…&kind=…&state=…&q=…&page=…`; all of it may be left out.
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self { page: 1, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim();
            let some = (!value.is_empty()).then(|| value.to_owned());
            match name.as_ref() {
                "account" => parsed.account = some,
                "kind" => parsed.kind = some,
                "state" => parsed.state = some,
                "q" => parsed.text = value.to_owned(),
                "page" => parsed.page = value.parse().unwrap_or(1),
                _ => {}
            }
        }
        parsed
    }
}

/// Which daemon tells it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub version: &'static str,
    pub commit: &'static str,
    pub started_at: DateTime<Utc>,
    /// How long a payment takes to arrive, in days.
    pub lead_days: u32,
}

/// The state of everything.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    pub generated_at: DateTime<Utc>,
    pub version: &'static str,
    pub commit: &'static str,
    pub started_at: DateTime<Utc>,
    pub verdict: Verdict,
    /// The most urgent first.
    pub accounts: Vec<Account>,
    pub incidents: Incidents,
    pub resources: Resources,
    pub mails: Mails,
    #[serde(skip)]
    pub(crate) query: Query,
}

/// One account.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    pub name: String,
    pub currency: String,
    pub time_zone: &'static str,
    pub resources: usize,
    pub verdict: Verdict,
    /// Absent where billing is off or was never read.
    pub billing: Option<Billing>,
    pub collectors: Vec<CollectorRow>,
    #[serde(skip)]
    pub(crate) zone: Tz,
}

/// What an expected-balance report says. Amounts are exact decimals as text.
#[derive(Clone, Debug, Serialize)]
pub struct Billing {
    pub read_at: DateTime<Utc>,
    pub balance: Option<Money>,
    pub expected_balance: Option<Money>,
    pub horizon: Option<DateTime<Utc>>,
    /// `at`, `now`, `not_expected` or `unknown`.
    pub disconnect: &'static str,
    pub disconnect_at: Option<DateTime<Utc>>,
    /// The date is recomputed from the charges; the report names none.
    pub disconnect_computed: bool,
    /// The last day, in the account's zone, on which a payment still arrives in time.
    pub pay_by: Option<NaiveDate>,
    /// That day is over.
    pub pay_at_once: bool,
    pub pay: Vec<Pay>,
    /// The dearest, at most 20 of them.
    pub orders: Vec<OrderRow>,
    pub orders_with_charges: usize,
    #[serde(skip)]
    pub(crate) chart: Option<String>,
}

/// What keeps the account up for so many days; 0 where it is paid for already.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pay {
    pub days: u32,
    pub amount: Option<Money>,
}

/// One order and what it costs.
#[derive(Clone, Debug, Serialize)]
pub struct OrderRow {
    pub id: u64,
    pub comment: Option<String>,
    pub tariff: Option<String>,
    pub state: String,
    pub per_day: Money,
    pub per_month: Money,
    /// Of all charges within the report's span.
    pub share_percent: String,
    pub buys_days: Option<i64>,
}

/// How a collector's polls go.
#[derive(Clone, Debug, Serialize)]
pub struct CollectorRow {
    pub collector: &'static str,
    pub polls: u64,
    /// Absent before the first poll ended.
    pub success: Option<bool>,
    pub complete: Option<bool>,
    pub last_success: Option<DateTime<Utc>>,
    pub failing_since: Option<DateTime<Utc>>,
    pub error: Option<String>,
}

/// Incidents that are open, and those that closed lately.
#[derive(Clone, Debug, Serialize)]
pub struct Incidents {
    pub open: Vec<IncidentRow>,
    pub recent: Vec<IncidentRow>,
}

/// What became of mails.
#[derive(Clone, Debug, Serialize)]
pub struct Mails {
    /// Absent: mails are not configured.
    pub outbox: Option<OutboxSummary>,
    pub last_mail_at: Option<DateTime<Utc>>,
    /// The watched VM that the daemon itself runs on, in words; it goes dark with it.
    pub lives_on: Option<String>,
}

impl Status {
    pub fn new(snapshot: &Snapshot, watch: &Watch, about: &About, query: &Query, now: DateTime<Utc>) -> Self {
        let chosen = |name: &str| query.account.as_deref().is_none_or(|wanted| wanted == name);
        let states: Vec<&AccountState> = snapshot.accounts.values().map(|account| &**account).collect();
        let rows: Vec<&IncidentRow> = watch.incidents.iter().collect();
        let mut accounts: Vec<Account> = states
            .iter()
            .filter(|state| chosen(state.profile.name.as_str()))
            .map(|state| account(state, &rows, about.lead_days, now))
            .collect();
        accounts.sort_by(|a, b| a.urgency().cmp(&b.urgency()));
        let shown = states.iter().copied().filter(|state| chosen(state.profile.name.as_str()));
        let resources = Resources::select(shown, query);
        Self {
            generated_at: now,
            version: about.version,
            commit: about.commit,
            started_at: about.started_at,
            // Of all accounts, whichever is looked at.
            verdict: headline::judge(&states, &rows, about.lead_days, now),
            accounts,
            incidents: incidents(watch, chosen),
            resources,
            mails: Mails {
                outbox: watch.mails.then_some(watch.outbox),
                last_mail_at: watch.last_mail_at,
                lives_on: watch.lives_on.clone(),
            },
            query: query.clone(),
        }
    }
}

impl Account {
    fn urgency(&self) -> impl Ord + use<'_> {
        let cut_off = self.billing.as_ref().and_then(|billing| billing.disconnect_at);
        (self.verdict.level, cut_off.is_none(), cut_off, &self.name)
    }
}

fn account(state: &AccountState, incidents: &[&IncidentRow], lead_days: u32, now: DateTime<Utc>) -> Account {
    let profile = &state.profile;
    let own: Vec<&IncidentRow> =
        incidents.iter().copied().filter(|row| row.account == profile.name.as_str()).collect();
    let billing = state.billing.report.as_deref().zip(state.billing.read_at);
    Account {
        name: profile.name.to_string(),
        currency: profile.currency.clone(),
        time_zone: profile.zone().name(),
        resources: state.resource_count(),
        verdict: headline::judge(&[state], &own, lead_days, now),
        billing: billing
            .map(|(report, read_at)| self::billing(report, read_at, profile.zone(), lead_days, now)),
        collectors: profile.collectors.iter().map(|&collector| row(state, collector)).collect(),
        zone: profile.zone(),
    }
}

fn billing(report: &Report, read_at: DateTime<Utc>, zone: Tz, lead_days: u32, now: DateTime<Utc>) -> Billing {
    let (disconnect, at, computed) = match forecast::disconnect(report) {
        Disconnect::At { at, computed } => ("at", Some(at), computed),
        Disconnect::Now => ("now", None, false),
        Disconnect::NotExpected => ("not_expected", None, false),
        Disconnect::Unknown => ("unknown", None, false),
    };
    let pay_by = PayBy::of(forecast::disconnect(report), lead_days, zone, now);
    let costs = forecast::order_costs(report, read_at);
    let chart = Chart { report, from: read_at, today: now, disconnect: at, lead_days, zone };
    Billing {
        read_at,
        balance: forecast::balance_now(report),
        expected_balance: report.expected_balance,
        horizon: report.date,
        disconnect,
        disconnect_at: at,
        disconnect_computed: computed,
        pay_by: pay_by.and_then(PayBy::date),
        pay_at_once: pay_by.is_some_and(PayBy::is_at_once),
        pay: PAY_SPANS
            .map(|days| Pay { days, amount: forecast::top_up_required(report, read_at, days) })
            .into(),
        orders: costs.iter().take(TOP_ORDERS).filter_map(|cost| order(report, cost)).collect(),
        orders_with_charges: costs.iter().filter(|cost| cost.charges != Money::ZERO).count(),
        chart: chart.svg(),
    }
}

fn order(report: &Report, cost: &forecast::OrderCost) -> Option<OrderRow> {
    let order = report.orders.get(cost.index as usize)?;
    let tariff = order.tariff.as_ref();
    let tariff = tariff.and_then(|tariff| tariff.name.as_deref().or(tariff.short_name.as_deref()));
    Some(OrderRow {
        id: order.id.get(),
        comment: order.comment.as_deref().map(Into::into),
        tariff: tariff.map(Into::into),
        state: order.state.to_string(),
        per_day: cost.per_day.rounded(),
        per_month: cost.per_month.rounded(),
        share_percent: format!("{:.1}", cost.share * rust_decimal::Decimal::ONE_HUNDRED),
        buys_days: cost.buys_days,
    })
}

fn row(state: &AccountState, collector: Collector) -> CollectorRow {
    let status = state.collectors.get(&collector).cloned().unwrap_or_default();
    let polled = status.polls > 0;
    CollectorRow {
        collector: collector.as_str(),
        polls: status.polls,
        success: polled.then_some(status.success),
        complete: polled.then_some(status.complete),
        last_success: status.last_success,
        failing_since: status.failing_since,
        error: status.failure.map(|failure| failure.message),
    }
}

fn incidents(watch: &Watch, chosen: impl Fn(&str) -> bool) -> Incidents {
    let rows = watch.incidents.iter().filter(|row| chosen(&row.account));
    let (mut recent, mut open): (Vec<_>, Vec<_>) = rows.cloned().partition(|row| row.state == "resolved");
    let rank = |severity: &str| ["critical", "warning", "info"].iter().position(|known| *known == severity);
    open.sort_by_key(|row| (row.is_looked_after(), rank(&row.severity).unwrap_or(3), row.since));
    recent.sort_by_key(|row| std::cmp::Reverse(row.resolved_at.unwrap_or(row.last_change)));
    recent.truncate(RECENT);
    Incidents { open, recent }
}
