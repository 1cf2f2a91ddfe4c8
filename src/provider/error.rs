//! The errors of reads: the data, the address, the reason, and the remedy. They hold no credential, no query
//! and no text of a body.

use std::error::Error;
use std::time::Duration;

use crate::model::{Collector, Failure, FailureKind, Group};
use crate::trust;

/// A read that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("reading {what} ({place}): {kind}", what = collector.row().what, kind = self.described())]
pub(crate) struct ApiError {
    pub collector: Collector,
    /// Scheme, host, port and path; the path alone if no address is configured.
    pub place: String,
    pub kind: ErrorKind,
}

/// The reason of a failed read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("the group has no address or no credentials, so it is off")]
    Off,
    #[error("the HTTP client can't be set up: {0}")]
    Setup(String),
    /// The group is left alone. Without a time it is asked again with the next poll.
    #[error("{why}; it is asked again {}", again(*retry_in))]
    NotAsked { why: Why, retry_in: Duration },
    /// The hosting token could not be bought.
    #[error("no token from {place}: {why}")]
    NoToken { place: String, why: Box<Self> },
    /// An answer without success, with its words.
    #[error("HTTP {0}{1}")]
    Status(u16, String),
    /// The same, about the credentials.
    #[error("HTTP {0}{1}")]
    Rejected(u16, String),
    /// A redirect. It is never followed, since credentials go to the configured address only.
    #[error("the provider answered {status}, a redirect to {to}, which is not followed")]
    Redirect { status: u16, to: String },
    #[error("no complete answer within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("no connection: {0}")]
    Connect(String),
    #[error("no connection through the proxy: {0}")]
    Proxy(String),
    #[error("the connection broke: {0}")]
    Closed(String),
    /// More than a page, a listing or a report may have.
    #[error("the answer has more than {limit} {unit}")]
    TooLarge { limit: u64, unit: &'static str },
    #[error("the answer is not JSON{0}")]
    NotJson(String),
    #[error("the answer has another shape than the interface says: {0}")]
    WrongShape(String),
    #[error("the pages go round in a circle after {0} of them")]
    NextLoop(u64),
}

/// The reason why a group is not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Why {
    #[error("the provider keeps refusing the credentials")]
    Rejected,
    #[error("the provider keeps refusing")]
    Refused,
    #[error("the provider asks to wait")]
    AskedToWait,
}

fn again(retry_in: Duration) -> String {
    if retry_in.is_zero() { "with the next poll".to_owned() } else { format!("in {} s", retry_in.as_secs()) }
}

/// The innermost cause of an error, which tells a person what to do.
pub(crate) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |&error| error.source()).last().unwrap_or(error)
}

/// The innermost cause in words; of a certificate with its remedy.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    trust::in_words(error, "the key ca_file", "the address").unwrap_or_else(|| innermost(error).to_string())
}

impl ErrorKind {
    pub(super) fn within(size: u64, limit: u64, unit: &'static str) -> Result<(), Self> {
        if size <= limit { Ok(()) } else { Err(Self::TooLarge { limit, unit }) }
    }

    /// The same; of a purchase of a token that failed, the reason of that.
    pub(super) fn reason(&self) -> &Self {
        if let Self::NoToken { why, .. } = self { why } else { self }
    }

    /// A text that may quote the provider.
    pub(super) fn quotation(&mut self) -> Option<&mut String> {
        match self {
            Self::Redirect { to: text, .. }
            | Self::NotJson(text)
            | Self::WrongShape(text)
            | Self::Connect(text)
            | Self::Proxy(text)
            | Self::Closed(text)
            | Self::Status(_, text)
            | Self::Rejected(_, text) => Some(text),
            Self::NoToken { why, .. } => why.quotation(),
            Self::Off
            | Self::Setup(_)
            | Self::NotAsked { .. }
            | Self::Timeout(_)
            | Self::TooLarge { .. }
            | Self::NextLoop(_) => None,
        }
    }
}

impl ApiError {
    pub(super) fn new(collector: Collector, place: impl Into<String>, kind: ErrorKind) -> Self {
        Self { collector, place: place.into(), kind }
    }

    /// The group whose credentials were used.
    pub(crate) fn group(&self) -> Group {
        self.collector.group()
    }

