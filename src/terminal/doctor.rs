//! `hostwatch doctor` as text: the checks, their results, and remedies. Pure.

use super::layout::{Cell, Emphasis, Layout, Style};
use super::{Answer, text};
use crate::view::words;

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckOutcome {
    Ok,
    /// Works, but deserves attention.
    Warn,
    /// A necessary part does not work.
    Fail,
    /// Not tried, because it is off or not available.
    Skip,
}

impl CheckOutcome {
    fn word(self) -> (&'static str, Emphasis) {
        match self {
            Self::Ok => ("ok", Emphasis::Good),
            Self::Warn => ("warn", Emphasis::Warn),
            Self::Fail => ("FAIL", Emphasis::Bad),
            Self::Skip => ("-", Emphasis::Faint),
        }
    }
}

/// The verdict of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckVerdict {
    pub outcome: CheckOutcome,
    pub says: String,
    /// The remedy.
    pub remedy: Option<String>,
}

impl CheckVerdict {
    pub(crate) fn ok(says: impl Into<String>) -> Self {
        Self { outcome: CheckOutcome::Ok, says: says.into(), remedy: None }
    }

    pub(crate) fn warn(says: impl Into<String>) -> Self {
        Self { outcome: CheckOutcome::Warn, ..Self::ok(says) }
    }

    pub(crate) fn fail(says: impl Into<String>) -> Self {
        Self { outcome: CheckOutcome::Fail, ..Self::ok(says) }
    }

    pub(crate) fn skip(says: impl Into<String>) -> Self {
        Self { outcome: CheckOutcome::Skip, ..Self::ok(says) }
    }

    /// The verdict with a remedy.
    pub(crate) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Checks that belong together, by name.
#[derive(Clone, Debug)]
pub(crate) struct CheckSection {
    pub title: String,
    pub checks: Vec<(String, CheckVerdict)>,
    /// Lines to copy into the configuration.
    pub paste: Vec<String>,
}

impl CheckSection {
    pub(crate) fn new(title: impl Into<String>, checks: Vec<(String, CheckVerdict)>) -> Self {
        Self { title: title.into(), checks, paste: Vec::new() }
    }
}

fn count(sections: &[CheckSection], outcome: CheckOutcome) -> usize {
    let checks = sections.iter().flat_map(|section| &section.checks);
    checks.filter(|(_, verdict)| verdict.outcome == outcome).count()
}

/// `NeedsYou` if a necessary part does not work.
pub(crate) fn answer(sections: &[CheckSection]) -> Answer {
    if count(sections, CheckOutcome::Fail) > 0 { Answer::NeedsYou } else { Answer::Fine }
}

/// The table, and below it the number of each result.
pub(crate) fn text(sections: &[CheckSection], style: Style) -> String {
    let mut layout = Layout::new(style);
    for section in sections {
        layout.heading(&section.title);
        let checks = section.checks.iter().flat_map(|(name, verdict)| {
            let (word, tone) = verdict.outcome.word();
            let label = text::pad(word, 6, false) + &text::plain(name);
            let remedy = verdict.remedy.as_ref().map(|remedy| Cell::new(format!("→ {remedy}")));
            let remedy = remedy.map(|remedy| (String::new(), tone, remedy));
            [(label, tone, Cell::new(&verdict.says))].into_iter().chain(remedy)
        });
        layout.labelled(&checks.collect::<Vec<_>>());
        if !section.paste.is_empty() {
            layout.text(0, "", Emphasis::Plain);
        }
        for line in &section.paste {
            layout.text(0, line, Emphasis::Plain);
        }
    }
    let [ok, warned, failed] =
        [CheckOutcome::Ok, CheckOutcome::Warn, CheckOutcome::Fail].map(|outcome| count(sections, outcome));
    let tone = match (failed, warned) {
        (0, 0) => Emphasis::Good,
        (0, _) => Emphasis::Warn,
        _ => Emphasis::Bad,
    };
    layout.text(0, "", Emphasis::Plain);
    layout.text(
        0,
        format!("{ok} ok, {}, {failed} failed", words::count(warned, "warning", "warnings")),
        tone,
    );
    layout.finish()
}
