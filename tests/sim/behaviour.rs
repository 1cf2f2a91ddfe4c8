//! The simulated account over time: money, the cut-off and the way back, timetables, limits, credentials.
#![allow(clippy::unwrap_used)]

use crate::support;

use hostwatch_sim::{Args, Simulator, Span};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use support::{PATIENCE, Sim, http_client, play};

const VMS: &str = "/api/cvds/v1/vms/";
const CONTAINERS: &str = "/api/v1/hosting/containers/";

fn money(value: &Value) -> Decimal {
    value.as_str().unwrap_or_else(|| panic!("{value} is no decimal string")).parse().unwrap()
}

/// All charges, the oldest first.
async fn charges(sim: &Sim) -> Vec<Value> {
    let (mut all, mut next) = (Vec::new(), Some("/api/v1/charge/?limit=1000".to_owned()));
    while let Some(path) = next {
        let page = sim.get(&path).await.json;
        all.extend(page["objects"].as_array().unwrap().iter().cloned());
        next = page["meta"]["next"].as_str().map(str::to_owned);
    }
    all.reverse();
    all
}

async fn state(sim: &Sim) -> Value {
    sim.get("/_sim/state").await.json
}

#[tokio::test]
async fn the_forecast_comes_true_for_ninety_days_to_the_kopeck() {
    // Several rhythms, and money that ends on the way. The forecast goes on past the end, and so do the
    // charges.
    let scenario = r#"
        vms = 9
        [[event]]
        at = "0s"
        do = "last_days"
        days = 60
        [[order]]
        comment = "backup"
        amount = "100.00"
        billing_period = [3, "month"]
        charge_period = [1, "month"]
        [[order]]
        comment = "traffic"
        amount = "7.77"
        billing_period = [1, "day"]
        charge_period = [7, "hour"]
        [[order]]
        comment = "licence"
        amount = "999.99"
        billing_period = [1, "month"]
        charge_period = [1, "week"]
    "#;
    let sim = Sim::with(|_| {}, scenario).await;
    let report = sim.get("/api/v1/expected_balance/2026-06-08/").await.json;
    let moments = report["charge_moments"].as_array().unwrap();
    assert!(moments.len() > 1000, "{}", moments.len());
    let before = charges(&sim).await;
    let mut forecast: BTreeMap<String, Decimal> = BTreeMap::new();
    for m in moments {
        *forecast.entry(m["moment"].as_str().unwrap()[..10].to_owned()).or_default() += money(&m["amount"]);
    }
    // Day by day: at each midnight of the account the balance is the foreseen one.
    sim.pass(12 * 3600);
    for day in 0..90 {
        let midnight = (sim.now() + chrono::TimeDelta::hours(3)).format("%Y-%m-%dT%H:%M:%S").to_string();
        let foreseen = moments.iter().rfind(|m| m["moment"].as_str().unwrap() <= midnight.as_str()).unwrap();
        assert_eq!(state(&sim).await["balance"], foreseen["balance"], "day {day}, {midnight}");
        sim.pass(if day < 89 { 86_400 } else { 0 });
    }
    // The account's own list of charges shows the same, day by day.
    let mut charged: BTreeMap<String, Decimal> = BTreeMap::new();
    for charge in &charges(&sim).await[before.len()..] {
        let (price, quantity) = (money(&charge["price"]), money(&charge["quantity"]));
        assert_eq!(money(&charge["total"]), price * quantity, "{charge}");
        *charged.entry(charge["event_date"].as_str().unwrap().to_owned()).or_default() += price * quantity;
    }
    assert_eq!(charged, forecast);
    assert_eq!(state(&sim).await["balance"], report["expected_balance"]);
    // The date of the cut-off was foreseen too.
    let first_bad = moments.iter().find(|m| m["positive"] == false).unwrap();
    assert_eq!(report["edd"], first_bad["moment"]);
    assert_eq!(sim.get("/api/v1/expected_balance/2026-07-01/").await.json["edd"], report["edd"]);
    assert_eq!(state(&sim).await["cut_off"], true);
}

#[tokio::test]
async fn charges_of_one_tariff_at_one_moment_share_a_row() {
    let sim = Sim::with(|a| (a.vms, a.containers, a.sites) = (Some(2000), Some(1), Some(1)), "").await;
    let rows = charges(&sim).await;
    assert!(rows.iter().any(|c| money(&c["quantity"]) > Decimal::ONE), "some are shared");
    assert!(rows.iter().all(|c| money(&c["total"]) == money(&c["price"]) * money(&c["quantity"])));
    let counted: Decimal = rows.iter().map(|c| money(&c["quantity"])).sum();
    assert!(counted >= Decimal::from(2000 * 30), "each order each day: {counted}");
}

