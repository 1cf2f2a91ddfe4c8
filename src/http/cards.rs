//! Cards of problems as HTML, for the pages that have some.

use askama::Template;

use super::query;
use crate::alert::{Key, Severity};
use crate::view::{Card, words};

/// A list of cards.
#[derive(Template)]
#[template(path = "http/templates/cards.html")]
struct CardList<'a> {
    cards: &'a [Card],
    /// Each says whose it is.
    several: bool,
}

/// The list as HTML.
pub(super) fn render(cards: &[Card], several: bool) -> String {
    let list = CardList { cards, several };
    list.render().expect("a template over owned values has no way to fail")
}

/// The name of an incident's place on the page. No part of a key has a dot of its own.
pub(super) fn anchor(key: &Key) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '.' };
    format!("i-{}", key.to_string().chars().map(plain).collect::<String>())
}

/// What the template asks for beside plain fields.
impl CardList<'_> {
    fn anchor(&self, key: &Key) -> String {
        anchor(key)
    }

    fn link(&self, key: &Key) -> Option<String> {
        query::of_incident(key)
    }

    /// Beside the colour.
    fn word(&self, urgency: &Severity) -> String {
        words::capital(urgency.as_str())
    }

    fn class(&self, card: &Card) -> &'static str {
        severity(card.urgency)
    }
}

/// The colour of a severity; of none where nobody is needed.
pub(super) fn severity(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical) => "bad",
        Some(Severity::Warning) => "unknown",
        Some(Severity::Info) | None => "off",
    }
}
