//! "Did you mean …?": finds the known name that is most similar to a given one. Pure.

/// The similarity of two names, from 0 to 1, ignoring case.
pub(crate) fn likeness(one: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(&one.to_ascii_lowercase(), &other.to_ascii_lowercase())
}

/// The name most similar to `name`, the first of several; empty if none is known.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> &'a str {
    let by_likeness = |one: &&str, other: &&str| likeness(name, one).total_cmp(&likeness(name, other));
    known.iter().rev().copied().max_by(by_likeness).unwrap_or_default()
}