#[tokio::test]
async fn an_unpaid_account_goes_dark_and_comes_back() {
    let sim = Sim::with(|_| {}, "[[container]]\nname = 'a'\n[[container]]\nname = 'b'\n").await;
    sim.obey("set_container", json!({"container": "b", "state": "DISABLED_BY_ADMIN"}));
    sim.obey("last_days", json!({"days": 2}));
    let was = state(&sim).await;
    assert_eq!((&was["vms"], was["cut_off"].as_bool()), (&json!({"active": 6, "stopped": 1}), Some(false)));
    sim.pass(4 * 86_400);
    let dark = state(&sim).await;
    assert_eq!(dark["vms"], json!({"blocked": 7}));
    assert_eq!(dark["sites"], json!({"StoppedByService": 8}));
    assert_eq!(dark["containers"], json!({"1": 1, "2": 1}), "what was off for another reason stays so");
    let id = sim.first(VMS).await["id"].to_string();
    assert_eq!(sim.bare("POST", &format!("{VMS}{id}/start/")).await.status, 400);
    let report = sim.get("/api/v1/expected_balance/2026-03-20/").await.json;
    assert!(report["edd"].as_str().unwrap() < "2026-03-14", "the date it happened: {}", report["edd"]);
    sim.obey("pay", json!({"amount": "50000"}));
    assert_eq!(state(&sim).await["sites"], json!({"Starting": 8}));
    sim.pass(4);
    let back = state(&sim).await;
    assert_eq!((&back["vms"], &back["containers"]), (&was["vms"], &was["containers"]));
    assert_eq!((&back["sites"], back["cut_off"].as_bool()), (&json!({"Active": 8}), Some(false)));
}

#[tokio::test]
async fn a_balance_of_nothing_is_not_above_nothing() {
    let sim = Sim::start().await;
    let report = "/api/v1/expected_balance/2026-03-20/";
    let first = sim.get(report).await.json["charge_moments"][0].clone();
    sim.obey("set_balance", json!({"amount": first["amount"]}));
    let then = sim.get(report).await.json;
    assert_eq!((&then["edd"], &then["charge_moments"][0]["balance"]), (&first["moment"], &json!("0.00")));
    assert_eq!(
        (&then["charge_moments"][0]["positive"], state(&sim).await["cut_off"].as_bool()),
        (&json!(false), Some(false))
    );
    sim.obey("set_balance", json!({"amount": "0"}));
    assert_eq!(state(&sim).await["cut_off"], true);
}

#[tokio::test]
async fn a_timetable_happens_on_time_and_in_order() {
    let scenario = r#"
        [[event]]
        at = "30s"
        do = "pay"
        amount = "100"
        [[event]]
        at = "10s"
        do = "set_vm"
        vm = "web-1"
        state = "error"
        [[event]]
        at = "20s"
        do = "set_site"
        site = "shop.example.com"
        state = "Backuping"
        [[event]]
        at = "25s"
        do = "set_site"
        site = "shop.example.com"
        state = "Active"
        [[event]]
        at = "40s"
        do = "fault"
        kind = "status"
        on = "vm"
    "#;
    let sim = Sim::with(|a| a.sites = Some(3), scenario).await;
    let balance = money(&state(&sim).await["balance"]);
    sim.pass(9);
    assert_eq!(sim.first(VMS).await["state"], "active");
    sim.pass(1);
    assert_eq!(sim.first(VMS).await["state"], "error");
    sim.pass(10);
    assert_eq!(state(&sim).await["sites"], json!({"Active": 2, "Backuping": 1}));
    sim.pass(5);
    assert_eq!(state(&sim).await["sites"], json!({"Active": 3}));
    sim.pass(5);
    assert_eq!(money(&state(&sim).await["balance"]), balance + Decimal::from(100));
    sim.pass(10);
    assert_eq!(sim.get(VMS).await.status, 503);
    assert_eq!(sim.get(CONTAINERS).await.status, 200);
}

