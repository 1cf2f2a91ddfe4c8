//! The rules for Prometheus: promtool accepts them, their unit tests pass and cover each, and each alert points to
//! the place in docs/alerts.md that says what to do. That page has a place for every kind of incident, too.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::tools;

use std::collections::BTreeSet;

use crate::alert::Kind;
use tools::{read, root, run};

const FOLDER: &str = "config/prometheus";
const SCRAPE: [&str; 2] = ["config/prometheus/scrape.yml", "config/prometheus/discovery.yml"];
const ALERTMANAGER: &str = "config/prometheus/alertmanager.yml";
const PAGE: &str = "docs/alerts.md";

/// An alert or a recording rule.
struct Rule {
    file: String,
    name: String,
    is_alert: bool,
    text: String,
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

#[test]
fn the_rules_pass_their_unit_tests() {
    let tests = files_with(".test.yml");
    assert_eq!(tests, ["recording.rules", "resources.days", "resources.rules", "self.rules"]);
    for file in tests {
        let Some(run) = run("promtool", &["test", "rules", &format!("{FOLDER}/{file}.test.yml")]) else {
            return;
        };
        assert!(run.ok, "{}", run.text);
    }
}

#[test]
fn each_alert_says_how_bad_it_is_and_where_to_read_on() {
    let anchors = anchors();
    for Rule { file, name, text, .. } in rules().into_iter().filter(|rule| rule.is_alert) {
        for part in ["expr: ", "for: ", "severity: ", "summary: ", "description: "] {
            assert!(text.contains(&format!(" {part}")), "{name} has no {part}");
        }
        let severity = text.lines().find_map(|line| line.trim().strip_prefix("severity: ")).unwrap();
        assert!(["critical", "warning", "info"].contains(&severity), "{name}: {severity}");
        let runbook = text.lines().find_map(|line| line.trim().strip_prefix("runbook_url: ")).unwrap();
        let (page, anchor) = runbook.split_once('#').unwrap();
        assert_eq!(page, format!("https://github.com/hostwatch/hostwatch/blob/main/{PAGE}"), "{name}");
        assert!(anchors.contains(anchor), "{name}: {PAGE} has no heading {anchor}");
        match file.as_str() {
            "self" => assert_eq!(anchor, name.to_lowercase()),
            // What the daemon itself cannot see is no incident of its own.
            _ if anchor == name.to_lowercase() => {}
            _ => {
                let kind: Kind = anchor.parse().unwrap();
                let expected = kind.default_severity().to_string();
                // The tiers of a disconnection have a severity each.
                assert!(kind == Kind::Disconnect || severity == expected, "{name}: {severity}");
                assert!(read(PAGE).contains(&format!("`{name}`")), "{PAGE} does not list {name}");
            }
        }
    }
}

/// Two daemons that watch one account make one alert: nothing but what is about a daemon keeps its instance. What is
/// made of recorded series alone has none.
#[test]
fn rules_about_the_account_do_not_depend_on_the_instance() {
    for Rule { name, text, .. } in rules().into_iter().filter(|rule| rule.file != "self") {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
        let recorded =
            words.clone().any(|word| word.starts_with("account") && word.matches(':').count() == 2);
        let whose = name.starts_with("instance_") || name.starts_with("instance:");
        let gone = ["without (instance", "by (account, site)"].iter().any(|words| text.contains(words));
        assert!(whose || recorded || gone, "{name} keeps the instance");
    }
}

/// Alertmanager shows the summary of a group where all of it have the same: it says nothing that differs within one.
#[test]
fn summaries_are_those_of_a_group() {
    let routing = read(ALERTMANAGER);
    let grouped = routing.lines().find_map(|line| line.trim().strip_prefix("group_by: [")).unwrap();
    let grouped: Vec<&str> = grouped.trim_end_matches(']').split(", ").collect();
    for Rule { name, text, .. } in rules().into_iter().filter(|rule| rule.is_alert) {
        let summary = text.lines().find_map(|line| line.trim().strip_prefix("summary: ")).unwrap();
        assert!(!summary.contains("$value"), "{name}: {summary}");
        for label in summary.split("$labels.").skip(1) {
            let label = label.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
            assert!(grouped.contains(&label), "{name}: {label} differs within a group");
        }
    }
}

/// Of two alerts that end together the silenced one ends first, or Alertmanager may send it in between.
#[test]
fn what_is_silenced_is_found_before_what_silences_it() {
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
            value("severity").is_none_or(|severity| rule.text.contains(&format!(" severity: {severity}\n")))
        };
        let places = alerts.iter().enumerate().filter(|(_, rule)| is_named(rule) && is_as_bad(rule));
        places.map(|(place, _)| place).collect()
    };
    let config = read(ALERTMANAGER);
    let pairs: Vec<&str> = config.split("source_matchers: [").skip(1).collect();
    assert!(pairs.len() > 5, "inhibitions are not found where they stand");
    for pair in pairs {
        let (source, rest) = pair.split_once("]\n").unwrap();
        let target = rest.split_once("target_matchers: [").unwrap().1.split_once("]\n").unwrap().0;
        let (first_source, last_target) = (places(source)[0], *places(target).last().unwrap());
        assert!(last_target < first_source, "{source} is found before {target}");
    }
}

