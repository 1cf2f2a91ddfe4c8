//! The Grafana dashboards: built from dashboards/build.py, whole, with every query PromQL over metrics that exist, every
//! metric shown somewhere, and thresholds as the alerts have them. `.ci/dashboard-schema` holds them to Grafana's own
//! schema and `.ci/dashboards` asks every query of a real Prometheus.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::tools;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};
use tools::{read, root, run};

/// Panels that Grafana has not deprecated (graph, singlestat, table-old and the like are not here).
const PANELS: &[&str] = &["row", "stat", "timeseries", "table", "bargauge", "state-timeline", "text"];
const SCHEMA: u64 = 42;
const DATA_SOURCE: &str = "${datasource}";
/// Places in the repository that links may lead to.
const DOCS: &str = "https://github.com/hostwatch/hostwatch/blob/main/";
const PAGE: &str = "${status_url:raw}/";
const RECORDING: &str = "config/prometheus/recording.rules.yml";

#[test]
fn they_are_built_from_their_description() {
    let Some(run) = run("python3", &["-B", "dashboards/build.py", "--check"]) else { return };
    assert!(run.ok, "{}", run.text);
}

#[test]
fn each_is_whole() {
    let mut uids = BTreeSet::new();
    for (file, dashboard) in dashboards() {
        assert_eq!(dashboard["schemaVersion"].as_u64(), Some(SCHEMA), "{file}");
        assert!(
            text(&dashboard["description"]).len() > 20 && !text(&dashboard["title"]).is_empty(),
            "{file}"
        );
        assert!(text(&dashboard["title"]).starts_with("Hostwatch / "), "{file}");
        assert!(dashboard["id"].is_null(), "{file}: the id is the importing Grafana's business");
        uids.insert(text(&dashboard["uid"]).to_owned());
    }
    // People link to them.
    let expected = ["hostwatch-billing", "hostwatch-overview", "hostwatch-resources", "hostwatch-self"];
    assert_eq!(uids.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn panels_are_whole() {
    for (file, dashboard) in dashboards() {
        let mut ids = BTreeSet::new();
        for panel in panels(&dashboard) {
            let title = format!("{file}: {}", text(&panel["title"]));
            assert!(text(&panel["title"]).len() > 2, "{title}");
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is another's too");
            let kind = text(&panel["type"]);
            assert!(PANELS.contains(&kind), "{title}: {kind}");
            if kind == "row" {
                continue;
            }
            let description = text(&panel["description"]);
            assert!(description.len() > 15 && description.ends_with('.'), "{title}: {description}");
            if kind == "text" {
                continue;
            }
            assert_eq!(panel["datasource"]["uid"], DATA_SOURCE, "{title}");
            assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title} has no unit");
            let targets = panel["targets"].as_array().unwrap();
            assert!(!targets.is_empty(), "{title}");
            let mut letters = BTreeSet::new();
            for target in targets {
                assert_eq!(target["datasource"]["uid"], DATA_SOURCE, "{title}");
                assert!(letters.insert(text(&target["refId"])), "{title}");
                let now = kind == "table"
                    || kind == "stat" && panel["fieldConfig"]["defaults"]["unit"] == "suffix: days";
                assert_eq!(
                    target["instant"] == true,
                    now,
                    "{title}: tables, and what is one of several, show one moment"
                );
            }
            let recorded = targets
                .iter()
                .flat_map(|target| names_in(text(&target["expr"])))
                .any(|name| name.contains(':'));
            let said = description.contains("recording.rules.yml");
            assert_eq!(
                said, recorded,
                "{title}: says that it needs the recording rules if, and only if, it does"
            );
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
fn variables_choose_data_source_account_and_status_page() {
    for (file, dashboard) in dashboards() {
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let names: Vec<&str> = variables.iter().map(|variable| text(&variable["name"])).collect();
        let by_instance = file == "hostwatch.json";
        let own = match file.as_str() {
            "hostwatch.json" => vec!["instance"],
            "resources.json" => vec!["resource"],
            _ => vec![],
        };
        let expected = [vec!["datasource", "job", "account"], own, vec!["status_url"]].concat();
        assert_eq!(names, expected, "{file}");
        for variable in variables {
            let asks = text(&variable["type"]) == "query";
            let several = asks && variable["name"] != "status_url";
            assert_eq!(variable["multi"] == true, several, "{file}: {}", variable["name"]);
            assert_eq!(variable["includeAll"] == true, several, "{file}: {}", variable["name"]);
            assert!(!asks || variable["datasource"]["uid"] == DATA_SOURCE, "{file}: {}", variable["name"]);
        }
        let reference = reference();
        for (title, query) in queries(&dashboard) {
            let by_account = names_in(&query).iter().any(|name| {
                // Joined descriptions follow what they are joined to.
                !name.ends_with("_info") && reference[name].contains("`account`")
            });
            assert!(!by_account || query.contains("account=~\"$account\""), "{file}: {title}: {query}");
            assert!(by_instance || !query.contains("$instance"), "{file}: {title}: {query}");
        }
    }
}

/// Each links to the others and to the status page, and no link leads nowhere.
#[test]
fn links_lead_somewhere() {
    let dashboards = dashboards();
    let uids: BTreeSet<String> =
        dashboards.iter().map(|(_, dashboard)| text(&dashboard["uid"]).to_owned()).collect();
    for (file, dashboard) in &dashboards {
        let mut urls = BTreeSet::new();
        urls_in(dashboard, &mut urls);
        let tops: Vec<&str> =
            dashboard["links"].as_array().unwrap().iter().map(|link| text(&link["url"])).collect();
        for uid in uids.iter().filter(|uid| dashboard["uid"] != uid.as_str()) {
            assert!(tops.contains(&format!("/d/{uid}").as_str()), "{file} does not lead to {uid}");
        }
        assert!(tops.contains(&PAGE), "{file} does not lead to the status page");
        for url in urls {
            if let Some(path) = url.strip_prefix("/d/") {
                let uid = path.split('?').next().unwrap();
                assert!(uids.contains(uid), "{file}: {url}");
            } else if let Some(path) = url.strip_prefix(DOCS) {
                let path = path.split('#').next().unwrap();
                assert!(root().join(path).exists(), "{file}: {url}");
            } else {
                assert!(url.starts_with(PAGE), "{file}: {url}");
            }
        }
    }
}

/// What is red on a dashboard is critical as an alert, and the other way round: from the last day on which a payment
/// arrives, which is the account's own.
#[test]
fn limits_are_those_of_the_alerts() {
    let rules = read("config/prometheus/resources.rules.yml");
    for (name, limit, severity) in [
        ("LastDayToPay", "86400 * (1 + account:hosting_billing_lead_days:last2d)", "critical"),
        ("In14Days", "14 * 86400", "warning"),
    ] {
        let rule = rules.split_once(&format!("HostingDisconnect{name}\n")).unwrap().1;
        let rule = rule.split("- alert").next().unwrap();
        assert!(rule.contains(&format!("<= {limit}\n")) && rule.contains(severity), "{rule}");
    }
    let lead = "(1 + max by (account) (hosting_billing_lead_days{job=~\"$job\", account=~\"$account\"}))";
    let ends =
        [("red", format!("<= {lead}")), ("orange", " <= 14".to_owned()), ("blue", " > 14 < 30".to_owned())];
    let mut found = 0;
    for (file, dashboard) in dashboards() {
        for panel in panels(&dashboard).into_iter().filter(|panel| panel["type"] != "row") {
            let defaults = &panel["fieldConfig"]["defaults"];
            if defaults["unit"] != "suffix: days" {
                continue;
            }
            let title = format!("{file}: {}", text(&panel["title"]));
            assert_eq!(
                defaults["thresholds"]["steps"].as_array().unwrap().len(),
                1,
                "{title}: days that are fixed"
            );
            let targets = panel["targets"].as_array().unwrap();
            let of_lead = |target: &&Value| text(&target["expr"]).contains("hosting_billing_lead_days{");
            assert!(targets.iter().any(|target| of_lead(&target)), "{title}");
            if panel["type"] == "stat" {
                for (index, (colour, end)) in ends.iter().enumerate() {
                    let written =
                        text(&targets[index]["expr"]).replace("max (hosting", "max by (account) (hosting");
                    assert!(written.ends_with(end), "{title}: {colour}: {written}");
                    let shown = &panel["fieldConfig"]["overrides"][index];
                    assert_eq!(shown["matcher"]["options"], targets[index]["refId"], "{title}");
                    assert_eq!(shown["properties"][0]["value"]["fixedColor"], *colour, "{title}");
                }
            }
            found += 1;
        }
    }
    assert!(found >= 4, "{found}");
}

/// What Grafana's dashboard-linter asks for. Its exceptions: facts of the provider are one, whichever instance tells them,
/// so that only the dashboard about the daemons chooses among instances; and the status page is no choice of several.
#[test]
fn they_keep_the_rules_of_dashboard_linter() {
    for (file, dashboard) in dashboards() {
        assert_eq!(dashboard["editable"], false, "{file}: changes in Grafana would be lost");
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let variable = |name: &str| variables.iter().find(|variable| variable["name"] == name);
        let source = variable("datasource").unwrap();
        assert!(source["type"] == "datasource" && source["query"] == "prometheus", "{file}");
        assert_eq!(source["label"], "Data source", "{file}");
        let by_instance = file == "hostwatch.json";
        for name in ["job", "instance"].iter().filter(|name| **name == "job" || by_instance) {
            let variable = variable(name).unwrap();
            assert_eq!(text(&variable["label"]).to_lowercase(), *name, "{file}");
            assert_eq!(variable["allValue"], ".+", "{file}: {name}");
        }
        for variable in variables.iter().filter(|variable| variable["type"] == "query") {
            assert_eq!(variable["refresh"], 2, "{file}: {}: with the time range", variable["name"]);
        }
        for (title, query) in every_query(&dashboard) {
            let selectors = names_at(&query);
            assert!(!selectors.is_empty(), "{file}: {title}: {query}");
            for (name, rest) in selectors {
                let matchers =
                    rest.strip_prefix('{').and_then(|rest| rest.split('}').next()).unwrap_or_default();
                let is_job = name == "hostwatch_build_info" && query.starts_with("label_values");
                assert!(is_job || matchers.contains("job=~\"$job\""), "{file}: {title}: {name}: {query}");
                if name.ends_with("_total") || name.ends_with("_bucket") {
                    let before = query.split(&format!("{name}{{")).next().unwrap();
                    let counted = ["rate(", "increase("].iter().any(|function| before.ends_with(function));
                    let span = rest.split('}').nth(1).unwrap_or_default();
                    let is_there = !span.starts_with('[');
                    assert!(counted != is_there, "{file}: {title}: a counter as it is: {query}");
                    assert!(is_there || span.starts_with("[$__rate_interval]"), "{file}: {title}: {query}");
                }
            }
        }
    }
}

#[test]
fn queries_name_metrics_that_exist_and_leave_none_out() {
    let reference = reference();
    let mut used = BTreeSet::new();
    for (file, dashboard) in dashboards() {
        for (title, query) in every_query(&dashboard) {
            for name in names_in(&query) {
                assert!(
                    reference.contains_key(&name),
                    "{file}: {title}: {name} is neither a metric nor recorded"
                );
                used.insert(name);
            }
        }
    }
    let missing: Vec<&String> = reference.keys().filter(|name| !used.contains(*name)).collect();
    assert!(missing.is_empty(), "on no dashboard: {missing:?}");
}

/// promtool reads queries where rules have them.
#[test]
fn queries_are_promql() {
    for (file, dashboard) in dashboards() {
        let rules = queries(&dashboard).into_iter().enumerate().map(|(index, (_, query))| {
            let query = ["$account", "$instance", "$job", "$resource"]
                .iter()
                .fold(query, |query, name| query.replace(name, ".*"));
            let query = query.replace("$__rate_interval", "5m");
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

/// Where two daemons watch one account, sums must not count it twice: what is summed over an account's own series was
/// made one series before. Rates of a daemon's own work do add up.
#[test]
fn facts_of_the_provider_are_not_counted_twice() {
    for (file, dashboard) in dashboards() {
        for (title, query) in queries(&dashboard) {
            let sums = ["sum(", "sum by", "count(", "count by"].iter().any(|word| query.contains(word));
            if sums && names_in(&query).iter().any(|name| name.starts_with("hosting_")) {
                assert!(query.contains("max without (instance, job"), "{file}: {title}: {query}");
            }
        }
    }
}

/// Every file of dashboards/, by its name.
pub(super) fn dashboards() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("dashboards")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".json") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((name, serde_json::from_str(&text).unwrap()));
        }
    }
    assert_eq!(found.len(), 4);
    found
}

/// All panels, those within rows too.
pub(super) fn panels(dashboard: &Value) -> Vec<&Value> {
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

/// Those of panels, and of annotations and variables.
fn every_query(dashboard: &Value) -> Vec<(String, String)> {
    let all = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let notes = all(&dashboard["annotations"]["list"]);
    let notes = notes.iter().filter(|note| note["expr"].is_string());
    let notes = notes.map(|note| (text(&note["name"]).to_owned(), text(&note["expr"]).to_owned()));
    let variables = all(&dashboard["templating"]["list"]);
    let asking = variables.iter().filter(|variable| variable["type"] == "query");
    let asked = asking.map(|one| (text(&one["name"]).to_owned(), text(&one["query"]["query"]).to_owned()));
    queries(dashboard).into_iter().chain(notes).chain(asked).collect()
}

/// Each selector of a query: the metric, and what follows it.
fn names_at(query: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut rest = query;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        let ours = ["hosting_", "hostwatch_", "process_"].iter().any(|p| word.starts_with(p));
        if (ours || word.contains(':')) && word != "http:" {
            found.push((word.to_owned(), rest[end..].to_owned()));
        }
        rest = &rest[end..];
    }
    found
}

/// Everything called `url`, and the links in Markdown.
fn urls_in(value: &Value, urls: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("url", Value::String(url)) => drop(urls.insert(url.clone())),
                    ("content", Value::String(markdown)) => {
                        let links = markdown.split("](").skip(1).filter_map(|rest| rest.split(')').next());
                        urls.extend(links.map(ToOwned::to_owned));
                    }
                    _ => urls_in(value, urls),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| urls_in(item, urls)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The metrics in a query; of a histogram, its family.
fn names_in(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    let ours = words.filter(|word| {
        let named = ["hosting_", "hostwatch_", "process_"].iter().any(|p| word.starts_with(p));
        named || word.contains(':') && *word != "http:"
    });
    ours.map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned()).collect()
}

/// Each metric of docs/metrics.md with its row, and what is recorded from them.
fn reference() -> BTreeMap<String, String> {
    let page = read("docs/metrics.md");
    let rows = page.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
        Some((name.to_owned(), line.to_owned()))
    });
    let rules = read(RECORDING);
    let recorded = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    // What others are made of is shown by them.
    let recorded = recorded.filter(|name| rules.matches(name).count() == 1);
    // All of them keep the account.
    rows.chain(recorded.map(|name| (name.to_owned(), "`account`".to_owned()))).collect()
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
