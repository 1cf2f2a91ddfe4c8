//! The three endpoint groups and the Authorization headers that they accept (section 5). A wrong credential is
//! compared and dropped, never kept or logged.

use super::options::Args;
use base64::Engine as _;
use serde::{Deserialize, Serialize};

/// An endpoint group (section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Hosting,
    Vm,
    Billing,
    /// no documented path
    Other,
}

impl Group {
    /// The group a path belongs to.
    pub fn of(path: &str) -> Group {
        let starts = |p: &str| path.starts_with(p);
        if starts("/api/v1/hosting/") || starts("/api/v2/hosting/") {
            Group::Hosting
        } else if starts("/api/cvds/v1/") {
            Group::Vm
        } else if starts("/api/v1/expected_balance/") || starts("/api/v1/charge/") {
            Group::Billing
        } else {
            Group::Other
        }
    }

    /// Whether the header opens this group. `is_held`: whether a hosting token was bought and has not ended.
    pub fn admits(self, header: Option<&str>, args: &Args, is_held: impl Fn(&str) -> bool) -> bool {
        let Some(header) = header else { return self == Group::Other };
        match self {
            Group::Other => true,
            Group::Hosting => {
                // The interface does not show the word before the token, so any word or none is accepted.
                let token = header.rsplit_once(' ').map_or(header, |(_, token)| token);
                if args.token_lifetime.is_some() { is_held(token) } else { token == args.hosting_token }
            }
            Group::Vm => header.strip_prefix("Token ").is_some_and(|key| key == args.vm_api_key),
            Group::Billing => {
                let wanted = format!("{}:{}", args.billing_username, args.billing_password);
                let (word, sent) = header.split_once(' ').unwrap_or(("", header));
                word.eq_ignore_ascii_case("basic")
                    && base64::engine::general_purpose::STANDARD
                        .decode(sent.trim())
                        .is_ok_and(|sent| sent == wanted.as_bytes())
            }
        }
    }

    /// The challenge of its 401.
    pub fn challenge(self) -> &'static str {
        match self {
            Group::Hosting => "Bearer",
            Group::Vm => "Token",
            Group::Billing | Group::Other => "Basic realm=\"billing\"",
        }
    }
}
