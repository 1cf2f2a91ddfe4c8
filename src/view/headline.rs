//! "Is everything fine?" in one sentence, and at most six lines: the worst first, money first among equals,
//! equal problems together. It says fine only if everything was read; otherwise it names what could not be
//! read. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cut_off::CutOff;
use super::health::not_known;
use super::incidents::{self, IncidentRow};
use super::payer::Payer;
use super::reader::Reader;
use super::said::{Line, Said, Topic};
use super::sentence::{self, Problem};
use super::words;
use crate::alert::{Key, Kind, Severity};
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountName, AccountState, Health, account_of, say};

/// The number of lines. Nobody reads more at a glance.
const MOST_LINES: usize = 6;

/// The state of everything. The numbers give the order of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Urgency {
    /// There is a problem.
    Attention = 0,
    /// All problems are acknowledged or silenced.
    Notice = 2,
    Fine = 3,
    /// Something is not known. A client also reads this from a word of a later version. The variant is last
    /// because serde requires it.
    #[serde(other)]
    Unknown = 1,
}

impl Urgency {
    /// A sign beside the sentence, for people who do not see the colour.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Attention => "✕",
            Self::Unknown => "?",
            Self::Notice => "!",
            Self::Fine => "✓",
        }
    }
}

/// The sentence and its lines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Headline {
    pub level: Urgency,
    pub sentence: String,
    /// The subject of the sentence, and other lines; the worst first.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// The highest severity among the lines that need somebody.
    #[serde(skip)]
    pub(super) worst: Option<Severity>,
}

/// All lines about accounts together.
struct Weighed {
    /// The lines that somebody has to act on: critical before warning, cut-offs first among equals, the soonest
    /// first.
    problems: Vec<Said>,
    unknown: Vec<Said>,
    /// Acknowledged and silenced problems.
    known: Vec<Said>,
    reader: Reader,
}

impl Headline {
    /// The headline of accounts together. `incidents` are theirs; `own` are the daemon's own problems.
    pub(super) fn of(
        accounts: &[&AccountState],
        incidents: &[&IncidentRow],
        own: &[Said],
        reader: Reader,
    ) -> Self {
        let language = reader.language;
        let found = Weighed::of(accounts, incidents, own, reader);
        let (level, sentence) = if !found.problems.is_empty() {
            (Urgency::Attention, found.sentence())
        } else if accounts.is_empty() {
            (
                Urgency::Unknown,
                language.pick("no account is configured", "ни один аккаунт не настроен").to_owned(),
            )
        } else if let Some((first, more)) = found.unknown.split_first() {
            let whose = found.unknown.iter().filter_map(|said| said.account.as_ref());
            let said = words::with_more(&first.part.text, more.len(), language);
            (Urgency::Unknown, said + &sentence::whose(whose, language))
        } else {
            found.no_problem(accounts)
        };
        let worst = found.problems.iter().map(|said| said.part.severity).max();
        Self { level, sentence: words::capital(&sentence), lines: found.lines(), worst }
    }
}

impl Weighed {
    fn of(accounts: &[&AccountState], incidents: &[&IncidentRow], own: &[Said], reader: Reader) -> Self {
        let now = reader.now;
        let mut found = Self { problems: own.to_vec(), unknown: Vec::new(), known: Vec::new(), reader };
        let cut_offs = accounts.iter();
        let mut cut_offs: Vec<AccountCutOff<'_>> =
            cut_offs.filter_map(|account| AccountCutOff::of(account, incidents, reader)).collect();
        cut_offs.sort_by_key(|cut_off| cut_off.soonest());
        for cut_off in cut_offs {
            let lines = if cut_off.is_problem { &mut found.problems } else { &mut found.known };
            lines.push(cut_off.said);
        }
        let roots = incidents::roots(incidents);
        let own_lines = |row: &&&IncidentRow| row.kind != Kind::Disconnect && row.root(&roots).is_none();
        let mut open: Vec<&IncidentRow> =
            incidents.iter().filter(|row| row.is_open()).filter(own_lines).copied().collect();
        open.sort_by(|a, b| a.order(now).cmp(&b.order(now)));
        let (needs, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|row| row.needs_you(now));
        found.problems.extend(grouped(&needs, accounts, reader));
        found.problems.sort_by_key(|said| sentence::urgency(said.part.severity, said.part.is_money));
        let others = others.into_iter().filter(|row| row.decided.is_looked_after());
        found.known.extend(others.map(|row| looked_after(row, accounts, reader)));
        let needed: BTreeSet<&Key> = needs.iter().map(|row| &row.key).collect();
        let is_told =
            |row: &&&IncidentRow| row.is_open() && needed.contains(&row.root(&roots).unwrap_or(row).key);
        let told: Vec<&IncidentRow> = incidents.iter().filter(is_told).copied().collect();
        found.unknown.extend(accounts.iter().flat_map(|account| not_known(account, &told, reader)));
        found
    }

