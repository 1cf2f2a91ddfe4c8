//! Sentences are made once, from values. No function takes a finished text apart, because each further language
//! would need its own.

use super::layers::sources;

/// Layers with texts for people.
const SAY: [&str; 5] = ["src/alert/", "src/view/", "src/mail/", "src/terminal/", "src/http/"];
/// These read other texts: a store of 0.2, templates of addresses, keys of a file.
const READ: [&str; 2] = ["src/alert/subject.rs", "src/http/web_config/"];
const TAKE_APART: [&str; 8] = [
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "replace",
    "replacen",
    "starts_with",
    "ends_with",
];

#[test]
fn no_function_takes_a_finished_text_apart() {
    let said = sources().into_iter().filter(|(file, _)| SAY.iter().any(|layer| file.starts_with(layer)));
    let findings: Vec<String> = said
        .filter(|(file, _)| !READ.iter().any(|one| file.starts_with(one)))
        .flat_map(|(file, text)| found(&text).into_iter().map(move |part| format!("{file}: {part}")))
        .collect();
    assert!(findings.is_empty(), "made of values instead:\n{}", findings.join("\n"));
}

/// Each call that searches for words in a text.
fn found(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for call in TAKE_APART {
        let open = format!(".{call}(\"");
        for after in code.split(&open).skip(1) {
            let literal = after.split('"').next().unwrap_or_default();
            let words = literal.split(' ').filter(|word| word.chars().any(char::is_alphabetic)).count();
            if literal.contains(' ') && words > 0 {
                found.push(format!("{call}({literal:?})"));
            }
        }
    }
    found
}

#[test]
fn code_that_takes_a_text_apart_is_found() {
    for source in [
        "fn f(s: &str) { s.strip_prefix(\"Cannot \"); }",
        "fn f(s: &str) { s.replace(\", was \", \", were \"); }",
        "fn f(s: &str) { s.split_once(\" does not answer\"); }",
    ] {
        assert_eq!(found(source).len(), 1, "{source}");
    }
    for source in [
        "fn f(s: &str) { s.split_once(\": \"); s.strip_prefix(\"q=\"); }",
        "#[cfg(test)] s.replace(\"a b\", \"\")",
    ] {
        assert!(found(source).is_empty(), "{source}");
    }
}
