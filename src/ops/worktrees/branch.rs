//! What `worktree add` is asked for, and the branch of the worktree: whether it can be checked out, or where it begins if it has to be made.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::super::{Context, lookup};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        registrations::{Place, Registration},
    },
    model::path_text,
};

/// Below it are the branches of remotes.
const REMOTES: &str = "refs/remotes/";

/// What to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddOptions {
    /// The branch, by its short name.
    pub(crate) branch: String,
    /// Make the branch, too.
    pub(crate) create: bool,
    /// Where a branch that is made begins; none: at HEAD of this worktree. Of a checkpoint, the worktree gets the files, and the
    /// branch begins at its base.
    pub(crate) base: Option<String>,
    /// Bring the uncommitted changes of this worktree along, which gets a checkpoint for that.
    pub(crate) from_here: bool,
    /// The session that the worktree is for.
    pub(crate) session: Option<String>,
    /// The directory in which it is made, as `ctx_1`, `ctx_2` and so on; none: where the settings say, named after its branch.
    pub(crate) inside: Option<PathBuf>,
}

/// Where a branch begins that has to be made.
pub(super) struct Start {
    pub(super) commit: ObjectId,
    /// What the commit was called.
    pub(super) name: String,
    /// The checkpoint that the files are from.
    pub(super) files: Option<ObjectId>,
}

/// Returns what `text` names: a commit as git does, or else a checkpoint, with the commit that it is based on.
fn start(context: &Context, text: &str) -> Result<Start> {
    let none = || match text {
        "HEAD" => Error::user("there is no commit yet, so that no worktree can begin at one")
            .with_hint("make the first one with 'git commit'"),
        _ => Error::user(format!("'{text}' is no commit")).with_hint("give a branch, a tag, a commit or a checkpoint"),
    };
    // For git, `@` is HEAD; for us, the latest checkpoint.
    let found = if text.starts_with('@') { None } else { context.repo.find_commit(text)? };
    let id = match found {
        Some(id) => id,
        None => lookup::resolve(context, text).map_err(|error| match error.kind() {
            Kind::User if !text.starts_with('@') => none(),
            _ => error,
        })?,
    };
    let Some(checkpoint) = context.repo.find_checkpoint(id)? else {
        return Ok(Start { commit: id, name: text.to_owned(), files: None });
    };
    let Some(commit) = checkpoint.base.commit_id() else {
        return Err(Error::refused(format!("the checkpoint '{text}' is based on no commit"))
            .with_hint("a branch begins at a commit: make the first one"));
    };
    Ok(Start { commit, name: commit.to_string(), files: Some(id) })
}

/// Returns the commit that `text` names, or the one that a checkpoint is based on, and that checkpoint.
///
/// # Errors
/// As [`pinned_base`].
pub(crate) fn commit_of_base(context: &Context, text: &str) -> Result<(ObjectId, Option<ObjectId>)> {
    let Start { commit, files, .. } = start(context, text)?;
    Ok((commit, files))
}

/// Returns the id of what `text`, or else HEAD, names in the worktree that `directory` is in: of a commit or a checkpoint.
///
/// # Errors
/// [`Kind::User`] if there is none; [`Kind::Refused`] if a checkpoint is based on no commit.
pub(crate) fn pinned_base(context: &Context, directory: &Path, text: Option<&str>) -> Result<String> {
    let there;
    let context = if Repo::is_inside_repository(directory) {
        there = context.with_repo(Repo::open(directory)?);
        &there
    } else {
        context
    };
    let Start { commit, files, .. } = start(context, text.unwrap_or("HEAD"))?;
    Ok(files.unwrap_or(commit).to_string())
}

