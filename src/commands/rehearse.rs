//! `hostwatch rehearse`: walks the real report, or a supposed one, through the real engine and renderer.

use std::sync::Arc;

use anyhow::Result;
use chrono::{DateTime, Duration, Utc};

use super::beside::Beside;
use super::output::print;
use super::{forecast, output, reading};
use crate::alert::rehearsal::{self, Told};
use crate::alert::{Form, Notice};
use crate::cli;
use crate::clock::Clock;
use crate::config::{AccountSettings, Settings};
use crate::daemon::mails::MailWriter;
use crate::daemon::pipeline::watcher;
use crate::mail;
use crate::model::forecast::{Disconnect, disconnect};
use crate::model::{Collector, Edd, Group, Moments, Money, Report};
use crate::terminal::Answer;
use crate::terminal::rehearsal::{Mail, Rehearsal, text};
use crate::view::Status;

/// The days beyond a supposed cut-off for which the report is asked, since mails name amounts for the days
/// after it.
const BEYOND_DAYS: u32 = 91;

/// Prints the mails to come.
pub(super) async fn run(args: cli::Rehearse) -> Result<Answer> {
    let settings = super::load(&args.config.file)?;
    let rehearsals = all(&settings, &Beside::of(&args.config.file), args.days).await?;
    print(&text(&rehearsals, output::style(args.screen)))?;
    Ok(rehearsals.iter().map(Rehearsal::answer).max().unwrap_or(Answer::Unknown))
}

/// All accounts with billing, each with its present report: one call each.
async fn all(settings: &Settings, beside: &Beside, days: Option<u32>) -> Result<Vec<Rehearsal>> {
    let accounts = forecast::configured(settings, None)?;
    let horizon =
        |account: &AccountSettings| account.horizon_days.max(days.map_or(0, |days| days + BEYOND_DAYS));
    let clock = Clock::default();
    let reports = reading::reports(&accounts, horizon, &clock).await;
    let known = beside.known().await;
    // The daemon's clock may be the provider's.
    let now = known.as_ref().map_or_else(|| clock.now(), |status| status.generated_at);
    let mail_writer = MailWriter::of(settings);
    let mut rehearsals = Vec::new();
    for (account, report) in accounts.into_iter().zip(reports) {
        let off = off(account, known.as_ref(), now).filter(|_| days.is_none());
        rehearsals.push(rehearse(account, settings, mail_writer.as_ref(), report, days, off, now));
    }
    Ok(rehearsals)
}

/// A past cut-off, if the running daemon knows of one.
pub(super) fn off(
    account: &AccountSettings,
    known: Option<&Status>,
    now: DateTime<Utc>,
) -> Option<Disconnect> {
    let known = known?.accounts.iter().find(|one| one.name == *account.name())?;
    let known = known.billing.as_ref()?.disconnect;
    Some(known).filter(|known| *known == Disconnect::Now || known.at().is_some_and(|at| at <= now))
}

/// The rehearsal of one account.
pub(super) fn rehearse(
    account: &AccountSettings,
    settings: &Settings,
    mail_writer: Option<&MailWriter>,
    report: Result<Arc<Report>, String>,
    days: Option<u32>,
    off: Option<Disconnect>,
    now: DateTime<Utc>,
) -> Rehearsal {
    let report = match (report, days) {
        (Ok(report), None) => Ok(report),
        (Ok(report), Some(days)) => Ok(Arc::new(lasting(&report, days, now))),
        (Err(_), Some(days)) if account.has(Group::Billing) => Ok(Arc::new(bare(days, now))),
        (Err(error), _) => Err(error),
    };
    // The daemon reads a report only on a schedule.
    let is_read = account.schedules.contains_key(&Collector::ExpectedBalance);
    let mail_writer = mail_writer.filter(|_| is_read);
    let mut mails = Vec::new();
    if let (Ok(report), Some(mail_writer)) = (&report, mail_writer) {
        let watcher = watcher(settings, account);
        let told = rehearsal::rehearse(&account.profile, report, off, &watcher, now);
        mails = to_all(told.into_iter().map(|told| mail(told, mail_writer)));
    }
    Rehearsal {
        account: account.name().to_string(),
        zone: account.profile.zone(),
        now,
        supposed_days: days,
        is_mailed: mail_writer.is_some(),
        disconnect: report.map(|report| off.unwrap_or_else(|| disconnect(&report))),
        mails,
    }
}

/// The mail to one recipient.
fn mail(told: Told, mail_writer: &MailWriter) -> Mail {
    let Told { at, to, item, snapshot } = told;
    let severity = item.severity;
    let notice = Notice {
        form: Form::News,
        accounts: vec![item.key.account.clone()],
        items: vec![item],
        to: String::new(),
    };
    let (subject, lead) = mail::first_lines_of(&notice, &mail_writer.context(&snapshot, at));
    Mail { at, severity, subject, lead, to: vec![to] }
}

