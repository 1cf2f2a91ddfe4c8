//! A web configuration that is reloaded when one of its files changes. Requests check the files, at most once a
//! second. A configuration with errors is not put in force.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::WebConfig;
use crate::config_error::ConfigErrors;
use crate::file_stamp::FileStamp;
use crate::state::Shared;

/// The time between two checks of the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The configuration in force.
#[derive(Debug)]
pub(in crate::http) struct ReloadingConfig {
    path: PathBuf,
    config: Shared<WebConfig>,
    look: Mutex<Look>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    /// The reason why the last reload failed, so that it is logged once. Each check tries again.
    told: Option<String>,
}

impl ReloadingConfig {
    /// Puts a configuration in force that was read from `path`.
    pub(crate) fn new(path: &Path, config: WebConfig) -> Self {
        let look = Look { at: Instant::now(), told: None };
        Self { path: path.to_owned(), config: Shared::new(config), look: Mutex::new(look) }
    }

    /// The configuration in force, after a due reload. Requests that come during a reload get the old one.
    pub(crate) async fn get(&self) -> Arc<WebConfig> {
        if let Ok(mut look) = self.look.try_lock()
            && look.at.elapsed() >= LOOK_EVERY
        {
            self.renew(&mut look).await;
            look.at = Instant::now();
        }
        self.config.get()
    }

    async fn renew(&self, look: &mut Look) {
        let old = self.config.get();
        let (path, current, again) = (self.path.clone(), Arc::clone(&old), look.told.is_some());
        let looked = tokio::task::spawn_blocking(move || {
            (again || current.files.iter().any(FileStamp::has_changed)).then(|| {
                WebConfig::read(&path).map_err(|errors: ConfigErrors| errors.to_string().replace('\n', "; "))
            })
        });
        let Ok(Some(read)) = looked.await else { return };
        // A reload must not switch between TLS and plain connections: clients are configured for one of them,
        // and encryption must not vanish silently.
        let read = read.and_then(|new| match new.has_tls() == old.has_tls() {
            true => Ok(new),
            false => Err("TLS was turned on or off; that takes a restart".to_owned()),
        });
        match read {
            Ok(new) => {
                tracing::info!(file = %self.path.display(), "web configuration read anew");
                for note in new.notes() {
                    tracing::warn!("{}: {note}", self.path.display());
                }
                self.config.set(new);
                old.replaced.cancel();
                look.told = None;
            }
            Err(error) if look.told.as_ref() != Some(&error) => {
                tracing::error!(error, "web configuration not taken over; the old one stays");
                look.told = Some(error);
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn headers(config: &WebConfig) -> Vec<&str> {
        config.headers.iter().map(|(_, value)| value.to_str().unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_seen_within_a_second_and_a_wrong_one_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("web.yml");
        let write = |value: &str| {
            fs::write(&path, format!("http_server_config: {{headers: {{X-XSS-Protection: '{value}'}}}}"))
                .unwrap();
        };
        write("1");
        let config = ReloadingConfig::new(&path, WebConfig::read(&path).unwrap());
        let first = config.get().await;
        write("two");
        assert_eq!(headers(&*config.get().await), ["1"], "nobody looks again so soon");
        assert!(!first.replaced.is_cancelled());

        tokio::time::advance(LOOK_EVERY).await;
        let second = config.get().await;
        assert_eq!(headers(&second), ["two"]);
        assert!(first.replaced.is_cancelled() && !second.replaced.is_cancelled());

        tokio::time::advance(LOOK_EVERY).await;
        assert!(Arc::ptr_eq(&config.get().await, &second), "nothing changed");

        fs::write(&path, "nonsense: true").unwrap();
        tokio::time::advance(LOOK_EVERY).await;
        assert!(Arc::ptr_eq(&config.get().await, &second), "the old one stays");
        fs::remove_file(&path).unwrap();
        tokio::time::advance(LOOK_EVERY).await;
        assert!(Arc::ptr_eq(&config.get().await, &second), "the old one stays");
        write("three");
        tokio::time::advance(LOOK_EVERY).await;
        assert_eq!(headers(&*config.get().await), ["three"]);
    }
}
