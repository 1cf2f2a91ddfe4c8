//! `hostwatch forecast` as text: the forecast of a report in words and tables. Pure.

mod value;

pub(crate) use value::{AccountForecast, BILLING_OFF, Forecasts};

use chrono::{DateTime, Utc};

use super::layout::{Cell, Column, Emphasis, Layout, Style};
use super::orders;
use super::words::{EN, cut_off_in_full};
use crate::model::PayBy;
use crate::view::{Billing, Reader, cut_off, words};

/// With more accounts only the table is shown.
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
            let reader = Reader::english(account.zone, self.generated_at);
            let name = Cell::new(account.account.as_str());
            let Some(billing) = &account.billing else {
                return vec![name, Cell::toned("not known", Emphasis::Warn)];
            };
            let ends = reader.cut_off(billing.disconnect);
            let pay_by = billing.by(reader).map(|by| cut_off::day_to_pay(by, reader));
            let pay = words::known_to_pay(billing.to_pay(30), &account.currency, EN);
            vec![
                name,
                Cell::new(words::known_spaced_amount(billing.balance, &account.currency, EN)),
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
    /// A line that says that the account's row is not of now.
    fn as_of_line(&self, layout: &mut Layout, now: DateTime<Utc>) {
        let Some((billing, error)) = self.billing.as_ref().zip(self.error.as_ref()) else { return };
        let at = Reader::english(self.zone, now).moment(billing.read_at);
        let line = format!("{}: as of {at}; {}", self.account, is_not_known(error));
        layout.item(2, "!", Emphasis::Warn, &line);
    }

    fn text(&self, layout: &mut Layout, now: DateTime<Utc>) {
        match &self.billing {
            None => {
                layout.heading(format!("{}: not known", self.account));
                layout.item(2, "?", Emphasis::Warn, self.error.as_deref().unwrap_or_default());
            }
            Some(billing) => {
                let reader = Reader::english(self.zone, now);
                let read = reader.moment(billing.read_at);
                layout.heading(format!("Forecast of {}, as of {read}", self.account));
                if let Some(error) = &self.error {
                    let line = format!(
                        "{}; this is what the daemon read last, what to pay is counted from now",
                        is_not_known(error)
                    );
                    layout.item(2, "!", Emphasis::Warn, &line);
                }
                section(layout, billing, &self.currency, reader);
                if !billing.orders.dearest.is_empty() {
                    layout.text(0, "", Emphasis::Plain);
                }
                orders::table(layout, &billing.orders);
            }
        }
    }
}

/// The section about money, with what to pay; `status` has it too.
pub(super) fn section(layout: &mut Layout, billing: &Billing, currency: &str, reader: Reader) {
    facts(layout, billing, currency, reader);
    spans(layout, billing, currency);
}

fn facts(layout: &mut Layout, billing: &Billing, currency: &str, reader: Reader) {
    let money = |money| words::spaced_amount(money, currency, EN);
    let mut pairs = Vec::new();
    let balance = words::known_spaced_amount(billing.balance, currency, EN);
    let tone = if billing.balance.is_some_and(|money| !money.is_positive()) {
        Emphasis::Bad
    } else {
        Emphasis::Plain
    };
    pairs.push(("Balance", Cell::toned(balance, tone)));
    let is_near = billing.is_near(reader.zone, reader.now);
    let tone = if is_near { Emphasis::Bad } else { Emphasis::Warn };
    pairs.push(("Cut-off", cut_off_in_full(billing, tone, reader)));
    if let Some(at) = billing.data_deleted_at {
        let when = format!("{} ({})", reader.moment(at), reader.distance(at));
        pairs.push(("Data deleted", Cell::toned(when, Emphasis::Bad)));
    }
    if let Some(by) = billing.by(reader) {
        let tone = if matches!(by, PayBy::On(_)) { Emphasis::Plain } else { Emphasis::Bad };
        let words = cut_off::by_in_full(by, billing.lead_days, reader);
        let words = words.unwrap_or_else(|| cut_off::day_to_pay(by, reader));
        pairs.push(("Pay by", Cell::toned(words, tone)));
    }
    if let Some(computed) = billing.disconnect_by_charges {
        let computed = reader.moment(computed);
        let text = format!("by the charges in the report the balance is used up {computed}");
        pairs.push(("But", Cell::toned(text, Emphasis::Warn)));
    }
    if let Some(broken) = billing.does_not_add_up {
        let broken = reader.moment(broken);
        let text = format!("the report does not add up from {broken} on; its balances are shown as they are");
        pairs.push(("Note", Cell::toned(text, Emphasis::Warn)));
    }
    if billing.moments_rejected > 0 {
        let charges = usize::try_from(billing.moments_rejected).unwrap_or(usize::MAX);
        let charges = EN.count(charges, words::CHARGES);
        let text = format!("{charges} in the report could not be read");
        pairs.push(("Note", Cell::toned(text, Emphasis::Warn)));
    }
    if let Some(next) = &billing.next_charge {
        let at = reader.moment(next.at);
        pairs.push(("Next charge", Cell::new(format!("{}, {at}", money(next.amount)))));
    }
    if let (Some(day), Some(month)) = (billing.per_day, billing.per_month) {
        pairs.push(("Costs", Cell::new(format!("{} a day, {} a month", money(day), money(month)))));
    }
    layout.pairs(&pairs);
}

fn spans(layout: &mut Layout, billing: &Billing, currency: &str) {
    const COLUMNS: [Column; 3] =
        [Column::left("For"), Column::right("Pay"), Column::right("Balance then if you do not pay")];
    let rows = billing.pay.iter().map(|pay| {
        vec![
            Cell::new(format!("{} days", pay.days)),
            Cell::new(words::known_to_pay(pay.amount, currency, EN)),
            Cell::new(words::known_spaced_amount(pay.balance, currency, EN)),
        ]
    });
    layout.text(0, "", Emphasis::Plain);
    layout.table(2, &COLUMNS, &rows.collect::<Vec<_>>());
}

fn is_not_known(error: &str) -> String {
    format!("the balance now is not known: {error}")
}
