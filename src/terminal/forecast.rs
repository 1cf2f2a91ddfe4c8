//! `hostwatch forecast`: what a report says of the days to come, in words, with the chart. Pure.

mod value;

pub(crate) use value::{AccountForecast, Forecasts, Outlook};

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::chart;
use super::layout::{Cell, Column, Emphasis, Layout, Style};
use super::words;
use crate::model::PayBy;
use crate::model::forecast::Disconnect;
use crate::view::chart::Chart;
use crate::view::cut_off;

/// More accounts are a table alone.
const MOST_IN_FULL: usize = 3;

impl Forecasts {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        if self.accounts.len() > 1 {
            self.table(&mut layout);
        }
        if self.accounts.len() <= MOST_IN_FULL {
            for account in &self.accounts {
                account.text(&mut layout, self.generated_at);
            }
        } else {
            layout.text(0, "", Emphasis::Plain);
            layout.text(0, "More of one account: hostwatch forecast ACCOUNT", Emphasis::Faint);
        }
        layout.finish()
    }

    fn table(&self, layout: &mut Layout) {
        const COLUMNS: [Column; 5] = [
            Column::flexible("Account"),
            Column::right("Balance"),
            Column::left("Cut-off"),
            Column::left("Pay by"),
            Column::right("For 30 days"),
        ];
        let rows = self.accounts.iter().map(|account| {
            let (zone, now) = (account.zone, self.generated_at);
            let Ok(billing) = &account.billing else {
                return vec![Cell::new(&account.account), Cell::toned("not known", Emphasis::Warn)];
            };
            let ends = words::cut_off_day(billing.facts.disconnect, zone, now);
            let pay_by = billing.facts.pay_by.map(|by| cut_off::day_to_pay(by, zone, now));
            let pay = billing.pay.iter().find(|pay| pay.days == 30).and_then(|pay| pay.amount);
            let pay = words::known_to_pay(pay, &account.currency);
            vec![
                Cell::new(&account.account),
                Cell::new(words::known_spaced_amount(billing.facts.balance, &account.currency)),
                Cell::new(ends),
                Cell::new(pay_by.unwrap_or_default()),
                Cell::new(pay),
            ]
        });
        layout.heading(words::count(self.accounts.len(), "account", "accounts"));
        layout.table(2, &COLUMNS, &rows.collect::<Vec<_>>());
        if self.accounts.len() > MOST_IN_FULL {
            for account in &self.accounts {
                account.as_of_line(layout, self.generated_at);
            }
        }
    }
}

impl AccountForecast {
    /// That its row is not of now.
    fn as_of_line(&self, layout: &mut Layout, now: DateTime<Utc>) {
        let Ok(Outlook { as_of: Some(at), not_read: Some(error), .. }) = &self.billing else { return };
        let at = words::sentence_moment(*at, self.zone, now);
        let line = format!("{}: as of {at}; {}", self.account, is_not_known(error));
        layout.item(2, "!", Emphasis::Warn, &line);
    }

    fn text(&self, layout: &mut Layout, now: DateTime<Utc>) {
        match &self.billing {
            Err(error) => {
                layout.heading(format!("{}: not known", self.account));
                layout.item(2, "?", Emphasis::Warn, error);
            }
            Ok(billing) => {
                let read = words::sentence_moment(billing.as_of.unwrap_or(now), self.zone, now);
                match &billing.not_read {
                    Some(error) => {
                        layout.heading(format!("Forecast of {}, as of {read}", self.account));
                        let line = format!(
                            "{}; this is what the daemon read last, what to pay is counted from now",
                            is_not_known(error)
                        );
                        layout.item(2, "!", Emphasis::Warn, &line);
                    }
                    None => layout.heading(format!("Forecast of {}, {read}", self.account)),
                }
                self.facts(layout, billing, now);
                self.spans(layout, billing);
                self.chart(layout, billing, now);
                self.orders(layout, billing, now);
            }
        }
    }

    fn facts(&self, layout: &mut Layout, billing: &Outlook, now: DateTime<Utc>) {
        let money = |money| words::spaced_amount(money, &self.currency);
        let mut pairs = Vec::new();
        let balance = words::known_spaced_amount(billing.facts.balance, &self.currency);
        let tone = if billing.facts.balance.is_some_and(|money| !money.is_positive()) {
            Emphasis::Bad
        } else {
            Emphasis::Plain
        };
        let name = if billing.as_of.is_some() { "Balance then" } else { "Balance now" };
        pairs.push((name, Cell::toned(balance, tone)));
        let tone = if billing.is_near(now) { Emphasis::Bad } else { Emphasis::Warn };
        pairs.push(("Cut-off", words::cut_off_in_full(&billing.facts, tone, self.zone, now)));
        if let Some(at) = billing.data_deleted_at {
            let when =
                format!("{} ({})", words::sentence_moment(at, self.zone, now), words::distance(at, now));
            pairs.push(("Data deleted", Cell::toned(when, Emphasis::Bad)));
        }
        if let Some(by) = billing.facts.pay_by {
            pairs.push(("Pay by", self.pay_by(by, billing.lead_days, now)));
        }
        if let Some(computed) = billing.disagrees {
            let computed = words::sentence_moment(computed, self.zone, now);
            let text = format!("by the charges in the report the balance is used up {computed}");
            pairs.push(("But", Cell::toned(text, Emphasis::Warn)));
        }
        if let Some(broken) = billing.does_not_add_up {
            let broken = words::sentence_moment(broken, self.zone, now);
            let text =
                format!("the report does not add up from {broken} on; its balances are shown as they are");
            pairs.push(("Note", Cell::toned(text, Emphasis::Warn)));
        }
        if billing.moments_rejected > 0 {
            let text = format!("{} charges in the report could not be read", billing.moments_rejected);
            pairs.push(("Note", Cell::toned(text, Emphasis::Warn)));
        }
        if let Some(next) = &billing.next_charge {
            let at = words::sentence_moment(next.at, self.zone, now);
            pairs.push(("Next charge", Cell::new(format!("{}, {at}", money(next.amount)))));
        }
        if let (Some(day), Some(month)) = (billing.per_day, billing.per_month) {
            pairs.push(("Costs", Cell::new(format!("{} a day, {} a month", money(day), money(month)))));
        }
        layout.pairs(&pairs);
    }

