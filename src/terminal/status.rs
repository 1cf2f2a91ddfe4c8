//! `hostwatch status` as text: a running daemon's answer on `/api/v1/status` (docs/api.md). The daemon's
//! judgements are taken as they are. Pure.

use super::layout::{Cell, Column, Emphasis, Layout, Style};
use super::orders::OrderTable;
use super::words::{EN, cut_off_in_full};
use super::{Answer, records, text};
use crate::model::{Health, Money};
use crate::view::{
    AccountStatus, Billing, CollectorRow, Reader, ResourceRow, Status, Urgency, cut_off, words,
};

/// The number of accounts that are shown in full.
const MOST_IN_FULL: usize = 3;
/// The number of lines of a screen.
const MOST_LINES: usize = 30;
const MOST_ORDERS: usize = 5;

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// As much as fits on a screen.
    Screen,
    /// Everything that the daemon answered.
    All,
}

impl Status {
    /// The exit status for scripts.
    pub(crate) fn answer(&self) -> Answer {
        match self.headline.level {
            Urgency::Attention => Answer::NeedsYou,
            Urgency::Unknown => Answer::Unknown,
            Urgency::Notice | Urgency::Fine => Answer::Fine,
        }
    }

    /// The text.
    pub(crate) fn text(&self, style: Style, extent: Extent) -> String {
        let is_all = extent == Extent::All;
        let in_full = if is_all { self.accounts.len() <= MOST_IN_FULL } else { self.accounts.len() == 1 };
        let section = |write: &dyn Fn(&mut Layout)| {
            let mut layout = Layout::new(style);
            write(&mut layout);
            layout.finish()
        };
        let mut sections = vec![section(&|layout| self.headline(layout))];
        if self.accounts.len() > 1 {
            sections.push(section(&|layout| self.accounts(layout)));
        }
        for account in self.accounts.iter().filter(|_| in_full) {
            let billing = |billing| section(&|layout| self.billing(layout, account, billing, is_all));
            sections.extend(account.billing.as_ref().map(billing));
        }
        // The headline stays whole, and so does the balance of the only account.
        let whole = if self.accounts.len() > 1 { 1 } else { sections.len() };
        sections.push(section(&|layout| self.incidents(layout, is_all)));
        sections.push(section(&|layout| self.resources(layout)));
        sections.push(section(&|layout| self.collectors(layout, is_all && in_full)));
        sections.push(section(&|layout| self.mails(layout)));
        let running = self.reader().age(self.started_at);
        let own = format!("hostwatch {}, running for {running}", self.version);
        sections.push(section(&|layout| layout.text(0, &own, Emphasis::Faint)));
        sections.retain(|section| !section.is_empty());
        match extent {
            Extent::All => sections.join("\n"),
            Extent::Screen => shortened(&sections, whole, style),
        }
    }

    fn reader(&self) -> Reader {
        Reader::new(EN, self.generated_at)
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
        let reader = self.reader().within(account.time_zone);
        let billing = account.billing.as_ref();
        let cut_off = billing.map(|billing| reader.cut_off(billing.facts.disconnect));
        let pay = words::known_to_pay(billing.and_then(|billing| billing.to_pay(30)), &account.currency, EN);
        vec![
            Cell::toned(sign, tone),
            Cell::new(account.name.as_str()),
            Cell::new(cut_off.unwrap_or_else(|| "not known".to_owned())),
            Cell::new(pay),
            Cell::new(&account.headline.sentence),
        ]
    }

    fn billing(&self, layout: &mut Layout, account: &AccountStatus, billing: &Billing, with_orders: bool) {
        let reader @ Reader { now, .. } = self.reader().within(account.time_zone);
        let of = if self.accounts.len() > 1 { format!(" of {}", account.name) } else { String::new() };
        layout.heading(format!("Billing{of}, read {}", reader.distance(billing.read_at)));
        let balance = words::known_spaced_amount(billing.facts.balance, &account.currency, EN);
        let mut pairs = vec![("Balance", Cell::new(balance))];
        let tone = if billing.facts.disconnect.at().is_some_and(|at| at <= now) {
            Emphasis::Bad
        } else {
            Emphasis::Warn
        };
        pairs.push(("Cut-off", cut_off_in_full(&billing.facts, tone, reader)));
        let by = billing.facts.by(reader);
        let by = by.map(|by| format!(" {}", cut_off::by(Some(by), reader))).unwrap_or_default();
        let mut label = "Pay";
        for pay in &billing.pay {
            let by = if pay.amount.is_some_and(Money::is_positive) { by.as_str() } else { "" };
            let amount = words::known_to_pay(pay.amount, &account.currency, EN);
            let line = format!("{amount}{by} for {} days", pay.days);
            pairs.push((std::mem::take(&mut label), Cell::new(line)));
        }
        layout.pairs(&pairs);
        if with_orders {
            let table =
                OrderTable { title: "Costs most", most: MOST_ORDERS, currency: Some(&account.currency) };
            table.write(layout, &billing.orders, billing.facts.is_cut_off_ahead(now));
        }
    }