    /// The sentence about problems, the worst first.
    fn sentence(&self) -> String {
        let language = self.reader.language;
        let whose = sentence::whose(self.problems.iter().filter_map(|said| said.account.as_ref()), language);
        if let [only] = self.problems.as_slice() {
            return only.words() + &whose;
        }
        let parts = self.problems.iter().map(|said| said.part.clone()).collect();
        sentence::worst_first(parts, language) + &whose
    }

    /// The sentence if everything is known and nobody has to act.
    fn no_problem(&self, accounts: &[&AccountState]) -> (Urgency, String) {
        let language = self.reader.language;
        let whose = sentence::whose(accounts.iter().map(|account| &account.profile.name), language);
        if let [said] = self.known.as_slice()
            && said.topic == Topic::CutOff
        {
            return (Urgency::Notice, format!("{}{whose}", said.part.text));
        }
        if !self.known.is_empty() {
            let count = self.known.len();
            let said = say!(
                language,
                "no other problems · {count} acknowledged or silenced{whose}",
                "других проблем нет · занимаются или без писем: {count}{whose}"
            );
            return (Urgency::Notice, said);
        }
        let seen = accounts.iter().flat_map(|account| account.resources());
        let bad = seen.filter(|seen| seen.health == Health::Bad).count();
        if bad > 0 {
            let resources = language.count(bad, words::RESOURCES);
            let said = say!(
                language,
                "{resources} with a problem, no open incident{whose}",
                "{resources} с проблемой, открытых инцидентов нет{whose}"
            );
            return (Urgency::Notice, said);
        }
        let total: usize = accounts.iter().map(|account| account.resource_count()).sum();
        let resources = language.count(total, words::RESOURCES);
        let all = if total == 1 {
            say!(language, "{resources} fine", "{resources} в порядке")
        } else {
            say!(language, "all {resources} fine", "всё в порядке: {resources}")
        };
        let paid = paid_until(accounts, self.reader);
        let of = |paid: &PaidUntil<'_>| sentence::whose(paid.accounts.iter().copied(), language);
        let words = match &paid {
            // Accounts without billing have an unknown date.
            Some(paid) if paid.accounts.len() < accounts.len() => {
                format!("{all}{whose} · {}{}", paid.words, of(paid))
            }
            Some(paid) => format!("{all} · {}{whose}", paid.words),
            None => all + &whose,
        };
        (Urgency::Fine, words)
    }

    fn lines(&self) -> Vec<Line> {
        let all = [&self.problems, &self.unknown, &self.known].into_iter().flatten();
        let mut lines: Vec<Line> = all.map(|said| said.line(self.reader.language)).collect();
        if lines.len() > MOST_LINES {
            let left = lines.len() - (MOST_LINES - 1);
            lines.truncate(MOST_LINES - 1);
            let text = words::more(left, self.reader.language);
            lines.push(Line { text, topic: Topic::Resources, incident: None });
        }
        lines
    }
}

/// The cut-off of one account, near or past, or acknowledged or silenced.
struct AccountCutOff<'a> {
    disconnect: Disconnect,
    /// Somebody has to act, even if it is acknowledged or silenced.
    is_problem: bool,
    said: Said,
    account: &'a AccountName,
}

