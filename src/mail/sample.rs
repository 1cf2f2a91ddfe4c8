//! The mail of `hostwatch test-email`: an invented alert, marked as such. Pure.

use super::body::{Body, Section, Tone};
use super::context::Context;
use super::{parts, started};
use crate::model::AccountName;
use crate::view::words;

/// The content of a test mail.
pub(super) fn body(context: &Context<'_>) -> Body {
    let accounts: Vec<AccountName> = context.snapshot.accounts.keys().cloned().collect();
    let at = words::sentence_moment(context.now, context.first_zone(&accounts), context.now);
    let mut sample = Section::new("VM web-1 in error (invented)");
    sample.row("State", "error");
    sample.row("Since", at.clone());
    sample.row("Why", "Somebody asked for a test mail");
    sample.row("What to do", "Nothing: mails arrive. Check that this one is not in the spam folder.");
    let mut sections = vec![sample];
    let overview = started::overview(&accounts, context);
    if !overview.is_empty() {
        sections.push(overview);
    }
    Body {
        tone: Tone::Info,
        lead: format!("Test: mails of hostwatch arrive here; nothing is wrong (sent {at})."),
        sections,
        foot: vec![parts::sender_line(&accounts)],
        ..Body::default()
    }
}
