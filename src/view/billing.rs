//! Facts of billing, made once for page, JSON, terminal and mails: the balance, the cut-off, by when to pay, which
//! orders cost most. Pure; lays out nothing.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::chart::Chart;
use super::incidents::{self, IncidentRow};
use crate::model::forecast::{self, Disconnect, Doubt, SPANS_DAYS};
use crate::model::{AccountState, LastReport, Money, Order, OrderId, PayBy, Report, sanitize};

/// The orders that are listed.
const TOP_ORDERS: usize = 20;
/// The span of the one amount that a sentence has room for.
const SUBJECT_DAYS: u32 = 30;

/// What an expected-balance report says. Amounts are exact decimals as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Billing {
    pub read_at: DateTime<Utc>,
    #[serde(flatten)]
    pub facts: BillingFacts,
    pub pay: Vec<Pay>,
    #[serde(flatten)]
    pub orders: Orders,
    #[serde(skip)]
    pub(crate) chart: Option<Chart>,
}

/// The balance, and when the account is cut off.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct BillingFacts {
    pub balance: Option<Money>,
    pub expected_balance: Option<Money>,
    pub horizon: Option<DateTime<Utc>>,
    #[serde(flatten, with = "DisconnectJson")]
    pub disconnect: Disconnect,
    #[serde(flatten, with = "PayByJson")]
    pub pay_by: Option<PayBy>,
}

/// What keeps the account up for so many days; 0 where it is paid for already.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Pay {
    pub days: u32,
    pub amount: Option<Money>,
}

/// The same with the balance at the end of that time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Due {
    pub days: u32,
    /// If nobody pays.
    pub balance: Option<Money>,
    pub amount: Option<Money>,
}

/// What one sentence says to pay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToPay {
    /// For so many days.
    Amount(Money, u32),
    /// Nothing for so many days, which a sentence speaks of; more for the first span that is not paid for.
    Later {
        free: u32,
        amount: Money,
        days: u32,
    },
    /// By its report nothing is to be paid yet.
    Nothing,
    NotKnown,
}

/// What the orders with charges ahead cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The dearest, at most 20 of them.
    #[serde(rename = "orders")]
    pub dearest: Vec<OrderRow>,
    pub orders_with_charges: usize,
    /// What all of them cost.
    #[serde(skip)]
    pub per_day: Money,
}

/// The last report known of an account, as the daemon hands it to commands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LastReading {
    pub report: LastReport,
    #[serde(flatten)]
    pub orders: Orders,
    /// Of an open incident.
    #[serde(default)]
    pub cut_off: Option<KnownCutOff>,
}

/// A cut-off that people were mailed of.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct KnownCutOff(#[serde(with = "DisconnectJson")] pub Disconnect);

/// One order and what it costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OrderRow {
    pub id: u64,
    pub comment: Option<String>,
    pub tariff: Option<String>,
    pub state: String,
    pub per_day: Money,
    pub per_month: Money,
    /// Of all charges within the report's span.
    #[serde(serialize_with = "tenths")]
    pub share_percent: Decimal,
    /// By how many days the disconnect moves back without it; `None` where none is ahead, or it
    /// would go past the report's end.
    pub buys_days: Option<i64>,
}

impl Billing {
    pub(super) fn new(
        report: &Report,
        read_at: DateTime<Utc>,
        known: Option<Disconnect>,
        zone: Tz,
        lead_days: u32,
        now: DateTime<Utc>,
    ) -> Self {
        let facts = BillingFacts::of(report, zone, lead_days, now).knowing(known, zone, lead_days, now);
        let due = Due::of(report, now).into_iter();
        Self {
            read_at,
            facts,
            pay: due.map(|due| Pay { days: due.days, amount: due.amount }).collect(),
            orders: Orders::of(report, read_at),
            chart: Chart::new(report, read_at, facts.disconnect.at(), lead_days, zone),
        }
    }

    /// What to pay to stay up for so many days.
    pub(crate) fn to_pay(&self, days: u32) -> Option<Money> {
        self.pay.iter().find(|pay| pay.days == days)?.amount
    }
}

