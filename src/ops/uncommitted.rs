//! Refuses to go on while something in a worktree is not committed: a branch does not have all of its work then.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};

use super::{Context, chain::peek::worktree_tree};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::path_text,
};

/// Refuses with `hint` if something is not committed in this worktree.
pub(crate) fn refuse_changes(context: &Context, hint: &str) -> Result<()> {
    let repo = &context.repo;
    let found = worktree_tree(context)?;
    let head = repo.head()?.id.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let mut paths: BTreeSet<BString> = found.manifest.skipped.iter().map(|left| left.path.clone()).collect();
    paths.extend(found.manifest.unmerged.iter().map(|unmerged| unmerged.path.clone()));
    for tree_id in [found.tree_id, found.index_tree_id] {
        paths.extend(found.repo.diff_trees(head, tree_id)?.into_iter().map(|change| change.path));
    }
    let Some(first) = paths.first() else { return Ok(()) };
    let (first, root) = (path_text::printable(first.as_bstr()), repo.worktree_root().display());
    let what = match paths.len() {
        1 => format!("'{first}' in '{root}' is not committed"),
        count => format!("{count} paths in '{root}' are not committed, '{first}' for example"),
    };
    Err(Error::refused(what).with_hint(hint))
}

/// Refuses if a submodule has changes that no commit of the superproject has.
pub(crate) fn refuse_changes_in_submodules(repo: &Repo) -> Result<()> {
    let words = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=none"];
    for line in repo.run_git(&words, None)?.split_str("\0") {
        // git-status(1): `1 <XY> <sub> <mH> <mI> <mW> <hH> <hI> <path>`; <sub> is S, and a letter each for commit, changes and new files.
        let mut fields = line.splitn_str(9, " ").skip(2);
        let (sub, path) = (fields.next().unwrap_or_default(), fields.nth(5).unwrap_or_default());
        if sub.starts_with(b"S") && (sub.contains(&b'M') || sub.contains(&b'U')) {
            let path = path_text::printable(path.as_bstr());
            return Err(Error::refused(format!("the submodule '{path}' has changes that are not committed there"))
                .with_hint("commit them there, or ignore them: no commit of this repository has them"));
        }
    }
    Ok(())
}
