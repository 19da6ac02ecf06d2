//! A hint for paths that the user typed as if the current directory were the root of the worktree, for example because a table of
//! git's has them so.

use std::{
    ffi::OsString,
    path::{Component, Path},
};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::output::printable;
use crate::{
    error::{Error, Kind},
    git::Repo,
    model::path_text,
    ops::{Context, lookup},
};

/// How a command takes paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As pathspecs, of which `:/` begins at the root.
    Pathspec,
    /// As plain paths.
    Path,
}

/// Returns what to type instead of the first of `typed` that names nothing in the current directory, but something from the root:
/// in the worktree, at HEAD, or in `target`.
pub(super) fn hint(context: &Context, typed: &[OsString], target: Option<&str>, form: Form) -> Option<String> {
    let repo = &context.repo;
    let prefix = repo.prefix(Path::new("."));
    if prefix.is_empty() {
        return None;
    }
    let target = target.and_then(|target| lookup::resolve(context, target).ok());
    let head = repo.head().ok().and_then(|head| head.id);
    let commits: Vec<ObjectId> = target.into_iter().chain(head).collect();
    let is_there = |path: &BStr| is_in_worktree(repo, path) || commits.iter().any(|id| is_in_commit(repo, *id, path));
    let typed = typed.iter().filter_map(|typed| plain(typed)).find(|path| {
        let here = [prefix.as_slice(), path.as_bytes()].concat();
        !is_there(here.as_bstr()) && is_there(path.as_bytes().as_bstr())
    })?;
    let instead = match form {
        Form::Pathspec => format!(":/{typed}"),
        Form::Path => path_text::relative(typed.as_bytes().as_bstr(), prefix.as_bstr()).to_string(),
    };
    let is_plain = instead.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":/._-+".contains(&byte));
    let word = if is_plain { format!("'{instead}'") } else { path_text::shell_word(&instead) };
    Some(format!("'{}' begins at the root: type {}", printable(typed), printable(word)))
}

/// Returns `error`, with that hint if it is about a path of the user's and has no better hint.
pub(super) fn with_hint(
    error: Error,
    context: &Context,
    typed: &[OsString],
    target: Option<&str>,
    form: Form,
) -> Error {
    if error.kind() != Kind::User {
        return error;
    }
    match hint(context, typed, target, form) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Returns `error` of a command about the lines of `path`, a file of the worktree, with a hint at the version of the last commit if the
/// file is deleted.
pub(super) fn with_deleted_hint(error: Error, context: &Context, path: &BStr) -> Error {
    let repo = &context.repo;
    let head = repo.head().ok().and_then(|head| head.id);
    if error.hint().is_some() || is_in_worktree(repo, path) || !head.is_some_and(|id| is_in_commit(repo, id, path)) {
        return error;
    }
    error.with_hint(format!(
        "'{}' is not in the worktree; '--rev HEAD' takes it as the last commit has it",
        printable(path)
    ))
}

/// Returns `typed` without a final slash if it is a plain relative path: no magic of pathspecs, and nothing to resolve.
fn plain(typed: &OsString) -> Option<&str> {
    let text = typed.to_str()?.trim_end_matches('/');
    let is_plain = Path::new(text).components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && !text.is_empty() && !text.starts_with(':')).then_some(text)
}

fn is_in_worktree(repo: &Repo, path: &BStr) -> bool {
    gix::path::from_bstr(path).is_ok_and(|inside| std::fs::symlink_metadata(repo.worktree_root().join(inside)).is_ok())
}

fn is_in_commit(repo: &Repo, id: ObjectId, path: &BStr) -> bool {
    let tree = repo.tree_of_commit(id);
    tree.is_ok_and(|tree| repo.find_entry(tree, path).is_ok_and(|entry| entry.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::file("src/a.py", Some("src/a.py"))]
    #[case::directory("src/", Some("src"))]
    #[case::magic(":/src", None)]
    #[case::up("../src", None)]
    #[case::absolute("/src", None)]
    #[case::empty("", None)]
    fn plain_paths(#[case] typed: &str, #[case] expected: Option<&str>) {
        assert_eq!(plain(&typed.into()), expected);
    }
}
