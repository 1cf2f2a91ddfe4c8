//! `[metrics]`: which series are written.

use super::findings::Findings;
use super::view::View;
use crate::metrics::{MetricsSettings, Selection, StateSeries, families};
use crate::model::nearest::nearest;
use crate::model::pattern::matches_pattern;

/// Fewer would not hold what is of no single resource: counts by state, balances.
const LEAST_CAP: u32 = 100;

/// Reads what holds for all accounts; `stale_after` is each account's own.
pub(super) fn read(view: &View<'_>, findings: &mut Findings) -> MetricsSettings {
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
