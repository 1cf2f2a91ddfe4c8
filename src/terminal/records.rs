//! `hostwatch incidents`, `outbox`, `silence --list`, `why` and `poll` as text. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::layout::{Cell, Emphasis, Layout, Style};
use super::{Answer, text, words};
use crate::alert::Phase;
use crate::model::freshness::sees_states;
use crate::model::mails::{MailRecord, MailState};
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecord, SilenceRecords};
use crate::view::why::WhyRecord;
use crate::view::{AccountStatus, CollectorRow, IncidentRow, PolledRecords};

/// Incidents that a silence covers, of more the rest is counted.
const MOST_COVERED: usize = 5;

impl IncidentRecords {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        let (open, recent) = (&self.incidents.open, &self.incidents.recent);
        layout.heading(match open.len() {
            0 => "No open incidents".to_owned(),
            count => words::count(count, "open incident", "open incidents"),
        });
        for (index, row) in open.iter().chain(recent).enumerate() {
            if index == open.len() {
                layout.heading("Over lately");
            }
            incident(&mut layout, row, self.time_zones.of(&row.account), self.generated_at);
        }
        layout.finish()
    }
}

/// One incident: what, how it stands, why, its key.
pub(super) fn incident(layout: &mut Layout, row: &IncidentRow, zone: Tz, now: DateTime<Utc>) {
    let (sign, tone) = words::severity(row.severity);
    let (sign, tone) = if row.phase == Phase::Resolved { ("✓", Emphasis::Good) } else { (sign, tone) };
    layout.item(2, sign, tone, &row.title);
    let known = row.looked_after_words(zone, now).map(|known| format!("; {known}")).unwrap_or_default();
    layout.text(4, format!("{}, {}{known}", row.severity, stands(row, zone, now)), Emphasis::Plain);
    layout.text(4, &row.reason, Emphasis::Faint);
    layout.text(4, row.key.to_string(), Emphasis::Faint);
}

/// `open for 23 min, since Tue 24 Nov 07:15 MSK`
fn stands(row: &IncidentRow, zone: Tz, now: DateTime<Utc>) -> String {
    let when = |at| words::sentence_moment(at, zone, now);
    let open = |word: &str| format!("{word} {}, since {}", words::lasted(now - row.since), when(row.since));
    match row.phase {
        Phase::Pending => open("not confirmed for"),
        Phase::Firing | Phase::Watching => open("open for"),
        Phase::Recovering => open("recovering, open for"),
        Phase::Resolved | Phase::Unwatched => {
            let ended = row.resolved_at.unwrap_or(row.last_change);
            format!("over since {}, after {}", when(ended), words::lasted(ended - row.since))
        }
    }
}

impl OutboxRecords {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        if self.mails.is_empty() {
            layout.text(0, "no mails", Emphasis::Plain);
        }
        for row in &self.mails {
            let zone =
                row.account.as_ref().map_or_else(|| self.time_zones.common(), |one| self.time_zones.of(one));
            mail(&mut layout, row, zone, self.generated_at);
        }
        layout.finish()
    }
}

/// `  12  given up  Tue 24 Nov 07:15 MSK  ops@example.com`, below it the subject and what the server said.
fn mail(layout: &mut Layout, row: &MailRecord, zone: Tz, now: DateTime<Utc>) {
    let tone = match row.state {
        MailState::Dead => Emphasis::Bad,
        MailState::Queued | MailState::Sending => Emphasis::Warn,
        MailState::Sent => Emphasis::Good,
        MailState::Withdrawn => Emphasis::Faint,
    };
    let created = words::sentence_moment(row.created_at, zone, now);
    let head = [
        (text::pad(&row.id.to_string(), 6, true), Emphasis::Plain),
        ("  ".to_owned(), Emphasis::Plain),
        (text::pad(row.state.words(), 9, false), tone),
        (format!("  {created}"), Emphasis::Plain),
    ];
    layout.drawn(0, &head);
    layout.text(8, format!("{}: {}", row.recipient, row.subject), Emphasis::Plain);
    if let Some(error) = &row.error {
        let tried = words::count(row.attempts as usize, "attempt", "attempts");
        layout.text(8, format!("after {tried}: {error}"), Emphasis::Faint);
    }
}

