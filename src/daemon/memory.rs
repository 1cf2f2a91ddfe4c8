//! What the page asks of the store: the incidents of the past. The store is locked for one reading.

use super::publish::SharedStore;
use crate::alert::{History, Past};
use crate::http::Remember;

/// The store, as the page may see it.
#[derive(Debug)]
pub(super) struct PastInStore(pub(super) SharedStore);

impl Remember for PastInStore {
    fn history(&self, past: &Past) -> Result<History, String> {
        self.0.lock().history(past).map_err(|error| error.to_string())
    }
}
