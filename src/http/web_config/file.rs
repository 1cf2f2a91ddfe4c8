//! The web configuration file as written: the keys of the Prometheus exporter toolkit, read strictly. Other
//! modules interpret the values. Messages quote keys, and never values, since a value may be a secret in the
//! wrong place.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Deserialize;
use serde_saphyr::Error;

use crate::model::nearest::nearest;

/// The whole file; absent keys are `None`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub tls_server_config: Option<Tls>,
    pub http_server_config: Option<Http>,
    pub basic_auth_users: Option<BTreeMap<String, SecretString>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub cert_file: Option<String>,
    pub key_file: Option<String>,
    pub client_auth_type: Option<String>,
    pub client_ca_file: Option<String>,
    pub min_version: Option<String>,
    pub cipher_suites: Option<Vec<String>>,
    pub prefer_server_cipher_suites: Option<bool>,
    pub curve_preferences: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Http {
    pub http2: Option<bool>,
    pub headers: Option<BTreeMap<String, String>>,
}

/// The keys of the toolkit that are refused. If one of them were ignored, more clients could come in than its
/// author wants.
const REFUSED: [&str; 6] = ["cert", "client_allowed_sans", "client_ca", "key", "max_version", "rate_limit"];

/// Reads the text; an empty one is a file without keys.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub(super) fn parse(text: &str) -> Result<File, String> {
    let options = serde_saphyr::options! { with_snippet: false };
    let read: Result<Option<File>, Error> = serde_saphyr::from_str_with_options(text, options);
    read.map(Option::unwrap_or_default).map_err(|error| in_words(&error))
}

fn in_words(error: &Error) -> String {
    let place = match error.location() {
        Some(at) => format!("line {}, column {}: ", at.line(), at.column()),
        None => String::new(),
    };
    let what = if let Error::SerdeUnknownField { field, expected, .. } = error {
        if REFUSED.contains(&field.as_str()) {
            return format!("{place}hostwatch does not have the toolkit's key '{field}'; remove it");
        }
        format!("unknown key '{field}'; did you mean '{}'?", nearest(field, expected))
    } else if let Error::DuplicateMappingKey { key, .. } = error {
        format!("the key '{}' is there twice; keep one", key.as_deref().unwrap_or_default())
    } else if let Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. } = error
    {
        format!("expected {expected}")
    } else {
        "not what is expected here, or not YAML; see the commented example config/web.yml".to_owned()
    };
    format!("{place}{what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `client_allowed_sans` that were ignored would let in every client of the authority.
    #[test]
    fn keys_of_the_toolkit_that_are_not_here_are_refused() {
        for key in ["cert", "client_allowed_sans", "client_ca", "key", "max_version", "rate_limit"] {
            let want = format!("hostwatch does not have the toolkit's key '{key}'; remove it");
            let tls = parse(&format!("tls_server_config:\n  cert_file: x\n  {key}: s3cret\n")).unwrap_err();
            assert_eq!(tls, format!("line 3, column 3: {want}"));
            assert_eq!(parse(&format!("{key}: [s3cret]")).unwrap_err(), format!("line 1, column 1: {want}"));
        }
    }

    #[test]
    fn a_user_may_be_a_number() {
        assert!(parse("basic_auth_users: {42: hash}").unwrap().basic_auth_users.unwrap().contains_key("42"));
    }

    #[test]
    fn empty_files_and_tables_are_valid() {
        for text in ["", "# nothing\n", "---\n", "tls_server_config:\nbasic_auth_users:\n", "{}"] {
            let file = parse(text).unwrap();
            assert!(file.tls_server_config.is_none() && file.basic_auth_users.is_none(), "{text}");
        }
    }

    #[test]
    fn errors_name_the_line_and_never_the_value() {
        let table = [
            (
                "basic_auth_users:\n  a: s3cret\n  a: s3cret\n",
                "line 3, column 3: the key 'a' is there twice; keep one",
            ),
            ("basic_auth_users: s3cret\n", "line 1, column 19: "),
            ("basic_auth_users: [s3cret]\n", "line 1, column 19: "),
            ("http_server_config: {http2: s3cret}\n", "line 1, column 29: "),
            ("tls_server_config: {cert_file: [s3cret]}\n", "line 1, column 32: "),
            ("tls_server_config: {key_file: {s3cret: s3cret}}\n", "line 1, column 31: "),
            ("basic_auth_users:\n  a: 's3cret\n", "line "),
            ("a: b: s3cret\n", "line "),
            ("- s3cret\n", "line 1"),
            ("s3cret\n", "line 1"),
            ("basic_auth_users: {a: *s3cret}\n", "line 1"),
            ("http_server_config: {}\n---\nbasic_auth_users: {a: s3cret}\n", "line "),
        ];
        for (text, want) in table {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(want), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
