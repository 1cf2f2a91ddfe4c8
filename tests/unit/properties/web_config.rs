//! `--web.config.file`: any bytes are accepted, or refused in one line that names file and key. No message
//! contains a hash, key or password.

use std::path::Path;

use crate::config_error::ConfigErrors;
use crate::http::WebConfig;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::unit::properties::given;

/// A valid hash of a password that nobody uses.
pub const HASH: &str = "$2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze";

/// Reads these bytes as a file. Messages about them have to be fit for a log.
pub fn read(bytes: &[u8]) -> Result<WebConfig, ConfigErrors> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("web.yml");
    std::fs::write(&path, bytes).unwrap();
    let read = WebConfig::read(&path);
    if let Err(problems) = &read {
        let text = problems.to_string();
        let lines = |one: &str| !one.chars().any(char::is_control);
        assert!(text.lines().all(lines) && text.lines().count() == problems.0.len(), "{text:?}");
        assert!(
            !problems.0.is_empty() && problems.0.iter().all(|problem| Path::new(&problem.source) == path)
        );
        assert!(
            text.starts_with(&path.display().to_string())
                && problems.0.iter().all(|one| !one.message.is_empty())
        );
    }
    read
}

/// A text in quotes, for YAML and JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if c.is_control() || !c.is_ascii() => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out + "\""
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("web_config", 96))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s)[a-z_:{}\\[\\]\"'&*!|>%@#,? \n\\-\u{0}-\u{10ffff}]{0,80}") {
        let _ = read(text.as_bytes());
    }

    /// Users with good and bad hashes: messages name each bad user and contain no hash.
    #[test]
    fn hashes_are_judged_and_never_told(users in vec((given::name(), prop_oneof![
        3 => Just(None),
        1 => "[a-zA-Z0-9./$]{8,60}".prop_map(Some),
        1 => "[a-zA-Z0-9./]{4}".prop_map(|end| Some(format!("$2y$99$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprs{end}"))),
    ]), 0..5)) {
        let mut text = String::from("basic_auth_users:\n");
        let mut names = std::collections::BTreeMap::new();
        for (name, secret) in users {
            // YAML has no longer keys in one line.
            let name: String = name.chars().take(60).collect();
            if names.insert(name.clone(), secret.clone()).is_none() {
                text.push_str(&format!("  {}: {}\n", quoted(&name), quoted(secret.as_deref().unwrap_or(HASH))));
            } else {
                names.remove(&name);
                text.push_str("  again: 1\n  again: 2\n");
            }
        }
        prop_assume!(!text.contains("again"));
        let read = read(text.as_bytes());
        let said = match &read {
            Ok(config) => format!("{config:?} {:?}", config.notes),
            Err(problems) => format!("{problems} {problems:?}"),
        };
        prop_assert!(!said.contains(HASH));
        for (name, secret) in &names {
            let wrong = name.contains(':') || secret.is_some();
            prop_assert!(secret.as_ref().is_none_or(|secret| !said.contains(secret.as_str()) || name.contains(secret.as_str())), "{}", said);
            let key = format!("basic_auth_users.{name}");
            let named = read.as_ref().err().is_some_and(|problems| problems.0.iter().any(|problem| problem.key == key));
            prop_assert_eq!(named, wrong, "{:?}: {}", name, said);
        }
        prop_assert_eq!(read.is_err(), names.iter().any(|(name, secret)| name.contains(':') || secret.is_some()));
    }

    /// An unknown key is named, with the nearest known one.
    #[test]
    fn a_slip_in_a_key_is_told_with_the_key_that_was_meant(
        place in select(vec![("", "tls_server_config"), ("", "basic_auth_users"), ("tls_server_config", "cert_file"), ("tls_server_config", "min_version"), ("http_server_config", "headers")]),
        at in any::<proptest::sample::Index>(), letter in "[a-z]", how in 0..3_u8,
    ) {
        let slip = crate::unit::properties::config::slip(place.1, at, &letter, how);
        prop_assume!(slip != place.1 && !slip.is_empty());
        let text = if place.0.is_empty() { format!("{slip}: {{}}\n") } else { format!("{}:\n  {slip}: secret\n", place.0) };
        let problems = read(text.as_bytes()).unwrap_err().to_string();
        let want = format!("unknown key '{slip}'; did you mean '{}'?", place.1);
        prop_assert!(problems.contains(&want) && !problems.contains("secret"), "{} is not in {}", want, problems);
    }
}

/// Found by the properties: a name with a line break in it made two lines of a log.
#[test]
fn each_message_is_one_line() {
    let problems = read(b"basic_auth_users: {\"a\\nlevel=info msg=fine\": x}\n").err().unwrap();
    assert!(problems.to_string().contains("basic_auth_users.a\\nlevel=info msg=fine: is not a bcrypt hash"));
    let costly = format!("basic_auth_users: {{\"a\\nb\": '{}'}}\n", HASH.replace("$10$", "$15$"));
    assert!(read(costly.as_bytes()).unwrap().notes[0].starts_with("basic_auth_users.a\\nb: "));
}
