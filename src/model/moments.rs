//! The charge moments of a report, in some five bytes each: a forecast of 10,000 orders over 90 days has a
//! million of them. All are exact: a moment that does not fit the short form is kept whole.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;

use super::charge_moment::{ChargeMoment, is_in_place, settle};
use super::money::Money;

/// The number of moments in a block.
const BLOCK: usize = 256;
/// The maximum number of decimal places in the short form.
const MOST_PLACES: u32 = 6;

/// Charge moments in blocks, each readable by itself. If a report adds up, each balance is the one before less
/// the amount, and the provider's flag follows from the balance. Then a moment is three numbers: the seconds
/// since the one before, the distance from its order to this one, and the amount. Any other moment is kept
/// whole.
#[derive(Clone, Default)]
pub(crate) struct Moments {
    /// The blocks; only the last may have room. Reports with the same forecast share them.
    blocks: Arc<Vec<Block>>,
    /// The moments that were pushed last, less than a block. The list is empty once all moments are there,
    /// since it takes ten times as much room.
    tail: Vec<ChargeMoment>,
}

#[derive(Clone, PartialEq)]
struct Block {
    first: ChargeMoment,
    len: usize,
    /// The decimal places of the amounts.
    places: u32,
    /// All moments but the first.
    short: Box<[u8]>,
    /// The moments that have no short form.
    whole: Box<[ChargeMoment]>,
}

impl Moments {
    /// The number of moments.
    pub(crate) fn len(&self) -> usize {
        let full = self.blocks.len().saturating_sub(1) * BLOCK;
        self.blocks.last().map_or(0, |last| full + last.len) + self.tail.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The moment at this place.
    pub(crate) fn get(&self, index: usize) -> Option<ChargeMoment> {
        self.iter_from(index).next()
    }

    /// The first one; the earliest if they are sorted.
    pub(crate) fn first(&self) -> Option<ChargeMoment> {
        self.get(0)
    }

    /// The last one; the latest if they are sorted.
    pub(crate) fn last(&self) -> Option<ChargeMoment> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All moments in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ChargeMoment> + Clone + '_ {
        self.blocks.iter().flat_map(Block::iter).chain(self.tail.iter().copied())
    }

    /// The moments from this index on.
    pub(crate) fn iter_from(&self, start: usize) -> impl Iterator<Item = ChargeMoment> + '_ {
        let blocks = (start / BLOCK).min(self.blocks.len());
        let rest = self.blocks[blocks..].iter().flat_map(Block::iter).chain(self.tail.iter().copied());
        rest.skip(start - blocks * BLOCK)
    }

    /// The number of moments up to `until`, if they are sorted.
    pub(crate) fn until(&self, until: DateTime<Utc>) -> usize {
        self.partition(|at| at <= until)
    }

    /// The number of moments before `from`, if they are sorted.
    pub(crate) fn before(&self, from: DateTime<Utc>) -> usize {
        self.partition(|at| at < from)
    }

    /// Adds a moment.
    pub(crate) fn push(&mut self, moment: ChargeMoment) {
        if self.tail.is_empty()
            && let Some(short) = Arc::make_mut(&mut self.blocks).pop_if(|last| last.len < BLOCK)
        {
            self.tail.extend(short.iter());
        }
        self.tail.push(moment);
        if self.tail.len() == BLOCK {
            Arc::make_mut(&mut self.blocks).push(Block::of(&self.tail));
            self.tail.clear();
        }
    }

    /// Changes the moments as a plain list, which costs a copy.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Vec<ChargeMoment>)) {
        let mut list = self.iter().collect();
        change(&mut list);
        *self = list.into();
    }

    /// Sorts by time. Moments of one time are sorted so that their balances add up, and these price each charge
    /// without an amount.
    pub(crate) fn sort(&mut self) {
        let is_priced = self.first().is_none_or(|first| first.amount != ChargeMoment::UNPRICED);
        if !is_priced || !self.iter().is_sorted_by(is_in_place) {
            self.edit(|list| settle(list));
        }
        self.close();
    }

    /// Makes a block of the last moments. More can be pushed afterwards.
    fn close(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        if tail.is_empty() {
            return;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        blocks.push(Block::of(&tail));
        blocks.shrink_to_fit();
    }

    /// Shares the blocks with `other` if they are equal.
    pub(crate) fn share(&mut self, other: &Self) {
        if self == other {
            *self = other.clone();
        }
    }

    /// Replaces the indexes of orders: an order at `old` is at `places[old]` now.
    pub(crate) fn move_orders(&mut self, places: &[u32]) {
        if places.iter().zip(0..).any(|(&new, old)| new != old) {
            let moved = |old: u32| places.get(old as usize).copied().unwrap_or(old);
            *self = self.iter().map(|one| ChargeMoment { order: one.order.map(moved), ..one }).collect();
        }
    }

    fn partition(&self, earlier: impl Fn(DateTime<Utc>) -> bool) -> usize {
        // The block with the edge is the last one that begins before it.
        let blocks = self.blocks.partition_point(|block| earlier(block.first.at)).saturating_sub(1);
        let start = blocks * BLOCK;
        start + self.iter_from(start).take_while(|moment| earlier(moment.at)).count()
    }
}

