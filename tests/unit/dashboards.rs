//! The Grafana dashboards: each query is short, names metrics that exist, and counts a resource once if two
//! daemons watch it. `.ci/schemas` checks the files with Grafana's own schema, and `.ci/dashboards`
//! asks every query of a real Prometheus.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::tools;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tools::{read, root};

const DATA_SOURCE: &str = "${datasource}";
const PAGE: &str = "${status_url:raw}/";
/// Places in the repository that links may lead to.
const DOCS: &str = "https://github.com/hostwatch/hostwatch/blob/main/";
/// The longest query that a reader takes in at once.
const LONGEST: usize = 300;
const MEDIAN_BELOW: usize = 120;

/// A query, with its file and panel.
struct Query {
    place: String,
    written: String,
    /// The query belongs to a panel, not to a variable or an annotation.
    in_panel: bool,
}

#[test]
fn queries_are_short() {
    let mut lengths = Vec::new();
    for query in queries() {
        assert!(query.written.len() <= LONGEST, "{}: {}", query.place, query.written);
        if query.in_panel {
            lengths.push(query.written.len());
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < MEDIAN_BELOW, "the median of {} queries is {median}", lengths.len());
}

/// Every selector has a job, and an account if the metric has one. Probes have a job of their own. A metric
/// joined by `_info` follows the other metric.
#[test]
fn queries_select_metrics_that_exist_by_job_and_account() {
    let reference = reference();
    for Query { place, written, .. } in queries() {
        let selectors = selectors(&written);
        // The list of all resources comes from three metrics.
        let several = written.starts_with("label_values({__name__=~");
        assert_eq!(several, selectors.is_empty(), "{place}: {written}");
        for (name, matchers, _) in selectors {
            let by_account = match name {
                "up" => false,
                _ if name.starts_with("probe_") => true,
                _ => {
                    let family = name.strip_suffix("_bucket").unwrap_or(name);
                    let joined = name.ends_with("_info") && written.contains("group_left");
                    let row = reference.get(family);
                    let row = row.unwrap_or_else(|| panic!("{place}: no metric {name}: {written}"));
                    row.contains("`account`") && !joined
                }
            };
            let is_choice = written.starts_with("label_values");
            let chosen_by = |name: &str| matchers.contains(&format!("{name}=~\"${name}\""));
            assert!(
                chosen_by("job") || is_choice || name.starts_with("probe_"),
                "{place}: {name}: {written}"
            );
            // A metric that only places or divides others is matched to their account.
            let matched = written.contains("on (job, instance, account)") || written.contains(" - hosting_");
            assert!(
                !by_account || chosen_by("account") || is_choice || matched,
                "{place}: {name}: {written}"
            );
        }
    }
}

/// If two daemons watch one account, each fact has two series, which have to be merged before counting. Rates
/// of a daemon's own work may be added up.
#[test]
fn facts_are_not_counted_twice() {
    for Query { place, written, .. } in queries() {
        let is_fact = |(name, ..): &(&str, &str, &str)| {
            name.starts_with("hosting_")
                || ["hostwatch_incident_open", "hostwatch_collector_complete"].contains(name)
        };
        let counts =
            ["sum(", "sum by", "count(", "count by", "topk("].iter().any(|word| written.contains(word));
        if counts && selectors(&written).iter().any(is_fact) {
            assert!(written.contains("max without (instance) ("), "{place}: {written}");
        }
        let rates = selectors(&written)
            .into_iter()
            .filter(|(name, ..)| name.ends_with("_total") || name.ends_with("_bucket"));
        for (_, _, rest) in rates {
            assert!(rest.starts_with("[$__rate_interval]"), "{place}: a counter as it is: {written}");
        }
    }
}

#[test]
fn each_panel_is_whole_and_has_its_own_place() {
    for (file, dashboard) in dashboards() {
        let (mut ids, mut taken) = (BTreeSet::new(), BTreeMap::new());
        for panel in list(&dashboard["panels"]) {
            let title = format!("{file}: {}", text(&panel["title"]));
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is another's too");
            let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            assert!(place("x") + place("w") <= 24, "{title} is wider than the grid");
            for x in place("x")..place("x") + place("w") {
                for y in place("y")..place("y") + place("h") {
                    assert_eq!(taken.insert((x, y), title.clone()), None, "{title} overlaps at {x}, {y}");
                }
            }
            if panel["type"] == "row" {
                continue;
            }
            let description = text(&panel["description"]);
            assert!(description.len() > 15 && description.ends_with('.'), "{title}: {description}");
            assert_eq!(panel["datasource"]["uid"], DATA_SOURCE, "{title}");
            let defaults = &panel["fieldConfig"]["defaults"];
            assert!(defaults["unit"].is_string(), "{title} has no unit");
            // A missing value is not zero.
            assert!(panel["type"] != "stat" || defaults["noValue"] == "unknown", "{title}");
            let letters: Vec<&str> =
                list(&panel["targets"]).iter().map(|target| text(&target["refId"])).collect();
            let expected = ["A", "B", "C", "D", "E", "F", "G", "H"];
            assert!(!letters.is_empty() && expected.starts_with(&letters), "{title}: {letters:?}");
            for target in list(&panel["targets"]) {
                assert_eq!(
                    target["instant"] == true,
                    target["format"] == "table" || is_of_now(panel),
                    "{title}"
                );
                assert_eq!(target["format"] == "table", panel["type"] == "table", "{title}");
            }
        }
    }
}

/// As in the mails, which the engine's word shows.
#[test]
fn days_until_the_cut_off_are_red_from_the_last_day_to_pay_on() {
    let mut found = 0;
    for (file, dashboard) in dashboards() {
        let until = list(&dashboard["panels"]).iter().filter(|panel| {
            panel["type"] == "stat" && panel["fieldConfig"]["defaults"]["unit"] == "suffix: days"
        });
        for panel in until {
            let red = &panel["fieldConfig"]["overrides"][0];
            assert_eq!(red["matcher"], json!({ "id": "byFrameRefID", "options": "A" }), "{file}");
            assert_eq!(red["properties"][0]["value"]["fixedColor"], "red", "{file}");
            let [near, far] = [0, 1].map(|index| text(&panel["targets"][index]["expr"]));
            let is_near = r#"hostwatch_incident_open{job=~"$job", account=~"$account", kind="disconnect", severity="critical"} == 1"#;
            assert!(near.contains(is_near), "{file}: {near}");
            // Either each account has a colour, or all together have that of the nearest.
            assert_eq!(near.replace(" and on ", " unless on "), far, "{file}: each moment has one colour");
            found += 1;
        }
    }
    assert_eq!(found, 2);
}

#[test]
fn variables_choose_data_source_job_account_and_resource() {
    for (file, dashboard) in dashboards() {
        assert_eq!(dashboard["editable"], false, "{file}: changes in Grafana would be lost");
        let variables = list(&dashboard["templating"]["list"]);
        let names: Vec<&str> = variables.iter().map(|variable| text(&variable["name"])).collect();
        let own: &[&str] = if file == "resources.json" { &["resource"] } else { &[] };
        assert_eq!(names, [&["datasource", "job", "account"], own, &["status_url"]].concat(), "{file}");
        for variable in variables.iter().filter(|variable| variable["type"] == "query") {
            let name = text(&variable["name"]);
            assert_eq!(variable["datasource"]["uid"], DATA_SOURCE, "{file}: {name}");
            assert_eq!(variable["refresh"], 2, "{file}: {name}: with the time range");
            let several = name != "status_url";
            assert_eq!(variable["multi"] == true, several, "{file}: {name}");
            assert_eq!(variable["includeAll"] == true, several, "{file}: {name}");
        }
    }
}

/// The dashboards list each other by their tag, and every link has a target.
#[test]
fn links_lead_somewhere() {
    // People link to the uids.
    let uids = ["billing", "overview", "resources", "self"].map(|name| format!("hostwatch-{name}"));
    let dashboards = dashboards();
    let found: BTreeSet<&str> = dashboards.iter().map(|(_, dashboard)| text(&dashboard["uid"])).collect();
    assert!(found.iter().eq(&uids), "{found:?}");
    for (file, dashboard) in &dashboards {
        assert_eq!(dashboard["tags"], json!(["hostwatch"]), "{file}");
        assert_eq!(dashboard["links"][0]["type"], "dashboards", "{file}");
        assert_eq!(dashboard["links"][0]["tags"], dashboard["tags"], "{file}");
        let mut urls = BTreeSet::new();
        urls_in(dashboard, &mut urls);
        assert!(urls.contains(PAGE), "{file} does not lead to the status page");
        for url in urls.iter().filter(|url| !url.is_empty()) {
            let path = url.split(['?', '#']).next().unwrap();
            let leads = match (path.strip_prefix("/d/"), path.strip_prefix(DOCS)) {
                (Some(uid), _) => found.contains(uid),
                (_, Some(document)) => root().join(document).exists(),
                _ => url.starts_with(PAGE),
            };
            assert!(leads, "{file}: {url}");
        }
    }
}

/// Every file of dashboards/, by its name.
fn dashboards() -> Vec<(String, Value)> {
    let names = ["billing", "hostwatch", "overview", "resources"].map(|name| format!("{name}.json"));
    names
        .map(|name| (name.clone(), serde_json::from_str(&read(&format!("dashboards/{name}"))).unwrap()))
        .into()
}

/// The queries of panels, annotations and variables.
fn queries() -> Vec<Query> {
    let mut found = Vec::new();
    for (file, dashboard) in dashboards() {
        let mut add = |title: &Value, written: &Value, in_panel| {
            if let Some(written) = written.as_str() {
                let place = format!("{file}: {}", text(title));
                found.push(Query { place, written: written.to_owned(), in_panel });
            }
        };
        for panel in list(&dashboard["panels"]) {
            for target in panel["targets"].as_array().into_iter().flatten() {
                add(&panel["title"], &target["expr"], true);
            }
        }
        for note in list(&dashboard["annotations"]["list"]) {
            add(&note["name"], &note["expr"], false);
        }
        for variable in list(&dashboard["templating"]["list"]) {
            add(&variable["name"], &variable["query"]["query"], false);
        }
    }
    found
}

/// Panels with a colour for each query, and bars, show the present only.
fn is_of_now(panel: &Value) -> bool {
    panel["type"] == "bargauge"
        || panel["type"] == "stat" && panel["fieldConfig"]["defaults"]["unit"] == "suffix: days"
}

/// Each selector of a query: the metric, the text between its braces, and the text that follows.
fn selectors(query: &str) -> Vec<(&str, &str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    let mut rest = query;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |length| start + length);
        let (word, after) = (&rest[start..end], &rest[end..]);
        let ours =
            ["hosting_", "hostwatch_", "process_", "probe_"].iter().any(|prefix| word.starts_with(prefix));
        rest = after;
        if !ours && word != "up" {
            continue;
        }
        let braces = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        if let Some((matchers, following)) = braces {
            found.push((word, matchers, following));
            rest = following;
        } else if !after.starts_with('(') {
            found.push((word, "", after));
        }
    }
    found
}

/// Collects the values of all keys named `url`.
fn urls_in(value: &Value, urls: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            urls.extend(fields.get("url").and_then(Value::as_str).map(ToOwned::to_owned));
            fields.values().for_each(|value| urls_in(value, urls));
        }
        Value::Array(items) => items.iter().for_each(|item| urls_in(item, urls)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Each metric of docs/metrics.md with its row.
fn reference() -> BTreeMap<String, String> {
    let page = read("docs/metrics.md");
    let rows = page.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
        Some((name.to_owned(), line.to_owned()))
    });
    rows.collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
