//! The provider, simulated over real HTTP: every operation of the interface, its money and its time, and its
//! faults. It is a crate of its own that imports nothing from hostwatch, so that it cannot share a mistake with
//! the client.

mod accept;
mod answer;
mod auth;
mod body;
pub mod control;
pub mod faults;
mod limits;
pub mod mailbox;
mod names;
mod options;
mod routes;
mod scenario;
mod serve;
mod time;
mod tokens;
mod validate;
mod wire;
mod world;

use answer::{Answer, Outcome, Refusal};
use auth::Group;
use chrono::{DateTime, Utc};
pub use control::Command;
pub use faults::{Fault, Kind as FaultKind};
pub use options::Args;
use parking_lot::{Mutex, MutexGuard};
use scenario::Scenario;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
pub use time::Span;
pub use world::World;

/// The clock of the simulator, which its caller provides.
pub type Now = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The reason why the simulator did not start, or a command failed.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("cannot read scenario {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("scenario: {0}")]
    Scenario(String),
    #[error("command: {0}")]
    Command(String),
    #[error("no such {what}: {name}")]
    Unknown { what: &'static str, name: String },
}

impl SimError {
    fn unknown(what: &'static str, name: &str) -> SimError {
        SimError::Unknown { what, name: name.to_owned() }
    }
}

/// A request in the log: whether it had credentials, but never the credentials.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub at: DateTime<Utc>,
    pub method: String,
    pub path: String,
    group: Group,
    pub authorization: bool,
    /// 0 if the connection was closed instead
    pub status: u16,
}

/// The number of requests in the log.
const MOST_ENTRIES: usize = 10_000;

/// The simulated provider of one account.
pub struct Simulator {
    args: Args,
    now: Now,
    world: Mutex<World>,
    log: Mutex<VecDeque<Entry>>,
}

impl Simulator {
    /// The account of the flags, and of the scenario file in them.
    pub fn new(args: &Args, now: Now) -> Result<Simulator, SimError> {
        match &args.scenario {
            None => Simulator::build(args, Scenario::default(), now),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| SimError::Read { path: path.display().to_string(), source })?;
                Simulator::from_scenario(args, &text, now)
            }
        }
    }

    /// The account of a scenario. Flags override the scenario.
    pub fn from_scenario(args: &Args, scenario_toml: &str, now: Now) -> Result<Simulator, SimError> {
        Simulator::build(args, Scenario::parse(scenario_toml)?, now)
    }

    fn build(args: &Args, scenario: Scenario, now: Now) -> Result<Simulator, SimError> {
        let world = scenario.build(args, &now)?;
        Ok(Simulator { args: args.clone(), now, world: Mutex::new(world), log: Mutex::default() })
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock()
    }

    fn note(&self, entry: Entry) {
        tracing::debug!(method = %entry.method, path = %entry.path, status = entry.status, "request");
        let mut log = self.log.lock();
        if log.len() == MOST_ENTRIES {
            log.pop_front();
        }
        log.push_back(entry);
    }

    /// The requests so far, the oldest first (the last 10,000).
    pub fn requests(&self) -> Vec<Entry> {
        self.log.lock().iter().cloned().collect()
    }

    /// Changes the account, as `POST /_sim/…` does.
    pub fn control(&self, command: &Command) -> Result<(), SimError> {
        let mut world = self.world();
        world.tick((self.now)());
        world.obey(command)
    }

    /// `/_sim/…` (docs/provider.md, "Control").
    fn control_request(&self, method: &str, path: &str, body: &[u8]) -> Outcome {
        let name = path.trim_start_matches("/_sim/").trim_end_matches('/');
        match (method, name) {
            ("GET", "state") => Ok(Answer::json(200, &self.state())),
            ("GET", "log") => Ok(Answer::json(200, &self.requests())),
            ("DELETE", "log") => {
                self.log.lock().clear();
                Ok(Answer::empty(204))
            }
            ("POST", name) => {
                let done = Command::parse(name, body).and_then(|command| self.control(&command));
                done.map(|()| Answer::empty(204)).map_err(|e| Refusal::new(400, "command", e.to_string()))
            }
            _ => Err(Refusal::not_found("control")),
        }
    }

    fn state(&self) -> serde_json::Value {
        let mut world = self.world();
        world.tick((self.now)());
        let (mut vms, mut sites) = (BTreeMap::<_, usize>::new(), BTreeMap::<_, usize>::new());
        for vm in world.vms.rows() {
            *vms.entry(&*vm.life.state).or_default() += 1;
        }
        for site in world.sites.rows() {
            *sites.entry(&*site.life.state).or_default() += 1;
        }
        let mut containers = BTreeMap::<_, usize>::new();
        for container in world.containers.rows() {
            *containers.entry(container.state.0).or_default() += 1;
        }
        serde_json::json!({
            "now": world.now(),
            "time_zone": world.zone.to_string(),
            "balance": format!("{:.2}", world.ledger.balance),
            "cut_off": world.cut_off.is_some(),
            "orders": world.ledger.orders.len(),
            "charges": world.ledger.charges.len(),
            "vms": vms,
            "sites": sites,
            "containers": containers,
        })
    }
}
