//! The parts that the simulator's tests share: a server with a clock in the test's hand, and plain HTTP to it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, dead_code)]

use chrono::{DateTime, TimeDelta, Utc};
use hostwatch_sim::{Args, Command, Simulator};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The longest wait.
pub const PATIENCE: Duration = Duration::from_secs(60);

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

/// A client of its own, without a proxy.
pub fn http_client() -> reqwest::ClientBuilder {
    // Of several calls the first one installs it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}

/// The credentials of a path's group, by section 5.
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
        let client =
            http_client().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none()).build().unwrap();
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

    /// A request with a body: JSON, as the hosting endpoints take it, or form fields, as the VM endpoints do.
    async fn body(&self, method: &str, path: &str, body: String) -> Reply {
        let kind =
            if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
        let request = self.request(method, path).header("authorization", authorization(path));
        self.sent(request.header("content-type", kind).body(body)).await
    }

    pub async fn json(&self, method: &str, path: &str, body: Value) -> Reply {
        self.body(method, path, body.to_string()).await
    }

    pub async fn form(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.body(method, path, body).await
    }

    /// The first row of a list.
    pub async fn first(&self, path: &str) -> Value {
        let page = self.get(path).await.json;
        let rows = ["entities", "results", "objects"].iter().find_map(|name| page.get(*name));
        rows.and_then(|rows| rows.get(0)).cloned().unwrap_or_else(|| panic!("{path} lists nothing: {page}"))
    }
}

/// The names of the fields in an error object.
pub fn wrong_fields(reply: &Reply) -> Vec<String> {
    let errors = reply.json["errors"].as_object();
    errors.map(|e| e.keys().cloned().collect()).unwrap_or_default()
}

const SHORT: [(&str, &str); 8] = [
    ("vms/", "/api/cvds/v1/vms/"),
    ("keys/", "/api/cvds/v1/ssh-keys/"),
    ("ips/", "/api/cvds/v1/ips/"),
    ("containers/", "/api/v1/hosting/containers/"),
    ("dbms/", "/api/v1/hosting/dbms/"),
    ("of/", "/api/v2/hosting/containers/"),
    ("sites/", "/api/v2/hosting/virtualhosts/"),
    ("cron/", "/api/v2/hosting/cron/"),
];

fn full(path: &str) -> String {
    let long = SHORT.iter().find_map(|(short, long)| Some(format!("{long}{}", path.strip_prefix(short)?)));
    long.unwrap_or_else(|| path.to_owned())
}

/// Plays a script. Each part below a heading has an account of its own; `[vms=45]` in a heading changes it.
///
/// A line is `METHOD PATH [BODY] => STATUS [@LOCATION] [!FIELDS | JSON]`, `seen PATH STATE...` or `pass SECONDS`.
/// `!FIELDS` are the fields that a refusal names. JSON is a part of the answer; a key may be a path, such as
/// `entities/0/id`. A number is the length of a list, "*" is not null, "+" is above 0, "-" is absent. "$x" keeps a
/// value, for which `$x` stands in later lines.
pub async fn play(script: &str) {
    for part in script.split("\n## ").skip(1) {
        let (heading, lines) = part.split_once('\n').unwrap();
        let sim = Sim::with(|args| change(args, heading), "").await;
        let mut known = BTreeMap::<String, String>::new();
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let line = known.iter().fold(line.replace("BASE", &sim.base), |line, (name, value)| {
                line.replace(&format!("${name}"), value)
            });
            if let Err(why) = sim.step(&line, &mut known).await {
                panic!("{heading}: {line}: {why}");
            }
        }
    }
}

fn change(args: &mut Args, heading: &str) {
    let Some((_, words)) = heading.split_once('[') else { return };
    for word in words.trim_end_matches(']').split(' ') {
        let (name, number) = word.split_once('=').unwrap_or((word, "0"));
        let number = number.parse().unwrap();
        match name {
            "vms" => args.vms = Some(number),
            "containers" => args.containers = Some(number),
            "sites" => args.sites = Some(number),
            "page" => args.vm_page_size = u32::try_from(number).unwrap(),
            "unlimited" => args.unlimited = true,
            _ => panic!("{heading}"),
        }
    }
}

impl Sim {
    async fn step(&self, line: &str, known: &mut BTreeMap<String, String>) -> Result<(), String> {
        let mut words = line.splitn(3, ' ');
        let (method, path, rest) = (words.next().unwrap(), words.next().unwrap(), words.next());
        match method {
            "pass" => self.pass(path.parse().unwrap()),
            "seen" => self.seen(&full(path), rest.unwrap()).await?,
            _ => {
                let (request, answer) = line.split_once(" => ").unwrap();
                let reply = match request.splitn(3, ' ').nth(2) {
                    Some(body) => self.body(method, &full(path), body.to_owned()).await,
                    None => self.bare(method, &full(path)).await,
                };
                self.answers(&reply, answer, known).map_err(|why| format!("{why}: {reply:?}"))?;
            }
        }
        Ok(())
    }

    /// Looks each second until the last state is there.
    async fn seen(&self, path: &str, states: &str) -> Result<(), String> {
        let mut seen: Vec<String> = Vec::new();
        for _ in 0..20 {
            seen.push(self.get(path).await.json["state"].as_str().unwrap().to_owned());
            seen.dedup();
            if states.ends_with(seen.last().unwrap().as_str()) {
                break;
            }
            self.pass(1);
        }
        if seen.join(" ") == states { Ok(()) } else { Err(format!("{seen:?}")) }
    }

    fn answers(
        &self,
        reply: &Reply,
        wanted: &str,
        known: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        let (status, mut rest) = wanted.split_once(' ').unwrap_or((wanted, ""));
        if reply.status.to_string() != status {
            return Err("another status".to_owned());
        }
        if let Some(there) = rest.strip_prefix('@') {
            let (there, after) = there.split_once(' ').unwrap_or((there, ""));
            rest = after;
            let there =
                if there.starts_with("http") { there.to_owned() } else { self.base.clone() + &full(there) };
            if reply.location != Some(there) {
                return Err("another place".to_owned());
            }
        }
        let is_right = match rest.strip_prefix('!') {
            Some(fields) => wrong_fields(reply).join(" ") == fields,
            None => rest.is_empty() || has(Some(&reply.json), &serde_json::from_str(rest).unwrap(), known),
        };
        if is_right { Ok(()) } else { Err("another answer".to_owned()) }
    }
}

fn has(found: Option<&Value>, wanted: &Value, known: &mut BTreeMap<String, String>) -> bool {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (found, wanted) {
        (None, wanted) => wanted == "-",
        (Some(found), Value::String(wanted)) => match wanted.strip_prefix('$') {
            Some(name) => known.insert(name.to_owned(), text(found)).is_none(),
            None if wanted == "*" => !found.is_null(),
            None if wanted == "+" => found.as_i64() > Some(0),
            None => text(found) == *wanted,
        },
        (Some(Value::Array(found)), Value::Number(wanted)) => wanted.as_u64() == Some(found.len() as u64),
        (Some(Value::Array(found)), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| has(Some(f), w, known))
        }
        (Some(found), Value::Object(wanted)) => {
            wanted.iter().all(|(path, wanted)| has(found.pointer(&format!("/{path}")), wanted, known))
        }
        (Some(found), wanted) => found == wanted,
    }
}