impl Block {
    fn of(moments: &[ChargeMoment]) -> Self {
        let decimals = moments.iter().map(|moment| moment.amount.decimal().normalize().scale());
        let places = decimals.filter(|&places| places <= MOST_PLACES).max().unwrap_or(0);
        let mut short = Vec::with_capacity(moments.len() * 6);
        let mut whole = Vec::new();
        for pair in moments.windows(2) {
            let (before, moment) = (&pair[0], &pair[1]);
            match Step::between(before, moment, places).filter(|step| step.from(before, places) == *moment) {
                Some(step) => step.write(&mut short),
                None => {
                    put(&mut short, WHOLE);
                    whole.push(*moment);
                }
            }
        }
        Self { first: moments[0], len: moments.len(), places, short: short.into(), whole: whole.into() }
    }

    fn iter(&self) -> impl Iterator<Item = ChargeMoment> + Clone + '_ {
        let mut short = &*self.short;
        let mut whole = self.whole.iter();
        let mut before = self.first;
        let rest = std::iter::from_fn(move || {
            if short.is_empty() {
                return None;
            }
            before = match take(&mut short) {
                WHOLE => *whole.next()?,
                seconds => Step::read(seconds, &mut short).from(&before, self.places),
            };
            Some(before)
        });
        std::iter::once(self.first).chain(rest)
    }
}

/// The mark of a moment that is kept whole, in place of the seconds. Seconds are stored plus one.
const WHOLE: u64 = 0;

/// The differences between one moment and the next.
struct Step {
    seconds: u64,
    /// The order's index plus one; 0 for none.
    order: i64,
    amount: i64,
}

impl Step {
    /// `None` if the numbers are too large. The result may still lose something, so the caller checks.
    fn between(before: &ChargeMoment, moment: &ChargeMoment, places: u32) -> Option<Self> {
        let amount = moment.amount.decimal().normalize();
        let factor = 10_i128.pow(places.checked_sub(amount.scale())?);
        Some(Self {
            seconds: u64::try_from((moment.at - before.at).num_seconds()).ok()?,
            order: place(moment) - place(before),
            amount: i64::try_from(amount.mantissa().checked_mul(factor)?).ok()?,
        })
    }

