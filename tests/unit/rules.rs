//! The rules for Prometheus are few and short, promtool accepts them, and each alert links to its advice in
//! docs/alerts.md. That page has a section for every kind of incident, too. `.ci/rules` tests when each alert
//! fires.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::docs::anchors;
use super::tools;

use std::path::Path;

use crate::alert::Kind;
use tools::{read, root, run};

const FOLDER: &str = "config/prometheus";
const SCRAPE: [&str; 2] = ["config/prometheus/scrape.yml", "config/prometheus/discovery.yml"];
const ALERTMANAGER: &str = "config/prometheus/alertmanager.yml";
const PAGE: &str = "docs/alerts.md";

/// An alert or a recording rule.
struct Rule {
    name: String,
    is_alert: bool,
    text: String,
}

impl Rule {
    fn expression(&self) -> &str {
        let after = self.text.split_once("expr: ").unwrap().1;
        let ends = ["for", "labels", "keep_firing_for", "annotations"].map(|key| format!("\n        {key}:"));
        ends.iter().filter_map(|end| after.find(end.as_str())).min().map_or(after, |end| &after[..end])
    }
}

#[test]
fn promtool_accepts_rules_and_scrape_configuration() {
    let rules = files().into_iter().map(|file| ["rules".to_owned(), format!("{FOLDER}/{file}.rules.yml")]);
    for [what, path] in rules.chain(SCRAPE.map(|path| ["config".to_owned(), path.to_owned()])) {
        let Some(run) = run("promtool", &["check", &what, &path]) else { return };
        assert!(run.ok, "{path}\n{}", run.text);
        let complaint = ["warning", "duplicate", "FAILED"].iter().find(|word| run.text.contains(**word));
        assert_eq!(complaint, None, "{path}\n{}", run.text);
    }
}

#[test]
fn amtool_accepts_the_alertmanager_configuration() {
    let Some(run) = run("amtool", &["check-config", ALERTMANAGER]) else { return };
    assert!(run.ok, "{}", run.text);
}

/// A reader takes in each of them at once.
#[test]
fn the_rules_are_few_and_short() {
    let lines: usize =
        files().iter().map(|file| read(&format!("{FOLDER}/{file}.rules.yml")).lines().count()).sum();
    assert!(lines <= 280, "{lines} lines");
    let rules = rules();
    let alerts = rules.iter().filter(|rule| rule.is_alert).count();
    assert!(alerts <= 22, "{alerts} alerts");
    for rule in rules {
        let length = rule.expression().split_whitespace().collect::<Vec<_>>().join(" ").len();
        assert!(length <= 300, "{}: {length} characters", rule.name);
    }
}

#[test]
fn each_alert_says_how_bad_it_is_and_where_to_read_on() {
    let anchors = anchors(Path::new(PAGE));
    let page = read(PAGE);
    for Rule { name, text, .. } in rules().into_iter().filter(|rule| rule.is_alert) {
        // The rule's severity, or the severity of the incident, which stands in its series.
        let severity = text.split("severity: ").nth(1).map(|after| after.split('}').next().unwrap());
        let is_own = text.contains("max without (name) (hostwatch:incident_open{");
        assert!(
            severity.map_or(is_own, |one| ["critical", "warning"].contains(&one)),
            "{name}: {severity:?}"
        );
        assert!(
            page.contains(&format!("`{name}`")) || page.contains(&format!("### {name}")),
            "{PAGE}: {name}"
        );
        // The second severity of an alert uses the same annotations as the first.
        if text.contains("annotations: *") {
            continue;
        }
        for part in ["summary: ", "description: "] {
            assert!(text.contains(&format!(" {part}")), "{name} has no {part}");
        }
        let runbook = text.lines().find_map(|line| line.trim().strip_prefix("runbook_url: ")).unwrap();
        let (address, anchor) = runbook.split_once('#').unwrap();
        assert_eq!(address, format!("https://github.com/hostwatch/hostwatch/blob/main/{PAGE}"), "{name}");
        assert!(anchors.contains(anchor), "{name}: {PAGE} has no heading {anchor}");
    }
}

/// Every kind of incident that is a problem has an alert.
#[test]
fn every_kind_has_an_alert() {
    let text = read(&format!("{FOLDER}/resources.rules.yml"));
    for kind in Kind::ALL {
        let (name, sort) = (kind.as_str(), kind.as_str().split('_').next().unwrap());
        let is_named =
            [format!("\"{name}\""), format!("{name}|"), format!("|{name}"), format!("\"{sort}_.+\"")];
        let is_told = is_named.iter().any(|words| text.contains(words));
        let untold = [Kind::BalanceDrop, Kind::OrderCost];
        assert_ne!(is_told, untold.contains(kind), "{name}");
    }
}

