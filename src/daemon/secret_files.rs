//! The files that secrets came from, looked at from time to time: a change of one is a reason to reload. Reads none.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::Settings;
use crate::failpoint;
use crate::http::web_config::Seen;

/// They are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The files as they were when read.
pub(super) struct SecretFiles {
    paths: Vec<PathBuf>,
    known: Vec<Seen>,
}

impl SecretFiles {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut files = Self { paths: settings.secret_files.clone(), known: Vec::new() };
        files.taken();
        files
    }

    /// Resolves once one of them is another than it was, and stays so for a look: who writes a file may
    /// not be done with it at first sight.
    pub(super) async fn changed(&self) {
        let mut before = None;
        loop {
            tokio::time::sleep(LOOK_EVERY / failpoint::haste()).await;
            let now = self.look();
            if now != self.known && before.as_ref() == Some(&now) {
                return;
            }
            before = Some(now);
        }
    }

    /// They are known as they are now, whatever came of it.
    pub(super) fn taken(&mut self) {
        self.known = self.look();
    }

    fn look(&self) -> Vec<Seen> {
        self.paths.iter().map(|path| Seen::now(path)).collect()
    }
}
