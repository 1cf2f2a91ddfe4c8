//! A valid configuration to put something wrong beside, and what is then said.
#![allow(clippy::unwrap_used, dead_code)]

use std::fs;

use crate::config::{self, Environment};

/// A valid account to put something wrong beside.
pub const BASE: &str = r#"
[accounts.main]
panel_url = "https://panel.example.com"
vm_api_key = "key"
"#;

pub const EMAIL: &str = r#"
[email]
smtp_url = "smtps://mail.example.com"
from = "hostwatch <h@example.com>"
to = ["ops@example.com"]
"#;

/// What is said about files in a directory of their own; its name is left out.
pub fn complaints(files: &[(&str, &str)], env: &[(&str, &str)]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let place = format!("{}/", directory.path().display());
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let env: Environment =
        env.iter().map(|(name, value)| ((*name).to_owned(), value.replace("{dir}/", &place))).collect();
    match config::load(Some(&directory.path().join("x.toml")), &env) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.to_string().replace(&place, "").lines().map(str::to_owned).collect(),
    }
}

#[track_caller]
pub fn one_line_each(table: &[(&str, &str)]) {
    for (text, want) in table {
        assert_eq!(complaints(&[("x.toml", text)], &[]), [*want], "{text}");
    }
}

/// The base with lines in its account.
#[track_caller]
pub fn in_account(table: &[(&str, &str)]) {
    for (lines, want) in table {
        assert_eq!(complaints(&[("x.toml", &format!("{BASE}{lines}"))], &[]), [*want], "{lines}");
    }
}
