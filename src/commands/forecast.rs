//! `hostwatch forecast`: asks the provider now and shows the forecasts in its reports. If the provider cannot
//! be asked, or the secrets cannot be read, it shows the last readings of the running daemon.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::{laid_out, print};
use super::reading;
use crate::cli;
use crate::clock::Clock;
use crate::config::{self, AccountSettings, Environment, Settings};
use crate::model::{Group, Report};
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Answer, Forecasts};

/// Prints the forecasts. The answer says whether one of them needs somebody.
pub(super) async fn run(args: cli::OfAccount) -> Result<Answer> {
    let beside = Beside::of(&args.list.config.file);
    let (settings, unread) = settings(&args.list.config.file, &beside).await?;
    let accounts = chosen(&settings.accounts, args.account.as_deref())?;
    let clock = Clock::default();
    let reports: Vec<Result<Arc<Report>, String>> = match &unread {
        None => reading::reports(&accounts, |account| account.horizon_days, &clock).await,
        Some(why) => accounts.iter().map(|_| Err(why.clone())).collect(),
    };
    let now = beside.time(&clock).await;
    let (mut forecasts, mut unknown) = (Vec::new(), Vec::new());
    for (account, report) in accounts.into_iter().zip(reports) {
        let last = if unread.is_some() || account.has(Group::Billing) {
            beside.last_reading(account.name()).await
        } else {
            None
        };
        let profile = &account.profile;
        let known = last.as_ref().and_then(|last| match &report {
            Ok(report) => last.known_beside(report, now),
            Err(_) => last.cut_off,
        });
        let shown = |forecast: AccountForecast| {
            forecast.knowing(known, profile, now).deleted_after(account.alert.deletion_days, now)
        };
        // As in mails and on the page, a report that contradicts a known cut-off is shown only with a proof.
        let doubt = report.as_ref().ok().and_then(|report| last.as_ref()?.doubts(report));
        let report = doubt.map_or(report, |doubt| Err(doubt.to_string()));
        match (report, last) {
            (Err(error), Some(last)) => {
                forecasts.push(shown(AccountForecast::as_of(profile, last, error, now)));
            }
            // The accounts with billing are not known here.
            (Err(error), None) if unread.is_some() => {
                unknown.push(AccountForecast::new(profile, Err(error), now));
            }
            (report, _) => forecasts.push(shown(AccountForecast::new(profile, report, now))),
        }
    }
    let forecasts = Forecasts::new(if forecasts.is_empty() { unknown } else { forecasts }, now);
    print(&laid_out(args.list.json, args.list.screen, &forecasts, Forecasts::text)?)?;
    Ok(forecasts.answer)
}

/// The settings. If they are incomplete and a daemon runs that was started with all of them, also the reason
/// why the provider cannot be asked.
async fn settings(file: &Path, beside: &Beside) -> Result<(Settings, Option<String>)> {
    let wrong = match config::load(Some(file), &Environment::of_process()) {
        Ok(settings) => return Ok((settings, None)),
        Err(wrong) => wrong,
    };
    match &beside.settings {
        Ok(settings) if beside.answers().await => {
            let first = wrong.0.first().map(ToString::to_string).unwrap_or_default();
            Ok((settings.clone(), Some(format!("the provider is not asked: {first}"))))
        }
        _ => Err(wrong.into()),
    }
}

/// The named account, otherwise all accounts with billing, otherwise all.
pub(super) fn chosen<'a>(
    accounts: &'a [AccountSettings],
    name: Option<&str>,
) -> Result<Vec<&'a AccountSettings>> {
    if let Some(name) = name {
        let found = accounts.iter().find(|account| account.name().as_str() == name);
        let Some(found) = found else {
            let known: Vec<&str> = accounts.iter().take(20).map(|account| account.name().as_str()).collect();
            bail!("no account is called '{name}'; there is {}", known.join(", "));
        };
        return Ok(vec![found]);
    }
    let billed: Vec<&AccountSettings> =
        accounts.iter().filter(|account| account.has(Group::Billing)).collect();
    Ok(if billed.is_empty() { accounts.iter().collect() } else { billed })
}
