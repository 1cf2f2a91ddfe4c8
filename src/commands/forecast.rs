//! `hostwatch forecast`: asks the provider now, and shows what its reports say of the days to come.

use anyhow::{Context as _, Result, bail};

use super::output::print;
use super::{reading, screen};
use crate::cli;
use crate::clock;
use crate::config::Account;
use crate::daemon::top_rung_days;
use crate::model::Group;
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Answer, Forecasts, harmless_json};

/// Prints the forecasts; the answer is whether one of them needs somebody.
pub(super) async fn run(args: cli::Forecast) -> Result<Answer> {
    let settings = super::load(&args.config.file)?;
    let accounts = chosen(&settings.accounts, args.account.as_deref())?;
    let reports = reading::reports(&accounts, |account| account.horizon_days).await;
    let now = clock::now();
    let forecasts = accounts
        .iter()
        .zip(reports)
        .map(|(account, report)| AccountForecast::new(&account.profile, report, top_rung_days(account), now));
    let forecasts = Forecasts::new(forecasts.collect(), now);
    if args.json {
        let json = serde_json::to_string_pretty(&forecasts).context("writing the forecast as JSON")?;
        print(&format!("{}\n", harmless_json(&json)))?;
    } else {
        print(&forecasts.text(screen::style(args.screen)))?;
    }
    Ok(forecasts.answer)
}

/// The account that was named, else every one whose billing is on, else all of them.
pub(super) fn chosen<'a>(accounts: &'a [Account], name: Option<&str>) -> Result<Vec<&'a Account>> {
    if let Some(name) = name {
        let found = accounts.iter().find(|account| account.name().as_str() == name);
        let Some(found) = found else {
            let known: Vec<&str> = accounts.iter().take(20).map(|account| account.name().as_str()).collect();
            bail!("no account is called '{name}'; there is {}", known.join(", "));
        };
        return Ok(vec![found]);
    }
    let billed: Vec<&Account> = accounts.iter().filter(|account| account.has(Group::Billing)).collect();
    Ok(if billed.is_empty() { accounts.iter().collect() } else { billed })
}
