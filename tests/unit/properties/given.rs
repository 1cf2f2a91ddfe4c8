//! Inputs of the properties: texts that somebody could use as names, times, amounts, reports.

use std::sync::Arc;

use crate::model::*;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use rust_decimal::Decimal;

/// Texts that break formats: each attacks headers, markup, labels, JSON or a terminal.
pub const HOSTILE: &[&str] = &[
    "\r\n",
    "\r\nBcc: x@example.org\r\n\r\n",
    "\n",
    "\r",
    "\0",
    "\t",
    "\"",
    "'",
    "\\",
    "\\n",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</style>",
    "&lt;",
    "&#60;",
    "\" onload=\"",
    "{{ 7 }}",
    "{a=\"b\"} 1",
    "\"} 1\n# EOF\n",
    "# HELP x y",
    "\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}2J",
    "\u{202e}",
    "\u{202a}",
    "\u{2066}",
    "\u{200f}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "\u{fffd}",
    "\u{e0041}",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}",
    "=?utf-8?q?=0D=0AX:_y?=",
    "=0D=0A",
    "--",
    "2026-03-04",
    "имя",
    "名前",
    "🦀",
    "👩‍👩‍👧",
    ".",
    " ",
    "javascript:x",
];

/// A name that somebody gave: plain, in any script, or hostile. Never empty.
pub fn name() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        2 => select(HOSTILE).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9 .-]{1,12}",
        1 => "(?s).{1,12}",
    ];
    prop_oneof![
        2 => "[a-z][a-z0-9.-]{0,20}",
        3 => vec(piece, 1..6).prop_map(|pieces| pieces.concat()),
        1 => "(?s).{1,400}",
    ]
}

fn text() -> impl Strategy<Value = Box<str>> {
    name().prop_map(Into::into)
}

/// A state of the interface, or any other name for a state: short and not blank.
pub fn state() -> impl Strategy<Value = String> {
    let known =
        select(vec!["active", "error", "Active", "StoppedByQuota", "ENABLED", "ORDERED", "SUSPENDED"]);
    let odd = name().prop_map(|text| text.chars().take(30).collect::<String>());
    let odd = odd.prop_filter("blank", |text| !text.trim().is_empty());
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => odd]
}

/// Zones with summer time north and south, of half an hour, at midnight, with a day left out, and without.
pub const ZONES: [Tz; 9] = [
    Tz::UTC,
    chrono_tz::Europe::Moscow,
    chrono_tz::Europe::Berlin,
    chrono_tz::America::New_York,
    chrono_tz::Australia::Lord_Howe,
    chrono_tz::Africa::Cairo,
    chrono_tz::Pacific::Apia,
    chrono_tz::Asia::Kathmandu,
    chrono_tz::America::Santiago,
];

pub fn zone() -> impl Strategy<Value = Tz> {
    select(ZONES.as_slice())
}

/// A whole second in the years 1 to 9999, mostly in recent years.
pub fn moment() -> impl Strategy<Value = DateTime<Utc>> {
    let seconds =
        prop_oneof![4 => 1_500_000_000..2_200_000_000_i64, 1 => -62_000_000_000..253_000_000_000_i64];
    seconds.prop_map(|seconds| DateTime::from_timestamp(seconds, 0).unwrap())
}

/// Amounts as providers charge them: up to thousands, two decimal places, at times more.
pub fn amount() -> impl Strategy<Value = Money> {
    let cents = (-1_000..1_000_000_i64).prop_map(|cents| Decimal::new(cents, 2));
    let fine = (-1_000_000_000..1_000_000_000_i64, 0..6_u32)
        .prop_map(|(mantissa, places)| Decimal::new(mantissa, places));
    prop_oneof![4 => cents, 1 => fine].prop_map(Money::new)
}

/// Any value of a decimal.
pub fn any_decimal() -> impl Strategy<Value = Decimal> {
    let whole = (any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>(), 0..=28_u32);
    let whole =
        whole.prop_map(|(low, mid, high, minus, places)| Decimal::from_parts(low, mid, high, minus, places));
    let small = (any::<i64>(), 0..=28_u32).prop_map(|(mantissa, places)| Decimal::new(mantissa, places));
    prop_oneof![small, whole, Just(Decimal::MAX), Just(Decimal::MIN), Just(Decimal::ZERO)]
}

