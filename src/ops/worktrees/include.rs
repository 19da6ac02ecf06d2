//! What `worktree add` brings along beside the files of the branch: ignored files that `.worktreeinclude` names.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use serde::Serialize;

use super::{super::Context, in_use::is_there};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        copy_file::{Copied, copy_file},
    },
    model::path_text,
};

/// The file at the root of a worktree that has the patterns, as in gitignore(5).
const FILE: &str = ".worktreeinclude";

/// Why a file is not copied that would replace another one.
const THERE: &str = "it is there already";

/// A file that was not copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NotCopied {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// Why.
    pub(crate) why: String,
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Included {
    pub(crate) copied: Vec<BString>,
    pub(crate) not_copied: Vec<NotCopied>,
}

/// Copies the ignored files of this worktree that `.worktreeinclude` names, and that are ignored there, too, to the worktree of
/// `there`. Nothing is overwritten, and a file that cannot be copied is reported.
pub(super) fn include(context: &Context, there: &Repo) -> Result<Included> {
    let to = there.worktree_root();
    let from = context.repo.worktree_root();
    let mut included = Included::default();
    let paths = paths(&context.repo)?;
    if paths.is_empty() {
        return Ok(included);
    }
    // What is not ignored there, as its branch has other rules, would be in the next checkpoint.
    let ignored = ignored_there(there, &paths);
    for path in paths {
        context.check_interrupt()?;
        if !ignored.contains(&path) {
            let is_there = is_there(&to.join(path.to_path_lossy()));
            let why = if is_there { THERE } else { "it is not ignored there" }.to_owned();
            included.not_copied.push(NotCopied { path, why });
            continue;
        }
        let why = match copy_file(from, to, path.as_bstr()) {
            Ok(Copied::Yes) => {
                included.copied.push(path);
                continue;
            }
            Ok(Copied::Exists) => THERE.to_owned(),
            Ok(Copied::Gone) => "it has vanished".to_owned(),
            Err(error) => error.to_string(),
        };
        included.not_copied.push(NotCopied { path, why });
    }
    Ok(included)
}

/// Returns those of `paths` that git ignores in the worktree of `repo`. Git refuses a path below a symbolic link or in a submodule there,
/// and with it all that are asked at once: such a path is not ignored.
fn ignored_there(repo: &Repo, paths: &[BString]) -> BTreeSet<BString> {
    match ignored(repo, paths) {
        Ok(ignored) => ignored.into_iter().collect(),
        Err(_) if paths.len() > 1 => {
            let (one, other) = paths.split_at(paths.len() / 2);
            let mut ignored = ignored_there(repo, one);
            ignored.append(&mut ignored_there(repo, other));
            ignored
        }
        Err(_) => BTreeSet::new(),
    }
}

/// Returns the files that `.worktreeinclude` names and git ignores.
fn paths(repo: &Repo) -> Result<Vec<BString>> {
    let file = repo.worktree_root().join(FILE);
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let exclude = format!("--exclude-from={FILE}");
    let named = repo.run_git(&["ls-files", "--others", "--ignored", "-z", &exclude], None)?;
    // A name that ends with a slash is another repository.
    let named = named.split_str("\0").filter(|path| !path.is_empty() && !path.ends_with(b"/"));
    ignored(repo, &named.map(BString::from).collect::<Vec<_>>())
}

/// Returns those of `paths` that git ignores in the worktree of `repo`, whether they are there or not.
fn ignored(repo: &Repo, paths: &[BString]) -> Result<Vec<BString>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let input = paths.iter().flat_map(|path| [path.as_slice(), b"\0"]).collect::<Vec<_>>().concat();
    let output = repo.try_git(&["check-ignore", "-z", "--stdin"], Some(&input))?;
    match output.status.code() {
        // None of them is ignored.
        Some(1) => Ok(Vec::new()),
        Some(0) => Ok(output.stdout.split_str("\0").filter(|path| !path.is_empty()).map(BString::from).collect()),
        _ => Err(Error::internal("'git check-ignore' has failed")
            .with_cause(output.stderr.trim().to_str_lossy().into_owned())),
    }
}