impl LastReading {
    /// Why a report that the provider gives now says nothing against this one.
    pub(crate) fn doubts(&self, report: &Report) -> Option<Doubt> {
        let last = self.report.report();
        let known = self.cut_off.map_or_else(|| forecast::disconnect(&last), |known| known.0);
        let is_new_bare = forecast::is_bare(report) && !forecast::is_bare(&last);
        forecast::proves_nothing(report, known, is_new_bare)
    }

    /// `None` where none was ever read.
    pub(crate) fn of<'a>(
        state: &AccountState,
        incidents: impl IntoIterator<Item = &'a IncidentRow>,
    ) -> Option<Self> {
        let (report, read_at) = state.billing.last_known()?;
        let known = incidents::disconnect_of(&state.profile.name, incidents).and_then(|row| row.cut_off);
        Some(Self {
            report: LastReport::of(report, read_at),
            orders: Orders::of(report, read_at),
            cut_off: known.map(KnownCutOff),
        })
    }
}

impl BillingFacts {
    pub(crate) fn of(report: &Report, zone: Tz, lead_days: u32, now: DateTime<Utc>) -> Self {
        let disconnect = forecast::disconnect(report);
        Self {
            balance: forecast::balance_now(report),
            expected_balance: report.expected_balance,
            horizon: report.date,
            disconnect,
            pay_by: PayBy::of(disconnect, lead_days, zone, now),
        }
    }

    /// Knowing of the cut-off that people were mailed of: one that is past stays until something is on the account. The date
    /// that a report names then may be that of the next charge.
    pub(crate) fn knowing(
        self,
        known: Option<Disconnect>,
        zone: Tz,
        lead_days: u32,
        now: DateTime<Utc>,
    ) -> Self {
        let is_past =
            |known: &Disconnect| *known == Disconnect::Now || known.at().is_some_and(|at| at <= now);
        let is_paid = self.balance.is_some_and(|balance| balance.is_positive());
        let Some(disconnect) = known.filter(is_past).filter(|_| !is_paid) else { return self };
        Self { disconnect, pay_by: PayBy::of(disconnect, lead_days, zone, now), ..self }
    }

    /// A cut-off is to come: an order less may move it.
    pub(crate) fn is_cut_off_ahead(&self, now: DateTime<Utc>) -> bool {
        self.disconnect.at().is_some_and(|at| at > now)
    }
}

impl Due {
    /// For each span that is spoken of, counted from `now`: charges that fell due since the report count as made.
    pub(crate) fn of(report: &Report, now: DateTime<Utc>) -> [Self; 3] {
        SPANS_DAYS.map(|days| Self {
            days,
            balance: forecast::balance_in(report, now, days),
            amount: forecast::top_up_required(report, now, days),
        })
    }

    /// The first span for which something is to be paid, and how much.
    pub(crate) fn first(spans: &[Self]) -> Option<(u32, Money)> {
        spans.iter().find_map(|due| Some((due.days, due.amount.filter(|amount| amount.is_positive())?)))
    }
}

impl ToPay {
    /// For thirty days, or as many as the report reaches.
    pub(crate) fn of(report: Option<&Report>, now: DateTime<Utc>) -> Self {
        let Some(report) = report else { return Self::NotKnown };
        let spans = Due::of(report, now);
        let mut up_to_month = spans.iter().rev().filter(|due| due.days <= SUBJECT_DAYS);
        let month = up_to_month.find_map(|due| Some((due.days, due.amount?)));
        match (month, Due::first(&spans)) {
            (Some((days, amount)), _) if amount.is_positive() => Self::Amount(amount, days),
            (Some((free, _)), Some((days, amount))) => Self::Later { free, amount, days },
            (Some(_), None) => Self::Nothing,
            (None, _) => Self::NotKnown,
        }
    }
}

