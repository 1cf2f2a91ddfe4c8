//! The expected-balance report (section 2.8): a projection of the ledger, rendered piece by piece so that a
//! million moments never stand in memory at once. Looks ahead; changes nothing.

use super::World;
use super::ledger::{Order, Schedule};
use super::table::Table;
use crate::sim::options::Args;
use crate::sim::time::{DatetimeFormat, moment, stamp};
use crate::sim::wire;
use chrono::NaiveDateTime;
use rust_decimal::Decimal;
use std::collections::HashMap;

/// A report on its way out.
#[derive(Debug)]
pub struct Report {
    balance: Decimal,
    until: NaiveDateTime,
    orders: Table<Order>,
    schedule: Schedule,
    rendered: HashMap<u64, String>,
    date: String,
    error: Option<String>,
    /// When an account already cut off was cut off.
    cut_off: Option<NaiveDateTime>,
    form: (chrono_tz::Tz, DatetimeFormat),
    stage: Stage,
    /// Worked out before the first byte, since it stands before the moments.
    summary: Option<Summary>,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Moments { first: bool },
    Done,
}

/// What a report says beside its moments.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    edd: Option<NaiveDateTime>,
    expected_balance: Decimal,
}

impl Report {
    /// The report of the account as it stands, up to the start of a day.
    pub fn of(world: &World, until: NaiveDateTime, args: &Args) -> Report {
        let form = (world.zone, args.datetime_format);
        let error = world.report_error.clone();
        // With an error there is nothing to project.
        let schedule = if error.is_some() { Schedule::default() } else { world.ledger.schedule.clone() };
        let orders = world.ledger.orders.clone();
        Report {
            balance: world.ledger.balance,
            until,
            schedule,
            rendered: HashMap::with_capacity(orders.len()),
            orders,
            date: stamp(until, form.0, form.1),
            error,
            cut_off: world.cut_off,
            form,
            stage: Stage::Head,
            summary: None,
        }
    }

    /// Does the part of the work that cannot be done piece by piece.
    pub fn prepare(&mut self) {
        self.summary = Some(self.project());
    }

    /// Projects to the end: the disconnect date and the balance then.
    fn project(&self) -> Summary {
        let mut schedule = self.schedule.clone();
        let mut balance = self.balance;
        let mut edd = self.cut_off;
        while let Some(posting) = schedule.take(&self.orders, self.until) {
            balance -= posting.amount;
            if edd.is_none() && balance <= Decimal::ZERO {
                edd = Some(posting.at);
            }
        }
        Summary { edd: edd.filter(|_| self.error.is_none()), expected_balance: balance }
    }

    /// Appends about `size` more bytes to `out`; false once there are none.
    pub fn render(&mut self, out: &mut Vec<u8>, size: usize) -> bool {
        let enough = out.len() + size;
        if self.stage == Stage::Head {
            let summary = self.summary.take().unwrap_or_else(|| self.project());
            let edd = summary.edd.map(|at| stamp(at, self.form.0, self.form.1));
            let text = |value: &Option<String>| serde_json::to_string(value).unwrap_or_default();
            let head = format!(
                r#"{{"date":"{}","edd":{},"error":{},"expected_balance":"{:.2}","charge_moments":["#,
                self.date,
                text(&edd),
                text(&self.error),
                summary.expected_balance
            );
            out.extend_from_slice(head.as_bytes());
            self.stage = Stage::Moments { first: true };
        }
        while let Stage::Moments { first } = self.stage {
            if out.len() >= enough {
                return true;
            }
            let Some(posting) = self.schedule.take(&self.orders, self.until) else {
                out.extend_from_slice(b"]}");
                self.stage = Stage::Done;
                break;
            };
            self.balance -= posting.amount;
            let orders = &self.orders;
            let form = self.form;
            let order = self.rendered.entry(posting.order).or_insert_with(|| {
                let order = orders.get(posting.order).map(|o| wire::order(o, form.0, form.1));
                serde_json::to_string(&order).unwrap_or_default()
            });
            let one = format!(
                r#"{}{{"amount":"{:.2}","balance":"{:.2}","moment":"{}","positive":{},"order":{}}}"#,
                if first { "" } else { "," },
                posting.amount,
                self.balance,
                moment(posting.at),
                self.balance > Decimal::ZERO,
                order
            );
            out.extend_from_slice(one.as_bytes());
            self.stage = Stage::Moments { first: false };
        }
        self.stage != Stage::Done
    }
}
