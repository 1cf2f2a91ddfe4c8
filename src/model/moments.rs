//! The charge moments of a report, in some five bytes each: a forecast of 10,000 orders over 90 days has a
//! million of them. All are exact: a moment that does not fit the short form is kept whole.

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;

use super::charge_moment::{ChargeMoment, is_in_place, settle};
use super::money::Money;

/// The maximum number of moments in a block.
const BLOCK: usize = 256;
/// The short form has fewer decimal places.
const PLACES: u64 = 8;

/// Charge moments in blocks, each readable by itself. If a report adds up, each balance is the one before less
/// the amount, and the provider's flag follows from the balance. Then a moment is three numbers: the seconds
/// since the one before, the distance from its order to this one, and the amount. Any other moment begins a
/// block.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Moments {
    /// Reports with the same forecast share them.
    blocks: Arc<Vec<Block>>,
    /// The moment that was pushed last.
    last: Option<ChargeMoment>,
    first_unpaid: Option<DateTime<Utc>>,
}

#[derive(Clone, PartialEq)]
struct Block {
    /// The number of moments before it.
    start: usize,
    len: usize,
    first: ChargeMoment,
    /// All moments but the first.
    short: Vec<u8>,
}

impl Moments {
    /// The number of moments.
    pub(crate) fn len(&self) -> usize {
        self.blocks.last().map_or(0, Block::end)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The moment at this place.
    pub(crate) fn get(&self, index: usize) -> Option<ChargeMoment> {
        self.iter_from(index).next()
    }

    /// The first one; the earliest if they are sorted.
    pub(crate) fn first(&self) -> Option<ChargeMoment> {
        self.blocks.first().map(|block| block.first)
    }

    /// The last one; the latest if they are sorted.
    pub(crate) fn last(&self) -> Option<ChargeMoment> {
        self.last
    }

    /// The time of the first one that uses the balance up. Every look at a cut-off asks for it.
    pub(crate) fn first_unpaid(&self) -> Option<DateTime<Utc>> {
        self.first_unpaid
    }

    /// All moments in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ChargeMoment> + Clone + '_ {
        self.blocks.iter().flat_map(Block::iter)
    }

    /// The moments from this index on.
    pub(crate) fn iter_from(&self, start: usize) -> impl Iterator<Item = ChargeMoment> + '_ {
        let rest = &self.blocks[self.blocks.partition_point(|block| block.end() <= start)..];
        let skipped = rest.first().map_or(0, |block| start - block.start);
        rest.iter().flat_map(Block::iter).skip(skipped)
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
        let short = self.last.and_then(|last| shortened(&last, &moment));
        self.last = Some(moment);
        self.first_unpaid = self.first_unpaid.or_else(|| moment.cuts_off().then_some(moment.at));
        let start = self.len();
        let blocks = Arc::make_mut(&mut self.blocks);
        if let Some(block) = blocks.last_mut() {
            if let Some(short) = short.filter(|_| block.len < BLOCK) {
                short.into_iter().for_each(|number| put(&mut block.short, number));
                block.len += 1;
                return;
            }
            block.short.shrink_to_fit();
        }
        blocks.push(Block { start, len: 1, first: moment, short: Vec::new() });
    }

    /// Changes the moments as a plain list, which costs a copy.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Vec<ChargeMoment>)) {
        let mut list = self.iter().collect();
        change(&mut list);
        *self = list.into_iter().collect();
    }

    /// Sorts by time. Moments of one time are sorted so that their balances add up, and these price each charge
    /// without an amount.
    pub(crate) fn sort(&mut self) {
        let is_priced = self.first().is_none_or(|first| first.amount != ChargeMoment::UNPRICED);
        if !is_priced || !self.iter().is_sorted_by(is_in_place) {
            self.edit(|list| settle(list));
        }
        self.shrink();
    }

    /// Gives back the room that no moment takes. More can be pushed afterwards.
    fn shrink(&mut self) {
        let blocks = Arc::make_mut(&mut self.blocks);
        if let Some(last) = blocks.last_mut() {
            last.short.shrink_to_fit();
        }
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
        let block = self.blocks.partition_point(|block| earlier(block.first.at)).saturating_sub(1);
        let start = self.blocks.get(block).map_or(0, |block| block.start);
        start + self.iter_from(start).take_while(|moment| earlier(moment.at)).count()
    }
}

impl Block {
    /// The number of moments up to its last one.
    fn end(&self) -> usize {
        self.start + self.len
    }

    fn iter(&self) -> impl Iterator<Item = ChargeMoment> + Clone + '_ {
        let mut short = &*self.short;
        let mut before = self.first;
        let rest = std::iter::from_fn(move || {
            if short.is_empty() {
                return None;
            }
            before = next(&before, std::array::from_fn(|_| take(&mut short)));
            Some(before)
        });
        std::iter::once(self.first).chain(rest)
    }
}

/// The short form of the moment after this one: the seconds between them, the distance between their orders, and the
/// amount with its decimal places. `None` if that does not tell all of it.
fn shortened(before: &ChargeMoment, moment: &ChargeMoment) -> Option<[u64; 3]> {
    let seconds = u64::try_from((moment.at - before.at).num_seconds()).ok()?;
    let amount = moment.amount.decimal().normalize();
    let (mantissa, places) = (i32::try_from(amount.mantissa()).ok()?, u64::from(amount.scale()));
    let short = [seconds, zigzag(place(moment) - place(before)), zigzag(mantissa.into()) * PLACES + places];
    (places < PLACES && next(before, short) == *moment).then_some(short)
}

/// The moment after this one, from its short form.
fn next(before: &ChargeMoment, [seconds, order, amount]: [u64; 3]) -> ChargeMoment {
    let amount = Money::new(Decimal::new(unzigzag(amount / PLACES), (amount % PLACES) as u32));
    let balance = before.balance - amount;
    let seconds = i64::try_from(seconds).ok().and_then(TimeDelta::try_seconds).unwrap_or_default();
    ChargeMoment {
        at: before.at.checked_add_signed(seconds).unwrap_or(before.at),
        amount,
        balance,
        positive: Some(balance.is_positive()),
        order: u32::try_from(place(before).wrapping_add(unzigzag(order)) - 1).ok(),
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
        all.shrink();
        all
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
        let moments = all.iter().copied().collect::<Moments>();
        assert_eq!(moments.iter().collect::<Vec<_>>(), all);
        assert_eq!((moments.len(), moments.is_empty()), (1000, false));
        assert_eq!((Moments::default().len(), Moments::default().is_empty()), (0, true));
        assert_eq!(moments.iter_from(500).collect::<Vec<_>>(), all[500..]);
        assert_eq!(moments.blocks.len(), 4);
        let bytes: usize = moments.blocks.iter().map(|block| block.short.len()).sum();
        assert!(bytes < 5 * all.len(), "{bytes}");
    }

    #[test]
    fn a_short_report_takes_little_and_can_grow_after_it_was_sorted() {
        let all: Vec<ChargeMoment> = (0..700).map(|at| moment(at, "1", "1")).collect();
        let unused = |block: &Block| block.short.capacity() - block.short.len();
        let room = |moments: &Moments| moments.blocks.iter().map(unused).sum::<usize>();
        for sorted in [0, 1, 255, 256, 257, 300, 512] {
            let mut moments = Moments::default();
            all[..sorted].iter().for_each(|&one| moments.push(one));
            moments.sort();
            assert_eq!((room(&moments), moments.len()), (0, sorted));
            moments.move_orders(&[1]);
            assert_eq!((room(&moments), moments.len()), (0, sorted), "moved");
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
