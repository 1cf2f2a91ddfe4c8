//! Cards of problems as HTML, for all pages with cards.

use askama::Template;

use super::head::Head;
use super::query;
use crate::alert::{Key, Severity};
use crate::model::say;
use crate::view::{Card, words};

/// A list of cards.
#[derive(Template)]
#[template(path = "http/templates/cards.html")]
struct CardList<'a> {
    cards: &'a [&'a Card],
    shown: Shown,
    head: &'a Head,
}

/// How much of a card the page says elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    /// Whether each card names its account.
    pub several: bool,
    /// Whether the title stands above the card already.
    pub is_said: bool,
}

/// The list as HTML.
pub(super) fn render(cards: &[&Card], shown: Shown, head: &Head) -> String {
    let list = CardList { cards, shown, head };
    list.render().expect("a template over owned values has no way to fail")
}

/// The anchor of an incident on the page. Dots replace other characters, and no part of a key has a dot of its
/// own.
pub(super) fn anchor(key: &Key) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '.' };
    format!("i-{}", key.to_string().chars().map(plain).collect::<String>())
}

/// The methods that the template calls.
impl CardList<'_> {
    fn anchor(&self, key: &Key) -> String {
        anchor(key)
    }

    fn link(&self, key: &Key) -> Option<String> {
        query::of_incident(key)
    }

    /// `Explains 2 more`.
    fn explains(&self, count: usize) -> String {
        say!(self.head.language, "Explains {count} more", "Из-за этого ещё {count}")
    }

    fn more(&self, left: usize) -> String {
        words::more(left, self.head.language)
    }

    /// The word beside the colour.
    fn word(&self, urgency: &Severity) -> String {
        words::severity(*urgency, self.head.language)
    }

    fn class(&self, card: &Card) -> &'static str {
        severity(card.urgency)
    }
}

/// The class of a severity; a neutral one if nobody has to act.
pub(super) fn severity(severity: Option<Severity>) -> &'static str {
    match severity {
        Some(Severity::Critical) => "bad",
        Some(Severity::Warning) => "unknown",
        Some(Severity::Info) | None => "off",
    }
}
