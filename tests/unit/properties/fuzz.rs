//! A fuzz loop over bytes: inputs of a corpus, changed at random, go through everything that reads bytes of others and
//! on to everything that shows them. A short run is a few thousand inputs; `HOSTWATCH_FUZZ_SECONDS` makes a long one.
//!
//! Every input follows from the seed and its number, so that `HOSTWATCH_FUZZ_SEED` repeats a run. What fails is left in a
//! file; it belongs into `corpus/` with the mending, whose files are all tried first.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alert::{Event, Form, Ladder, Severity};
use crate::http::svg;
use crate::metrics::{Encoder, MetricsSettings};
use crate::model::changes::changes;
use crate::model::forecast;
use crate::model::time::parse_moment;
use crate::model::*;
use crate::provider::bench::{Account, Paged, whole_report};
use crate::provider::cron::Schedule;
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Forecasts, Status, Style, harmless_json};
use crate::view::chart::Chart;
use chrono_tz::Tz;
use fastrand::Rng;

use crate::unit::properties::account::{self, read_at};
use crate::unit::properties::exposition::{self, PageFormat};
use crate::unit::properties::mail::is_obeyed;
use crate::unit::properties::mail_support::{disconnect, mail, notice};
use crate::unit::properties::{config, decode_report, given, web_config};

/// Something that reads bytes.
struct Target {
    name: &'static str,
    /// Files of the repository to begin with, beside `corpus/NAME/`.
    begin: &'static [&'static str],
    /// Pieces that mean something to it.
    words: &'static [&'static str],
    /// Inputs in a short run.
    inputs: u64,
    run: fn(&[u8]),
}

const TARGETS: &[Target] = &[
    Target { name: "api", begin: &["tests/fixtures/api"], words: JSON, inputs: 1500, run: api },
    Target { name: "moment", begin: &[], words: DATES, inputs: 3000, run: moment },
    Target {
        name: "money",
        begin: &[],
        words: &["e", "-", ".", "0", "9999999999999999999999999999", "1e28", "E-28", "_"],
        inputs: 3000,
        run: money,
    },
    Target {
        name: "schedule",
        begin: &[],
        words: &["*", "*/", "@daily", "mon", "7", "0-7", "31", "59/1", ",", "-", "/0"],
        inputs: 300,
        run: schedule,
    },
    Target {
        name: "config",
        begin: &["config/hostwatch.toml", "config/minimal.toml"],
        words: TOML,
        inputs: 100,
        run: toml,
    },
    Target { name: "web_config", begin: &["config/web.yml"], words: YAML, inputs: 400, run: yaml },
    Target { name: "status", begin: &[], words: JSON, inputs: 300, run: status },
];

