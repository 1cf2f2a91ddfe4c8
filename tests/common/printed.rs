//! The command lines in mails, on the page and in the documentation, taken from the golden mails, the templates
//! and the pages themselves.
#![allow(dead_code, clippy::unwrap_used, reason = "tests, each of which uses its part")]

use std::path::Path;

/// All command lines. A key that a template leaves open is that of a VM.
pub fn everywhere() -> Vec<String> {
    [".", "docs", "tests/unit/snapshots/mails", "src/http/templates"].into_iter().flat_map(within).collect()
}

/// The command lines in the files of one folder of the repository.
pub fn within(folder: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("md" | "snap" | "html")) {
            lines.extend(of(&std::fs::read_to_string(path).unwrap()));
        }
    }
    lines
}

/// Lines of code blocks, of mails and of the page's `<code>` that begin with the program's name.
pub fn of(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2).flat_map(str::lines).map(str::trim);
    let named = |line: &&str| {
        let name = line.strip_prefix("hostwatch ").and_then(|rest| rest.chars().next());
        // "hostwatch itself runs on …" is a sentence of a mail.
        name.is_some_and(|first| first.is_ascii_lowercase()) && !line.ends_with('.')
    };
    let blocks = blocks.filter(named);
    let mails = text.lines().filter_map(|line| line.split_once(": hostwatch ")).map(|(_, line)| line);
    let command =
        |line: &&str| ["why", "ack"].iter().any(|name| line.split_whitespace().next() == Some(name));
    let page = text.split("<code>hostwatch ").skip(1).filter_map(|rest| rest.split("</code>").next());
    let page = page.map(|line| line.replace("{{ card.key }}", "main/vm_error/17"));
    let whole =
        |line: &str| format!("hostwatch {}", line.trim_start_matches("hostwatch ").trim_end_matches("</p>"));
    let quoted = text.split("`hostwatch ").skip(1).filter_map(|rest| rest.split('`').next());
    // In a mail the quoted text is a key. In the documentation it may be a name or a pattern.
    let quoted = quoted.filter(|_| text.starts_with("---\nsource: "));
    let lines = blocks.chain(mails.filter(command)).chain(quoted).map(whole);
    lines.chain(page.map(|line| whole(&line))).collect()
}