impl Orders {
    pub(crate) fn of(report: &Report, from: DateTime<Utc>) -> Self {
        let mut costs = forecast::order_costs(report, from);
        costs.retain(|cost| cost.charges.is_positive());
        let dearest: Vec<_> = costs.iter().take(TOP_ORDERS).collect();
        let indexes: Vec<u32> = dearest.iter().map(|cost| cost.index).collect();
        // An account that is off already is not switched on again by an order less.
        let is_ahead = forecast::disconnect(report).at().is_some_and(|at| at > from);
        let bought =
            if is_ahead { forecast::days_bought(report, &indexes) } else { vec![None; indexes.len()] };
        let rows = dearest.into_iter().zip(bought).filter_map(|(cost, buys_days)| {
            let order = report.orders.get(cost.index as usize)?;
            Some(OrderRow {
                id: order.id.get(),
                comment: order.comment.as_deref().map(Into::into),
                tariff: tariff(order).map(Into::into),
                state: order.state.to_string(),
                per_day: cost.per_day.rounded(),
                per_month: cost.per_month.rounded(),
                share_percent: cost.share * Decimal::ONE_HUNDRED,
                buys_days,
            })
        });
        Self {
            dearest: rows.collect(),
            orders_with_charges: costs.len(),
            per_day: costs.iter().map(|cost| cost.per_day).sum(),
        }
    }
}

impl OrderRow {
    /// `shop, VPS-2 (order 71)`.
    pub(crate) fn words(&self) -> String {
        order_words(self.comment.as_deref(), self.tariff.as_deref(), self.id)
    }
}

/// The same of an order of a report, by its number alone where the report does not have it.
pub(crate) fn order_of(report: &Report, id: OrderId) -> String {
    let order = report.orders.iter().find(|order| order.id == id);
    order_words(
        order.and_then(|order| order.comment.as_deref()),
        order.and_then(|order| tariff(order)),
        id.get(),
    )
}

