//! The keys `proxy` and `ca_file`, which accounts, webhooks and the heartbeat share, and the mail server in part.

use std::sync::Arc;

use secrecy::SecretString;
use url::Url;

use super::view::View;
use crate::model::Via;
use crate::{read_file, trust};

/// Reads both keys; `place` is the part of their name before the last.
pub(super) fn read(view: &View<'_>, place: &str) -> Via {
    let authorities = authorities(view, &format!("{place}ca_file"));
    Via { proxy: proxy(view, &format!("{place}proxy")), authorities }
}

/// A proxy; its address may hold a password.
fn proxy(view: &View<'_>, key: &str) -> Option<SecretString> {
    view.parsed(key, |text| {
        let example = "such as \"socks5h://127.0.0.1:1080\"";
        let url = Url::parse(text).map_err(|_| format!("is no URL; {example}"))?;
        if !matches!(url.scheme(), "http" | "https" | "socks5h") || url.host().is_none() {
            return Err(format!("must start with http:// or socks5h://; {example}"));
        }
        Ok::<_, String>(SecretString::from(text))
    })
}

/// The contents of a file of certificates in PEM form.
pub(super) fn authorities(view: &View<'_>, key: &str) -> Option<Arc<[u8]>> {
    let path = view.secrets.directory.join(view.text(key)?);
    let usual = "name a PEM file";
    let bytes = read_file::bytes(&path).map_err(|why| why.or(usual));
    let checked = |bytes: Vec<u8>| match trust::certificates(&bytes) {
        Ok(_) => Ok(bytes.into()),
        Err(why) => Err(format!("{why}; {usual}")),
    };
    bytes.and_then(checked).map_err(|why| view.error(key, format!("{} {why}", path.display()))).ok()
}
