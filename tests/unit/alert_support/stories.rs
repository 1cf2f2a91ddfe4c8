//! Stories with the mails that they make, as text.
//!
//! Empty lines separate stories; each begins in a new world. A line has steps (`steps`), then `=>` and all that a
//! recipient was told since the last such line: `vm1=error => vm_error/1 opened`. A key may be left out. `;`
//! separates recipients; the first is "ops" by default. `ops[disconnect]: rung:7` is only about incidents with that
//! in their key. `..` stands for anything before. `|` separates events of which the contract leaves the choice open.
//! `words: VM vm-1 in error` is a line about the last incident that "ops" was told.

use super::{Told, World};
use crate::alert::Kind;

const FIELDS: [&str; 5] = ["words", "reason", "detail", "severity", "covers"];

/// Lives through all stories, and tells every wrong line.
pub fn stories(make: impl Fn() -> World, text: &str) {
    let mut wrong = Vec::new();
    for story in text.split("\n\n") {
        let mut world = make();
        let lines = story.lines().map(str::trim).filter(|line| !line.is_empty());
        let of_story: Vec<String> = lines.filter_map(|line| line_of(&mut world, line)).collect();
        if !of_story.is_empty() {
            wrong.push(format!("{story}\n{}", of_story.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// The same stories for each of these words, which stand in for `{}`.
pub fn stories_of(make: impl Fn() -> World, words: &[&str], text: &str) {
    words.iter().for_each(|word| stories(&make, &text.replace("{}", word)));
}

/// Lives through one line. The result says what is wrong with its mails.
fn line_of(world: &mut World, line: &str) -> Option<String> {
    let field = line.split_once(": ").filter(|(field, _)| FIELDS.contains(field));
    if let Some((field, want)) = field {
        let is = field_of(field, world.last_told());
        return (is != want).then(|| format!("-> {line}\n   is: {is}"));
    }
    let Some((steps, wants)) = line.split_once("=>") else {
        world.live(line);
        return None;
    };
    world.live(steps);
    let mut wrong = None;
    let mut taken = Vec::new();
    for want in wants.split(';') {
        let mut words = want.split_whitespace().peekable();
        let who = words.next_if(|word| word.ends_with(':')).map_or("ops", |who| &who[..who.len() - 1]);
        let (to, about) =
            who.split_once('[').map_or((who, ""), |(to, about)| (to, about.trim_end_matches(']')));
        let heard: Vec<(String, String)> = heard(world, to, about);
        taken.push(to.to_owned());
        if !agrees(&words.collect::<Vec<_>>(), &heard) {
            let heard: Vec<String> = heard.iter().map(|(key, event)| format!("{key} {event}")).collect();
            wrong.get_or_insert(format!("-> {line}\n   {who} at {}: {}", world.now, heard.join(" ")));
        }
    }
    taken.iter().for_each(|to| drop(world.take_of(to)));
    wrong
}

/// Key and event of all that a recipient was told since the last line about it.
fn heard(world: &World, to: &str, about: &str) -> Vec<(String, String)> {
    let parted = |event: String| {
        let (key, event) = event.trim_start_matches("main/").split_once(' ').unwrap_or(("", "started"));
        (key.trim_end_matches("/account").to_owned(), event.to_owned())
    };
    let all = world.events_of(to).into_iter().map(parted);
    all.filter(|(key, _)| key.contains(about)).collect()
}

fn agrees(words: &[&str], heard: &[(String, String)]) -> bool {
    let is_key = |word: &str| word.contains('/') || word.parse::<Kind>().is_ok();
    let (words, is_end) = words.strip_prefix(&[".."]).map_or((words, false), |words| (words, true));
    let mut key = None;
    let mut wants = Vec::new();
    for &word in words {
        if is_key(word) {
            key = Some(word);
        } else {
            wants.push((key.take(), word));
        }
    }
    let from = if is_end { heard.len().saturating_sub(wants.len()) } else { 0 };
    let heard = &heard[from..];
    wants.len() == heard.len()
        && wants.iter().zip(heard).all(|((key, event), (is_of, is))| {
            key.is_none_or(|key| key == is_of) && event.split('|').any(|one| one == is)
        })
}

fn field_of(field: &str, told: &Told) -> String {
    match field {
        "words" => told.words.clone(),
        "reason" => told.reason.clone(),
        "detail" => told.detail.replace('\u{202f}', "").replace('\u{a0}', " "),
        "severity" => told.severity.to_string(),
        "covers" => told.covers.join(", "),
        _ => panic!("an incident in a mail has no {field}"),
    }
}
