//! The text format of Prometheus, read strictly and by nobody else's code.

use std::collections::{BTreeMap, HashSet};

pub struct Series {
    pub name: String,
    pub labels: BTreeMap<String, String>,
}

/// Every series of a page.
///
/// # Panics
/// Where it is no such page: another escape, an odd name, a value that is no number, a series twice, a family in
/// two places.
pub fn parse(page: &str) -> Vec<Series> {
    assert!(page.ends_with('\n'));
    let (mut all, mut seen, mut over) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut family = String::new();
    for line in page.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let name = rest.split(' ').next().unwrap().to_owned();
            assert!(over.insert(name.clone()), "{name} in two places");
            family = name;
            continue;
        }
        if line.starts_with("# TYPE ") {
            continue;
        }
        let (series, value) = series(line);
        assert!(series.name.starts_with(&family), "{line}");
        value.parse::<f64>().unwrap_or_else(|_| panic!("{line:?}"));
        assert!(seen.insert((series.name.clone(), series.labels.clone())), "twice: {line}");
        all.push(series);
    }
    all
}

fn series(line: &str) -> (Series, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = line.find(|c| !is_name(c)).unwrap_or_else(|| panic!("{line:?}"));
    let (name, mut rest) = line.split_at(end);
    assert!(!name.is_empty(), "{line:?}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line:?}"));
            assert!(!label.is_empty() && label.chars().all(is_name), "{label:?} in {line:?}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line:?}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    (Series { name: name.to_owned(), labels }, rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line:?}")))
}

/// Up to the quote that ends it, and what follows.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next().unwrap_or_else(|| panic!("no end: {text:?}")) {
            (at, '"') => return (value, &text[at + 1..]),
            (_, '\\') => value.push(match chars.next().unwrap().1 {
                'n' => '\n',
                c @ ('"' | '\\') => c,
                c => panic!("\\{c} in {text:?}"),
            }),
            (_, '\0') => panic!("a NUL in {text:?}"),
            (_, c) => value.push(c),
        }
    }
}
