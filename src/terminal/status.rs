//! `hostwatch status`: what a running daemon answers on `/api/v1/status` (docs/api.md), for the terminal.
//! Takes the answer as it is and judges nothing anew. Pure.

use chrono::{DateTime, Utc};

use super::layout::{Cell, Column, Emphasis, Layout, Style};
use super::{Answer, records, text, words};
use crate::model::Money;
use crate::view::cut_off;
use crate::view::{AccountStatus, Billing, CollectorRow, Health, ResourceRow, Status, Urgency};

/// Of several accounts, no more are shown in full.
const MOST_IN_FULL: usize = 3;
/// Lists end after so many lines; the status page has them all.
const MOST_LISTED: usize = 20;
const MOST_ORDERS: usize = 5;

impl Status {
    /// What a script wants to know.
    pub(crate) fn answer(&self) -> Answer {
        match self.headline.level {
            Urgency::Attention => Answer::NeedsYou,
            Urgency::Unknown => Answer::Unknown,
            Urgency::Notice | Urgency::Fine => Answer::Fine,
        }
    }

    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        self.headline(&mut layout);
        let in_full = self.accounts.len() <= MOST_IN_FULL;
        if self.accounts.len() > 1 {
            self.accounts(&mut layout);
        }
        for account in self.accounts.iter().filter(|_| in_full) {
            if let Some(billing) = &account.billing {
                self.billing(&mut layout, account, billing);
            }
        }
        self.incidents(&mut layout);
        self.resources(&mut layout);
        self.collectors(&mut layout, in_full);
        self.mails(&mut layout);
        layout.text(0, "", Emphasis::Plain);
        let running = words::age(self.started_at, self.generated_at);
        layout.text(0, format!("hostwatch {}, running for {running}", self.version), Emphasis::Faint);
        layout.finish()
    }

    fn headline(&self, layout: &mut Layout) {
        let (sign, tone) = sign(self.headline.level);
        layout.item(0, sign, tone, &self.headline.sentence);
        for detail in self.headline.details.iter().filter(|detail| **detail != self.headline.sentence) {
            layout.item(2, "-", Emphasis::Faint, detail);
        }
    }

    fn accounts(&self, layout: &mut Layout) {
        const COLUMNS: [Column; 5] = [
            Column::left(""),
            Column::left("Account"),
            Column::left("Cut-off"),
            Column::right("Pay for 30 days"),
            Column::flexible("State"),
        ];
        layout.heading(words::count(self.accounts.len(), "account", "accounts"));
        let rows: Vec<Vec<Cell>> = self.accounts.iter().map(|account| self.account_row(account)).collect();
        layout.table(2, &COLUMNS, &rows);
    }

    fn account_row(&self, account: &AccountStatus) -> Vec<Cell> {
        let (sign, tone) = sign(account.headline.level);
        let zone = account.zone();
        let billing = account.billing.as_ref();
        let cut_off =
            billing.map(|billing| words::cut_off_day(billing.facts.disconnect, zone, self.generated_at));
        let pay = words::known_to_pay(billing.and_then(|billing| billing.to_pay(30)), &account.currency);
        vec![
            Cell::toned(sign, tone),
            Cell::new(account.name.as_str()),
            Cell::new(cut_off.unwrap_or_else(|| "not known".to_owned())),
            Cell::new(pay),
            Cell::new(&account.headline.sentence),
        ]
    }

    fn billing(&self, layout: &mut Layout, account: &AccountStatus, billing: &Billing) {
        let (zone, now) = (account.zone(), self.generated_at);
        let of = if self.accounts.len() > 1 { format!(" of {}", account.name) } else { String::new() };
        layout.heading(format!("Billing{of}, read {}", words::distance(billing.read_at, now)));
        let balance = words::known_spaced_amount(billing.facts.balance, &account.currency);
        let mut pairs = vec![("Balance", Cell::new(balance))];
        let tone = if billing.facts.disconnect.at().is_some_and(|at| at <= now) {
            Emphasis::Bad
        } else {
            Emphasis::Warn
        };
        let cut_off = words::cut_off_in_full(&billing.facts, tone, zone, now);
        pairs.push(("Cut-off", cut_off));
        let by = billing.facts.pay_by.map(|by| by.seen_at(zone, now));
        let by = by.map(|by| format!(" {}", cut_off::by(Some(by), zone, now)));
        let by = by.unwrap_or_default();
        let mut label = "Pay";
        for pay in &billing.pay {
            let by = if pay.amount.is_some_and(Money::is_positive) { by.as_str() } else { "" };
            let amount = words::known_to_pay(pay.amount, &account.currency);
            let line = format!("{amount}{by} for {} days", pay.days);
            pairs.push((std::mem::take(&mut label), Cell::new(line)));
        }
        layout.pairs(&pairs);
        self.orders(layout, account, billing);
    }

    fn orders(&self, layout: &mut Layout, account: &AccountStatus, billing: &Billing) {
        const COLUMNS: [Column; 4] = [
            Column::flexible("Costs most"),
            Column::right("A day"),
            Column::right("Share"),
            Column::left("Without it"),
        ];
        let rows = billing.orders.dearest.iter().take(MOST_ORDERS).map(|order| {
            let name = words::order(order);
            vec![
                Cell::new(name),
                Cell::new(words::spaced_amount(order.per_day, &account.currency)),
                Cell::new(format!("{:.1} %", order.share_percent)),
                Cell::new(words::without_order(order.buys_days)),
            ]
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        if !rows.is_empty() {
            // Without a cut-off there is nothing to gain.
            let is_ahead = billing.facts.is_cut_off_ahead(self.generated_at);
            let columns = if is_ahead { &COLUMNS[..] } else { &COLUMNS[..3] };
            layout.table(2, columns, &rows);
            let others = billing.orders.orders_with_charges.saturating_sub(rows.len());
            if others > 0 {
                layout.text(2, words::count(others, "other order", "other orders"), Emphasis::Faint);
            }
        }
    }

    fn incidents(&self, layout: &mut Layout) {
        let open = &self.incidents.open;
        layout.heading(if open.is_empty() { "No open incidents" } else { "Open incidents" });
        for row in open.iter().take(MOST_LISTED) {
            records::incident(layout, row, self.zone_of(&row.account), self.generated_at);
        }
        more(layout, open.len());
    }

    fn resources(&self, layout: &mut Layout) {
        let resources = &self.resources;
        layout.heading(words::count(resources.total, "resource", "resources"));
        let pairs: Vec<(&str, Cell)> = resources
            .states
            .chunk_by(|a, b| a.kind == b.kind)
            .map(|of_kind| {
                let states = of_kind.iter().map(|count| {
                    let state = text::cut(&text::name(&count.state), 40);
                    format!("{} {state}", count.count)
                });
                (of_kind[0].kind.plural(), Cell::new(states.collect::<Vec<_>>().join(" · ")))
            })
            .collect();
        layout.pairs(&pairs);
        let odd = |row: &&ResourceRow| is_odd(row.health);
        let odd: Vec<&ResourceRow> = resources.rows.iter().filter(odd).collect();
        for row in odd.iter().take(MOST_LISTED) {
            let tone = if row.health == Health::Bad { Emphasis::Bad } else { Emphasis::Warn };
            let sign = row.health.words().0;
            let name = row.name.as_deref().map_or_else(String::new, |name| {
                format!(" {}", text::cut(&text::name(name), layout.width().saturating_sub(24).max(8)))
            });
            let of = if self.accounts.len() > 1 { format!("{}: ", row.account) } else { String::new() };
            let state = text::name(&row.state);
            layout.item(2, sign, tone, format!("{of}{}{name} ({}): {state}", row.kind.in_sentence(), row.id));
        }
        let not_well = resources.states.iter().filter(|count| is_odd(count.health));
        let not_well: usize = not_well.map(|count| count.count).sum();
        if not_well > odd.len().min(MOST_LISTED) {
            more(layout, not_well);
        }
    }

    fn collectors(&self, layout: &mut Layout, in_full: bool) {
        const COLUMNS: [Column; 3] = [Column::left(""), Column::left(""), Column::flexible("")];
        let several = self.accounts.len() > 1;
        for account in &self.accounts {
            let rows = account.collectors.iter().filter(|row| in_full || !row.is_well());
            let rows: Vec<Vec<Cell>> = rows.map(|row| self.collector(row)).collect();
            if rows.is_empty() {
                continue;
            }
            let of = if several { format!(" of {}", account.name) } else { String::new() };
            layout.heading(format!("Collectors{of}"));
            layout.table(2, &COLUMNS, &rows);
            for row in account.collectors.iter().filter(|row| row.success == Some(false)) {
                let error = row.error.as_deref().unwrap_or("no reason was given");
                layout.text(
                    4,
                    format!("{}, {}: {error}", row.collector.as_str(), self.last_read(row)),
                    Emphasis::Plain,
                );
            }
        }
    }

    fn collector(&self, row: &CollectorRow) -> Vec<Cell> {
        let now = self.generated_at;
        let read = self.last_read(row);
        let (sign, tone, words) = match (row.success, row.complete) {
            (None, _) => ("?", Emphasis::Warn, "not read yet".to_owned()),
            (Some(false), _) => {
                let since = row.failing_since.map(|at| format!(" for {}", words::age(at, now)));
                ("✕", Emphasis::Bad, format!("failing{}", since.unwrap_or_default()))
            }
            (Some(true), Some(false)) => ("!", Emphasis::Warn, format!("{read}, not all of it")),
            (Some(true), _) => ("✓", Emphasis::Good, read),
        };
        vec![Cell::toned(sign, tone), Cell::new(row.collector.as_str()), Cell::new(words)]
    }

    fn last_read(&self, row: &CollectorRow) -> String {
        let read = row.last_success.map(|at| format!("read {}", words::distance(at, self.generated_at)));
        read.unwrap_or_else(|| "never read".to_owned())
    }

    fn mails(&self, layout: &mut Layout) {
        layout.heading("Mails");
        if let Some(clock) = &self.clock {
            layout.item(2, "!", Emphasis::Warn, format!("{clock}: set it right, timedatectl set-ntp true."));
        }
        if let Some(vm) = &self.mails.lives_on {
            let text =
                format!("This daemon runs on what it watches, {vm}: cut off with it, it mails nobody.");
            layout.item(2, "!", Emphasis::Warn, text);
        }
        let Some(outbox) = &self.mails.outbox else {
            layout.text(2, "off: no [email] is configured", Emphasis::Plain);
            return;
        };
        let now = self.generated_at;
        let last =
            |at: Option<DateTime<Utc>>| at.map(|at| format!(", the last {}", words::distance(at, now)));
        let queued = outbox.waiting();
        let oldest = outbox.oldest.filter(|_| queued > 0);
        let oldest = oldest.map(|at| format!(", the oldest for {}", words::age(at, now)));
        let waiting = if queued > 0 { Emphasis::Warn } else { Emphasis::Plain };
        let given_up = if outbox.dead > 0 { Emphasis::Bad } else { Emphasis::Plain };
        layout.pairs(&[
            (
                "Sent",
                Cell::new(format!("{}{}", outbox.sent, last(self.mails.last_mail_at).unwrap_or_default())),
            ),
            ("Waiting", Cell::toned(format!("{queued}{}", oldest.unwrap_or_default()), waiting)),
            ("Given up", Cell::toned(outbox.dead.to_string(), given_up)),
        ]);
    }
}

fn sign(level: Urgency) -> (&'static str, Emphasis) {
    let tone = match level {
        Urgency::Attention => Emphasis::Bad,
        Urgency::Unknown | Urgency::Notice => Emphasis::Warn,
        Urgency::Fine => Emphasis::Good,
    };
    (level.sign(), tone)
}

fn more(layout: &mut Layout, all: usize) {
    if all > MOST_LISTED {
        layout.text(2, format!("and {} more; the status page lists all", all - MOST_LISTED), Emphasis::Faint);
    }
}

/// Somebody should look at it.
fn is_odd(health: Health) -> bool {
    matches!(health, Health::Bad | Health::Unknown)
}
