//! Properties that hold for any input. They share one binary, so that it is linked once.
//!
//! `cargo test --lib properties` takes seconds. For a long run, `PROPTEST_CASES=100000` multiplies the cases of
//! each property. They stand at 256 for cheap cases, and lower for others, and keep that ratio.
//! Another `PROPTEST_RNG_SEED` tries other inputs.
//!
//! proptest keeps each failure of a property under `regressions/`, and tries it first from then on.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;
use super::mail_support;

pub(super) mod exposition;
mod given;
mod markup;

mod config;
mod dates;
mod decode_report;
mod forecast;
mod mail;
mod money;
mod page;
mod schedule;
mod terminal;
mod web_config;

/// The settings of a file's properties: the number of cases in a short run, and failures kept under
/// `regressions/`.
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
