//! VMs, SSH keys, IP addresses and billing (sections 4.5 to 4.8 of the interface), over plain HTTP: what is
//! answered and what it does. The table in docs/provider.md names the test of each operation; sim_walk_hosting.rs
//! has the other half.
#![allow(clippy::unwrap_used)]

use crate::support;

use serde_json::{Value, json};
use support::{Sim, wrong_fields};

const VMS: &str = "/api/cvds/v1/vms/";
const KEYS: &str = "/api/cvds/v1/ssh-keys/";
const IPS: &str = "/api/cvds/v1/ips/";

fn id(record: &Value) -> u64 {
    record["id"].as_u64().unwrap_or_else(|| panic!("no id in {record}"))
}

const FROM_IMAGE: [(&str, &str); 6] = [
    ("type", "medium"),
    ("arch", "amd64"),
    ("image", "17"),
    ("storage_type", "vgssd"),
    ("storage_size", "80"),
    ("keypair", "71"),
];

#[tokio::test]
async fn a_vm_is_created_from_an_image_and_polled() {
    let sim = Sim::start().await;
    let made = sim.form("POST", VMS, &FROM_IMAGE).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let users = made.json["users"].as_array().unwrap();
    assert!(users[0]["root"].as_str().unwrap().len() >= 8 && users[0].as_object().unwrap().len() == 1);
    let there = made.location.unwrap();
    assert!(there.starts_with(&format!("{}{VMS}", sim.base)), "{there}");
    let mut seen = Vec::new();
    for _ in 0..7 {
        seen.push(sim.get(&there).await.json["state"].as_str().unwrap().to_owned());
        sim.pass(1);
    }
    seen.dedup();
    assert_eq!(seen, ["pending", "building", "active"]);
    let vm = sim.get(&there).await.json;
    assert_eq!((&vm["ips"][0]["ipvalue"], &vm["ssh_keys"]), (&made.json["ip"], &json!([71])));
    assert_eq!((&vm["ncpu"], &vm["type"]), (&json!(2), &json!("medium")));
}

