//! Man pages and shell completions: written from the definition of the command line, and held equal to it.
//! `UPDATE_DOCS=1 cargo test --lib generated` writes them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::Cli;
use clap::CommandFactory;
use clap_complete::Shell;

const MAN: &str = "packaging/man";
const COMPLETIONS: &str = "packaging/completions";

/// Every file of both folders, as the command line has it now.
fn generated() -> BTreeMap<PathBuf, Vec<u8>> {
    // Without what a build was told of itself.
    let command = Cli::command().version(env!("CARGO_PKG_VERSION"));
    let scratch = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(command.clone(), scratch.path()).unwrap();
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(scratch.path()).unwrap() {
        let path = entry.unwrap().path();
        files.insert(Path::new(MAN).join(path.file_name().unwrap()), std::fs::read(&path).unwrap());
    }
    for (shell, name) in
        [(Shell::Bash, "hostwatch.bash"), (Shell::Zsh, "_hostwatch"), (Shell::Fish, "hostwatch.fish")]
    {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), "hostwatch", &mut text);
        files.insert(Path::new(COMPLETIONS).join(name), text);
    }
    files
}

#[test]
fn man_pages_and_completions_are_those_of_the_command_line() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = generated();
    assert!(files.contains_key(Path::new("packaging/man/hostwatch.1")), "{:?}", files.keys());
    assert!(files.contains_key(Path::new("packaging/man/hostwatch-silence.1")), "{:?}", files.keys());
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    for folder in [MAN, COMPLETIONS] {
        let folder = root.join(folder);
        if update {
            std::fs::create_dir_all(&folder).unwrap();
        }
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let known = files.contains_key(path.strip_prefix(root).unwrap());
            if !known && update {
                std::fs::remove_file(&path).unwrap();
            } else {
                assert!(known, "{} belongs to no command any more", path.display());
            }
        }
    }
    for (path, text) in files {
        let kept = root.join(&path);
        if update {
            std::fs::write(&kept, &text).unwrap();
        }
        let same = std::fs::read(&kept).is_ok_and(|kept| kept == text);
        assert!(same, "{} is out of date; UPDATE_DOCS=1 cargo test --lib generated", path.display());
    }
}
