//! Problems as cards: one card for each cause, the worst first, money first among equals. A covered problem is
//! listed in the card of its cause, and problems of the same sort share a card. Pure.

use std::collections::BTreeMap;

use chrono::Duration;
use serde::{Deserialize, Serialize};

use super::advice;
use super::billing::Due;
use super::cut_off::{self, CutOff};
use super::headline::problem;
use super::incidents::{self, IncidentRow};
use super::links::Link;
use super::payer::Payer;
use super::reader::Reader;
use super::sentence::Problem;
use super::words;
use crate::alert::{Key, Kind, Phase, Severity};
use crate::model::{AccountState, Language, account_of, sanitize, say};

/// The number of cards on a page, unless all are asked for.
const FIRST: usize = 10;
/// The number of cards if all are asked for. Nobody reads more in a browser.
const MOST: usize = 200;
/// The number of names on a card; `MOST_NAMES` if all cards are asked for.
const NAMES: usize = 3;
const MOST_NAMES: usize = 100;

/// The cards of one page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cards {
    pub shown: Vec<Card>,
    /// The number of cards that are not shown.
    pub more: usize,
    /// The number of open incidents, on shown cards or not.
    pub open: usize,
}

/// The incidents of one card.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// The key of the worst incident.
    pub key: Key,
    /// `None` if nobody has to act.
    pub urgency: Option<Severity>,
    /// `26 sites in error in agency`.
    pub title: String,
    /// `Acknowledged Tue 24 Nov 07:15 MSK: Ann is on it`, `Not confirmed yet`.
    pub stage: Option<String>,
    /// `Since Tue 24 Nov 07:15 MSK (23 min)`.
    pub since: String,
    /// Hints for finding it in the provider's panel.
    pub place: Option<String>,
    /// The observation, if the title does not show it.
    pub detail: Option<String>,
    /// The advice.
    pub advice: &'static str,
    /// For a cut-off: the amounts and where to pay.
    pub payment: Option<Payment>,
    /// Somebody acknowledged it.
    pub acknowledged: bool,
    /// If the card is about several incidents: their names.
    pub alike: Names,
    /// The incidents that it covers.
    pub covers: Names,
}

/// The lines about paying on the card of a cut-off.
#[derive(Clone, Debug)]
pub(crate) struct Payment {
    /// `Pay by Wed 25 Nov: 45 RUB for 7 days, 275 RUB for 30 days, 875 RUB for 90 days`.
    pub amounts: String,
    /// The links to pay and to the provider's panel.
    pub pay: Option<Link>,
    pub panel: Option<Link>,
    /// The note of the account's owner.
    pub note: Option<String>,
    /// `Data deleted Tue 1 Dec 12:00 MSK, in 5 d`.
    pub deletion: Option<String>,
}

/// The first names of several, and their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub shown: Vec<NamedIncident>,
    pub count: usize,
}

/// One incident with its title, or its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedIncident {
    pub key: Key,
    pub title: String,
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
    /// The cards of these accounts: the first ten, or `all`.
    pub(crate) fn of(
        accounts: &[&AccountState],
        incidents: &[&IncidentRow],
        all: bool,
        reader: Reader,
    ) -> Self {
        let drafts = Draft::of(accounts, incidents, reader);
        let most = if all { MOST } else { FIRST };
        let names = if all { MOST_NAMES } else { NAMES };
        Self {
            shown: drafts.iter().take(most).map(|draft| draft.card(accounts, names, reader)).collect(),
            more: drafts.len().saturating_sub(most),
            open: incidents.iter().filter(|row| row.is_open()).count(),
        }
    }

    /// The card of one incident alone, even if another incident covers it.
    pub(crate) fn one(row: &IncidentRow, accounts: &[&AccountState], reader: Reader) -> Card {
        Draft::new(row, accounts, reader.language).card(accounts, MOST_NAMES, reader)
    }
}

/// A card, before it is decided whether it is shown.
struct Draft<'a> {
    worst: &'a IncidentRow,
    problem: Problem<'a>,
    alike: Vec<NamedIncident>,
    covers: Vec<NamedIncident>,
}

impl<'a> Draft<'a> {
    fn new(row: &'a IncidentRow, accounts: &[&AccountState], language: Language) -> Self {
        let alike = vec![named(row, &row.name_in(language))];
        Self { worst: row, problem: problem(row, accounts), alike, covers: Vec::new() }
    }

