//! The answer of `/api/v1/status` as far as the terminal shows it. Written after docs/api.md, not after
//! the server's types: what the two misunderstand, a test that runs both finds.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::Deserialize;

use crate::model::Money;

/// The state of everything, as a daemon told it.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    pub(super) generated_at: DateTime<Utc>,
    pub(super) version: String,
    pub(super) started_at: DateTime<Utc>,
    pub(super) verdict: Verdict,
    pub(super) accounts: Vec<Account>,
    pub(super) incidents: Incidents,
    pub(super) resources: Resources,
    pub(super) mails: Mails,
}

/// How things stand. A word that this version does not know is not known to be fine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    Attention,
    Notice,
    Fine,
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Verdict {
    pub(super) level: Level,
    pub(super) sentence: String,
    pub(super) details: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) currency: String,
    pub(super) time_zone: String,
    pub(super) verdict: Verdict,
    pub(super) billing: Option<Billing>,
    pub(super) collectors: Vec<CollectorRow>,
}

impl Account {
    /// UTC where this binary does not know the zone.
    pub(super) fn zone(&self) -> Tz {
        self.time_zone.parse().unwrap_or(Tz::UTC)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Billing {
    pub(super) read_at: DateTime<Utc>,
    pub(super) balance: Option<Money>,
    pub(super) horizon: Option<DateTime<Utc>>,
    pub(super) disconnect: String,
    pub(super) disconnect_at: Option<DateTime<Utc>>,
    pub(super) disconnect_computed: bool,
    pub(super) pay_by: Option<NaiveDate>,
    pub(super) pay_at_once: bool,
    pub(super) pay: Vec<Pay>,
    pub(super) orders: Vec<OrderRow>,
    pub(super) orders_with_charges: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pay {
    pub(super) days: u32,
    pub(super) amount: Option<Money>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct OrderRow {
    pub(super) id: u64,
    pub(super) comment: Option<String>,
    pub(super) tariff: Option<String>,
    pub(super) per_day: Money,
    pub(super) share_percent: String,
    pub(super) buys_days: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CollectorRow {
    pub(super) collector: String,
    pub(super) success: Option<bool>,
    pub(super) complete: Option<bool>,
    pub(super) last_success: Option<DateTime<Utc>>,
    pub(super) failing_since: Option<DateTime<Utc>>,
    pub(super) error: Option<String>,
}

impl CollectorRow {
    pub(super) fn is_well(&self) -> bool {
        self.success == Some(true) && self.complete == Some(true)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Incidents {
    pub(super) open: Vec<Incident>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Incident {
    pub(super) key: String,
    pub(super) account: String,
    pub(super) severity: String,
    pub(super) state: String,
    pub(super) title: String,
    pub(super) since: DateTime<Utc>,
    pub(super) reason: String,
    pub(super) acknowledged: bool,
    pub(super) silenced_until: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Resources {
    pub(super) total: usize,
    pub(super) states: Vec<StateCount>,
    pub(super) rows: Vec<Resource>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct StateCount {
    pub(super) kind: String,
    pub(super) state: String,
    pub(super) health: String,
    pub(super) count: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Resource {
    pub(super) account: String,
    pub(super) kind: String,
    pub(super) id: u64,
    pub(super) name: Option<String>,
    pub(super) state: String,
    pub(super) health: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mails {
    pub(super) outbox: Option<Outbox>,
    pub(super) last_mail_at: Option<DateTime<Utc>>,
    pub(super) lives_on: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Outbox {
    pub(super) queued: u64,
    pub(super) sending: u64,
    pub(super) sent: u64,
    pub(super) dead: u64,
    pub(super) oldest: Option<DateTime<Utc>>,
}
