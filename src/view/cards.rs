//! Problems as cards: one for what has one cause, the worst first, money before all. What is covered by another stands
//! in its card; what is alike stands in one. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use super::advice;
use super::billing::Due;
use super::causes::Causes;
use super::cut_off::{self, CutOff, Payer};
use super::headline::problem;
use super::incidents::IncidentRow;
use super::links::Link;
use super::sentence::{Problem, ProblemGroup};
use super::words;
use crate::alert::{Key, Kind, Phase, Severity};
use crate::model::{AccountState, PayBy, sanitize};

/// The cards that are shown unless all are asked for.
const FIRST: usize = 10;
/// All of them: more nobody reads in a browser.
const MOST: usize = 200;
/// The names on a card, and on one of all cards.
const NAMES: usize = 3;
const MOST_NAMES: usize = 100;

/// The cards of one page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cards {
    pub shown: Vec<Card>,
    /// Cards that are not shown.
    pub more: usize,
    /// Open incidents, on whatever card.
    pub open: usize,
}

/// Incidents that one card speaks of.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// Of the worst of them.
    pub key: Key,
    /// `None` where nobody is needed.
    pub urgency: Option<Severity>,
    /// `26 sites in error in agency`.
    pub title: String,
    /// `Acknowledged Tue 24 Nov 07:15 MSK: Ann is on it`, `Not confirmed yet`.
    pub stage: Option<String>,
    /// `Since Tue 24 Nov 07:15 MSK (23 min)`.
    pub since: String,
    /// What helps to find it in the provider's panel.
    pub place: Option<String>,
    /// What was seen, where the title does not say it.
    pub detail: Option<String>,
    /// What to do.
    pub advice: Cow<'static, str>,
    /// Of a cut-off: what to pay, and where.
    pub payment: Option<Payment>,
    /// Somebody took it on.
    pub acknowledged: bool,
    /// Where the card is about several: their names.
    pub alike: Names,
    /// What it covers.
    pub covers: Names,
}

/// What the card of a cut-off says of paying.
#[derive(Clone, Debug)]
pub(crate) struct Payment {
    /// `Pay by Wed 25 Nov: 45 RUB for 7 days, 275 RUB for 30 days, 875 RUB for 90 days`.
    pub amounts: String,
    /// Where one pays, and the provider's panel.
    pub links: Vec<Link>,
    /// Of the account's owner.
    pub note: Option<String>,
    /// `Data deleted Tue 1 Dec 12:00 MSK, in 5 d`.
    pub deletion: Option<String>,
}

/// Some names, and how many there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub shown: Vec<NamedIncident>,
    pub count: usize,
}

/// One incident by its name.
#[derive(Clone, Debug)]
pub(crate) struct NamedIncident {
    pub key: Key,
    pub name: String,
}

impl Names {
    fn of(all: &[NamedIncident], most: usize) -> Self {
        Self { shown: all.iter().take(most).cloned().collect(), count: all.len() }
    }

    pub(crate) fn more(&self) -> usize {
        self.count - self.shown.len()
    }
}

impl Cards {
    /// Of accounts together; the first ten, unless `all` are asked for.
    pub(crate) fn of(
        accounts: &[&AccountState],
        incidents: &[&IncidentRow],
        all: bool,
        now: DateTime<Utc>,
    ) -> Self {
        let drafts = Draft::of(accounts, incidents, now);
        let most = if all { MOST } else { FIRST };
        let names = if all { MOST_NAMES } else { NAMES };
        Self {
            shown: drafts.iter().take(most).map(|draft| draft.card(accounts, names, now)).collect(),
            more: drafts.len().saturating_sub(most),
            open: incidents.iter().filter(|row| row.is_open()).count(),
        }
    }

    /// The card of one incident alone, whoever covers it.
    pub(crate) fn one(row: &IncidentRow, accounts: &[&AccountState], now: DateTime<Utc>) -> Card {
        Draft::new(row, accounts).card(accounts, MOST_NAMES, now)
    }

    /// Does a card of these stand for this incident?
    pub(crate) fn show(&self, key: &Key) -> bool {
        let names = |card: &Card, key: &Key| {
            card.alike
                .shown
                .iter()
                .chain(&card.covers.shown)
                .any(|one| one.key == *key && one.key.kind.sort().is_some())
        };
        self.shown.iter().any(|card| card.key == *key || names(card, key))
    }
}

/// A card before it is known whether it is shown.
struct Draft<'a> {
    worst: &'a IncidentRow,
    problem: Problem<'a>,
    alike: Vec<NamedIncident>,
    covers: Vec<NamedIncident>,
}

impl<'a> Draft<'a> {
    fn new(row: &'a IncidentRow, accounts: &[&AccountState]) -> Self {
        let alike = vec![named(row, &row.resource_name)];
        Self { worst: row, problem: problem(row, accounts), alike, covers: Vec::new() }
    }