/// What the customer calls it, its tariff, its number; nothing twice.
fn order_words(comment: Option<&str>, tariff: Option<&str>, id: u64) -> String {
    let number = format!("order {id}");
    let mut names: Vec<String> = Vec::new();
    for text in [comment, tariff].into_iter().flatten() {
        let name = sanitize::one_line(text, 40);
        let says_number = name.eq_ignore_ascii_case(&number) || name == id.to_string();
        if !name.is_empty() && !says_number && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { number } else { format!("{} ({number})", names.join(", ")) }
}

fn tariff(order: &Order) -> Option<&str> {
    let tariff = order.tariff.as_ref()?;
    tariff.name.as_deref().or(tariff.short_name.as_deref())
}

fn tenths<S: Serializer>(share: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{share:.1}"))
}

/// A disconnect as JSON has it.
#[derive(Serialize, Deserialize)]
struct DisconnectJson {
    disconnect: DisconnectKind,
    disconnect_at: Option<DateTime<Utc>>,
    /// The date is recomputed from the charges; the report names none.
    disconnect_computed: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DisconnectKind {
    At,
    Now,
    NotExpected,
    Unknown,
}

impl DisconnectJson {
    fn serialize<S: Serializer>(disconnect: &Disconnect, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, disconnect_computed) = match *disconnect {
            Disconnect::At { computed, .. } => (DisconnectKind::At, computed),
            Disconnect::Now => (DisconnectKind::Now, false),
            Disconnect::NotExpected => (DisconnectKind::NotExpected, false),
            Disconnect::Unknown => (DisconnectKind::Unknown, false),
        };
        let shown = Self { disconnect: kind, disconnect_at: disconnect.at(), disconnect_computed };
        Serialize::serialize(&shown, serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Disconnect, D::Error> {
        let shown: Self = Deserialize::deserialize(deserializer)?;
        Ok(match shown.disconnect {
            DisconnectKind::At => Disconnect::At {
                at: shown.disconnect_at.ok_or_else(|| D::Error::missing_field("disconnect_at"))?,
                computed: shown.disconnect_computed,
            },
            DisconnectKind::Now => Disconnect::Now,
            DisconnectKind::NotExpected => Disconnect::NotExpected,
            DisconnectKind::Unknown => Disconnect::Unknown,
        })
    }
}

/// A day to pay by as JSON has it.
#[derive(Serialize, Deserialize)]
struct PayByJson {
    /// The last day, in the account's zone, on which a payment still arrives in time.
    pay_by: Option<NaiveDate>,
    /// That day is over.
    pay_at_once: bool,
}

impl PayByJson {
    fn serialize<S: Serializer>(by: &Option<PayBy>, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = Self { pay_by: by.and_then(PayBy::date), pay_at_once: by.is_some_and(PayBy::is_at_once) };
        Serialize::serialize(&shown, serializer)
    }

    /// Whether that day is today JSON does not say; it comes back as any other day ahead.
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PayBy>, D::Error> {
        let shown: Self = Deserialize::deserialize(deserializer)?;
        Ok(match (shown.pay_by, shown.pay_at_once) {
            (Some(day), true) => Some(PayBy::Missed(day)),
            (Some(day), false) => Some(PayBy::On(day)),
            (None, true) => Some(PayBy::Now),
            (None, false) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};

    /// A report of 7 orders; the last one's only charges come after the cut-off, and one has none.
    fn several() -> Report {
        let mut report = report("95", "10", 90, Edd::At(t("2026-04-20T11:00:00")));
        let order = report.orders[0].clone();
        report.orders = (1..=8)
            .map(|id| std::sync::Arc::new(Order { id: OrderId::new(id), ..(*order).clone() }))
            .collect();
        let mut moments: Vec<_> = report.moments.iter().collect();
        for (place, moment) in (0_u32..).zip(&mut moments) {
            moment.order = Some(place % 7);
        }
        report.moments = moments.into_iter().collect();
        report
    }

    #[test]
    fn every_listed_order_with_charges_says_what_it_buys_and_never_less_than_nothing() {
        let orders = Orders::of(&several(), t("2026-03-01T12:00:00"));
        assert_eq!((orders.dearest.len(), orders.orders_with_charges), (7, 7));
        let bought: Vec<_> = orders.dearest.iter().map(|order| order.buys_days).collect();
        assert!(
            bought.iter().all(|days| *days == Some(0)),
            "its own date is later than the charges': {bought:?}"
        );
    }

    #[test]
    fn of_an_account_that_is_off_no_order_buys_a_day() {
        let report = report("-5", "10", 90, Edd::At(t("2026-02-25T11:00:00")));
        let (read_at, before) = (t("2026-03-01T12:00:00"), t("2026-02-20T12:00:00"));
        let buys = |from| Orders::of(&report, from).dearest.iter().any(|order| order.buys_days.is_some());
        assert_eq!((buys(before), buys(read_at)), (true, false));
        let ahead = |now| BillingFacts::of(&report, Tz::UTC, 3, now).is_cut_off_ahead(now);
        assert_eq!((ahead(before), ahead(read_at)), (true, false));
    }

    #[test]
    fn an_order_is_named_once_by_all_that_is_known_of_it() {
        for (comment, tariff, want) in [
            (Some("shop"), Some("VPS-2"), "shop, VPS-2 (order 71)"),
            (Some("VPS-2"), Some("VPS-2"), "VPS-2 (order 71)"),
            (Some("order 71"), Some("VPS-2"), "VPS-2 (order 71)"),
            (Some("71"), None, "order 71"),
            (None, None, "order 71"),
        ] {
            assert_eq!(order_words(comment, tariff, 71), want);
        }
    }

    #[test]
    fn json_comes_back_as_it_was() {
        let report = several();
        let now = t("2026-03-01T12:00:00");
        let billing = Billing::new(&report, now, None, Tz::UTC, 3, now);
        let json = serde_json::to_value(&billing).unwrap();
        assert_eq!((&json["disconnect"], &json["pay_by"]), (&"at".into(), &"2026-04-17".into()));
        let back: Billing = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(
            (back.facts.disconnect, back.facts.pay_by),
            (billing.facts.disconnect, billing.facts.pay_by)
        );
        assert_eq!(serde_json::to_value(&back).unwrap(), json);
    }
}
