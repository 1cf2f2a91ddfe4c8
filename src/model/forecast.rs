//! The conclusions from an expected-balance report: the balance now and later, the cut-off, and the amounts
//! that prevent it. Pure and exact; the rules are the "billing arithmetic" of the contract.

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::billing::{Edd, Report};
use super::ids::OrderId;
use super::money::Money;

/// A charge may be made this much later than foreseen.
const LATE_CHARGE: Duration = Duration::hours(1);
/// Cut-offs that differ by less are the same.
const SAME_DATE: Duration = Duration::hours(12);
/// The spans, in days, of metrics and mails.
pub(crate) const SPANS_DAYS: [u32; 3] = [7, 30, 90];

/// The cut-off by a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(into = "DisconnectJson", tag = "disconnect", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Disconnect {
    /// At this moment. `computed`: the report named no date, and this is its first moment that uses the balance
    /// up.
    At {
        #[serde(rename = "disconnect_at")]
        at: DateTime<Utc>,
        #[serde(rename = "disconnect_computed")]
        computed: bool,
    },
    /// The balance is used up already and no moment is named.
    Now,
    /// There is none before the report's date, and nothing in the report contradicts that.
    NotExpected,
    /// The report does not tell.
    Unknown,
}

impl Disconnect {
    /// The moment, if it is known.
    pub(crate) fn at(self) -> Option<DateTime<Utc>> {
        match self {
            Self::At { at, .. } => Some(at),
            Self::Now | Self::NotExpected | Self::Unknown => None,
        }
    }

    /// Whether the account is cut off, or will be.
    pub(crate) fn is_cut_off(self) -> bool {
        matches!(self, Self::At { .. } | Self::Now)
    }
}

/// The JSON form of the cut-off: every key is present, known or not.
#[derive(Serialize)]
struct DisconnectJson {
    disconnect: &'static str,
    disconnect_at: Option<DateTime<Utc>>,
    disconnect_computed: bool,
}

impl From<Disconnect> for DisconnectJson {
    fn from(it: Disconnect) -> Self {
        let disconnect_computed = matches!(it, Disconnect::At { computed: true, .. });
        Self { disconnect: it.into(), disconnect_at: it.at(), disconnect_computed }
    }
}

/// The reason why a report does not prove that the account is safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
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
    #[error("the balance is not above 0 after a charge")]
    Moment(DateTime<Utc>),
    #[error("some charge moments could not be read")]
    MomentsRejected,
    #[error("the balance now is not above 0")]
    BalanceNow,
    #[error("the report ends before the cut-off date known so far")]
    TooShort,
    #[error("only a day of reports without charges is a proof")]
    NoCharges,
}

/// The field that raised a doubt and what it held, as the report has it; `None` if the doubt says it all.
pub(crate) fn held(report: &Report, doubt: Doubt) -> Option<String> {
    let iso = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let money = |amount: Option<Money>| amount.map_or_else(|| "null".to_owned(), |amount| amount.to_string());
    Some(match doubt {
        Doubt::ExpectedBalance => format!("expected_balance: {}", money(report.expected_balance)),
        Doubt::BalanceNow => format!("balance: {}", money(balance_now(report))),
        Doubt::TooShort => format!("date: {}", report.date.map_or_else(|| "null".to_owned(), iso)),
        Doubt::Moment(at) => format!("charge_moments: {}", iso(at)),
        Doubt::NoCharges => "charge_moments: no charge above 0".to_owned(),
        Doubt::Error | Doubt::DateGiven | Doubt::DateUnknown | Doubt::MomentsRejected => return None,
    })
}

/// One charge ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct NextCharge {
    pub at: DateTime<Utc>,
    /// The sum of all charges at that moment.
    pub amount: Money,
}

/// The cost of an order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OrderCost {
    pub order: OrderId,
    /// The index in `Report::orders`.
    pub index: u32,
    /// The sum of its charges within the horizon.
    pub charges: Money,
    pub per_day: Money,
}

/// The balance after the last charge that was made, or before the first one ahead, or the expected balance if there is
/// no charge. If a charge before them may be missing, it is unknown.
pub(crate) fn balance_now(report: &Report) -> Option<Money> {
    let expected =
        || report.expected_balance.filter(|_| report.moments.is_empty() && report.whole_until.is_none());
    report.made.map(|(_, balance)| balance).or_else(|| before_first(report)).or_else(expected)
}

