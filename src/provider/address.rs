//! An operation at its address: the configured origin and prefix, and what of an address may be shown.

use std::sync::Arc;

use reqwest::Url;

use super::endpoints::Operation;
use super::error::{ApiError, ErrorKind};
use super::redact::Redactor;
use super::settings::ProviderSettings;

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
    pub(super) fn new(
        settings: &ProviderSettings,
        redactor: &Arc<Redactor>,
        operation: Operation,
        id: &str,
    ) -> Result<Self, ApiError> {
        let path = operation.row().path.replace("{}", id);
        let (base, credentials) = settings.access(operation.group());
        let Some(base) = base.filter(|base| credentials.is_some() && base.has_host()) else {
            return Err(ApiError::new(operation, path, ErrorKind::Off));
        };
        let mut url = bare(base);
        let prefix = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{prefix}{path}"));
        Ok(Self { operation, url, redactor: Arc::clone(redactor) })
    }

    /// Without the credentials, should the provider have quoted them.
    pub(super) fn error(&self, kind: ErrorKind) -> ApiError {
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
}
