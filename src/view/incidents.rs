//! Incidents and mails as people see them: which are shown, in which order, with which words. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::words;
use crate::alert::rules::SITES_STOPPED;
use crate::alert::{Incident, Key, Kind, Ladder, Muted, Phase, SHOWN, Severity};
use crate::model::forecast::Disconnect;
use crate::model::mails::GivenUpMails;
use crate::model::{AccountName, sanitize};

const STOPPED_KNOWN_AFTER: Duration = Duration::hours(24);

/// One incident.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRow {
    pub key: Key,
    pub account: AccountName,
    pub kind: Kind,
    pub severity: Severity,
    #[serde(rename = "state")]
    pub phase: Phase,
    /// In words for people.
    pub title: String,
    pub resource_name: String,
    pub since: DateTime<Utc>,
    pub last_change: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    /// Why it is in this state.
    pub reason: String,
    pub acknowledged: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// No mail of it until then.
    pub silenced_until: Option<DateTime<Utc>>,
    /// What whoever acknowledged or silenced it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The incident that explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Key>,
    /// What is wrong, without its name: `in error`.
    #[serde(skip)]
    pub problem: String,
    /// Of a container: only its stopped sites show that it is off.
    #[serde(skip)]
    pub by_sites: bool,
    /// Of a disconnect.
    #[serde(skip)]
    pub cut_off: Option<Disconnect>,
    /// When the data are deleted, where the account is cut off and that is known.
    #[serde(skip)]
    pub deleted_at: Option<DateTime<Utc>>,
}

/// The open incident of an account's cut-off.
pub(super) fn disconnect_of<'a>(
    account: &AccountName,
    rows: impl IntoIterator<Item = &'a IncidentRow>,
) -> Option<&'a IncidentRow> {
    let is_its =
        |row: &&IncidentRow| row.account == *account && row.kind == Kind::Disconnect && row.is_open();
    rows.into_iter().find(is_its)
}

impl IncidentRow {
    /// An incident as it is shown; `None` for one that has not begun, that was over before
    /// a mail went out, or that ended long ago.
    pub(crate) fn of(incident: &Incident, muted: &Muted, now: DateTime<Utc>) -> Option<Self> {
        let shown = match incident.phase {
            Phase::Watching | Phase::Unwatched => false,
            Phase::Pending | Phase::Firing | Phase::Recovering => true,
            Phase::Resolved => incident.is_shown(now),
        };
        let (acknowledgement, silence) = (muted.acknowledgement(incident, now), muted.silence(incident, now));
        let note = acknowledgement.map(|ack| &ack.comment).or(silence.map(|silence| &silence.comment));
        // Where the reason itself does not name it.
        let cause = incident.folded_into.as_ref().map(ToString::to_string);
        let cause = cause.filter(|cause| !incident.reason.to_string().contains(cause));
        let cause = cause.map(|cause| format!(" (covered by {cause})"));
        shown.then(|| Self {
            key: incident.key.clone(),
            account: incident.key.account.clone(),
            kind: incident.key.kind,
            severity: incident.severity,
            phase: incident.phase,
            title: incident.words_now(),
            resource_name: incident.subject.clone(),
            since: incident.since,
            last_change: incident.last_change,
            resolved_at: incident.resolved_at.filter(|_| !incident.phase.is_open()),
            reason: format!(
                "{}{}",
                said_once(&incident.detail, &incident.reason.to_string()),
                cause.unwrap_or_default()
            ),
            acknowledged: acknowledgement.is_some(),
            acknowledged_at: acknowledgement.map(|ack| ack.at),
            silenced_until: silence.map(|silence| silence.until),
            note: note.filter(|note| !note.is_empty()).cloned(),
            caused_by: incident.folded_into.clone(),
            problem: incident.problem_now(),
            by_sites: incident.held == SITES_STOPPED,
            cut_off: incident.ladder.as_ref().map(Ladder::disconnect),
            deleted_at: incident.ladder.as_ref().and_then(|ladder| ladder.deleted_at),
        })
    }

    /// Firing, or not yet recovered.
    pub(crate) fn is_open(&self) -> bool {
        self.phase.is_open()
    }

    /// It is acknowledged or silenced.
    pub(crate) fn is_looked_after(&self) -> bool {
        self.acknowledged || self.silenced_until.is_some()
    }

    /// `acknowledged Tue 24 Nov 07:15 MSK: Ann is on it`; `None` where nobody decided anything.
    pub(crate) fn looked_after_words(&self, zone: Tz, now: DateTime<Utc>) -> Option<String> {
        let moment = |at| words::sentence_moment(at, zone, now);
        let words = match (self.acknowledged, self.silenced_until) {
            (true, _) => {
                let at = self.acknowledged_at.map(|at| format!(" {}", moment(at)));
                format!("acknowledged{}", at.unwrap_or_default())
            }
            (false, Some(until)) => format!("silenced until {}", moment(until)),
            (false, None) => return None,
        };
        let note = self.note.as_ref().map(|note| format!(": {}", sanitize::one_line(note, 80)));
        Some(words + &note.unwrap_or_default())
    }

