//! A page of metrics, account by account.

use std::collections::{BTreeMap, BTreeSet};

use super::table::Place;

/// The samples of each account, as lines.
#[derive(Debug, Default)]
pub struct Page(BTreeMap<String, Vec<String>>);

impl Page {
    pub fn parse(text: &str) -> Self {
        let mut accounts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((_, rest)) = line.split_once("account=\"") else { continue };
            let Some((account, _)) = rest.split_once('"') else { continue };
            accounts.entry(account.to_owned()).or_default().push(line.to_owned());
        }
        Self(accounts)
    }

    fn lines(&self, account: &str) -> &[String] {
        self.0.get(account).map_or(&[], Vec::as_slice)
    }

    /// The series of the collector's listing.
    pub fn facts(&self, account: &str, place: &Place) -> BTreeSet<String> {
        let fed = |line: &&String| place.feeds(family(line));
        self.lines(account).iter().filter(fed).cloned().collect()
    }

    /// The sum of a family's series that have all these labels; `None` without any.
    pub fn sum(&self, account: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |line: &str| {
            let label = |(name, value): &(&str, &str)| line.contains(&format!("{name}=\"{value}\""));
            family(line) == name && labels.iter().all(label)
        };
        let values = self.lines(account).iter().filter(|line| has(line));
        let values: Vec<f64> = values.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// A count; 0 before the series begins.
    pub fn count(&self, account: &str, name: &str, labels: &[(&str, &str)]) -> u64 {
        self.sum(account, name, labels).unwrap_or(0.0) as u64
    }

    /// The ended polls of a collector, by result.
    pub fn polls(&self, account: &str, collector: &str, result: &str) -> u64 {
        let labels = [("collector", collector), ("result", result)];
        self.count(account, "hostwatch_collector_polls_total", &labels)
    }
}

/// The family of a sample.
pub fn family(line: &str) -> &str {
    line.split(['{', ' ']).next().unwrap_or_default()
}

/// The families of these lines.
pub fn families(lines: &BTreeSet<String>) -> BTreeSet<&str> {
    lines.iter().map(|line| family(line)).collect()
}
