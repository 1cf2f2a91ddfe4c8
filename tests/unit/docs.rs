//! The pages of the documentation. Every relative link leads to a file and heading that exist. The
//! provider's addresses, badges and versions are those of the code.
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
fn the_interface_begins_with_every_address_that_is_asked() {
    let page = read("docs/provider.md");
    let (table, _) = page.split_once("\n## The simulator\n").unwrap();
    let named: BTreeSet<String> =
        table.split('`').filter(|word| word.starts_with("/api/")).map(without_names).collect();
    let source = read("src/provider/endpoints.rs");
    let asked: BTreeSet<String> =
        source.split('"').filter(|word| word.starts_with("/api/")).map(str::to_owned).collect();
    assert!(asked.len() > 5, "paths are not found where they stand");
    assert_eq!(named, asked);
}

/// A path with `{}` in place of each `{id}` of the page.
fn without_names(path: &str) -> String {
    let mut parts = path.split('{');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |path, part| format!("{path}{{{}", &part[part.find('}').unwrap()..]))
}

#[test]
fn the_readme_agrees_with_the_manifest() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let package = |key: &str| manifest["package"][key].as_str().unwrap().to_owned();
    let shared = |key: &str| manifest["workspace"]["package"][key].as_str().unwrap().to_owned();
    let (repository, rust, licence) = (shared("repository"), shared("rust-version"), shared("license"));
    let readme = read("README.md");
    for badge in [
        format!("({repository}/actions/workflows/ci.yml/badge.svg)]({repository}/actions/workflows/ci.yml)"),
        format!("[![Rust {rust} or later](https://img.shields.io/badge/Rust-{rust}%2B-"),
        format!("[![licence: {licence}](https://img.shields.io/badge/licence-{licence}-"),
    ] {
        assert!(readme.contains(&badge), "README.md has no {badge}");
    }
    assert!(root().join(".github/workflows/ci.yml").exists());
    let toolchain = format!("image: docker.io/library/rust:{rust}-bookworm\n");
    assert!(read(".github/workflows/ci.yml").contains(&toolchain), "ci.yml does not take Rust {rust}");

    let version = package("version");
    let minor = version.rsplit_once('.').unwrap().0;
    let supported = format!("\n| {minor} | yes |\n");
    assert!(read("SECURITY.md").contains(&supported), "SECURITY.md does not support {minor}");
    let released = format!("\n## [{version}] - 20");
    assert!(read("CHANGELOG.md").contains(&released), "CHANGELOG.md has no {version}");
    let pages = ["README.md", "SECURITY.md"];
    let forms = ["bug.yml", "feature.yml", "config.yml"].map(|form| format!(".github/ISSUE_TEMPLATE/{form}"));
    for page in pages.into_iter().chain(forms.iter().map(String::as_str)) {
        for link in
            read(page).split("https://github.com/").skip(1).filter(|link| link.starts_with("hostwatch"))
        {
            let there = format!("https://github.com/{link}");
            assert!(
                there.starts_with(&format!("{repository}/")),
                "{page}: another repository than {repository}"
            );
        }
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
pub(super) fn anchors(page: &Path) -> BTreeSet<String> {
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

/// The text outside code blocks, in which a `#` is no heading and brackets are text.
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
