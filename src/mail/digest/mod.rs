//! The digest: the state of everything once a week, so that silence is known to be health. Pure.

mod accounts;
mod tables;

use chrono::{DateTime, Duration, Utc};

use self::accounts::{AccountWeek, DueOn, PAY_DAYS, Totals};
use super::body::{Body, Section, Tone};
use super::context::Context;
use super::{parts, subject};
use crate::alert::{Digest, Item, Kind, Notice};
use crate::model::{AccountName, sanitize};
use crate::view::{cut_off, sentence, words};

/// Incidents listed, the open ones first; rows of a table.
const MOST_ROWS: usize = 50;

const DAY: Duration = Duration::days(1);

/// Subject and content of a digest.
pub(super) fn write(notice: &Notice, facts: &Digest, context: &Context<'_>) -> (String, Body) {
    let week = DigestMail::of(notice, facts, context);
    (week.subject(), week.body())
}

/// The incidents of a digest: the open ones, worst first, then those that are over.
pub(super) fn in_order(items: &[Item]) -> Vec<&Item> {
    let (open, ended) = parted(items);
    open.into_iter().chain(ended).collect()
}

/// Open ones worst first; ended ones, the latest first.
fn parted(items: &[Item]) -> (Vec<&Item>, Vec<&Item>) {
    let (mut open, mut ended): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| item.ended.is_none());
    open.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.key.cmp(&b.key)));
    ended.sort_by(|a, b| b.ended.cmp(&a.ended).then_with(|| a.key.cmp(&b.key)));
    (open, ended)
}

/// What a digest is written from.
struct DigestMail<'a> {
    facts: &'a Digest,
    context: &'a Context<'a>,
    /// The soonest to be paid first.
    accounts: Vec<AccountWeek<'a>>,
    open: Vec<&'a Item>,
    ended: Vec<&'a Item>,
    /// `main: sites: why`.
    unread: Vec<String>,
}

impl<'a> DigestMail<'a> {
    fn of(notice: &'a Notice, facts: &'a Digest, context: &'a Context<'a>) -> Self {
        let names = facts.accounts.iter().map(|account| &account.name);
        let mut accounts: Vec<AccountWeek<'_>> =
            names.map(|name| AccountWeek::of(name, &notice.items, context)).collect();
        accounts.sort_by(|a, b| a.cut_off.cmp(&b.cut_off).then_with(|| a.name.cmp(b.name)));
        let unread = accounts
            .iter()
            .flat_map(|account| account.unread().into_iter().map(|line| format!("{}: {line}", account.name)));
        let unread = unread.collect();
        let (open, ended) = parted(&notice.items);
        Self { facts, context, accounts, open, ended, unread }
    }

    /// How many things need somebody.
    fn needs_count(&self) -> usize {
        self.needs().count()
            + self.accounts.iter().filter(|account| account.is_overdue_without_incident()).count()
    }

