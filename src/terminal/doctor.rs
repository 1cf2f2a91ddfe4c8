//! `hostwatch doctor`: what was tried, how it went, and what to do. Pure.

use super::Answer;
use super::layout::{Layout, Style, Tone};

/// How a check went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Ok,
    /// Works, and should be looked at.
    Warn,
    /// Something that is needed does not work.
    Fail,
    /// Not tried: it is off, or cannot be had.
    Skip,
}

impl Outcome {
    fn word(self) -> (&'static str, Tone) {
        match self {
            Self::Ok => ("ok", Tone::Good),
            Self::Warn => ("warn", Tone::Warn),
            Self::Fail => ("FAIL", Tone::Bad),
            Self::Skip => ("-", Tone::Faint),
        }
    }
}

/// One thing that was tried.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub what: String,
    pub outcome: Outcome,
    pub says: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Check {
    pub(crate) fn new(what: impl Into<String>, outcome: Outcome, says: impl Into<String>) -> Self {
        Self { what: what.into(), outcome, says: says.into(), remedy: None }
    }

    /// The same with what to do.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Checks that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub title: String,
    pub checks: Vec<Check>,
}

/// Needs somebody where something that is needed does not work.
pub(crate) fn answer(sections: &[Section]) -> Answer {
    let mut checks = sections.iter().flat_map(|section| &section.checks);
    if checks.any(|check| check.outcome == Outcome::Fail) { Answer::NeedsYou } else { Answer::Fine }
}

/// The table, and below it how many of each there are.
pub(crate) fn text(sections: &[Section], style: Style) -> String {
    let mut layout = Layout::new(style);
    for section in sections {
        layout.heading(&section.title);
        let checks = section.checks.iter().map(|check| {
            let (word, tone) = check.outcome.word();
            let says = match &check.remedy {
                Some(remedy) => vec![check.says.as_str(), remedy.as_str()],
                None => vec![check.says.as_str()],
            };
            (word, tone, check.what.as_str(), says)
        });
        layout.findings(&checks.collect::<Vec<_>>());
    }
    let all = || sections.iter().flat_map(|section| &section.checks);
    let count = |outcome| all().filter(|check| check.outcome == outcome).count();
    let (failed, warned) = (count(Outcome::Fail), count(Outcome::Warn));
    layout.text(0, "", Tone::Plain);
    let tone = if failed > 0 {
        Tone::Bad
    } else if warned > 0 {
        Tone::Warn
    } else {
        Tone::Good
    };
    layout.text(0, format!("{} ok, {warned} to look at, {failed} failed", count(Outcome::Ok)), tone);
    layout.finish()
}
