//! `worktree add`: makes a worktree beside the others, named after its branch.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::super::Context;
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        Repo, digest,
        registrations::{Place, Registration},
    },
    model::{id_text, path_text, worktree_name},
    state::{self, lock::Lock},
};

/// What to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddOptions {
    /// The branch, by its short name.
    pub(crate) branch: String,
    /// Make the branch, too.
    pub(crate) create: bool,
    /// Where a branch that is made begins; none: at HEAD of this worktree.
    pub(crate) base: Option<String>,
}

/// The new worktree. Serializes to what `worktree add --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Added {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its root.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) path: BString,
    /// Git's id of it.
    pub(crate) id: String,
    /// The branch that is checked out in it.
    pub(crate) branch: String,
    /// True if the branch was made, too.
    pub(crate) created: bool,
    /// The commit at its HEAD.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) head: Option<ObjectId>,
    /// The port for servers that are started in it.
    pub(crate) port: u16,
    /// The exit status of the user's hook `post-checkout`, if it failed.
    pub(crate) hook_status: Option<i32>,
    /// What that hook printed.
    #[serde(skip)]
    pub(crate) hook_said: BString,
}

/// Makes a worktree for a branch. If git fails, neither the worktree nor a branch that was made for it is left.
///
/// # Errors
/// [`Kind::User`] for a branch whose name git does not accept or that does not exist, or exists already although it was to be
/// made; [`Kind::Refused`] if the branch is checked out in another worktree, if there are `worktree.max` worktrees, or if other
/// files are where its directory would be.
pub(crate) fn add(context: &Context, options: &AddOptions) -> Result<Added> {
    let (repo, branch) = (&context.repo, &options.branch);
    let lock = lock(context)?;
    let registered = repo.registrations()?;
    let Some(main) = registered.first() else { return Err(Error::internal("git has no main worktree")) };
    let base = base(repo, options, &registered)?;
    check_count(context, &registered)?;
    let claimed = Claimed::new(context, main, branch)?;
    let from = if main.place == Place::Worktree { &main.path } else { &main.git_dir };
    if let Some((commit, name)) = &base {
        repo.make_branch(from, branch, *commit, name).map_err(|error| match error.kind() {
            Kind::Race => exists(branch),
            _ => error,
        })?;
    }
    let added = repo.add_worktree(from, &claimed.0, branch, || drop(lock));
    let failed_hook = added.inspect_err(|_| {
        // Only what was made here, and only if nobody has moved it since.
        if let Some((commit, _)) = &base
            && let Err(error) = repo.delete_made_branch(from, branch, *commit)
        {
            tracing::warn!(%error, "the branch '{branch}' is left");
        }
    })?;
    let path = claimed.keep();
    let found = repo.registration_at(&path)?;
    let found = found.ok_or_else(|| Error::race(format!("the worktree '{}' was removed at once", path.display())))?;
    Ok(Added {
        version: 1,
        path: path.as_os_str().as_bytes().into(),
        id: found.id.to_string(),
        branch: branch.clone(),
        created: base.is_some(),
        head: found.head.id,
        port: super::port(repo, branch.as_bytes().as_bstr()),
        hook_status: failed_hook.as_ref().map(|hook| hook.status),
        hook_said: failed_hook.map(|hook| hook.said).unwrap_or_default(),
    })
}

/// Takes the lock that each `worktree add` of the repository holds from its count of the worktrees until git has registered its
/// own.
fn lock(context: &Context) -> Result<Lock> {
    let directory = state::ensure_directory(context.repo.common_dir())?;
    let go_on = || context.check_interrupt();
    let lock = Lock::acquire(&directory.join("worktrees.lock"), context.settings.lock_timeout, &go_on);
    lock.map_err(|error| match error.kind() {
        Kind::Race => Error::race("another process is about to make a worktree of this repository")
            .with_hint("try again when it is done, or raise 'lock-timeout'"),
        _ => error,
    })
}

/// Returns the commit of the branch that has to be made, with its name; none if the branch exists and can be checked out.
fn base<'o>(repo: &Repo, options: &'o AddOptions, registered: &[Registration]) -> Result<Option<(ObjectId, &'o str)>> {
    let branch = &options.branch;
    if !Repo::is_branch_name(branch) {
        return Err(Error::user(format!("'{branch}' is not a valid name for a branch"))
            .with_hint("git-check-ref-format(1) says which names are"));
    }
    let full = format!("refs/heads/{branch}");
    if let Some(holder) = registered.iter().find(|it| it.head.branch.as_ref().is_some_and(|at| *at == full.as_str())) {
        let path = holder.path.display();
        let hint = match holder.place {
            Place::Nothing => "its directory is gone: 'git worktree prune' forgets it".to_owned(),
            _ => format!("'git checkpoint worktree exec {}' starts a shell there", path_text::shell_word(branch)),
        };
        return Err(Error::refused(format!("the branch '{branch}' is checked out in '{path}'")).with_hint(hint));
    }
    match (repo.find_ref(&full)?, options.create) {
        (Some(_), true) => Err(exists(branch)),
        (Some(_), false) if options.base.is_some() => {
            Err(Error::user("--base needs --create: the branch exists already, and has its commit"))
        }
        (Some(_), false) => Ok(None),
        (None, false) => Err(Error::user(format!("there is no branch '{branch}'"))
            .with_hint(format!("'git checkpoint worktree add --create {}' makes it", path_text::shell_word(branch)))),
        (None, true) => {
            let base = options.base.as_deref().unwrap_or("HEAD");
            let Some(commit) = repo.find_commit(base)? else {
                return Err(Error::user(format!("'{base}' is no commit")).with_hint("give a branch, a tag or a commit"));
            };
            Ok(Some((commit, base)))
        }
    }
}

