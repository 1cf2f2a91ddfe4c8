//! Problems in one sentence: equal ones together, critical before warning, money first among equals, the
//! accounts at the end. Subjects and headlines are made here, for the inside of a sentence; `words::capital`
//! begins one. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::forms::{self, Clause};
use super::words::{self, PROBLEMS};
use crate::alert::{Key, Kind, Severity, Subject, Target};
use crate::model::{AccountName, AccountState, Language, Noun, SiteId, Sort, sanitize};

/// The limits for the names in a sentence. Lists of mails show no more.
const LONGEST_LIST: usize = 100;
const LONGEST_NAME: usize = 60;
const LONGEST_PART: usize = 150;

/// A part of a sentence, and the number of problems in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub text: String,
    pub count: usize,
    pub severity: Severity,
    /// It comes first among equals.
    pub is_money: bool,
}

/// One problem, or the end of one; or several of one account, container and kind that have the same words.
#[derive(Clone, Debug)]
pub(crate) struct Problem<'a> {
    pub key: &'a Key,
    pub subject: Subject,
    /// The predicates about it.
    pub clauses: Vec<Clause>,
    pub severity: Severity,
    /// The container of a site.
    pub place: Option<String>,
    pub count: usize,
}

impl<'a> Problem<'a> {
    /// The VM, container or site that it is about.
    fn resource(&self) -> Option<(&'a AccountName, Sort, &'a Target)> {
        let key = self.key;
        key.kind.sort().map(|sort| (&key.account, sort, &key.resource))
    }

    /// Adds another problem of the same resource: `still in error and stuck`.
    pub(crate) fn and(&mut self, other: &Problem<'_>) {
        forms::and(&mut self.clauses, &other.clauses);
        self.severity = self.severity.max(other.severity);
    }

    /// Whether one sentence can name both.
    pub(crate) fn is_like(&self, other: &Problem<'_>) -> bool {
        self.key.account == other.key.account
            // The key of a resource that went on to another state has the kind of its first problem.
            && (self.key.kind == other.key.kind
                || self.key.kind.sort().is_some_and(|sort| other.key.kind.sort() == Some(sort)))
            && self.clauses == other.clauses
            && self.place == other.place
    }

    /// `VM web-1 in error`, `26 sites in error in agency`, `cannot read VMs and 2 more`.
    pub(crate) fn text(&self, language: Language) -> String {
        let Self { key, subject, clauses, place, .. } = self;
        let text = match self.count {
            1 => forms::one(subject, key, clauses, language),
            count => forms::several(count, (subject, key), clauses, place.as_deref(), language),
        };
        sanitize::one_line(&text, LONGEST_PART)
    }

    pub(crate) fn part(&self, language: Language) -> Part {
        let is_money = self.key.kind == Kind::Disconnect;
        Part { text: self.text(language), count: self.count, severity: self.severity, is_money }
    }
}

/// One problem for each resource, with all its predicates.
pub(crate) fn of_resources<'a>(problems: impl IntoIterator<Item = Problem<'a>>) -> Vec<Problem<'a>> {
    let mut found: Vec<Problem<'a>> = Vec::new();
    let mut places = HashMap::new();
    for problem in problems {
        let next = found.len();
        let place = problem.resource().map_or(next, |resource| *places.entry(resource).or_insert(next));
        match found.get_mut(place) {
            Some(known) => known.and(&problem),
            None => found.push(problem),
        }
    }
    found
}

/// Problems with the same words together, in the order of the first of them.
pub(crate) fn groups<'a>(problems: impl IntoIterator<Item = Problem<'a>>) -> Vec<Problem<'a>> {
    let mut groups: Vec<Problem<'a>> = Vec::new();
    for problem in problems {
        match groups.iter_mut().find(|group| group.is_like(&problem)) {
            Some(group) => {
                group.count += problem.count;
                group.severity = group.severity.max(problem.severity);
            }
            None => groups.push(problem),
        }
    }
    groups
}

