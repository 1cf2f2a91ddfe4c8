//! The client's settings of one account: addresses, credentials, limits. No I/O.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use crate::model::{AccountName, Group, Via};

/// One account at the provider.
#[derive(Clone, Debug)]
pub(crate) struct ProviderSettings {
    pub account: AccountName,
    /// Serves `/api/v1/hosting/` and `/api/v2/hosting/`; with or without a slash at the end.
    pub base_url: Option<Url>,
    /// Serves `/api/cvds/v1/` and billing.
    pub panel_url: Option<Url>,
    pub hosting: Option<HostingCredentials>,
    pub vm_api_key: Option<SecretString>,
    pub billing: Option<BillingCredentials>,
    /// Names of the numeric container states, which the interface does not give (2.1).
    pub container_states: BTreeMap<i64, String>,
    /// The zone of datetimes without offset. Without it they are unknown.
    pub time_zone: Option<Tz>,
    pub limits: Limits,
    /// The way to the provider.
    pub via: Via,
}

impl ProviderSettings {
    /// Whether a client for one of them would also do for the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let rest = |it: &Self| {
            (it.account.clone(), it.container_states.clone(), it.time_zone, it.limits, it.via.clone())
        };
        Group::ALL.into_iter().all(|group| self.has_same_access(other, group)) && rest(self) == rest(other)
    }

    /// The address and the credentials of a group: a scheme or a name, and the secret. For a token that is
    /// bought the secret is the key.
    pub(super) fn access(&self, group: Group) -> (Option<&Url>, Option<(&str, &str)>) {
        let (url, credentials) = match group {
            Group::Hosting => {
                let hosting = self.hosting.as_ref();
                (&self.base_url, hosting.map(|it| (it.scheme.as_str(), it.token.secret())))
            }
            Group::Vm => (&self.panel_url, self.vm_api_key.as_ref().map(|key| ("Token", key))),
            Group::Billing => {
                let billing = self.billing.as_ref();
                (&self.panel_url, billing.map(|it| (it.username.as_str(), &it.password)))
            }
        };
        (url.as_ref(), credentials.map(|(name, secret)| (name, secret.expose_secret())))
    }

    /// Whether a group has the same address and the same credentials.
    pub(super) fn has_same_access(&self, other: &Self, group: Group) -> bool {
        let same_token = group != Group::Hosting || self.offer() == other.offer();
        self.access(group) == other.access(group) && same_token
    }

    /// The settings for buying the hosting token.
    pub(super) fn offer(&self) -> Option<&TokenOffer> {
        match &self.hosting.as_ref()?.token {
            HostingToken::Bought(offer) => Some(offer),
            HostingToken::Given(_) => None,
        }
    }

    /// Whether a group is on: it has an address and credentials.
    pub(crate) fn has(&self, group: Group) -> bool {
        matches!(self.access(group), (Some(_), Some(_)))
    }
}

/// `Authorization` of the hosting endpoints. The interface does not show the word before the token (5).
#[derive(Clone, Debug)]
pub(crate) struct HostingCredentials {
    /// `Bearer`, another word, or empty for none.
    pub scheme: String,
    pub token: HostingToken,
}

/// The source of the token.
#[derive(Clone, Debug)]
pub(crate) enum HostingToken {
    Given(SecretString),
    /// The token ends, and is bought with a key.
    Bought(TokenOffer),
}

impl HostingToken {
    fn secret(&self) -> &SecretString {
        match self {
            Self::Given(token) => token,
            Self::Bought(offer) => &offer.api_key,
        }
    }
}

/// How a token is bought. The interface does not say, so all of it is configured.
#[derive(Clone, Debug)]
pub(crate) struct TokenOffer {
    /// https, or http to loopback.
    pub url: Url,
    pub api_key: SecretString,
    /// The field of the form that holds the key.
    pub key_field: String,
    /// The field of the JSON answer that holds the token.
    pub token_field: String,
}

impl PartialEq for TokenOffer {
    fn eq(&self, other: &Self) -> bool {
        let all = |it: &Self| (it.url.clone(), it.key_field.clone(), it.token_field.clone());
        all(self) == all(other) && self.api_key.expose_secret() == other.api_key.expose_secret()
    }
}

/// HTTP basic authentication of the billing endpoints (5).
#[derive(Clone, Debug)]
pub(crate) struct BillingCredentials {
    pub username: String,
    pub password: SecretString,
}

/// The calls of one account in any 60 s, in the order of [`super::CallLimit`].
pub(crate) type Limits = [u32; 4];