fn exists(branch: &str) -> Error {
    let word = path_text::shell_word(branch);
    Error::user(format!("the branch '{branch}' exists already"))
        .with_hint(format!("'git checkpoint worktree add {word}' makes a worktree for it"))
}

fn check_count(context: &Context, registered: &[Registration]) -> Result<()> {
    let count = registered.iter().filter(|it| !it.is_main()).count();
    match context.settings.worktree.max {
        Some(max) if u64::try_from(count).is_ok_and(|count| count >= max) => {
            Err(Error::refused(format!("there are {count} worktrees, and the setting 'worktree.max' allows {max}"))
                .with_hint("'git checkpoint worktree list' shows them, 'git worktree remove' removes one"))
        }
        _ => Ok(()),
    }
}

/// An empty directory that this process alone has made. It is removed when dropped, unless it is kept.
struct Claimed(PathBuf);

impl Claimed {
    /// Makes the directory of the worktree of `branch`: if something else has its name, one with a mark of the branch.
    fn new(context: &Context, main: &Registration, branch: &str) -> Result<Self> {
        let parent = main.path.join(&context.settings.worktree.dir);
        let what = || format!("cannot make the directory '{}'", parent.display());
        fs::create_dir_all(&parent).context(Kind::User, what)?;
        let parent = fs::canonicalize(&parent).context(Kind::User, what)?;
        let name = worktree_name::of_branch(branch);
        let marked = worktree_name::with_mark(&name, &digest::sha256(&[branch.as_bytes()]));
        let mut last = parent.clone();
        for name in [name, marked] {
            let path = parent.join(directory_name(&context.settings.worktree.name_template, &main.path, &name)?);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = path,
                Err(error) => {
                    return Err(error)
                        .context(Kind::User, || format!("cannot make the directory '{}'", path.display()));
                }
            }
        }
        Err(Error::refused(format!("'{}' exists already, and is no worktree of '{branch}'", last.display()))
            .with_hint("move it away, or set 'worktree.dir' or 'worktree.name-template'"))
    }

    /// Returns the directory, which stays.
    fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // Only if it is empty: what somebody has put there is theirs.
            drop(fs::remove_dir(&self.0));
        }
    }
}

/// Returns the name of a worktree's directory by `template`, beside the main worktree, or bare repository, at `main`.
///
/// # Errors
/// [`Kind::Config`] if the template makes more of it than one name.
fn directory_name(template: &str, main: &Path, name: &str) -> Result<String> {
    let own = main.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let own = own.strip_suffix(".git").filter(|own| !own.is_empty()).unwrap_or(&own);
    // The name may contain braces; the template's are gone by then.
    let parts: Vec<String> = template.split("{name}").map(|part| part.replace("{repo}", own)).collect();
    let full = parts.join(name);
    let mut components = Path::new(&full).components();
    let is_one = matches!(components.next(), Some(Component::Normal(only)) if only == OsStr::new(&full));
    if is_one && !full.contains('\0') && template.contains("{name}") {
        return Ok(full);
    }
    Err(Error::config(format!(
        "the setting 'worktree.name-template' is '{template}', which makes no name of a directory"
    ))
    .with_hint("for example '{repo}-wt-{name}'"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("{repo}-wt-{name}", "/home/me/my-repo", Some("my-repo-wt-feature-auth"))]
    #[case("{repo}-wt-{name}", "/srv/my-repo.git", Some("my-repo-wt-feature-auth"))]
    #[case("{name}.{repo}", "/{name}", Some("feature-auth.{name}"))]
    #[case("{repo}", "/r", None)]
    #[case("x/{name}", "/r", None)]
    #[case("../{name}", "/r", None)]
    #[case("{name}/..", "/r", None)]
    #[case("/{name}", "/r", None)]
    #[case("{name}/", "/r", None)]
    fn a_template_makes_one_name(#[case] template: &str, #[case] main: &str, #[case] expected: Option<&str>) {
        let made = directory_name(template, Path::new(main), "feature-auth");
        assert_eq!(made.ok().as_deref(), expected);
    }
}