    /// Open incidents that are neither acknowledged nor silenced.
    fn needs(&self) -> impl Iterator<Item = &'a Item> {
        self.open.iter().copied().filter(|item| item.muted.is_none())
    }

    /// `all well`, or what is not.
    fn summary(&self) -> String {
        match self.needs_count() {
            0 if !self.unread.is_empty() => "some data is missing".to_owned(),
            0 if self.open.is_empty() => "all well".to_owned(),
            0 => "no new problems".to_owned(),
            count => words::count(count, "problem", "problems"),
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

    /// `[DIGEST] All well, 5 resources, paid until 31 May at least (main)`.
    fn subject(&self) -> String {
        subject::line("DIGEST", &self.sentence(), &self.names())
    }

    fn names(&self) -> Vec<AccountName> {
        self.facts.accounts.iter().map(|account| account.name.clone()).collect()
    }

    /// A moment in the zone of the first account.
    fn moment(&self, at: DateTime<Utc>) -> String {
        let zone = self.accounts.first().map_or(chrono_tz::Tz::UTC, |account| account.zone);
        words::sentence_moment(at, zone, self.context.now)
    }

    /// Money and problems first; else that all is well.
    fn sentence(&self) -> String {
        let money = self.accounts.iter().filter_map(AccountWeek::near_cut_off).collect::<Vec<_>>();
        let problems = self.needs().filter(|item| item.key.kind != Kind::Disconnect);
        let problems = subject::by_resource(problems, self.context);
        if money.is_empty() && problems.is_empty() {
            self.calm()
        } else {
            sentence::with_money(&money, &problems)
        }
    }

    fn calm(&self) -> String {
        let mut parts = vec![words::capital(&self.summary()), self.resources()];
        parts.extend(self.paid());
        let not_known = self.accounts.iter().filter(|account| account.cut_off == DueOn::NotKnown).count();
        if not_known > 0 {
            parts.push(format!("{} not known", words::count(not_known, "balance", "balances")));
        }
        parts.join(", ")
    }

    /// For how long everything is paid, in a few words; `None` where no balance is watched or known.
    fn paid(&self) -> Option<String> {
        let first = self.accounts.first()?;
        let day = |at| words::short_day_of(at, first.zone, self.context.now);
        let until = match first.cut_off {
            DueOn::At(edd) => day(edd),
            DueOn::Beyond(end) => format!("{} at least", day(end)),
            DueOn::Now | DueOn::NotKnown | DueOn::NotWatched => return None,
        };
        let is_known =
            |account: &&AccountWeek<'_>| matches!(account.cut_off, DueOn::At(_) | DueOn::Beyond(_));
        let whose = match self.accounts.iter().filter(is_known).count() {
            all if all == self.accounts.len() => String::new(),
            1 => format!("{} ", first.name),
            some => format!("{some} accounts "),
        };
        Some(format!("{whose}paid until {until}"))
    }

    fn body(&self) -> Body {
        let mut sections = Vec::new();
        sections.extend(parts::lives_on(&self.names(), self.context));
        if !self.unread.is_empty() {
            let mut section = Section::new("Could not be read");
            section.list = parts::first(self.unread.clone(), parts::MOST_NAMES);
            sections.push(section);
        }
        sections.extend(self.open_incidents());
        sections.extend(self.to_pay());
        sections.push(self.states());
        sections.extend(self.money_to_come());
        sections.push(self.past_incidents());
        sections.push(self.proof());
        let worst = self.open.first().or(self.ended.first()).copied();
        let all = self.open.len() + self.ended.len();
        Body {
            tone: self.tone(),
            lead: format!("{}, {}.", self.sentence(), self.moment(self.context.now)),
            notes: self.lead_money().into_iter().collect(),
            sections,
            foot: parts::foot(worst, all, false, &self.names()),
            ..Body::default()
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

    /// `Pay 275 RUB by Sun 1 Mar to keep account main online for 30 days.`
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
                let amount = words::spaced_to_pay(amount, first.currency);
                let by = first.by.map(|by| cut_off::by(Some(by), first.zone, self.context.now));
                let by = by.unwrap_or_else(|| "soon".to_owned());
                format!("Pay {amount} {by} to keep account {} online for {PAY_DAYS} days.", first.name)
            }
            None if not_known > 0 => String::new(),
            None => format!("Nothing to pay for the next {PAY_DAYS} days."),
        };
        if due().count() > 1 {
            let total = self.total_to_pay().words(words::spaced_to_pay);
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

    fn open_incidents(&self) -> Option<Section> {
        if self.open.is_empty() {
            return None;
        }
        let mut section = Section::new(format!("Open: {}", self.open.len()));
        section.list = self.open.iter().take(MOST_ROWS).map(|item| self.incident(item)).collect();
        section.lines.extend(beyond(self.open.len(), MOST_ROWS));
        Some(section)
    }

    fn past_incidents(&self) -> Section {
        let mut section = Section::new(format!("Resolved since {}", self.moment(self.facts.from)));
        if self.ended.is_empty() {
            section.lines.push("None.".to_owned());
        }
        let room = MOST_ROWS.saturating_sub(self.open.len());
        section.list = self.ended.iter().take(room).map(|item| self.incident(item)).collect();
        section.lines.extend(beyond(self.ended.len(), room));
        section
    }

    /// In one line of a mail, unless the name is long.
    fn incident(&self, item: &Item) -> String {
        let zone = self.context.zone(&item.key.account);
        let now = self.context.now;
        let when = match item.ended {
            Some(ended) => {
                let lasted = words::lasted(ended - item.since);
                format!("{} ({lasted})", words::period(item.since, ended, zone, now))
            }
            // Of one that lasts for days the day will do.
            None if now - item.since >= DAY => format!("since {}", words::day_of(item.since, zone, now)),
            None => format!("since {}", words::sentence_moment(item.since, zone, now)),
        };
        let quiet = item.muted.as_ref().map(|why| format!("; {}", sanitize::one_line(why, 80)));
        let quiet = quiet.unwrap_or_default();
        let cut_off = self.accounts.iter().find(|account| *account.name == item.key.account);
        let cut_off = cut_off.filter(|_| item.key.kind == Kind::Disconnect && item.ended.is_none());
        let title = match cut_off.and_then(AccountWeek::near_cut_off) {
            Some(cut_off) => cut_off.text,
            None => parts::title(item, self.facts.accounts.len() > 1),
        };
        format!("{title}: {}, {when}{quiet}", item.severity)
    }
}

fn beyond(count: usize, listed: usize) -> Option<String> {
    let more = count.checked_sub(listed).filter(|&more| more > 0)?;
    let more = match listed {
        0 => words::count(more, "incident", "incidents"),
        _ => format!("and {more} more"),
    };
    Some(format!("{more}: hostwatch incidents lists all of them."))
}
