//! `[web]`: how people reach the page, and under which names it may be asked.

use super::findings::Findings;
use super::values;
use super::view::View;
use crate::http::{self, WebSettings};

pub(super) fn read(view: &View<'_>, findings: &mut Findings) -> WebSettings {
    let names: Vec<String> = view.get("web.allowed_hosts").unwrap_or_default();
    let mut allowed_hosts = Vec::new();
    for name in names {
        // With a port, or an address in place of a name, it would never match.
        match http::domain(&name).filter(|_| !name.contains(':')) {
            Some(name) => allowed_hosts.push(name),
            None => {
                let message =
                    format!("'{name}' is no host name; write the name alone, such as \"mon.example.com\"");
                view.error("web.allowed_hosts", findings, message);
            }
        }
    }
    let external_url = view.parsed("web.external_url", findings, values::web_address);
    WebSettings { external_url, allowed_hosts }
}
