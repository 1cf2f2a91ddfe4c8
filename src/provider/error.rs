//! Why a read failed: what was read from where, what went wrong, and what to do about it. Holds no
//! credential, no query and no text of a body.

use std::time::Duration;

use crate::model::{Failure, FailureKind, Group};

use super::endpoints::Operation;

/// A read that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("reading {what} ({place}): {kind}", what = operation.row().what, kind = self.described())]
pub(crate) struct ApiError {
    pub operation: Operation,
    /// Scheme, host, port and path; the path alone where no address is configured.
    pub place: String,
    pub kind: ErrorKind,
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("the group has no address or no credentials, so it is off")]
    Off,
    #[error("the HTTP client can't be set up: {0}")]
    Setup(String),
    /// Not asked at all: poll after poll ended in 401 or 403.
    #[error(
        "not asked: the provider keeps refusing the credentials; it is asked again in {} s",
        retry_in.as_secs()
    )]
    Held { retry_in: Duration },
    /// Not asked: the provider wants a pause.
    #[error("not asked: the provider asked to wait; it is asked again in {} s", retry_in.as_secs())]
    Paused { retry_in: Duration },
    /// Not asked: this poll was refused before and never accepted.
    #[error("not asked: the provider refused the credentials before in this poll")]
    GivenUp,
    #[error("the provider answered {0}")]
    Status(u16),
    /// A redirect, which is never followed: credentials go to the configured address only.
    #[error("the provider answered {status}, a redirect to {to}, which is not followed")]
    Redirect { status: u16, to: String },
    #[error("the provider asks to wait {} s before the next try, longer than a poll waits", .0.as_secs())]
    AskedToWait(Duration),
    #[error("no complete answer within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("no connection: {0}")]
    Connect(String),
    #[error("the connection broke: {0}")]
    Closed(String),
    /// More than a page or a report may have: bytes, or charge moments.
    #[error("the answer has more than {limit} {unit}")]
    TooLarge { limit: u64, unit: &'static str },
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    #[error("the answer has another shape than the interface says: {0}")]
    WrongShape(String),
    #[error("the next page is said to be at {next}, not at {expected}, and is not asked for")]
    ForeignNext { next: String, expected: String },
    #[error("the pages go round in a circle after {0} of them")]
    NextLoop(u32),
    #[error("the listing has more than {0} pages")]
    TooManyPages(u32),
}

impl ApiError {
    pub(super) fn new(operation: Operation, place: impl Into<String>, kind: ErrorKind) -> Self {
        Self { operation, place: place.into(), kind }
    }

    /// Whose credentials it was about.
    pub(crate) fn group(&self) -> Group {
        self.operation.group()
    }

    /// 404 where the interface gives it a meaning: the thing, its parent or its data are not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.kind == ErrorKind::Status(404) && self.operation.row().may_be_missing
    }

    /// The credentials were refused, now or poll after poll before.
    pub(crate) fn is_credentials(&self) -> bool {
        matches!(self.kind, ErrorKind::Status(401 | 403) | ErrorKind::Held { .. } | ErrorKind::GivenUp)
    }

    /// For the expected-balance report: a nearer date may be answered where this one was not.
    pub(crate) fn wants_less(&self) -> bool {
        matches!(self.kind, ErrorKind::TooLarge { .. } | ErrorKind::Timeout(_))
    }

    /// As the poll's failure, in words fit for logs and pages.
    pub(crate) fn failure(&self) -> Failure {
        let kind = if self.is_credentials() {
            FailureKind::Credentials
        } else if self.is_not_found() {
            FailureKind::NotFound
        } else {
            FailureKind::Other
        };
        let asked = !matches!(self.kind, ErrorKind::Held { .. } | ErrorKind::Paused { .. });
        Failure { asked, ..Failure::new(kind, self.to_string()) }
    }

    fn described(&self) -> String {
        let kind = self.kind.to_string();
        self.remedy().map_or(kind.clone(), |remedy| format!("{kind}; {remedy}"))
    }

    fn remedy(&self) -> Option<&'static str> {
        let group = self.group();
        let address = match group {
            Group::Hosting => "check base_url",
            Group::Vm | Group::Billing => "check panel_url",
        };
        let credentials = match group {
            Group::Hosting => "check hosting_token and hosting_auth_scheme",
            Group::Vm => "check vm_api_key",
            Group::Billing => "check billing_username and billing_password",
        };
        let is_misplaced =
            matches!(self.kind, ErrorKind::Redirect { .. } | ErrorKind::Connect(_) | ErrorKind::NotJson(_));
        if self.kind == ErrorKind::Off {
            Some("set its address and credentials")
        } else if self.is_credentials() {
            Some(credentials)
        } else if is_misplaced || (self.kind == ErrorKind::Status(404) && !self.is_not_found()) {
            Some(address)
        } else if matches!(self.kind, ErrorKind::ForeignNext { .. }) {
            Some("set panel_url to the address the provider announces, if it is the provider's")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(operation: Operation, kind: ErrorKind) -> (FailureKind, String) {
        let failure = ApiError::new(operation, "https://panel.example/x/", kind).failure();
        (failure.kind, failure.message)
    }

    #[test]
    fn a_404_is_an_answer_only_where_something_was_named() {
        assert_eq!(failure(Operation::Sites, ErrorKind::Status(404)).0, FailureKind::NotFound);
        assert_eq!(failure(Operation::ExpectedBalance, ErrorKind::Status(404)).0, FailureKind::NotFound);
        let (kind, message) = failure(Operation::Vms, ErrorKind::Status(404));
        assert_eq!(kind, FailureKind::Other);
        assert_eq!(
            message,
            "reading the VMs (https://panel.example/x/): the provider answered 404; check panel_url"
        );
    }

    #[test]
    fn refused_credentials_are_named_by_their_keys() {
        for (operation, key) in [
            (Operation::Containers, "hosting_token"),
            (Operation::Vms, "vm_api_key"),
            (Operation::Charges, "billing_password"),
        ] {
            for kind in
                [ErrorKind::Status(401), ErrorKind::Status(403), ErrorKind::Held { retry_in: Duration::MAX }]
            {
                let (kind, message) = failure(operation, kind);
                assert_eq!(kind, FailureKind::Credentials);
                assert!(message.contains(key), "{message}");
            }
        }
    }
}
