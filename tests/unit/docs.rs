//! The pages for people: every relative link leads somewhere, to the heading it names; every test that is named is there.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::tools::{read, root};

#[test]
fn every_relative_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut links = 0;
    for page in pages() {
        let text = without_code(&read(&page));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&page).parent().unwrap();
            let file = if path.is_empty() { PathBuf::from(&page) } else { folder.join(path) };
            let is_there = root().join(&file).exists();
            if !is_there || !(anchor.is_empty() || anchors(&file).contains(anchor)) {
                wrong.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(links > 100, "links are not found where they stand");
    assert!(wrong.is_empty(), "these lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_case_names_a_test_that_is_there() {
    let page = read("docs/reliability.md");
    let cases = page.split_once("\n## Cases of the real world\n").unwrap().1;
    let cases = cases.split("\n## ").next().unwrap();
    let named: Vec<(&str, &str)> = cases
        .split('`')
        .filter(|word| !word.contains(' '))
        .filter_map(|word| word.split_once("::"))
        .collect();
    assert!(named.len() > 40);
    for (file, name) in named {
        let tests = read(&format!("tests/daemon/{file}.rs"));
        assert!(tests.contains(&format!("\nfn {name}() {{")), "no test {file}::{name}");
    }
}

/// Every page of the repository, from its root.
fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    for folder in ["", "docs/", "docs/dev/"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{folder}{name}"));
            }
        }
    }
    assert!(pages.len() > 15);
    pages
}

/// The anchors that GitHub gives a page's headings.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = without_code(&read(page.to_str().unwrap()));
    let headings = text
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings.map(anchor).collect()
}

fn anchor(heading: &str) -> String {
    let plain = heading.to_lowercase();
    plain
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Without blocks of code, in which a `#` is no heading and a bracket no link.
fn without_code(text: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