#[test]
fn each_rule_is_tested_to_fire_and_not_to() {
    for Rule { file, name, is_alert, .. } in rules() {
        let tests = read(&tests_of(&file));
        let (fires, rests) = if is_alert {
            let cases = tests.split("alertname: ").skip(1).filter(|case| case.lines().next() == Some(&name));
            cases.partition::<Vec<&str>, _>(|case| case.contains("exp_labels"))
        } else {
            let cases = tests
                .split("- expr: '")
                .skip(1)
                .filter(|case| case.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['{', '\''])));
            cases.partition(|case| case.contains("- labels: "))
        };
        // What alerts are made of is tried through them, by .ci/rules too.
        if !is_alert && file != "recording" {
            continue;
        }
        assert!(!fires.is_empty() && !rests.is_empty(), "{name}: {} and {}", fires.len(), rests.len());
    }
}

#[test]
fn names_are_those_of_the_reference() {
    let reference = read("docs/metrics.md");
    let recorded: Vec<String> = rules().into_iter().map(|rule| rule.name).collect();
    for Rule { name: rule, text, .. } in rules() {
        let text =
            recorded.iter().filter(|name| name.contains(':')).fold(text, |text, name| text.replace(name, ""));
        let expression = text.split_once("expr: ").unwrap().1.split("\n        for: ").next().unwrap();
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
        for part in ["**Means**", "**Do**", "**Tune**"] {
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

/// The files of the folder whose names end so, without it.
fn files_with(end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(FOLDER)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> =
        names.filter_map(|name| name.strip_suffix(end).map(ToOwned::to_owned)).collect();
    files.sort();
    files
}

fn tests_of(file: &str) -> String {
    format!("{FOLDER}/{file}.rules.test.yml")
}

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for file in files() {
        let text = read(&format!("{FOLDER}/{file}.rules.yml"));
        for (keyword, is_alert) in [("alert", true), ("record", false)] {
            for rule in text.split(&format!("      - {keyword}: ")).skip(1) {
                let rule = rule.split("\n      - ").next().unwrap();
                let (name, rest) = rule.split_once('\n').unwrap();
                rules.push(Rule {
                    file: file.clone(),
                    name: name.into(),
                    is_alert,
                    text: format!("{rest}\n"),
                });
            }
        }
    }
    let alerts = rules.iter().filter(|rule| rule.is_alert).count();
    assert!(alerts > 20 && rules.len() - alerts >= 4, "rules are not found where they stand");
    rules
}

/// The anchors that GitHub gives the page's headings.
fn anchors() -> BTreeSet<String> {
    let page = read(PAGE);
    let headings = page.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    headings.map(|heading| heading.replace('`', "").to_lowercase().replace(' ', "-")).collect()
}
