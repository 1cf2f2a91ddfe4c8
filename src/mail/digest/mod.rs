//! The digest: the state of everything once a week, so that silence is known to be health. Pure.

mod accounts;
mod tables;

use self::accounts::{Account, CutOff, PAY_DAYS, Totals};
use super::body::{Body, Section, Tone};
use super::context::Context;
use super::resources;
use crate::alert::{Digest, Item, Notice};
use crate::model::PayBy;
use crate::model::sanitize;
use crate::view::words;

/// Incidents listed, open ones and past ones each; rows of a table.
const MOST_ROWS: usize = 50;

/// Subject and content of a digest.
pub(super) fn write(notice: &Notice, facts: &Digest, context: &Context<'_>) -> (String, Body) {
    let week = Week::of(notice, facts, context);
    (week.subject(), week.body())
}

/// The incidents that a digest lists: the open ones, worst first, then those that are over.
pub(super) fn listed(items: &[Item]) -> Vec<&Item> {
    let (open, ended) = parted(items);
    open.into_iter().take(MOST_ROWS).chain(ended.into_iter().take(MOST_ROWS)).collect()
}

/// Open ones worst first; ended ones, the latest first.
fn parted(items: &[Item]) -> (Vec<&Item>, Vec<&Item>) {
    let (mut open, mut ended): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| item.ended.is_none());
    open.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.key.cmp(&b.key)));
    ended.sort_by(|a, b| b.ended.cmp(&a.ended).then_with(|| a.key.cmp(&b.key)));
    (open, ended)
}

/// What a digest is written from.
struct Week<'a> {
    facts: &'a Digest,
    context: &'a Context<'a>,
    /// The soonest to be paid first.
    accounts: Vec<Account<'a>>,
    open: Vec<&'a Item>,
    ended: Vec<&'a Item>,
    /// `main: sites: why`.
    unread: Vec<String>,
}

impl<'a> Week<'a> {
    fn of(notice: &'a Notice, facts: &'a Digest, context: &'a Context<'a>) -> Self {
        let names = facts.accounts.iter().map(|account| &account.name);
        let mut accounts: Vec<Account<'_>> =
            names.map(|name| Account::of(name, &notice.items, context)).collect();
        accounts.sort_by(|a, b| a.cut_off.cmp(&b.cut_off).then_with(|| a.name.cmp(b.name)));
        let unread = accounts
            .iter()
            .flat_map(|account| account.unread().into_iter().map(|line| format!("{}: {line}", account.name)));
        let unread = unread.collect();
        let (open, ended) = parted(&notice.items);
        Self { facts, context, accounts, open, ended, unread }
    }

    /// How many things wait for somebody.
    fn needs_count(&self) -> usize {
        self.needs().count() + self.accounts.iter().filter(|account| account.is_untold()).count()
    }

