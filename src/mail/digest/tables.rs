//! The tables of a digest: to pay, states, money to come, polls. Each has at most so many rows; what is
//! added up is added up over all accounts. Pure.

use super::accounts::{AccountWeek, DueOn, Totals};
use super::{DigestMail, MOST_ROWS};
use crate::alert::Sort;
use crate::mail::body::{Figure, Section, Table};
use crate::mail::chart;
use crate::mail::parts::few;
use crate::model::forecast::SPANS_DAYS;
use crate::model::sanitize;
use crate::model::{Collector, ContainerState, SiteState, VmState};
use crate::view::chart::Chart;
use crate::view::health::SeenResource;
use crate::view::{cut_off, words};

const MONTH_DAYS: u32 = 30;
/// Accounts named in a sentence.
const MOST_NAMED: usize = 10;
const NOT_READ: &str = "not read yet";
const NOT_KNOWN: &str = "not known";
const NONE: &str = "–";

impl DigestMail<'_> {
    /// By when to pay how much, the soonest first.
    pub(super) fn to_pay(&self) -> Option<Section> {
        let billed: Vec<&AccountWeek<'_>> = self.billed();
        if billed.is_empty() {
            return None;
        }
        let mut section = Section::new("To pay for 7, 30 and 90 days, the soonest first");
        let [week, month, quarter] = SPANS_DAYS.map(|days| format!("{days} days"));
        let head = ["Account", "Pay by", &week, &month, &quarter, "Cut-off", "Balance"];
        section.table = table(&head, &billed, pay_row);
        section.lines.extend(more(billed.len()));
        section.lines.extend(not_known(&billed, "How much to pay is not known", |a| a.to_pay().is_none()));
        section.lines.extend(ends(&billed));
        section.lines.extend(a_month(&billed));
        section.figure = match self.accounts.as_slice() {
            [one] => self.figure(one),
            _ => None,
        };
        Some(section)
    }

    fn figure(&self, account: &AccountWeek<'_>) -> Option<Figure> {
        let (report, from) = account.report?;
        let disconnect = match account.cut_off {
            DueOn::At(edd) => Some(edd),
            DueOn::Now | DueOn::NotKnown | DueOn::Beyond(_) | DueOn::NotWatched => None,
        };
        let drawn = Chart::new(report, from, disconnect, account.lead_days, account.zone)?;
        Some(chart::figure(&drawn.zoomed(self.context.now), account.currency, self.context.now))
    }

    /// What was spent, and the balance to come.
    pub(super) fn money_to_come(&self) -> Option<Section> {
        let billed = self.billed();
        if billed.is_empty() {
            return None;
        }
        let mut section = Section::new("Spent, and the balance to come if nothing is paid");
        let head = ["Account", "Last 7 days", "Last 30 days", "In 7 days", "In 30 days", "In 90 days"];
        section.table = table(&head, &billed, |account| {
            let mut row = vec![account.name.to_string()];
            row.extend([7, 30].map(|days| account.money(account.spent(days))));
            row.extend(SPANS_DAYS.map(|days| account.money(account.due(days).and_then(|due| due.balance))));
            row
        });
        section.lines.extend(more(billed.len()));
        if billed.len() > 1 {
            let mut spent = Totals::default();
            for account in &billed {
                if let Some(sum) = account.spent(30) {
                    spent.add(account.currency, sum);
                }
            }
            if !spent.is_empty() {
                let of = words::count(spent.count(), "account", "accounts");
                let sum = spent.words(words::spaced_amount);
                section.lines.push(format!("In all spent in the last 30 days: {sum}, by {of}."));
            }
        }
        section.lines.extend(not_known(&billed, "What was spent is not known", |a| a.spent(30).is_none()));
        section.lines.extend(stale(&billed, "Charges", Collector::Charges));
        Some(section)
    }

    /// How many of what are in which state.
    pub(super) fn states(&self) -> Section {
        let accounts: Vec<&AccountWeek<'_>> = self.accounts.iter().collect();
        let mut section = Section::new("The state of everything");
        section.table = table(&["Account", "VMs", "Containers", "Sites"], &accounts, |account| {
            let counted = [Sort::Vm, Sort::Container, Sort::Site].map(|sort| counted(account, sort));
            std::iter::once(account.name.to_string()).chain(counted).collect()
        });
        section.lines.extend(more(accounts.len()));
        for (what, collector) in
            [("VMs", Collector::Vms), ("Containers", Collector::Containers), ("Sites", Collector::Sites)]
        {
            section.lines.extend(stale(&accounts, what, collector));
        }
        section
    }

    /// That it was watched: mails and polls of the week.
    pub(super) fn proof(&self) -> Section {
        let facts = self.facts;
        let mut section = Section::new("Monitoring health");
        section.row("Time", format!("{} to {}", self.moment(facts.from), self.moment(facts.to)));
        let mut mails = vec![format!("{} sent", facts.mails_sent)];
        mails.push(match facts.mails_dead {
            0 => "none given up".to_owned(),
            dead => format!("{dead} given up (hostwatch outbox says which)"),
        });
        mails.push(match facts.mails_queued {
            0 => "none waiting".to_owned(),
            queued => format!("{queued} waiting"),
        });
        section.row("Mails", mails.join(", "));
        let polls: u64 = facts.accounts.iter().map(|account| account.polls).sum();
        let failed: u64 = facts.accounts.iter().map(|account| account.polls_failed).sum();
        section.row("Polls", polled(polls, failed));
        if facts.accounts.len() > 1 {
            // Who failed most, first: beyond the rows shown there is only better.
            let mut accounts: Vec<_> = facts.accounts.iter().collect();
            accounts.sort_by(|a, b| {
                let worse = (b.polls == 0, b.polls_failed).cmp(&(a.polls == 0, a.polls_failed));
                worse.then_with(|| a.name.cmp(&b.name))
            });
            let head = ["Account", "Polls", "Failed"].map(str::to_owned);
            let rows = accounts.iter().take(MOST_ROWS);
            let rows = rows.map(|account| {
                let polls =
                    if account.polls == 0 { "none".to_owned() } else { words::thousands(account.polls) };
                vec![account.name.to_string(), polls, share(account.polls, account.polls_failed)]
            });
            section.table = Some(Table { head: head.into(), rows: rows.collect() });
            section.lines.extend(more(accounts.len()));
        }
        section.lines.push(
            "A week without this mail means that hostwatch, its machine or its mail is down.".to_owned(),
        );
        section
    }

    fn billed(&self) -> Vec<&AccountWeek<'_>> {
        self.accounts.iter().filter(|account| account.watches_billing()).collect()
    }
}

