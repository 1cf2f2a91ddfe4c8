//! The HTML part: the template over a body. The template escapes; styles stand inline, and nothing is
//! fetched from anywhere.

use askama::Template;

use super::body::{Body, Section, Tone};
use super::render::RenderError;

pub(super) fn render(body: &Body, subject: &str, content_id: &str) -> Result<String, RenderError> {
    Page { body, subject, content_id }.render().map_err(RenderError::Template)
}

#[derive(Template)]
#[template(path = "mail/templates/mail.html")]
struct Page<'a> {
    body: &'a Body,
    subject: &'a str,
    content_id: &'a str,
}

impl Page<'_> {
    /// The class that dark mode changes, and the colours of light mode.
    fn tone(&self) -> &'static str {
        match self.body.tone {
            Tone::Critical => "critical",
            Tone::Warning => "warning",
            Tone::Info => "info",
            Tone::Good => "good",
        }
    }

    fn ink(&self) -> &'static str {
        match self.body.tone {
            Tone::Critical => "#a61b1b",
            Tone::Warning => "#7a4b00",
            Tone::Info => "#0b5cad",
            Tone::Good => "#14622f",
        }
    }

    fn paper(&self) -> &'static str {
        match self.body.tone {
            Tone::Critical => "#fdecec",
            Tone::Warning => "#fdf3df",
            Tone::Info => "#eaf3fb",
            Tone::Good => "#e8f6ec",
        }
    }

    fn sections(&self) -> impl Iterator<Item = &Section> {
        self.body.sections.iter().filter(|section| !section.is_empty())
    }
}
