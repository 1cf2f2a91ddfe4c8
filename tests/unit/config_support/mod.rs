//! A valid configuration for tests that add a mistake, and the messages about it.
#![allow(clippy::unwrap_used)]

use std::fs;

use crate::config::{self, Environment};

/// A valid account for tests that add a mistake.
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

/// The messages about files in a directory of their own, without the directory's name.
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