/// Whether a report proves that nothing is owed: the balance is exactly 0, and no charge takes anything from it.
pub(crate) fn owes_nothing(report: &Report) -> bool {
    report.error.is_none()
        && report.edd == Edd::Null
        && is_bare(report)
        && balance_now(report).is_some_and(Money::is_zero)
        && report.expected_balance.is_none_or(Money::is_zero)
}

/// Whether a balance of exactly 0 proves at once that nothing is owed. With a `known` date that takes a day.
pub(crate) fn is_settled(report: &Report, known: Option<DateTime<Utc>>) -> bool {
    known.is_none() && owes_nothing(report)
}

/// Whether the balance is used up; `None` if it is not known. If the next charge begins with more, somebody has paid
/// since the last one.
pub(crate) fn is_used_up(report: &Report) -> Option<bool> {
    let balance = Some(balance_now(report)?).max(before_first(report));
    Some(!balance.is_some_and(Money::is_positive) && !owes_nothing(report))
}

/// The balance before the first charge ahead; `None` without one, and if one before it may be missing.
fn before_first(report: &Report) -> Option<Money> {
    let first = report.moments.first()?;
    report.whole_until.is_none_or(|until| first.at <= until).then_some(first.balance + first.amount)
}

/// The balance after the last charge within `days` of `now`; `None` past the report's end, and where a charge may be
/// missing.
pub(crate) fn balance_in(report: &Report, now: DateTime<Utc>, days: u32) -> Option<Money> {
    let until = within(report, now, days)?;
    balance_after(report, until)
}

/// The lowest amount that keeps the balance above 0 through every charge within `days` of `now`; `None` past
/// the report's end, and where a charge may be missing. Charges that fell due since the report count as made.
pub(crate) fn top_up_required(report: &Report, now: DateTime<Utc>, days: u32) -> Option<Money> {
    let until = within(report, now, days)?;
    if owes_nothing(report) {
        return Some(Money::ZERO);
    }
    let (made, count) = (report.moments.until(now), report.moments.until(until));
    let ahead = report.moments.iter_from(made).take(count - made);
    let lowest = ahead.map(|moment| moment.balance).min();
    let lowest = lowest.or_else(|| balance_after(report, now))?;
    Some((Money::SMALLEST - lowest).max(Money::ZERO))
}

/// The facts beside the report that the two amounts above and the next charge depend on. Equal values mean
/// equal amounts.
pub(crate) fn due_counts(report: &Report, now: DateTime<Utc>) -> (usize, usize, [Option<usize>; 3]) {
    let spans = SPANS_DAYS.map(|days| within(report, now, days).map(|until| report.moments.until(until)));
    (report.moments.before(now), report.moments.until(now), spans)
}

/// The cut-off (contract section 6: with a null date, the first moment whose balance is not positive counts).
pub(crate) fn disconnect(report: &Report) -> Disconnect {
    if let Edd::At(at) = report.edd {
        return Disconnect::At { at, computed: false };
    }
    if let Some(at) = report.moments.first_unpaid() {
        return Disconnect::At { at, computed: true };
    }
    match (is_used_up(report), report.edd) {
        (Some(true), _) => Disconnect::Now,
        (_, Edd::Null) if all_clear(report, None).is_ok() => Disconnect::NotExpected,
        _ => Disconnect::Unknown,
    }
}

/// Whether a report proves that no cut-off is ahead. The report must reach the known date (`known`), or without
/// one the first charge.
pub(crate) fn all_clear(report: &Report, known: Option<DateTime<Utc>>) -> Result<(), Doubt> {
    if report.error.is_some() {
        return Err(Doubt::Error);
    }
    match report.edd {
        Edd::At(_) => return Err(Doubt::DateGiven),
        Edd::Unknown => return Err(Doubt::DateUnknown),
        Edd::Null => {}
    }
    if !report.expected_balance.is_some_and(Money::is_positive) && !owes_nothing(report) {
        return Err(Doubt::ExpectedBalance);
    }
    if let Some(at) = report.moments.first_unpaid() {
        return Err(Doubt::Moment(at));
    }
    if report.moments_rejected > 0 {
        return Err(Doubt::MomentsRejected);
    }
    if is_used_up(report) == Some(true) {
        return Err(Doubt::BalanceNow);
    }
    let covered = known.or_else(|| report.moments.first().map(|first| first.at));
    if report.date.is_none() || covered > report.date {
        return Err(Doubt::TooShort);
    }
    Ok(())
}

