//! The web server: metrics, status page, JSON, health. It shows the state that others publish, decides nothing
//! and asks the provider nothing. `routes` lists the endpoints at its top.

mod accounts;
mod body;
mod cards;
mod guard;
mod head;
mod hosts;
mod language;
mod listen_address;
mod listener;
mod middleware;
mod negotiate;
mod page;
mod past;
mod past_pages;
mod query;
mod response;
mod routes;
mod server;
pub(crate) mod web_config;

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::alert::{History, Past};
use crate::clock::Clock;
use crate::metrics;
use crate::model::Snapshot;
use crate::state::Shared;
use crate::view::{About, Alerting};

pub(crate) use guard::Guard;
pub(crate) use hosts::{AllowedHosts, WebSettings, domain};
pub(crate) use listen_address::{DEFAULT_LISTEN_ADDRESS, ListenAddress};
pub(crate) use listener::Listener;
pub(crate) use routes::{RELOAD_AT_MOST, is_taken, reload};
pub(crate) use server::{ConnectionLimits, serve};
pub(crate) use web_config::WebConfig;

/// A request to reload the configuration. The answer says whether the new one is in force, or why not.
pub(crate) type Reload = oneshot::Sender<Result<(), String>>;

/// The pending answer to a command; `None` if the request is not understood.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// Answers the commands beside the daemon, on the daemon's own socket.
pub(crate) trait Control: Send + Sync {
    /// JSON in, JSON out.
    fn answer<'a>(&'a self, request: &'a str) -> Answering<'a>;
}

/// Keeps the history. The store is in another layer.
pub(crate) trait Remember: Send + Sync {
    /// Reads the history. It may wait for the store, so it must run where waiting is allowed.
    ///
    /// # Errors
    /// If it could not be read.
    fn history(&self, past: &Past) -> Result<History, String>;
}

/// Everything that the server shows, and its way to ask for a reload.
pub(crate) struct Context {
    pub snapshot: Shared<Snapshot>,
    /// The metrics of the provider's data, compressed.
    pub page: Shared<metrics::Page>,
    pub own: Arc<metrics::Own>,
    /// Incidents and mails, as the pipeline published them last.
    pub alerting: Shared<Alerting>,
    /// Past incidents.
    pub memory: Arc<dyn Remember>,
    /// Answers commands, only on listeners without a guard.
    pub control: Arc<dyn Control>,
    /// The path of the metrics, with a leading slash.
    pub telemetry_path: String,
    /// The domain in the ids of calendar events.
    pub calendar_domain: Shared<String>,
    /// The names under which the server may be asked.
    pub hosts: Shared<AllowedHosts>,
    /// Whether `POST /-/reload` is allowed.
    pub lifecycle: bool,
    pub reload: mpsc::Sender<Reload>,
    pub about: About,
    /// The clock.
    pub clock: Clock,
}
