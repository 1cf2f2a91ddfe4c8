//! Containers, databases, sites and cron jobs (sections 4.1 to 4.4 of the interface), over plain HTTP: what is
//! answered and what it does. The table in docs/provider.md names the test of each operation.
#![allow(clippy::unwrap_used)]

use crate::support;

use serde_json::{Value, json};
use support::{Sim, wrong_fields};

const CONTAINERS: &str = "/api/v1/hosting/containers/";
const SITES: &str = "/api/v2/hosting/virtualhosts/";
const CRON: &str = "/api/v2/hosting/cron/";
const DBMS: &str = "/api/v1/hosting/dbms/";

fn id(record: &Value) -> u64 {
    record["id"].as_u64().unwrap_or_else(|| panic!("no id in {record}"))
}

/// A site of the default account, and its container.
async fn a_site(sim: &Sim) -> (u64, u64) {
    let container = id(&sim.first(CONTAINERS).await);
    let site = id(&sim.first(&format!("/api/v2/hosting/containers/{container}/virtualhosts/")).await);
    (site, container)
}

#[tokio::test]
async fn containers_are_listed_by_offset_and_limit() {
    let sim = Sim::with(|a| a.containers = Some(25), "").await;
    let page = sim.get(CONTAINERS).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.json["count"], 25);
    assert_eq!(page.json["entities"].as_array().unwrap().len(), 20);
    let rest = sim.get(&format!("{CONTAINERS}?offset=20&limit=100")).await.json;
    assert_eq!(rest["entities"].as_array().unwrap().len(), 5);
    assert_ne!(rest["entities"][0]["id"], page.json["entities"][0]["id"]);
    for (query, field) in
        [("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("offset=-1", "offset")]
    {
        let refused = sim.get(&format!("{CONTAINERS}?{query}")).await;
        assert_eq!((refused.status, wrong_fields(&refused)), (400, vec![field.to_owned()]), "{query}");
    }
}

#[tokio::test]
async fn a_container_is_created() {
    let sim = Sim::start().await;
    let body = json!({"name": "new", "memory_limit": 512, "quota": 4096, "environment": 3, "redis": 64,
                      "password": "secret", "create_packet": true});
    let made = sim.json("POST", CONTAINERS, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    // Creation knows four environments, reads two.
    assert_eq!(
        (made.json["environment"].as_i64(), made.json["redis"]["memory_limit"].as_i64()),
        (Some(0), Some(64))
    );
    assert_eq!(sim.get(&format!("{CONTAINERS}{}/", made.json["id"])).await.json, made.json);
    assert!(!made.text.contains("secret"));
    let refused = sim.json("POST", CONTAINERS, json!({"name": "", "quota": "4096", "environment": 4})).await;
    assert_eq!(refused.status, 400);
    assert_eq!(wrong_fields(&refused), ["environment", "memory_limit", "name", "quota"]);
    assert_eq!(sim.get(CONTAINERS).await.json["count"], 4);
}

#[tokio::test]
async fn a_container_is_read() {
    let sim = Sim::start().await;
    let first = sim.first(CONTAINERS).await;
    let read = sim.get(&format!("{CONTAINERS}{}/", first["id"])).await;
    assert_eq!((read.status, read.json), (200, first));
    assert_eq!(sim.get(&format!("{CONTAINERS}999999/")).await.status, 404);
}

#[tokio::test]
async fn a_container_is_updated() {
    let sim = Sim::start().await;
    let first = sim.first(CONTAINERS).await;
    let path = format!("{CONTAINERS}{}/", first["id"]);
    let changed =
        sim.json("PUT", &path, json!({"name": "renamed", "quota": 777, "redis": null, "memcache": 32})).await;
    assert_eq!(changed.status, 201, "section 7 says 201 for an update too");
    let read = sim.get(&path).await.json;
    assert_eq!((read["name"].as_str(), read["quota"].as_i64()), (Some("renamed"), Some(777)));
    assert_eq!(
        (read["redis"]["enabled"].as_bool(), read["memcache"]["memory_limit"].as_i64()),
        (Some(false), Some(32))
    );
    assert_eq!(read["memory_limit"], first["memory_limit"], "what was not named stays");
    let refused = sim.json("PUT", &path, json!({"quota": 0, "name": 5})).await;
    assert_eq!((refused.status, wrong_fields(&refused)), (400, vec!["name".to_owned(), "quota".to_owned()]));
}

#[tokio::test]
async fn a_container_is_deleted_once_it_is_empty() {
    let sim = Sim::start().await;
    let full = sim.first(CONTAINERS).await;
    let refused = sim.bare("DELETE", &format!("{CONTAINERS}{}/", full["id"])).await;
    assert_eq!(refused.status, 400, "deletion is forbidden while sites are in it");
    let body = json!({"name": "new", "memory_limit": 512, "quota": 4096, "environment": 0});
    let path = format!("{CONTAINERS}{}/", sim.json("POST", CONTAINERS, body).await.json["id"]);
    assert_eq!(sim.bare("DELETE", &path).await.status, 200);
    assert_eq!(sim.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_database_accounts_password_is_set() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let path = format!("{DBMS}{site}/set-password/");
    let set = sim.json("PUT", &path, json!({"password": "s3cret"})).await;
    let database = sim.first(&format!("{DBMS}{site}/databases/")).await;
    assert_eq!((set.status, &set.json), (200, &database));
    let refused = sim.json("PUT", &path, json!({})).await;
    assert_eq!((refused.status, wrong_fields(&refused)), (400, vec!["password".to_owned()]));
}

#[tokio::test]
async fn databases_of_a_site_are_listed() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let page = sim.get(&format!("{DBMS}{site}/databases/?limit=100")).await;
    assert_eq!((page.status, page.json["count"].as_i64()), (200, Some(1)));
    assert_eq!(page.json["entities"].as_array().unwrap().len(), 1);
    assert_eq!(sim.get(&format!("{DBMS}{site}/databases/?limit=101")).await.status, 400);
}

#[tokio::test]
async fn a_database_is_created() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let path = format!("{DBMS}databases/");
    let made = sim
        .json("POST", &path, json!({"virtualhost_id": site, "name": "orders", "charset": "utf8mb4"}))
        .await;
    assert_eq!((made.status, made.json["name"].as_str()), (200, Some("orders")));
    assert_eq!(sim.get(&format!("{DBMS}{site}/databases/")).await.json["entities"][1], made.json);
    let refused = sim.json("POST", &path, json!({"virtualhost_id": 1, "name": "x"})).await;
    assert_eq!(
        (refused.status, wrong_fields(&refused)),
        (400, vec!["charset".to_owned(), "virtualhost_id".to_owned()])
    );
}

#[tokio::test]
async fn a_database_is_deleted_and_shown_once_more() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let database = sim.first(&format!("{DBMS}{site}/databases/")).await;
    let gone = sim.bare("DELETE", &format!("{DBMS}databases/{}/", database["id"])).await;
    assert_eq!((gone.status, gone.json), (200, database));
    assert_eq!(sim.get(&format!("{DBMS}{site}/databases/")).await.json["count"], 0);
}

