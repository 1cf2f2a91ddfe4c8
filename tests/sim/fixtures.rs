//! The example answers in tests/fixtures/api, written from the interface's tables. The simulator's answers have
//! the same keys with the same JSON types. The client decodes the same files, so both stay in step.
#![allow(clippy::unwrap_used)]

use crate::support;

use serde_json::{Value, json};
use support::Sim;

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "fraction",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// The differences in shape between two values. A list's items are compared with the fixture's first one (pairs
/// item by item). Null is accepted for anything that may be null by the table.
fn differences(path: &str, fixture: &Value, answer: &Value, found: &mut Vec<String>) {
    const NULLABLE: [&str; 9] = [
        "next",
        "previous",
        "edd",
        "error",
        "last_charge_date",
        "paid_till",
        "end_date",
        "generic_type",
        "null",
    ];
    let name = path.rsplit('.').next().unwrap();
    match (fixture, answer) {
        (Value::Object(f), Value::Object(a)) => {
            let (mut fk, mut ak): (Vec<_>, Vec<_>) = (f.keys().collect(), a.keys().collect());
            fk.sort();
            ak.sort();
            // The one object whose keys are data: logins and their passwords (section 4.5).
            if fk != ak && !path.contains(".users") {
                found.push(format!("{path}: keys {fk:?} against {ak:?}"));
            }
            for (key, value) in f {
                if let Some(other) = a.get(key) {
                    differences(&format!("{path}.{key}"), value, other, found);
                }
            }
        }
        (Value::Array(f), Value::Array(a)) if name.ends_with("_period") => {
            assert_eq!((f.len(), a.len()), (2, 2), "{path}");
            f.iter().zip(a).for_each(|(f, a)| differences(path, f, a, found));
        }
        (Value::Array(f), Value::Array(a)) => {
            if let Some(first) = f.first() {
                a.iter().for_each(|item| differences(path, first, item, found));
            }
        }
        (f, a) if kind(f) == kind(a) => {}
        (Value::Null, _) | (_, Value::Null) if NULLABLE.contains(&name) => {}
        (f, a) => found.push(format!("{path}: {} against {}", kind(f), kind(a))),
    }
}

fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/api/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))).unwrap()
}

#[tokio::test]
async fn answers_have_the_shape_of_the_example_payloads() {
    let sim = Sim::with(|a| a.vm_page_size = 1, "").await;
    sim.obey("last_days", json!({"days": 5}));
    let charge = sim.first("/api/v1/charge/").await["resource_uri"].as_str().unwrap().to_owned();
    let mut shown = vec![];
    for (name, path) in [
        ("container_list", "/api/v1/hosting/containers/"),
        ("container_read", "/api/v1/hosting/containers/301/"),
        ("site_list", "/api/v2/hosting/containers/301/virtualhosts/"),
        ("site_read", "/api/v2/hosting/virtualhosts/2001/"),
        ("engine_versions", "/api/v2/hosting/virtualhosts/2001/engine-versions/"),
        ("database_list", "/api/v1/hosting/dbms/2001/databases/"),
        ("cron_list", "/api/v2/hosting/virtualhosts/2001/cron/"),
        ("cron_read", "/api/v2/hosting/cron/901/"),
        ("vm_list", "/api/cvds/v1/vms/"),
        ("vm_read", "/api/cvds/v1/vms/10001/"),
        ("ssh_key_list", "/api/cvds/v1/ssh-keys/"),
        ("ssh_key_read", "/api/cvds/v1/ssh-keys/71/"),
        ("ip_list", "/api/cvds/v1/ips/"),
        ("ip_read", "/api/cvds/v1/ips/5001/"),
        ("expected_balance", "/api/v1/expected_balance/2026-06-08/"),
        ("charge_list", "/api/v1/charge/?limit=1"),
        ("charge_read", &charge),
    ] {
        shown.push((name, sim.get(path).await));
    }
    shown.push(("vm_start", sim.bare("POST", "/api/cvds/v1/vms/10001/stop/").await));
    let disk = [("type", "small"), ("storage", "8001")];
    shown.push(("vm_create_disk", sim.form("POST", "/api/cvds/v1/vms/", &disk).await));
    let image =
        [("type", "small"), ("arch", "a"), ("image", "1"), ("storage_type", "vg"), ("storage_size", "5")];
    shown.push(("vm_create_image", sim.form("POST", "/api/cvds/v1/vms/", &image).await));
    let made = json!({"virtualhost_id": 2001, "name": "n", "charset": "c"});
    shown.push(("database_read", sim.json("POST", "/api/v1/hosting/dbms/databases/", made).await));
    sim.obey("report_error", json!({"text": "not available"}));
    shown.push(("expected_balance_error", sim.get("/api/v1/expected_balance/2026-06-08/").await));

    let mut found = vec![];
    for (name, reply) in &shown {
        assert!(reply.status < 300, "{name}: {} {}", reply.status, reply.text);
        differences(name, &fixture(name), &reply.json, &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
    // Every fixture is used, and every compared list has items.
    let files = std::fs::read_dir(format!("{}/tests/fixtures/api", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(files.count(), shown.len());
    for (name, reply) in &shown {
        if let Some(rows) = ["entities", "results", "objects"].iter().find_map(|l| reply.json.get(*l)) {
            assert!(!rows.as_array().unwrap().is_empty(), "{name} is empty");
        }
    }
    let report = &shown.iter().find(|(name, _)| *name == "expected_balance").unwrap().1.json;
    assert!(
        report["edd"].is_string() && report["charge_moments"][0]["order"]["last_charge_date"].is_string()
    );
}

#[test]
fn a_difference_in_shape_is_seen() {
    let mut found = vec![];
    differences(
        "x",
        &json!({"a": 1, "b": [{"c": "s"}]}),
        &json!({"a": "1", "b": [{"c": "s"}, {"d": 1}]}),
        &mut found,
    );
    assert_eq!(found.len(), 2, "{found:?}");
}
