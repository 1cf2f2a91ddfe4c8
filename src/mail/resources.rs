//! Mails about resources and collectors: opened, over, still so. Pure.

use super::body::{Body, Tone};
use super::context::{Context, MOST_LISTED};
use super::parts::{self, Telling, accounts, tone_of};
use super::{groups, resolved, subject};
use crate::alert::{Form, Item, Kind, Notice};
use crate::model::sanitize;
use crate::view::words;

/// What a first line has room for.
const LONGEST_LEAD: usize = 300;

/// The content of a mail about incidents.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let several = notice.accounts.len() > 1;
    let sections = groups::sections(&notice.items, several, MOST_LISTED, context);
    let tone = notice.items.first().map_or(Tone::Info, tone_of);
    let lasts = notice.items.first().is_some_and(|first| !first.event.is_end() && !is_drop(first));
    let acks = lasts && matches!(notice.form, Form::Opened | Form::Reminder);
    Body {
        tone,
        lead: lead(notice, context),
        sections,
        foot: parts::foot_of(notice, acks),
        ..Body::default()
    }
}

/// The first line: the subject's sentence with when, in which account.
fn lead(notice: &Notice, context: &Context<'_>) -> String {
    let Some(first) = notice.items.first() else { return "Nothing to tell.".to_owned() };
    let what = match notice.items.as_slice() {
        [one] => alone(one, notice, context),
        _ => format!("{}, {}", subject::words(notice, context), context.moment(first.at, first)),
    };
    format!("{} ({}).", sanitize::one_line(&what, LONGEST_LEAD), accounts(notice))
}

fn alone(item: &Item, notice: &Notice, context: &Context<'_>) -> String {
    let words = subject::words(notice, context);
    let (since, at) = (context.moment(item.since, item), context.moment(item.at, item));
    let period = words::period(item.since, item.at, context.zone(&item.key.account), context.now);
    match Telling::from(&item.event) {
        Telling::Over => {
            let lasted = words::lasted(item.at - item.since);
            format!("{}: {} {period}, {lasted}", is_now(item, context), was(item))
        }
        Telling::Gone => {
            format!("{} is no longer listed by the provider since {at}, {}", item.subject, was(item))
        }
        Telling::WasDown => {
            let (subject, was) = resolved::past(item);
            format!("Already recovered: {} {period}", [subject, was].join(" ").trim_end())
        }
        Telling::Unwatched => format!("{words} since {at}"),
        Telling::StillSo => format!("{words}, since {since}"),
        Telling::Flapping => format!("{words}, the last {at}"),
        Telling::Begun if is_drop(item) => format!("{words}, seen {at}"),
        Telling::Begun => format!("{words} since {since}"),
    }
}

/// `VM web-1 is active again`.
fn is_now(item: &Item, context: &Context<'_>) -> String {
    let (subject, words) = resolved::words(item, context.account(&item.key.account));
    let verb = if item.key.kind == Kind::CredentialsRejected {
        "are "
    } else if words.is_empty() || words.starts_with("answers") {
        ""
    } else {
        "is "
    };
    format!("{subject} {verb}{words}").trim_end().to_owned()
}

/// `was in error`.
fn was(item: &Item) -> String {
    match resolved::past(item).1 {
        was if was.is_empty() => "failed".to_owned(),
        was => was,
    }
}

/// It is said when it is seen, and has no end.
fn is_drop(item: &Item) -> bool {
    item.key.kind == Kind::BalanceDrop
}