    fn incidents(&self, layout: &mut Layout, with_reason: bool) {
        let open = &self.incidents.open;
        layout.heading(if open.is_empty() { "No open incidents" } else { "Open incidents" });
        for row in open {
            let reader = self.reader().within(self.zone_of(&row.account));
            records::incident(layout, row, reader, with_reason);
        }
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
                (words::sorts(of_kind[0].kind, EN), Cell::new(states.collect::<Vec<_>>().join(" · ")))
            })
            .collect();
        layout.pairs(&pairs);
        let odd = |row: &&ResourceRow| row.health.is_problem();
        let odd: Vec<&ResourceRow> = resources.rows.iter().filter(odd).collect();
        for row in &odd {
            let tone = if row.health == Health::Bad { Emphasis::Bad } else { Emphasis::Warn };
            let sign = row.health.words(EN).0;
            let name = row.name.as_deref().map_or_else(String::new, |name| {
                format!(" {}", text::cut(&text::name(name), layout.width().saturating_sub(24).max(8)))
            });
            let of = if self.accounts.len() > 1 { format!("{}: ", row.account) } else { String::new() };
            let state = text::name(&row.state);
            layout.item(
                2,
                sign,
                tone,
                format!("{of}{}{name} ({}): {state}", words::sort(row.kind, EN), row.id),
            );
        }
        let not_well = resources.states.iter().filter(|count| count.health.is_problem());
        let not_well: usize = not_well.map(|count| count.count).sum();
        if let Some(left) = not_well.checked_sub(odd.len()).filter(|left| *left > 0) {
            layout.text(2, format!("{}; the status page lists all", words::more(left, EN)), Emphasis::Faint);
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
        let read = self.last_read(row);
        let (sign, tone, words) = match (row.success, row.complete) {
            (None, _) => ("?", Emphasis::Warn, "not read yet".to_owned()),
            (Some(false), _) => {
                let since = row.failing_since.map(|at| format!(" for {}", self.reader().age(at)));
                ("✕", Emphasis::Bad, format!("failing{}", since.unwrap_or_default()))
            }
            (Some(true), Some(false)) => ("!", Emphasis::Warn, format!("{read}, not all of it")),
            (Some(true), _) => ("✓", Emphasis::Good, read),
        };
        vec![Cell::toned(sign, tone), Cell::new(row.collector.as_str()), Cell::new(words)]
    }

    fn last_read(&self, row: &CollectorRow) -> String {
        let read = row.last_success.map(|at| format!("read {}", self.reader().distance(at)));
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
        let reader = self.reader();
        let last = self.mails.last_mail_at.map_or_else(|| "never".to_owned(), |at| reader.distance(at));
        let count = outbox.waiting();
        let oldest = outbox.oldest.filter(|_| count > 0);
        let oldest = oldest.map(|at| format!(", the oldest for {}", reader.age(at)));
        let waiting = if count > 0 { Emphasis::Warn } else { Emphasis::Plain };
        let refused = if outbox.refused > 0 { Emphasis::Bad } else { Emphasis::Plain };
        if outbox.unsure > 0 {
            let who =
                words::count(usize::try_from(outbox.unsure).unwrap_or(usize::MAX), "recipient", "recipients");
            let text = format!(
                "No reply came to the last mail to {who}: it may not have arrived (hostwatch outbox)."
            );
            layout.item(2, "!", Emphasis::Warn, text);
        }
        layout.pairs(&[
            ("Last sent", Cell::new(last)),
            ("Waiting", Cell::toned(format!("{count}{}", oldest.unwrap_or_default()), waiting)),
            ("Refused", Cell::toned(outbox.refused.to_string(), refused)),
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

/// The sections with a line between them. The longest ones lose their last lines until all fit; how many is said.
fn shortened(sections: &[String], whole: usize, style: Style) -> String {
    let mut kept: Vec<(Vec<&str>, usize)> =
        sections.iter().map(|section| (section.lines().collect(), 0)).collect();
    let height = |(lines, left): &(Vec<&str>, usize)| lines.len() + usize::from(*left > 0);
    while kept.iter().map(height).sum::<usize>() + kept.len() - 1 > MOST_LINES {
        let longest = kept.iter_mut().skip(whole).filter(|section| section.0.len() > 1);
        let Some((lines, left)) = longest.max_by_key(|section| section.0.len()) else { break };
        lines.pop();
        *left += 1;
    }
    let section = |(lines, left): (Vec<&str>, usize)| {
        let mut text = lines.join("\n") + "\n";
        if left > 0 {
            let mut layout = Layout::new(style);
            layout.text(2, format!("… {left} more (--all)"), Emphasis::Faint);
            text += &layout.finish();
        }
        text
    };
    kept.into_iter().map(section).collect::<Vec<_>>().join("\n")
}