/// Small numbers are often equal; large ones are at the limit.
pub fn id() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..20_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..100_000_u64, 1 => any::<u64>()]
}

prop_compose! {
    fn order()(
        id in id(), state in state(), comment in option::of(text()), tariff in option::of(tariff()),
    ) -> Order {
        let state = OrderState::from(state.as_str());
        Order { id: OrderId::new(id), state, comment, tariff: tariff.map(Arc::new) }
    }
}

prop_compose! {
    fn tariff()(texts in [option::of(text()), option::of(text()), option::of(text())]) -> Tariff {
        let [generic_type, name, short_name] = texts;
        // A blank text means none.
        let generic_type = generic_type.filter(|text| !text.trim().is_empty());
        Tariff { generic_type, name, short_name }
    }
}

/// The time at which all reports of [`report`] are read: noon, so that a few hours do not change the day.
pub fn now() -> DateTime<Utc> {
    crate::unit::properties::account::read_at()
}

/// A future charge: hours after the one before, amount, order, a false balance, and whether the report calls
/// its balance positive.
type Charged = (i64, Money, Option<u32>, Option<Money>, Option<bool>);

/// Reports that add up and reports that do not: charges within some hundred days of [`now`], in the order of
/// time. Each of their orders appears once, by id.
pub fn report() -> impl Strategy<Value = Report> {
    let lie = prop_oneof![9 => Just(None), 1 => amount().prop_map(Some)];
    let flag = prop_oneof![1 => Just(None), 1 => any::<bool>().prop_map(Some), 8 => Just(Some(true))];
    let hours = prop_oneof![3 => 0..80_i64, 1 => Just(0_i64), 1 => Just(24_i64)];
    let charged = (hours, amount(), option::weighted(0.9, 0..4_u32), lie, flag);
    (
        -100..100_i64,
        amount(),
        vec(charged, 0..60),
        vec(order(), 4),
        option::weighted(0.9, 0..200_i64),
        0..8_u8,
        option::weighted(0.9, amount()),
        0..10_u8,
    )
        .prop_map(|(start, balance, charged, orders, ends, edd, expected, odd)| {
            build(start, balance, charged, orders, ends, edd, expected, odd)
        })
}

#[allow(clippy::too_many_arguments, reason = "what a report is made of")]
fn build(
    start_hours: i64,
    balance: Money,
    charged: Vec<Charged>,
    mut orders: Vec<Order>,
    ends: Option<i64>,
    edd: u8,
    expected: Option<Money>,
    odd: u8,
) -> Report {
    orders.sort_by_key(|order| order.id);
    orders.dedup_by_key(|order| order.id);
    let count = u32::try_from(orders.len()).unwrap();
    let mut at = now() + chrono::Duration::hours(start_hours);
    let mut left = balance;
    let moments: Vec<ChargeMoment> = charged
        .into_iter()
        .map(|(hours, amount, order, lie, flag)| {
            at += chrono::Duration::hours(hours);
            left -= amount;
            let balance = lie.unwrap_or(left);
            let positive = flag.map(|flag| flag && balance.is_positive());
            ChargeMoment { at, amount, balance, positive, order: order.map(|order| order % count) }
        })
        .collect();
    let used: std::collections::BTreeSet<u32> = moments.iter().filter_map(|moment| moment.order).collect();
    let place = |old: u32| u32::try_from(used.iter().position(|&index| index == old).unwrap()).unwrap();
    let moments: Vec<_> =
        moments.iter().map(|one| ChargeMoment { order: one.order.map(place), ..*one }).collect();
    let orders = used.iter().map(|&index| Arc::new(orders[index as usize].clone())).collect();
    let unread = moments.get(moments.len() / 3).map_or(DateTime::<Utc>::MIN_UTC, |one| one.at);
    let whole_until = (odd == 1).then_some(unread);
    let edd = match edd {
        0 => Edd::Unknown,
        1 => Edd::At(at),
        _ => Edd::Null,
    };
    Report {
        date: ends.map(|days| now() + chrono::Duration::days(days)),
        edd,
        error: (odd == 0).then(|| "no data".into()),
        expected_balance: if odd > 5 { Some(left) } else { expected },
        moments: moments.into_iter().collect(),
        orders,
        made: None,
        moments_rejected: u64::from(odd == 1),
        whole_until,
    }
}
