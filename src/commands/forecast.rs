//! `hostwatch forecast`: the forecasts by the running daemon's last readings. The provider is asked only for
//! accounts that no daemon has read.

use anyhow::{Result, bail};

use super::beside::Beside;
use super::output::{laid_out, print};
use super::reading;
use crate::cli;
use crate::clock::Clock;
use crate::config::{self, AccountSettings, Environment};
use crate::model::Group;
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Answer, Forecasts};

/// Prints the forecasts. The answer says whether one of them needs somebody.
pub(super) async fn run(args: cli::OfAccount) -> Result<Answer> {
    let file = &args.list.config.file;
    let beside = Beside::of(file);
    let complete = config::load(Some(file), &Environment::of_process());
    let settings = match (&complete, &beside.settings) {
        (Ok(settings), _) | (Err(_), Ok(settings)) => settings,
        (Err(wrong), Err(_)) => return Err(wrong.clone().into()),
    };
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    for account in chosen(&settings.accounts, args.account.as_deref())? {
        match beside.last_reading(account.name()).await {
            Some(last) => read.push((account, last)),
            None => unread.push(account),
        }
    }
    let clock = Clock::default();
    let reports = match &complete {
        Ok(_) => reading::reports(&unread, |account| account.horizon_days, &clock).await,
        // Without the secrets, the accounts with billing are those that the daemon has read.
        Err(_) if !read.is_empty() => Vec::new(),
        Err(wrong) => return Err(wrong.clone().into()),
    };
    let now = beside.time(&clock).await;
    let read = read.into_iter();
    let read = read.map(|(account, last)| (account, AccountForecast::of_daemon(&account.profile, last, now)));
    let asked = unread.into_iter().zip(reports);
    let asked = asked.map(|(account, report)| (account, AccountForecast::new(&account.profile, report, now)));
    let forecasts =
        read.chain(asked).map(|(account, one)| one.deleted_after(account.alert.deletion_days, now));
    let forecasts = Forecasts::new(forecasts.collect(), now);
    print(&laid_out(args.list.json, args.list.screen, &forecasts, Forecasts::text)?)?;
    Ok(forecasts.answer)
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