    fn from(&self, before: &ChargeMoment, places: u32) -> ChargeMoment {
        let amount = Money::new(Decimal::new(self.amount, places));
        let balance = before.balance - amount;
        let seconds = i64::try_from(self.seconds).ok().and_then(TimeDelta::try_seconds).unwrap_or_default();
        ChargeMoment {
            at: before.at.checked_add_signed(seconds).unwrap_or(before.at),
            amount,
            balance,
            positive: Some(balance.is_positive()),
            order: u32::try_from(place(before).wrapping_add(self.order) - 1).ok(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.seconds + 1);
        put(out, zigzag(self.order));
        put(out, zigzag(self.amount));
    }

    /// Reads the numbers behind the seconds.
    fn read(seconds: u64, from: &mut &[u8]) -> Self {
        Self { seconds: seconds - 1, order: unzigzag(take(from)), amount: unzigzag(take(from)) }
    }
}

/// The index of a moment's order plus one; 0 for none.
fn place(moment: &ChargeMoment) -> i64 {
    moment.order.map_or(0, |order| i64::from(order) + 1)
}

/// Maps small numbers of either sign to small unsigned numbers.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Writes seven bits a byte, the lowest first; the eighth bit marks that more follow.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(from: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let Some((&byte, rest)) = from.split_first() else { break };
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

impl FromIterator<ChargeMoment> for Moments {
    fn from_iter<I: IntoIterator<Item = ChargeMoment>>(moments: I) -> Self {
        let mut all = Self::default();
        moments.into_iter().for_each(|moment| all.push(moment));
        all.close();
        all
    }
}

impl From<Vec<ChargeMoment>> for Moments {
    fn from(moments: Vec<ChargeMoment>) -> Self {
        moments.into_iter().collect()
    }
}

impl PartialEq for Moments {
    fn eq(&self, other: &Self) -> bool {
        let same_blocks = self.blocks == other.blocks && self.tail == other.tail;
        same_blocks || self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment(at: i64, amount: &str, balance: &str) -> ChargeMoment {
        let balance: Money = balance.parse().unwrap();
        ChargeMoment {
            at: DateTime::from_timestamp(at, 0).unwrap(),
            amount: amount.parse().unwrap(),
            balance,
            positive: Some(balance.is_positive()),
            order: Some(0),
        }
    }

    #[test]
    fn the_same_moments_are_kept_once() {
        let all = |last: &str| -> Moments { (0..300).map(|at| moment(at, last, "5")).collect() };
        let (known, mut same, mut other) = (all("1"), all("1"), all("2"));
        same.share(&known);
        other.share(&known);
        assert!(Arc::ptr_eq(&same.blocks, &known.blocks) && !Arc::ptr_eq(&other.blocks, &known.blocks));
        // Pushing to one does not change the other.
        same.push(moment(300, "1", "5"));
        assert_eq!((same.len(), known.len()), (301, 300));
    }

    #[test]
    fn a_report_that_adds_up_keeps_one_moment_whole() {
        let mut left: Money = "100000.00".parse().unwrap();
        let amounts = ["10.00", "0.50", "3.333", "-7"].map(|text| text.parse::<Money>().unwrap());
        let all: Vec<ChargeMoment> = (0..1000_u32)
            .map(|index| {
                let amount = amounts[index as usize % 4];
                left -= amount;
                let order = Some(index * 3 % 4).filter(|order| *order != 3);
                ChargeMoment { amount, balance: left, order, ..moment(i64::from(index / 8), "0", "1") }
            })
            .collect();
        let moments = Moments::from(all.clone());
        assert_eq!(moments.iter().collect::<Vec<_>>(), all);
        assert_eq!((moments.len(), moments.is_empty()), (1000, false));
        assert_eq!((Moments::default().len(), Moments::default().is_empty()), (0, true));
        assert_eq!(moments.iter_from(500).collect::<Vec<_>>(), all[500..]);
        assert!(moments.blocks.iter().all(|block| block.whole.is_empty() && block.places == 3));
        let bytes: usize = moments.blocks.iter().map(|block| block.short.len()).sum();
        assert!(bytes < 5 * all.len(), "{bytes}");
    }

    #[test]
    fn a_short_report_takes_little_and_can_grow_after_it_was_sorted() {
        let all: Vec<ChargeMoment> = (0..700).map(|at| moment(at, "1", "1")).collect();
        for sorted in [0, 1, 255, 256, 257, 300, 512] {
            let mut moments = Moments::default();
            all[..sorted].iter().for_each(|&one| moments.push(one));
            moments.sort();
            assert_eq!((moments.tail.capacity(), moments.len()), (0, sorted));
            moments.move_orders(&[1]);
            assert_eq!((moments.tail.capacity(), moments.len()), (0, sorted), "moved");
            moments.move_orders(&[1, 0]);
            all[sorted..].iter().for_each(|&one| moments.push(one));
            assert_eq!(moments.len(), all.len(), "{sorted}");
            assert_eq!(moments.iter().collect::<Vec<_>>(), all, "{sorted}");
            assert_eq!(moments.iter_from(650).collect::<Vec<_>>(), all[650..], "{sorted}");
        }
    }

    prop_compose! {
        /// Any moment that can come off the wire, sensible or not.
        fn any_moment()(
            at in prop_oneof![0..100_i64, any::<u32>().prop_map(i64::from), -10_000_000_000..300_000_000_000_i64],
            nanos in prop_oneof![9 => Just(0), 1 => 0..1_000_000_000_u32],
            amount in -1000..1000_i64,
            balance in prop_oneof![any::<i64>(), -1000..1000_i64],
            places in prop_oneof![9 => 0..3_u32, 1 => 0..20_u32],
            positive in proptest::option::of(any::<bool>()),
            order in proptest::option::of(0..5_u32),
        ) -> ChargeMoment {
            ChargeMoment {
                at: DateTime::from_timestamp(at, nanos).unwrap(),
                amount: Money::new(Decimal::new(amount, 2)),
                balance: Money::new(Decimal::new(balance, places)),
                positive,
                order,
            }
        }
    }

    proptest! {
        #[test]
        fn any_moments_are_kept_exactly(all in proptest::collection::vec(any_moment(), 0..700)) {
            let moments: Moments = all.iter().copied().collect();
            prop_assert_eq!(moments.iter().collect::<Vec<_>>(), all.clone());
            let mut sorted = moments.clone();
            sorted.sort();
            // Moments of the same time are in the order in which their balances add up.
            let want: Vec<ChargeMoment> = sorted.iter().collect();
            prop_assert!(want.is_sorted_by_key(|moment| moment.at));
            // The sign of an amount follows the balances.
            let in_any_order = |mut moments: Vec<ChargeMoment>| {
                for moment in &mut moments {
                    moment.amount = moment.amount.max(-moment.amount);
                }
                moments.sort_by_cached_key(|moment| format!("{moment:?}"));
                moments
            };
            prop_assert_eq!(in_any_order(want.clone()), in_any_order(all));
            for moment in want.iter().step_by(97) {
                let count = |than: &dyn Fn(DateTime<Utc>) -> bool| want.iter().filter(|one| than(one.at)).count();
                prop_assert_eq!(sorted.until(moment.at), count(&|at| at <= moment.at));
                prop_assert_eq!(sorted.before(moment.at), count(&|at| at < moment.at));
            }
            sorted.move_orders(&[4, 3, 2, 1, 0]);
            let moved = want.into_iter().map(|one| ChargeMoment { order: one.order.map(|order| 4 - order), ..one });
            prop_assert_eq!(sorted, moved.collect::<Moments>());
        }
    }
}
