//! The repositories inside the worktree: which of them have changes of their own. A checkpoint has only the commits that they
//! are at.

use bstr::{BString, ByteSlice as _};

use super::{Context, chain::limits};
use crate::{
    error::{Error, Kind},
    git::{Repo, stat_cache::StatCache},
    model::{
        manifest::Nested,
        path_text::printable,
        submodule::{Recurse, Submodule},
    },
};

/// The repositories whose changes a save of the worktree leaves out.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) submodules: Vec<Submodule>,
    /// Repositories that are no submodules.
    pub(crate) nested: Vec<BString>,
}

impl LeftOut {
    /// Returns the submodules in `cache`, what a pass has just seen, and the repositories in `nested` that have changes of their
    /// own. What cannot be looked at counts as unchanged: this only informs.
    pub(crate) fn find(context: &Context, cache: Option<&StatCache>, nested: &[Nested]) -> Self {
        let limits = limits(context);
        let changed = cache.map_or_else(|| Ok(Vec::new()), |cache| context.repo.changed_submodules(cache, &limits));
        let submodules = changed.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look into the submodules");
            Vec::new()
        });
        let is_left_out = |nested: &&Nested| nested.dirty != Some(false) && !nested.is_worktree;
        // Without a pass, `nested` is what an earlier one has seen.
        let nested = if cache.is_some() { nested } else { &[] };
        Self { submodules, nested: nested.iter().filter(is_left_out).map(|nested| nested.path.clone()).collect() }
    }

    /// Returns this without those of which `is_saved` returns true.
    pub(crate) fn without(mut self, is_saved: impl Fn(&BString) -> bool) -> Self {
        self.submodules.retain(|submodule| !is_saved(&submodule.path));
        self.nested.retain(|path| !is_saved(path));
        self
    }
}

/// The repositories whose content no checkpoint of the worktree has, and git has it nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unprotected {
    /// Submodules with changes, and all others, each with what it is, in words.
    pub(crate) found: Vec<(BString, &'static str)>,
    /// Repositories that may be among them: they were not looked into.
    pub(crate) unknown: Vec<BString>,
}

impl Unprotected {
    /// Returns those of the submodules in `cache`, what a pass has just seen, and of `nested`. To look into all submodules takes
    /// long, so this does it only if it `should_look`.
    pub(crate) fn find(context: &Context, cache: Option<&StatCache>, nested: &[Nested], should_look: bool) -> Self {
        if !should_look {
            let unknown = cache.map(|cache| repositories(cache, nested, Recurse::All)).unwrap_or_default();
            return Self { found: Vec::new(), unknown };
        }
        let submodules = LeftOut::find(context, cache, &[]).submodules.into_iter();
        let nested = nested.iter().filter(|nested| !nested.is_worktree);
        let mut found: Vec<_> = submodules.map(|submodule| (submodule.path, "a submodule with changes")).collect();
        found.extend(nested.map(|nested| (nested.path.clone(), "another repository")));
        Self { found, unknown: Vec::new() }
    }
}

/// Returns the paths of the repositories that `recurse` says, sorted: of the submodules in `cache`, what a pass has just seen, and
/// of those in `nested`.
pub(crate) fn repositories(cache: &StatCache, nested: &[Nested], recurse: Recurse) -> Vec<BString> {
    let nested = nested.iter().filter(|_| recurse == Recurse::All).map(|nested| nested.path.clone());
    let mut paths: Vec<BString> = Repo::submodules_in(cache).map(ToOwned::to_owned).chain(nested).collect();
    paths.sort();
    paths
}

/// The hint if a submodule is in the way.
const LEAVES_OUT: &str = "'--no-recurse-submodules' leaves submodules out";

/// Returns the error that the command `command` fails with because of `error` in the submodule `path`.
pub(crate) fn failed(command: &str, path: &BString, error: Error) -> Error {
    let kind = match error.kind() {
        // The objects, and the other processes, are not those of this repository.
        Kind::Corrupt | Kind::Race => Kind::Internal,
        kind => kind,
    };
    let hint = match error.hint() {
        // It failed in a submodule of the submodule.
        Some(hint) if hint.ends_with(LEAVES_OUT) => hint.to_owned(),
        Some(hint) => format!("{hint}; {LEAVES_OUT}"),
        None => LEAVES_OUT.to_owned(),
    };
    let message = format!("cannot {command} the submodule '{}'", printable(path.as_bstr()));
    Error::new(kind, message).with_hint(hint).with_cause(error)
}
