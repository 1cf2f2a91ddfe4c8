//! The state that several loops of the daemon share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::carrier::Carrier;
use super::heartbeat::Heartbeat;
use super::liveness::Liveness;
use super::pipeline::Message;
use super::signals::PollRequests;
use crate::clock::Clock;
use crate::http::AllowedHosts;
use crate::mail::Way;
use crate::metrics::{Own, Page};
use crate::model::Snapshot;
use crate::state::Shared;
use crate::store::Store;
use crate::view::Alerting;

/// The store, shared by the pipeline and the page. Each call on it is short. If a thread panics while it holds
/// the lock, its transaction is rolled back.
pub(super) type SharedStore = Arc<Mutex<Store>>;

/// The state that several loops share. A reload replaces a part of it.
pub(super) struct Common {
    pub(super) own: Arc<Own>,
    pub(super) store_path: PathBuf,
    pub(super) alerting: Shared<Alerting>,
    /// The time since when a mail is owed while no mail arrived anywhere, for the heartbeat.
    pub(super) undelivered_since: Shared<Option<DateTime<Utc>>>,
    pub(super) store: SharedStore,
    pub(super) snapshot: Shared<Snapshot>,
    pub(super) page: Shared<Page>,
    pub(super) liveness: Arc<Liveness>,
    pub(super) polls: PollRequests,
    pub(super) heartbeat: Shared<Option<Heartbeat>>,
    pub(super) calendar_domain: Shared<String>,
    pub(super) hosts: Shared<AllowedHosts>,
    pub(super) clock: Clock,
    /// Notified when the provider refuses credentials.
    pub(super) refusals: Arc<Notify>,
    pub(super) carriers: BTreeMap<Way, Shared<Carrier>>,
    pub(super) messages: mpsc::Sender<Message>,
}
