//! What runs in a daemon, and which task it was that returned.

use tokio::task::JoinSet;

/// Everything that runs.
pub(super) type Tasks = JoinSet<Ended>;

/// A task that returned.
pub(super) enum Ended {
    /// Which runs until the daemon stops.
    Part(&'static str),
    /// An account's collectors, which a reload may end.
    Collectors,
}
