//! What the simulator's tests share: a server with a clock in the test's hand, and plain HTTP to it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, dead_code)]

use chrono::{DateTime, TimeDelta, Utc};
use hostwatch::sim::{Args, Command, Simulator};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// No wait is longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub location: Option<String>,
    pub retry_after: Option<String>,
    pub text: String,
    pub json: Value,
}

pub struct Sim {
    pub simulator: Arc<Simulator>,
    pub base: String,
    clock: Arc<Mutex<DateTime<Utc>>>,
    client: reqwest::Client,
    stop: CancellationToken,
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The credentials of a path's group, as section 5 says.
fn authorization(path: &str) -> &'static str {
    if path.contains("/hosting/") {
        "Bearer hosting-token"
    } else if path.contains("/cvds/") {
        "Token vm-api-key"
    } else {
        // billing-user:billing-password
        "Basic YmlsbGluZy11c2VyOmJpbGxpbmctcGFzc3dvcmQ="
    }
}

impl Sim {
    pub async fn start() -> Sim {
        Sim::with(|_| {}, "").await
    }

    pub async fn with(change: impl FnOnce(&mut Args), scenario: &str) -> Sim {
        let mut args = Args { control: true, ..Args::default() };
        change(&mut args);
        let start = "2026-03-10T09:00:00Z".parse::<DateTime<Utc>>().unwrap();
        let clock = Arc::new(Mutex::new(start));
        let hand = Arc::clone(&clock);
        let now = Arc::new(move || *hand.lock().unwrap());
        let simulator = Arc::new(Simulator::from_scenario(&args, scenario, now).unwrap());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(Arc::clone(&simulator).serve(listener, stop.clone()));
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Sim { simulator, base, clock, client, stop }
    }

    /// Lets time pass.
    pub fn pass(&self, seconds: i64) {
        *self.clock.lock().unwrap() += TimeDelta::seconds(seconds);
    }

    pub fn now(&self) -> DateTime<Utc> {
        *self.clock.lock().unwrap()
    }

    pub fn obey(&self, name: &str, fields: Value) {
        let mut fields = fields;
        fields["do"] = name.into();
        let command: Command = serde_json::from_value(fields).unwrap();
        self.simulator.control(&command).unwrap();
    }

    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, url).header("accept", "application/json")
    }

    pub async fn sent(&self, request: reqwest::RequestBuilder) -> Reply {
        let response = request.send().await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
        let (status, location, retry_after) =
            (response.status().as_u16(), header("location"), header("retry-after"));
        let text = response.text().await.unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status, location, retry_after, text, json }
    }

    pub async fn bare(&self, method: &str, path: &str) -> Reply {
        self.sent(self.request(method, path).header("authorization", authorization(path))).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.bare("GET", path).await
    }

    /// With a JSON body, as the hosting endpoints take it.
    pub async fn json(&self, method: &str, path: &str, body: Value) -> Reply {
        let request = self.request(method, path).header("authorization", authorization(path));
        self.sent(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// With form fields, as the VM endpoints take them.
    pub async fn form(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.request(method, path).header("authorization", authorization(path));
        self.sent(request.header("content-type", "application/x-www-form-urlencoded").body(body)).await
    }

    /// The first row of a list.
    pub async fn first(&self, path: &str) -> Value {
        let page = self.get(path).await.json;
        let rows = ["entities", "results", "objects"].iter().find_map(|name| page.get(*name));
        rows.and_then(|rows| rows.get(0)).cloned().unwrap_or_else(|| panic!("{path} lists nothing: {page}"))
    }
}

/// The names of the fields an error object is about.
pub fn wrong_fields(reply: &Reply) -> Vec<String> {
    let errors = reply.json["errors"].as_object();
    errors.map(|e| e.keys().cloned().collect()).unwrap_or_default()
}
