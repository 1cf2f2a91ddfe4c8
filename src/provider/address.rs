//! The address of a read operation: the configured origin and prefix, and the parts of an address that may be
//! shown.

use std::sync::Arc;

use reqwest::Url;

use super::error::{ApiError, ErrorKind};
use super::redact::Redactor;
use super::settings::ProviderSettings;
use crate::model::Collector;

/// The read operation of a collector at its address.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub collector: Collector,
    /// The address without query, fragment or user.
    pub url: Url,
    redactor: Arc<Redactor>,
}

impl Endpoint {
    /// The address of an operation on `id`: a number, a date, or empty if the path has none.
    pub(super) fn new(
        settings: &ProviderSettings,
        redactor: &Arc<Redactor>,
        collector: Collector,
        id: &str,
    ) -> Result<Self, ApiError> {
        let path = collector.row().path.replace("{}", id);
        let (base, credentials) = settings.access(collector.group());
        let Some(base) = base.filter(|base| credentials.is_some() && base.has_host()) else {
            return Err(ApiError::new(collector, path, ErrorKind::Off));
        };
        let mut url = bare(base);
        let prefix = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{prefix}{path}"));
        Ok(Self { collector, url, redactor: Arc::clone(redactor) })
    }

    /// An error without the credentials, in case the provider quoted them.
    pub(super) fn error(&self, kind: ErrorKind) -> ApiError {
        ApiError::new(self.collector, self.url.as_str(), self.redactor.hide_in(kind))
    }
}

/// Another host's address for messages: without secrets and with a limited length.
pub(super) fn shown(url: &Url) -> String {
    const MOST: usize = 200;
    let text: String = bare(url).into();
    // Addresses are ASCII.
    text.get(..MOST).map(|start| format!("{start}…")).unwrap_or(text)
}

/// The address without query, fragment, user and password, so that it can be shown.
pub(super) fn bare(url: &Url) -> Url {
    let mut bare = without_user(url.clone());
    bare.set_query(None);
    bare.set_fragment(None);
    bare
}

/// The address without user and password.
fn without_user(mut url: Url) -> Url {
    // Both calls fail only for addresses that cannot hold a user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::tests::settings;

    fn url(base: &str, collector: Collector, id: &str) -> String {
        let mut settings = settings();
        settings.base_url = Some(base.parse().unwrap());
        settings.panel_url = Some(base.parse().unwrap());
        Endpoint::new(&settings, &Arc::default(), collector, id).unwrap().url.into()
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
            assert_eq!(url(base, Collector::Sites, "7"), want);
        }
    }
}