/// Returns where the branch begins that has to be made; none if it exists and can be checked out. `here` is the checkpoint of
/// this worktree, if its changes are to be brought along.
pub(super) fn base(
    context: &Context,
    options: &AddOptions,
    here: Option<ObjectId>,
    registered: &[Registration],
) -> Result<Option<Start>> {
    let repo = &context.repo;
    let branch = &options.branch;
    if !Repo::is_branch_name(branch) {
        let shown = path_text::printable(branch.as_bytes().as_bstr());
        return Err(Error::user(format!("'{shown}' is not a valid name for a branch"))
            .with_hint("git-check-ref-format(1) says which names are"));
    }
    let full = format!("refs/heads/{branch}");
    // HEAD of a bare repository is no checkout.
    let mut checkouts = registered.iter().filter(|it| it.place != Place::Bare);
    if let Some(holder) = checkouts.find(|it| it.head.branch.as_ref().is_some_and(|at| *at == full.as_str())) {
        let path = holder.path.display();
        let hint = match holder.place {
            Place::Unreadable => {
                "it cannot be looked at: its permissions, or those of a directory above it, may be why".to_owned()
            }
            Place::Nothing => "its directory is gone: 'git checkpoint worktree prune' forgets it".to_owned(),
            _ => format!("'git checkpoint worktree exec {}' starts a shell there", path_text::shell_word(branch)),
        };
        return Err(Error::refused(format!("the branch '{branch}' is checked out in '{path}'")).with_hint(hint));
    }
    match (repo.find_ref(&full)?, options.create) {
        (Some(_), true) => Err(exists(branch)),
        (Some(_), false) if options.base.is_some() || here.is_some() => {
            let option = if options.base.is_some() { "--base" } else { "--from-here" };
            Err(Error::user(format!("{option} needs --create: the branch exists already, and has its commit")))
        }
        (Some(_), false) => Ok(None),
        (None, false) => {
            let remote = repo.refs_below(REMOTES)?;
            let remote: Vec<&str> = remote.iter().filter_map(|(name, _)| name.strip_prefix(REMOTES)).collect();
            let is_tag = repo.find_ref(&format!("refs/tags/{branch}"))?.is_some();
            let words = how_to_make(options, &remote, is_tag);
            Err(Error::user(format!("there is no branch '{branch}'"))
                .with_hint(format!("'git checkpoint worktree add {words}' makes it")))
        }
        (None, true) => {
            let here = here.map(|id| id.to_string());
            start(context, options.base.as_deref().or(here.as_deref()).unwrap_or("HEAD")).map(Some)
        }
    }
}

pub(super) fn exists(branch: &str) -> Error {
    let word = path_text::shell_word(branch);
    Error::user(format!("the branch '{branch}' exists already"))
        .with_hint(format!("'git checkpoint worktree add {word}' makes a worktree for it"))
}

/// Returns the words that make the branch which `options` name and which does not exist: at the tag of this name if it `is_tag`,
/// or else at the branch of a remote that has this name, if there is one, of all their `remote` branches.
fn how_to_make(options: &AddOptions, remote: &[&str], is_tag: bool) -> String {
    let (branch, word) = (&options.branch, path_text::shell_word);
    let as_is = |from: String| format!("--create {}{from}", word(branch));
    if options.from_here {
        return as_is(" --from-here".to_owned());
    }
    if let Some(from) = &options.base {
        return as_is(format!(" --base {}", word(from)));
    }
    if is_tag {
        return as_is(format!(" --base {}", word(branch)));
    }
    if let Some((_, name)) = branch.split_once('/').filter(|_| remote.contains(&branch.as_str())) {
        return format!("--create {} --base {}", word(name), word(branch));
    }
    let has_name = |it: &&&str| it.strip_suffix(branch.as_str()).is_some_and(|remote| remote.ends_with('/'));
    match remote.iter().filter(has_name).collect::<Vec<_>>()[..] {
        [only] => as_is(format!(" --base {}", word(only))),
        _ => as_is(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nowhere("topic", None, false, "--create topic")]
    #[case::of_a_tag("v1", None, false, "--create v1 --base v1")]
    #[case::of_a_tag_with_a_base("v1", Some("main"), false, "--create v1 --base main")]
    #[case::of_a_remote("remote", None, false, "--create remote --base origin/remote")]
    #[case::with_slashes("a/b", None, false, "--create a/b --base origin/a/b")]
    #[case::end_of_another_name("ote", None, false, "--create ote")]
    #[case::of_two_remotes("both", None, false, "--create both")]
    #[case::name_of_a_remote_branch("origin/remote", None, false, "--create remote --base origin/remote")]
    #[case::with_a_base("remote", Some("main x"), false, "--create remote --base 'main x'")]
    #[case::from_here("remote", None, true, "--create remote --from-here")]
    fn a_branch_is_made_where_its_commits_are(
        #[case] branch: &str,
        #[case] base: Option<&str>,
        #[case] from_here: bool,
        #[case] expected: &str,
    ) {
        let remote = ["origin/HEAD", "origin/a/b", "origin/both", "origin/remote", "other/both"];
        let (is_tag, branch, base) = (branch == "v1", branch.to_owned(), base.map(str::to_owned));
        let options = AddOptions { branch, base, from_here, ..AddOptions::default() };
        assert_eq!(how_to_make(&options, &remote, is_tag), expected);
    }
}
