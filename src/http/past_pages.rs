//! The pages behind the status page: one resource, the incidents of the last days.

use askama::Template;

use super::cards::Shown;
use super::head::Head;
use super::{cards, query};
use crate::model::{Language, sanitize, say};
use crate::view::Card;
use crate::view::forms;
use crate::view::history::PastRow;
use crate::view::resource::{self, ResourceFacts, ResourceId};
use crate::view::words;

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

/// The methods that the template calls.
impl ResourcePage<'_> {
    fn cards(&self) -> String {
        let open: Vec<&Card> = self.facts.open.iter().collect();
        // The title above says how the resource is.
        let shown = Shown { several: false, is_said: open.len() == 1 };
        cards::render(&open, shown, &self.head)
    }

    fn state(&self, name: &str) -> String {
        forms::state(name, self.head.language)
    }

    fn past_link(&self) -> String {
        query::of_past(resource::DAYS, None)
    }

    fn level(&self) -> &'static str {
        super::page::level(self.facts.level())
    }

    fn container_link(&self, id: &crate::model::ContainerId) -> String {
        query::of_resource(&self.which.account, crate::model::Sort::Container, id.get())
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
pub(super) fn title(days: i64, language: Language) -> String {
    let span = language.count(usize::try_from(days).unwrap_or(0), words::DAYS);
    say!(language, "Incidents of the last {span}", "Проблемы за {span}")
}

/// The page as HTML.
pub(super) fn past(page: &PastPage<'_>) -> String {
    sanitize::document(page.render().expect("a template over owned values has no way to fail"))
}

/// The methods that the template calls.
impl PastPage<'_> {
    fn link(&self, row: &PastRow) -> Option<String> {
        query::of_incident(&row.key)
    }

    fn title(&self) -> String {
        title(self.days, self.head.language)
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