#[tokio::test]
async fn sites_of_a_container_are_listed() {
    let sim = Sim::with(|a| (a.containers, a.sites) = (Some(1), Some(130)), "").await;
    let container = id(&sim.first(CONTAINERS).await);
    let path = format!("/api/v2/hosting/containers/{container}/virtualhosts/");
    let page = sim.get(&format!("{path}?offset=100&limit=100")).await.json;
    assert_eq!((page["count"].as_i64(), page["entities"].as_array().unwrap().len()), (Some(130), 30));
    assert_eq!(page["entities"][0]["container"]["id"], container);
    let found = sim.get(&format!("{path}?filter=EXAMPLE.COM&order=-name")).await.json;
    assert_eq!(found["count"], 8);
    let names: Vec<_> =
        found["entities"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted_by(|a, b| a >= b), "{names:?}");
    assert_eq!(sim.get("/api/v2/hosting/containers/1/virtualhosts/").await.status, 404);
}

#[tokio::test]
async fn a_site_is_created_and_builds() {
    let sim = Sim::start().await;
    let (_, container) = a_site(&sim).await;
    let body = json!({"container_id": container, "name": "new.example.com", "engine": "python", "charset": "utf-8",
                      "aliases": ["a.example.com"], "dbms_type": "postgres", "engine_version": "3.12"});
    let made = sim.json("POST", SITES, body).await;
    assert_eq!((made.status, made.json["state"].as_str()), (200, Some("Building")), "{}", made.text);
    assert_eq!((&made.json["certificate_id"], &made.json["aliases"]), (&json!(0), &json!(["a.example.com"])));
    sim.pass(4);
    let path = format!("{SITES}{}/", made.json["id"]);
    assert_eq!(sim.get(&path).await.json["state"], "Active");
    assert_eq!(sim.get(&format!("{DBMS}{}/databases/", made.json["id"])).await.json["count"], 1);
    let refused = sim
        .json(
            "POST",
            SITES,
            json!({"container_id": container, "name": "x", "engine": "cobol", "charset": "latin-1"}),
        )
        .await;
    assert_eq!(
        (refused.status, wrong_fields(&refused)),
        (400, vec!["charset".to_owned(), "engine".to_owned()])
    );
    let lost = sim.json("POST", SITES, json!({"container_id": 1, "name": "x", "engine": "php"})).await;
    assert_eq!(lost.status, 404);
}