    /// What nobody has said to look after.
    fn needs(&self) -> impl Iterator<Item = &'a Item> {
        self.open.iter().copied().filter(|item| item.overlay.is_none())
    }

    /// `all well`, or what is not.
    fn summary(&self) -> String {
        match self.needs_count() {
            0 if !self.unread.is_empty() => "not everything could be read".to_owned(),
            0 if self.open.is_empty() => "all well".to_owned(),
            0 => "nothing new needs you".to_owned(),
            1 => "1 thing needs you".to_owned(),
            many => format!("{many} things need you"),
        }
    }

    /// `43 resources`; what was never read is not counted as none.
    fn resources(&self) -> String {
        let states = || self.accounts.iter().filter_map(|account| account.state);
        let read = states().any(|state| state.vms.read_at.is_some() || state.containers.read_at.is_some());
        if !read {
            return "no resources read yet".to_owned();
        }
        words::count(states().map(|state| state.resource_count()).sum(), "resource", "resources")
    }

    fn subject(&self) -> String {
        let mut parts = vec![self.summary(), self.resources()];
        parts.extend(self.paid());
        let not_known = self.accounts.iter().filter(|account| account.cut_off == CutOff::NotKnown).count();
        if not_known > 0 {
            parts.push(format!("{} not known", words::count(not_known, "balance", "balances")));
        }
        format!("[DIGEST] hostwatch: {}", parts.join(", "))
    }

    /// For how long everything is paid, in a few words; `None` where no balance is watched or known.
    fn paid(&self) -> Option<String> {
        let first = self.accounts.first()?;
        Some(match (first.cut_off, first.by) {
            (_, Some(PayBy::Now)) => {
                let overdue = self.accounts.iter().filter(|account| account.by == Some(PayBy::Now)).count();
                format!("{} overdue", words::count(overdue, "account", "accounts"))
            }
            (CutOff::At(edd), Some(by)) if first.on_ladder => match by.date() {
                Some(date) => format!("pay by {date}"),
                None => format!("{} goes dark {}", first.name, words::iso_day(edd, first.zone)),
            },
            (CutOff::At(edd), _) => format!("paid until {}", words::iso_day(edd, first.zone)),
            (CutOff::Beyond(end), _) => format!("paid until {} at least", words::iso_day(end, first.zone)),
            (CutOff::Now | CutOff::NotKnown | CutOff::NotWatched, _) => return None,
        })
    }

    fn body(&self) -> Body {
        let mut sections = Vec::new();
        sections.extend(self.here());
        if !self.unread.is_empty() {
            let mut section = Section::new("Could not be read");
            section.list = resources::first(self.unread.clone());
            sections.push(section);
        }
        sections.extend(self.open_incidents());
        sections.extend(self.to_pay());
        sections.push(self.states());
        sections.extend(self.money_to_come());
        sections.push(self.past_incidents());
        sections.push(self.proof());
        let names: Vec<_> = self.facts.accounts.iter().map(|account| account.name.clone()).collect();
        Body {
            tone: self.tone(),
            lead: self.lead(),
            sections,
            foot: vec![
                "Why anything was or was not mailed: hostwatch why, with its key".to_owned(),
                resources::sender_line(&names),
            ],
        }
    }

    fn tone(&self) -> Tone {
        match self.needs().map(|item| item.severity).max() {
            Some(worst) => worst.into(),
            None if self.needs_count() > 0 => Tone::Critical,
            None if self.unread.is_empty() && self.facts.mails_dead == 0 => Tone::Good,
            None => Tone::Warning,
        }
    }

    /// What, when, how much to pay by when.
    fn lead(&self) -> String {
        let zone = self.accounts.first().map_or(chrono_tz::Tz::UTC, |account| account.zone);
        let at = words::iso_weekday_moment(self.context.now, zone);
        let resources = self.resources();
        let overdue = self.accounts.iter().find(|account| account.is_untold());
        let overdue = overdue.map(|account| format!("Account {} overdue", account.name));
        let what = match (self.needs().next().map(resources::name).or(overdue), self.needs_count()) {
            (Some(first), 0 | 1) => format!(": {first}"),
            (Some(first), count) => format!(": {first} and {} more", count - 1),
            (None, _) => format!(", {resources}"),
        };
        let summary = words::capital(&self.summary());
        let mut lead = format!("{summary} on {at}{what}.");
        if let Some(money) = self.lead_money() {
            lead.push(' ');
            lead.push_str(&money);
        }
        lead
    }

    /// `Pay 275 RUB by Sunday 2026-03-01 to keep account main online for 30 days.`
    fn lead_money(&self) -> Option<String> {
        let billed = || self.accounts.iter().filter(|account| account.watches_billing());
        billed().next()?;
        let due = || {
            billed()
                .filter_map(|account| Some((account, account.to_pay()?)).filter(|due| due.1.is_positive()))
        };
        let not_known = billed().filter(|account| account.to_pay().is_none()).count();
        let mut said = match due().next() {
            Some((first, amount)) => {
                let amount = words::to_pay(amount, first.currency);
                let by = first.by.map_or_else(|| "soon".to_owned(), |by| by.in_sentence());
                format!("Pay {amount} {by} to keep account {} online for {PAY_DAYS} days.", first.name)
            }
            None if not_known > 0 => String::new(),
            None => format!("Nothing to pay for the next {PAY_DAYS} days."),
        };
        if due().count() > 1 {
            let total = self.total_to_pay().words(words::to_pay);
            said.push_str(&format!(" In all {total} for {} accounts.", due().count()));
        }
        if not_known > 0 {
            let accounts = words::count(not_known, "account", "accounts");
            said.push_str(&format!(" How much to pay for {accounts} is not known."));
        }
        Some(said.trim_start().to_owned())
    }

    fn total_to_pay(&self) -> Totals {
        let mut totals = Totals::default();
        for account in &self.accounts {
            if let Some(amount) = account.to_pay().filter(|amount| amount.is_positive()) {
                totals.add(account.currency, amount);
            }
        }
        totals
    }

    /// Where hostwatch itself would go dark.
    fn here(&self) -> Option<Section> {
        let names: Vec<_> = self.facts.accounts.iter().map(|account| account.name.clone()).collect();
        resources::lives_on(&names, self.context)
    }

    fn open_incidents(&self) -> Option<Section> {
        if self.open.is_empty() {
            return None;
        }
        let mut section = Section::new(format!("Open: {}", self.open.len()));
        section.list = self.open.iter().take(MOST_ROWS).map(|item| self.incident(item)).collect();
        section.lines.extend(beyond(self.open.len()));
        Some(section)
    }

    fn past_incidents(&self) -> Section {
        let zone = self.accounts.first().map_or(chrono_tz::Tz::UTC, |account| account.zone);
        let from = words::iso_moment(self.facts.from, zone);
        let mut section = Section::new(format!("Over since {from}"));
        if self.ended.is_empty() {
            section.lines.push("Nothing: no incident ended in this time.".to_owned());
        }
        section.list = self.ended.iter().take(MOST_ROWS).map(|item| self.incident(item)).collect();
        section.lines.extend(beyond(self.ended.len()));
        section
    }

    fn incident(&self, item: &Item) -> String {
        let zone = self.context.zone(&item.key.account);
        let account =
            if self.facts.accounts.len() > 1 { format!("{}: ", item.key.account) } else { String::new() };
        let since = words::iso_moment(item.since, zone);
        let until = item.ended.unwrap_or(self.context.now);
        let lasted = words::long_span(until - item.since);
        let when = match item.ended {
            Some(ended) => format!("from {since} to {}, {lasted}", words::iso_moment(ended, zone)),
            None => format!("since {since}, {lasted} now"),
        };
        let overlay = item.overlay.as_ref().map(|overlay| format!("; {}", sanitize::one_line(overlay, 80)));
        let overlay = overlay.unwrap_or_default();
        let name = resources::name(item);
        format!("{account}{name}: {}, {when}{overlay} ({})", item.severity, item.key)
    }
}

fn beyond(count: usize) -> Option<String> {
    let more = count.checked_sub(MOST_ROWS).filter(|&more| more > 0)?;
    Some(format!("and {more} more: `hostwatch incidents` lists all of them."))
}
