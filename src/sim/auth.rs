//! The three endpoint groups and what each wants in the Authorization header (section 5).
//! A wrong credential is compared and forgotten, never kept or logged.

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

    /// Whether the header opens this group.
    pub fn admits(self, header: Option<&str>, args: &Args) -> bool {
        let Some(header) = header else { return self == Group::Other };
        match self {
            Group::Other => true,
            Group::Hosting => {
                let (word, token) = header.rsplit_once(' ').unwrap_or(("", header));
                let scheme = args.hosting_auth_scheme.as_str();
                token == args.hosting_token && (scheme == "any" || word.eq_ignore_ascii_case(scheme))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_wants_its_own() {
        let mut args = Args::default();
        assert!(Group::Hosting.admits(Some("Bearer hosting-token"), &args));
        assert!(Group::Hosting.admits(Some("hosting-token"), &args));
        assert!(!Group::Hosting.admits(Some("Bearer other"), &args) && !Group::Hosting.admits(None, &args));
        args.hosting_auth_scheme = "Bearer".to_owned();
        assert!(!Group::Hosting.admits(Some("hosting-token"), &args));
        args.hosting_auth_scheme = String::new();
        assert!(!Group::Hosting.admits(Some("Bearer hosting-token"), &args));
        assert!(Group::Vm.admits(Some("Token vm-api-key"), &args));
        assert!(!Group::Vm.admits(Some("vm-api-key"), &args) && !Group::Vm.admits(None, &args));
        let basic = base64::engine::general_purpose::STANDARD.encode("billing-user:billing-password");
        assert!(Group::Billing.admits(Some(&format!("Basic {basic}")), &args));
        assert!(!Group::Billing.admits(Some("Basic AAAA"), &args) && !Group::Billing.admits(None, &args));
    }
}
