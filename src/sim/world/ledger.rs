//! Orders, charges and the balance (sections 2.8, 2.9). Charges and forecasts both come from `Schedule::take`,
//! so a forecast cannot differ from the charges. Times are on the account's own wall clock.

use super::period::{Period, charge_amount};
use super::table::{Keyed, Table};
use chrono::NaiveDateTime;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The price of an order (section 2.8, Tariff).
#[derive(Debug)]
pub struct Tariff {
    pub id: u64,
    pub amount: Decimal,
    pub billing: Period,
    pub charge: Period,
    pub generic_type: Option<String>,
    pub independent: bool,
    pub name: Arc<str>,
    pub short_name: String,
    pub kind: String,
}

/// A billing order (section 2.8, Order).
#[derive(Debug, Clone)]
pub struct Order {
    pub id: u64,
    pub comment: String,
    pub tariff: Arc<Tariff>,
    pub start: NaiveDateTime,
    pub end: Option<NaiveDateTime>,
    pub last_charge: Option<NaiveDateTime>,
    pub paid_till: Option<NaiveDateTime>,
    pub state: String,
}

impl Keyed for Order {
    fn id(&self) -> u64 {
        self.id
    }
}

impl Order {
    /// Whether the order is charged. The interface does not show when that is. Here orders that have not ended
    /// are charged, including suspended ones, whose place is kept.
    pub fn is_charged(&self) -> bool {
        !matches!(self.state.as_str(), "COMPLETED" | "REJECTED")
    }
}

/// A charge that was made (section 2.9). Orders with the same tariff, price and moment share a charge.
#[derive(Debug, Clone)]
pub struct Charge {
    pub id: u64,
    pub at: NaiveDateTime,
    pub description: Arc<str>,
    pub price: Decimal,
    pub quantity: u32,
    tariff: u64,
}

impl Keyed for Charge {
    fn id(&self) -> u64 {
        self.id
    }
}

impl Charge {
    /// Quantity × price, exactly.
    pub fn total(&self) -> Decimal {
        self.price * Decimal::from(self.quantity)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: NaiveDateTime,
    tariff: u64,
    order: u64,
    index: u32,
}

/// One charge of one order.
#[derive(Debug, Clone, Copy)]
pub struct Posting {
    pub at: NaiveDateTime,
    pub order: u64,
    pub amount: Decimal,
    pub paid_till: NaiveDateTime,
}

/// The charges ahead, the earliest first.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    heap: BinaryHeap<Reverse<Due>>,
}

impl Schedule {
    fn add(&mut self, order: &Order, from: NaiveDateTime) {
        let charge = order.tariff.charge;
        // The index is estimated and then walked to, since years of history must not be walked a day at a time.
        let step = (charge.after(order.start, 1) - order.start).num_seconds().max(1);
        let mut index = u32::try_from(((from - order.start).num_seconds() / step).max(0)).unwrap_or(0);
        while index > 0 && charge.after(order.start, index) >= from {
            index -= 1;
        }
        while charge.after(order.start, index) < from {
            index += 1;
        }
        let at = charge.after(order.start, index);
        self.heap.push(Reverse(Due { at, tariff: order.tariff.id, order: order.id, index }));
    }

    /// The time of the next charge.
    pub fn next_at(&self) -> Option<NaiveDateTime> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// The next charge up to `until`, which moves its order on to the one after.
    pub fn take(&mut self, orders: &Table<Order>, until: NaiveDateTime) -> Option<Posting> {
        loop {
            let Reverse(due) = *self.heap.peek()?;
            if due.at > until {
                return None;
            }
            let Some(order) = orders.get(due.order).filter(|o| o.is_charged()) else {
                self.heap.pop();
                continue;
            };
            let tariff = &order.tariff;
            let paid_till = tariff.charge.after(order.start, due.index + 1);
            let amount =
                charge_amount(tariff.amount, tariff.billing, tariff.charge, due.index, due.at, paid_till);
            if let Some(mut top) = self.heap.peek_mut() {
                top.0.at = paid_till;
                top.0.index += 1;
            }
            return Some(Posting { at: due.at, order: due.order, amount, paid_till });
        }
    }
}

/// The account's money.
#[derive(Debug)]
pub struct Ledger {
    pub balance: Decimal,
    pub orders: Table<Order>,
    pub charges: Table<Charge>,
    pub schedule: Schedule,
}

impl Ledger {
    pub fn new() -> Ledger {
        Ledger {
            balance: Decimal::new(0, 2),
            orders: Table::starting_at("order", 7001),
            charges: Table::starting_at("charge", 50_001),
            schedule: Schedule::default(),
        }
    }

    /// Adds an order. Its first charge is at the first moment of its rhythm from `from` on.
    pub fn open(&mut self, order: Order, from: NaiveDateTime) -> u64 {
        self.schedule.add(&order, from);
        self.orders.push(order)
    }

    /// Ends an order, so that it is not charged any more.
    pub fn complete(&mut self, id: u64, now: NaiveDateTime) {
        if let Some(order) = self.orders.get_mut(id) {
            order.state = "COMPLETED".to_owned();
            order.end = Some(now);
        }
    }

    /// Sets an order's state. An order that is charged again goes on from now.
    pub fn set_state(&mut self, id: u64, state: &str, now: NaiveDateTime) -> bool {
        let Some(order) = self.orders.get_mut(id) else { return false };
        let was_charged = order.is_charged();
        state.clone_into(&mut order.state);
        if !was_charged && order.is_charged() {
            order.end = None;
            let order = order.clone();
            self.schedule.heap.retain(|Reverse(due)| due.order != id);
            self.schedule.add(&order, now);
        }
        true
    }

    /// Charges the next order that is due up to `until`, and returns the time.
    pub fn charge_next(&mut self, until: NaiveDateTime) -> Option<NaiveDateTime> {
        let posting = self.schedule.take(&self.orders, until)?;
        self.balance -= posting.amount;
        let order = self.orders.get_mut(posting.order)?;
        order.last_charge = Some(posting.at);
        order.paid_till = Some(posting.paid_till);
        let tariff = Arc::clone(&order.tariff);
        let description: Arc<str> = format!("{}: {}", tariff.name, order.comment).into();
        self.record(posting.at, description, posting.amount, &tariff);
        Some(posting.at)
    }

    fn record(&mut self, at: NaiveDateTime, description: Arc<str>, price: Decimal, tariff: &Tariff) {
        let id = self.charges.fresh_id();
        if let Some(last) = self.charges.get_mut(id - 1)
            && (last.at, last.tariff, last.price) == (at, tariff.id, price)
        {
            last.quantity += 1;
            last.description = Arc::clone(&tariff.name);
            return;
        }
        self.charges.push(Charge { id, at, description, price, quantity: 1, tariff: tariff.id });
    }

    /// The sum of all charges up to `until`.
    pub fn due_until(&self, until: NaiveDateTime) -> Decimal {
        let mut schedule = self.schedule.clone();
        let mut sum = Decimal::new(0, 2);
        while let Some(posting) = schedule.take(&self.orders, until) {
            sum += posting.amount;
        }
        sum
    }
}
