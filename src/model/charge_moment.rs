//! A charge to come, and charges of one moment in the order in which they are made, whatever the order in which a report
//! lists them: each leaves the balance that the next one begins with. Pure.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::money::Money;

/// One charge to come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ChargeMoment {
    pub at: DateTime<Utc>,
    pub amount: Money,
    /// After the charge.
    pub balance: Money,
    /// What the provider says on whether `balance` is above 0.
    pub positive: Option<bool>,
    /// Index into the orders of its report.
    pub order: Option<u32>,
}

impl ChargeMoment {
    /// Both the balance and the provider's flag say so; one of them against it is enough to doubt.
    pub(crate) fn is_positive(&self) -> bool {
        self.balance.is_positive() && self.positive != Some(false)
    }
}

/// Does each of two charges of one moment follow from the other?
pub(super) fn adds_up(before: &ChargeMoment, moment: &ChargeMoment) -> bool {
    before.at != moment.at || before.balance - moment.amount == moment.balance
}

/// Puts those of one moment in order, in a list that is sorted by time. What no order explains stays as it is.
pub(super) fn put_in_order(list: &mut [ChargeMoment]) {
    for group in list.chunk_by_mut(|a, b| a.at == b.at) {
        if !group.is_sorted_by(adds_up)
            && let Some(ordered) = chain(group)
        {
            group.copy_from_slice(&ordered);
        }
    }
}

/// Each after the one whose balance it begins with.
fn chain(group: &[ChargeMoment]) -> Option<Vec<ChargeMoment>> {
    let mut by_start: HashMap<Money, Vec<usize>> = HashMap::new();
    let start = |moment: &ChargeMoment| moment.balance + moment.amount;
    for (index, moment) in group.iter().enumerate().rev() {
        by_start.entry(start(moment)).or_default().push(index);
    }
    // It begins with a balance that none of the others leaves.
    let mut left: HashMap<Money, usize> = HashMap::new();
    for moment in group {
        *left.entry(moment.balance).or_default() += 1;
    }
    let first = group.iter().find(|moment| !left.contains_key(&start(moment)))?;
    let mut ordered = Vec::with_capacity(group.len());
    let mut balance = start(first);
    while let Some(index) = by_start.get_mut(&balance).and_then(Vec::pop) {
        ordered.push(group[index]);
        balance = group[index].balance;
    }
    (ordered.len() == group.len()).then_some(ordered)
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

    #[test]
    fn their_balances_tell_the_order() {
        let right = [
            moment(1, "13", "87"),
            moment(1, "13", "74"),
            moment(1, "-20", "94"),
            moment(1, "5", "89"),
            moment(2, "1", "88"),
            moment(2, "2", "86"),
        ];
        for places in [[0, 1, 2, 3, 4, 5], [3, 2, 1, 0, 5, 4], [2, 0, 3, 1, 5, 4], [1, 0, 2, 3, 4, 5]] {
            let mut list = places.map(|place| right[place]);
            put_in_order(&mut list);
            assert_eq!(list, right, "{places:?}");
        }
        // Without an order that explains them they stay.
        let odd = [moment(1, "13", "10"), moment(1, "13", "50")];
        let mut list = odd;
        put_in_order(&mut list);
        assert_eq!(list, odd);
        // A charge and its refund: a circle, as it was listed.
        let circle = [moment(1, "5", "5"), moment(1, "-5", "10")];
        let mut list = circle;
        put_in_order(&mut list);
        assert_eq!(list, circle);
    }
}
