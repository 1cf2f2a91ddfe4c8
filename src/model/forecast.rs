//! What an expected-balance report means: balance now and to come, when the account is cut off, what
//! keeps it up. Pure and exact; the rules are those of the "billing arithmetic" of the contract.

use chrono::{DateTime, Duration, Utc};
use rust_decimal::Decimal;

use super::billing::{Edd, Report};
use super::ids::OrderId;
use super::money::Money;

/// The spans, in days, that metrics and mails speak of.
pub(crate) const SPANS_DAYS: [u32; 3] = [7, 30, 90];

/// When the account is cut off, as far as a report says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Disconnect {
    /// At this moment. `computed`: the report named none, and this is its first moment that leaves
    /// nothing on the account.
    At { at: DateTime<Utc>, computed: bool },
    /// The balance is used up already and no moment is named.
    Now,
    /// None before the report's date, and nothing in the report says otherwise.
    NotExpected,
    /// The report does not say.
    Unknown,
}

impl Disconnect {
    /// The moment, where one is known.
    pub(crate) fn at(self) -> Option<DateTime<Utc>> {
        match self {
            Self::At { at, .. } => Some(at),
            Self::Now | Self::NotExpected | Self::Unknown => None,
        }
    }
}

/// Why a report is no all-clear.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Doubt {
    #[error("the report carries an error")]
    Error,
    #[error("the report names a cut-off date")]
    DateGiven,
    #[error("the report's cut-off date is missing or not a date")]
    DateUnknown,
    #[error("the expected balance is not known to be above 0")]
    ExpectedBalance,
    #[error("the balance is not above 0 after the charge of {0}")]
    Moment(DateTime<Utc>),
    #[error("some charge moments could not be read")]
    MomentsRejected,
    #[error("the balance now is not above 0")]
    BalanceNow,
    #[error("the report ends before the cut-off date known so far")]
    TooShort,
    #[error("a report without a single charge proves nothing yet")]
    NoCharges,
}

/// One charge to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub(crate) struct NextCharge {
    pub at: DateTime<Utc>,
    /// All charges of that moment together.
    pub amount: Money,
}

/// What an order costs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OrderCost {
    pub order: OrderId,
    /// Index into `Report::orders`.
    pub index: u32,
    /// Sum of its charges within the horizon.
    pub charges: Money,
    pub per_day: Money,
    pub per_month: Money,
    /// Part of all charges within the horizon, 0 to 1.
    pub share: Decimal,
}

/// The balance before the first charge to come; without one, the expected balance. Where no charge could be
/// read the expected balance is that of the report's end, and nobody knows today's.
pub(crate) fn balance_now(report: &Report) -> Option<Money> {
    match report.moments.first() {
        Some(first) => Some(first.balance + first.amount),
        None => report.expected_balance.filter(|_| report.moments_rejected == 0),
    }
}

/// Whether nothing is left on the account; `None` where a charge that could not be read may have been the first.
pub(crate) fn is_used_up(report: &Report) -> Option<bool> {
    let balance = balance_now(report).filter(|_| report.moments_rejected == 0)?;
    Some(!balance.is_positive())
}

/// The balance after the last charge within `days` of `now`; `None` past the report's end.
pub(crate) fn balance_in(report: &Report, now: DateTime<Utc>, days: u32) -> Option<Money> {
    let until = within(report, now, days)?;
    balance_after(report, until)
}

/// The least amount that keeps the balance above 0 through every charge within `days` of `now`;
/// `None` past the report's end. Charges that fell due since the report was read count as made.
pub(crate) fn top_up_required(report: &Report, now: DateTime<Utc>, days: u32) -> Option<Money> {
    let until = within(report, now, days)?;
    let (made, count) = (report.moments.until(now), report.moments.until(until));
    let ahead = report.moments.iter_from(made).take(count - made);
    let lowest = ahead.map(|moment| moment.balance).min();
    let lowest = lowest.or_else(|| balance_after(report, now))?;
    Some((Money::SMALLEST - lowest).max(Money::ZERO))
}

/// What the two above and the next charge depend on at `now`, beside the report: equal values, equal amounts.
pub(crate) fn due_counts(report: &Report, now: DateTime<Utc>) -> (usize, usize, [Option<usize>; 3]) {
    let spans = SPANS_DAYS.map(|days| within(report, now, days).map(|until| report.moments.until(until)));
    (report.moments.before(now), report.moments.until(now), spans)
}

