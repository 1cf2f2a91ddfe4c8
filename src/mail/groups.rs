//! The incidents of a mail in groups. A group has one part, which shows the shared facts once and then the
//! names. A single incident is a group of one. Pure.

use super::body::{Section, Table};
use super::context::Context;
use super::parts::MOST_NAMES;
use super::{incident, parts, subject};
use crate::alert::{Item, Kind};
use crate::model::{Sort, sanitize, say};
use crate::view::sentence::Problem;
use crate::view::{advice, words};

/// The number of different pieces of advice that are worth a line each.
const MOST_ADVICE: usize = 3;

/// The incidents of one part.
struct Group<'a> {
    problem: Problem<'a>,
    items: Vec<&'a Item>,
    /// The number of names that there is room for.
    share: usize,
}

/// All groups, with at most `most` names.
pub(super) fn sections(items: &[&Item], several: bool, most: usize, context: &Context<'_>) -> Vec<Section> {
    let language = context.language;
    let mut groups = grouped(items, context);
    share_out(&mut groups, most);
    let (named, hidden): (Vec<Group<'_>>, Vec<_>) = groups.into_iter().partition(|group| group.share > 0);
    let mut sections: Vec<Section> = named.iter().map(|group| group.section(several, context)).collect();
    if items.len() > most
        && let Some(last) = sections.last_mut()
    {
        let all = language.pick(
            "hostwatch incidents names each; where it is attached, so does incidents.json.",
            "Все перечислит команда hostwatch incidents, а если приложен — и файл incidents.json.",
        );
        let hidden: usize = hidden.iter().map(|group| group.items.len()).sum();
        last.lines.extend((hidden > 0).then(|| words::more(hidden, language)));
        last.lines.push(all.to_owned());
    }
    sections
}

/// Shares the room for names. Small groups leave theirs to the others.
fn share_out(groups: &mut [Group<'_>], mut room: usize) {
    let mut left = groups.len();
    let mut by_size: Vec<_> = groups.iter_mut().collect();
    by_size.sort_by_key(|group| group.items.len());
    for group in by_size {
        group.share = group.items.len().min(room.div_ceil(left));
        (room, left) = (room - group.share, left - 1);
    }
}

/// The groups, in the order of their first items.
fn grouped<'a>(items: &[&'a Item], context: &Context<'_>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for &item in items {
        let problem = subject::problem(item, context);
        match groups.iter_mut().find(|group| group.problem.is_like(&problem)) {
            // A kind whose noun has no plural gets a part for each incident.
            Some(group) if problem.key.kind.sort().is_some() => {
                group.problem.count += 1;
                group.items.push(item);
            }
            _ => groups.push(Group { problem, items: vec![item], share: 0 }),
        }
    }
    groups
}

impl Group<'_> {
    /// `26 sites in error in agency`, `VM web-1 in error`.
    fn title(&self, several: bool, context: &Context<'_>) -> String {
        let language = context.language;
        match self.items.as_slice() {
            [item] if item.event.is_end() => incident::past_title(item, several, context),
            [item] => parts::title(item, several, language),
            _ => {
                let text = words::capital(&self.problem.text(language));
                if several { format!("{}: {text}", self.problem.key.account) } else { text }
            }
        }
    }

    fn section(&self, several: bool, context: &Context<'_>) -> Section {
        let language = context.language;
        let state = context.account(&self.problem.key.account);
        let mut section = Section::new(self.title(several, context));
        let shown = &self.items[..self.share];
        let mut table =
            Table { head: vec![language.pick("Name", "Имя").into(), "ID".into()], ..Table::default() };
        table.rows = shown.iter().map(|item| vec![name(item), item.key.resource.to_string()]).collect();
        let label = incident::observed(self.items[0], language).0;
        let states = self.items.iter().map(|item| incident::observed(item, language).1);
        place(label, states.collect(), &mut section, &mut table);
        if let ([item], Some(state)) = (self.items.as_slice(), state)
            && let Some((sort, which)) = advice::which(&item.key, state, language)
        {
            section.row(sort, which);
        }
        let times: Vec<_> = self.items.iter().map(|item| incident::when(item, context)).collect();
        if let Some(&(label, _)) = times.iter().flatten().next() {
            let values = times.into_iter().map(|row| row.map(|(_, time)| time).unwrap_or_default());
            place(label, values.collect(), &mut section, &mut table);
        }
        let mut whys = self.items.iter().map(|item| incident::why(item, language));
        if let Some(Some(first)) = whys.next()
            && whys.all(|why| why.as_ref() == Some(&first))
        {
            section.row(language.pick("Why", "Почему письмо"), first);
        }
        self.advice(shown, context).for_each(|text| section.row(incident::to_do(language), text));
        let sites = self.offline(&mut table, context);
        let more = self.items.len() - shown.len();
        if self.items.len() > 1 {
            section.table = Some(table);
        }
        if more > 0 {
            section.lines.push(words::more(more, language));
        }
        if !sites.is_empty() {
            let (count, no_mails) =
                (language.count(sites.len(), words::noun_of(Sort::Site)), parts::no_separate_mails(language));
            let names = words::few(&sites, MOST_NAMES, language);
            section.lines.push(say!(
                language,
                "Also offline: {count} ({no_mails}): {names}",
                "Вместе с ним отключены: {count} ({no_mails}): {names}"
            ));
        }
        let causes: Vec<String> = self.items.iter().flat_map(|item| parts::causes(item, context)).collect();
        section.rows.extend(parts::causes_row(&causes, MOST_NAMES, language));
        section
    }

    /// The resources that are offline with disabled containers: the number for each container, and in total.
    fn offline(&self, table: &mut Table, context: &Context<'_>) -> Vec<String> {
        let state = context.account(&self.problem.key.account);
        let disabled =
            self.items.iter().filter(|item| item.key.kind == Kind::ContainerDisabled && !item.event.is_end());
        let of_each: Vec<Vec<String>> =
            disabled.filter_map(|item| Some(incident::sites_of(item, state?, context.language))).collect();
        if of_each.len() == self.items.len() {
            table.head.push(context.language.pick("Sites", "Сайты").to_owned());
            for (row, sites) in table.rows.iter_mut().zip(&of_each) {
                row.push(sites.len().to_string());
            }
        }
        of_each.into_iter().flatten().collect()
    }

    fn advice(&self, shown: &[&Item], context: &Context<'_>) -> impl Iterator<Item = &'static str> {
        let state = context.account(&self.problem.key.account);
        let open = shown.iter().filter(|item| !item.event.is_end());
        let advice = open.map(move |item| advice::of(&item.key, state, context.language));
        parts::unique(advice).take(MOST_ADVICE)
    }
}

/// Makes a row of values that all share, and a column of values that differ.
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