/// The name of the container that a site is in.
pub(crate) fn place(key: &Key, state: Option<&AccountState>) -> Option<String> {
    if !matches!(key.kind, Kind::SiteError | Kind::SiteBlocked | Kind::SiteStuck) {
        return None;
    }
    let state = state?;
    let id = state.site(SiteId::new(key.id()?))?.container;
    Some(state.container_name(id, LONGEST_NAME).unwrap_or_else(|| id.to_string()))
}

/// A single part as it is. For several: the number of problems and the first of them; `what` is their noun.
pub(crate) fn several(parts: &[Part], what: Noun, language: Language) -> String {
    match parts {
        [] => String::new(),
        [one] => one.text.clone(),
        parts => format!("{}: {}", language.count(counted(parts), what), list(parts, language)),
    }
}

/// THE order of urgency: critical before warning, among equals the cut-offs first.
pub(crate) fn urgency(severity: Severity, is_money: bool) -> impl Ord + use<> {
    (Reverse(severity), !is_money)
}

/// The worst problem as the sentence. The nearest cut-off is always named, and the number of other problems.
pub(crate) fn worst_first(mut parts: Vec<Part>, language: Language) -> String {
    parts.sort_by_key(|part| urgency(part.severity, part.is_money));
    let Some(money) = parts.iter().position(|part| part.is_money) else {
        return several(&parts, PROBLEMS, language);
    };
    let (before, after) = parts.split_at(money.max(1));
    let head = several(before, PROBLEMS, language);
    match after.split_first() {
        None => head,
        Some((next, rest)) => {
            let next = words::with_more(&next.text, counted(rest), language);
            format!("{head}; {next}")
        }
    }
}

fn counted(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.count).sum()
}

/// ` (main)`: the accounts at the end of a sentence.
pub(crate) fn whose<'a>(accounts: impl IntoIterator<Item = &'a AccountName>, language: Language) -> String {
    let accounts: BTreeSet<&AccountName> = accounts.into_iter().collect();
    let name = |name: &AccountName| sanitize::one_line(name.as_str(), LONGEST_NAME / 2);
    match accounts.into_iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!(" ({})", name(one)),
        [one, other] => format!(" ({}, {})", name(one), name(other)),
        several => format!(" ({})", language.count(several.len(), words::ACCOUNTS)),
    }
}

/// As many parts as there is room for, inside of a sentence, and the number of the others.
fn list(parts: &[Part], language: Language) -> String {
    let mut text = String::new();
    let mut left = counted(parts);
    for part in parts {
        let is_first = text.is_empty();
        if !is_first && text.chars().count() + part.text.chars().count() > LONGEST_LIST {
            break;
        }
        if !is_first {
            text.push_str(", ");
        }
        text.push_str(&part.text);
        left -= part.count;
    }
    words::with_more(&text, left, language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_comes_first_and_among_equals_money() {
        let part =
            |text: &str, severity, is_money| Part { text: text.to_owned(), count: 1, severity, is_money };
        let cut_off = |severity| part("cut-off Sat 28 Nov: pay 6488 RUB by Tue 24 Nov", severity, true);
        let (vm, site) = (
            part("VM web-1 in error", Severity::Critical, false),
            part("site a stuck", Severity::Warning, false),
        );
        let say = |parts: &[&Part]| worst_first(parts.iter().copied().cloned().collect(), Language::En);
        let (far, near) = (cut_off(Severity::Warning), cut_off(Severity::Critical));
        assert_eq!(
            say(&[&far, &site, &vm]),
            "VM web-1 in error; cut-off Sat 28 Nov: pay 6488 RUB by Tue 24 Nov and 1 more"
        );
        assert_eq!(say(&[&vm, &near]), "cut-off Sat 28 Nov: pay 6488 RUB by Tue 24 Nov; VM web-1 in error");
        assert_eq!(say(&[&site, &vm]), "2 problems: VM web-1 in error, site a stuck");
        assert_eq!(say(&[&far]), far.text);
        assert_eq!(
            worst_first(vec![vm.clone(), site.clone()], Language::Ru),
            "2 проблемы: VM web-1 in error, site a stuck"
        );
    }
}
