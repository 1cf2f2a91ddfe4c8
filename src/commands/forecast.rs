//! `hostwatch forecast`: the forecasts of the running daemon. Only without one the provider is asked.

use std::path::Path;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::{laid_out, print};
use super::reading;
use crate::cli;
use crate::clock::Clock;
use crate::config::{AccountSettings, Settings};
use crate::model::{AccountName, Collector, Group};
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Answer, Forecasts};
use crate::view::{AccountStatus, Status};

/// Prints the forecasts. The answer says whether one of them needs somebody.
pub(super) async fn run(args: cli::OfAccount) -> Result<Answer> {
    let (file, name) = (&args.list.config.file, args.account.as_deref());
    let forecasts = match Beside::of(file).known().await {
        Some(status) => of_daemon(status, name)?,
        None => of_provider(file, name).await?,
    };
    print(&laid_out(args.list.json, args.list.screen, &forecasts, Forecasts::text)?)?;
    Ok(forecasts.answer)
}

fn of_daemon(status: Status, name: Option<&str>) -> Result<Forecasts> {
    let now = status.generated_at;
    let reads = |account: &AccountStatus| {
        account.collectors.iter().any(|row| row.collector == Collector::ExpectedBalance)
    };
    let accounts = chosen(status.accounts, |account| &account.name, reads, name)?.into_iter();
    Ok(Forecasts::new(accounts.map(|account| AccountForecast::of_daemon(account, now)).collect(), now))
}

async fn of_provider(file: &Path, name: Option<&str>) -> Result<Forecasts> {
    let settings = super::load(file)?;
    let accounts = configured(&settings, name)?;
    let clock = Clock::default();
    let reports = reading::reports(&accounts, |account| account.horizon_days, &clock).await;
    let now = clock.now();
    let all = accounts.into_iter().zip(reports);
    let all = all.map(|(account, report)| {
        AccountForecast::new(&account.profile, report, now).deleted_after(account.alert.deletion_days, now)
    });
    Ok(Forecasts::new(all.collect(), now))
}

/// The named account of the configuration, otherwise all accounts with billing, otherwise all.
pub(super) fn configured<'a>(settings: &'a Settings, name: Option<&str>) -> Result<Vec<&'a AccountSettings>> {
    chosen(
        settings.accounts.iter().collect(),
        |account| account.name(),
        |account| account.has(Group::Billing),
        name,
    )
}

fn chosen<T>(
    accounts: Vec<T>,
    called: impl Fn(&T) -> &AccountName,
    has_billing: impl Fn(&T) -> bool,
    name: Option<&str>,
) -> Result<Vec<T>> {
    if let Some(name) = name {
        let known: Vec<String> = accounts.iter().take(20).map(|one| called(one).to_string()).collect();
        let Some(found) = accounts.into_iter().find(|one| called(one).as_str() == name) else {
            bail!("no account is called '{name}'; there is {}", known.join(", "));
        };
        return Ok(vec![found]);
    }
    let (billed, others): (Vec<T>, Vec<T>) = accounts.into_iter().partition(has_billing);
    Ok(if billed.is_empty() { others } else { billed })
}
