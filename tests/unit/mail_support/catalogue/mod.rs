//! Every sort of mail once, as the program writes it: what the golden files hold, the screenshots show and
//! docs/mails.md quotes.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod billing;
pub mod overview;
mod resources;

use crate::mail::Rendered;

/// Name and mail.
pub type Entry = (String, Rendered);

/// All of them, by name.
pub fn all() -> Vec<Entry> {
    let mut all = resources::all();
    all.extend(billing::all());
    all.extend(overview::all());
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// One of them.
pub fn find(name: &str) -> Rendered {
    let found = all().into_iter().find(|(found, _)| found == name);
    found.unwrap_or_else(|| panic!("no mail is called {name}")).1
}