    /// A 404 that the interface explains: the resource, its parent or its data are missing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self.kind, ErrorKind::Status(404, _)) && self.collector.row().may_be_missing
    }

    /// Whether the credentials were refused, now or in all the last polls.
    pub(crate) fn is_credentials(&self) -> bool {
        matches!(self.kind.reason(), ErrorKind::Rejected(..) | ErrorKind::NotAsked { why: Why::Rejected, .. })
    }

    /// For the expected-balance report: whether a nearer date may succeed.
    pub(crate) fn wants_less(&self) -> bool {
        matches!(self.kind, ErrorKind::TooLarge { .. } | ErrorKind::Timeout(_))
    }

    /// The failure of the poll, in words for logs and pages.
    pub(crate) fn failure(&self) -> Failure {
        use ErrorKind::*;
        let kind = match self.kind.reason() {
            Rejected(403, _) => FailureKind::NeverAccepted,
            _ if self.is_credentials() => FailureKind::Credentials,
            Status(402 | 403, _) | NotAsked { why: Why::Refused, .. } => FailureKind::Refused,
            _ if self.is_not_found() => FailureKind::NotFound,
            // The provider did not answer.
            Off | Setup(_) | NoToken { .. } | Timeout(_) | Connect(_) | Proxy(_) | Closed(_) => {
                FailureKind::Other
            }
            NotAsked { .. }
            | Status(..)
            | Rejected(..)
            | Redirect { .. }
            | TooLarge { .. }
            | NotJson(_)
            | WrongShape(_)
            | NextLoop(_) => FailureKind::Unusable,
        };
        let asked = !matches!(self.kind, NotAsked { .. });
        Failure { asked, ..Failure::new(kind, self.to_string()) }
    }

    fn described(&self) -> String {
        let kind = self.kind.to_string();
        self.remedy().map_or(kind.clone(), |remedy| format!("{kind}; {remedy}"))
    }

    fn remedy(&self) -> Option<&'static str> {
        use ErrorKind::{Connect, NoToken, NotJson, Off, Proxy, Redirect, Status};
        let reason = self.kind.reason();
        let (address, credentials) = match self.group() {
            Group::Hosting if matches!(self.kind, NoToken { .. }) => {
                ("check hosting_token_url", "check hosting_api_key and hosting_token_fields")
            }
            Group::Hosting => {
                ("check base_url", "check hosting_token, or hosting_api_key, and hosting_auth_scheme")
            }
            Group::Vm => ("check panel_url", "check vm_api_key"),
            Group::Billing => ("check panel_url", "check billing_username and billing_password"),
        };
        let is_misplaced = matches!(reason, Redirect { .. } | Connect(_) | NotJson(_))
            || (matches!(reason, Status(404, _)) && !self.is_not_found());
        if self.kind == Off {
            Some("set its address and credentials")
        } else if matches!(reason, Proxy(_) | Status(407, _)) {
            Some("check proxy")
        } else if self.is_credentials() {
            Some(credentials)
        } else {
            is_misplaced.then_some(address)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(collector: Collector, kind: ErrorKind) -> (FailureKind, String) {
        let failure = ApiError::new(collector, "https://panel.example/x/", kind).failure();
        (failure.kind, failure.message)
    }

    #[test]
    fn a_404_is_an_answer_only_where_something_was_named() {
        let missing = || ErrorKind::Status(404, ": not found".into());
        assert_eq!(failure(Collector::Sites, missing()).0, FailureKind::NotFound);
        assert_eq!(failure(Collector::ExpectedBalance, missing()).0, FailureKind::NotFound);
        let (kind, message) = failure(Collector::Vms, missing());
        assert_eq!(kind, FailureKind::Unusable);
        assert_eq!(
            message,
            "reading the VMs (https://panel.example/x/): HTTP 404: not found; check panel_url"
        );
        let (kind, message) = failure(Collector::Charges, missing());
        assert!(kind == FailureKind::Unusable && message.ends_with("; check panel_url"), "{message}");
    }

    #[test]
    fn the_remedy_for_a_proxy_names_the_proxy() {
        for kind in [ErrorKind::Proxy("Connection refused".into()), ErrorKind::Status(407, String::new())] {
            let (_, message) = failure(Collector::Vms, kind);
            assert!(message.ends_with("; check proxy"), "{message}");
        }
    }

    #[test]
    fn refused_credentials_are_named_by_their_keys() {
        for (collector, key) in [
            (Collector::Containers, "hosting_token"),
            (Collector::Vms, "vm_api_key"),
            (Collector::Charges, "billing_password"),
        ] {
            let held = ErrorKind::NotAsked { why: Why::Rejected, retry_in: Duration::MAX };
            for (kind, want) in [
                (ErrorKind::Rejected(401, String::new()), FailureKind::Credentials),
                (ErrorKind::Rejected(403, String::new()), FailureKind::NeverAccepted),
                (held, FailureKind::Credentials),
            ] {
                let (kind, message) = failure(collector, kind);
                assert_eq!(kind, want);
                assert!(message.contains(key), "{message}");
            }
            let (kind, message) = failure(collector, ErrorKind::Status(403, ": slow down".into()));
            assert!(kind == FailureKind::Refused && message.ends_with("HTTP 403: slow down"), "{message}");
        }
    }
}
