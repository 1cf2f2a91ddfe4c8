//! The configuration: any file and environment is accepted or refused. A message about an unknown key names the
//! nearest known one, and no message contains a secret.

use std::path::Path;

use crate::config::keys::{KEYS, KeyRow, ValueType};
use crate::config::{self, Environment, Settings};
use crate::config_error::ConfigErrors;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Reads a file and an environment. The messages about them have to be lines fit for a log.
pub fn read(file: &[u8], env: &[(String, String)]) -> Result<Settings, ConfigErrors> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostwatch.toml");
    std::fs::write(&path, file).unwrap();
    let read = config::load(Some(&path), &env.iter().cloned().collect::<Environment>());
    match &read {
        Ok(settings) => assert!(!settings.accounts.is_empty()),
        Err(errors) => {
            assert!(
                !errors.0.is_empty()
                    && errors.0.iter().all(|one| !one.message.is_empty() && !one.source.is_empty())
            );
            let known = |source: &str| {
                Path::new(source).starts_with(&directory) || env.iter().any(|(name, _)| name == source)
            };
            assert!(errors.0.iter().all(|one| known(&one.source)), "{errors}");
            assert_eq!(errors.to_string().lines().count(), errors.0.len(), "{errors}");
        }
    }
    read
}

const BASE: &str = "
[accounts.main]
base_url = \"https://api.example.com\"
panel_url = \"https://panel.example.com\"
vm_api_key = \"SECRET-vm\"
hosting_token = \"SECRET-token\"
billing_username = \"user\"
billing_password = \"SECRET-billing\"
time_zone = \"Europe/Moscow\"

[email]
smtp_url = \"smtps://user@mail.example.com\"
password = \"SECRET-smtp\"
from = \"hostwatch <h@example.com>\"
to = [\"ops@example.com\"]

[heartbeat]
url = \"https://hc.example.com/SECRET-path\"
";

/// A name with one letter missing, added or changed.
pub fn slip(name: &str, at: Index, letter: &str, how: u8) -> String {
    let at = at.index(name.len());
    let (before, after) = name.split_at(at);
    match how {
        0 => format!("{before}{}", &after[1..]),
        1 => format!("{before}{letter}{after}"),
        _ => format!("{before}{letter}{}", &after[1..]),
    }
}

/// The number of letters to change, add or remove between two names.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, &b) in other.iter().enumerate() {
            let same = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = same.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

/// The place of a key in a file, and its name there.
fn place(key: &KeyRow) -> (String, String) {
    let path = key
        .path
        .replace("<name>", "main")
        .replace("<webhook>", "team")
        .replace("<chat>", "ops")
        .replace("<kind>", "vm_error")
        .replace("<family>", "hosting_vms")
        .replace("<code>", "1");
    let (table, name) = path.rsplit_once('.').unwrap();
    (table.to_owned(), name.to_owned())
}

/// A valid value of this type.
fn value(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Text | ValueType::Secret | ValueType::File => "\"SECRET-value\"",
        ValueType::Url
        | ValueType::Cron
        | ValueType::Duration
        | ValueType::Switch
        | ValueType::Count
        | ValueType::Texts
        | ValueType::Counts
        | ValueType::Recipients => kind.words().1,
        ValueType::Chat => "-1001234567890",
    }
}

fn keys() -> impl Strategy<Value = &'static KeyRow> {
    select(KEYS.iter().collect::<Vec<_>>())
}

/// Keys whose last name is fixed, so that it can be misspelt.
fn named_keys() -> impl Strategy<Value = &'static KeyRow> {
    let named: Vec<&KeyRow> = KEYS.iter().filter(|key| !key.path.ends_with('>')).collect();
    select(named)
}

/// Values that few keys accept, at least one of each type of TOML.
const ODD: &[&str] = &[
    "{ a = [1, \"x\"] }",
    "-1",
    "-9223372036854775808",
    "9223372036854775807",
    "1.5",
    "nan",
    "inf",
    "\"\"",
    "\"\\u0000\"",
    "[]",
    "[-1]",
    "[\"\"]",
    "true",
    "1979-05-27T07:32:00Z",
    "07:32:00",
];

