//! What the dashboards show where two daemons watch one account and one of them can no longer read it: asked of promtool
//! with the panels' own queries.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use serde_json::{Value, json};

use super::dashboards::{dashboards, panels, text};
use super::tools::run;

/// As in the rules: of one that goes on showing what it read before, panels say nothing, also after the other died.
#[test]
fn a_daemon_that_cannot_read_contradicts_nobody() {
    let series: Vec<Value> = ["a", "b"].into_iter().flat_map(page_of).collect();
    let number = |value: f64| json!([{ "labels": "{}", "value": value }]);
    let of_main = |value: f64| json!([{ "labels": "{account=\"main\"}", "value": value }]);
    let tests = json!([
        asked("Critical incidents", 9, &number(1.0)),
        asked("Critical incidents", 25, &number(0.0)),
        asked("Until cut-off", 9, &number(3.0 - 9.0 / 1440.0)),
        asked("Until cut-off", 25, &number(100_000.0)),
        asked("Broken resources", 9, &number(1.0)),
        asked("Broken resources", 25, &number(0.0)),
        asked("Accounts", 9, &of_main(30.0)),
        asked("Accounts", 25, &of_main(5000.0)),
        // Who read last has died: what the other shows is older.
        asked("Accounts", 45, &json!([])),
        asked("Until cut-off", 45, &json!([])),
    ]);
    let test = json!({ "evaluation_interval": "1m",
        "tests": [{ "interval": "1m", "input_series": series, "promql_expr_test": tests }] });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dashboards.test.yml");
    // JSON is YAML.
    fs::write(&path, test.to_string()).unwrap();
    let Some(run) = run("promtool", &["test", "rules", path.to_str().unwrap()]) else { return };
    assert!(run.ok, "{}", run.text);
}

/// Both read; at minute 10 the account is paid for and its VM well again. `a` reads that, and is gone from minute 40 on;
/// `b` reads nothing any more and shows what it knew.
fn page_of(daemon: &str) -> Vec<Value> {
    let reads = daemon == "a";
    let one = |name: &str, labels: &str, values: &str| {
        let labels = format!("{labels}account=\"main\", instance=\"{daemon}:10245\", job=\"hostwatch\"");
        json!({ "series": format!("{name}{{{labels}}}"), "values": values })
    };
    let family = |name: &str, labels: &str, before: &str, after: &str| {
        let after = if reads { format!("{before}x9 {after}x29 stale") } else { format!("{before}x60") };
        one(name, labels, &after)
    };
    let mut page = vec![
        family("hostwatch_build_info", "", "1", "1"),
        family("hosting_billing_lead_days", "", "3", "3"),
        family("hosting_billing_balance", "", "30", "5000"),
        family("hosting_billing_disconnect_expected", "", "1", "0"),
        one(
            "hosting_billing_disconnect_timestamp_seconds",
            "",
            if reads { "259200x9 stale" } else { "259200x60" },
        ),
        family("hosting_vms", "state=\"error\", ", "1", "0"),
        family(
            "hostwatch_incidents",
            "kind=\"disconnect\", severity=\"critical\", state=\"firing\", ",
            "1",
            "0",
        ),
    ];
    for collector in ["expected_balance", "vms"] {
        let labels = format!("collector=\"{collector}\", ");
        let success = if reads { "1x39 stale" } else { "1x9 0x50" };
        let last = if reads { "0+60x39 stale" } else { "0+60x9 540x50" };
        page.push(one("hostwatch_collector_success", &labels, success));
        page.push(one("hostwatch_collector_last_success_timestamp_seconds", &labels, last));
    }
    page
}

/// What a panel of the overview has to give: its first query; of those by colour, the one that answers.
fn asked(title: &str, minute: u32, samples: &Value) -> Value {
    let (_, overview) = dashboards().into_iter().find(|(name, _)| name == "overview.json").unwrap();
    let found = panels(&overview);
    // Rows have titles too.
    let mut asking =
        found.iter().filter(|panel| panel["title"] == title).filter_map(|panel| panel["targets"].as_array());
    let targets = asking.next().unwrap();
    let answers = if title == "Until cut-off" { targets.len() } else { 1 };
    let queries: Vec<String> =
        targets.iter().take(answers).map(|target| format!("({})", text(&target["expr"]))).collect();
    let expr = queries.join(" or ").replace("$account", ".*").replace("$job", ".*");
    json!({ "expr": expr, "eval_time": format!("{minute}m"), "exp_samples": samples })
}
