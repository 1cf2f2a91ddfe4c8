//! The resources on the status page: their states, and the list with its links.

use super::Page;
use crate::http::query;
use crate::http::query::PageQuery;
use crate::model::{Sort, say};
use crate::view::{Query, ResourceRow, StateCount, words};

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
        self.query.kind.is_some() || self.query.state.is_some() || !self.query.text.is_empty()
    }

    /// Whether resources of every state are listed.
    pub(super) fn lists_all(&self) -> bool {
        self.is_filtered() || self.query.page > 1 || self.asked.all
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

    /// The link to the same page with everything shown, or no longer. A later page of the list would show the list.
    pub(super) fn all_link(&self, part: &str) -> String {
        let page = if self.asked.all && !self.is_filtered() { 1 } else { self.query.page };
        let query = Query { page, ..self.query.clone() };
        query::link(&PageQuery { query, all: !self.asked.all, ..self.asked.clone() }, part)
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
        say!(self.language, "Show {resources}", "Показать {resources}")
    }
}
