//! `hostwatch rehearse`: the real report, or a supposed one, walked through the real engine and renderer.

use std::sync::Arc;

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::beside::Beside;
use super::output::print;
use super::{forecast, output, reading};
use crate::alert::rehearsal::{self, Told};
use crate::alert::{Kind, Notice, Severity};
use crate::cli;
use crate::clock::Clock;
use crate::config::{AccountSettings, Settings};
use crate::daemon::mails::MailWriter;
use crate::daemon::pipeline::Accounts;
use crate::daemon::top_rung_days;
use crate::model::forecast::{Disconnect, disconnect};
use crate::model::{Collector, Group, PayBy, Report};
use crate::terminal::Answer;
use crate::terminal::rehearsal::{Mail, Rehearsal, text};
use crate::view::Due;
use crate::view::billing::ToPay;

/// How far the report is asked for beyond a supposed cut-off: mails say what to pay for the days after it.
const BEYOND_DAYS: u32 = 91;

/// Prints the mails to come.
pub(super) async fn run(args: cli::Rehearse) -> Result<Answer> {
    let settings = super::load(&args.config.file)?;
    let rehearsals = all(&settings, &Beside::of(&args.config.file), args.days).await?;
    print(&text(&rehearsals, output::style(args.screen)))?;
    Ok(Answer::of_all(rehearsals.iter().map(Rehearsal::answer)))
}

/// Every account whose billing is on, with its report as it is now: one call each.
async fn all(settings: &Settings, beside: &Beside, days: Option<u32>) -> Result<Vec<Rehearsal>> {
    let accounts = forecast::chosen(&settings.accounts, None)?;
    let horizon =
        |account: &AccountSettings| account.horizon_days.max(days.map_or(0, |days| days + BEYOND_DAYS));
    let clock = Clock::default();
    let reports = reading::reports(&accounts, horizon, &clock).await;
    let now = beside.time(&clock).await;
    let watch = Accounts::of(settings);
    let both = accounts.into_iter().zip(reports);
    Ok(both.map(|(account, report)| rehearse(account, &watch, report, days, now)).collect())
}

/// One account.
pub(super) fn rehearse(
    account: &AccountSettings,
    watch: &Accounts,
    report: Result<Arc<Report>, String>,
    days: Option<u32>,
    now: DateTime<Utc>,
) -> Rehearsal {
    let mut never = Vec::new();
    let report = match (report, days) {
        (Ok(report), None) => Ok(report),
        (Ok(report), Some(days)) => Ok(Arc::new(rehearsal::lasting(&report, days, now))),
        (Err(error), Some(days)) if account.has(Group::Billing) => {
            never.push(format!("amounts, as things are: {error}"));
            Ok(Arc::new(rehearsal::bare(days, now)))
        }
        (Err(error), _) => Err(error),
    };
    let mut mails = Vec::new();
    if let (Ok(report), Some(watcher)) = (&report, watch.watchers.get(account.name())) {
        for told in rehearsal::rehearse(&account.profile, report, watcher, now) {
            mails.extend(mails_of(&told, account, watch, &mut never));
        }
        never.extend(left_out(account, watch, report, now));
    }
    never.dedup();
    Rehearsal {
        account: account.name().to_string(),
        currency: account.profile.currency.clone(),
        zone: account.profile.zone(),
        now,
        supposed_days: days,
        disconnect: report.map(|report| disconnect(&report)),
        mails,
        never,
    }
}

/// A notice as mails, one for each way that they leave by.
fn mails_of(told: &Told, account: &AccountSettings, watch: &Accounts, never: &mut Vec<String>) -> Vec<Mail> {
    let Some(mail_writer) = &watch.mail_writer else { return Vec::new() };
    let ways = mail_writer.by_way(&told.notice);
    ways.iter().filter_map(|notice| mail(notice, told, account, mail_writer, never)).collect()
}

fn mail(
    notice: &Notice,
    told: &Told,
    account: &AccountSettings,
    mail_writer: &MailWriter,
    never: &mut Vec<String>,
) -> Option<Mail> {
    let mail = match mail_writer.write(notice, &told.snapshot, &[], None, told.at) {
        Ok(mail) => mail,
        Err(error) => {
            never.push(format!("what cannot be written: {error}"));
            return None;
        }
    };
    let severity = told.notice.items.iter().map(|item| item.severity).max().unwrap_or(Severity::Info);
    let about = told.notice.items.iter().find(|item| item.key.kind == Kind::Disconnect);
    let state = told.snapshot.accounts.get(account.name());
    let report = state.and_then(|state| state.billing.report.as_deref()).filter(|_| about.is_some());
    let pay_by = report.and_then(|report| {
        PayBy::of(disconnect(report), account.profile.lead_days, account.profile.zone(), told.at)
    });
    Some(Mail {
        at: told.at,
        severity,
        subject: mail.subject,
        to: mail.recipients,
        pay: report.map(|report| to_pay(report, told.at)),
        pay_by,
    })
}

/// For the first span for which something is to be paid.
fn to_pay(report: &Report, at: DateTime<Utc>) -> ToPay {
    let first = Due::first(&Due::of(report, at));
    first.map_or_else(|| ToPay::of(Some(report), at), |(days, amount)| ToPay::Amount(amount, days))
}

/// Mails about the disconnect that these settings rule out, and why.
fn left_out(account: &AccountSettings, watch: &Accounts, report: &Report, now: DateTime<Utc>) -> Vec<String> {
    let alert = &account.alert;
    let mut left = Vec::new();
    if watch.mail_writer.is_none() {
        left.push("anything: there is no [email] table, and no webhook is named".to_owned());
    }
    if !account.schedules.contains_key(&Collector::ExpectedBalance) {
        left.push("a cut-off: schedule.expected_balance is off, so the daemon reads no report".to_owned());
    }
    if !alert.enabled(Kind::Disconnect) {
        left.push("a cut-off: alerts.rules.disconnect is not enabled".to_owned());
    }
    let to = alert.rules.get(&Kind::Disconnect).map_or(&[][..], |rule| &rule.to);
    if watch.mail_writer.is_some() && to.is_empty() && account.to.is_empty() {
        left.push(
            "a cut-off: nobody is named in email.to, the account's to, or alerts.rules.disconnect.to"
                .to_owned(),
        );
    }
    if let Disconnect::At { at, .. } = disconnect(report) {
        let left_days = (at - now).num_seconds().max(0) as f64 / 86_400.0;
        let over = alert.disconnect_days.iter().filter(|&&rung| f64::from(rung) > left_days);
        let mut over: Vec<u32> = over.copied().collect();
        over.sort_unstable();
        // The tightest of them is the one that is mailed now.
        let over: Vec<String> = over.iter().skip(usize::from(left_days > 0.0)).map(u32::to_string).collect();
        if !over.is_empty() {
            let plural = if over.len() == 1 { "mail" } else { "mails" };
            left.push(format!("the {plural} {} days before: already past", over.join(", ")));
        }
    }
    let reach = report.date.map(|date| (date - now).num_days());
    let top = i64::from(top_rung_days(account));
    if reach.is_some_and(|days| days < top) {
        left.push(format!(
            "a cut-off further off than the report reaches, which is {} days; the first mail is at {top}",
            reach.unwrap_or(0)
        ));
    }
    left
}