/// A piece of a file: a key with a valid value, a key with an invalid one, odd lines, anything.
fn piece() -> impl Strategy<Value = String> {
    let tables = vec![
        "[accounts]",
        "[[accounts]]",
        "accounts = 1",
        "[accounts.\"\"]",
        "[email]",
        "[",
        "{",
        "= 1",
        "\0",
        "\"\"\"",
        "\'\'\'",
        "a.b.c.d.e = nan",
        "x = 0xffffffffffffffff",
    ];
    let line = |key: &KeyRow, value: &str| {
        let (table, name) = place(key);
        format!("\n[{table}]\n{name} = {value}\n")
    };
    prop_oneof![
        2 => keys().prop_map(move |key| line(key, key.kind.words().1)),
        3 => (keys(), select(ODD)).prop_map(move |(key, value)| line(key, value)),
        1 => select(tables).prop_map(|text| format!("\n{text}\n")),
        1 => "(?s).{0,20}",
        1 => "[a-z.=\"'\\[\\]{}0-9\n ,#-]{0,30}",
    ]
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("config", 64))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &[]);
    }

    #[test]
    fn any_pieces_are_read_or_refused(pieces in vec(piece(), 0..5), base in any::<bool>()) {
        let text = if base { format!("{BASE}{}", pieces.concat()) } else { pieces.concat() };
        let _ = read(text.as_bytes(), &[]);
    }

    #[test]
    fn any_environment_is_read_or_refused(pairs in vec((prop_oneof![
        keys().prop_map(|key| format!("HOSTWATCH_{}", place(key).0.replace('.', "__").to_uppercase() + "__" + &place(key).1.to_uppercase())),
        "HOSTWATCH_[A-Z_]{0,20}", "HOSTWATCH_ACCOUNTS__[A-Za-z_-]{0,6}__[A-Z_]{0,12}", "HOSTWATCH__(?s).{0,8}",
    ], prop_oneof!["(?s).{0,20}", "[0-9,\\[\\] -]{0,10}", Just("true".to_owned())]), 0..5), base in any::<bool>()) {
        let pairs: Vec<_> = pairs.into_iter().filter(|(name, _)| !name.contains(['\0', '='])).collect();
        let _ = read(if base { BASE.as_bytes() } else { b"" }, &pairs);
    }

    /// One letter in any key of the table, in the file or the environment.
    #[test]
    fn a_slip_in_any_key_is_told_with_the_nearest(key in named_keys(), at in any::<Index>(), letter in "[a-z]", how in 0..3_u8, env in any::<bool>()) {
        let (table, name) = place(key);
        let slip = slip(&name, at, &letter, how);
        let full = format!("{table}.{slip}");
        let known = |path: &str| KEYS.iter().any(|key| { let (table, name) = place(key); format!("{table}.{name}") == path });
        prop_assume!(!known(&full) && !slip.is_empty() && !slip.starts_with('_') && !slip.ends_with('_'));
        let errors = if env {
            let variable = format!("HOSTWATCH_{}__{}", table.replace('.', "__"), slip).to_uppercase();
            read(BASE.as_bytes(), &[(variable, "SECRET-value".to_owned())]).unwrap_err()
        } else {
            let table_of_its_own = format!("[{table}]\n{slip} = {}\n", value(key.kind));
            let text = match BASE.contains(&format!("[{table}]")) {
                true => BASE.replace(&format!("[{table}]\n"), &table_of_its_own),
                false => format!("{BASE}{table_of_its_own}"),
            };
            read(text.as_bytes(), &[]).unwrap_err()
        };
        let told = errors.0.iter().find(|one| one.key == full);
        let Some(told) = told else { return Err(TestCaseError::fail(format!("{full} is not told: {errors}"))) };
        prop_assert!(!errors.to_string().contains("SECRET"), "{}", errors);
        let named = told.message.split('\'').nth(1).unwrap_or_default();
        let last = named.rsplit('.').next().unwrap_or_default();
        prop_assert!(told.message.contains("unknown"), "{}", told.message);
        prop_assert!(distance(last, &slip) <= 2, "{} for {}", named, slip);
    }

    /// A mistake of any size anywhere in a file with secrets in their places: they stay out of messages.
    #[test]
    fn no_secret_is_told_whatever_is_wrong(place in any::<Index>(), piece in select(vec!["", "\"", "'", "=", "[", "]", "{", "#", "\\", ".", ",", "\0", "\u{202e}", "x", "\n\n", "[[", "\"\"\""]), cut in 0..3_usize) {
        let at = place.index(BASE.len() - 3);
        let text = format!("{}{piece}{}", &BASE[..at], &BASE[at + cut..]);
        let said = match read(text.as_bytes(), &[]) {
            Ok(settings) => format!("{settings:?}"),
            Err(errors) => format!("{errors} {errors:?}"),
        };
        // The mistake may be in a secret itself.
        for secret in ["SECRET-vm", "SECRET-token", "SECRET-billing", "SECRET-smtp", "SECRET-path"] {
            prop_assert!(!said.contains(secret), "{} in {}", secret, said);
        }
    }
}
