//! Every read operation of the interface (4.1–4.8) as a table: its path, whose credentials it takes,
//! which limit it counts against, and how urgent it is. And the address of one.

use std::sync::Arc;

use reqwest::Url;

use crate::model::Group;

use super::error::{ApiError, ErrorKind};
use super::redact::Redactor;
use super::settings::Settings;

/// A read operation of the interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    Containers,
    Container,
    Databases,
    Sites,
    Site,
    EngineVersions,
    CronJobs,
    CronJob,
    Vms,
    Vm,
    SshKeys,
    SshKey,
    Ips,
    Ip,
    ExpectedBalance,
    Charges,
    Charge,
}

/// The budgets of `[limits]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    VmList,
    VmOther,
    Hosting,
    Billing,
}

/// Within one budget states go before inventory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Urgency {
    State,
    Inventory,
}

struct Row {
    group: Group,
    limit: Limit,
    urgency: Urgency,
    /// `{}` is the id or date.
    path: &'static str,
    /// For messages.
    what: &'static str,
    /// 404 means that a thing is not there, not that the address is wrong.
    may_be_missing: bool,
}

impl Operation {
    pub const ALL: [Self; 17] = [
        Self::Containers,
        Self::Container,
        Self::Databases,
        Self::Sites,
        Self::Site,
        Self::EngineVersions,
        Self::CronJobs,
        Self::CronJob,
        Self::Vms,
        Self::Vm,
        Self::SshKeys,
        Self::SshKey,
        Self::Ips,
        Self::Ip,
        Self::ExpectedBalance,
        Self::Charges,
        Self::Charge,
    ];

    #[rustfmt::skip]
    fn row(self) -> Row {
        use self::{Limit as L, Urgency as U};
        let row = |group, limit, urgency, path, what, may_be_missing| {
            Row { group, limit, urgency, path, what, may_be_missing }
        };
        let (h, v, b) = (Group::Hosting, Group::Vm, Group::Billing);
        match self {
            Self::Containers => row(h, L::Hosting, U::State, "/api/v1/hosting/containers/", "the containers", false),
            Self::Container => row(h, L::Hosting, U::State, "/api/v1/hosting/containers/{}/", "a container", true),
            Self::Databases => row(h, L::Hosting, U::Inventory, "/api/v1/hosting/dbms/{}/databases/", "a site's databases", true),
            Self::Sites => row(h, L::Hosting, U::State, "/api/v2/hosting/containers/{}/virtualhosts/", "a container's sites", true),
            Self::Site => row(h, L::Hosting, U::State, "/api/v2/hosting/virtualhosts/{}/", "a site", true),
            Self::EngineVersions => row(h, L::Hosting, U::Inventory, "/api/v2/hosting/virtualhosts/{}/engine-versions/", "a site's engine versions", true),
            Self::CronJobs => row(h, L::Hosting, U::Inventory, "/api/v2/hosting/virtualhosts/{}/cron/", "a site's cron jobs", true),
            Self::CronJob => row(h, L::Hosting, U::Inventory, "/api/v2/hosting/cron/{}/", "a cron job", true),
            Self::Vms => row(v, L::VmList, U::State, "/api/cvds/v1/vms/", "the VMs", false),
            Self::Vm => row(v, L::VmOther, U::State, "/api/cvds/v1/vms/{}/", "a VM", true),
            Self::SshKeys => row(v, L::VmOther, U::Inventory, "/api/cvds/v1/ssh-keys/", "the SSH keys", false),
            Self::SshKey => row(v, L::VmOther, U::Inventory, "/api/cvds/v1/ssh-keys/{}/", "an SSH key", true),
            Self::Ips => row(v, L::VmOther, U::Inventory, "/api/cvds/v1/ips/", "the IP addresses", false),
            Self::Ip => row(v, L::VmOther, U::Inventory, "/api/cvds/v1/ips/{}/", "an IP address", true),
            Self::ExpectedBalance => row(b, L::Billing, U::State, "/api/v1/expected_balance/{}/", "the expected balance", true),
            Self::Charges => row(b, L::Billing, U::Inventory, "/api/v1/charge/", "the charges", true),
            Self::Charge => row(b, L::Billing, U::Inventory, "/api/v1/charge/{}/", "a charge", true),
        }
    }

    /// Whose credentials it takes (interface 5).
    pub fn group(self) -> Group {
        self.row().group
    }

