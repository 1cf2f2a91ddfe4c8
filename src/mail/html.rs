//! The HTML part: the template over a body. The template escapes. Important styles are inline, and the mail
//! loads nothing from anywhere.

use askama::Template;

use super::body::{Body, Bracket, Section};
use super::context::RenderError;
use crate::alert::Severity;
use crate::view::figure::Figure;

pub(super) fn render(body: &Body, subject: &str, content_id: &str) -> Result<String, RenderError> {
    HtmlPart { body, subject, content_id }.render().map_err(RenderError::Template)
}

/// The height of the picture in pixels.
const FIGURE_HEIGHT: usize = 180;

#[derive(Template)]
#[template(path = "mail/templates/mail.html")]
struct HtmlPart<'a> {
    body: &'a Body,
    subject: &'a str,
    content_id: &'a str,
}

impl HtmlPart<'_> {
    /// The class that dark mode changes; text and background colour of light mode.
    fn tone(&self) -> (&'static str, &'static str, &'static str) {
        match self.body.tone {
            Bracket::Of(Severity::Critical) => ("critical", "#a61b1b", "#fdecec"),
            Bracket::Of(Severity::Warning) => ("warning", "#7a4b00", "#fdf3df"),
            Bracket::Resolved => ("good", "#14622f", "#e8f6ec"),
            Bracket::Of(Severity::Info) | Bracket::Test | Bracket::Digest => ("info", "#0b5cad", "#eaf3fb"),
        }
    }

    /// Whether a cell is an amount or a span, which reads badly in two lines.
    fn is_short(&self, cell: &str) -> bool {
        cell.chars().count() <= 11
    }

    /// The height of a row of labels. All rows together are as high as the picture.
    fn row(&self, figure: &Figure) -> usize {
        FIGURE_HEIGHT / figure.ticks.len().max(1)
    }

    fn height(&self, figure: &Figure) -> usize {
        self.row(figure) * figure.ticks.len().max(1)
    }

    fn sections(&self) -> impl Iterator<Item = &Section> {
        self.body.sections.iter().filter(|section| !section.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue of `#a61b1b`.
    fn rgb(colour: &str) -> [f64; 3] {
        let byte = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
        [byte(1), byte(3), byte(5)]
    }

    /// The contrast by WCAG 2: 1 to 21.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour: &str| {
            let [r, g, b] = rgb(colour).map(|part| match part / 255.0 {
                part if part <= 0.03928 => part / 12.92,
                part => ((part + 0.055) / 1.055).powf(2.4),
            });
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn everything_can_be_read_in_light_and_in_dark() {
        let style = include_str!("templates/mail.html");
        let dark = |class: &str, property: &str| {
            let rule = style.split(&format!("\n.{class} {{ ")).nth(1).unwrap().split('}').next().unwrap();
            let value = rule.split(&format!("{property}: ")).nth(1).unwrap();
            value.split(' ').next().unwrap().to_owned()
        };
        let severities = [Severity::Critical, Severity::Warning, Severity::Info].map(Bracket::Of);
        for tone in severities.into_iter().chain([Bracket::Resolved]) {
            let body = Body { tone, lead: String::new(), ..Body::default() };
            let page = HtmlPart { body: &body, subject: "", content_id: "" };
            let (class, ink, paper) = page.tone();
            assert!(contrast(ink, paper) >= 4.5, "{tone:?}");
            let rule = style.split(&format!("\n.{class} {{ ")).nth(1).unwrap();
            let ink = rule.split("color: ").nth(1).unwrap().split(' ').next().unwrap();
            assert!(contrast(ink, &dark(class, "background")) >= 4.5, "{tone:?} in dark");
        }
        assert!(contrast(&dark("button", "; color"), &dark("button", "background")) >= 4.5);
        assert!(contrast("#ffffff", "#0b5cad") >= 4.5 && style.contains("background:#0b5cad;color:#ffffff"));
        let page = dark("page", "background");
        let ink = dark("page", "; color");
        assert!(contrast(&ink, &page) >= 4.5 && contrast(&dark("quiet", "color"), &page) >= 4.5);
        assert!(contrast("#1c2127", "#ffffff") >= 4.5 && contrast("#56606b", "#ffffff") >= 4.5);
        assert!(style.contains("color:#1c2127") && style.contains("color:#56606b"));
        for line in crate::view::figure::tests::lines() {
            assert!(["#ffffff", "#14181c"].iter().all(|paper| contrast(&line, paper) >= 3.0), "{line}");
        }
    }
}
