//! The same data served in the usual way: every series in the prometheus crate's registry, gathered, encoded
//! and compressed at each scrape. `cargo bench --bench side_by_side -- PAGE`, with a page as text;
//! benches/load.sh runs it. Prints JSON.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use prometheus::{Encoder as _, GaugeVec, Opts, Registry, TextEncoder};

fn main() {
    let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) else {
        println!("no page given: nothing to compare");
        return;
    };
    let registry = registry(&std::fs::read_to_string(path).unwrap());
    let mut encode = Vec::new();
    let mut gzip = Vec::new();
    let mut text = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        text.clear();
        TextEncoder::new().encode(&registry.gather(), &mut text).unwrap();
        encode.push(began.elapsed());
        let began = Instant::now();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&text).unwrap();
        packed.finish().unwrap();
        gzip.push(began.elapsed());
    }
    encode.sort();
    gzip.sort();
    let milliseconds = |times: &[std::time::Duration]| times[times.len() / 2].as_secs_f64() * 1000.0;
    println!(
        r#"{{"encode_ms": {:.1}, "gzip_ms": {:.1}, "bytes": {}, "rss_mib": {:.1}}}"#,
        milliseconds(&encode),
        milliseconds(&gzip),
        text.len(),
        resident_mib()
    );
}

/// Every gauge of a page, registered.
fn registry(page: &str) -> Registry {
    let registry = Registry::new();
    let mut gauges: BTreeMap<&str, GaugeVec> = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("hosting_")) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap();
        let pairs = labels_of(labels);
        let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
        let values: Vec<&str> = pairs.iter().map(|(_, value)| value.as_str()).collect();
        let gauge = gauges.entry(name).or_insert_with(|| {
            let gauge = GaugeVec::new(Opts::new(name, "As on the page."), &names).unwrap();
            registry.register(Box::new(gauge.clone())).unwrap();
            gauge
        });
        gauge.with_label_values(&values).set(value.parse().unwrap());
    }
    registry
}

/// `a="x",b="y"}` as pairs, unescaped.
fn labels_of(mut rest: &str) -> Vec<(&str, String)> {
    let mut pairs = Vec::new();
    while let Some((name, quoted)) = rest.trim_start_matches(',').split_once("=\"") {
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        let end = loop {
            match letters.next().unwrap() {
                (_, '\\') => match letters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        pairs.push((name, value));
        rest = &quoted[end + 1..];
    }
    pairs
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    kib / 1024.0
}
