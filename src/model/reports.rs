//! The reports of an account as they follow each other: the last one that proves something, and what newer ones leave
//! open. Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::billing::Report;
use super::forecast::{self, Disconnect, Doubt};

/// The last good report that proves something, and the one before it, which may come from before the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    pub report: Option<Arc<Report>>,
    pub read_at: Option<DateTime<Utc>>,
    pub previous: Option<Arc<Report>>,
    /// Until the first report since the start: the last report from before it, and its time. It counts for
    /// payments and drops of the balance, and its cut-off stands; other rules and metrics only use reports since the start.
    pub remembered: Option<(Arc<Report>, DateTime<Utc>)>,
    /// A newer report that names no cut-off while one is known and proves nothing, or that carries an error: no amount
    /// is based on it.
    pub doubted: Option<(Arc<Report>, DateTime<Utc>)>,
    /// The time since when reports are without any charge.
    pub bare_since: Option<DateTime<Utc>>,
    /// The last reports in a row neither name a cut-off nor prove that there is none.
    pub dateless: Option<Dateless>,
}

/// Reports in a row that neither name a cut-off nor prove that there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dateless {
    /// The time of the first of them.
    pub since: DateTime<Utc>,
    /// The reason why the last of them is no proof.
    pub doubt: Doubt,
    /// The cut-off that is known beside them.
    pub known: Option<DateTime<Utc>>,
}

/// The belief in an account's cut-off until it is over, since one good report does not end it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Believed {
    pub cut_off: Option<Disconnect>,
    /// The time since when reports are without any charge, including the time before the start.
    pub bare_since: Option<DateTime<Utc>>,
    /// A report was read before, perhaps before the start.
    pub was_read: bool,
}

impl Reports {
    /// Takes in a report that was read at `at`.
    pub(super) fn take(&mut self, report: Arc<Report>, believed: Believed, at: DateTime<Utc>) {
        // The first report of all contradicts none before it.
        let is_first = self.latest().is_none() && self.remembered.is_none() && !believed.was_read;
        let since = if is_first { at - forecast::BARE } else { at };
        let bare_since = believed.bare_since.or(self.bare_since).unwrap_or(since);
        self.bare_since = forecast::is_bare(&report).then_some(bare_since);
        let is_new_bare = self.bare_since.is_some_and(|since| at - since < forecast::BARE);
        let known =
            self.last_known().map(|(kept, _)| believed.cut_off.unwrap_or_else(|| forecast::disconnect(kept)));
        let doubt = forecast::proves_nothing(&report, known.unwrap_or(Disconnect::Unknown), is_new_bare);
        self.dateless = doubt.map(|doubt| Dateless {
            since: self.dateless.map_or(at, |dateless| dateless.since),
            doubt,
            known: known.and_then(Disconnect::at),
        });
        let contradicts = |known: Disconnect| known.is_cut_off() && doubt.is_some();
        if known.is_some_and(|known| report.error.is_some() || contradicts(known)) {
            if self.report.is_none() {
                (self.report, self.read_at) = self.remembered.take().unzip();
            }
            self.doubted = Some((report, at));
        } else {
            let remembered = self.remembered.take().map(|(report, _)| report);
            self.previous = self.report.replace(report).or(remembered);
            (self.read_at, self.doubted) = (Some(at), None);
        }
        self.remembered = None;
    }

    /// The last report since the start, of any worth.
    pub(crate) fn latest(&self) -> Option<(&Arc<Report>, DateTime<Utc>)> {
        let doubted = self.doubted.as_ref().map(|(report, at)| (report, *at));
        doubted.or_else(|| self.report.as_ref().zip(self.read_at))
    }

    /// The time of the last report, if that tells of the cut-off or proves that there is none.
    pub(crate) fn told_at(&self) -> Option<DateTime<Utc>> {
        self.read_at.filter(|_| self.doubted.is_none() && self.dateless.is_none())
    }

    /// The time of the report that mails are based on, if a newer one contradicts it without a proof, or carries an error.
    pub(crate) fn unconfirmed(&self) -> Option<DateTime<Utc>> {
        self.read_at.filter(|_| self.doubted.is_some())
    }

    /// The cut-off by the last known report, or by a newer one with an error if that names one.
    pub(crate) fn disconnect(&self) -> Option<Disconnect> {
        let newest = self.doubted.as_ref().map(|(report, _)| forecast::disconnect(report));
        let known = self.last_known().map(|(report, _)| forecast::disconnect(report));
        newest.filter(|newest| newest.at().is_some()).or(known)
    }

    /// The error of the newest report.
    pub(crate) fn error(&self) -> Option<&str> {
        self.latest()?.0.error.as_deref()
    }

    /// The last known report and its time, on which mails are based.
    pub(crate) fn last_known(&self) -> Option<(&Report, DateTime<Utc>)> {
        let read = self.report.as_deref().zip(self.read_at);
        read.or_else(|| self.remembered.as_ref().map(|(report, at)| (&**report, *at)))
    }

    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let Self { report: _, read_at, previous: _, remembered, doubted, bare_since, dateless } = self;
        let reports = remembered.iter_mut().chain(doubted).map(|(_, at)| at);
        let dateless = dateless.iter_mut().map(|dateless| &mut dateless.since);
        read_at.iter_mut().chain(bare_since).chain(dateless).chain(reports)
    }
}
