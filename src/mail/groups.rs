//! Incidents of a mail: what is alike in one part, which says once what they share and then their names. Pure.

use super::body::{Section, Table};
use super::context::Context;
use super::parts::MOST_NAMES;
use super::{incident, parts, subject};
use crate::alert::{Item, Kind};
use crate::model::sanitize;
use crate::view::sentence::{self, Problem};
use crate::view::{advice, words};

/// Parts of a mail; what is beyond them has a line each.
const MOST_PARTS: usize = 20;
/// Different things to do that are worth a line each.
const MOST_ADVICE: usize = 3;

/// Incidents that one part speaks of.
struct Group<'a> {
    problem: Problem<'a>,
    items: Vec<&'a Item>,
}

/// All of them, with at most so many names.
pub(super) fn sections(items: &[Item], several: bool, most: usize, context: &Context<'_>) -> Vec<Section> {
    let groups = grouped(items, context);
    let shares = shares(&groups, most);
    let mut room = most.saturating_sub(items.len());
    let mut sections = Vec::new();
    for (group, &share) in groups.iter().zip(&shares).take(MOST_PARTS) {
        sections.push(match group.items.as_slice() {
            [one] => incident::section(one, several, &mut room, context),
            _ => group.section(several, share, context),
        });
    }
    let rest = groups.get(MOST_PARTS..).unwrap_or_default();
    if !rest.is_empty() {
        let count: usize = rest.iter().map(|group| group.items.len()).sum();
        let mut section = Section::new(format!("And {count} more"));
        let mut hidden = 0;
        for (group, &share) in rest.iter().zip(&shares[MOST_PARTS..]) {
            match share {
                0 => hidden += group.items.len(),
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
    by_size.sort_by_key(|&index| groups[index].items.len());
    let mut shares = vec![0; groups.len()];
    for (done, index) in by_size.into_iter().enumerate() {
        shares[index] = groups[index].items.len().min(room.div_ceil(groups.len() - done));
        room -= shares[index];
    }
    shares
}

/// In the order in which the first of each comes.
fn grouped<'a>(items: &'a [Item], context: &Context<'_>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for item in items {
        let problem = subject::problem(item, context);
        match groups.iter_mut().find(|group| group.problem.is_like(&problem)) {
            // What has no noun for several is worth a part each.
            Some(group) if item.key.kind.sort().is_some() => group.items.push(item),
            _ => groups.push(Group { problem, items: vec![item] }),
        }
    }
    groups
}

impl Group<'_> {
    /// `26 sites in error in agency`.
    fn title(&self, several: bool) -> String {
        let text = sentence::ProblemGroup { first: self.problem.clone(), count: self.items.len() }.text();
        if several { format!("{}: {text}", self.problem.key.account) } else { text }
    }

    /// `26 sites in error in agency: a.example.com, b.example.com and 24 more`.
    fn line(&self, several: bool, most: usize) -> String {
        let names: Vec<String> = self.items.iter().map(|item| name(item)).collect();
        match names.as_slice() {
            [_] => self.title(several),
            _ => format!("{}: {}", self.title(several), parts::few(&names, most)),
        }
    }

    fn section(&self, several: bool, most: usize, context: &Context<'_>) -> Section {
        let mut section = Section::new(self.title(several));
        let shown = &self.items[..most.min(self.items.len())];
        let mut table = Table { head: vec!["Name".into(), "ID".into()], ..Table::default() };
        table.rows = shown.iter().map(|item| vec![name(item), item.key.resource.to_string()]).collect();
        let label = incident::observed(self.items[0]).0;
        let states = self.items.iter().map(|item| incident::observed(item).1);
        place(label, states.collect(), &mut section, &mut table);
        for index in 0..2 {
            let rows: Vec<_> = self.items.iter().map(|item| incident::when(item, context)).collect();
            if let Some((label, _)) = rows.iter().find_map(|rows| rows.get(index)) {
                let values =
                    rows.iter().map(|rows| rows.get(index).map_or_else(String::new, |row| row.1.clone()));
                place(label, values.collect(), &mut section, &mut table);
            }
        }
        let whys: Vec<_> = self.items.iter().map(|item| incident::why(item).unwrap_or_default()).collect();
        if whys.iter().all(|why| *why == whys[0] && !why.is_empty()) {
            section.row("Why", whys[0].clone());
        }
        section
            .rows
            .extend(self.advice(shown, context).into_iter().map(|text| ("What to do".to_owned(), text)));
        let zone = context.zone(&self.problem.key.account);
        let gap = self.items.iter().find_map(|item| item.unwatched);
        section.lines.extend(gap.map(|gap| parts::not_running(gap, zone, context.now)));
        let sites = self.offline(&mut table, context);
        let more = self.items.len() - shown.len();
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
            self.items.iter().filter(|item| item.key.kind == Kind::ContainerDisabled && !item.event.is_end());
        let of_each: Vec<Vec<String>> =
            disabled.filter_map(|item| Some(incident::sites_of(item, state?))).collect();
        if of_each.len() == self.items.len() {
            table.head.push("Sites".to_owned());
            for (row, sites) in table.rows.iter_mut().zip(&of_each) {
                row.push(sites.len().to_string());
            }
        }
        of_each.into_iter().flatten().collect()
    }

    fn advice(&self, shown: &[&Item], context: &Context<'_>) -> Vec<String> {
        let state = context.account(&self.problem.key.account);
        let mut found: Vec<String> = Vec::new();
        for item in shown.iter().filter(|item| !item.event.is_end()) {
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

fn name(item: &Item) -> String {
    sanitize::one_line(item.name(), 80)
}