#[tokio::test]
async fn a_site_is_created_from_an_image() {
    let sim = Sim::start().await;
    let (_, container) = a_site(&sim).await;
    let path = format!("{SITES}install/");
    for (image, engine) in
        [("django_postgres", "python"), ("wordpress", "php"), ("rails_mysql", "ruby"), ("static", "static")]
    {
        let made = sim
            .json("POST", &path, json!({"container_id": container, "name": "i.example.com", "image": image}))
            .await;
        assert_eq!((made.status, made.json["engine"].as_str()), (200, Some(engine)), "{image}");
    }
    let refused =
        sim.json("POST", &path, json!({"container_id": container, "name": "x", "image": "plan9"})).await;
    assert_eq!((refused.status, wrong_fields(&refused)), (400, vec!["image".to_owned()]));
    let lost = sim.json("POST", &path, json!({"container_id": 1, "name": "x", "image": "drupal"})).await;
    assert_eq!(lost.status, 404);
}

#[tokio::test]
async fn a_site_is_read() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let read = sim.get(&format!("{SITES}{site}/")).await;
    assert_eq!((read.status, read.json["state"].as_str()), (200, Some("Active")));
    assert_eq!(sim.get(&format!("{SITES}1/")).await.status, 404);
}

#[tokio::test]
async fn a_sites_settings_are_updated() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let path = format!("{SITES}{site}/");
    let body = json!({"comment": "ours", "cache_static": 30, "charset": "windows-1251", "foreigners_access_forbidden": true});
    let changed = sim.json("PUT", &path, body).await;
    assert_eq!((changed.status, changed.json["state"].as_str()), (200, Some("Updating")));
    sim.pass(4);
    let read = sim.get(&path).await.json;
    assert_eq!(
        (&read["comment"], &read["cache_static"], &read["state"]),
        (&json!("ours"), &json!(30), &json!("Active"))
    );
    let refused = sim.json("PUT", &path, json!({"charset": "koi8-r", "aliases": "a"})).await;
    assert_eq!(
        (refused.status, wrong_fields(&refused)),
        (400, vec!["aliases".to_owned(), "charset".to_owned()])
    );
}

#[tokio::test]
async fn a_site_is_restarted() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let path = format!("{SITES}{site}/");
    let restarted = sim.bare("PUT", &format!("{path}restart/")).await;
    assert_eq!((restarted.status, restarted.json["state"].as_str()), (200, Some("Restarting")));
    sim.pass(4);
    assert_eq!(sim.get(&path).await.json["state"], "Active");
    sim.obey("set_site", json!({"site": site, "state": "Stopped"}));
    assert_eq!(sim.bare("PUT", &format!("{path}restart/")).await.json["state"], "Starting");
}

#[tokio::test]
async fn a_site_is_deleted() {
    let sim = Sim::start().await;
    let (site, container) = a_site(&sim).await;
    assert_eq!(sim.bare("DELETE", &format!("{SITES}{site}/")).await.status, 200);
    assert_eq!(sim.get(&format!("{SITES}{site}/")).await.status, 404);
    let left = sim.get(&format!("{CONTAINERS}{container}/")).await.json;
    assert!(left["virtualhosts"].as_array().unwrap().iter().all(|s| s["id"] != site));
    assert_eq!(sim.bare("DELETE", &format!("{SITES}{site}/")).await.status, 404);
}

