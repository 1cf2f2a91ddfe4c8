//! `hostwatch incidents`, `outbox`, `silence --list` and `why` as text. Pure.

use chrono::{DateTime, Utc};

use super::layout::{Cell, Emphasis, Layout, Style};
use super::text;
use super::words::{EN, severity};
use crate::alert::{Debts, Phase};
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecord, SilenceRecords};
use crate::view::why::WhyRecord;
use crate::view::{IncidentRow, Reader, words};

/// The number of listed incidents that a silence covers; others are counted.
const MOST_COVERED: usize = 5;
/// The number of listed events that are owed to one recipient; others are counted.
const MOST_OWED: usize = 10;

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
            let reader = Reader::english(self.time_zones.of(&row.account), self.generated_at);
            incident(&mut layout, row, reader);
            layout.text(4, &row.reason, Emphasis::Faint);
        }
        layout.finish()
    }
}

/// One incident: its title, its state and its key.
pub(super) fn incident(layout: &mut Layout, row: &IncidentRow, reader: Reader) {
    let (sign, tone) = severity(row.severity);
    let (sign, tone) = if row.phase == Phase::Resolved { ("✓", Emphasis::Good) } else { (sign, tone) };
    layout.item(2, sign, tone, &row.title);
    let known = row.decided.words(reader).map(|known| format!("; {known}")).unwrap_or_default();
    layout.text(4, format!("{}, {}{known}", row.severity, stands(row, reader)), Emphasis::Plain);
    layout.text(4, row.key.to_string(), Emphasis::Faint);
}

/// `open for 23 min, since Tue 24 Nov 07:15 MSK`
fn stands(row: &IncidentRow, reader: Reader) -> String {
    let open = |word: &str| format!("{word} {}, since {}", reader.age(row.since), reader.moment(row.since));
    match row.phase {
        Phase::Pending => open("not confirmed for"),
        Phase::Firing => open("open for"),
        Phase::Recovering => open("recovering, open for"),
        Phase::Resolved | Phase::Removed | Phase::Unwatched => {
            let ended = row.resolved_at.unwrap_or(row.last_change);
            format!("over since {}, after {}", reader.moment(ended), words::lasted(ended - row.since, EN))
        }
    }
}

impl OutboxRecords {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        if self.owed.is_empty() {
            layout.text(0, "nothing is owed to anybody", Emphasis::Plain);
        }
        for one in &self.owed {
            self.owed_to(&mut layout, one);
        }
        if !self.sent.is_empty() {
            layout.heading("Sent lately");
        }
        for mail in &self.sent {
            layout.text(2, format!("{}  {}", self.when(mail.sent_at), mail.recipient), Emphasis::Plain);
            layout.text(4, &mail.subject, Emphasis::Faint);
        }
        layout.finish()
    }

    /// One recipient: the events and their times, the last error, the next attempt.
    fn owed_to(&self, layout: &mut Layout, one: &Debts) {
        layout.heading(&one.recipient);
        if let Some(since) = one.unsure_since {
            let text = format!("the mail of {} may not have arrived: no reply to it came", self.when(since));
            layout.text(2, text, Emphasis::Warn);
        }
        if let Some(since) = one.since.filter(|_| one.is_owed()) {
            let span = self.reader().age(since);
            layout.text(2, format!("owed for {span}, since {}", self.when(since)), Emphasis::Warn);
        }
        for event in one.owed.iter().take(MOST_OWED) {
            let what = event.event.as_deref().unwrap_or("not decided yet");
            layout.text(
                4,
                format!("{}  {what}, owed since {}", event.key, self.when(event.since)),
                Emphasis::Plain,
            );
        }
        if one.owed.len() > MOST_OWED {
            layout.text(4, words::more(one.owed.len() - MOST_OWED, EN), Emphasis::Faint);
        }
        let mails = [("first mail", one.first), ("digest", one.digest)];
        for (what, since) in mails.into_iter().filter_map(|(what, since)| Some((what, since?))) {
            layout.text(4, format!("{what}, since {}", self.when(since)), Emphasis::Plain);
        }
        for mail in &one.in_flight {
            let about = match mail.keys.len() {
                0 => "the first mail, or a digest".to_owned(),
                count => format!("a mail about {}", words::count(count, "incident", "incidents")),
            };
            layout.text(4, format!("on its way, since {}: {about}", self.when(mail.since)), Emphasis::Plain);
        }
        if let Some(since) = one.refused_since {
            let text = format!("the server refuses mails to this recipient since {}", self.when(since));
            layout.text(2, text, Emphasis::Bad);
        }
        if one.limited {
            let text = "the hourly limit holds back what is not about money (email.max_per_hour)";
            layout.text(2, text, Emphasis::Plain);
        }
        if let Some(error) = &one.error {
            layout.text(2, format!("last error: {error}"), Emphasis::Faint);
        }
        if let Some(at) = one.next_try {
            layout.text(2, format!("next try {}", self.when(at)), Emphasis::Plain);
        }
    }

    fn when(&self, at: DateTime<Utc>) -> String {
        self.reader().moment(at)
    }

    fn reader(&self) -> Reader {
        Reader::english(self.time_zones.common(), self.generated_at)
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
    let until = Reader::english(one.time_zone, now).moment(one.until);
    let note = if one.note.is_empty() { String::new() } else { format!(": {}", one.note) };
    layout.item(
        0,
        &text::pad(&one.id.to_string(), 4, true),
        Emphasis::Strong,
        format!("{}{note}", one.pattern),
    );
    layout.text(5, format!("until {until}, {} more", words::lasted(one.until - now, EN)), Emphasis::Plain);
    for covered in one.covers.iter().take(MOST_COVERED) {
        layout.text(5, format!("{}  {}", covered.key, covered.title), Emphasis::Faint);
    }
    match one.covers.len() {
        0 => layout.text(5, "nothing that is open now", Emphasis::Faint),
        count if count > MOST_COVERED => {
            layout.text(
                5,
                format!("{} that are open", words::more(count - MOST_COVERED, EN)),
                Emphasis::Faint,
            );
        }
        _ => {}
    }
}

impl WhyRecord {
    /// The text.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut layout = Layout::new(style);
        let reader = Reader::english(self.time_zone, self.generated_at);
        layout.heading(if self.title.is_empty() { self.key.to_string() } else { self.title.clone() });
        if let Some(row) = &self.incident {
            layout.text(2, format!("{}, {}", row.severity, stands(row, reader)), Emphasis::Plain);
        }
        if !self.title.is_empty() {
            layout.text(2, self.key.to_string(), Emphasis::Faint);
        }
        if !self.decisions.is_empty() {
            layout.heading("What was decided");
        }
        let moments: Vec<String> = self.decisions.iter().map(|one| reader.moment(one.at)).collect();
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