const WHAT_HAPPENS_AT_ONCE: &str = r#"
## a transition that is overtaken by another change does not happen
POST vms/10001/stop/ => 200
POST /_sim/set_vm {"vm": 10001, "state": "error"} => 204
PUT sites/2001/restart/ => 200
POST /_sim/set_site {"site": "2001", "state": "StoppedByQuota"} => 204
pass 10
GET vms/10001/ => 200 {"state": "error"}
GET sites/2001/ => 200 {"state": "StoppedByQuota"}

## a report can carry an error
POST /_sim/report_error {"text": "not available"} => 204
GET /api/v1/expected_balance/2026-04-01/ => 200 {"error": "not available", "charge_moments": []}
POST /_sim/report_error {} => 204
GET /api/v1/expected_balance/2026-04-01/ => 200 {"error": null}

## unknown paths and methods are refused, and every documented path ends in a slash
GET /api/cvds/v1/vms => 404
GET /api/cvds/v1/disks/ => 404
PUT vms/ => 405
"#;

#[tokio::test]
async fn what_happens_at_once() {
    play(WHAT_HAPPENS_AT_ONCE).await;
}

#[tokio::test]
async fn a_vm_is_billed_from_its_first_day() {
    let sim = Sim::start().await;
    let orders = state(&sim).await["orders"].as_u64().unwrap();
    let fields =
        [("type", "micro"), ("arch", "a"), ("image", "1"), ("storage_type", "vg"), ("storage_size", "5")];
    let made = sim.form("POST", VMS, &fields).await;
    assert_eq!(state(&sim).await["orders"].as_u64(), Some(orders + 1));
    sim.pass(2 * 86_400);
    assert_eq!(sim.get(&made.location.unwrap()).await.json["state"], "active");
    let ours = charges(&sim).await;
    let ours: Vec<_> = ours.iter().filter(|c| c["description"].as_str().unwrap().contains("vm-")).collect();
    assert_eq!(ours.len(), 3, "on its first day and the two after: {ours:?}");
}

#[tokio::test]
async fn limits_are_the_documents_and_a_switch_lifts_them() {
    let sim = Sim::start().await;
    let key = [("title", "t"), ("pubkey", "ssh-rsa AAAA")];
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(sim.form("POST", "/api/cvds/v1/ssh-keys/", &key).await.status);
    }
    assert_eq!(codes, [201, 201, 429]);
    for n in 0..201 {
        let reply = sim.get(VMS).await;
        assert_eq!(reply.status, if n < 200 { 200 } else { 429 }, "VM list {n}");
        assert_eq!(reply.retry_after.is_some(), n == 200);
    }
    let id = sim.get("/api/cvds/v1/vms/10001/").await.json["id"].to_string();
    for n in 0..51 {
        let what = if n % 2 == 0 { "start" } else { "stop" };
        let status = sim.bare("POST", &format!("{VMS}{id}/{what}/")).await.status;
        assert_eq!(status == 429, n == 50, "start or stop {n}: {status}");
    }
    sim.pass(60);
    assert_eq!(sim.get(VMS).await.status, 200);
    let sim = Sim::with(|a| a.unlimited = true, "").await;
    for _ in 0..3 {
        assert_eq!(sim.form("POST", "/api/cvds/v1/ssh-keys/", &key).await.status, 201);
    }
}

#[tokio::test]
async fn each_group_asks_for_its_credentials() {
    let sim = Sim::start().await;
    for path in [VMS, CONTAINERS, "/api/v1/charge/", "/api/v1/expected_balance/2026-04-01/"] {
        assert_eq!(sim.sent(sim.request("GET", path)).await.status, 401, "{path}");
        let wrong = sim.request("GET", path).header("authorization", "Bearer wrong");
        assert_eq!(sim.sent(wrong).await.status, 401, "{path}");
        assert_eq!(sim.get(path).await.status, 200, "{path}");
    }
    let basic = sim.request("GET", "/api/v1/charge/").basic_auth("billing-user", Some("billing-password"));
    assert_eq!(sim.sent(basic).await.status, 200);
    let log = sim.get("/_sim/log").await;
    assert_eq!(log.json[0]["authorization"], false);
    assert_eq!((&log.json[1]["authorization"], &log.json[1]["group"]), (&json!(true), &json!("vm")));
    assert!(!log.text.contains("wrong") && !log.text.contains("token"), "no credential is kept");
}

#[tokio::test]
async fn billing_wants_json_accepted_and_control_can_be_closed() {
    let sim = Sim::start().await;
    let client = http_client().build().unwrap();
    let bare = client.get(format!("{}/api/v1/charge/", sim.base)).header("accept", "text/html");
    let bare = bare.basic_auth("billing-user", Some("billing-password")).send().await.unwrap();
    assert_eq!(bare.status().as_u16(), 406);
    let closed = Sim::with(|a| a.control = false, "").await;
    assert_eq!(closed.get("/_sim/state").await.status, 404);
}

