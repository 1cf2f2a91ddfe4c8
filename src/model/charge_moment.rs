//! A charge ahead. Charges of one moment are put in the order in which they are made: each begins with the balance that
//! the one before leaves. With a credit among them they stay in the order of the report. Pure.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use super::money::Money;

/// One charge ahead.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ChargeMoment {
    pub at: DateTime<Utc>,
    pub amount: Money,
    /// The balance after the charge.
    pub balance: Money,
    /// The provider's flag that `balance` is above 0.
    pub positive: Option<bool>,
    /// The index of its order in the report.
    pub order: Option<u32>,
}

impl ChargeMoment {
    /// The amount of a charge whose amount could not be read, until its neighbours tell it. Only the first charge of a
    /// report may keep it.
    pub(crate) const UNPRICED: Money = Money::new(Decimal::MAX);

    /// Whether both the balance and the provider's flag say so. If one contradicts, the balance counts as used
    /// up.
    pub(crate) fn is_positive(&self) -> bool {
        self.balance.is_positive() && self.positive != Some(false)
    }

    /// Whether it uses the balance up. A charge of 0 takes nothing.
    pub(crate) fn cuts_off(&self) -> bool {
        !self.is_positive() && !self.amount.is_zero()
    }
}

/// Whether the second of two charges of one moment begins with the balance that the first leaves.
fn adds_up(before: &ChargeMoment, moment: &ChargeMoment) -> bool {
    before.at != moment.at || before.balance - moment.amount == moment.balance
}

/// Whether the second of two charges is right where and as it is.
pub(super) fn is_in_place(before: &ChargeMoment, moment: &ChargeMoment) -> bool {
    let is_later = before.at < moment.at || (before.at == moment.at && adds_up(before, moment));
    is_later && moment.amount != ChargeMoment::UNPRICED && !is_against(before.balance, moment)
}

/// Whether the balance falls by an amount below zero, or rises by one above it.
fn is_against(before: Money, moment: &ChargeMoment) -> bool {
    !moment.amount.is_zero() && before + moment.amount == moment.balance
}

/// Sorts by time, prices charges without an amount by the balances around them, and turns amounts round whose sign
/// is against these.
pub(super) fn settle(list: &mut [ChargeMoment]) {
    list.sort_by_key(|moment| moment.at);
    let (mut before, mut turned) = (None::<Money>, 0);
    for moment in list.iter_mut() {
        if let Some(before) = before {
            if moment.amount == ChargeMoment::UNPRICED {
                moment.amount = before - moment.balance;
            } else if is_against(before, moment) {
                moment.amount = -moment.amount;
                turned += 1;
            }
        }
        before = Some(moment.balance);
    }
    if let Some((first, rest)) = list.split_first_mut() {
        // No balance is before the first one, so that it goes with most of the others, or with the rest of a free order.
        if first.amount != ChargeMoment::UNPRICED {
            first.amount = if turned > 0 && 2 * turned > rest.len() { -first.amount } else { first.amount };
        } else if is_free(first.order, rest) {
            first.amount = Money::ZERO;
        }
    }
    put_in_order(list);
}

/// Whether all these charges of an order are 0. Without any, nothing is known.
fn is_free(order: Option<u32>, charges: &[ChargeMoment]) -> bool {
    let mut its = charges.iter().filter(|charge| order.is_some() && charge.order == order).peekable();
    its.peek().is_some() && its.all(|charge| charge.amount.is_zero())
}

/// Sorts charges of the same moment in a list that is sorted by time, so that the balance falls. Charges that this does
/// not explain stay as they are.
fn put_in_order(list: &mut [ChargeMoment]) {
    for group in list.chunk_by_mut(|a, b| a.at == b.at).filter(|group| !group.is_sorted_by(adds_up)) {
        let mut ordered = group.to_vec();
        ordered.sort_by_key(|moment| Reverse((moment.balance, moment.amount)));
        if ordered.is_sorted_by(adds_up) {
            group.copy_from_slice(&ordered);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::model::forecast::tests::money;

    fn moment(at: i64, amount: &str, balance: &str) -> ChargeMoment {
        let at = DateTime::from_timestamp(at, 0).unwrap();
        ChargeMoment { at, amount: money(amount), balance: money(balance), positive: None, order: None }
    }

    fn settled(list: &[ChargeMoment]) -> Vec<ChargeMoment> {
        let mut list = list.to_vec();
        settle(&mut list);
        list
    }

    #[test]
    fn balances_price_a_charge_without_an_amount() {
        let free = |at, balance| ChargeMoment { amount: ChargeMoment::UNPRICED, ..moment(at, "0", balance) };
        let given =
            [free(2, "87"), moment(1, "13", "87"), free(4, "80"), moment(3, "5", "82"), free(5, "90")];
        let want = [
            moment(1, "13", "87"),
            moment(2, "0", "87"),
            moment(3, "5", "82"),
            moment(4, "2", "80"),
            moment(5, "-10", "90"),
        ];
        assert_eq!(settled(&given), want);
        let of = |order, charge| ChargeMoment { order, ..charge };
        for (order, second, want) in [
            (None, free(2, "7"), ChargeMoment::UNPRICED),
            (Some(0), of(Some(0), free(2, "7")), Money::ZERO),
            (Some(0), of(Some(0), free(2, "4")), ChargeMoment::UNPRICED),
            (Some(0), of(Some(1), free(2, "7")), ChargeMoment::UNPRICED),
        ] {
            assert_eq!(settled(&[of(order, free(1, "7")), second])[0].amount, want, "{order:?} {second:?}");
        }
    }

    #[test]
    fn amounts_against_the_fall_of_the_balances_are_turned_round() {
        let right =
            [moment(1, "13", "87"), moment(1, "7", "80"), moment(2, "-20", "100"), moment(3, "1", "99")];
        let turned = right.map(|one| ChargeMoment { amount: -one.amount, ..one });
        assert_eq!(settled(&turned), right);
        assert_eq!(settled(&right), right);
        let mut one = right;
        one[3].amount = -one[3].amount;
        assert_eq!(settled(&one), right, "the first one is as most others");
        assert_eq!(settled(&turned[..1]), turned[..1], "nothing tells");
        assert!(is_in_place(&right[0], &right[1]) && !is_in_place(&turned[0], &turned[1]));
    }

    #[test]
    fn their_balances_tell_the_order() {
        let right = [
            moment(1, "13", "87"),
            moment(1, "13", "74"),
            moment(1, "0", "74"),
            moment(1, "5", "69"),
            moment(2, "1", "68"),
            moment(2, "2", "66"),
        ];
        for places in [[0, 1, 2, 3, 4, 5], [3, 2, 1, 0, 5, 4], [2, 0, 3, 1, 5, 4], [1, 0, 2, 3, 4, 5]] {
            let mut list = places.map(|place| right[place]);
            put_in_order(&mut list);
            assert_eq!(list, right, "{places:?}");
        }
        // Charges that no order explains stay as they are.
        let odd = [moment(1, "13", "10"), moment(1, "13", "50")];
        let mut list = odd;
        put_in_order(&mut list);
        assert_eq!(list, odd);
        // A charge and its refund form a circle and stay as they are.
        let circle = [moment(1, "5", "5"), moment(1, "-5", "10")];
        let mut list = circle;
        put_in_order(&mut list);
        assert_eq!(list, circle);
    }
}
