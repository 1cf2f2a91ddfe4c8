//! `hostwatch status` as text: a running daemon's answer on `/api/v1/status` (docs/api.md). The daemon's
//! judgements are taken as they are. Pure.

use super::layout::{Cell, Column, Emphasis, Layout, Style};
use super::words::EN;
use super::{Answer, forecast, records, text};
use crate::view::{AccountStatus, CollectorRow, Reader, ResourceRow, Status, Urgency, words};

/// The number of accounts and incidents that are listed; others are counted.
const MOST: usize = 10;

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
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        self.headline(&mut layout);
        match self.accounts.as_slice() {
            [] => {}
            [account] => self.billing(&mut layout, account),
            _ => self.accounts(&mut layout),
        }
        self.incidents(&mut layout);
        self.resources(&mut layout);
        self.collectors(&mut layout);
        self.mails(&mut layout);
        let running = self.reader().age(self.started_at);
        layout.text(0, "", Emphasis::Plain);
        layout.text(0, format!("hostwatch {}, running for {running}", self.version), Emphasis::Faint);
        layout.finish()
    }

    fn reader(&self) -> Reader {
        Reader::new(EN, self.generated_at)
    }

    fn headline(&self, layout: &mut Layout) {
        let (sign, tone) = sign(self.headline.level);
        layout.item(0, sign, tone, &self.headline.sentence);
        for line in self.headline.lines.iter().filter(|line| line.text != self.headline.sentence) {
            layout.item(2, "-", Emphasis::Faint, &line.text);
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
        let rows = self.accounts.iter().take(MOST).map(|account| self.account_row(account));
        layout.table(2, &COLUMNS, &rows.collect::<Vec<_>>());
        others(layout, self.accounts.len(), "hostwatch status --json");
    }

    fn account_row(&self, account: &AccountStatus) -> Vec<Cell> {
        let (sign, tone) = sign(account.headline.level);
        let reader = self.reader().within(account.time_zone);
        let billing = account.billing.as_ref();
        let cut_off = billing.map(|billing| reader.cut_off(billing.disconnect));
        let pay = words::known_to_pay(billing.and_then(|billing| billing.to_pay(30)), &account.currency, EN);
        vec![
            Cell::toned(sign, tone),
            Cell::new(account.name.as_str()),
            Cell::new(cut_off.unwrap_or_else(|| "not known".to_owned())),
            Cell::new(pay),
            Cell::new(&account.headline.sentence),
        ]
    }

    fn billing(&self, layout: &mut Layout, account: &AccountStatus) {
        let Some(billing) = &account.billing else { return };
        let reader = self.reader().within(account.time_zone);
        layout.heading(format!("Billing, read {}", reader.distance(billing.read_at)));
        forecast::section(layout, billing, &account.currency, reader);
    }

    fn incidents(&self, layout: &mut Layout) {
        let open = &self.incidents.open;
        layout.heading(if open.is_empty() { "No open incidents" } else { "Open incidents" });
        for row in open.iter().take(MOST) {
            records::incident(layout, row, self.reader().within(self.zone_of(&row.account)));
        }
        others(layout, open.len(), "hostwatch incidents");
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
                (
                    words::collected(of_kind[0].kind.seen_by(), EN),
                    Cell::new(states.collect::<Vec<_>>().join(" · ")),
                )
            })
            .collect();
        layout.pairs(&pairs);
        // A resource that no incident names stands here.
        let is_named = |row: &ResourceRow| {
            let keys = self.incidents.open.iter().map(|one| &one.key);
            keys.into_iter().any(|key| {
                key.account == row.account && key.kind.sort() == Some(row.kind) && key.id() == Some(row.id)
            })
        };
        let unnamed = resources.rows.iter().filter(|row| row.health.is_problem() && !is_named(row));
        for row in unnamed.clone().take(MOST) {
            let sort = words::sort(row.kind, EN);
            let name = row.name.as_deref().map(|name| format!(" {}", text::name(name))).unwrap_or_default();
            let state = text::name(&row.state);
            layout.item(
                2,
                row.health.words(EN).0,
                Emphasis::Warn,
                format!("{sort}{name} ({}): {state}", row.id),
            );
        }
        others(layout, unnamed.count(), "the status page");
    }

    /// The collectors that could not read everything.
    fn collectors(&self, layout: &mut Layout) {
        let several = self.accounts.len() > 1;
        let failing = self.accounts.iter().filter(|one| one.collectors.iter().any(|row| !row.is_well()));
        for account in failing.clone().take(MOST) {
            let of = if several { format!(" of {}", account.name) } else { String::new() };
            layout.heading(format!("Collectors{of}"));
            for row in account.collectors.iter().filter(|row| !row.is_well()) {
                let (sign, tone, words) = self.collector(row);
                layout.item(2, sign, tone, format!("{}: {words}", row.collector.as_str()));
            }
        }
        others(layout, failing.count(), "the status page");
    }

    fn collector(&self, row: &CollectorRow) -> (&'static str, Emphasis, String) {
        match row.success {
            None => ("?", Emphasis::Warn, "not read yet".to_owned()),
            Some(false) => {
                let since = row.failing_since.map(|at| format!(" for {}", self.reader().age(at)));
                let (since, read) = (since.unwrap_or_default(), self.last_read(row));
                let error = row.error.as_deref().unwrap_or("no reason was given");
                ("✕", Emphasis::Bad, format!("failing{since}, {read}: {error}"))
            }
            Some(true) => ("!", Emphasis::Warn, format!("{}, not all of it", self.last_read(row))),
        }
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
        let error = self.mails.server_error.as_ref().map(|error| format!(": {}", error.error));
        let waiting = if count > 0 { Emphasis::Warn } else { Emphasis::Plain };
        let refused = if outbox.refused > 0 { Emphasis::Bad } else { Emphasis::Plain };
        if outbox.unsure > 0 {
            let who =
                words::count(usize::try_from(outbox.unsure).unwrap_or(usize::MAX), "recipient", "recipients");
            let text = format!(
                "No reply came to a mail of the last week to {who}: it may not have arrived (hostwatch outbox)."
            );
            layout.item(2, "!", Emphasis::Warn, text);
        }
        layout.pairs(&[
            ("Last sent", Cell::new(last)),
            (
                "Waiting",
                Cell::toned(
                    format!("{count}{}{}", oldest.unwrap_or_default(), error.unwrap_or_default()),
                    waiting,
                ),
            ),
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

/// The number of rows that are not listed, and the place that lists all.
fn others(layout: &mut Layout, count: usize, place: &str) {
    if count > MOST {
        layout.text(2, format!("{}; {place} lists all", words::more(count - MOST, EN)), Emphasis::Faint);
    }
}
