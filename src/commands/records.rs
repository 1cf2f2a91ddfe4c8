//! Commands about the store's contents: `incidents`, `why`, `outbox`, `ack`, `silence`. The running daemon
//! answers; if none runs, the store itself is read.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::ask::AskError;
use super::beside::Beside;
use super::output::{laid_out, print};
use crate::cli::{AckArgs, ListArgs, Outbox, OutboxAction, SilenceArgs};
use crate::clock;
use crate::daemon::control::{Reply, Request, answer_from_store};
use crate::daemon::pipeline::watchers;
use crate::store::Store;
use crate::terminal::in_columns;
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords};
use crate::view::why::WhyRecord;

pub(super) async fn ack(ack: &AckArgs) -> Result<()> {
    let what = ack.key.clone();
    let request = match ack.remove {
        true => Request::TakeBackAck { what },
        false => Request::Ack { what, comment: ack.comment.clone() },
    };
    done(&ack.config.file, request).await
}

pub(super) async fn silence(silence: &SilenceArgs) -> Result<()> {
    if let Some(id) = silence.remove {
        return done(&silence.list_as.config.file, Request::EndSilence { id }).await;
    }
    let (Some(pattern), Some(duration)) = (&silence.pattern, silence.duration) else {
        return show(&silence.list_as, Request::Silences).await;
    };
    let (pattern, comment) = (pattern.clone(), silence.comment.clone());
    let request = Request::Silence { pattern, seconds: duration.as_secs(), comment };
    done(&silence.list_as.config.file, request).await
}

pub(super) async fn outbox(outbox: &Outbox) -> Result<()> {
    let file = &outbox.list.config.file;
    match &outbox.action {
        None | Some(OutboxAction::List) => show(&outbox.list, Request::Outbox).await,
        Some(OutboxAction::Retry { recipient }) => {
            let to = Some(recipient.clone()).filter(|to| to != "all");
            done(file, Request::Retry { to }).await
        }
        Some(OutboxAction::Drop { recipient, key }) => {
            done(file, Request::Drop { to: recipient.clone(), key: key.clone() }).await
        }
    }
}

/// Has something done, and prints what was.
///
/// # Errors
/// If neither a daemon nor the store does it.
pub(super) async fn done(file: &Path, request: Request) -> Result<()> {
    let Reply::Done(said) = answer(file, request).await? else { return Err(unfit()) };
    print(&format!("{}\n", in_columns(&said)))
}

pub(super) async fn show(list: &ListArgs, request: Request) -> Result<()> {
    let (json, screen) = (list.json, list.screen);
    let text = match answer(&list.config.file, request).await? {
        Reply::Incidents(all) => laid_out(json, screen, &all, IncidentRecords::text)?,
        Reply::Outbox(all) => laid_out(json, screen, &all, OutboxRecords::text)?,
        Reply::Silences(all) => laid_out(json, screen, &all, SilenceRecords::text)?,
        Reply::Why(why) => laid_out(json, screen, &*why, WhyRecord::text)?,
        Reply::Health { .. } | Reply::Polled(_) | Reply::Done(_) => return Err(unfit()),
    };
    print(&text)
}

/// The error for a reply to another request.
pub(super) fn unfit() -> anyhow::Error {
    anyhow!("the daemon answered something else; is it of another version?")
}

/// The daemon's answer, otherwise the store's if it is about that.
///
/// # Errors
/// If there is none, or if it is an error.
pub(super) async fn answer(file: &Path, request: Request) -> Result<Reply> {
    let beside = Beside::of(file);
    let unanswered = match beside.ask(&request).await {
        Ok(answered) => return answered.map_err(anyhow::Error::msg),
        Err(error) => error,
    };
    if !request.needs_no_daemon() {
        return Err(unanswered.into());
    }
    if request.changes() && unanswered.may_be_done() {
        bail!("{unanswered}; whether this was done is not known: look before you repeat it");
    }
    let from_store = || {
        let (mut store, settings) = beside.store()?;
        let path = &settings.store_path;
        if request.changes() && Store::is_held(path)? {
            let path = path.display();
            bail!(
                "{unanswered}; the daemon on {path} would not learn of it, so nothing was done: restart it"
            );
        }
        let (watchers, mails) = (watchers(settings), settings.mails);
        let answered = answer_from_store(&mut store, watchers, mails, request, clock::now());
        answered.map_err(anyhow::Error::msg)
    };
    from_store().map_err(|error| {
        let forbidden = matches!(unanswered, AskError::Forbidden { .. });
        if forbidden { anyhow!("{unanswered}; and the store: {error:#}") } else { error }
    })
}
