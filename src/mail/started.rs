//! The mail of the first start: what is watched, what already needs someone, what could not be read.
//! Pure.

use super::body::{Body, Section, Table};
use super::context::{Context, MOST_STARTED};
use super::{resources, subject};
use crate::alert::{Notice, Started};
use crate::model::forecast::{self, Disconnect};
use crate::model::sanitize;
use crate::model::{AccountName, AccountState};
use crate::view::words;

/// Accounts in the table.
const MOST_ACCOUNTS: usize = 50;

/// The content of a first-start mail.
pub(super) fn body(notice: &Notice, facts: &Started, context: &Context<'_>) -> Body {
    let severity = subject::started_severity(facts, &notice.items);
    let zone = notice.accounts.first().map_or(chrono_tz::Tz::UTC, |name| context.zone(name));
    let watching = words::capital(&subject::watching(facts));
    let mut sections = Vec::new();
    if facts.disconnect {
        let mut section = Section::new("Disconnect ahead");
        section.lines.push("A mail of its own says when, and how much to pay by which day.".to_owned());
        sections.push(section);
    }
    let several = notice.accounts.len() > 1;
    let listed = notice.items.iter().take(MOST_STARTED);
    sections.extend(listed.map(|item| resources::section(item, several, context)));
    let more = notice.items.len().saturating_sub(MOST_STARTED);
    if more > 0 {
        let mut section = Section::new(format!("and {more} more"));
        section.lines.push("`hostwatch incidents` lists all of them.".to_owned());
        sections.push(section);
    }
    if !facts.unread.is_empty() {
        let mut section = Section::new("Could not be read");
        section.list =
            resources::first(facts.unread.iter().map(|line| sanitize::one_line(line, 300)).collect());
        section.lines.push("Nothing is known of these yet; a mail follows if it stays so:".to_owned());
        sections.push(section);
    }
    sections.push(overview(&notice.accounts, context));
    sections.extend(resources::lives_on(&notice.accounts, context));
    sections.push(next(facts));
    Body {
        tone: severity.into(),
        lead: format!("{watching} ({}).", words::iso_moment(context.now, zone)),
        sections,
        foot: vec![resources::sender_line(&notice.accounts)],
    }
}

fn next(facts: &Started) -> Section {
    let mut section = Section::new("From now on");
    let known = if facts.needs > 0 {
        "What is listed here is known: no reminders of it come, its end is told. "
    } else {
        ""
    };
    section.lines.push(format!(
        "{known}A mail comes when something breaks, when it is right again, and before an account is cut off."
    ));
    section
}

/// One line an account.
pub(super) fn overview(accounts: &[AccountName], context: &Context<'_>) -> Section {
    let mut section = Section::new("What is watched");
    let head = ["Account", "VMs", "Containers", "Sites", "Balance", "Disconnect"];
    let rows = accounts.iter().take(MOST_ACCOUNTS).filter_map(|name| {
        let state = context.account(name)?;
        let (balance, disconnect) = billing(state);
        Some(vec![
            name.to_string(),
            state.vms.rows.len().to_string(),
            state.containers.rows.len().to_string(),
            state.all_sites().count().to_string(),
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

fn billing(state: &AccountState) -> (String, String) {
    let Some(report) = &state.billing.report else {
        return ("not known".to_owned(), "not known".to_owned());
    };
    let balance = forecast::balance_now(report)
        .map_or_else(|| "not known".to_owned(), |balance| words::amount(balance, &state.profile.currency));
    let disconnect = match forecast::disconnect(report) {
        Disconnect::At { at, .. } => words::iso_day(at, state.profile.zone()),
        Disconnect::Now => "now".to_owned(),
        Disconnect::NotExpected => "not expected".to_owned(),
        Disconnect::Unknown => "not known".to_owned(),
    };
    (balance, disconnect)
}
