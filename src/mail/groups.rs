//! Incidents of a mail: what is alike in one part, which says once what they share and then their names. Pure.

use super::body::{Section, Table};
use super::context::Context;
use super::parts::MOST_NAMES;
use super::subject::Resource;
use super::{incident, parts, subject};
use crate::alert::{Item, Kind};
use crate::model::sanitize;
use crate::view::sentence::{self, Problem};
use crate::view::{advice, words};

/// Parts of a mail; what is beyond them has a line each.
const MOST_PARTS: usize = 20;
/// Different things to do that are worth a line each.
const MOST_ADVICE: usize = 3;

/// Resources that one part speaks of.
struct Group<'a> {
    problem: Problem<'a>,
    resources: Vec<Resource<'a>>,
}

/// All of them, with at most so many names.
pub(super) fn sections(items: &[Item], several: bool, most: usize, context: &Context<'_>) -> Vec<Section> {
    let groups = grouped(items, context);
    let shares = shares(&groups, most);
    let mut room = most.saturating_sub(items.len());
    let mut sections = Vec::new();
    for (group, &share) in groups.iter().zip(&shares).take(MOST_PARTS) {
        sections.push(match group.resources.as_slice() {
            [one] => match one.items.as_slice() {
                [item] => incident::section(item, several, &mut room, context),
                items => {
                    let title = group.title(several);
                    Section { title, ..incident::section_of_several(items, several, &mut room, context) }
                }
            },
            _ => group.section(several, share, context),
        });
    }
    let rest = groups.get(MOST_PARTS..).unwrap_or_default();
    if !rest.is_empty() {
        let count: usize = rest.iter().map(|group| group.resources.len()).sum();
        let mut section = Section::new(format!("And {count} more"));
        let mut hidden = 0;
        for (group, &share) in rest.iter().zip(&shares[MOST_PARTS..]) {
            match share {
                0 => hidden += group.resources.len(),
                share => section.list.push(group.line(several, share)),
            }
        }
        if hidden > 0 {
            section.below.push(format!("and {hidden} more"));
        }
        sections.push(section);
    }
    if items.len() > most
        && let Some(last) = sections.last_mut()
    {
        last.below
            .push("hostwatch incidents names each; where it is attached, so does incidents.json.".to_owned());
    }
    sections
}

/// How many names of each group fit: a small group leaves its part to the others.
fn shares(groups: &[Group<'_>], mut room: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..groups.len()).collect();
    by_size.sort_by_key(|&index| groups[index].resources.len());
    let mut shares = vec![0; groups.len()];
    for (done, index) in by_size.into_iter().enumerate() {
        shares[index] = groups[index].resources.len().min(room.div_ceil(groups.len() - done));
        room -= shares[index];
    }
    shares
}

/// In the order in which the first of each comes.
fn grouped<'a>(items: &'a [Item], context: &Context<'_>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for resource in subject::resources(items, context) {
        match groups.iter_mut().find(|group| group.problem.is_like(&resource.problem)) {
            // What has no noun for several is worth a part each.
            Some(group) if resource.problem.key.kind.sort().is_some() => group.resources.push(resource),
            _ => groups.push(Group { problem: resource.problem.clone(), resources: vec![resource] }),
        }
    }
    groups
}