fn table(
    head: &[&str],
    accounts: &[&AccountWeek<'_>],
    row: impl Fn(&AccountWeek<'_>) -> Vec<String>,
) -> Option<Table> {
    let head = head.iter().map(|&cell| cell.to_owned()).collect();
    let rows = accounts.iter().take(MOST_ROWS).map(|account| row(account)).collect();
    Some(Table { head, rows })
}

fn pay_row(account: &AccountWeek<'_>) -> Vec<String> {
    let by = match (account.cut_off, account.by) {
        (_, Some(by)) => cut_off::day_to_pay(by, account.zone, account.now),
        (DueOn::NotKnown, None) => NOT_KNOWN.to_owned(),
        (_, None) => NONE.to_owned(),
    };
    let amount = |days| account.due(days).and_then(|due| due.amount);
    let to_pay = SPANS_DAYS.map(|days| words::known_to_pay(amount(days), account.currency));
    let disconnect = match account.cut_off {
        DueOn::Now => "now".to_owned(),
        DueOn::At(edd) => account.day(edd),
        DueOn::Beyond(_) => "none expected".to_owned(),
        DueOn::NotKnown | DueOn::NotWatched => NOT_KNOWN.to_owned(),
    };
    let mut balance = account.money(account.balance());
    if let Some(at) = account.as_of(Collector::ExpectedBalance) {
        balance.push_str(&format!(" as of {}", account.day(at)));
    }
    let head = [account.name.to_string(), by];
    head.into_iter().chain(to_pay).chain([disconnect, balance]).collect()
}

/// `Costs a month: main 296.70 RUB, shop 12.00 EUR.`
fn a_month(accounts: &[&AccountWeek<'_>]) -> Option<String> {
    let costs = accounts.iter().filter_map(|account| {
        let cost = account.cost_per_day()?.times(MONTH_DAYS.into());
        let cost = words::spaced_amount(cost, account.currency);
        // Of one account its name is clear.
        Some(if accounts.len() > 1 { format!("{} {cost}", account.name) } else { cost })
    });
    let costs: Vec<String> = costs.collect();
    (!costs.is_empty()).then(|| format!("Costs a month: {}.", few(&costs, MOST_NAMED)))
}

/// To where the reports see no cut-off.
fn ends(accounts: &[&AccountWeek<'_>]) -> Option<String> {
    let beyond = accounts.iter().filter_map(|account| match account.cut_off {
        DueOn::Beyond(end) => Some((end, account)),
        DueOn::Now | DueOn::At(_) | DueOn::NotKnown | DueOn::NotWatched => None,
    });
    let (end, account) = beyond.min_by_key(|(end, _)| *end)?;
    let soonest = account.day(end);
    Some(format!("\"None expected\" means none before {soonest}, where a report ends."))
}

/// `How much to pay is not known for 2 accounts: a, b.`
fn not_known(
    accounts: &[&AccountWeek<'_>],
    what: &str,
    is: impl Fn(&AccountWeek<'_>) -> bool,
) -> Option<String> {
    let names = accounts.iter().filter(|account| is(account)).map(|account| account.name.to_string());
    // Of one account its row says so.
    let names: Vec<String> = names.filter(|_| accounts.len() > 1).collect();
    let count = words::count(names.len(), "account", "accounts");
    (!names.is_empty()).then(|| format!("{what} for {count}: {}.", few(&names, MOST_NAMED)))
}

/// `VMs of 2 accounts are as last read: a, b.`
fn stale(accounts: &[&AccountWeek<'_>], what: &str, collector: Collector) -> Option<String> {
    let stale = accounts.iter().filter_map(|account| {
        let at = account.as_of(collector)?;
        Some(format!("{} {}", account.name, words::sentence_moment(at, account.zone, account.now)))
    });
    let stale: Vec<String> = stale.collect();
    (!stale.is_empty())
        .then(|| format!("{what} as last read, the last poll failed: {}.", few(&stale, MOST_NAMED)))
}

fn more(rows: usize) -> Option<String> {
    let more = rows.checked_sub(MOST_ROWS).filter(|&more| more > 0)?;
    Some(format!("and {} more", words::count(more, "more account", "more accounts")))
}

/// `40 (38 active, 1 error, 1 paused)`, known states in the interface's order, then the others.
fn counted(account: &AccountWeek<'_>, sort: Sort) -> String {
    let Some(state) = account.state else { return NOT_READ.to_owned() };
    if !state.profile.collectors.contains(&sort.seen_by()) {
        return NONE.to_owned();
    }
    let (read_at, known): (_, Vec<&str>) = match sort {
        Sort::Vm => (state.vms.read_at, VmState::KNOWN.iter().map(VmState::as_str).collect()),
        Sort::Container => {
            (state.containers.read_at, ContainerState::KNOWN.iter().map(ContainerState::as_str).collect())
        }
        Sort::Site => (state.containers.read_at, SiteState::KNOWN.iter().map(SiteState::as_str).collect()),
    };
    if read_at.is_none() {
        return NOT_READ.to_owned();
    }
    let states = SeenResource::all(state).filter(|seen| seen.kind == sort).map(|seen| seen.state);
    let states: Vec<&str> = states.collect();
    let mut others: Vec<&str> = states.iter().copied().filter(|state| !known.contains(state)).collect();
    others.sort_unstable();
    others.dedup();
    const MOST_OTHERS: usize = 5;
    let named = known.into_iter().chain(others.iter().copied().take(MOST_OTHERS));
    let parts = named.filter_map(|name| {
        let count = states.iter().filter(|&&state| state == name).count();
        (count > 0).then(|| format!("{count} {}", sanitize::one_line(name, 30)))
    });
    let mut parts: Vec<String> = parts.collect();
    if others.len() > MOST_OTHERS {
        parts.push("others in other states".to_owned());
    }
    let text = match parts.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        several => format!("{} ({})", states.len(), several.join(", ")),
    };
    match state.containers_without_sites_read() {
        unread @ 1.. if sort == Sort::Site => {
            format!("{text}; of {} not read yet", words::count(unread, "container", "containers"))
        }
        _ => text,
    }
}

fn polled(polls: u64, failed: u64) -> String {
    if polls == 0 {
        "none: nothing was watched".to_owned()
    } else {
        format!("{}, {} failed", words::thousands(polls), share(polls, failed))
    }
}

/// `12 (0.4 %)`.
fn share(polls: u64, failed: u64) -> String {
    if failed == 0 {
        return if polls == 0 { NONE.to_owned() } else { "none".to_owned() };
    }
    let tenths = (u128::from(failed) * 1000 + u128::from(polls) / 2) / u128::from(polls.max(1));
    if tenths == 0 {
        format!("{failed} (less than 0.1 %)")
    } else {
        format!("{failed} ({}.{} %)", tenths / 10, tenths % 10)
    }
}