impl SilenceRecords {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        if self.silences.is_empty() {
            layout.text(0, "no silences", Emphasis::Plain);
        }
        for one in &self.silences {
            silence(&mut layout, one, self.generated_at);
        }
        layout.finish()
    }
}

fn silence(layout: &mut Layout, one: &SilenceRecord, now: DateTime<Utc>) {
    let until = words::sentence_moment(one.until, one.zone(), now);
    let note = if one.note.is_empty() { String::new() } else { format!(": {}", one.note) };
    layout.item(
        0,
        &text::pad(&one.id.to_string(), 4, true),
        Emphasis::Strong,
        format!("{}{note}", one.pattern),
    );
    layout.text(5, format!("until {until}, {} more", words::lasted(one.until - now)), Emphasis::Plain);
    for covered in one.covers.iter().take(MOST_COVERED) {
        layout.text(5, format!("{}  {}", covered.key, covered.title), Emphasis::Faint);
    }
    match one.covers.len() {
        0 => layout.text(5, "nothing that is open now", Emphasis::Faint),
        count if count > MOST_COVERED => {
            layout.text(5, format!("and {} more that are open", count - MOST_COVERED), Emphasis::Faint);
        }
        _ => {}
    }
}

impl WhyRecord {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        let (zone, now) = (self.zone(), self.generated_at);
        layout.heading(if self.title.is_empty() { self.key.to_string() } else { self.title.clone() });
        if let Some(row) = &self.incident {
            layout.text(2, format!("{}, {}", row.severity, stands(row, zone, now)), Emphasis::Plain);
        }
        if !self.title.is_empty() {
            layout.text(2, self.key.to_string(), Emphasis::Faint);
        }
        if !self.decisions.is_empty() {
            layout.heading("What was decided");
        }
        let when = |at| words::sentence_moment(at, zone, now);
        let moments: Vec<String> = self.decisions.iter().map(|one| when(one.at)).collect();
        let pairs: Vec<(&str, Cell)> = moments
            .iter()
            .map(String::as_str)
            .zip(self.decisions.iter().map(|one| Cell::new(&one.reason)))
            .collect();
        layout.pairs(&pairs);
        layout.heading("Conclusion");
        for line in &self.conclusion {
            layout.text(2, line, Emphasis::Plain);
        }
        layout.finish()
    }
}

/// What a poll that was asked for could not read: it reads states and the balance alone, so others' failures are not its.
fn failed(account: &AccountStatus) -> impl Iterator<Item = &CollectorRow> {
    account.collectors.iter().filter(|row| sees_states(row.collector) && row.success == Some(false))
}

impl PolledRecords {
    /// What a script wants to know: everything that was asked for was read.
    pub(crate) fn answer(&self) -> Answer {
        let failed = |account: &AccountStatus| failed(account).next().is_some();
        let well = self.unfinished.is_empty() && !self.status.accounts.iter().any(failed);
        if well { Answer::Fine } else { Answer::NeedsYou }
    }

    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        for account in &self.status.accounts {
            layout.heading(format!("{}: {}", account.name, account.headline.sentence));
            self.account(&mut layout, account);
        }
        layout.finish()
    }

    fn account(&self, layout: &mut Layout, account: &AccountStatus) {
        let (zone, now) = (account.zone(), self.status.generated_at);
        if let Some(billing) = &account.billing {
            let balance = words::known_spaced_amount(billing.facts.balance, &account.currency);
            let read = words::distance(billing.read_at, now);
            let cut_off = words::cut_off_in_full(&billing.facts, Emphasis::Warn, zone, now);
            layout.pairs(&[("Balance", Cell::new(format!("{balance}, read {read}"))), ("Cut-off", cut_off)]);
        }
        for row in failed(account) {
            let error = row.error.as_deref().unwrap_or("no reason was given");
            layout.item(2, "✕", Emphasis::Bad, format!("cannot read {}: {error}", row.collector.words()));
        }
        let unfinished = self.unfinished.iter().filter(|(name, _)| *name == account.name);
        let unfinished: Vec<&str> = unfinished.map(|(_, collector)| collector.words()).collect();
        if !unfinished.is_empty() {
            layout.item(2, "?", Emphasis::Warn, format!("still being read: {}", unfinished.join(", ")));
        }
    }
}
