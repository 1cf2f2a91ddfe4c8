//! The charge moments of a report, in 16 bytes each: a forecast of 10,000 orders over 90 days has a
//! million of them. Exact all the same: what does not fit the short form is kept whole beside it.

use std::fmt;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use super::billing::ChargeMoment;
use super::money::Money;

/// No order.
const NONE: u32 = u32::MAX;
/// Places after the point that balances may have in the short form.
const MOST_PLACES: u32 = 6;

/// Charge moments as columns. An amount is the difference of two balances, and the provider's flag what
/// the balance says, in every report that adds up; where they are not, the moment is kept whole.
#[derive(Clone, Default)]
pub struct Moments {
    /// Seconds since the Unix epoch.
    at: Vec<u32>,
    /// Index into `Report::orders`.
    order: Vec<u32>,
    /// In units of the last of `places`.
    balance: Vec<i64>,
    places: u32,
    /// Moments that the columns cannot tell exactly, by index, ascending. The first always is: nothing
    /// stands before it.
    whole: Vec<(u32, ChargeMoment)>,
}

impl Moments {
    /// How many.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The moment at this place.
    pub fn get(&self, index: usize) -> Option<ChargeMoment> {
        (index < self.len()).then(|| self.at(index))
    }

    /// The earliest, once sorted.
    pub fn first(&self) -> Option<ChargeMoment> {
        self.get(0)
    }

    /// The latest, once sorted.
    pub fn last(&self) -> Option<ChargeMoment> {
        self.get(self.len().checked_sub(1)?)
    }

