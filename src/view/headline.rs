//! "Am I all right?" in one sentence, and at most six lines: money first, then what else is wrong, what is alike
//! together. Never says fine while something was not read: then it says what could not be. Pure.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::causes::Causes;
use super::cut_off::{CutOff, Payer};
use super::health::{Health, not_known};
use super::incidents::{self, IncidentRow};
use super::said::{Line, Said, Topic};
use super::sentence::{self, Problem};
use super::words;
use crate::alert::{Kind, Severity};
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountName, AccountState};

/// More nobody reads at a glance.
const MOST_LINES: usize = 6;

/// How things stand. The numbers give the order of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Urgency {
    /// There is a problem.
    Attention = 0,
    /// All that is wrong is acknowledged or silenced.
    Notice = 2,
    Fine = 3,
    /// Something is not known: also what an answer of a later version means by a word that this one does not
    /// know. Stands last because serde wants it there.
    #[serde(other)]
    Unknown = 1,
}

impl Urgency {
    /// A sign beside the sentence, so that colour is never alone.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Attention => "✕",
            Self::Unknown => "?",
            Self::Notice => "!",
            Self::Fine => "✓",
        }
    }
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Headline {
    pub level: Urgency,
    pub sentence: String,
    /// What the sentence is about, and what else is to be said; worst first.
    pub details: Vec<String>,
    /// The same, each with what it speaks of.
    #[serde(default)]
    pub lines: Vec<Line>,
}

/// All that is to be said of accounts together.
#[derive(Default)]
struct Weighed {
    /// Cut-offs that somebody has to act on; the soonest first.
    money: Vec<Said>,
    problems: Vec<Said>,
    unknown: Vec<Said>,
    /// What somebody looks after, and cut-offs that are no problem yet.
    known: Vec<Said>,
    /// How many of these somebody took on, and of how many nobody is mailed for now.
    acknowledged: usize,
    silenced: usize,
}

impl Headline {
    /// Of accounts together. `incidents` are theirs; `own` is what is wrong with the daemon itself.
    pub(super) fn of(
        accounts: &[&AccountState],
        incidents: &[&IncidentRow],
        own: &[Said],
        now: DateTime<Utc>,
    ) -> Self {
        let found = Weighed::of(accounts, incidents, own, now);
        let (level, sentence) = if !found.money.is_empty() || !found.problems.is_empty() {
            (Urgency::Attention, found.sentence())
        } else if accounts.is_empty() {
            (Urgency::Unknown, "No account is configured".to_owned())
        } else if let Some((first, more)) = found.unknown.split_first() {
            let count = more.len();
            let more = if count > 0 { format!(" and {count} more") } else { String::new() };
            let whose = sentence::whose(found.unknown.iter().filter_map(|said| said.account.as_ref()));
            (Urgency::Unknown, format!("{}{more}{whose}", first.part.text))
        } else {
            found.no_problem(accounts, now)
        };
        let lines = found.lines();
        Self { level, sentence, details: lines.iter().map(|line| line.text.clone()).collect(), lines }
    }
}

impl Weighed {
    fn of(accounts: &[&AccountState], incidents: &[&IncidentRow], own: &[Said], now: DateTime<Utc>) -> Self {
        let mut found = Self { problems: own.to_vec(), ..Self::default() };
        let mut cut_offs: Vec<AccountCutOff<'_>> =
            accounts.iter().filter_map(|account| AccountCutOff::of(account, incidents, now)).collect();
        cut_offs.sort_by_key(|cut_off| cut_off.soonest());
        for cut_off in cut_offs {
            if cut_off.is_problem {
                found.money.push(cut_off.said);
            } else {
                found.know(cut_off.said, cut_off.incident);
            }
        }
        let causes = Causes::among(accounts, incidents);
        let own_lines = |row: &&&IncidentRow| row.kind != Kind::Disconnect && causes.of(row).is_none();
        let mut open: Vec<&IncidentRow> =
            incidents.iter().filter(|row| row.is_open()).filter(own_lines).copied().collect();
        open.sort_by(|a, b| a.order(now).cmp(&b.order(now)));
        let (needs, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|row| row.needs_you(now));
        found.problems.extend(grouped(&needs, accounts));
        for row in others.into_iter().filter(|row| row.is_looked_after()) {
            found.know(looked_after(row, accounts, now), Some(row));
        }
        let is_told = |row: &&&IncidentRow| {
            let told = causes.of(row).unwrap_or(row);
            row.is_open() && needs.iter().any(|needed| needed.key == told.key)
        };
        let told: Vec<&IncidentRow> = incidents.iter().filter(is_told).copied().collect();
        found.unknown.extend(accounts.iter().flat_map(|account| not_known(account, &told, now)));
        found
    }