    /// The worst first, wherever incidents stand below each other: cut-offs, the soonest first and whoever looks after
    /// them; what needs somebody; what somebody looks after; what is not confirmed yet.
    pub(crate) fn order(&self, now: DateTime<Utc>) -> impl Ord + use<'_> {
        let rank = self.rank(now);
        let soonest = (rank == 0).then(|| soonest(self.cut_off));
        (rank, soonest, Reverse(self.severity), Reverse(self.since), &self.key)
    }

    /// Of those that stand together.
    pub(super) fn rank(&self, now: DateTime<Utc>) -> u8 {
        match (self.kind, self.is_open()) {
            (Kind::Disconnect, true) => 0,
            (_, true) if self.needs_you(now) => 1,
            (_, true) => 2,
            (_, false) => 3,
        }
    }

    /// Somebody has to act. That a VM is stopped is known after a day: it may well be meant to be.
    pub(crate) fn needs_you(&self, now: DateTime<Utc>) -> bool {
        let known = self.kind == Kind::VmStopped && now - self.since >= STOPPED_KNOWN_AFTER;
        self.is_open() && !self.is_looked_after() && self.severity != Severity::Info && !known
    }
}

/// What was seen, and what was decided; of two that say the same, one.
fn said_once(detail: &str, reason: &str) -> String {
    if detail.starts_with(reason) { detail.to_owned() } else { format!("{detail}; {reason}") }
}

/// The order of cut-offs.
pub(crate) fn soonest(cut_off: Option<Disconnect>) -> impl Ord {
    let at = cut_off.and_then(|cut_off| cut_off.at());
    (cut_off != Some(Disconnect::Now), at.is_none(), at)
}

/// Incidents that are open, and those that closed lately.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IncidentList {
    /// The worst first; what somebody looks after at the end.
    pub open: Vec<IncidentRow>,
    /// The latest first.
    pub recent: Vec<IncidentRow>,
}

impl IncidentList {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a IncidentRow>, now: DateTime<Utc>) -> Self {
        let (mut recent, mut open): (Vec<_>, Vec<_>) =
            rows.cloned().partition(|row| row.phase == Phase::Resolved);
        open.sort_by(|a, b| a.order(now).cmp(&b.order(now)));
        recent.sort_by_key(|row| Reverse(row.resolved_at.unwrap_or(row.last_change)));
        recent.truncate(SHOWN);
        Self { open, recent }
    }
}

/// What became of mails.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Mails {
    /// Absent: mails are not configured.
    pub outbox: Option<OutboxSummary>,
    /// When a mail server last took a mail.
    pub last_mail_at: Option<DateTime<Utc>>,
    /// The watched VM that the daemon itself runs on, in words; it goes dark with it.
    pub lives_on: Option<String>,
    /// Why the mail server cannot be used, where the last attempt failed for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_error: Option<ServerError>,
    /// Mails that were given up and of which not everybody concerned was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<GivenUpMails>,
    /// The same of the mails about each account.
    #[serde(skip)]
    pub given_up_of: BTreeMap<AccountName, GivenUpMails>,
    /// The outbox as far as mails about one account are concerned; of one without any nothing waits.
    #[serde(skip)]
    pub undelivered_of: BTreeMap<AccountName, OutboxSummary>,
    /// The mail server takes no mail at all, whatever it is about.
    #[serde(skip)]
    pub server_is_down: bool,
}

impl Mails {
    /// What concerns one account: the mails about it; a mail server that takes none concerns all.
    pub(super) fn concerning(&self, account: &AccountName) -> Self {
        let about = self.about(account);
        if self.server_is_down { Self { outbox: self.outbox, ..about } } else { about }
    }

    /// The mails about one account alone.
    pub(super) fn about(&self, account: &AccountName) -> Self {
        let of_it = |all: OutboxSummary| {
            let none = OutboxSummary { queued: 0, sending: 0, dead: 0, oldest: None, ..all };
            let its = self.undelivered_of.get(account).copied().unwrap_or(none);
            OutboxSummary { sent: all.sent, ..its }
        };
        Self {
            outbox: self.outbox.map(of_it),
            given_up: self.given_up_of.get(account).cloned(),
            ..self.clone()
        }
    }
}

/// What a mail server said, or why none answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ServerError {
    pub error: String,
    /// It refused the login or the sender for good.
    pub refused: bool,
}

/// Mails by what became of them, one a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OutboxSummary {
    pub queued: u64,
    pub sending: u64,
    pub sent: u64,
    pub dead: u64,
    /// When the oldest that waits was queued.
    pub oldest: Option<DateTime<Utc>>,
}

impl OutboxSummary {
    /// Those that are not delivered yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.queued + self.sending
    }
}
