//! Man pages and shell completions, generated from the definition of the command line. `packaging/release`
//! names their folder in the variable GENERATED.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::Cli;
use clap::CommandFactory;
use clap_complete::Shell;

/// Writes all of them to `man` and `completions` in a folder.
fn generate(folder: &Path) {
    let [man, completions] = ["man", "completions"].map(|name| folder.join(name));
    std::fs::create_dir_all(&man).unwrap();
    std::fs::create_dir_all(&completions).unwrap();
    // Without the details of the build, such as its commit.
    let command = Cli::command().version(env!("CARGO_PKG_VERSION"));
    clap_mangen::generate_to(command.clone(), man).unwrap();
    for (shell, name) in
        [(Shell::Bash, "hostwatch.bash"), (Shell::Zsh, "_hostwatch"), (Shell::Fish, "hostwatch.fish")]
    {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), "hostwatch", &mut text);
        std::fs::write(completions.join(name), text).unwrap();
    }
}

#[test]
fn every_command_has_a_man_page_and_completions() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("GENERATED").map_or(scratch.path().to_owned(), PathBuf::from);
    generate(&folder);
    let pages = std::fs::read_dir(folder.join("man")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let fish = std::fs::read_to_string(folder.join("completions/hostwatch.fish")).unwrap();
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        assert!(pages.contains(&format!("hostwatch-{name}.1")), "{name}: {pages:?}");
        assert!(fish.contains(&format!(" -a \"{name}\"")), "{name}");
    }
}
