//! `hostwatch rehearse` as text: the mails to come, sorted by time. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::Answer;
use super::layout::{Emphasis, Layout, Style};
use super::words::severity;
use crate::alert::Severity;
use crate::model::forecast::Disconnect;
use crate::view::{Reader, words};

/// The rehearsal of one account.
#[derive(Clone, Debug)]
pub(crate) struct Rehearsal {
    pub account: String,
    pub zone: Tz,
    pub now: DateTime<Utc>,
    /// The supposed number of days that the money lasts, if the real report does not decide.
    pub supposed_days: Option<u32>,
    /// Whether there is a way to mail, and the balance is polled.
    pub is_mailed: bool,
    /// `Err` holds the reason why nothing is known.
    pub disconnect: Result<Disconnect, String>,
    pub mails: Vec<Mail>,
}

/// One mail to come.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub at: DateTime<Utc>,
    pub severity: Severity,
    pub subject: String,
    /// The first line.
    pub lead: String,
    pub to: Vec<String>,
}

impl Rehearsal {
    /// `NeedsYou` if a cut-off is ahead and nobody would be told.
    pub(crate) fn answer(&self) -> Answer {
        match self.disconnect {
            Ok(Disconnect::At { .. } | Disconnect::Now) if self.mails.is_empty() => Answer::NeedsYou,
            Ok(Disconnect::At { .. } | Disconnect::Now | Disconnect::NotExpected) => Answer::Fine,
            Ok(Disconnect::Unknown) | Err(_) => Answer::Unknown,
        }
    }

    fn reader(&self) -> Reader {
        Reader::english(self.zone, self.now)
    }

    fn write(&self, layout: &mut Layout) {
        let name = &self.account;
        let supposed = match self.supposed_days {
            Some(days) => {
                format!(", if the money lasts {}", words::count(days as usize, "day", "days"))
            }
            None => String::new(),
        };
        let heading = match &self.disconnect {
            Ok(Disconnect::At { at, .. }) => {
                format!("{name}: cut-off {}{supposed}", self.reader().moment(*at))
            }
            Ok(Disconnect::Now) => format!("{name}: the balance is used up{supposed}"),
            Ok(Disconnect::NotExpected) => format!("{name}: no cut-off is expected"),
            Ok(Disconnect::Unknown) => format!("{name}: the report does not tell whether it will be cut off"),
            Err(_) => format!("{name}: not known"),
        };
        layout.heading(heading);
        if let Err(error) = &self.disconnect {
            layout.item(2, "?", Emphasis::Warn, error);
        }
        for mail in &self.mails {
            self.mail(layout, mail);
        }
        match &self.disconnect {
            _ if !self.is_mailed => {
                let nobody = "Nobody is mailed about it: that takes [email] and schedule.expected_balance.";
                layout.item(2, "!", Emphasis::Warn, nobody);
            }
            Ok(Disconnect::NotExpected) if self.mails.is_empty() => {
                layout.text(
                    2,
                    "No mail is to come. To try one: hostwatch rehearse --days 10",
                    Emphasis::Plain,
                );
            }
            Ok(Disconnect::Unknown) if self.mails.is_empty() => {
                let dateless =
                    "After an hour of such reports a mail says that the cut-off date is not known.";
                layout.item(2, "!", Emphasis::Warn, dateless);
            }
            Ok(_) if self.mails.is_empty() => layout.item(2, "✕", Emphasis::Bad, "No mail is to come."),
            _ => {}
        }
    }

    fn mail(&self, layout: &mut Layout, mail: &Mail) {
        let ((sign, tone), reader) = (severity(mail.severity), self.reader());
        let when = reader.moment(mail.at);
        let distance = if mail.at <= self.now { "now".to_owned() } else { reader.distance(mail.at) };
        layout.item(2, sign, tone, format!("{when} ({distance}), {}", mail.severity));
        layout.text(4, &mail.subject, Emphasis::Strong);
        layout.text(4, &mail.lead, Emphasis::Plain);
        layout.text(4, format!("to {}", mail.to.join(", ")), Emphasis::Plain);
    }
}

/// The text of all.
pub(crate) fn text(rehearsals: &[Rehearsal], style: Style) -> String {
    let mut layout = Layout::new(style);
    for rehearsal in rehearsals {
        rehearsal.write(&mut layout);
    }
    if rehearsals.iter().any(|rehearsal| !rehearsal.mails.is_empty()) {
        layout.text(0, "", Emphasis::Plain);
        let note = "If nobody pays and nothing else changes. Nothing was sent or stored; a daemon that runs does not \
                    mail again what it has mailed.";
        layout.text(0, note, Emphasis::Faint);
    }
    layout.finish()
}