#[tokio::test]
async fn a_certificate_is_ordered() {
    let sim = Sim::with(|_| {}, "[[site]]\nname = 'a.example.com'\n[[site]]\nname = 'b.example.com'\n[[site]]\nname = 'c.example.com'\n").await;
    let site = 2003;
    let path = format!("{SITES}{site}/");
    assert_eq!(sim.get(&path).await.json["certificate_id"], 0);
    let ordered = sim.bare("PUT", &format!("{path}order-certificate/")).await;
    assert_eq!(ordered.status, 200);
    assert_ne!(sim.get(&path).await.json["certificate_id"], 0);
    assert_eq!(sim.bare("PUT", &format!("{SITES}1/order-certificate/")).await.status, 404);
}

#[tokio::test]
async fn a_sites_engine_versions_are_listed() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let versions = sim.get(&format!("{SITES}{site}/engine-versions/")).await;
    assert_eq!(versions.status, 200);
    assert!(versions.json["versions"].as_array().unwrap().iter().all(Value::is_string));
    assert_eq!(sim.get(&format!("{SITES}1/engine-versions/")).await.status, 404);
}

#[tokio::test]
async fn a_sites_engine_settings_are_updated() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let path = format!("{SITES}{site}/engine-settings/");
    let body = json!({"engine_version": "8.2", "engine_directives": ["a=b"], "engine_application": "app", "num_workers": 24});
    let changed = sim.json("PUT", &path, body).await;
    assert_eq!((changed.status, changed.json["num_workers"].as_i64()), (200, Some(24)));
    assert_eq!(sim.get(&format!("{SITES}{site}/")).await.json["engine_directives"], json!(["a=b"]));
    for workers in [0, 25] {
        let refused = sim.json("PUT", &path, json!({"num_workers": workers})).await;
        assert_eq!((refused.status, wrong_fields(&refused)), (400, vec!["num_workers".to_owned()]));
    }
}

fn a_job(site: u64) -> Value {
    json!({"virtualhost_id": site, "minutes": "*/5", "hours": "*", "days": "*", "months": "*", "weekdays": "1-5",
           "command": "true", "comment": "why"})
}

#[tokio::test]
async fn cron_jobs_of_a_site_are_listed() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let page = sim.get(&format!("{SITES}{site}/cron/?limit=100&order=id&filter=cron.php")).await;
    assert_eq!((page.status, page.json["count"].as_i64()), (200, Some(1)));
    assert_eq!(page.json["entities"][0]["virtualhost_id"], site);
    assert_eq!(sim.get(&format!("{SITES}1/cron/")).await.status, 404);
}

#[tokio::test]
async fn a_cron_job_is_created() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let made = sim.json("POST", CRON, a_job(site)).await;
    assert_eq!((made.status, made.json["weekdays"].as_str()), (200, Some("1-5")));
    assert_eq!(sim.get(&format!("{SITES}{site}/cron/")).await.json["count"], 2);
    let refused = sim.json("POST", CRON, json!({"virtualhost_id": site, "minutes": "*"})).await;
    assert_eq!(refused.status, 400);
    assert_eq!(wrong_fields(&refused), ["command", "days", "hours", "months", "weekdays"]);
    assert_eq!(sim.json("POST", CRON, a_job(1)).await.status, 404);
}

#[tokio::test]
async fn a_cron_job_is_read() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let job = sim.first(&format!("{SITES}{site}/cron/")).await;
    let read = sim.get(&format!("{CRON}{}/", job["id"])).await;
    assert_eq!((read.status, read.json), (200, job));
    assert_eq!(sim.get(&format!("{CRON}1/")).await.status, 404);
}

#[tokio::test]
async fn a_cron_job_is_updated() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let job = sim.first(&format!("{SITES}{site}/cron/")).await;
    let path = format!("{CRON}{}/", job["id"]);
    let mut body = a_job(site);
    body["hours"] = "3".into();
    let changed = sim.json("PUT", &path, body.clone()).await;
    assert_eq!((changed.status, changed.json["hours"].as_str()), (200, Some("3")));
    assert_eq!(sim.json("PUT", &path, json!({"hours": "3"})).await.status, 400);
    assert_eq!(sim.json("PUT", &format!("{CRON}1/"), body).await.status, 404);
}

#[tokio::test]
async fn a_cron_job_is_deleted_and_shown_once_more() {
    let sim = Sim::start().await;
    let (site, _) = a_site(&sim).await;
    let job = sim.first(&format!("{SITES}{site}/cron/")).await;
    let path = format!("{CRON}{}/", job["id"]);
    let gone = sim.bare("DELETE", &path).await;
    assert_eq!((gone.status, gone.json), (200, job));
    assert_eq!(sim.get(&path).await.status, 404);
}
