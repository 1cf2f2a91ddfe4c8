//! Sentences about the store that every recipient reads once, in the next mail.

use std::collections::BTreeSet;
use std::path::Path;

use crate::model::{Language, say};

/// The place of each damaged store, with the recipients that were not told of it yet.
#[derive(Debug, Default)]
pub(super) struct StoreNotes(Vec<(String, BTreeSet<String>)>);

impl StoreNotes {
    /// A damaged store was set aside.
    pub(super) fn damaged<'a>(&mut self, aside: &Path, recipients: impl IntoIterator<Item = &'a str>) {
        let text = aside.display().to_string();
        self.0.push((text, recipients.into_iter().map(str::to_owned).collect()));
    }

    /// The sentences that a recipient has not read yet.
    pub(super) fn for_recipient(&self, to: &str, language: Language) -> Vec<String> {
        let untold = self.0.iter().filter(|(_, untold)| untold.contains(to));
        let sentence = |place: &String| {
            say!(
                language,
                "The store of incidents and mails was damaged. It was set aside as {place}, and a new one begun: what was owed in it may never have been sent.",
                "Хранилище проблем и писем было повреждено. Оно отложено в {place}, начато новое: то, что ждало отправки в старом, могло не уйти."
            )
        };
        untold.map(|(place, _)| sentence(place)).collect()
    }

    /// A mail to this recipient arrived.
    pub(super) fn told(&mut self, to: &str) {
        for (_, untold) in &mut self.0 {
            untold.remove(to);
        }
        self.0.retain(|(_, untold)| !untold.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipient_is_told_about_the_store_once() {
        let mut notes = StoreNotes::default();
        assert!(notes.for_recipient("ann@example.com", Language::En).is_empty());
        notes.damaged(Path::new("/hw.db.damaged"), ["ann@example.com", "bob@example.com"]);
        assert!(notes.for_recipient("ann@example.com", Language::En)[0].contains("/hw.db.damaged"));
        notes.told("ann@example.com");
        let left = ["ann", "bob"]
            .map(|name| notes.for_recipient(&format!("{name}@example.com"), Language::En).len());
        assert_eq!(left, [0, 1]);
    }
}
