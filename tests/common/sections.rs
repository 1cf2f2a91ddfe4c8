//! Parts of a document that a test writes and checks.

use super::tools;

/// Compares the part of a page between `<!-- NAME -->` and `<!-- /NAME -->` with a text, as [`tools::hold`] does.
///
/// # Panics
/// If the page has another text there, or no such part.
pub fn hold(page: &str, name: &str, text: &str, command: &str) {
    let have = tools::read(page);
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = have.split_once(&begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} has no {end}"));
    tools::hold(page, &format!("{before}{begin}{text}{end}{after}"), command);
}