/// Reports without any charge are proof once they were the only ones for this long.
pub(crate) const BARE: Duration = Duration::hours(24);

/// Whether a report has no charges, or only charges of zero.
pub(crate) fn is_bare(report: &Report) -> bool {
    report.moments_rejected == 0 && !report.moments.iter().any(|moment| moment.amount.is_positive())
}

/// The cut-off if a date may be known from before. A known date stays if the report's date cannot be read. It
/// also stays if the date is null beside a report without charges, as long as such reports are new
/// (`is_new_bare`). The balance of these may be that of the report's end, which is used up if a cut-off is
/// ahead. A later date that is computed past unreadable charges proves nothing: one of these may come first.
pub(crate) fn disconnect_after(
    report: &Report,
    known: Option<DateTime<Utc>>,
    is_new_bare: bool,
) -> Disconnect {
    let seen = disconnect(report);
    let is_doubtful = report.edd == Edd::Unknown || is_new_bare;
    let is_past_gap =
        |at| known.is_some_and(|known| known < at) && report.whole_until.is_some_and(|until| until < at);
    match seen {
        Disconnect::Now if is_doubtful && known.is_some() => Disconnect::Unknown,
        Disconnect::At { at, computed: true } if is_past_gap(at) => Disconnect::Unknown,
        Disconnect::At { .. } | Disconnect::Now | Disconnect::NotExpected | Disconnect::Unknown => seen,
    }
}

/// The reason why a report neither names a cut-off nor proves that there is none: that a `known` one is gone, or
/// that none is ahead. New reports without charges leave a known one open.
pub(crate) fn proves_nothing(report: &Report, known: Disconnect, is_new_bare: bool) -> Option<Doubt> {
    if disconnect_after(report, known.at(), is_new_bare).is_cut_off() {
        return None;
    }
    match known.is_cut_off() && is_new_bare && !is_settled(report, known.at()) {
        true => Some(Doubt::NoCharges),
        false => all_clear(report, known.at()).err(),
    }
}

/// The next charge after `from`, with all others at the same moment; `None` if one may be missing.
pub(crate) fn next_charge(report: &Report, from: DateTime<Utc>) -> Option<NextCharge> {
    let start = report.moments.before(from);
    let at = report.moments.get(start)?.at;
    if !report.is_whole_until(at) {
        return None;
    }
    let same = report.moments.iter_from(start).take_while(|moment| moment.at == at);
    Some(NextCharge { at, amount: same.map(|moment| moment.amount).sum() })
}

/// All orders, the dearest first; none if charges may be missing.
pub(crate) fn order_costs(report: &Report, from: DateTime<Utc>) -> Vec<OrderCost> {
    if report.whole_until.is_some() {
        return Vec::new();
    }
    let mut sums = vec![Money::ZERO; report.orders.len()];
    for moment in report.moments.iter() {
        if let Some(sum) = moment.order.and_then(|index| sums.get_mut(index as usize)) {
            *sum += moment.amount;
        }
    }
    let days = Decimal::from(horizon_days(report, from).max(1));
    let mut costs: Vec<OrderCost> = (0u32..)
        .zip(report.orders.iter().zip(sums))
        .map(|(index, (order, charges))| OrderCost {
            order: order.id,
            index,
            charges,
            per_day: charges.over(days).unwrap_or(Money::ZERO),
        })
        .collect();
    costs.sort_by(|a, b| b.charges.cmp(&a.charges).then(a.order.cmp(&b.order)));
    costs
}

/// The cost of all charges within the horizon, a day; `None` if charges may be missing.
pub(crate) fn cost_per_day(report: &Report, from: DateTime<Utc>) -> Option<Money> {
    if report.whole_until.is_some() {
        return None;
    }
    let total: Money = report.moments.iter().map(|moment| moment.amount).sum();
    total.over(Decimal::from(horizon_days(report, from).max(1)))
}

/// The moment at which the charges will use the balance up. `None` if the balance is used up already.
pub(crate) fn used_up_at(report: &Report) -> Option<DateTime<Utc>> {
    if is_used_up(report) == Some(true) { None } else { report.moments.first_unpaid() }
}