/// Alertmanager shows the summary of a group if all its alerts have the same one, so it must not differ within
/// a group.
#[test]
fn summaries_are_those_of_a_group() {
    let routing = read(ALERTMANAGER);
    let grouped = routing.lines().find_map(|line| line.trim().strip_prefix("group_by: [")).unwrap();
    let grouped: Vec<&str> = grouped.trim_end_matches(']').split(", ").collect();
    for Rule { name, text, .. } in rules().into_iter().filter(|rule| rule.is_alert) {
        let Some(summary) = text.lines().find_map(|line| line.trim().strip_prefix("summary: ")) else {
            continue;
        };
        assert!(!summary.contains("$value"), "{name}: {summary}");
        for label in summary.split("$labels.").skip(1) {
            let label = label.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
            assert!(grouped.contains(&label), "{name}: {label} differs within a group");
        }
    }
}

/// If two alerts end together, the silenced one has to end first. Otherwise Alertmanager may send it in
/// between.
#[test]
fn an_inhibited_alert_ends_before_the_alert_that_inhibits_it() {
    let alerts: Vec<Rule> = rules().into_iter().filter(|rule| rule.is_alert).collect();
    let places = |matchers: &str| -> Vec<usize> {
        let value =
            |label: &str| Some(matchers.split_once(&format!("{label}="))?.1.split('"').nth(1).unwrap());
        let names: Vec<&str> = value("alertname").unwrap().split('|').collect();
        let is_named = |rule: &Rule| {
            names.iter().any(|name| match name.strip_suffix(".+") {
                Some(start) => rule.name.starts_with(start),
                None => rule.name == *name,
            })
        };
        let is_as_bad = |rule: &Rule| {
            value("severity").is_none_or(|severity| rule.text.contains(&format!("severity: {severity}}}")))
        };
        let places = alerts.iter().enumerate().filter(|(_, rule)| is_named(rule) && is_as_bad(rule));
        places.map(|(place, _)| place).collect()
    };
    let config = read(ALERTMANAGER);
    let pairs: Vec<&str> = config.split("source_matchers: [").skip(1).collect();
    assert!(pairs.len() >= 4, "inhibitions are not found where they stand");
    for pair in pairs {
        let (source, rest) = pair.split_once("]\n").unwrap();
        let target = rest.split_once("target_matchers: [").unwrap().1.split_once("]\n").unwrap().0;
        let (first_source, last_target) = (places(source)[0], *places(target).last().unwrap());
        assert!(last_target < first_source, "{source} is found before {target}");
    }
}

#[test]
fn names_are_those_of_the_reference() {
    let reference = read("docs/metrics.md");
    for rule in rules() {
        let (expression, rule) = (rule.expression().replace("hostwatch:", ""), &rule.name);
        for name in expression
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| ["hosting_", "hostwatch_", "process_"].iter().any(|p| word.starts_with(p)))
        {
            assert!(reference.contains(&format!("| `{name}` |")), "{rule}: {name} is not in docs/metrics.md");
        }
    }
}

#[test]
fn every_kind_of_incident_is_explained() {
    let page = read(PAGE);
    for &kind in Kind::ALL {
        let heading = format!("\n### `{kind}`\n");
        let section =
            page.split_once(&heading).unwrap_or_else(|| panic!("{PAGE}: no heading ### `{kind}`")).1;
        let section = section.split("\n## ").next().unwrap().split("\n### ").next().unwrap();
        for part in ["**Means**", "**Do**"] {
            assert!(section.contains(part), "{kind} has no {part}");
        }
        let severity = format!("*{}", kind.default_severity());
        assert!(kind == Kind::Disconnect || section.contains(&severity), "{kind} is {severity}");
        assert_eq!(section.contains("off by default"), !kind.on_by_default(), "{kind}");
    }
}

/// The rule files, as `self` for `self.rules.yml`.
fn files() -> Vec<String> {
    let files = files_with(".rules.yml");
    assert_eq!(files, ["recording", "resources", "self"]);
    files
}

/// The files of the folder with this ending, without the ending.
fn files_with(end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(FOLDER)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> =
        names.filter_map(|name| name.strip_suffix(end).map(ToOwned::to_owned)).collect();
    files.sort();
    files
}

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for file in files() {
        let text = read(&format!("{FOLDER}/{file}.rules.yml"));
        for (keyword, is_alert) in [("alert", true), ("record", false)] {
            for rule in text.split(&format!("      - {keyword}: ")).skip(1) {
                let rule = rule.split("\n      - ").next().unwrap();
                let (name, rest) = rule.split_once('\n').unwrap();
                rules.push(Rule { name: name.into(), is_alert, text: format!("{rest}\n") });
            }
        }
    }
    assert!(rules.len() > 20, "rules are not found where they stand");
    rules
}
