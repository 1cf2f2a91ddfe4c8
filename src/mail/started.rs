//! The mail of the first start: what is watched, what already needs someone, what could not be read.
//! Pure.

use super::body::{Body, Section, Table};
use super::context::{Context, MOST_STARTED};
use super::{groups, parts, subject};
use crate::alert::{Notice, Started};
use crate::model::forecast;
use crate::model::sanitize;
use crate::model::{AccountName, AccountState, Collector};
use crate::view::words;

/// Accounts in the table.
const MOST_ACCOUNTS: usize = 50;

/// The content of a first-start mail.
pub(super) fn body(notice: &Notice, facts: &Started, context: &Context<'_>) -> Body {
    let severity = subject::started_severity(facts, &notice.items);
    let zone = context.first_zone(&notice.accounts);
    let watching = subject::watching(facts, &notice.items, context);
    let mut sections = Vec::new();
    if facts.disconnect {
        let mut section = Section::new(if facts.overdue { "Overdue" } else { "Cut-off ahead" });
        section.lines.push("See the separate mail about the cut-off.".to_owned());
        sections.push(section);
    }
    if facts.since > 0 {
        let mut section = Section::new("Since the start");
        section.lines.push("See the separate mails.".to_owned());
        sections.push(section);
    }
    let several = notice.accounts.len() > 1;
    sections.extend(groups::sections(&notice.items, several, MOST_STARTED, context));
    if !facts.unread.is_empty() {
        let mut section = Section::new("Could not be read");
        section.list = parts::first(
            facts.unread.iter().map(|line| sanitize::one_line(line, 300)).collect(),
            parts::MOST_NAMES,
        );
        section.lines.push("Nothing is known of these yet; a mail follows if it stays so:".to_owned());
        sections.push(section);
    }
    sections.push(overview(&notice.accounts, context));
    sections.extend(parts::lives_on(&notice.accounts, context));
    sections.push(next(facts));
    Body {
        tone: severity.into(),
        lead: format!("{watching} ({}).", words::sentence_moment(context.now, zone, context.now)),
        sections,
        foot: vec![parts::sender_line(&notice.accounts)],
        ..Body::default()
    }
}

fn next(facts: &Started) -> Section {
    let mut section = Section::new("From now on");
    let known = if facts.needs > 0 {
        "You will get no reminders of these, only a mail when they recover. "
    } else {
        ""
    };
    section.lines.push(format!(
        "{known}A mail comes when something breaks, when it recovers, and before an account is cut off."
    ));
    section
}

/// One line an account.
pub(super) fn overview(accounts: &[AccountName], context: &Context<'_>) -> Section {
    let mut section = Section::new("What is watched");
    let head = ["Account", "VMs", "Containers", "Sites", "Balance", "Cut-off"];
    let rows = accounts.iter().take(MOST_ACCOUNTS).filter_map(|name| {
        let state = context.account(name)?;
        let (balance, disconnect) = billing(state, context);
        let containers_read = state.containers.read_at.is_some();
        let sites_read = containers_read && state.containers_without_sites_read() == 0;
        Some(vec![
            name.to_string(),
            known(state, Collector::Vms, state.vms.rows.len(), state.vms.read_at.is_some()),
            known(state, Collector::Containers, state.containers.rows.len(), containers_read),
            known(state, Collector::Sites, state.all_sites().count(), sites_read),
            balance,
            disconnect,
        ])
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        section.table = Some(Table { head: head.map(str::to_owned).into(), rows });
    }
    if accounts.len() > MOST_ACCOUNTS {
        section.lines.push(format!("and {} more accounts", accounts.len() - MOST_ACCOUNTS));
    }
    section
}

/// How many there are; never 0 because nobody looked.
fn known(state: &AccountState, collector: Collector, count: usize, is_read: bool) -> String {
    match (state.profile.collectors.contains(&collector), is_read || count > 0) {
        (false, _) => "–".to_owned(),
        (true, false) => "not known".to_owned(),
        (true, true) => count.to_string(),
    }
}

fn billing(state: &AccountState, context: &Context<'_>) -> (String, String) {
    let Some((report, _)) = state.billing.last_known() else {
        return ("not known".to_owned(), "not known".to_owned());
    };
    let balance = words::known_spaced_amount(forecast::balance_now(report), &state.profile.currency);
    let zone = state.profile.zone();
    let cut_off = words::cut_off(forecast::disconnect(report), |at| words::day_of(at, zone, context.now));
    (balance, cut_off)
}
