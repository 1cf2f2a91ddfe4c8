//! `hostwatch check-config`: whether the configuration, and one of the web server, are good.

use std::path::Path;

use anyhow::Result;

use super::output::{print, warn};
use crate::config::{self, Environment, Errors, Problem, Settings};
use crate::daemon::listen;
use crate::http::WebConfig;

pub(super) fn run(file: &Path, web_config_file: Option<&Path>) -> Result<()> {
    let settings = config::load(Some(file), &Environment::of_process());
    let web = web_config_file.map(|file| (file, listen::web_config(file)));
    let wrong =
        settings.as_ref().err().into_iter().chain(web.iter().filter_map(|(_, web)| web.as_ref().err()));
    let wrong: Vec<Problem> = wrong.flat_map(|errors| errors.0.iter().cloned()).collect();
    if let (Ok(settings), true) = (&settings, wrong.is_empty()) {
        return good(file, settings, web.and_then(|(file, web)| Some((file, web.ok()?))));
    }
    Err(Errors(wrong).into())
}

fn good(file: &Path, settings: &Settings, web: Option<(&Path, WebConfig)>) -> Result<()> {
    for warning in &settings.warnings {
        warn(warning);
    }
    let accounts = settings.accounts.len();
    let mails = if settings.email.is_some() { "mails on" } else { "mails off: no [email]" };
    let plural = if accounts == 1 { "" } else { "s" };
    print(&format!("{}: good; {accounts} account{plural}, {mails}\n", file.display()))?;
    let Some((file, web)) = web else { return Ok(()) };
    for note in web.notes() {
        warn(&format!("{}: {note}", file.display()));
    }
    let switch = |on| if on { "on" } else { "off" };
    let (tls, passwords) = (switch(web.has_tls()), switch(web.has_users()));
    print(&format!("{}: good; TLS {tls}, passwords {passwords}\n", file.display()))
}
