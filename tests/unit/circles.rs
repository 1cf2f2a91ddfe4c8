//! Files of src/ that import one another in a circle. There are none: in a circle nothing can be read by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::layers::sources;
use super::layers_support::{Root, paths};

type Modules = BTreeMap<Vec<String>, String>;
type Names = BTreeMap<(Vec<String>, String), Vec<String>>;

#[test]
fn files_import_one_another_in_no_circle() {
    // Two crates: hostwatch, and the simulator.
    let (sim, ours): (Vec<_>, Vec<_>) =
        sources().into_iter().partition(|(file, _)| file.starts_with("src/sim/"));
    let sim: Vec<_> =
        sim.into_iter().map(|(file, text)| (file.replacen("src/sim/", "src/", 1), text)).collect();
    let found = [circles(&ours), circles(&sim)].concat();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn circles_are_found_through_reexports_of_folders() {
    let source = |file: &str, text: &str| (file.to_owned(), text.to_owned());
    let sources = [
        source("src/a/mod.rs", "mod b; mod c; mod d; pub use b::B; pub use c::{C, D as E};"),
        source("src/a/b.rs", "use super::C; use std::fmt;"),
        source("src/a/c.rs", "fn f() -> crate::a::B { crate::a::b::new() }"),
        source("src/a/d.rs", "use super::{B, E};\n#[cfg(test)]\nmod tests { use super::*; }"),
    ];
    assert_eq!(circles(&sources), [["src/a/b.rs", "src/a/c.rs"]]);
}

/// Every circle, as the files that reach one another.
fn circles(sources: &[(String, String)]) -> Vec<Vec<String>> {
    let arrows = arrows(sources);
    let mut found: Vec<Vec<String>> = Vec::new();
    for file in arrows.keys() {
        if found.iter().flatten().any(|known| known == file) {
            continue;
        }
        let there = reached(file, &arrows);
        let circle: Vec<String> =
            there.iter().filter(|other| reached(other, &arrows).contains(file)).cloned().collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

/// The files that `file` imports, the files that they import, and so on.
fn reached(file: &str, arrows: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut todo = vec![file];
    while let Some(from) = todo.pop() {
        for to in arrows.get(from).into_iter().flatten() {
            if reached.insert(to.clone()) {
                todo.push(to);
            }
        }
    }
    reached
}

/// The files that each file imports. A folder's `mod.rs` is left out, because it lists all files of the folder.
fn arrows(sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: Modules = sources.iter().map(|(file, _)| (module_of(file), file.clone())).collect();
    let names = passed_on(sources, &modules);
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources.iter().filter(|(file, _)| !is_folder(file) && !file.contains("/tests")) {
        let module = module_of(file);
        let targets = absolute(text, &module, &modules);
        let files = targets.into_iter().filter_map(|path| file_of(path, &modules, &names));
        arrows.insert(file.clone(), files.filter(|to| to != file && !is_folder(to)).collect());
    }
    arrows
}

/// The names that a folder re-exports from its files, and the paths that they stand for.
fn passed_on(sources: &[(String, String)], modules: &Modules) -> Names {
    let mut names = Names::new();
    for (file, text) in sources.iter().filter(|(file, _)| is_folder(file)) {
        let module = module_of(file);
        for path in absolute(text, &module, modules) {
            if let Some(name) = path.last() {
                names.insert((module.clone(), name.clone()), path.clone());
            }
        }
    }
    names
}

/// The paths inside the crate that a file names outside its tests, from the crate's root.
fn absolute(text: &str, module: &[String], modules: &Modules) -> Vec<Vec<String>> {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let inside: Vec<&str> = module.iter().map(String::as_str).collect();
    let ours = paths(product, &inside).into_iter().filter_map(|path| {
        let from_here = [module, &path.segments[..1]].concat();
        match path.root {
            Root::Ours => Some(path.segments),
            Root::Named if modules.contains_key(&from_here) => Some([module, &path.segments].concat()),
            Root::Named => None,
        }
    });
    ours.collect()
}

/// The file that a path leads to, through re-exports of folders.
fn file_of(mut path: Vec<String>, modules: &Modules, names: &Names) -> Option<String> {
    for _ in 0..8 {
        let length = (1..=path.len()).rev().find(|&length| modules.contains_key(&path[..length]))?;
        let module = path[..length].to_vec();
        let passed = path.get(length).and_then(|name| names.get(&(module.clone(), name.clone())));
        match passed {
            Some(target) => path = [target.as_slice(), &path[length + 1..]].concat(),
            None => return modules.get(&module).cloned(),
        }
    }
    None
}

fn is_folder(file: &str) -> bool {
    file.ends_with("/mod.rs") || file == "src/lib.rs" || file == "src/main.rs"
}

fn module_of(file: &str) -> Vec<String> {
    super::layers::module_of(file).into_iter().map(str::to_owned).collect()
}