impl<'a> AccountCutOff<'a> {
    /// The cut-off of an open incident, or the one in the report if it is so near that a payment may come too
    /// late.
    fn of(account: &'a AccountState, incidents: &[&'a IncidentRow], reader: Reader) -> Option<Self> {
        let (profile, now) = (&account.profile, reader.now);
        let incident = incidents::disconnect_of(&profile.name, incidents.iter().copied());
        let disconnect = incident.and_then(|row| row.cut_off).or_else(|| account.billing.disconnect())?;
        let payer = Payer::of(account, reader);
        let is_near = payer.is_near(disconnect, payer.report.and_then(forecast::balance_now));
        // A cut-off that is farther off is shown as the date until which the account is paid.
        let is_said = |row: &IncidentRow| row.severity != Severity::Info || row.decided.is_looked_after();
        if !is_near && !incident.is_some_and(is_said) {
            return None;
        }
        let mut text = CutOff::of(disconnect, payer).sentence();
        let looked_after = incident.and_then(|row| row.decided.words(reader.of(Some(account))));
        if let Some(words) = &looked_after {
            text = format!("{text}, {words}");
        }
        let matters = incident.is_some_and(|row| row.needs_you(now));
        let mut said = Said {
            incident: incident.map(|row| row.key.clone()),
            ..Said::one(text, Topic::CutOff, Some(&profile.name))
        };
        // A near cut-off is critical, even if its incident is not yet.
        let known = incident.map(|row| row.severity).filter(|_| !is_near);
        said.part.severity = known.unwrap_or(Severity::Critical);
        Some(Self { disconnect, is_problem: is_near || matters, said, account: &profile.name })
    }

    fn soonest(&self) -> impl Ord + use<'a> {
        (incidents::soonest(Some(self.disconnect)), self.account)
    }
}

/// Incidents as lines; equal ones share a line.
fn grouped(rows: &[&IncidentRow], accounts: &[&AccountState], reader: Reader) -> Vec<Said> {
    let problems = rows.iter().map(|row| problem(row, accounts));
    let groups = sentence::groups(sentence::of_resources(problems));
    groups
        .iter()
        .map(|group| Said {
            part: group.part(reader.language),
            more: String::new(),
            topic: Topic::Incident,
            incident: Some(group.key.clone()),
            account: Some(group.key.account.clone()),
        })
        .collect()
}

pub(super) fn problem<'a>(row: &'a IncidentRow, accounts: &[&AccountState]) -> Problem<'a> {
    Problem {
        key: &row.key,
        subject: row.subject.clone(),
        clauses: vec![row.clause.clone()],
        severity: row.severity,
        place: sentence::place(&row.key, account_of(accounts, &row.account)),
        count: 1,
    }
}

/// `VM web-1 in error, acknowledged Tue 24 Nov 07:15 MSK: Ann is on it`.
fn looked_after(row: &IncidentRow, accounts: &[&AccountState], reader: Reader) -> Said {
    let words = row.decided.words(reader.of(account_of(accounts, &row.account))).unwrap_or_default();
    let text = format!("{}, {words}", row.title_in(reader.language));
    let said = Said::one(text, Topic::Incident, Some(&row.account));
    Said { incident: Some(row.key.clone()), ..said }
}

/// The date until which accounts are paid.
pub(crate) struct PaidUntil<'a> {
    /// `paid until 31 May at least`.
    pub words: String,
    /// The accounts whose date is known.
    pub accounts: Vec<&'a AccountName>,
}

/// A report that names no date proves that only for its own span.
pub(crate) fn paid_until<'a>(accounts: &[&'a AccountState], reader: Reader) -> Option<PaidUntil<'a>> {
    let dates = accounts.iter().filter_map(|account| {
        let (report, _) = account.billing.last_known()?;
        let profile = &account.profile;
        let (at, least) = match forecast::disconnect(report) {
            // If the charges use the balance up before the provider's date, the earlier date counts.
            Disconnect::At { at, .. } => {
                (forecast::date_by_charges(report).map_or(at, |day| day.min(at)), false)
            }
            Disconnect::NotExpected => (report.date?, true),
            Disconnect::Now | Disconnect::Unknown => return None,
        };
        Some((at, least, profile))
    });
    let dates: Vec<_> = dates.collect();
    let (at, least, profile) = dates.iter().min_by_key(|(at, least, _)| (*at, *least))?;
    let day = reader.within(profile.zone()).short_day_of(*at);
    let accounts = dates.iter().map(|(_, _, profile)| &profile.name).collect();
    let words = match least {
        true => say!(reader.language, "paid until {day} at least", "оплачено как минимум до {day}"),
        false => say!(reader.language, "paid until {day}", "оплачено до {day}"),
    };
    Some(PaidUntil { words, accounts })
}
