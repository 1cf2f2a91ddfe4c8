//! docs/mails.md quotes mails as the program writes them. The goldens contain all mails.
#![allow(clippy::unwrap_used)]

use super::mail_support;
use super::tools;

use crate::mail::Rendered;
use mail_support::*;
use tools::{hold, read, root};

const PAGE: &str = "docs/mails.md";
const BEGIN: &str = "<!-- mail: ";
const END: &str = "<!-- /mail -->";

#[test]
fn the_page_quotes_mails_as_they_are() {
    hold(PAGE, &with_mails(&read(PAGE)), "cargo test --lib mail_docs");
}

#[test]
fn pictures_are_there_and_small() {
    let page = read(PAGE);
    let pictures: Vec<&str> =
        page.split("](images/").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(pictures.len() >= 2);
    for picture in pictures {
        let bytes = std::fs::metadata(root().join("docs/images").join(picture)).unwrap().len();
        assert!(bytes < 150 * 1024, "{picture}: {bytes} bytes");
    }
}

/// The page, with each quotation written again.
fn with_mails(page: &str) -> String {
    let all = catalogue::all();
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(" -->\n").unwrap();
        let (_, after) = after.split_once(END).unwrap_or_else(|| panic!("{name} has no end"));
        let (_, mail) =
            all.iter().find(|(found, _)| found == name).unwrap_or_else(|| panic!("no mail {name}"));
        out.push_str(&format!("{before}{BEGIN}{name} -->\n{}{END}", quoted(mail)));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn quoted(mail: &Rendered) -> String {
    let text = text(mail);
    format!(
        "<details><summary><code>{}</code></summary>\n\n```text\n{}\n```\n\n</details>\n",
        mail.subject,
        text.trim_end()
    )
}