/// The moment at which the charges will use the balance up, if it is more than a day from the report's own date.
pub(crate) fn date_by_charges(report: &Report) -> Option<DateTime<Utc>> {
    let Edd::At(reported) = report.edd else { return None };
    used_up_at(report).filter(|&computed| (reported - computed).abs() > Duration::days(1))
}

/// The end of the time that the report covers.
pub(crate) fn end(report: &Report) -> Option<DateTime<Utc>> {
    report.date.or_else(|| report.moments.last().map(|moment| moment.at))
}

/// The first moment whose balance is not the balance before it less its amount. Missing charges are no mistake of the
/// sum.
pub(crate) fn does_not_add_up(report: &Report) -> Option<DateTime<Utc>> {
    if report.whole_until.is_some() {
        return None;
    }
    let balances = report.made.map(|(_, balance)| balance).into_iter();
    let balances = balances.chain(report.moments.iter().map(|moment| moment.balance));
    let charges = report.moments.iter_from(usize::from(report.made.is_none()));
    // Numbers of JSON carry the noise of floats.
    let differ = |one: Money, other: Money| (one - other).max(other - one) >= Money::SMALLEST;
    let mut broken =
        balances.zip(charges).filter(|(before, moment)| differ(*before - moment.amount, moment.balance));
    let broken = broken.next().map(|(_, moment)| moment.at);
    broken.or_else(|| {
        let last = report.moments.last()?;
        let expected = report.expected_balance?;
        differ(expected, last.balance).then_some(last.at)
    })
}

/// The balance that a report foresaw for `at`; `None` outside of the time that it covers.
pub(crate) fn foreseen_balance(report: &Report, at: DateTime<Utc>) -> Option<Money> {
    if report.date.is_some_and(|date| date < at) {
        return None;
    }
    balance_after(report, at)
}

/// The highest balance that a report of any age foresaw for now, or for its end if that is past. A charge may be late
/// if the cut-off of the `later` report is where it was; a payment of a day's charge moves it, or ends it.
pub(crate) fn highest_foreseen(report: &Report, later: &Report, now: DateTime<Utc>) -> Option<Money> {
    let then = disconnect(later);
    let is_later =
        |at| then == Disconnect::NotExpected || then.at().is_some_and(|then| then - at > SAME_DATE);
    let has_moved = disconnect(report).at().is_some_and(is_later);
    let late = if has_moved { Duration::zero() } else { LATE_CHARGE };
    let end = || report.moments.last().map(|last| last.balance);
    let at = |at| foreseen_balance(report, at).or_else(end);
    at(now).max(at(now - late))
}

/// The balance after the last charge up to `at`.
fn balance_after(report: &Report, at: DateTime<Utc>) -> Option<Money> {
    if !report.is_whole_until(at) {
        return None;
    }
    match report.moments.until(at).checked_sub(1) {
        Some(last) => report.moments.get(last).map(|moment| moment.balance),
        None => balance_now(report),
    }
}

fn within(report: &Report, from: DateTime<Utc>, days: u32) -> Option<DateTime<Utc>> {
    let until = from.checked_add_signed(Duration::days(i64::from(days)))?;
    (until <= end(report)? && report.is_whole_until(until)).then_some(until)
}

fn horizon_days(report: &Report, from: DateTime<Utc>) -> i64 {
    end(report).map_or(0, |end| days_between(report, from, end))
}

/// The days of a time, rounded. If charges come once a day all the time, their number is the better measure: the time
/// may end before or after the charge of its last day.
pub(super) fn days_between(report: &Report, from: DateTime<Utc>, to: DateTime<Utc>) -> i64 {
    let days_of = |time: Duration| (time.num_hours() + 12) / 24;
    let days = days_of(to - from);
    let ahead = report.moments.iter_from(report.moments.until(from)).take_while(|moment| moment.at <= to);
    let (mut first, mut last, mut charged) = (None, from, 0);
    for moment in ahead {
        charged += i64::from(moment.at > last);
        (first, last) = (first.or(Some(moment.at)), moment.at);
    }
    let are_daily = first.is_some_and(|first| days_of(last - first) + 1 == charged);
    if are_daily && (charged - days).abs() <= 1 { charged } else { days }
}

#[cfg(test)]
pub(crate) mod tests;
