//! The way to a service outside: a proxy, and authorities that are trusted beside the system's.

use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};

/// The way to one service; by default direct, with the system's authorities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Via {
    /// Its address may hold a password.
    pub proxy: Option<SecretString>,
    /// Certificates in PEM form.
    pub authorities: Option<Arc<[u8]>>,
}

impl PartialEq for Via {
    fn eq(&self, other: &Self) -> bool {
        let proxy = |via: &Self| via.proxy.as_ref().map(|proxy| proxy.expose_secret().to_owned());
        proxy(self) == proxy(other) && self.authorities == other.authorities
    }
}
