//! What commands beside the daemon ask over its own socket. Only carries it: what is asked and answered is the daemon's.

use std::fmt::Debug;
use std::pin::Pin;

/// The answer, once it is there; `None` where the request is not understood.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// Whoever answers commands.
pub(crate) trait Control: Debug + Send + Sync {
    /// JSON in, JSON out.
    fn answer<'a>(&'a self, request: &'a str) -> Answering<'a>;
}
