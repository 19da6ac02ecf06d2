//! What a merge or a rebase would write over without a word: ignored files, which no commit and no checkpoint has.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt as _};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, index::entry::Mode};

use super::{super::Context, merge_sides::Side, merged::How};
use crate::{
    error::{Error, Result},
    git::{Repo, merge_branch::Foreseen},
    model::path_text,
};

/// How many paths one call of git gets: the system limits the length of a command line.
const MOST_AT_ONCE: usize = 500;

/// How many paths an error names.
const MOST_NAMED: usize = 3;

/// Refuses if the merge of `source` into `here` would write over an ignored file here or, by a rebase, in the worktree `there`.
pub(super) fn refuse_ignored(
    (context, here): (&Context, &Side),
    (there, source): (&Context, &Side),
    (how, foreseen): (How, Option<&Foreseen>),
) -> Result<()> {
    let repo = &context.repo;
    let (ours, theirs) = (repo.tree_of_commit(here.commit)?, repo.tree_of_commit(source.commit)?);
    let mut paths = BTreeSet::new();
    for base in repo.common_commits(here.commit, source.commit)? {
        written(repo, repo.tree_of_commit(base)?, theirs, &mut paths)?;
    }
    if let Some(foreseen) = foreseen {
        // A file may follow a directory that was renamed on the other side.
        written(repo, ours, foreseen.tree, &mut paths)?;
    }
    refuse(context, &paths)?;
    if how != How::Rebase || repo.is_ancestor(here.commit, source.commit)? {
        return Ok(());
    }
    // First git checks out the commit here; then it writes what each commit there has changed.
    let mut paths = repo.written_between(here.commit, source.commit)?;
    written(repo, theirs, ours, &mut paths)?;
    if let Some(foreseen) = foreseen {
        written(repo, theirs, foreseen.tree, &mut paths)?;
    }
    refuse(there, &paths)
}

/// Refuses if a fast-forward to `tip` would write over an ignored file in the worktree of `context`, whose commit is `from`.
pub(super) fn refuse_ignored_on_the_way_to(context: &Context, from: ObjectId, tip: ObjectId) -> Result<()> {
    let (repo, mut paths) = (&context.repo, BTreeSet::new());
    written(repo, repo.tree_of_commit(from)?, repo.tree_of_commit(tip)?, &mut paths)?;
    refuse(context, &paths)
}

/// Adds the paths to `paths` that git writes on the way from one tree to another.
fn written(repo: &Repo, from: ObjectId, to: ObjectId, paths: &mut BTreeSet<BString>) -> Result<()> {
    let changes = repo.diff_trees(from, to)?;
    paths.extend(changes.into_iter().filter(|change| change.after.is_some()).map(|change| change.path));
    Ok(())
}

/// Refuses if there is an ignored file at one of `paths`, above or below it. Of other untracked files, git refuses it itself.
fn refuse(context: &Context, paths: &BTreeSet<BString>) -> Result<()> {
    let ignored = ignored_at(context, paths)?;
    if ignored.is_empty() {
        return Ok(());
    }
    let (root, shown) = (context.repo.worktree_root().display(), shown(&ignored, "is", "are"));
    let what = format!("{shown} ignored in '{root}', and would be written over or deleted");
    Err(Error::refused(what)
        .with_hint("move them away, and run it again: no commit and no checkpoint has what is in them"))
}

/// Returns some of `paths`, how many more there are, and the verb: `one` for a single path, else `many`.
pub(super) fn shown(paths: &BTreeSet<BString>, one: &str, many: &str) -> String {
    let some: Vec<String> =
        paths.iter().take(MOST_NAMED).map(|path| format!("'{}'", path_text::printable(path.as_ref()))).collect();
    let more = paths.len() - some.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more} {}", some.join(", "), if paths.len() == 1 { one } else { many })
}

/// Returns the ignored files that are at one of `paths`, above or below it, in the worktree of `context`.
fn ignored_at(context: &Context, paths: &BTreeSet<BString>) -> Result<BTreeSet<BString>> {
    let repo = &context.repo;
    let index = repo.user_index()?;
    let (mut there, mut found): (BTreeSet<&BStr>, BTreeSet<BString>) = Default::default();
    for path in paths {
        context.check_interrupt()?;
        let Some((at, is_directory)) = there_at(repo, path.as_ref()) else { continue };
        let mode = index.as_ref().and_then(|index| index.entry_by_path(at)).map(|entry| entry.mode);
        // Git deletes what is ignored in a submodule that becomes a directory of files.
        let mut parents = path.find_iter("/").map(|end| path[..end].as_bstr());
        let is_submodule = |parent: &BStr| {
            index.as_ref().and_then(|index| index.entry_by_path(parent)).is_some_and(|entry| entry.mode == Mode::COMMIT)
        };
        if at.len() == path.len() && parents.any(is_submodule) {
            found.insert(at.to_owned());
            continue;
        }
        // What is in a submodule is its own.
        if mode.is_none_or(|mode| is_directory && mode != Mode::COMMIT) {
            there.insert(at);
        }
    }
    for some in there.into_iter().collect::<Vec<_>>().chunks(MOST_AT_ONCE) {
        let words = ["--literal-pathspecs", "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
        let words: Vec<&OsStr> =
            words.iter().map(OsStr::new).chain(some.iter().map(|path| OsStr::from_bytes(path))).collect();
        let listed = repo.run_git(&words, None)?;
        found.extend(listed.split_str("\0").filter(|path| !path.is_empty()).map(BString::from));
    }
    Ok(found)
}

/// Returns what is at `path` in the worktree, or what is no directory on the way to it, and whether it is a directory. No link is
/// followed.
pub(super) fn there_at<'p>(repo: &Repo, path: &'p BStr) -> Option<(&'p BStr, bool)> {
    let ends = path.find_iter("/").chain([path.len()]);
    let mut last = None;
    for end in ends {
        let at = path[..end].as_bstr();
        // What we may not look at, git may not, either.
        let metadata = repo.worktree_root().join(OsStr::from_bytes(at)).symlink_metadata().ok()?;
        last = Some((at, metadata.is_dir()));
        if !metadata.is_dir() {
            break;
        }
    }
    last
}