impl Group<'_> {
    /// `26 sites in error in agency`.
    fn title(&self, several: bool) -> String {
        let text = sentence::ProblemGroup { first: self.problem.clone(), count: self.resources.len() }.text();
        if several { format!("{}: {text}", self.problem.key.account) } else { text }
    }

    /// `26 sites in error in agency: a.example.com, b.example.com and 24 more`.
    fn line(&self, several: bool, most: usize) -> String {
        let names: Vec<String> = self.resources.iter().map(|one| name(one.items[0])).collect();
        match names.as_slice() {
            [_] => self.title(several),
            _ => format!("{}: {}", self.title(several), parts::few(&names, most)),
        }
    }

    fn section(&self, several: bool, most: usize, context: &Context<'_>) -> Section {
        let mut section = Section::new(self.title(several));
        let shown = &self.resources[..most.min(self.resources.len())];
        let mut table = Table { head: vec!["Name".into(), "ID".into()], ..Table::default() };
        table.rows =
            shown.iter().map(|one| vec![name(one.items[0]), one.problem.key.resource.to_string()]).collect();
        let label = incident::observed(self.resources[0].items[0]).0;
        let states = self.resources.iter().map(|one| once(one, |item| Some(incident::observed(item).1)));
        place(label, states.collect(), &mut section, &mut table);
        for index in 0..2 {
            let rows = self.resources.iter().map(|one| incident::when(first_of(one), context));
            let rows: Vec<_> = rows.collect();
            if let Some((label, _)) = rows.iter().find_map(|rows| rows.get(index)) {
                let values =
                    rows.iter().map(|rows| rows.get(index).map_or_else(String::new, |row| row.1.clone()));
                place(label, values.collect(), &mut section, &mut table);
            }
        }
        let whys: Vec<_> = self.resources.iter().map(|one| once(one, incident::why)).collect();
        if whys.iter().all(|why| *why == whys[0] && !why.is_empty()) {
            section.row("Why", whys[0].clone());
        }
        section
            .rows
            .extend(self.advice(shown, context).into_iter().map(|text| ("What to do".to_owned(), text)));
        let zone = context.zone(&self.problem.key.account);
        let gap = self.items().find_map(|item| item.unwatched);
        section.lines.extend(gap.map(|gap| parts::not_running(gap, zone, context.now)));
        let sites = self.offline(&mut table, context);
        let more = self.resources.len() - shown.len();
        if !table.rows.is_empty() {
            section.table = Some(table);
        }
        if more > 0 {
            section.below.push(format!("and {more} more"));
        }
        if !sites.is_empty() {
            let count = words::count(sites.len(), "site", "sites");
            let names = parts::few(&sites, MOST_NAMES);
            section.below.push(format!("Also offline: {count} (no separate mails): {names}"));
        }
        section
    }

    /// What is offline with disabled containers: how much of each, and all of it.
    fn offline(&self, table: &mut Table, context: &Context<'_>) -> Vec<String> {
        let state = context.account(&self.problem.key.account);
        let disabled =
            self.items().filter(|item| item.key.kind == Kind::ContainerDisabled && !item.event.is_end());
        let of_each: Vec<Vec<String>> =
            disabled.filter_map(|item| Some(incident::sites_of(item, state?))).collect();
        if of_each.len() == self.resources.len() {
            table.head.push("Sites".to_owned());
            for (row, sites) in table.rows.iter_mut().zip(&of_each) {
                row.push(sites.len().to_string());
            }
        }
        of_each.into_iter().flatten().collect()
    }

    fn items(&self) -> impl Iterator<Item = &Item> {
        self.resources.iter().flat_map(|one| one.items.iter().copied())
    }

    fn advice(&self, shown: &[Resource<'_>], context: &Context<'_>) -> Vec<String> {
        let state = context.account(&self.problem.key.account);
        let mut found: Vec<String> = Vec::new();
        let items = shown.iter().flat_map(|one| &one.items);
        for item in items.filter(|item| !item.event.is_end()) {
            let text = advice::of(&item.key, state);
            if !found.iter().any(|known| *known == text) {
                found.push(text.into_owned());
            }
        }
        found.truncate(MOST_ADVICE);
        found
    }
}

/// What all share becomes a row, what differs a column.
fn place(label: &str, values: Vec<String>, section: &mut Section, table: &mut Table) {
    if values.iter().all(|value| *value == values[0]) {
        if !values[0].is_empty() {
            section.row(label, values[0].clone());
        }
        return;
    }
    table.head.push(label.to_owned());
    for (row, value) in table.rows.iter_mut().zip(values) {
        row.push(words::capital(&value));
    }
}

/// What is said of all that is wrong with a resource, each thing once.
fn once(resource: &Resource<'_>, say: impl Fn(&Item) -> Option<String>) -> String {
    let mut said: Vec<String> = Vec::new();
    for text in resource.items.iter().filter_map(|item| say(item)) {
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.join("; ")
}

/// What began first.
fn first_of<'a>(resource: &Resource<'a>) -> &'a Item {
    let first = resource.items.iter().copied().min_by_key(|item| item.since);
    first.unwrap_or(resource.items[0])
}

fn name(item: &Item) -> String {
    sanitize::one_line(item.name(), 80)
}
