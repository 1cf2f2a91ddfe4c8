//! Reads small files. A refusal says why, in words that follow the path. Only regular files are read, since anything
//! else could be waited for without end.

use std::io;
use std::path::Path;

/// The reason why a file cannot be read, and the remedy if the reason tells it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Unreadable {
    why: String,
    remedy: Option<&'static str>,
}

impl Unreadable {
    /// The reason with its remedy, or else with the `usual` one for this file.
    pub(crate) fn or(self, usual: &str) -> String {
        format!("{}; {}", self.why, self.remedy.unwrap_or(usual))
    }
}

/// The bytes of a file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let data = std::fs::metadata(path).ok().filter(|data| !data.is_file());
    if let Some(data) = data {
        let what = if data.is_dir() { "a directory" } else { "a pipe or a device" };
        let why = format!("cannot be read: it is {what} and no file");
        return Err(Unreadable { why, remedy: None });
    }
    std::fs::read(path).map_err(|error| {
        let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
        let remedy = is_denied.then_some("let the user that runs hostwatch read it");
        Unreadable { why: format!("cannot be read: {}", reason(&error)), remedy }
    })
}

/// The same as text.
pub(crate) fn text(path: &Path) -> Result<String, Unreadable> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| Unreadable { why: "is not text in UTF-8".into(), remedy: Some("save it as UTF-8") })
}

/// The text of an operating system's error without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_readable_text_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("text"), "für").unwrap();
        std::fs::write(at("bytes"), b"\xff\xfe").unwrap();
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, want) in [
            ("text", Ok("für")),
            ("bytes", Err("is not text in UTF-8; save it as UTF-8")),
            ("none", Err("cannot be read: No such file or directory; name it")),
            ("text/x", Err("cannot be read: Not a directory; name it")),
            ("", Err("cannot be read: it is a directory and no file; name it")),
            ("socket", Err("cannot be read: it is a pipe or a device and no file; name it")),
        ] {
            let read = text(&at(name)).map_err(|why| why.or("name it"));
            assert_eq!(read.as_deref().map_err(String::as_str), want, "{name}");
        }
    }
}