    /// One after the other.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ChargeMoment> + ExactSizeIterator + Clone + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Those from this place on.
    pub fn iter_from(&self, start: usize) -> impl DoubleEndedIterator<Item = ChargeMoment> + '_ {
        (start.min(self.len())..self.len()).map(|index| self.at(index))
    }

    /// How many are no later than `until`; for sorted moments.
    pub fn until(&self, until: DateTime<Utc>) -> usize {
        self.partition(|at| at <= until)
    }

    /// How many are earlier than `from`; for sorted moments.
    pub fn before(&self, from: DateTime<Utc>) -> usize {
        self.partition(|at| at < from)
    }

    /// One more.
    pub fn push(&mut self, moment: ChargeMoment) {
        let index = self.len() as u32;
        self.at.push(u32::try_from(moment.at.timestamp()).unwrap_or_default());
        self.order.push(moment.order.unwrap_or(NONE));
        let units = self.units(moment.balance.decimal());
        self.balance.push(units.unwrap_or_default());
        if self.short(index as usize) != Some(moment) {
            self.whole.push((index, moment));
        }
    }

    /// Changes them as a plain list, at the price of a copy.
    pub fn edit(&mut self, change: impl FnOnce(&mut Vec<ChargeMoment>)) {
        let mut list = self.iter().collect();
        change(&mut list);
        *self = list.into();
    }

    /// Sorts by time; moments of one time keep their order, in which the balances add up.
    pub fn sort(&mut self) {
        let times = || (0..self.len()).map(|index| self.time(index));
        if !times().is_sorted() {
            let mut places: Vec<u32> = (0..self.len() as u32).collect();
            places.sort_by_key(|&place| self.time(place as usize));
            *self = places.into_iter().map(|place| self.at(place as usize)).collect();
        }
        self.at.shrink_to_fit();
        self.order.shrink_to_fit();
        self.balance.shrink_to_fit();
        self.whole.shrink_to_fit();
    }

    /// Points the moments to other places of their orders: those at `old` are at `places[old]` now.
    pub fn move_orders(&mut self, places: &[u32]) {
        let moved = |old: u32| places.get(old as usize).copied().unwrap_or(old);
        for order in self.order.iter_mut().filter(|order| **order != NONE) {
            *order = moved(*order);
        }
        for (_, moment) in &mut self.whole {
            moment.order = moment.order.map(moved);
        }
    }

    fn partition(&self, earlier: impl Fn(DateTime<Utc>) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if earlier(self.time(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn kept_whole(&self, index: usize) -> Option<&ChargeMoment> {
        let place = self.whole.binary_search_by_key(&index, |&(index, _)| index as usize).ok()?;
        Some(&self.whole[place].1)
    }

    fn at(&self, index: usize) -> ChargeMoment {
        match self.kept_whole(index) {
            Some(moment) => *moment,
            None => self.short(index).expect("what the columns cannot tell is kept whole"),
        }
    }

    fn time(&self, index: usize) -> DateTime<Utc> {
        self.kept_whole(index).map_or_else(|| seconds(self.at[index]), |moment| moment.at)
    }

    fn balance(&self, index: usize) -> Money {
        self.kept_whole(index).map_or_else(|| self.short_balance(index), |moment| moment.balance)
    }

    fn short_balance(&self, index: usize) -> Money {
        Money::new(Decimal::new(self.balance[index], self.places))
    }

    /// The moment as the columns tell it; `None` for the first.
    fn short(&self, index: usize) -> Option<ChargeMoment> {
        let before = self.balance(index.checked_sub(1)?);
        let balance = self.short_balance(index);
        Some(ChargeMoment {
            at: seconds(self.at[index]),
            amount: before - balance,
            balance,
            positive: Some(balance.is_positive()),
            order: Some(self.order[index]).filter(|&order| order != NONE),
        })
    }

    /// A balance in units of the last place, of which there may become more by it.
    fn units(&mut self, balance: Decimal) -> Option<i64> {
        let balance = if balance.scale() > self.places { balance.normalize() } else { balance };
        if balance.scale() > self.places {
            self.lengthen(balance.scale())?;
        }
        let factor = 10_i128.pow(self.places - balance.scale());
        i64::try_from(balance.mantissa().checked_mul(factor)?).ok()
    }

    /// More places for every balance, if all still fit.
    fn lengthen(&mut self, places: u32) -> Option<()> {
        let factor = 10_i64.pow(places.min(MOST_PLACES) - self.places);
        let room = i64::MAX / factor;
        let fits = places <= MOST_PLACES && self.balance.iter().all(|&units| (-room..=room).contains(&units));
        if !fits {
            return None;
        }
        for units in &mut self.balance {
            *units *= factor;
        }
        self.places = places;
        Some(())
    }
}

fn seconds(at: u32) -> DateTime<Utc> {
    DateTime::from_timestamp(at.into(), 0).unwrap_or_default()
}

impl FromIterator<ChargeMoment> for Moments {
    fn from_iter<I: IntoIterator<Item = ChargeMoment>>(moments: I) -> Self {
        let moments = moments.into_iter();
        let mut all = Self::default();
        let count = moments.size_hint().0;
        all.at.reserve(count);
        all.order.reserve(count);
        all.balance.reserve(count);
        moments.for_each(|moment| all.push(moment));
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
        self.iter().eq(other.iter())
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
    fn a_report_that_adds_up_keeps_one_moment_whole() {
        let mut left: Money = "100000.00".parse().unwrap();
        let amounts = ["10.00", "0.50", "3.333", "7"].map(|text| text.parse::<Money>().unwrap());
        let all: Vec<ChargeMoment> = (0..1000_u32)
            .map(|index| {
                let amount = amounts[index as usize % 4];
                left -= amount;
                let order = Some(index % 4).filter(|order| *order != 3);
                ChargeMoment { amount, balance: left, order, ..moment(i64::from(index / 8), "0", "1") }
            })
            .collect();
        let moments = Moments::from(all.clone());
        assert_eq!(moments.iter().collect::<Vec<_>>(), all);
        assert_eq!((moments.whole.len(), moments.places), (1, 3));
    }

    #[test]
    fn moments_are_found_by_time() {
        let mut moments: Moments = [(20, "1", "7"), (10, "1", "9"), (20, "2", "5"), (10, "1", "8")]
            .map(|(at, a, b)| moment(at, a, b))
            .into_iter()
            .collect();
        moments.sort();
        let balances =
            |moments: &Moments| moments.iter().map(|one| one.balance.to_string()).collect::<Vec<_>>();
        assert_eq!(balances(&moments), ["9", "8", "7", "5"]);
        assert_eq!(moments.whole.len(), 1, "sorted, they add up");
        let t = |at| DateTime::from_timestamp(at, 0).unwrap();
        let found = |at| (moments.before(t(at)), moments.until(t(at)));
        assert_eq!(
            [found(9), found(10), found(15), found(20), found(21)],
            [(0, 0), (0, 2), (2, 2), (2, 4), (4, 4)]
        );
        assert_eq!(moments.iter_from(3).count(), 1);
        assert_eq!((moments.first().unwrap().at, moments.last().unwrap().at), (t(10), t(20)));
        assert_eq!((Moments::default().first(), Moments::default().last()), (None, None));
    }

    prop_compose! {
        /// Anything, absurd or not, that can come off the wire.
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
        fn whatever_comes_is_kept_exactly(all in proptest::collection::vec(any_moment(), 0..30)) {
            let moments: Moments = all.iter().copied().collect();
            prop_assert_eq!(moments.iter().collect::<Vec<_>>(), all.clone());
            let mut sorted = moments.clone();
            sorted.sort();
            let mut want = all;
            want.sort_by_key(|moment| moment.at);
            prop_assert_eq!(sorted.iter().collect::<Vec<_>>(), want.clone());
            for moment in &want {
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