    fn pay_by(&self, by: PayBy, lead_days: u32, now: DateTime<Utc>) -> Cell {
        let takes = words::count(lead_days as usize, "day", "days");
        let takes = format!("a payment takes {takes}");
        let day = |date| words::subject_day(date, self.zone, now);
        let weekend = |date| cut_off::weekend_advice(date, self.zone, now);
        let weekend =
            |date| weekend(date).map_or_else(String::new, |advice| format!("; a weekend: {advice}"));
        match by {
            PayBy::Now => Cell::toned("overdue: pay now", Emphasis::Bad),
            PayBy::Missed(date) => {
                Cell::toned(format!("now: {} was the last safe day ({takes})", day(date)), Emphasis::Bad)
            }
            PayBy::Today(date) => Cell::toned(format!("today ({takes}){}", weekend(date)), Emphasis::Bad),
            PayBy::On(date) => Cell::new(format!("{} ({takes}){}", day(date), weekend(date))),
        }
    }

    fn spans(&self, layout: &mut Layout, billing: &Outlook) {
        const COLUMNS: [Column; 3] =
            [Column::left("For"), Column::right("Pay"), Column::right("Balance then if you do not pay")];
        let rows = billing.pay.iter().map(|pay| {
            vec![
                Cell::new(format!("{} days", pay.days)),
                Cell::new(words::known_to_pay(pay.amount, &self.currency)),
                Cell::new(words::known_spaced_amount(pay.balance, &self.currency)),
            ]
        });
        layout.text(0, "", Emphasis::Plain);
        layout.table(2, &COLUMNS, &rows.collect::<Vec<_>>());
    }

    fn chart(&self, layout: &mut Layout, billing: &Outlook, now: DateTime<Utc>) {
        let disconnect = match billing.facts.disconnect {
            Disconnect::At { at, .. } => Some(at),
            Disconnect::Now => Some(now),
            Disconnect::NotExpected | Disconnect::Unknown => None,
        };
        layout.text(0, "", Emphasis::Plain);
        let from = billing.as_of.unwrap_or(now);
        if let Some(drawn) = Chart::new(&billing.report, from, disconnect, billing.lead_days, self.zone) {
            chart::draw(&drawn, billing.facts.pay_by, billing.as_of.is_none(), layout);
        }
    }

    fn orders(&self, layout: &mut Layout, billing: &Outlook, now: DateTime<Utc>) {
        const COLUMNS: [Column; 5] = [
            Column::flexible("Order"),
            Column::right("A day"),
            Column::right("A month"),
            Column::right("Share"),
            Column::left("Without it"),
        ];
        if billing.orders.dearest.is_empty() {
            return;
        }
        let cut_off = billing.facts.is_cut_off_ahead(now);
        let rows = billing.orders.dearest.iter().map(|order| {
            vec![
                Cell::new(words::order(order)),
                Cell::new(words::spaced_amount(order.per_day, "")),
                Cell::new(words::spaced_amount(order.per_month, "")),
                Cell::new(format!("{:.1} %", order.share_percent)),
                Cell::new(words::without_order(order.buys_days)),
            ]
        });
        // Without a cut-off there is nothing to gain.
        let columns = if cut_off { &COLUMNS[..] } else { &COLUMNS[..4] };
        layout.text(0, "", Emphasis::Plain);
        layout.table(2, columns, &rows.collect::<Vec<_>>());
        let others = billing.orders.orders_with_charges.saturating_sub(billing.orders.dearest.len());
        if others > 0 {
            layout.text(2, words::count(others, "other order", "other orders"), Emphasis::Faint);
        }
    }
}

fn is_not_known(error: &str) -> String {
    format!("the balance now is not known: {error}")
}

impl Outlook {
    /// The account is cut off within the ladder's top rung, or already is.
    fn is_near(&self, now: DateTime<Utc>) -> bool {
        match self.facts.disconnect {
            Disconnect::At { at, .. } => at - now <= chrono::Duration::days(i64::from(self.top_rung_days)),
            Disconnect::Now => true,
            Disconnect::NotExpected | Disconnect::Unknown => false,
        }
    }
}

fn zone_name<S: serde::Serializer>(zone: &Tz, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(zone.name())
}
