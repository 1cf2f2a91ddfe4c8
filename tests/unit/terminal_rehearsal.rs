//! `hostwatch rehearse` as text.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use crate::alert::Severity;
use crate::model::forecast::Disconnect;
use crate::terminal::rehearsal::{Mail, Rehearsal, text};
use crate::terminal::{Answer, Style};
use account::*;

fn rehearsal() -> Rehearsal {
    let mail = |at: &str, severity: Severity, lead: &str| Mail {
        at: t(at),
        severity,
        subject: "[WARNING] main: Account main will be disconnected \u{1b}[2Jfor non-payment".into(),
        lead: lead.into(),
        to: vec!["ops@example.com".into(), "accounting@example.com".into()],
    };
    Rehearsal {
        account: "main".into(),
        zone: chrono_tz::Europe::Moscow,
        now: read_at(),
        supposed_days: None,
        is_mailed: true,
        disconnect: Ok(Disconnect::At { at: t("2026-03-07T11:00:00"), computed: true }),
        mails: vec![
            mail(
                "2026-03-01T12:00:00",
                Severity::Warning,
                "Cut-off Sat 7 Mar 14:00 MSK: pay 275 RUB by Tue 3 Mar for 30 days, at least 45 RUB for 7 days (account main).",
            ),
            mail(
                "2026-03-07T11:00:00",
                Severity::Critical,
                "OVERDUE since Sat 7 Mar 14:00 MSK: pay now; the amount is not known (account main).",
            ),
        ],
    }
}

fn quiet(disconnect: Result<Disconnect, String>) -> Rehearsal {
    Rehearsal { disconnect, mails: Vec::new(), ..rehearsal() }
}

#[test]
fn the_mails_to_come() {
    let narrow = text(&[rehearsal()], Style { width: 40, colour: false });
    assert!(narrow.lines().all(|line| line.chars().count() <= 40));
    let coloured = text(&[rehearsal()], Style { width: 80, colour: true });
    insta::assert_snapshot!("rehearsal_colour", coloured.replace('\u{1b}', "␛"));
}

#[test]
fn no_mails_to_come() {
    let supposed = Rehearsal { supposed_days: Some(1), ..quiet(rehearsal().disconnect) };
    let table = [
        (supposed, Answer::NeedsYou),
        (quiet(Ok(Disconnect::Now)), Answer::NeedsYou),
        (quiet(Ok(Disconnect::NotExpected)), Answer::Fine),
        (Rehearsal { is_mailed: false, ..quiet(Ok(Disconnect::NotExpected)) }, Answer::Fine),
        (quiet(Ok(Disconnect::Unknown)), Answer::Unknown),
        (quiet(Err("billing is off; set billing_username".into())), Answer::Unknown),
    ];
    for (rehearsal, answer) in &table {
        assert_eq!(rehearsal.answer(), *answer, "{:?}", rehearsal.disconnect);
    }
    let all: Vec<Rehearsal> = table.into_iter().map(|(rehearsal, _)| rehearsal).collect();
    insta::assert_snapshot!("rehearsal_quiet_80", text(&all, Style { width: 80, colour: false }));
}
