//! The Grafana dashboards: they parse, every query is PromQL over metrics that exist, and every panel says what it
//! shows, in which unit, from the data source that was chosen.
#![allow(clippy::unwrap_used, reason = "tests")]

mod tools_support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};
use tools_support::{read, root, run};

/// Panels that Grafana has not deprecated (graph, singlestat, table-old and the like are not here).
const PANELS: &[&str] =
    &["row", "stat", "timeseries", "table", "bargauge", "gauge", "barchart", "state-timeline", "text"];
const OLDEST_SCHEMA: u64 = 39;
const DATA_SOURCE: &str = "${datasource}";

#[test]
fn panels_are_whole() {
    for (file, dashboard) in dashboards() {
        assert!(dashboard["schemaVersion"].as_u64() >= Some(OLDEST_SCHEMA), "{file}");
        assert!(dashboard["uid"].is_string() && dashboard["title"].is_string(), "{file}");
        assert!(dashboard["id"].is_null(), "{file}: the id is the importing Grafana's business");
        let mut ids = BTreeSet::new();
        for panel in panels(&dashboard) {
            let title = format!("{file}: {}", text(&panel["title"]));
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is another's too");
            let kind = text(&panel["type"]);
            assert!(PANELS.contains(&kind), "{title}: {kind}");
            if kind == "row" {
                continue;
            }
            assert!(text(&panel["description"]).len() > 20, "{title} has no description");
            assert_eq!(panel["datasource"]["uid"], DATA_SOURCE, "{title}");
            assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title} has no unit");
            let targets = panel["targets"].as_array().unwrap();
            assert!(!targets.is_empty(), "{title}");
            let mut letters = BTreeSet::new();
            for target in targets {
                assert_eq!(target["datasource"]["uid"], DATA_SOURCE, "{title}");
                assert!(letters.insert(text(&target["refId"])), "{title}");
            }
        }
    }
}

#[test]
fn panels_do_not_overlap() {
    for (file, dashboard) in dashboards() {
        let mut taken: BTreeMap<(u64, u64), &str> = BTreeMap::new();
        for panel in panels(&dashboard) {
            let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            let title = text(&panel["title"]);
            assert!(place("x") + place("w") <= 24, "{file}: {title} is wider than the grid");
            for x in place("x")..place("x") + place("w") {
                for y in place("y")..place("y") + place("h") {
                    let other = taken.insert((x, y), title);
                    assert_eq!(other, None, "{file}: {title} overlaps at {x}, {y}");
                }
            }
        }
    }
}

#[test]
fn variables_choose_data_source_and_account() {
    for (file, dashboard) in dashboards() {
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let names: Vec<&str> = variables.iter().map(|variable| text(&variable["name"])).collect();
        assert_eq!(names, ["datasource", "account"], "{file}");
        let reference = reference();
        for (title, query) in queries(&dashboard) {
            let by_account = names_in(&query).iter().any(|name| {
                // Joined descriptions follow what they are joined to.
                !name.ends_with("_info") && reference[name].contains("`account`")
            });
            assert!(!by_account || query.contains("account=~\"$account\""), "{file}: {title}: {query}");
        }
    }
}

#[test]
fn queries_name_metrics_that_exist() {
    let reference = reference();
    let mut used = BTreeSet::new();
    for (file, dashboard) in dashboards() {
        for (title, query) in queries(&dashboard) {
            for name in names_in(&query) {
                assert!(reference.contains_key(&name), "{file}: {title}: {name} is not in docs/metrics.md");
                used.insert(name);
            }
        }
    }
    assert!(used.len() > 20, "too few metrics were found in the queries: {used:?}");
}

/// promtool reads queries where rules have them.
#[test]
fn queries_are_promql() {
    for (file, dashboard) in dashboards() {
        let rules = queries(&dashboard).into_iter().enumerate().map(|(index, (_, query))| {
            let query = query.replace("$account", ".*").replace("$__rate_interval", "5m");
            assert!(!query.contains('$'), "{file}: a variable that is not known: {query}");
            json!({ "record": format!("query:{index}"), "expr": query })
        });
        let rules: Vec<Value> = rules.collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rules.yml");
        // JSON is YAML.
        fs::write(&path, json!({ "groups": [{ "name": "queries", "rules": rules }] }).to_string()).unwrap();
        let Some(run) = run("promtool", &["check", "rules", path.to_str().unwrap()]) else { return };
        assert!(run.ok, "{file}: {}", run.text);
    }
}

/// Every file of dashboards/, by its name.
fn dashboards() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("dashboards")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.ends_with(".json"), "{name}");
        let text = fs::read_to_string(&path).unwrap();
        found.push((name, serde_json::from_str(&text).unwrap()));
    }
    assert!(!found.is_empty());
    found
}

/// All panels, those within rows too.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let top = dashboard["panels"].as_array().unwrap();
    let within = top.iter().filter_map(|panel| panel["panels"].as_array()).flatten();
    top.iter().chain(within).collect()
}

/// Title and expression of every query.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let of_panel = |panel: &Value| -> Vec<(String, String)> {
        let title = text(&panel["title"]).to_owned();
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(|target| (title.clone(), text(&target["expr"]).to_owned())).collect()
    };
    panels(dashboard).into_iter().flat_map(of_panel).collect()
}

/// The metrics in a query; of a histogram, its family.
fn names_in(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours =
        words.filter(|word| ["hosting_", "hostwatch_", "process_"].iter().any(|p| word.starts_with(p)));
    ours.map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned()).collect()
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

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
