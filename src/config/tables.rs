//! `[metrics]`, `[store]` and `[web]`: the tables that are read in a few lines.

use std::path::{Path, PathBuf};

use super::values;
use super::view::View;
use crate::http::{self, WebSettings};
use crate::metrics::StateSeries;

/// Reads `metrics.state_series`; `stale_after` is each account's own.
pub(super) fn state_series(view: &View<'_>) -> StateSeries {
    let parse = |text: &str| match text {
        "all" => Ok(StateSeries::All),
        "current" => Ok(StateSeries::Current),
        _ => Err(format!("no choice '{text}'; allowed are \"all\" and \"current\"")),
    };
    view.parsed("metrics.state_series", parse).unwrap_or_default()
}

/// The path of the store. A relative path is under systemd's state directory if there is one, otherwise beside
/// the configuration file.
pub(super) fn store(view: &View<'_>, file: Option<&Path>, state: Option<PathBuf>) -> PathBuf {
    let Some(path) = view.text("store.path") else {
        if !view.is_set("store.path") {
            view.error("store.path", "is empty; name a file such as \"hostwatch.db\"");
        }
        return PathBuf::new();
    };
    // systemd separates several directories with colons; the first is ours.
    let state = state.and_then(|list| list.to_str()?.split(':').next().map(PathBuf::from));
    let beside = || file.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
    state.unwrap_or_else(beside).join(path)
}

/// The address of the page for people, and the names under which it may be asked.
pub(super) fn web(view: &View<'_>) -> WebSettings {
    let names: Vec<String> = view.get("web.allowed_hosts").unwrap_or_default();
    let mut allowed_hosts = Vec::new();
    for name in names {
        // A name with a port, a pattern, or an address in place of a name, would never match.
        match http::domain(&name).filter(|_| !name.contains([':', '*'])) {
            Some(name) => allowed_hosts.push(name),
            None => {
                let message =
                    format!("'{name}' is no host name; write the name alone, such as \"mon.example.com\"");
                view.error("web.allowed_hosts", message);
            }
        }
    }
    let external_url = view.parsed("web.external_url", |text| values::endpoint(text, "the page", Some(true)));
    WebSettings { external_url, allowed_hosts }
}
