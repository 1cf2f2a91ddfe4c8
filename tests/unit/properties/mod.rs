//! Properties that hold for any input, and a fuzz loop over bytes. In one binary, so that it links once.
//!
//! `cargo test --lib properties` takes seconds. For a long run: `PROPTEST_CASES=100000` multiplies the cases of each
//! property (they stand at 256 where a case is cheap, below where it is not, and keep that ratio), `PROPTEST_RNG_SEED`
//! repeats a run, `HOSTWATCH_FUZZ_SECONDS` and `HOSTWATCH_FUZZ_SEED` do both for the fuzz loop. docs/reliability.md has
//! the numbers of the last one.
//!
//! What a property found is kept under `regressions/` by proptest and tried first ever after; what the fuzz loop found
//! goes into `corpus/`.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;
use super::mail_support;

mod exposition;
mod given;
mod markup;

mod config;
mod dates;
mod decode;
mod decode_report;
mod forecast;
mod fuzz;
mod mail;
mod money;
mod page;
mod schedule;
mod terminal;
mod web_config;

/// How the properties of a file run: so many cases in a short run, failures kept under `regressions/`.
macro_rules! quick {
    ($file:literal, $cases:expr) => {
        crate::unit::properties::run(
            $cases,
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unit/properties/regressions/", $file, ".txt"),
        )
    };
}
pub(crate) use quick;

/// See [`quick`].
fn run(quick: u32, regressions: &'static str) -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, FileFailurePersistence};
    let long = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = long.map_or(u64::from(quick), |cases| (cases * u64::from(quick) / 256).max(1));
    Config {
        cases: cases.try_into().unwrap_or(u32::MAX),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..Config::default()
    }
}
