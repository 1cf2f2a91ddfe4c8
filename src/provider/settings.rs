//! What the client needs to know of one account: addresses, credentials, limits. No I/O.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use crate::model::{AccountName, Group};

/// One account at the provider.
#[derive(Clone, Debug)]
pub(crate) struct ProviderSettings {
    pub account: AccountName,
    /// Serves `/api/v1/hosting/` and `/api/v2/hosting/`; ends without a slash or with one.
    pub base_url: Option<Url>,
    /// Serves `/api/cvds/v1/` and billing.
    pub panel_url: Option<Url>,
    pub hosting: Option<HostingCredentials>,
    pub vm_api_key: Option<SecretString>,
    pub billing: Option<BillingCredentials>,
    /// Names of the numeric container states; the interface does not give them (2.1).
    pub container_states: BTreeMap<i64, String>,
    /// Of datetimes without offset; without it they are unknown.
    pub time_zone: Option<Tz>,
    pub limits: Limits,
}

impl ProviderSettings {
    /// Would a client made for one do as one made for the other?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let rest = |it: &Self| (it.account.clone(), it.container_states.clone(), it.time_zone, it.limits);
        Group::ALL.into_iter().all(|group| self.has_same_access(other, group)) && rest(self) == rest(other)
    }

    /// Where a group is asked, and with what: a scheme or a name, and the secret.
    pub(super) fn access(&self, group: Group) -> (Option<&Url>, Option<(&str, &str)>) {
        let (url, credentials) = match group {
            Group::Hosting => {
                let hosting = self.hosting.as_ref();
                (&self.base_url, hosting.map(|it| (it.scheme.as_str(), &it.token)))
            }
            Group::Vm => (&self.panel_url, self.vm_api_key.as_ref().map(|key| ("Token", key))),
            Group::Billing => {
                let billing = self.billing.as_ref();
                (&self.panel_url, billing.map(|it| (it.username.as_str(), &it.password)))
            }
        };
        (url.as_ref(), credentials.map(|(name, secret)| (name, secret.expose_secret())))
    }

    /// Is this group asked at the same address, with the same credentials?
    pub(super) fn has_same_access(&self, other: &Self, group: Group) -> bool {
        self.access(group) == other.access(group)
    }

    /// An endpoint group without address or credentials is off.
    pub(crate) fn has(&self, group: Group) -> bool {
        matches!(self.access(group), (Some(_), Some(_)))
    }
}

/// `Authorization` of the hosting endpoints; the interface does not show the word before the token (5).
#[derive(Clone, Debug)]
pub(crate) struct HostingCredentials {
    /// `Bearer`, another word, or empty for none.
    pub scheme: String,
    pub token: SecretString,
}

/// HTTP basic authentication of the billing endpoints (5).
#[derive(Clone, Debug)]
pub(crate) struct BillingCredentials {
    pub username: String,
    pub password: SecretString,
}

/// Calls in any 60 s, of one account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    pub vm_list_per_minute: u32,
    pub vm_other_per_minute: u32,
    pub hosting_per_minute: u32,
    pub billing_per_minute: u32,
}

impl Limits {
    /// In the order of [`super::endpoints::CallLimit`].
    pub(super) fn each(&self) -> [u32; 4] {
        [self.vm_list_per_minute, self.vm_other_per_minute, self.hosting_per_minute, self.billing_per_minute]
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            vm_list_per_minute: 200,
            vm_other_per_minute: 60,
            hosting_per_minute: 300,
            billing_per_minute: 30,
        }
    }
}
