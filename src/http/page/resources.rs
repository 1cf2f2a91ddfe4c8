//! The resources on the status page: their states, and the list with its links.

use std::collections::BTreeSet;

use super::{Page, is_filtered, lists_all};
use crate::http::query;
use crate::http::query::PageQuery;
use crate::model::{AccountName, Health, Language, Sort, say};
use crate::view::{Query, ResourceRow, StateCount, words};

/// The number of resources with a problem that are listed unless all are asked for.
const MOST_PROBLEMS: usize = 5;

/// The methods that the template calls for the resources.
impl Page<'_> {
    pub(super) fn list_link(&self, query: Query) -> String {
        query::link(&PageQuery { query, ..self.asked.clone() }, "#resources")
    }

    /// A kind and state as a link to these resources.
    pub(super) fn state_link(&self, count: &StateCount) -> String {
        let kind = Some(count.kind.to_string());
        self.list_link(Query { kind, state: Some(count.state.clone()), page: 1, ..self.query.clone() })
    }

    pub(super) fn is_chosen(&self, count: &StateCount) -> bool {
        self.query.kind.as_deref() == Some(count.kind.as_str())
            && self.query.state.as_deref() == Some(&count.state)
    }

    pub(super) fn is_filtered(&self) -> bool {
        is_filtered(self.query)
    }

    pub(super) fn lists_all(&self) -> bool {
        lists_all(self.asked)
    }

    /// The listed resources. Resources with an open incident are left out, since it is shown above.
    pub(super) fn rows(&self) -> Vec<&ResourceRow> {
        let rows = self.status.resources.rows.iter();
        if self.lists_all() {
            return rows.collect();
        }
        let known = self.incident_resources();
        let is_new = |row: &&ResourceRow| !known.contains(&(&row.account, row.kind, row.id));
        rows.filter(|row| row.health.is_problem()).filter(is_new).take(MOST_PROBLEMS).collect()
    }

    /// The resources of open incidents.
    pub(super) fn incident_resources(&self) -> BTreeSet<(&AccountName, Sort, u64)> {
        let open = self.status.incidents.open.iter();
        open.filter_map(|row| Some((&row.account, row.kind.sort()?, row.key.id()?))).collect()
    }

    pub(super) fn with_incident(&self) -> usize {
        self.incident_resources().len().min(self.problems())
    }

    /// The number of resources with a problem or an unknown state.
    pub(super) fn problems(&self) -> usize {
        self.counted(Health::is_problem)
    }

    pub(super) fn counted(&self, of: impl Fn(Health) -> bool) -> usize {
        self.status.resources.states.iter().filter(|count| of(count.health)).map(|count| count.count).sum()
    }

    /// `Resources: 20 of 22 resources not known`, above the list.
    pub(super) fn resources_title(&self) -> String {
        let (of, unknown) = (self.resource_count(), self.counted(|health| health == Health::Unknown));
        match (self.problems() - unknown, unknown) {
            _ if self.lists_all() || self.status.resources.total == 0 => {
                self.language.pick("Resources", "Ресурсы").to_owned()
            }
            (0, 0) => self.language.pick("Resources: none with a problem", "Ресурсы: проблем нет").to_owned(),
            (0, unknown) => {
                say!(
                    self.language,
                    "Resources: {unknown} of {of} not known",
                    "Ресурсы: неизвестно {unknown} (всего {of})"
                )
            }
            (wrong, 0) => {
                say!(self.language, "With a problem: {wrong} of {of}", "С проблемой: {wrong} (всего {of})")
            }
            (wrong, unknown) => {
                say!(
                    self.language,
                    "With a problem: {wrong} of {of}; not known: {unknown}",
                    "С проблемой: {wrong} (всего {of}); неизвестно: {unknown}"
                )
            }
        }
    }

    pub(super) fn resource_count(&self) -> String {
        self.language.count(self.status.resources.total, words::RESOURCES)
    }

    pub(super) fn resource_link(&self, row: &ResourceRow) -> String {
        query::of_resource(&row.account, row.kind, row.id)
    }

    pub(super) fn container_link(&self, row: &ResourceRow, id: &u64) -> String {
        query::of_resource(&row.account, Sort::Container, *id)
    }

    /// The link to the same page with everything shown, or no longer.
    pub(super) fn all_link(&self, part: &str) -> String {
        query::link(&PageQuery { all: !self.asked.all, ..self.asked.clone() }, part)
    }

    /// The link to all resources, the worst first.
    pub(super) fn unfiltered_link(&self) -> String {
        let query = Query { account: self.query.account.clone(), page: 1, ..Query::default() };
        query::link(&PageQuery { query, all: true, ..self.asked.clone() }, "#resources")
    }

    pub(super) fn page_link(&self, page: usize) -> String {
        self.list_link(Query { page, ..self.query.clone() })
    }

    pub(super) fn show_all(&self) -> String {
        let resources = self.resource_count();
        match self.status.resources.total {
            1 => self.language.pick("Show the only resource", "Показать единственный ресурс").to_owned(),
            _ => say!(self.language, "Show all {resources}", "Показать все: {resources}"),
        }
    }

    pub(super) fn with_incident_words(&self) -> String {
        let count = self.with_incident();
        let have = if count == 1 { "has" } else { "have" };
        match self.language {
            Language::En => format!("{count} of them {have} an open incident."),
            Language::Ru => format!("С открытой проблемой: {count}."),
        }
    }
}