    fn know(&mut self, said: Said, incident: Option<&IncidentRow>) {
        self.known.push(said);
        let acknowledged = incident.is_some_and(|row| row.acknowledged);
        self.acknowledged += usize::from(acknowledged);
        self.silenced += usize::from(!acknowledged && incident.is_some_and(IncidentRow::is_looked_after));
    }

    /// `No new problems · 2 acknowledged`: what is silenced may be new.
    fn nothing_else(&self) -> String {
        let ahead = self.known.len() - self.acknowledged - self.silenced;
        let ahead = (ahead > 0).then(|| words::count(ahead, "cut-off ahead", "cut-offs ahead"));
        let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let known = [count(self.acknowledged, "acknowledged"), count(self.silenced, "silenced"), ahead];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let which = if self.silenced > 0 { "other" } else { "new" };
        format!("No {which} problems · {}", known.join(", "))
    }

    /// The cut-offs, then what else is wrong.
    fn sentence(&self) -> String {
        let parts = |said: &[Said]| said.iter().map(|said| said.part.clone()).collect::<Vec<_>>();
        let all: Vec<&Said> = self.money.iter().chain(&self.problems).collect();
        let whose = sentence::whose(all.iter().filter_map(|said| said.account.as_ref()));
        if let [only] = all.as_slice() {
            return only.words() + &whose;
        }
        sentence::with_money(&parts(&self.money), &parts(&self.problems)) + &whose
    }

    /// The sentence where everything is known and nobody is needed.
    fn no_problem(&self, accounts: &[&AccountState], now: DateTime<Utc>) -> (Urgency, String) {
        let whose = sentence::whose(accounts.iter().map(|account| &account.profile.name));
        if let [said] = self.known.as_slice()
            && said.topic == Topic::CutOff
        {
            return (Urgency::Notice, format!("{}{whose}", said.part.text));
        }
        if !self.known.is_empty() {
            return (Urgency::Notice, self.nothing_else() + &whose);
        }
        let bad: usize = accounts.iter().map(|account| Health::Bad.count(account)).sum();
        if bad > 0 {
            let resources = words::count(bad, "resource", "resources");
            return (Urgency::Notice, format!("{resources} with a problem, no open incident{whose}"));
        }
        let total: usize = accounts.iter().map(|account| account.resource_count()).sum();
        let all =
            if total == 1 { "1 resource fine".to_owned() } else { format!("All {total} resources fine") };
        let paid = paid_until(accounts, now);
        let of = |paid: &PaidUntil<'_>| sentence::whose(paid.accounts.iter().copied());
        let words = match &paid {
            // Of an account without billing nobody knows.
            Some(paid) if paid.accounts.len() < accounts.len() => {
                format!("{all}{whose} · {}{}", paid.words, of(paid))
            }
            Some(paid) => format!("{all} · {}{whose}", paid.words),
            None => all + &whose,
        };
        (Urgency::Fine, words)
    }

    fn lines(&self) -> Vec<Line> {
        let all = [&self.money, &self.problems, &self.unknown, &self.known].into_iter().flatten();
        let mut lines: Vec<Line> = all.map(Said::line).collect();
        if lines.len() > MOST_LINES {
            let more = lines.len() - (MOST_LINES - 1);
            lines.truncate(MOST_LINES - 1);
            let text = format!("and {more} more");
            lines.push(Line { text, topic: Topic::Resources, incident: None });
        }
        lines
    }
}

/// The cut-off of one account that is near, or has come.
struct AccountCutOff<'a> {
    disconnect: Disconnect,
    /// Somebody has to act, whoever acknowledged or silenced it.
    is_problem: bool,
    said: Said,
    incident: Option<&'a IncidentRow>,
    account: &'a AccountName,
}

