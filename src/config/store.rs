//! `[store]`: where the store is, and where one of old may lie instead.

use std::path::{Path, PathBuf};

use super::findings::Findings;
use super::view::View;

/// The name that a store has by default.
const NAME: &str = "hostwatch.db";

/// See the module.
#[derive(Default)]
pub(super) struct Stores {
    pub path: PathBuf,
    /// In the working directory, where older releases looked for it; in the state directory, where a configuration that
    /// did not name the store had it.
    pub former: Vec<PathBuf>,
}

/// A relative path is under the state directory where systemd names one, else beside the configuration file.
pub(super) fn paths(
    view: &View<'_>,
    file: Option<&Path>,
    state: Option<PathBuf>,
    findings: &mut Findings,
) -> Stores {
    let Some(path) = view.text("store.path") else {
        if !view.is_set("store.path") {
            view.error("store.path", findings, "is empty; name a file such as \"hostwatch.db\"");
        }
        return Stores::default();
    };
    // systemd lists several directories with colons; the first is ours.
    let state = state.and_then(|list| list.to_str()?.split(':').next().map(PathBuf::from));
    let beside = || file.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
    let mut former = vec![PathBuf::from(if Path::new(path).is_relative() { path } else { NAME })];
    former.extend(state.as_ref().map(|state| state.join(NAME)));
    Stores { path: state.unwrap_or_else(beside).join(path), former }
}
