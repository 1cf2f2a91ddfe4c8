//! What is given to the properties: texts that somebody could call things, moments, amounts, records, reports.

use std::sync::Arc;

use crate::model::*;
use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use rust_decimal::Decimal;

/// What breaks formats: each is a way into headers, markup, labels, JSON or a terminal.
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

/// A name as somebody gave it: plain, of any script, or a weapon. Never empty.
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

pub fn text() -> impl Strategy<Value = Box<str>> {
    name().prop_map(Into::into)
}

/// A state that the interface knows, or one of its own that a state could be called.
pub fn state(known: Vec<String>) -> impl Strategy<Value = String> {
    // A number is a code, which "00" would share with "0".
    let odd = name().prop_filter_map("a state is short, not blank and no number", |text| {
        let cut: String = text.chars().take(30).collect();
        (!cut.trim().is_empty() && cut.trim().parse::<i64>().is_err()).then_some(cut)
    });
    prop_oneof![4 => select(known), 1 => "[A-Za-z_]{1,20}", 1 => odd]
}

macro_rules! state_of {
    ($($name:ident: $state:ident),*) => {$(
        pub fn $name() -> impl Strategy<Value = $state> {
            state($state::KNOWN.iter().map(ToString::to_string).collect()).prop_map(|text| $state::from(text.as_str()))
        }
    )*};
}
state_of!(vm_state: VmState, site_state: SiteState, container_state: ContainerState, order_state: OrderState);

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

/// To the second, of the years 1 to 9999, mostly of ours.
pub fn moment() -> impl Strategy<Value = DateTime<Utc>> {
    let seconds =
        prop_oneof![4 => 1_500_000_000..2_200_000_000_i64, 1 => -62_000_000_000..253_000_000_000_i64];
    seconds.prop_map(|seconds| DateTime::from_timestamp(seconds, 0).unwrap())
}

pub fn date() -> impl Strategy<Value = NaiveDate> {
    moment().prop_map(|at| at.date_naive())
}

/// As providers charge: up to thousands, two places, now and then more.
pub fn amount() -> impl Strategy<Value = Money> {
    let cents = (-1_000..1_000_000_i64).prop_map(|cents| Decimal::new(cents, 2));
    let fine = (-1_000_000_000..1_000_000_000_i64, 0..6_u32)
        .prop_map(|(mantissa, places)| Decimal::new(mantissa, places));
    prop_oneof![4 => cents, 1 => fine].prop_map(Money::new)
}

/// Anything that a decimal can hold.
pub fn any_decimal() -> impl Strategy<Value = Decimal> {
    let whole = (any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>(), 0..=28_u32);
    let whole =
        whole.prop_map(|(low, mid, high, minus, places)| Decimal::from_parts(low, mid, high, minus, places));
    let small = (any::<i64>(), 0..=28_u32).prop_map(|(mantissa, places)| Decimal::new(mantissa, places));
    prop_oneof![small, whole, Just(Decimal::MAX), Just(Decimal::MIN), Just(Decimal::ZERO)]
}

/// Small numbers meet; large ones are at the edge.
pub fn id() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..20_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..100_000_u64, 1 => any::<u64>()]
}

prop_compose! {
    pub fn vm()(
        id in id(), state in vm_state(), vm_id in option::of(text()), name in option::of(text()),
        tariff in option::of(text()), ncpu in option::of(number()), memsize in option::of(number()),
        monitoring_enabled in option::of(any::<bool>()), ips in option::of(vec(vm_ip(), 0..3)), disks in option::of(0..9_u32),
    ) -> Vm {
        let (id, ips) = (VmId::new(id), ips.map(Into::into));
        Vm { id, state, vm_id, name, tariff, ncpu, memsize, monitoring_enabled, ips, disks }
    }
}

prop_compose! {
    fn vm_ip()(address in option::of(text())) -> VmIp {
        VmIp { address }
    }
}

prop_compose! {
    pub fn container()(
        id in id(), state in container_state(), texts in [option::of(text()), option::of(text()), option::of(text())],
        memory_limit_mb in option::of(number()), disk_quota_mb in option::of(number()),
        created in option::of(moment()), updated in option::of(moment()), in_transfer in option::of(any::<bool>()),
    ) -> Container {
        let [login, name, server] = texts;
        let id = ContainerId::new(id);
        Container { id, state, login, name, server, memory_limit_mb, disk_quota_mb, created, updated, in_transfer }
    }
}

prop_compose! {
    /// A site of this container.
    pub fn site(container: u64)(
        id in id(), state in site_state(),
        texts in [option::of(text()), option::of(text()), option::of(text()), option::of(text())],
        workers in option::of(number()), force_https in option::of(any::<bool>()), certificate_id in option::of(id()),
        created in option::of(moment()), updated in option::of(moment()),
    ) -> Site {
        let [name, alias, engine, engine_version] = texts;
        let main_alias = alias.filter(|alias| name.as_ref() != Some(alias));
        let (id, container) = (SiteId::new(id), ContainerId::new(container));
        Site { id, state, container, name, main_alias, engine, engine_version, workers, force_https, certificate_id, created, updated }
    }
}

prop_compose! {
    pub fn ip()(id in id(), address in option::of(text()), vm in option::of(id())) -> Ip {
        Ip { id: IpId::new(id), address, vm: vm.map(VmId::new) }
    }
}

prop_compose! {
    pub fn counted()(id in id()) -> Counted {
        Counted { id }
    }
}

prop_compose! {
    pub fn charge()(
        event_date in date(), description in option::of(text()), price in option::of(amount()),
        quantity in option::of(amount()), total in amount(), resource_uri in option::of(text()),
    ) -> Charge {
        Charge { event_date, description, price, quantity: quantity.map(Money::decimal), total, resource_uri }
    }
}

prop_compose! {
    fn order()(
        id in id(), state in order_state(), comment in option::of(text()), tariff in option::of(tariff()),
    ) -> Order {
        Order { id: OrderId::new(id), state, comment, tariff }
    }
}

prop_compose! {
    fn tariff()(texts in [option::of(text()), option::of(text()), option::of(text())]) -> Tariff {
        let [generic_type, name, short_name] = texts;
        Tariff { generic_type, name, short_name }
    }
}

/// When every report of [`report`] is read: noon, so that days around it are told from hours.
pub fn now() -> DateTime<Utc> {
    crate::unit::properties::account::read_at()
}

/// A charge to come: hours after the one before, amount, which order, and what the report says otherwise.
type Charged = (i64, Money, Option<u32>, Option<Money>, Option<bool>);

/// Reports that add up and reports that do not: charges within some hundred days of [`now`], in the order of time, whose
/// orders each appear once, by id.
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
        moments: moments.into(),
        orders,
        moments_rejected: u64::from(odd == 1),
    }
}
