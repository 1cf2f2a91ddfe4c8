//! The expected-balance report (section 2.8): a projection of the ledger. It is rendered piece by piece, so
//! that a million moments are never in memory together. It changes nothing.

use super::World;
use super::ledger::{Order, Schedule};
use super::table::Table;
use crate::time::moment;
use crate::wire;
use chrono::NaiveDateTime;
use rust_decimal::Decimal;
use std::collections::HashMap;

/// A report that is being sent.
#[derive(Debug)]
pub struct Report {
    balance: Decimal,
    until: NaiveDateTime,
    orders: Table<Order>,
    schedule: Schedule,
    rendered: HashMap<u64, String>,
    date: String,
    error: Option<String>,
    /// The time of the cut-off of an account that is off already.
    cut_off: Option<NaiveDateTime>,
    /// The part before the moments, which is made before the first byte.
    head: Option<String>,
    /// The separator before the next moment; `None` until something is rendered.
    separator: Option<&'static str>,
}

impl Report {
    /// The report of the account in its present state, up to the start of a day.
    pub fn of(world: &World, until: NaiveDateTime) -> Report {
        let error = world.report_error.clone();
        // A report with an error has nothing to project.
        let schedule = if error.is_some() { Schedule::default() } else { world.ledger.schedule.clone() };
        let orders = world.ledger.orders.clone();
        Report {
            balance: world.ledger.balance,
            until,
            schedule,
            rendered: HashMap::with_capacity(orders.len()),
            orders,
            date: moment(until),
            error,
            cut_off: world.cut_off,
            head: None,
            separator: None,
        }
    }

    /// Makes the part that cannot be rendered piece by piece.
    pub fn prepare(&mut self) {
        self.head = Some(self.projected());
    }

    /// Projects to the end: the date of the cut-off, and the final balance.
    fn projected(&self) -> String {
        let mut schedule = self.schedule.clone();
        let mut balance = self.balance;
        let mut edd = self.cut_off;
        while let Some(posting) = schedule.take(&self.orders, self.until) {
            balance -= posting.amount;
            if edd.is_none() && balance <= Decimal::ZERO {
                edd = Some(posting.at);
            }
        }
        let edd = edd.filter(|_| self.error.is_none()).map(moment);
        let text = |value: &Option<String>| serde_json::to_string(value).unwrap_or_default();
        format!(
            r#"{{"date":"{}","edd":{},"error":{},"expected_balance":"{balance:.2}","charge_moments":["#,
            self.date,
            text(&edd),
            text(&self.error),
        )
    }

    /// Appends about `size` more bytes to `out`; false once there are none.
    pub fn render(&mut self, out: &mut Vec<u8>, size: usize) -> bool {
        let enough = out.len() + size;
        if self.separator.is_none() {
            let head = self.head.take().unwrap_or_else(|| self.projected());
            out.extend_from_slice(head.as_bytes());
        }
        while out.len() < enough {
            let Some(posting) = self.schedule.take(&self.orders, self.until) else {
                out.extend_from_slice(b"]}");
                return false;
            };
            self.balance -= posting.amount;
            let orders = &self.orders;
            let order = self.rendered.entry(posting.order).or_insert_with(|| {
                let order = orders.get(posting.order).map(wire::order);
                serde_json::to_string(&order).unwrap_or_default()
            });
            let one = format!(
                r#"{}{{"amount":"{:.2}","balance":"{:.2}","moment":"{}","positive":{},"order":{}}}"#,
                self.separator.replace(",").unwrap_or_default(),
                posting.amount,
                self.balance,
                moment(posting.at),
                self.balance > Decimal::ZERO,
                order
            );
            out.extend_from_slice(one.as_bytes());
        }
        // Even if the head alone was enough.
        self.separator.get_or_insert("");
        true
    }
}
