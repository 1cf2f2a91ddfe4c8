//! Whether the state of a resource is good or bad, and the part of an account that is not known. `headline`
//! makes one sentence of both. Pure.

use super::incidents::IncidentRow;
use super::reader::Reader;
use super::said::{Said, Topic};
use super::words;
use crate::alert::{Kind, Subject, Target};
use crate::model::forecast::{self, Disconnect};
use crate::model::freshness::{is_read, state_collectors};
use crate::model::{AccountState, Collector, Health, Language, SeenResource, Sort, sanitize, say};

impl Health {
    /// A sign and a word, for people who do not see the colour.
    pub(crate) fn words(self, language: Language) -> (&'static str, &'static str) {
        match self {
            Self::Bad => ("✕", language.pick("problem", "проблема")),
            Self::Unknown => ("?", language.pick("not known", "неизвестно")),
            Self::Passing => ("…", language.pick("changing", "меняется")),
            Self::Off => ("○", language.pick("off", "выключено")),
            Self::Fine => ("●", language.pick("fine", "в порядке")),
        }
    }
}

/// The parts of an account's state that are not known. The list is empty only if every collector that sees a
/// state has read all of it, recently. Parts that an open incident names (`told`) are left out.
pub(super) fn not_known(account: &AccountState, told: &[&IncidentRow], reader: Reader) -> Vec<Said> {
    let (profile, language) = (&account.profile, reader.language);
    let reader = reader.of(Some(account));
    let mut on: Vec<Collector> = state_collectors(profile).collect();
    // An unknown cut-off is the worst, so it comes first.
    on.sort_by_key(|&collector| collector != Collector::ExpectedBalance);
    let mut unknown = Vec::new();
    if on.is_empty() {
        let nothing = language.pick(
            "nothing is watched: no collector that sees a state is on",
            "наблюдения нет: не включён ни один опрос, который видит состояния",
        );
        unknown.push(nothing.to_owned());
    }
    unknown.extend(
        on.into_iter()
            .filter(|&collector| !is_told(account, collector, told))
            .filter_map(|collector| not_read(account, collector, reader)),
    );
    if profile.collectors.contains(&Collector::Sites) {
        let missing = account.containers_without_sites_read();
        if missing > 0 {
            unknown.push(sites_not_read(missing, language));
        }
    }
    if let Some(report) = &account.billing.report
        && forecast::disconnect(report) == Disconnect::Unknown
    {
        let said = language.pick(
            "cut-off not known: the report does not say",
            "дата отключения неизвестна: в отчёте её нет",
        );
        unknown.push(said.to_owned());
    }
    unknown.extend(account.billing.unconfirmed().map(|at| {
        let at = reader.moment(at);
        say!(
            language,
            "cut-off as of {at}: no newer report confirms it",
            "дата отключения по данным на {at}: новый отчёт её не подтвердил"
        )
    }));
    unknown.extend(unknown_states(account, language));
    unknown.extend(Sort::ALL.into_iter().filter_map(|sort| not_listed(account, sort, language)));
    let said = |text| Said::one(text, Topic::Reading, Some(&profile.name));
    unknown.into_iter().map(said).collect()
}

/// `sites of 3 containers not read yet`.
pub(crate) fn sites_not_read(containers: usize, language: Language) -> String {
    let of = language.count(containers, words::noun_of(Sort::Container));
    say!(language, "sites of {of} not read yet", "ещё не получены сайты: {of}")
}

/// The unknown parts as lines of a mail.
pub(crate) fn not_known_lines(account: &AccountState, reader: Reader) -> Vec<String> {
    let lines = not_known(account, &[], reader).into_iter();
    lines.map(|said| sanitize::one_line(&words::capital(&said.part.text), 300)).collect()
}

/// Whether an open incident names this collector as failing.
fn is_told(account: &AccountState, collector: Collector, told: &[&IncidentRow]) -> bool {
    told.iter().any(|row| {
        let its = match (&row.key.resource, &row.subject) {
            (Target::Group(group), _) => *group == collector.group(),
            (_, Subject::Unread { collectors }) => collectors.contains(&collector),
            (_, Subject::Silent) => true,
            _ => row.kind == Kind::BillingReport && collector == Collector::ExpectedBalance,
        };
        its && row.account == account.profile.name
    })
}

/// `2 VMs not read in the last listing`. They may be gone, or their rows unreadable.
fn not_listed(account: &AccountState, sort: Sort, language: Language) -> Option<String> {
    let count = account.resources_of(sort).filter(|seen| !seen.is_listed).count();
    let resources = language.count(count, words::noun_of(sort));
    let said = || {
        say!(
            language,
            "{resources} not read in the last listing",
            "не прочитаны в последнем списке: {resources}"
        )
    };
    (count > 0).then(said)
}

/// `unknown state: files-8 (rebooting)`.
fn unknown_states(account: &AccountState, language: Language) -> Option<String> {
    let mut odd = account.resources().filter(|seen| seen.health == Health::Unknown);
    let SeenResource { name, id, state, .. } = odd.next()?;
    let name = name.map_or_else(|| id.to_string(), |name| sanitize::one_line(name, 60));
    let state = sanitize::one_line(state, 40);
    let first = say!(language, "unknown state: {name} ({state})", "неизвестное состояние: {name} ({state})");
    Some(words::with_more(&first, odd.count(), language))
}

/// The reason why the state that this collector reads is not known; `None` if it is known.
pub(super) fn not_read(account: &AccountState, collector: Collector, reader: Reader) -> Option<String> {
    let language = reader.language;
    let what = words::collected(collector, language);
    let status = account.collectors.get(&collector).cloned().unwrap_or_default();
    if status.polls == 0 {
        Some(say!(language, "{what} not read yet", "{what}: данных ещё не было"))
    } else if !status.success {
        let since = status.failing_since.map(|at| format!(" {}", reader.since(at))).unwrap_or_default();
        let failed = language.pick("failed", "опрос не удался");
        let reason = status.failure.as_ref().map_or(failed, |failure| failure.message.as_str());
        Some(say!(language, "cannot read {what}{since}: {reason}", "{what}: нет данных{since} — {reason}"))
    } else if !is_read(account, collector, reader.now) {
        Some(say!(language, "{what} not read for too long", "{what}: данные слишком давно не обновлялись"))
    } else if !status.complete {
        Some(say!(language, "could not read all of {what}", "{what}: получены не все данные"))
    } else {
        None
    }
}
