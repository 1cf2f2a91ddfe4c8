//! The top of all pages: title, icon, the time of the page, and whether it reloads itself.

use super::query;
use crate::model::Language;
use crate::view::{Reader, Urgency};

/// The style sheet, served beside the pages.
pub(super) const STYLE: &str = include_str!("templates/style.css");

/// The mark of hostwatch, in a square of 16: an h whose arch is a pulse.
const MARK: &str = "M4 3v10M4 8.500h2l1.500-3 2 5 1-2H12V13";

/// The top of a page; see the module.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub title: String,
    pub icon: String,
    /// Whether the page reloads itself each minute.
    pub refresh: bool,
    /// The address of the same page with the other setting.
    pub other: String,
    /// `Tue 24 Nov 07:15 MSK`.
    pub made: String,
    pub language: Language,
    /// The language that the address names; links keep it.
    pub asked: Option<Language>,
}

impl Head {
    pub(super) fn new(
        level: Urgency,
        title: &str,
        refresh: bool,
        other: String,
        reader: Reader,
        asked: Option<Language>,
    ) -> Self {
        Self {
            title: title.to_owned(),
            icon: icon(level),
            refresh,
            other,
            made: reader.moment(reader.now),
            language: reader.language,
            asked,
        }
    }

    /// The status page.
    pub(super) fn home(&self) -> String {
        query::home(self.asked)
    }

    pub(super) fn mark(&self) -> &'static str {
        MARK
    }

    /// A fixed text of a page.
    pub(super) fn say(&self, en: &'static str, ru: &'static str) -> &'static str {
        self.language.pick(en, ru)
    }
}

/// The mark of hostwatch, with a spot in the colour of the level.
fn icon(level: Urgency) -> String {
    let (colour, sign) = match level {
        Urgency::Attention => ("b3261e", "M9.500 9.500l3 3M12.500 9.500l-3 3"),
        Urgency::Unknown => ("8a5a00", "M9.800 10a1.300 1.300 0 1 1 1.300 1.300M11 13.100v.1"),
        Urgency::Notice => ("8a5a00", "M11 8.700v2.700M11 13.200v.1"),
        Urgency::Fine => ("1b6e3c", "M9.200 11.200l1.400 1.400 2.400-2.900"),
    };
    format!(
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke='%23fff' \
         stroke-linecap='round'%3E%3Crect width='16' height='16' rx='4' fill='%233d4db3' stroke='none'/%3E%3Cpath \
         d='{MARK}' stroke-width='1.800'/%3E%3Ccircle cx='11' cy='11' r='5' fill='%23{colour}' stroke='none'/%3E%3Cpath \
         d='{sign}' stroke-width='1.400'/%3E%3C/svg%3E"
    )
}
