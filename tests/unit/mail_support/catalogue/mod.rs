//! Every kind of mail once, as the program writes it: for the golden files, the screenshots and docs/mails.md.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod billing;
pub mod overview;
pub mod resources;

use crate::mail::Rendered;

/// The name of a mail, and the mail.
pub type Entry = (String, Rendered);

/// All mails, by name.
pub fn all() -> Vec<Entry> {
    let mut all = resources::all();
    all.extend(billing::all());
    all.extend(overview::all());
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The mail with this name.
pub fn find(name: &str) -> Rendered {
    let found = all().into_iter().find(|(found, _)| found == name);
    found.unwrap_or_else(|| panic!("no mail is called {name}")).1
}