/// Each mail once, with all of its recipients: an escalation says the same as the mail that the others get.
fn to_all(mails: impl Iterator<Item = Mail>) -> Vec<Mail> {
    let mut all: Vec<Mail> = Vec::new();
    for mail in mails {
        let says = |one: &Mail| (one.at, one.severity, one.subject.clone(), one.lead.clone());
        match all.iter_mut().find(|one| says(one) == says(&mail)) {
            Some(same) => same.to.extend(mail.to),
            None => all.push(mail),
        }
    }
    all
}

/// A report in which the money lasts this many days from `now`: its balances are shifted so that the first
/// charge afterwards cannot be paid.
fn lasting(report: &Report, days: u32, now: DateTime<Utc>) -> Report {
    let at = now + Duration::days(i64::from(days));
    let mut report = report.clone();
    let unpaid = report.moments.before(at);
    let shift = report.moments.get(unpaid).map_or(Money::ZERO, |moment| -moment.balance);
    report.moments.edit(|moments| {
        for moment in moments {
            moment.balance += shift;
            moment.positive = Some(moment.balance.is_positive());
        }
    });
    report.expected_balance = report.expected_balance.map(|balance| balance + shift);
    report.made = report.made.map(|(at, balance)| (at, balance + shift));
    report.edd = Edd::At(at);
    report
}

/// A report that only says that the money lasts this many days, for an account whose report could not be read.
fn bare(days: u32, now: DateTime<Utc>) -> Report {
    let at = now + Duration::days(i64::from(days));
    Report {
        date: Some(at + Duration::days(1)),
        edd: Edd::At(at),
        error: None,
        expected_balance: None,
        moments: Moments::default(),
        orders: Vec::new(),
        made: None,
        moments_rejected: 0,
        whole_until: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{AlertSettings, Watcher};
    use crate::config::Environment;
    use crate::model::forecast;
    use crate::model::forecast::tests::{report, t};

    #[test]
    fn a_supposed_report_is_used_up_by_the_first_charge_after_its_days() {
        let now = t("2026-03-01T12:00:00");
        let real = report("5000", "10", 90, Edd::Null);
        let supposed = lasting(&real, 9, now);
        assert_eq!(disconnect(&supposed), Disconnect::At { at: t("2026-03-10T12:00:00"), computed: false });
        assert_eq!(supposed.moments.first_unpaid(), Some(t("2026-03-11T11:00:00")), "the next charge");
        assert_eq!(forecast::does_not_add_up(&supposed), None);
        assert_eq!(bare(20, now).date, Some(t("2026-03-22T12:00:00")), "a day beyond the cut-off");
        let watcher = Watcher { settings: AlertSettings::defaults().into(), to: vec!["ops".into()] };
        let events = |report: &Report| -> Vec<String> {
            let told =
                rehearsal::rehearse(&crate::unit::account::profile("main"), report, None, &watcher, now);
            told.iter().map(|told| told.item.event.to_string()).collect()
        };
        for days in [0, 1, 20, 700] {
            let all = events(&bare(days, now));
            assert!(all.iter().any(|event| event == "rung:0"), "{days}: {all:?}");
            assert_eq!(events(&lasting(&real, days, now)), all, "{days}");
        }
    }

    #[test]
    fn an_escalation_that_says_the_same_is_one_mail_to_all() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hostwatch.toml");
        let text = "[accounts.main]\npanel_url = 'https://panel.example.com'\ntime_zone = 'UTC'\n\
                    billing_username = 'u'\nbilling_password = 'p'\n[alerts]\nescalate_to = ['boss@example.com']\n\
                    [email]\nsmtp_url = 'smtps://mail.example.com'\nfrom = 'h@example.com'\nto = ['ops@example.com']\n";
        std::fs::write(&file, text).unwrap();
        let settings = crate::config::load(Some(&file), &Environment::of_process()).unwrap();
        let (account, now) = (&settings.accounts[0], t("2026-03-01T12:00:00"));
        let report = Ok(Arc::new(report("5000", "10", 90, Edd::Null)));
        let writer = MailWriter::of(&settings);
        let all = rehearse(account, &settings, writer.as_ref(), report, Some(9), None, now).mails;
        let to = |days: i64| -> Vec<&str> {
            let until = now + Duration::days(days);
            let before: Vec<&Mail> = all.iter().filter(|mail| mail.at <= until).collect();
            before.last().unwrap().to.iter().map(String::as_str).collect()
        };
        assert_eq!((to(4), to(5)), (vec!["ops@example.com"], vec!["boss@example.com", "ops@example.com"]));
        let mails_at = |at: DateTime<Utc>| all.iter().filter(|mail| mail.at == at).count();
        assert!(all.iter().all(|mail| mails_at(mail.at) == 1), "{all:?}");
    }
}