/// When the account is cut off (contract section 6: a null date beside a moment that is not positive
/// is answered by that moment).
pub(crate) fn disconnect(report: &Report) -> Disconnect {
    if let Edd::At(at) = report.edd {
        return Disconnect::At { at, computed: false };
    }
    if let Some(at) = first_unpaid(report) {
        return Disconnect::At { at, computed: true };
    }
    match (is_used_up(report), report.edd) {
        (Some(true), _) => Disconnect::Now,
        (_, Edd::Null) if all_clear(report, None).is_ok() => Disconnect::NotExpected,
        _ => Disconnect::Unknown,
    }
}

/// The first moment that leaves nothing on the account.
pub(crate) fn first_unpaid(report: &Report) -> Option<DateTime<Utc>> {
    report.moments.iter().find(|moment| !moment.is_positive()).map(|moment| moment.at)
}

/// Whether a report shows that no disconnect is ahead. `known` is the date known so far, which the
/// report has to reach.
pub(crate) fn all_clear(report: &Report, known: Option<DateTime<Utc>>) -> Result<(), Doubt> {
    if report.error.is_some() {
        return Err(Doubt::Error);
    }
    match report.edd {
        Edd::At(_) => return Err(Doubt::DateGiven),
        Edd::Unknown => return Err(Doubt::DateUnknown),
        Edd::Null => {}
    }
    if !report.expected_balance.is_some_and(Money::is_positive) {
        return Err(Doubt::ExpectedBalance);
    }
    if let Some(at) = first_unpaid(report) {
        return Err(Doubt::Moment(at));
    }
    if report.moments_rejected > 0 {
        return Err(Doubt::MomentsRejected);
    }
    if balance_now(report).is_some_and(|balance| !balance.is_positive()) {
        return Err(Doubt::BalanceNow);
    }
    if let Some(known) = known
        && report.date.is_none_or(|date| date < known)
    {
        return Err(Doubt::TooShort);
    }
    Ok(())
}

/// Reports without a charge are good news once they have been the only ones for so long.
pub(crate) const BARE: Duration = Duration::hours(24);

/// It has no charge at all, or none of anything.
pub(crate) fn is_bare(report: &Report) -> bool {
    report.moments_rejected == 0 && !report.moments.iter().any(|moment| moment.amount.is_positive())
}

/// The same as [`disconnect`] where a date may be known from before. One that cannot be read does not take it back, nor
/// does a null one beside no charge while such reports are new (`is_new_bare`): their balance may be that of the
/// report's end, which is used up wherever a date is ahead.
pub(crate) fn disconnect_after(
    report: &Report,
    known: Option<DateTime<Utc>>,
    is_new_bare: bool,
) -> Disconnect {
    let seen = disconnect(report);
    let is_doubtful = report.edd == Edd::Unknown || is_new_bare;
    if seen == Disconnect::Now && is_doubtful && known.is_some() { Disconnect::Unknown } else { seen }
}

/// Why a report that takes a known cut-off back does so without a proof. One without a charge is none while it is new.
pub(crate) fn proves_nothing(report: &Report, known: Disconnect, is_new_bare: bool) -> Option<Doubt> {
    let date = match known {
        Disconnect::At { at, .. } => Some(at),
        Disconnect::Now => None,
        Disconnect::NotExpected | Disconnect::Unknown => return None,
    };
    let seen = disconnect_after(report, date, is_new_bare);
    let takes_back = matches!(seen, Disconnect::NotExpected | Disconnect::Unknown);
    let proof = if is_new_bare { Err(Doubt::NoCharges) } else { all_clear(report, date) };
    proof.err().filter(|_| takes_back)
}

/// The next charge after `from`, with all that falls on the same moment.
pub(crate) fn next_charge(report: &Report, from: DateTime<Utc>) -> Option<NextCharge> {
    let start = report.moments.before(from);
    let at = report.moments.get(start)?.at;
    let same = report.moments.iter_from(start).take_while(|moment| moment.at == at);
    Some(NextCharge { at, amount: same.map(|moment| moment.amount).sum() })
}