#[tokio::test]
async fn a_vm_that_is_asked_for_wrongly_is_refused() {
    let sim = Sim::with(|a| a.past_the_limit = hostwatch::sim::PastTheLimit::Serve, "").await;
    let refused = sim.form("POST", VMS, &[("type", "")]).await;
    assert_eq!(refused.status, 400);
    assert_eq!(wrong_fields(&refused), ["arch", "image", "storage_size", "storage_type", "type"]);
    for (disk, size, fine) in [
        ("vg", "5", true),
        ("vg", "250", true),
        ("vg", "255", false),
        ("vg", "7", false),
        ("vg", "0", false),
        ("vgssd", "80", true),
        ("vgssd", "85", false),
        ("tape", "10", false),
        ("vg", "ten", false),
    ] {
        let mut fields = FROM_IMAGE;
        (fields[3].1, fields[4].1) = (disk, size);
        let reply = sim.form("POST", VMS, &fields).await;
        assert_eq!(reply.status, if fine { 201 } else { 400 }, "{disk} {size}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_vm_is_created_from_a_disk_or_a_copy_of_it() {
    let sim = Sim::start().await;
    let disk = sim.first(VMS).await["storages"][0].to_string();
    let made = sim.form("POST", VMS, &[("type", "small"), ("storage", &disk)]).await;
    assert_eq!(
        (made.status, made.json.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>()),
        (201, vec!["ip"])
    );
    assert_eq!(sim.get(&made.location.unwrap()).await.json["storages"][0].to_string(), disk);
    let copied =
        sim.form("POST", VMS, &[("type", "small"), ("storage", &disk), ("storage_copy_origin", "1")]).await;
    let there = copied.location.unwrap();
    assert_ne!(sim.get(&there).await.json["storages"][0].to_string(), disk);
    sim.pass(10);
    assert_eq!(sim.get(&there).await.json["state"], "active");
}

#[tokio::test]
async fn vms_are_listed_by_page_numbers() {
    let sim = Sim::with(|a| a.vms = Some(45), "").await;
    let mut next = Some(VMS.to_owned());
    let (mut pages, mut ids) = (0, Vec::new());
    while let Some(url) = next {
        let page = sim.get(&url).await;
        assert_eq!((page.status, page.json["count"].as_i64()), (200, Some(45)));
        ids.extend(page.json["results"].as_array().unwrap().iter().map(id));
        assert_eq!(page.json["previous"].is_null(), pages == 0);
        next = page.json["next"].as_str().map(str::to_owned);
        assert!(
            next.as_deref().is_none_or(|n| n == format!("{}{VMS}?page={}", sim.base, pages + 2)),
            "{next:?}"
        );
        pages += 1;
    }
    ids.dedup();
    assert_eq!((pages, ids.len()), (3, 45));
    assert_eq!(sim.get(&format!("{VMS}?page=4")).await.status, 404);
    assert_eq!(sim.get(&format!("{VMS}?page_size=100")).await.json["results"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn a_vm_is_read() {
    let sim = Sim::start().await;
    let vm = sim.first(VMS).await;
    let read = sim.get(&format!("{VMS}{}/", vm["id"])).await;
    assert_eq!((read.status, &read.json), (200, &vm));
    assert!(vm["ips"][0]["ipvalue"].is_string() && vm["ssh_keys"].is_array());
    assert_eq!(sim.get(&format!("{VMS}1/")).await.status, 404);
}

#[tokio::test]
async fn a_vm_is_changed() {
    let sim = Sim::start().await;
    let path = format!("{VMS}{}/", sim.first(VMS).await["id"]);
    let changed = sim.form("PATCH", &path, &[("type", "xlarge"), ("name", "переименован")]).await;
    assert_eq!(changed.status, 200);
    let read = sim.get(&path).await.json;
    assert_eq!(
        (&read["type"], &read["ncpu"], &read["memsize"]),
        (&json!("xlarge"), &json!(8), &json!(16384))
    );
    assert_eq!(read["name"], "переименован");
}

/// Start, stop and reboot answer alike (section 2.5).
fn is_an_action_answer(vm: &Value) {
    assert!(vm["ips"].as_array().unwrap().iter().all(Value::is_u64), "plain ids: {vm}");
    assert!(vm.get("ssh_keys").is_none(), "no ssh_keys: {vm}");
}

#[tokio::test]
async fn a_stopped_vm_is_started() {
    let sim = Sim::start().await;
    let vm = sim.first(VMS).await;
    let path = format!("{VMS}{}/", vm["id"]);
    sim.obey("set_vm", json!({"vm": vm["id"], "state": "stopped"}));
    let started = sim.bare("POST", &format!("{path}start/")).await;
    assert_eq!(started.status, 200);
    is_an_action_answer(&started.json);
    sim.pass(4);
    assert_eq!(sim.get(&path).await.json["state"], "active");
    let refused = sim.bare("POST", &format!("{path}start/")).await;
    assert_eq!((refused.status, wrong_fields(&refused)), (400, vec!["state".to_owned()]));
}

#[tokio::test]
async fn an_active_vm_is_stopped() {
    let sim = Sim::start().await;
    let path = format!("{VMS}{}/", sim.first(VMS).await["id"]);
    let stopped = sim.bare("POST", &format!("{path}stop/")).await;
    assert_eq!(stopped.status, 200);
    is_an_action_answer(&stopped.json);
    sim.pass(4);
    assert_eq!(sim.get(&path).await.json["state"], "stopped");
    assert_eq!(sim.bare("POST", &format!("{path}stop/")).await.status, 400);
}

async fn reboots(how: &str) {
    let sim = Sim::start().await;
    let path = format!("{VMS}{}/", sim.first(VMS).await["id"]);
    let rebooted = sim.bare("POST", &format!("{path}reboot/{how}/")).await;
    assert_eq!((rebooted.status, rebooted.json["state"].as_str()), (200, Some("pending")));
    is_an_action_answer(&rebooted.json);
    sim.pass(4);
    assert_eq!(sim.get(&path).await.json["state"], "active");
    assert_eq!(sim.bare("POST", &format!("{VMS}1/reboot/{how}/")).await.status, 404);
}

#[tokio::test]
async fn a_vm_is_rebooted_softly() {
    reboots("soft").await;
}

#[tokio::test]
async fn a_vm_is_rebooted_the_hard_way() {
    reboots("hard").await;
}

#[tokio::test]
async fn a_vm_is_deleted() {
    let sim = Sim::start().await;
    let vm = sim.first(VMS).await;
    let path = format!("{VMS}{}/", vm["id"]);
    assert_eq!(sim.form("DELETE", &path, &[("delete_storages", "maybe")]).await.status, 400);
    let gone = sim.form("DELETE", &path, &[("delete_storages", "true")]).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(sim.get(&path).await.status, 404);
    assert_eq!(
        sim.get(&format!("{IPS}{}/", vm["ips"][0]["id"])).await.status,
        404,
        "its addresses go with it"
    );
}

const PUBKEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK+x/y== me@example.com";

#[tokio::test]
async fn an_ssh_key_is_created() {
    let sim = Sim::start().await;
    let made = sim.form("POST", KEYS, &[("title", "mine"), ("pubkey", PUBKEY)]).await;
    assert_eq!((made.status, made.json["pubkey"].as_str()), (201, Some(PUBKEY)));
    let pairs: Vec<_> = made.json["fingerprint"].as_str().unwrap().split(':').collect();
    assert!(pairs.len() == 16 && pairs.iter().all(|p| p.len() == 2 && u8::from_str_radix(p, 16).is_ok()));
    assert_eq!(sim.get(&made.location.unwrap()).await.json, made.json);
    let refused = sim.form("POST", KEYS, &[("pubkey", "nonsense")]).await;
    assert_eq!(
        (refused.status, wrong_fields(&refused)),
        (400, vec!["pubkey".to_owned(), "title".to_owned()])
    );
}

#[tokio::test]
async fn ssh_keys_are_listed() {
    let sim = Sim::with(|a| a.vm_page_size = 1, "").await;
    let page = sim.get(KEYS).await;
    assert_eq!((page.status, page.json["count"].as_i64()), (200, Some(2)));
    let next = sim.get(page.json["next"].as_str().unwrap()).await.json;
    assert_ne!(next["results"][0]["id"], page.json["results"][0]["id"]);
    assert!(next["next"].is_null() && next["previous"].is_string());
}

#[tokio::test]
async fn an_ssh_key_is_read() {
    let sim = Sim::start().await;
    let key = sim.first(KEYS).await;
    let read = sim.get(&format!("{KEYS}{}/", key["id"])).await;
    assert_eq!((read.status, read.json), (200, key));
    assert_eq!(sim.get(&format!("{KEYS}1/")).await.status, 404);
}

#[tokio::test]
async fn an_ssh_key_is_deleted() {
    let sim = Sim::start().await;
    let path = format!("{KEYS}{}/", sim.first(KEYS).await["id"]);
    let gone = sim.bare("DELETE", &path).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(sim.get(&path).await.status, 404);
    assert_eq!(sim.first(VMS).await["ssh_keys"], json!([]));
}

#[tokio::test]
async fn an_ip_is_created() {
    let sim = Sim::start().await;
    let vm = sim.first(VMS).await;
    let vm_id = vm["vm_id"].as_str().unwrap();
    let made = sim.form("POST", IPS, &[("vm_id", vm_id), ("version", "6")]).await;
    assert_eq!((made.status, &made.json["vm"]), (201, &vm["id"]));
    assert!(made.json["ipvalue"].as_str().unwrap().contains(':'));
    assert_eq!(sim.get(&made.location.unwrap()).await.json, made.json);
    assert_eq!(sim.form("POST", IPS, &[("vm_id", "someone-elses"), ("version", "4")]).await.status, 403);
    let refused = sim.form("POST", IPS, &[("vm_id", vm_id), ("version", "5")]).await;
    assert_eq!((refused.status, wrong_fields(&refused)), (400, vec!["version".to_owned()]));
}

#[tokio::test]
async fn ips_are_listed() {
    let sim = Sim::with(|a| a.vms = Some(30), "").await;
    let page = sim.get(IPS).await;
    assert_eq!((page.status, page.json["count"].as_i64()), (200, Some(36)));
    assert_eq!(page.json["next"], format!("{}{IPS}?page=2", sim.base));
    let second = sim.get(page.json["next"].as_str().unwrap()).await.json;
    assert_eq!(second["results"].as_array().unwrap().len(), 16);
}

#[tokio::test]
async fn ips_of_one_vm_are_listed_by_either_id() {
    let sim = Sim::with(|a| a.vm_page_size = 1, "").await;
    let vm = sim.first(VMS).await;
    let by_number = sim.get(&format!("{IPS}?vm={}", vm["id"])).await.json;
    let by_text = sim.get(&format!("{IPS}?vm={}", vm["vm_id"].as_str().unwrap())).await.json;
    assert_eq!((by_number["count"].as_i64(), &by_number["results"]), (Some(2), &by_text["results"]));
    // The filter survives on the way to the next page.
    let next = sim.get(by_number["next"].as_str().unwrap()).await.json;
    assert_eq!(next["results"][0]["vm"], vm["id"]);
    assert_eq!(sim.get(&format!("{IPS}?vm=nobody")).await.json["count"], 0);
}

#[tokio::test]
async fn an_ip_is_read() {
    let sim = Sim::start().await;
    let ip = sim.first(IPS).await;
    let read = sim.get(&format!("{IPS}{}/", ip["id"])).await;
    assert_eq!((read.status, read.json), (200, ip));
    assert_eq!(sim.get(&format!("{IPS}1/")).await.status, 404);
}

#[tokio::test]
async fn an_ip_is_deleted() {
    let sim = Sim::start().await;
    let ip = sim.first(IPS).await;
    let path = format!("{IPS}{}/", ip["id"]);
    let gone = sim.bare("DELETE", &path).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(sim.get(&path).await.status, 404);
    let vm = sim.get(&format!("{VMS}{}/", ip["vm"])).await.json;
    assert!(vm["ips"].as_array().unwrap().iter().all(|i| i["id"] != ip["id"]));
}

#[tokio::test]
async fn the_expected_balance_is_reported() {
    let sim = Sim::start().await;
    let report = sim.get("/api/v1/expected_balance/2026-06-09/").await;
    assert_eq!(report.status, 200);
    assert!(report.json["edd"].is_null() && report.json["error"].is_null(), "paid for more than 90 days");
    let moments = report.json["charge_moments"].as_array().unwrap();
    assert!(moments.len() > 90 * 10);
    assert_eq!(moments.last().unwrap()["balance"], report.json["expected_balance"]);
    for (date, status) in
        [("2028-03-10", 200), ("2028-03-11", 400), ("2026-03-09", 404), ("soon", 404), ("2026-3-9", 404)]
    {
        let reply = sim.get(&format!("/api/v1/expected_balance/{date}/")).await;
        assert_eq!(reply.status, status, "{date}");
    }
}

#[tokio::test]
async fn charges_are_listed() {
    let sim = Sim::start().await;
    let page = sim.get("/api/v1/charge/").await;
    assert_eq!(page.status, 200);
    let total = page.json["meta"]["total_count"].as_u64().unwrap();
    assert!(total > 200, "thirty days of them: {total}");
    assert_eq!(page.json["meta"]["next"], "/api/v1/charge/?limit=20&offset=20");
    let (mut seen, mut next) = (0, Some("/api/v1/charge/?limit=100".to_owned()));
    while let Some(path) = next {
        let page = sim.get(&path).await.json;
        seen += page["objects"].as_array().unwrap().len() as u64;
        next = page["meta"]["next"].as_str().map(str::to_owned);
    }
    assert_eq!(seen, total);
    sim.pass(86_400);
    assert!(
        sim.get("/api/v1/charge/").await.json["meta"]["total_count"].as_u64().unwrap() > total,
        "it grows"
    );
}

#[tokio::test]
async fn a_charge_is_read() {
    let sim = Sim::start().await;
    let charge = sim.first("/api/v1/charge/").await;
    let read = sim.get(charge["resource_uri"].as_str().unwrap()).await;
    assert_eq!((read.status, read.json), (200, charge));
    assert_eq!(sim.get("/api/v1/charge/1/").await.status, 404);
}
