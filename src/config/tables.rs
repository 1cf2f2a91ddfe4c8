//! `[metrics]`, `[store]` and `[web]`: the tables that are read in a few lines.

use std::path::{Path, PathBuf};

use super::findings::Findings;
use super::values;
use super::view::View;
use crate::http::{self, WebSettings};
use crate::metrics::{MetricsSettings, Selection, StateSeries, families};
use crate::model::nearest::nearest;
use crate::model::pattern::matches_pattern;

/// Fewer would not hold what is of no single resource: counts by state, balances.
const LEAST_CAP: u32 = 100;

/// Reads what holds for all accounts; `stale_after` is each account's own.
pub(super) fn metrics(view: &View<'_>, findings: &mut Findings) -> MetricsSettings {
    let allow = patterns(view, "metrics.allow", findings);
    let deny = patterns(view, "metrics.deny", findings);
    MetricsSettings {
        state_series: state_series(view, findings),
        selection: Selection { allow, deny },
        max_series_per_collector: cap(view, findings).into(),
    }
}

/// A pattern that matches no metric is a typing error.
fn patterns(view: &View<'_>, key: &str, findings: &mut Findings) -> Vec<String> {
    let names: Vec<&str> = families().map(|family| family.name).collect();
    let texts: Vec<String> = view.get(key).unwrap_or_default();
    for pattern in &texts {
        if !names.iter().any(|name| matches_pattern(pattern, name)) {
            let near = nearest(pattern, &names);
            view.error(key, findings, format!("'{pattern}' matches no metric; did you mean '{near}'?"));
        }
    }
    texts
}

fn cap(view: &View<'_>, findings: &mut Findings) -> u32 {
    let key = "metrics.max_series_per_collector";
    let cap = view.get(key).unwrap_or(0);
    if cap != 0 && cap < LEAST_CAP {
        view.error(
            key,
            findings,
            format!("{cap} is out of range; allowed are 0 for no limit, and {LEAST_CAP} or more"),
        );
    }
    cap
}

fn state_series(view: &View<'_>, findings: &mut Findings) -> StateSeries {
    let parse = |text: &str| match text {
        "all" => Ok(StateSeries::All),
        "current" => Ok(StateSeries::Current),
        _ => Err(format!("no choice '{text}'; allowed are \"all\" and \"current\"")),
    };
    view.parsed("metrics.state_series", findings, parse).unwrap_or_default()
}

/// The name that a store has by default.
const NAME: &str = "hostwatch.db";

/// Where the store is: a relative path is under the state directory where systemd names one, else beside the configuration
/// file. And where one of old may lie instead: in the working directory, where older releases looked for it; in the state
/// directory, where a configuration that did not name the store had it.
pub(super) fn store(
    view: &View<'_>,
    file: Option<&Path>,
    state: Option<PathBuf>,
    findings: &mut Findings,
) -> (PathBuf, Vec<PathBuf>) {
    let Some(path) = view.text("store.path") else {
        if !view.is_set("store.path") {
            view.error("store.path", findings, "is empty; name a file such as \"hostwatch.db\"");
        }
        return (PathBuf::new(), Vec::new());
    };
    // systemd lists several directories with colons; the first is ours.
    let state = state.and_then(|list| list.to_str()?.split(':').next().map(PathBuf::from));
    let beside = || file.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
    let mut former = vec![PathBuf::from(if Path::new(path).is_relative() { path } else { NAME })];
    former.extend(state.as_ref().map(|state| state.join(NAME)));
    (state.unwrap_or_else(beside).join(path), former)
}

/// How people reach the page, and under which names it may be asked.
pub(super) fn web(view: &View<'_>, findings: &mut Findings) -> WebSettings {
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
