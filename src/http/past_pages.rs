//! The pages behind the status page: one resource, the incidents of the last days.

use askama::Template;

use super::head::Head;
use super::{bar, cards, query};
use crate::model::sanitize;
use crate::view::history::PastRow;
use crate::view::resource::{ResourceFacts, ResourceId};

#[derive(Template)]
#[template(path = "http/templates/resource.html")]
struct ResourcePage<'a> {
    head: Head,
    which: &'a ResourceId,
    facts: &'a ResourceFacts,
}

/// One resource as HTML.
pub(super) fn resource(which: &ResourceId, facts: &ResourceFacts, head: Head) -> String {
    let page = ResourcePage { head, which, facts };
    sanitize::document(page.render().expect("a template over owned values has no way to fail"))
}

/// What the template asks for beside plain fields.
impl ResourcePage<'_> {
    fn cards(&self) -> String {
        cards::render(&self.facts.open, false)
    }

    fn bar(&self) -> String {
        bar::svg(&self.facts.bar)
    }

    fn container_link(&self, id: &crate::model::ContainerId) -> String {
        query::of_resource(&self.which.account, crate::alert::Sort::Container, id.get())
    }
}

/// Incidents of the last days.
#[derive(Template)]
#[template(path = "http/templates/incidents.html")]
pub(super) struct PastPage<'a> {
    pub head: Head,
    pub days: i64,
    pub account: Option<&'a str>,
    pub rows: &'a [PastRow],
    pub more: bool,
}

/// `Incidents of the last 30 days`.
pub(super) fn title(days: i64) -> String {
    match days {
        1 => "Incidents of the last day".to_owned(),
        days => format!("Incidents of the last {days} days"),
    }
}

/// They as HTML.
pub(super) fn past(page: &PastPage<'_>) -> String {
    sanitize::document(page.render().expect("a template over owned values has no way to fail"))
}

/// What the template asks for beside plain fields.
impl PastPage<'_> {
    fn link(&self, row: &PastRow) -> Option<String> {
        query::of_incident(&row.key)
    }

    fn title(&self) -> String {
        title(self.days)
    }

    fn spans(&self) -> [i64; 3] {
        [7, 30, 90]
    }

    fn is_shown(&self, days: &i64) -> bool {
        *days == self.days
    }

    fn days_link(&self, days: &i64) -> String {
        query::of_past(*days, self.account)
    }
}