    /// Drafts, the worst first: problems that need somebody, acknowledged problems, unconfirmed ones.
    fn of(accounts: &[&AccountState], incidents: &[&'a IncidentRow], reader: Reader) -> Vec<Self> {
        let Reader { language, now, .. } = reader;
        let roots = incidents::roots(incidents);
        let mut covered: BTreeMap<&Key, Vec<NamedIncident>> = BTreeMap::new();
        let mut rows: Vec<&IncidentRow> = Vec::new();
        for row in incidents.iter().copied().filter(|row| row.is_open() || row.phase == Phase::Pending) {
            match row.root(&roots) {
                Some(cause) => {
                    covered.entry(&cause.key).or_default().push(named(row, &row.title_in(language)));
                }
                None => rows.push(row),
            }
        }
        rows.sort_by(|a, b| a.order(now).cmp(&b.order(now)));
        let mut drafts: Vec<Self> = Vec::new();
        for row in rows {
            let covers = covered.remove(&row.key).unwrap_or_default();
            let next = Self::new(row, accounts, language);
            let alike = |draft: &&mut Self| {
                draft.covers.is_empty()
                    && draft.worst.rank(now) == row.rank(now)
                    && draft.worst.decided.note == row.decided.note
                    && draft.problem.is_like(&next.problem)
            };
            match drafts.iter_mut().find(alike).filter(|_| covers.is_empty() && row.kind.sort().is_some()) {
                Some(draft) => {
                    draft.alike.extend(next.alike);
                    draft.problem.count += 1;
                }
                None => drafts.push(Self { covers, ..next }),
            }
        }
        drafts
    }

    fn card(&self, accounts: &[&AccountState], names: usize, reader: Reader) -> Card {
        let row = self.worst;
        let state = account_of(accounts, &row.account);
        let reader @ Reader { language, now, .. } = reader.of(state);
        let count = self.alike.len();
        // The duration of a problem that has only just begun is not worth showing.
        let lasted =
            (now - row.since >= Duration::minutes(1)).then(|| format!(" ({})", reader.age(row.since)));
        let since = reader.since(row.since) + &lasted.unwrap_or_default();
        let place = state.and_then(|state| advice::which(&row.key, state, language));
        let stages: Vec<String> =
            row.decided.words(reader).into_iter().chain(stage(row, language).map(str::to_owned)).collect();
        Card {
            key: row.key.clone(),
            urgency: row.needs_you(now).then_some(row.severity),
            title: self.title(state, reader),
            stage: Some(words::capital(&stages.join(", "))).filter(|words| !words.is_empty()),
            since: match count > 1 {
                true => say!(language, "The last {since}", "Последняя — {since}"),
                false => words::capital(&since),
            },
            place: place.filter(|_| count == 1).map(|(_, which)| which),
            // Other titles show the observation.
            detail: (row.kind.sort().is_none() && row.kind != Kind::Disconnect)
                .then(|| sanitize::one_line(&words::capital(&row.reason_in(language)), 300)),
            advice: if row.phase == Phase::Recovering {
                language.pick(
                    "It works again. The incident ends if it stays so.",
                    "Снова работает. Проблема закроется, если так и останется.",
                )
            } else {
                advice::of(&row.key, state, language)
            },
            payment: state.and_then(|state| Payment::of(row, state, reader)),
            acknowledged: row.decided.acknowledged,
            alike: if count > 1 { Names::of(&self.alike, names) } else { Names::default() },
            covers: Names::of(&self.covers, names),
        }
    }

    fn title(&self, state: Option<&AccountState>, reader: Reader) -> String {
        let language = reader.language;
        match (self.worst.cut_off, state) {
            (Some(disconnect), Some(state)) if self.worst.kind == Kind::Disconnect => {
                words::capital(&CutOff::of(disconnect, Payer::of(state, reader)).sentence())
            }
            _ if self.alike.len() == 1 => self.worst.title_in(language),
            _ => words::capital(&self.problem.text(language)),
        }
    }
}

impl Payment {
    /// The payment lines; `None` if the incident is no cut-off.
    fn of(row: &IncidentRow, state: &AccountState, reader: Reader) -> Option<Self> {
        let disconnect = row.cut_off.filter(|_| row.kind == Kind::Disconnect)?;
        let payer = Payer::of(state, reader);
        let (by, language) = (cut_off::by(payer.by(disconnect), reader), reader.language);
        let amount = |due: Due| {
            let amount = words::known_to_pay(due.amount, payer.currency, language);
            let days = language.count(due.days as usize, words::DAYS);
            say!(language, "{amount} for {days}", "{amount} на {days}")
        };
        let amounts = match payer.report {
            Some(report) => Due::of(report, reader.now).map(amount).join(", "),
            None => language
                .pick(
                    "how much is not known, no report could be read yet",
                    "сумма неизвестна — отчёт получить не удалось",
                )
                .to_owned(),
        };
        let guide = &state.profile.guide;
        Some(Self {
            amounts: say!(language, "Pay {by}: {amounts}", "Оплатите {by}: {amounts}"),
            pay: Link::pay(guide, language),
            panel: Link::panel(guide, None, language),
            note: guide.pay_note.clone(),
            deletion: row.deleted_at.map(|at| reader.deletion(at)),
        })
    }
}

fn named(row: &IncidentRow, title: &str) -> NamedIncident {
    NamedIncident { key: row.key.clone(), title: sanitize::one_line(title, 80) }
}

fn stage(row: &IncidentRow, language: Language) -> Option<&'static str> {
    match row.phase {
        Phase::Pending => Some(language.pick("not confirmed yet", "ещё не подтверждено")),
        Phase::Recovering => Some(language.pick("recovering", "восстанавливается")),
        Phase::Firing | Phase::Resolved | Phase::Removed | Phase::Unwatched => None,
    }
}