    /// What it reads, for messages.
    pub fn what(self) -> &'static str {
        self.row().what
    }

    /// 404 means that the thing, its parent or its data are not there.
    pub fn may_be_missing(self) -> bool {
        self.row().may_be_missing
    }

    /// The path, with `{}` for the id or date.
    pub fn path(self) -> &'static str {
        self.row().path
    }

    pub(super) fn limit(self) -> Limit {
        self.row().limit
    }

    pub(super) fn urgency(self) -> Urgency {
        self.row().urgency
    }
}

/// An operation at its address.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub operation: Operation,
    /// Without query, fragment or user.
    pub url: Url,
    redactor: Arc<Redactor>,
}

impl Endpoint {
    /// The address of an operation on `id` (a number, a date, or empty where the path has none).
    pub fn new(
        settings: &Settings,
        redactor: &Arc<Redactor>,
        operation: Operation,
        id: &str,
    ) -> Result<Self, ApiError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !id.chars().all(fits) || (operation.path().contains("{}") && id.is_empty()) {
            let kind = ErrorKind::BadArgument("an id is made of letters, digits, '-' and '_'");
            return Err(ApiError::new(operation, operation.path(), kind));
        }
        let path = operation.path().replace("{}", id);
        let group = operation.group();
        let base = match group {
            Group::Hosting => settings.base_url.as_ref(),
            Group::Vm | Group::Billing => settings.panel_url.as_ref(),
        };
        let Some(base) = base.filter(|base| settings.has(group) && base.has_host()) else {
            return Err(ApiError::new(operation, path, ErrorKind::Off));
        };
        let mut url = bare(base);
        let prefix = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{prefix}{path}"));
        Ok(Self { operation, url, redactor: Arc::clone(redactor) })
    }

    /// Without the credentials, should the provider have quoted them.
    pub fn error(&self, kind: ErrorKind) -> ApiError {
        ApiError::new(self.operation, self.url.as_str(), self.redactor.hide_in(kind))
    }
}

/// An address of somebody else's, bare and not endless, for messages.
pub(super) fn shown(url: &Url) -> String {
    const MOST: usize = 200;
    let text: String = bare(url).into();
    // Addresses are ASCII.
    text.get(..MOST).map(|start| format!("{start}…")).unwrap_or(text)
}

/// Without query, fragment, user and password: fit to be shown.
pub(super) fn bare(url: &Url) -> Url {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    // Both fail only for addresses that can't hold a user, which then have none.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::tests::settings;

    fn url(base: &str, operation: Operation, id: &str) -> String {
        let mut settings = settings();
        settings.base_url = Some(base.parse().unwrap());
        settings.panel_url = Some(base.parse().unwrap());
        Endpoint::new(&settings, &Arc::default(), operation, id).unwrap().url.into()
    }

    #[test]
    fn an_address_keeps_the_prefix_and_nothing_else_of_the_base() {
        let table = [
            ("https://a.example", "https://a.example/api/v2/hosting/containers/7/virtualhosts/"),
            ("https://a.example/", "https://a.example/api/v2/hosting/containers/7/virtualhosts/"),
            (
                "https://a.example:8443/p/q/",
                "https://a.example:8443/p/q/api/v2/hosting/containers/7/virtualhosts/",
            ),
            (
                "https://u:p@a.example/p?x=1#f",
                "https://a.example/p/api/v2/hosting/containers/7/virtualhosts/",
            ),
        ];
        for (base, want) in table {
            assert_eq!(url(base, Operation::Sites, "7"), want);
        }
    }

    #[test]
    fn an_id_can_not_leave_its_place_in_the_path() {
        let settings = settings();
        for id in ["../../x", "1/2", "1?x=2", "", "%2e", ".."] {
            let error = Endpoint::new(&settings, &Arc::default(), Operation::Charge, id).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::BadArgument(_)), "{id}");
        }
    }

    #[test]
    fn every_operation_is_a_documented_path_of_its_group() {
        for operation in Operation::ALL {
            let path = operation.path();
            let group = match path {
                _ if path.contains("/hosting/") => Group::Hosting,
                _ if path.starts_with("/api/cvds/v1/") => Group::Vm,
                _ => Group::Billing,
            };
            assert_eq!(operation.group(), group, "{path}");
            assert!(path.starts_with("/api/") && path.ends_with('/'), "{path}");
        }
    }
}
