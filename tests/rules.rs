//! The alert rules for Prometheus: promtool accepts them, their unit tests pass and cover each, and each points to
//! the place in docs/alerts.md that says what to do. That page has a place for every kind of incident, too.
#![allow(clippy::unwrap_used, reason = "tests")]

mod tools_support;

use std::collections::BTreeSet;

use hostwatch::alert::Kind;
use tools_support::{read, run};

const RULES: &str = "config/prometheus/self.rules.yml";
const TESTS: &str = "config/prometheus/self.rules.test.yml";
const SCRAPE: &str = "config/prometheus/scrape.yml";
const PAGE: &str = "docs/alerts.md";

#[test]
fn promtool_accepts_rules_and_scrape_configuration() {
    for args in [["check", "rules", RULES], ["check", "config", SCRAPE]] {
        let Some(run) = run("promtool", &args) else { return };
        assert!(run.ok, "{args:?}\n{}", run.text);
    }
}

#[test]
fn the_rules_pass_their_unit_tests() {
    let Some(run) = run("promtool", &["test", "rules", TESTS]) else { return };
    assert!(run.ok, "{}", run.text);
}

#[test]
fn each_rule_says_how_bad_it_is_and_where_to_read_on() {
    let anchors = anchors();
    for (name, text) in rules() {
        for part in ["severity: ", "summary: ", "description: "] {
            assert!(text.contains(part), "{name} has no {part}");
        }
        let runbook = text.lines().find_map(|line| line.trim().strip_prefix("runbook_url: ")).unwrap();
        let (page, anchor) = runbook.split_once('#').unwrap();
        assert!(page.ends_with(PAGE), "{name}: {runbook}");
        assert_eq!(anchor, name.to_lowercase());
        assert!(anchors.contains(anchor), "{PAGE} has no heading {name}");
    }
}

#[test]
fn each_rule_is_tested_to_fire_and_not_to() {
    let tests = read(TESTS);
    for (name, _) in rules() {
        let cases = tests.split("alertname: ").skip(1).filter(|case| case.lines().next() == Some(&name));
        let (fires, rests): (Vec<&str>, Vec<&str>) = cases.partition(|case| case.contains("exp_labels"));
        assert!(!fires.is_empty() && !rests.is_empty(), "{name}: {} and {}", fires.len(), rests.len());
    }
}

#[test]
fn names_are_those_of_the_reference() {
    let reference = read("docs/metrics.md");
    let rules = read(RULES);
    let expressions = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    let words = expressions.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    for name in
        words.filter(|word| ["hosting_", "hostwatch_", "process_"].iter().any(|p| word.starts_with(p)))
    {
        assert!(reference.contains(&format!("| `{name}` |")), "{name} is not in docs/metrics.md");
    }
}

#[test]
fn every_kind_of_incident_is_explained() {
    let page = read(PAGE);
    for kind in Kind::ALL {
        let heading = format!("\n### `{kind}`\n");
        let section = page.split_once(&heading).unwrap_or_else(|| panic!("no heading for {kind}")).1;
        let section = section.split("\n## ").next().unwrap().split("\n### ").next().unwrap();
        for part in ["**Means**", "**Do**", "**Tune**"] {
            assert!(section.contains(part), "{kind} has no {part}");
        }
        let severity = format!("*{}", kind.default_severity());
        assert!(kind == Kind::Disconnect || section.contains(&severity), "{kind} is {severity}");
        assert_eq!(section.contains("off by default"), !kind.on_by_default(), "{kind}");
    }
}

/// Each alert and its text.
fn rules() -> Vec<(String, String)> {
    let text = read(RULES);
    let rules = text.split("- alert: ").skip(1).map(|rule| {
        let (name, rest) = rule.split_once('\n').unwrap();
        (name.to_owned(), rest.to_owned())
    });
    let rules: Vec<_> = rules.collect();
    assert!(!rules.is_empty());
    rules
}

/// The anchors that GitHub gives the page's headings.
fn anchors() -> BTreeSet<String> {
    let page = read(PAGE);
    let headings = page.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    headings.map(|heading| heading.replace('`', "").to_lowercase().replace(' ', "-")).collect()
}