/// Every order, the dearest first.
pub(crate) fn order_costs(report: &Report, from: DateTime<Utc>) -> Vec<OrderCost> {
    let mut sums = vec![Money::ZERO; report.orders.len()];
    for moment in report.moments.iter() {
        if let Some(sum) = moment.order.and_then(|index| sums.get_mut(index as usize)) {
            *sum += moment.amount;
        }
    }
    let total: Money = sums.iter().copied().sum();
    let days = Decimal::from(horizon_days(report, from).max(1));
    let mut costs: Vec<OrderCost> = (0u32..)
        .zip(report.orders.iter().zip(sums))
        .map(|(index, (order, charges))| OrderCost {
            order: order.id,
            index,
            charges,
            per_day: charges.over(days).unwrap_or(Money::ZERO),
            per_month: charges.times(Decimal::from(30)).over(days).unwrap_or(Money::ZERO),
            share: charges.over(total.decimal()).map_or(Decimal::ZERO, Money::decimal),
        })
        .collect();
    costs.sort_by(|a, b| b.charges.cmp(&a.charges).then(a.order.cmp(&b.order)));
    costs
}

/// By how many days the disconnect moves back without each of these orders (indexes into `Report::orders`), never
/// less than 0; `None` where none is expected, or it would go past the report's end.
pub(crate) fn days_bought(report: &Report, orders: &[u32]) -> Vec<Option<i64>> {
    let Some(at) = disconnect(report).at() else { return vec![None; orders.len()] };
    let unpaid = first_unpaid_without(report, orders).into_iter();
    unpaid.map(|later| later.map(|later| (later - at).num_days().max(0))).collect()
}

/// All charges within the horizon, a day.
pub(crate) fn cost_per_day(report: &Report, from: DateTime<Utc>) -> Option<Money> {
    let total: Money = report.moments.iter().map(|moment| moment.amount).sum();
    total.over(Decimal::from(horizon_days(report, from).max(1)))
}

/// When the balance is used up by the charges, where that is more than a day from the report's own date.
pub(crate) fn date_by_charges(report: &Report) -> Option<DateTime<Utc>> {
    let Edd::At(reported) = report.edd else { return None };
    first_unpaid(report).filter(|&computed| (reported - computed).abs() > Duration::days(1))
}

/// How far the report reaches.
pub(crate) fn end(report: &Report) -> Option<DateTime<Utc>> {
    report.date.or_else(|| report.moments.last().map(|moment| moment.at))
}

/// The first moment whose balance is not the one before less its amount, if there is one.
pub(crate) fn does_not_add_up(report: &Report) -> Option<DateTime<Utc>> {
    let pairs = report.moments.iter().zip(report.moments.iter_from(1));
    let broken = pairs.filter(|(before, moment)| before.balance - moment.amount != moment.balance);
    let broken = broken.map(|(_, moment)| moment.at).next();
    broken.or_else(|| {
        let last = report.moments.last()?;
        let expected = report.expected_balance?;
        (expected != last.balance).then_some(last.at)
    })
}

/// The balance that a report foresaw for `at`; `None` outside of what it covers.
pub(crate) fn foreseen_balance(report: &Report, at: DateTime<Utc>) -> Option<Money> {
    if report.date.is_some_and(|date| date < at) {
        return None;
    }
    balance_after(report, at)
}

/// After the last charge up to `at`.
fn balance_after(report: &Report, at: DateTime<Utc>) -> Option<Money> {
    match report.moments.until(at).checked_sub(1) {
        Some(last) => report.moments.get(last).map(|moment| moment.balance),
        None => balance_now(report),
    }
}

fn within(report: &Report, from: DateTime<Utc>, days: u32) -> Option<DateTime<Utc>> {
    let until = from.checked_add_signed(Duration::days(i64::from(days)))?;
    (until <= end(report)?).then_some(until)
}

fn horizon_days(report: &Report, from: DateTime<Utc>) -> i64 {
    end(report).map_or(0, |end| ((end - from).num_hours() + 12) / 24)
}

/// The first moment that leaves nothing on the account without each of these orders, in one walk over the report.
pub(crate) fn first_unpaid_without(report: &Report, orders: &[u32]) -> Vec<Option<DateTime<Utc>>> {
    let mut found = vec![None; orders.len()];
    let mut open: Vec<(usize, u32, Money)> =
        orders.iter().enumerate().map(|(place, &order)| (place, order, Money::ZERO)).collect();
    for moment in report.moments.iter() {
        open.retain_mut(|(place, order, saved)| {
            if moment.order == Some(*order) {
                *saved += moment.amount;
            }
            let lasts = (moment.balance + *saved).is_positive();
            if !lasts {
                found[*place] = Some(moment.at);
            }
            lasts
        });
        if open.is_empty() {
            break;
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests;