#[tokio::test]
async fn containers_have_states_by_name_and_by_code() {
    let sim = Sim::start().await;
    assert_eq!(sim.first(CONTAINERS).await["state"], 0);
    sim.obey("set_container", json!({"container": "shop", "state": "DISABLED_BY_QUOTA"}));
    assert_eq!(sim.first(CONTAINERS).await["state"], 3);
    sim.obey("set_container", json!({"container": "*", "state": "7", "in_transfer": true}));
    let shop = sim.first(CONTAINERS).await;
    assert_eq!((&shop["state"], &shop["is_in_transfer"]), (&json!(7), &json!(true)));
}

#[tokio::test]
async fn the_same_seed_makes_the_same_account_and_another_does_not() {
    let vms =
        async |seed| Sim::with(|a| a.seed = Some(seed), "").await.get(VMS).await.json["results"].to_string();
    let (one, again, other) = (vms(7).await, vms(7).await, vms(8).await);
    assert_eq!(one, again);
    assert_ne!(one, other);
    assert!(one.contains("архив"), "names need not be Latin");
}

#[test]
fn scenarios_that_cannot_be_are_refused_with_the_reason() {
    let start = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let refused = |text: &str| match Simulator::from_scenario(&Args::default(), text, Arc::new(move || start))
    {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    };
    for (text, word) in [
        ("vmz = 3", "vmz"),
        ("time_zone = 'Mars/Base'", "Mars/Base"),
        ("sites = 100001", "100000"),
        ("containers = 0\nsites = 3", "container"),
        ("[[event]]\ndo = 'pay'\namount = '1'", "at"),
        ("[[event]]\nat = '1s'\ndo = 'pray'", "pray"),
        ("[[site]]\nname = 'x'\ncontainer = 'nowhere'", "nowhere"),
    ] {
        let error = refused(text);
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_big_account_starts_and_answers_quickly() {
    let start = async |part: usize| {
        let began = Instant::now();
        let size = |a: &mut Args| {
            (a.vms, a.containers) = (Some(10_000 / part), Some(1_000 / part));
            (a.sites, a.vm_page_size) = (Some(20_000 / part), 100);
        };
        let sim = Sim::with(size, "").await;
        for page in (1..=100 / part).step_by(11) {
            let page = sim.get(&format!("{VMS}?page={page}")).await;
            assert_eq!(page.json["results"].as_array().unwrap().len(), 100);
        }
        (sim, began.elapsed())
    };
    let (_, of_a_tenth) = start(10).await;
    let (sim, took) = start(1).await;
    // Quadratic work would take a hundred times as long.
    assert!(took < of_a_tenth * 40 + PATIENCE / 4, "{took:?}, and a tenth {of_a_tenth:?}");
    let summary = state(&sim).await;
    assert_eq!(summary["orders"], 11_001, "one a VM, one a container, and a domain");
    // A few days only; the load script tries the whole 91. The code is the same, and it streams.
    let report = sim.get("/api/v1/expected_balance/2026-03-13/").await;
    let moments = report.json["charge_moments"].as_array().unwrap().len();
    assert!((22_000..33_100).contains(&moments), "{moments}");
}

#[tokio::test]
async fn hosting_tokens_are_bought_with_a_key_and_end() {
    let sim = Sim::with(|args| args.token_lifetime = Span::parse("5m").ok(), "").await;
    assert_eq!(sim.get(CONTAINERS).await.status, 401, "the token of the flags opens nothing");
    let buy = |key: &str| {
        let body = format!("api_key={key}");
        let request =
            sim.request("POST", "/token/").header("content-type", "application/x-www-form-urlencoded");
        sim.sent(request.body(body))
    };
    assert_eq!(buy("another").await.status, 403);
    let ends: [&dyn Fn(); 2] = [&|| sim.pass(1), &|| sim.obey("end_tokens", json!({}))];
    for end in ends {
        let token = buy("hosting-api-key").await.json["token"].as_str().unwrap().to_owned();
        let read =
            || sim.sent(sim.request("GET", CONTAINERS).header("authorization", format!("Bearer {token}")));
        sim.pass(299);
        assert_eq!(read().await.status, 200);
        end();
        assert_eq!(read().await.status, 401);
    }
}
