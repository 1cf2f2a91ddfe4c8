//! Who is asked for the past. The store is another layer's.

use crate::alert::{History, Past};

/// Whoever keeps the history.
pub(crate) trait Remember: std::fmt::Debug + Send + Sync {
    /// May wait for the store: not to be called where nothing may wait.
    ///
    /// # Errors
    /// Why it could not be read.
    fn history(&self, past: &Past) -> Result<History, String>;
}
