//! What runs in a daemon, and how a task says which it was when it returns.

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
