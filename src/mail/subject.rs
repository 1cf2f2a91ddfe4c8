//! Subject lines: severity or outcome in brackets, then words that stay the same over an incident, so
//! that mail programs keep its mails together. Pure.

use crate::alert::{Event, Form, Item, Notice, Severity, Started};
use crate::model::sanitize;
use crate::view::words;

/// What phones and lists still show.
const LONGEST: usize = 150;

/// The subject of a notice: one line, at most 150 characters.
pub(super) fn of(notice: &Notice) -> String {
    if let Form::Started(facts) = &notice.form {
        return started(facts, &notice.items);
    }
    let Some(first) = notice.items.first() else {
        return "[INFO] hostwatch: nothing to tell".to_owned();
    };
    let more = match notice.items.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let head = format!("[{}] {}: ", bracket(first), first.key.account);
    let head = if head.chars().count() > LONGEST / 2 { format!("[{}] ", bracket(first)) } else { head };
    let room = LONGEST - head.chars().count() - more.chars().count() - 1;
    format!("{head}{}{more}", literal(&first.words(), room))
}

/// Text of others on one line that stays what it is: `=?` begins an encoded word (RFC 2047), which mail programs
/// would decode into whatever the name hides in it.
fn literal(text: &str, room: usize) -> String {
    let line = sanitize::one_line(text, room);
    if line.contains("=?") { sanitize::one_line(&line.replace("=?", "= ?"), room) } else { line }
}

/// The word in brackets.
pub(super) fn bracket(item: &Item) -> &'static str {
    match item.event {
        Event::Resolved | Event::Removed | Event::WasDown => "RESOLVED",
        Event::Test => "TEST",
        Event::Started
        | Event::Opened
        | Event::Rung(_)
        | Event::Extended(_)
        | Event::Reminder(_)
        | Event::Flapping
        | Event::Digest(_)
        | Event::Overflow => severity(item.severity),
    }
}

/// `watching 43 resources; nothing needs you`; what was not seen is never called fine.
pub(super) fn watching(facts: &Started) -> String {
    let resources = words::count(facts.resources, "resource", "resources");
    let needs = match facts.needs {
        0 => None,
        1 => Some("1 already needs you".to_owned()),
        many => Some(format!("{many} already need you")),
    };
    let unread = (!facts.unread.is_empty()).then(|| "not everything could be read".to_owned());
    let mut parts: Vec<String> = [needs, unread].into_iter().flatten().collect();
    if parts.is_empty() {
        parts.push("nothing needs you".to_owned());
    }
    format!("watching {resources}; {}", parts.join("; "))
}

/// How bad what a first start found is.
pub(super) fn started_severity(facts: &Started, items: &[Item]) -> Severity {
    let worst = items.iter().map(|item| item.severity).max().unwrap_or(Severity::Info);
    let wants_someone = facts.needs > 0 || facts.disconnect || !facts.unread.is_empty();
    if wants_someone { worst.max(Severity::Warning) } else { worst }
}

fn started(facts: &Started, items: &[Item]) -> String {
    format!("[{}] hostwatch: {}", severity(started_severity(facts, items)), watching(facts))
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "INFO",
        Severity::Warning => "WARNING",
        Severity::Critical => "CRITICAL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_encoded_word() {
        assert_eq!(literal("VM =?utf-8?q?=0D=0AX:_y?=", 60), "VM = ?utf-8?q?=0D=0AX:_y?=");
        // What is taken out must not make one.
        assert_eq!(literal("=\u{200b}?utf-8?q?x?=", 60), "= ?utf-8?q?x?=");
        assert_eq!(literal(&"=?".repeat(40), 9).chars().count(), 10, "with its ellipsis");
    }

    #[test]
    fn what_was_not_read_is_never_called_fine() {
        let facts = |needs, unread: &[&str]| Started {
            resources: 43,
            needs,
            disconnect: false,
            unread: unread.iter().map(|&text| text.to_owned()).collect(),
        };
        for (facts, want) in [
            (facts(0, &[]), "[INFO] hostwatch: watching 43 resources; nothing needs you"),
            (facts(2, &[]), "[WARNING] hostwatch: watching 43 resources; 2 already need you"),
            (
                facts(0, &["main: vms: down"]),
                "[WARNING] hostwatch: watching 43 resources; not everything could be read",
            ),
            (
                facts(1, &["main: vms: down"]),
                "[WARNING] hostwatch: watching 43 resources; 1 already needs you; not everything could be read",
            ),
        ] {
            assert_eq!(started(&facts, &[]), want);
        }
    }
}
