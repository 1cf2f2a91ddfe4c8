//! Problems in one sentence: what is alike together, the cut-off first, whose it is at the end. Subjects and headlines
//! are made here. Pure.

use std::collections::BTreeSet;

use super::words::small;
use crate::alert::{Key, Kind};
use crate::model::{AccountName, AccountState, SiteId, sanitize};

/// Of the names in a sentence: more than this no list of mails shows.
const LONGEST_LIST: usize = 100;
const LONGEST_NAME: usize = 60;

/// A part of a sentence, and of how many problems it speaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub text: String,
    pub count: usize,
}

/// One problem, or the end of one.
#[derive(Clone, Debug)]
pub(crate) struct Problem<'a> {
    pub key: &'a Key,
    /// `VM web-1`.
    pub subject: String,
    /// `in error`, `active again`; empty where the subject says it all.
    pub words: String,
    /// The container of a site.
    pub place: Option<String>,
}

impl Problem<'_> {
    /// Both are of one VM, container or site.
    pub(crate) fn is_of_same(&self, other: &Problem<'_>) -> bool {
        let (key, other) = (self.key, other.key);
        let sort = key.kind.sort();
        sort.is_some()
            && sort == other.kind.sort()
            && key.account == other.account
            && key.resource == other.resource
    }

    /// The same with what else is wrong with its resource: `still in error and stuck`.
    pub(crate) fn and(&mut self, other: &Problem<'_>) {
        self.words = both(&self.words, &other.words);
    }

    /// One sentence speaks of both.
    pub(crate) fn is_like(&self, other: &Problem<'_>) -> bool {
        self.key.account == other.key.account
            && self.key.kind == other.key.kind
            && self.words == other.words
            && self.place == other.place
    }
}

/// Problems of one account, container and kind, with the same words.
#[derive(Clone, Debug)]
pub(crate) struct ProblemGroup<'a> {
    pub first: Problem<'a>,
    pub count: usize,
}

impl ProblemGroup<'_> {
    /// `VM web-1 in error`, `26 sites in error in agency`, `Cannot read VMs and 2 more`.
    pub(crate) fn text(&self) -> String {
        let Problem { key, subject, words, place } = &self.first;
        if self.count == 1 {
            return joined(subject, words);
        }
        let Some(things) = plural(key.kind) else {
            return format!("{} and {} more", joined(subject, words), self.count - 1);
        };
        let words = words.replace(", was ", ", were ").replace("keeps ", "keep ");
        let words = words.strip_prefix("was ").map_or_else(|| words.clone(), |was| format!("were {was}"));
        let place = place.as_ref().map_or_else(String::new, |name| format!(" in {name}"));
        joined(&format!("{} {things}", self.count), &words) + &place
    }

    pub(crate) fn part(&self) -> Part {
        Part { text: self.text(), count: self.count }
    }
}

/// One for each resource, with all that is wrong with it.
pub(crate) fn of_resources<'a>(problems: impl IntoIterator<Item = Problem<'a>>) -> Vec<Problem<'a>> {
    let mut found: Vec<Problem<'a>> = Vec::new();
    for problem in problems {
        match found.iter_mut().find(|known| known.is_of_same(&problem)) {
            Some(known) => known.and(&problem),
            None => found.push(problem),
        }
    }
    found
}

/// What is wrong in two ways, said once: `blocked, was in error` where one turned into the other.
fn both(one: &str, other: &str) -> String {
    let plain = other.strip_prefix("still ").filter(|_| one.starts_with("still ")).unwrap_or(other);
    let turned = |words: &str, into: &str| {
        let (now, was) = words.split_once("not OK (now ")?.1.strip_suffix(')')?.split_once(", was ")?;
        (into.strip_prefix("still ").unwrap_or(into) == now).then(|| format!("{into}, was {was}"))
    };
    match turned(one, other).or_else(|| turned(other, one)) {
        Some(turned) => turned,
        None if one.split(" and ").any(|said| said == plain || said == other) => one.to_owned(),
        None => format!("{one} and {plain}"),
    }
}

/// Groups in the order of their first.
pub(crate) fn groups<'a>(problems: impl IntoIterator<Item = Problem<'a>>) -> Vec<ProblemGroup<'a>> {
    let mut groups: Vec<ProblemGroup<'a>> = Vec::new();
    for problem in problems {
        match groups.iter_mut().find(|group| group.first.is_like(&problem)) {
            Some(group) => group.count += 1,
            None => groups.push(ProblemGroup { first: problem, count: 1 }),
        }
    }
    groups
}

/// The container that a site is in, by its name.
pub(crate) fn place(key: &Key, state: Option<&AccountState>) -> Option<String> {
    if !matches!(key.kind, Kind::SiteError | Kind::SiteBlocked | Kind::SiteStuck) {
        return None;
    }
    let state = state?;
    let container = state.site(SiteId::new(key.id()?))?.container;
    let name = state.containers.get(container).and_then(|found| found.name.as_deref());
    Some(name.map_or_else(|| format!("container {container}"), |name| sanitize::one_line(name, LONGEST_NAME)))
}

/// One part as it is, else how many problems there are and the first of them; `what` is their word.
pub(crate) fn several(parts: &[Part], what: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.text.clone(),
        parts => {
            let count: usize = parts.iter().map(|part| part.count).sum();
            format!("{count} {what}: {}", list(parts))
        }
    }
}

/// The cut-offs first, then what else is wrong.
pub(crate) fn with_money(money: &[Part], others: &[Part]) -> String {
    let Some((first, more)) = money.split_first() else { return several(others, "problems") };
    let rest: Vec<Part> = more.iter().chain(others).cloned().collect();
    match rest.split_first() {
        None => first.text.clone(),
        Some((next, [])) => format!("{}; {}", first.text, small(&next.text)),
        Some((next, others)) => {
            let count: usize = others.iter().map(|part| part.count).sum();
            format!("{}; {} and {count} more", first.text, small(&next.text))
        }
    }
}

/// ` (main)`: whose it is, at the end of a sentence.
pub(crate) fn whose<'a>(accounts: impl IntoIterator<Item = &'a AccountName>) -> String {
    let accounts: BTreeSet<&AccountName> = accounts.into_iter().collect();
    let name = |name: &AccountName| sanitize::one_line(name.as_str(), LONGEST_NAME / 2);
    match accounts.into_iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!(" ({})", name(one)),
        [one, other] => format!(" ({}, {})", name(one), name(other)),
        several => format!(" ({} accounts)", several.len()),
    }
}

/// As many as there is room for, inside of a sentence, and how many more there are.
fn list(parts: &[Part]) -> String {
    let mut text = String::new();
    let mut left: usize = parts.iter().map(|part| part.count).sum();
    for part in parts {
        let is_first = text.is_empty();
        if !is_first && text.chars().count() + part.text.chars().count() > LONGEST_LIST {
            break;
        }
        if !is_first {
            text.push_str(", ");
        }
        text.push_str(&small(&part.text));
        left -= part.count;
    }
    if left > 0 { format!("{text} and {left} more") } else { text }
}

fn joined(subject: &str, words: &str) -> String {
    if words.is_empty() { subject.to_owned() } else { format!("{subject} {words}") }
}

/// What several of a kind are.
fn plural(kind: Kind) -> Option<&'static str> {
    match kind.sort() {
        Some(sort) => Some(sort.plural()),
        None if kind == Kind::OrderSuspended => Some("orders"),
        None if kind == Kind::ResourceGone => Some("resources"),
        None => None,
    }
}
