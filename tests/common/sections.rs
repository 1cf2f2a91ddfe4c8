//! Parts of a document that a test writes and checks.

use std::path::Path;

/// Compares the part of a page between `<!-- NAME -->` and `<!-- /NAME -->` with a text. With `UPDATE_DOCS` set
/// it writes the text.
///
/// # Panics
/// If the page has another text there, or no such part.
pub fn hold(page: &str, name: &str, text: &str, command: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let have = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = have.split_once(&begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} has no {end}"));
    let want = format!("{before}{begin}{text}{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, want).unwrap();
    } else {
        assert!(have == want, "{page} is old; UPDATE_DOCS=1 {command}");
    }
}
