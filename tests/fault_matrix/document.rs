//! The matrix for readers: the faults of one effect in a row, with the effect at most collectors, and the
//! collectors with another effect. It is made from the rules that every cell is checked against, so that a row states only tried
//! effects.

use std::collections::BTreeMap;

use super::rules::{Effect, When, Why, effect};
use super::table::{PLACES, Place, TROUBLES, Trouble};

const UNHARMED: &str = "unharmed";

/// The effect of a fault, in the words of the page's first table.
fn outcome(effect: Effect) -> &'static str {
    match effect {
        Effect::Harmless => UNHARMED,
        Effect::Failed(Why::Other | Why::LaterPage) => "fails",
        Effect::Failed(Why::Credentials) => "refused",
        Effect::Failed(Why::AskedToWait) => "left alone",
        Effect::Failed(Why::Forbidden) => "forbidden",
        Effect::Failed(Why::ParentStays) => "parent read again, then fails",
        Effect::ParentRead => "parent read again",
        Effect::Doubtful(_) => "in doubt",
        Effect::FieldAbsent => "field absent",
        Effect::DoesNotAddUp => "does not add up",
    }
}

/// The effects of a fault at a collector: at the first poll, and at a later one if that differs.
fn outcomes(trouble: &Trouble, place: &Place) -> String {
    let fault = (trouble.fault)(place);
    let [first, later] = [When::First, When::Later].map(|when| outcome(effect(&fault, place, when)));
    if first == later { first.to_owned() } else { format!("{first}, later {later}") }
}

/// Values by collector: the most frequent one of the harmed collectors, then the others with their collectors.
fn grouped(value: impl Fn(&Place) -> String) -> (String, String) {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for place in &PLACES {
        groups.entry(value(place)).or_default().push(format!("`{}`", place.collector));
    }
    groups.remove("");
    let usual = groups
        .iter()
        .max_by_key(|(value, places)| (*value != UNHARMED, places.len()))
        .map_or_else(String::new, |(value, _)| value.clone());
    let others = groups.iter().filter(|(value, _)| **value != usual);
    let others: Vec<String> =
        others.map(|(value, places)| format!("{}: {value}", places.join(", "))).collect();
    (usual, others.join("; "))
}

/// The table of the provider's faults: one row for all faults of one effect.
pub fn provider() -> String {
    let mut rows: Vec<((String, String), Vec<&str>)> = Vec::new();
    for trouble in &TROUBLES {
        let effect = grouped(|place| outcomes(trouble, place));
        match rows.iter_mut().find(|(other, _)| *other == effect) {
            Some((_, faults)) => faults.push(trouble.says),
            None => rows.push((effect, vec![trouble.says])),
        }
    }
    let mut text = String::from("| the provider sends | outcome | elsewhere |\n|---|---|---|\n");
    for ((usual, others), faults) in rows {
        text.push_str(&format!("| {} | {usual} | {others} |\n", faults.join("; ")));
    }
    text
}