impl<'a> AccountCutOff<'a> {
    /// Of an open incident, else of what the report says of the days in which a payment may come too late.
    fn of(account: &'a AccountState, incidents: &[&'a IncidentRow], now: DateTime<Utc>) -> Option<Self> {
        let profile = &account.profile;
        let incident = incidents::disconnect_of(&profile.name, incidents.iter().copied());
        let reported = || account.billing.last_known().map(|(report, _)| forecast::disconnect(report));
        let disconnect = incident.and_then(|row| row.cut_off).or_else(reported)?;
        let near = now + Duration::days(i64::from(profile.lead_days) + 1);
        let is_near = match disconnect {
            Disconnect::Now => true,
            Disconnect::At { at, .. } => at <= near,
            Disconnect::NotExpected | Disconnect::Unknown => false,
        };
        // One that is further off is as it is without an incident: until when it is paid.
        let is_said = |row: &IncidentRow| row.severity != Severity::Info || row.is_looked_after();
        if !is_near && !incident.is_some_and(is_said) {
            return None;
        }
        let mut text = CutOff::of(disconnect, Payer::of(account), now).sentence();
        let looked_after = incident.and_then(|row| row.looked_after_words(profile.zone(), now));
        if let Some(words) = &looked_after {
            text = format!("{text}, {words}");
        }
        let matters = incident.is_some_and(|row| row.needs_you(now));
        let said = Said {
            incident: incident.map(|row| row.key.clone()),
            ..Said::one(text, Topic::CutOff, Some(&profile.name))
        };
        Some(Self { disconnect, is_problem: is_near || matters, said, incident, account: &profile.name })
    }

    fn soonest(&self) -> impl Ord + use<'a> {
        (incidents::soonest(Some(self.disconnect)), self.account)
    }
}

/// Incidents as lines, what is alike together.
fn grouped(rows: &[&IncidentRow], accounts: &[&AccountState]) -> Vec<Said> {
    let problems = rows.iter().map(|row| problem(row, accounts));
    let groups = sentence::groups(sentence::of_resources(problems));
    groups
        .iter()
        .map(|group| Said {
            part: group.part(),
            more: String::new(),
            topic: Topic::Incident,
            incident: Some(group.first.key.clone()),
            account: Some(group.first.key.account.clone()),
        })
        .collect()
}

pub(super) fn problem<'a>(row: &'a IncidentRow, accounts: &[&AccountState]) -> Problem<'a> {
    let state = accounts.iter().find(|state| state.profile.name == row.account);
    Problem {
        key: &row.key,
        subject: row.resource_name.clone(),
        words: row.problem.clone(),
        place: sentence::place(&row.key, state.copied()),
    }
}

/// `VM web-1 in error, acknowledged Tue 24 Nov 07:15 MSK: Ann is on it`.
fn looked_after(row: &IncidentRow, accounts: &[&AccountState], now: DateTime<Utc>) -> Said {
    let zone = accounts.iter().find(|state| state.profile.name == row.account);
    let zone = zone.map_or(chrono_tz::Tz::UTC, |state| state.profile.zone());
    let words = row.looked_after_words(zone, now).unwrap_or_default();
    let text = format!("{}, {words}", row.title);
    let said = Said::one(text, Topic::Incident, Some(&row.account));
    Said { incident: Some(row.key.clone()), ..said }
}

/// Until when accounts are paid.
struct PaidUntil<'a> {
    words: String,
    /// Of which that is known.
    accounts: Vec<&'a AccountName>,
}

/// A report that names no date says so only for its own span.
fn paid_until<'a>(accounts: &[&'a AccountState], now: DateTime<Utc>) -> Option<PaidUntil<'a>> {
    let dates = accounts.iter().filter_map(|account| {
        let (report, _) = account.billing.last_known()?;
        let profile = &account.profile;
        let (at, least) = match forecast::disconnect(report) {
            // Where the charges use the balance up before the provider's date, no longer.
            Disconnect::At { at, .. } => {
                (forecast::date_by_charges(report).map_or(at, |day| day.min(at)), "")
            }
            Disconnect::NotExpected => (report.date?, " at least"),
            Disconnect::Now | Disconnect::Unknown => return None,
        };
        Some((at, least, profile))
    });
    let dates: Vec<_> = dates.collect();
    let (at, least, profile) = dates.iter().min_by_key(|(at, _, _)| *at)?;
    let zone = profile.zone();
    let day = words::short_day_of(*at, zone, now);
    let accounts = dates.iter().map(|(_, _, profile)| &profile.name).collect();
    Some(PaidUntil { words: format!("paid until {day}{least}"), accounts })
}
