//! `hostwatch check-config`: checks the configuration, and one of the web server.

use std::path::Path;

use anyhow::Result;

use super::doctor::machine::unwritable;
use super::output::{print, warn};
use crate::config::{self, Environment, Settings};
use crate::config_error::ConfigErrors;
use crate::http::WebConfig;
use crate::view::words;

pub(super) fn run(file: &Path, web_config_file: Option<&Path>) -> Result<()> {
    let settings = config::load(Some(file), &Environment::of_process());
    let web = web_config_file.map(|file| (file, WebConfig::read(file)));
    let wrong =
        settings.as_ref().err().into_iter().chain(web.iter().filter_map(|(_, web)| web.as_ref().err()));
    let wrong: Vec<_> = wrong.flat_map(|errors| errors.0.iter().cloned()).collect();
    if let (Ok(settings), true) = (&settings, wrong.is_empty()) {
        return good(file, settings, web.and_then(|(file, web)| Some((file, web.ok()?))));
    }
    Err(ConfigErrors(wrong).into())
}

fn good(file: &Path, settings: &Settings, web: Option<(&Path, WebConfig)>) -> Result<()> {
    match unwritable(&settings.store_path) {
        Some(error) if error.is_refusal() => return Err(error.into()),
        // The service's user may be another one.
        Some(error) => warn(&error.to_string()),
        None => {}
    }
    for warning in &settings.warnings {
        warn(warning);
    }
    let accounts = words::count(settings.accounts.len(), "account", "accounts");
    let mails = match (&settings.email, settings.mails) {
        (Some(_), _) => "mails on",
        (None, true) => "mails on, without a mail server",
        (None, false) => "mails off: no [email]",
    };
    print(&format!("{}: OK; {accounts}, {mails}\n", file.display()))?;
    let Some((file, web)) = web else { return Ok(()) };
    for note in &web.notes {
        warn(&format!("{}: {note}", file.display()));
    }
    let switch = |on| if on { "on" } else { "off" };
    let (tls, passwords) = (switch(web.has_tls()), switch(web.has_users()));
    print(&format!("{}: OK; TLS {tls}, passwords {passwords}\n", file.display()))
}
