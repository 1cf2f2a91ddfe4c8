//! The files that secrets came from, checked from time to time: a change of one is a reason to reload. Reads none.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::Settings;
use crate::failpoint;
use crate::file_stamp::FileStamp;

/// They are checked this often.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// The files as they were when read.
pub(super) struct SecretFiles {
    paths: Vec<PathBuf>,
    known: Vec<FileStamp>,
}

impl SecretFiles {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut files = Self { paths: settings.secret_files.clone(), known: Vec::new() };
        files.taken();
        files
    }

    /// Resolves once one of them has changed, and is the same at the next check: who writes a file may
    /// not be done with it at first sight.
    pub(super) async fn changed(&self) {
        let mut before = None;
        loop {
            tokio::time::sleep(CHECK_EVERY / failpoint::haste()).await;
            let now = self.check();
            if now != self.known && before.as_ref() == Some(&now) {
                return;
            }
            before = Some(now);
        }
    }

    /// They are known as they are now, whatever came of it.
    pub(super) fn taken(&mut self) {
        self.known = self.check();
    }

    fn check(&self) -> Vec<FileStamp> {
        self.paths.iter().map(|path| FileStamp::now(path)).collect()
    }
}