    /// The worst first: cut-offs, what needs somebody, what somebody looks after, what is not confirmed yet.
    fn of(accounts: &[&AccountState], incidents: &[&'a IncidentRow], now: DateTime<Utc>) -> Vec<Self> {
        let causes = Causes::among(accounts, incidents);
        let mut covered: BTreeMap<&Key, Vec<NamedIncident>> = BTreeMap::new();
        let mut rows: Vec<&IncidentRow> = Vec::new();
        for row in incidents.iter().copied().filter(|row| row.is_open() || row.phase == Phase::Pending) {
            match causes.of(row) {
                Some(cause) => covered.entry(&cause.key).or_default().push(named(row, &row.title)),
                None => rows.push(row),
            }
        }
        rows.sort_by(|a, b| a.order(now).cmp(&b.order(now)));
        let mut drafts: Vec<Self> = Vec::new();
        for row in rows {
            let covers = covered.remove(&row.key).unwrap_or_default();
            let next = Self::new(row, accounts);
            let alike = |draft: &&mut Self| {
                draft.covers.is_empty()
                    && draft.worst.rank(now) == row.rank(now)
                    && draft.worst.note == row.note
                    && draft.problem.is_like(&next.problem)
            };
            match drafts.iter_mut().find(alike).filter(|_| covers.is_empty() && row.kind.sort().is_some()) {
                Some(draft) => draft.alike.extend(next.alike),
                None => drafts.push(Self { covers, ..next }),
            }
        }
        drafts
    }

    fn card(&self, accounts: &[&AccountState], names: usize, now: DateTime<Utc>) -> Card {
        let row = self.worst;
        let state = accounts.iter().find(|state| state.profile.name == row.account).copied();
        let zone = state.map_or(chrono_tz::Tz::UTC, |state| state.profile.zone());
        let count = self.alike.len();
        let lasted = now - row.since;
        // Of what has only just begun how long it lasts is no news.
        let lasted = (lasted >= Duration::minutes(1)).then(|| format!(" ({})", words::lasted(lasted)));
        let since = words::sentence_moment(row.since, zone, now) + &lasted.unwrap_or_default();
        let place = state.and_then(|state| advice::which(&row.key, state));
        let stages: Vec<String> =
            row.looked_after_words(zone, now).into_iter().chain(stage(row).map(str::to_owned)).collect();
        Card {
            key: row.key.clone(),
            urgency: row.needs_you(now).then_some(row.severity),
            title: self.title(state, now),
            stage: Some(words::capital(&stages.join(", "))).filter(|words| !words.is_empty()),
            since: if count > 1 { format!("The last since {since}") } else { format!("Since {since}") },
            place: place.filter(|_| count == 1).map(|which| which.beside_its_name()),
            detail: says_more(row.kind).then(|| sanitize::one_line(&words::capital(&row.reason), 300)),
            advice: advice::of(&row.key, state),
            payment: state.and_then(|state| Payment::of(row, state, now)),
            acknowledged: row.acknowledged,
            alike: if count > 1 { Names::of(&self.alike, names) } else { Names::default() },
            covers: Names::of(&self.covers, names),
        }
    }

    fn title(&self, state: Option<&AccountState>, now: DateTime<Utc>) -> String {
        match (self.worst.cut_off, state) {
            (Some(disconnect), Some(state)) if self.worst.kind == Kind::Disconnect => {
                CutOff::of(disconnect, Payer::of(state), now).sentence()
            }
            _ if self.alike.len() == 1 => self.worst.title.clone(),
            _ => ProblemGroup { first: self.problem.clone(), count: self.alike.len() }.text(),
        }
    }
}

impl Payment {
    /// `None` of what is no cut-off.
    fn of(row: &IncidentRow, state: &AccountState, now: DateTime<Utc>) -> Option<Self> {
        let disconnect = row.cut_off.filter(|_| row.kind == Kind::Disconnect)?;
        let profile = &state.profile;
        let zone = profile.zone();
        let by = cut_off::by(PayBy::of(disconnect, profile.lead_days, zone, now), zone, now);
        let amount = |due: Due| {
            let amount = words::known_to_pay(due.amount, &profile.currency);
            format!("{amount} for {} days", due.days)
        };
        let amounts = match state.billing.last_known() {
            Some((report, _)) => Due::of(report, now).map(amount).join(", "),
            None => "how much is not known, no report could be read yet".to_owned(),
        };
        let guide = &profile.guide;
        Some(Self {
            amounts: format!("Pay {by}: {amounts}"),
            links: Link::pay(guide).into_iter().chain(Link::panel(guide, None)).collect(),
            note: guide.pay_note.clone(),
            deletion: row.deleted_at.map(|at| words::deletion(at, zone, now)),
        })
    }
}

fn named(row: &IncidentRow, name: &str) -> NamedIncident {
    NamedIncident { key: row.key.clone(), name: sanitize::one_line(name, 80) }
}

/// What was seen is more than the title says.
fn says_more(kind: Kind) -> bool {
    kind.sort().is_none() && kind != Kind::Disconnect
}

fn stage(row: &IncidentRow) -> Option<&'static str> {
    match row.phase {
        Phase::Pending => Some("not confirmed yet"),
        Phase::Recovering => Some("recovering"),
        Phase::Watching | Phase::Firing | Phase::Resolved | Phase::Unwatched => None,
    }
}
