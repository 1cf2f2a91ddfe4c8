//! The top of all pages: title, the time of the page, and whether it reloads itself.

use crate::model::Language;
use crate::view::Reader;

/// The style sheet, served beside the pages.
pub(super) const STYLE: &str = include_str!("templates/style.css");

/// The top of a page; see the module.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub title: String,
    /// Whether the page reloads itself each minute.
    pub refresh: bool,
    /// The address of the same page with the other setting.
    pub other: String,
    /// `Tue 24 Nov 07:15 MSK`.
    pub made: String,
    pub language: Language,
}

impl Head {
    pub(super) fn new(title: &str, refresh: bool, other: String, reader: Reader) -> Self {
        let made = reader.moment(reader.now);
        Self { title: title.to_owned(), refresh, other, made, language: reader.language }
    }

    /// A fixed text of a page.
    pub(super) fn say(&self, en: &'static str, ru: &'static str) -> &'static str {
        self.language.pick(en, ru)
    }
}
