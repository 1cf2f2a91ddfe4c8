//! Checks as rows of a table. A check only looks at facts that were read before.

use crate::terminal::doctor::CheckVerdict;

/// The name of a check, and its verdict on the facts; `None` if the facts that it needs are missing.
pub(super) type Row<F> = (&'static str, fn(&F) -> Option<CheckVerdict>);

/// The verdicts of all checks that apply, by name.
pub(super) fn run<F>(rows: &[Row<F>], facts: &F) -> Vec<(String, CheckVerdict)> {
    rows.iter().filter_map(|(name, check)| Some(((*name).to_owned(), check(facts)?))).collect()
}