const JSON: &[&str] = &[
    "null",
    "true",
    "1e999",
    "-1",
    "18446744073709551616",
    "0.1",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[[[[[[[[[[[[[[[",
    "\"id\":",
    "\"state\":",
    "\"edd\":",
    "\"2026-03-29T02:30:00\"",
    "\"+262142-12-31\"",
    "\"0000-01-01\"",
    "\"9999-12-31T23:59:59\"",
    "\"79228162514264337593543950335\"",
    "\"-79228162514264337593543950335\"",
    "\"1e-28\"",
    ",",
    ":",
    "{\"id\":1}",
    "\u{202e}",
    "<script>",
    "\\r\\n",
];
const DATES: &[&str] = &[
    "2026-03-29 02:30:00",
    "T",
    "Z",
    "+14:00",
    "-00:00",
    "24:00",
    ":60",
    ".999999999999",
    "+262142-12-31",
    "0000-01-01",
    "9999-12-31",
    "-",
    "é",
];
const TOML: &[&str] = &[
    "[accounts.main]",
    "[[",
    "]]",
    "\"\"\"",
    "'''",
    " = ",
    "nan",
    "1979-05-27",
    "0x",
    "\\u0000",
    "[defaults.alerts.rules.vm_error]",
    "#",
    "\u{feff}",
    "{a=1}",
    "9223372036854775807",
    "\"@daily\"",
];
const YAML: &[&str] = &[
    "&a",
    "*a",
    "<<: *a",
    "!!binary",
    "|",
    ">",
    "---",
    "...",
    "? ",
    "[",
    "{",
    "basic_auth_users:",
    "rate_limit:",
    "tls_server_config:",
    "\t",
    "'",
    "\"\\x00\"",
    "~",
    "$2y$10$",
];

/// Reads pages and reports, and shows what came of them everywhere.
fn api(bytes: &[u8]) {
    decode_report::decode_all(bytes);
    let zones = [None, Some(chrono_tz::Africa::Cairo), Some(chrono_tz::Pacific::Apia)];
    let account =
        Account { zone: zones[bytes.len() % 3], container: ContainerId::new(31), ..Account::default() };
    let mut book = account::book(Profile { time_zone: account.zone, ..account::profile("main") });
    fn rows<T: Paged>(bytes: &[u8], account: &Account) -> Option<Rows<T>> {
        let rows = T::page(bytes, account).ok()?;
        Some(Rows { complete: rows.rejected == 0, rows: rows.value })
    }
    let reads = [
        rows(bytes, &account).map(Read::Vms),
        rows(bytes, &account).map(Read::Containers),
        rows(bytes, &account).map(|sites| Read::Sites(ContainerId::new(31), sites)),
        rows(bytes, &account).map(Read::Ips),
        rows(bytes, &account).map(Read::SshKeys),
        Charge::page(bytes, &account).ok().map(|charges| Read::Charges(charges.value)),
        whole_report(bytes, &account, 10_000).ok().map(|report| Read::ExpectedBalance(report.value)),
    ];
    let mut is_something = false;
    for read in reads.into_iter().flatten() {
        is_something = true;
        if let Read::ExpectedBalance(report) = &read {
            billing(report, &book);
        }
        book.apply(read, read_at());
    }
    if !is_something {
        return;
    }
    let mut encoder = Encoder::new(MetricsSettings::default());
    encoder.refresh(book.state(), &Collector::ALL, read_at());
    let page: Vec<u8> = encoder.page().identity("").flatten().collect();
    exposition::read(std::str::from_utf8(&page).unwrap(), PageFormat::Text).unwrap();
}

/// Everything that is made of a report.
fn billing(report: &Report, book: &KnownAccount) {
    for days in [0, 1, 7, 30, 90, 730, u32::MAX] {
        let _ = (
            forecast::balance_in(report, read_at(), days),
            forecast::top_up_required(report, read_at(), days),
        );
    }
    let _ = (
        forecast::order_costs(report, read_at()),
        forecast::cost_per_day(report, read_at()),
        forecast::date_by_charges(report),
    );
    let _ = changes(&account::report("250", "10"), report, read_at());
    let cut_off = forecast::disconnect(report).at();
    let profile = Arc::clone(&book.state().profile);
    let chart = Chart::new(report, read_at(), cut_off, 3, profile.zone());
    let svg = chart.map(|chart| svg(&chart, "R<B", read_at())).unwrap_or_default();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let forecast = AccountForecast::new(&profile, Ok(Arc::new(report.clone())), 14, read_at());
    let text = Forecasts::new(vec![forecast], read_at()).text(Style { width: 80, colour: false });
    assert!(!text.chars().any(|c| c != '\n' && is_obeyed(c)), "{text:?}");

    let mut told = account::book((*profile).clone());
    told.apply(Read::ExpectedBalance(account::report("525.50", "10.00")), read_at());
    told.apply(Read::ExpectedBalance(report.clone()), read_at());
    let snapshot = account::snapshot([&told]);
    let ladder = Ladder { edd: cut_off, ..Ladder::default() };
    let dark = disconnect(Event::Rung(3), Severity::Critical, Some(ladder));
    crate::unit::properties::mail::check(&mail(&notice(Form::Disconnect, vec![dark]), &snapshot));
}

fn moment(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for zone in given::ZONES.map(Some).into_iter().chain([None]) {
        if let Some(at) = parse_moment(text, zone) {
            assert_eq!(parse_moment(&at.to_rfc3339(), None), Some(at));
        }
    }
}

fn money(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(money) = text.parse::<Money>() {
        assert_eq!(money.to_string().parse::<Money>().unwrap(), money);
        let _ = (
            money + money,
            -money - money,
            -money,
            money.times(money.decimal()),
            money.over(money.decimal()),
            money.ceil_units(),
            money.rounded(),
        );
    }
}

fn schedule(bytes: &[u8]) {
    let Ok(schedule) = String::from_utf8_lossy(bytes).parse::<Schedule>() else { return };
    for zone in [Tz::UTC, chrono_tz::Africa::Cairo] {
        assert!(schedule.next_after(read_at(), zone).is_some_and(|next| next > read_at()));
    }
    assert!(schedule.shortest_gap() <= schedule.longest_gap());
}

fn toml(bytes: &[u8]) {
    let _ = config::read(bytes, &[]);
}

fn yaml(bytes: &[u8]) {
    let _ = web_config::read(bytes);
}

fn status(bytes: &[u8]) {
    if let Ok(status) = Status::read(bytes) {
        let text = status.text(Style { width: 80, colour: false });
        assert!(!text.chars().any(|c| c != '\n' && is_obeyed(c)), "{text:?}");
    }
    if let Ok(json) = std::str::from_utf8(bytes)
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(json)
    {
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless_json(json)).unwrap(), value);
    }
}

/// An input of the corpus with one to six changes.
fn changed(rng: &mut Rng, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = corpus[rng.usize(..corpus.len())].clone();
    for _ in 0..rng.usize(1..7) {
        let at = rng.usize(..=bytes.len());
        let end = (at + rng.usize(1..12)).min(bytes.len());
        match rng.u8(..10) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
            1 if at < bytes.len() => bytes[at] = rng.u8(..),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at.max(1)),
            4 => {
                let again = bytes[at..end].to_vec();
                let times = if rng.u8(..20) == 0 { rng.usize(1..2000) } else { rng.usize(1..4) };
                bytes.splice(at..at, again.repeat(times));
            }
            5 => {
                // The end of another.
                let other = &corpus[rng.usize(..corpus.len())];
                let from = rng.usize(..=other.len());
                bytes.splice(at.., other[from..].iter().copied());
            }
            6 => {
                let hostile = given::HOSTILE[rng.usize(..given::HOSTILE.len())];
                bytes.splice(at..at, hostile.bytes());
            }
            _ => {
                let word = words[rng.usize(..words.len())].bytes();
                match value_at(&bytes, at) {
                    // In the place of a value: the rest stays what it was.
                    Some(value) if rng.bool() => drop(bytes.splice(value, word)),
                    _ => drop(bytes.splice(at..at, word)),
                }
            }
        }
    }
    bytes
}

/// The first number or string from here on that stands behind a colon or an equals sign.
fn value_at(bytes: &[u8], from: usize) -> Option<std::ops::Range<usize>> {
    let sign = from + bytes[from..].iter().position(|byte| b":=".contains(byte))? + 1;
    let start = sign + bytes[sign..].iter().position(|byte| *byte != b' ')?;
    let length = match bytes[start] {
        b'"' => 2 + bytes[start + 1..].iter().position(|byte| *byte == b'"')?,
        _ => bytes[start..].iter().position(|byte| b",]}\n ".contains(byte))?,
    };
    Some(start..start + length)
}

fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("tests/unit/properties/corpus").join(target.name);
    let begin = target.begin.iter().map(|path| root.join(path)).chain([own]);
    begin
        .filter(|path| path.exists())
        .flat_map(|path| files(&path))
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// Runs one input; a failure leaves it in a file and says how it came about.
fn run(target: &Target, input: &[u8], how: &str) {
    let begin = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let slow = begin.elapsed() > Duration::from_secs(10);
    if outcome.is_ok() && !slow {
        return;
    }
    let path = crate::unit::tools::scratch().join(format!("fuzz-{}-{how}", target.name).replace(' ', "-"));
    std::fs::write(&path, input).unwrap();
    let what = if slow { "is slow" } else { "fails" };
    panic!(
        "{} {what} at {how}; the input is in {}: it belongs into tests/unit/properties/corpus/{}",
        target.name,
        path.display(),
        target.name
    );
}

#[test]
fn nothing_that_comes_as_bytes_does_harm() {
    let seed = number("HOSTWATCH_FUZZ_SEED").unwrap_or_else(|| fastrand::u64(..1 << 48));
    let seconds = number("HOSTWATCH_FUZZ_SECONDS");
    let corpora: Vec<Vec<Vec<u8>>> = TARGETS.iter().map(corpus).collect();
    for (target, corpus) in TARGETS.iter().zip(&corpora) {
        assert!(!corpus.is_empty(), "{} has nothing to begin with", target.name);
        for (index, input) in corpus.iter().enumerate() {
            run(target, input, &format!("file {index}"));
        }
    }
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    // Round after round, a hundredth of a short run each; a short run has a hundred.
    for round in 0_u64.. {
        if end.map_or(round == 100, |end| Instant::now() >= end) {
            break;
        }
        for (target, corpus) in TARGETS.iter().zip(&corpora) {
            let count = done.entry(target.name).or_default();
            for _ in 0..(target.inputs / 100).max(1) {
                let mut rng = Rng::with_seed(seed.wrapping_add(*count));
                let input = changed(&mut rng, corpus, target.words);
                run(target, &input, &format!("seed {seed} input {count}"));
                *count += 1;
            }
        }
    }
    println!("HOSTWATCH_FUZZ_SEED={seed}: {done:?}");
}
