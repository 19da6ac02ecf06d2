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

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        restore::{self, RestoreOptions},
        save::{self, Author, Hold, Request},
        session_info,
    },
    branch::{AddOptions, Start, base, exists},
    chains,
    in_use::{self, is_there},
    include::{Included, NotCopied, include},
    lock::lock,
    validate, whereabouts,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        digest,
        registrations::{Place, Registration, named_git_dir},
    },
    model::{
        id_text, operation, path_text,
        process::Life,
        refname::decode_component,
        session::Phase,
        verdict::{Left, Why},
        worktree_name,
    },
    state::{
        failpoint,
        journal::{Journal, Progress},
        owner, process,
    },
};

/// The hint in the new worktree, if what was brought along is to be undone there.
const BEGAN_WITH_IT: &str = "this worktree began with it: there is no state before that";

/// The new worktree. Serializes to what `worktree add --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Added {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its root.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
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
    /// The checkpoint that its files are from; none: they are those of the commit.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The session that it is for.
    pub(crate) session: Option<String>,
    /// The root of the worktree that was made for the session before, and no longer is; none if there was none.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) left: Option<BString>,
    /// The ignored files that were copied.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) copied: Vec<BString>,
    /// Those that `.worktreeinclude` names, too, and that were not copied, and repositories inside the worktree.
    pub(crate) not_copied: Vec<NotCopied>,
    /// The port for servers that are started in it.
    pub(crate) port: u16,
    /// The exit status of the user's hook `post-checkout`, if it failed.
    pub(crate) hook_status: Option<i32>,
    /// What that hook printed.
    #[serde(skip)]
    pub(crate) hook_said: BString,
}

/// Makes a worktree for a branch. If git fails, neither the worktree nor a branch that was made for it is left. What fails after
/// that leaves both: others may work there by then.
///
/// # Errors
/// [`Kind::User`] for a branch whose name git does not accept or that does not exist, or exists already although it was to be
/// made; [`Kind::Refused`] if the branch is checked out in another worktree, if there are `worktree.max` worktrees, or if other
/// files are where its directory would be.
pub(crate) fn add(context: &Context, options: &AddOptions) -> Result<Added> {
    let (repo, branch) = (&context.repo, &options.branch);
    let former = options.session.as_deref().map_or(Ok(None), |session| former(context, session))?;
    let here = if options.from_here {
        // What is refused takes no checkpoint.
        let registered = repo.registrations()?;
        base(context, options, None, &registered)?;
        check_count(context, &registered)?;
        Some(save_here(context)?)
    } else {
        None
    };
    let lock = lock(context)?;
    let registered = repo.registrations()?;
    let Some(main) = registered.first() else { return Err(Error::internal("git has no main worktree")) };
    let base = base(context, options, here, &registered)?;
    check_count(context, &registered)?;
    let claimed = Claimed::new(context, main, branch)?;
    let from = &main.directory();
    if let Some(Start { commit, name, .. }) = &base {
        repo.make_branch(from, branch, *commit, name).map_err(|error| match error.kind() {
            Kind::Race => exists(branch),
            _ => error,
        })?;
    }
    let added = repo.add_worktree(from, &claimed.0, branch, || drop(lock));
    // Deletes the branch only if it was made here and has not moved since.
    let delete_branch = || {
        if let Some(Start { commit, .. }) = &base
            && let Err(error) = repo.delete_made_branch(from, branch, *commit)
        {
            tracing::warn!(%error, "the branch '{branch}' is left");
        }
    };
    let failed_hook = added.inspect_err(|_| delete_branch())?;
    let path = claimed.keep();
    let found = repo.registration_at(&path)?;
    let found = found.ok_or_else(|| Error::race(format!("the worktree '{}' was removed at once", path.display())))?;
    repo.name_operation("worktree add");
    if let Err(error) = chains::set_former_aside(context, found.id.as_bstr()) {
        tracing::warn!(%error, "the new worktree begins with the checkpoints of a removed one; 'git checkpoint reset' there");
    }
    let checkpoint = base.as_ref().and_then(|base| base.files);
    failpoint::hit("worktree:before-fill");
    let filled = fill(context, options, &found, &path, checkpoint).and_then(|included| {
        former.as_ref().map_or(Ok(()), |former| owner::remove(&former.git_dir))?;
        Ok(included)
    });
    let Included { copied, not_copied } = filled.map_err(|error| left(error, &path, options.session.as_deref()))?;
    Ok(Added {
        version: 1,
        path: path.as_os_str().as_bytes().into(),
        id: path_text::escape(found.id.as_bstr()),
        branch: branch.clone(),
        created: base.is_some(),
        head: found.head.id,
        checkpoint,
        session: options.session.clone(),
        left: former.map(|former| former.path.as_os_str().as_bytes().into()),
        copied,
        not_copied,
        port: super::port(repo, branch.as_bytes().as_bstr()),
        hook_status: failed_hook.as_ref().map(|hook| hook.status),
        hook_said: failed_hook.map(|hook| hook.said).unwrap_or_default(),
    })
}

/// Returns `error`, which has come after git had made the worktree at `path`: that stays, since others may work in it by now, but
/// it is not the `session`'s any more.
///
/// What the error offers is meant for a command in that worktree, and left out.
pub(crate) fn left(error: Error, path: &Path, session: Option<&str>) -> Error {
    let Some(git_dir) = named_git_dir(path) else {
        return error.with_hint("'git checkpoint worktree list' shows the worktrees of this repository");
    };
    if session.is_some() && owner::owner(&git_dir).as_deref() == session {
        drop(owner::remove(&git_dir));
    }
    let (place, word) = (path.display(), in_use::word(path));
    let is_restored_in_part =
        Journal::read(&git_dir).is_ok_and(|journal| journal.is_some_and(|it| it.progress == Progress::Applying));
    let first = if is_restored_in_part {
        format!(
            "'git -C {word} checkpoint restore --continue' writes the rest of its files, or 'git -C {word} checkpoint undo' takes \
             them back; after that, "
        )
    } else {
        String::new()
    };
    error.with_hint(format!(
        "the worktree '{place}' is made, but not all that should be in it: \
         {first}'git checkpoint worktree remove {word}' removes it"
    ))
}

/// Returns the worktree that was made for `session` before.
///
/// # Errors
/// [`Kind::User`] if it is no id; [`Kind::Refused`] if the session has a turn under way: that stays where it is.
fn former(context: &Context, session: &str) -> Result<Option<Registration>> {
    session_info::check_id(session)?;
    let Some(found) = session_info::find_or_rebuild(context, session)? else { return Ok(None) };
    if found.phase == Phase::Active && process::life(found.process.as_ref()) != Life::Dead {
        let (path, word) = (&found.worktree_path, path_text::shell_word);
        return Err(Error::refused(format!("the session '{session}' has a turn under way in '{path}'"))
            .with_hint(format!("'git -C {} checkpoint session stop {}' ends it", word(path), word(session))));
    }
    let Some(id) = decode_component(&found.worktree) else { return Ok(None) };
    let former = context.repo.registration(id.as_bstr())?;
    Ok(former.filter(|former| owner::owner(&former.git_dir).is_some_and(|owner| owner == session)))
}

/// Takes a checkpoint of this worktree.
fn save_here(context: &Context) -> Result<ObjectId> {
    let worktree = Worktree::enter(context, Purpose::Change)?;
    let request = Request {
        author: Author::Infer,
        message: Some("For a new worktree".to_owned()),
        hold: Hold::ForRestore { index: false },
        ..Request::default()
    };
    let _way = context.repo.on_the_way(operation::SAVE);
    let saved = save::save_and_write_turns(&worktree, &request)?.saved;
    saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))
}

/// Writes the session of the new worktree `found` with the root `path`, and brings along what the branch does not have.
fn fill(
    context: &Context,
    options: &AddOptions,
    found: &Registration,
    path: &Path,
    checkpoint: Option<ObjectId>,
) -> Result<Included> {
    if let Some(session) = &options.session {
        owner::write(&found.git_dir, session)?;
    }
    let mut not_copied = Vec::new();
    if let Some(id) = checkpoint {
        let there = context.with_repo(context.repo.open_worktree(path)?);
        // A hook may have made new files, which are in neither the checkpoint nor its commit.
        let restore_all =
            RestoreOptions { target: id.to_string(), all: true, keep_new: true, ..RestoreOptions::default() };
        let _way = there.repo.on_the_way(operation::RESTORE);
        let restored = restore::restore(&there, &restore_all)?;
        // From here on, it is a part of making the worktree: no undo there takes it back.
        if let Err(error) = there.repo.rename_recorded(operation::WORKTREE_ADD, BEGAN_WITH_IT.to_owned()) {
            tracing::warn!(%error, "'git checkpoint undo' in the new worktree takes back what was brought along");
        }
        let left = restored.kept.into_iter().chain(restored.conflicts);
        let (inside, left): (Vec<Left>, Vec<Left>) = left.partition(|left| left.why == Why::RepositoryGone);
        let why = || "it is another repository".to_owned();
        not_copied.extend(inside.into_iter().map(|left| NotCopied { path: left.path, why: why() }));
        if !left.is_empty() {
            let left = left.first();
            let first =
                left.map(|left| format!(": '{}' is left: {}", path_text::printable(left.path.as_bstr()), left.why));
            return Err(Error::user(format!(
                "not all files of the checkpoint '{id}' can be written{}",
                first.unwrap_or_default()
            )));
        }
    }
    let mut included = include(context, path)?;
    included.not_copied.extend(not_copied);
    Ok(included)
}

fn check_count(context: &Context, registered: &[Registration]) -> Result<()> {
    let count = registered.iter().filter(|it| !it.is_main()).count();
    match context.settings.worktree.max {
        Some(max) if u64::try_from(count).is_ok_and(|count| count >= max) => {
            Err(Error::refused(format!("there are {count} worktrees, and the setting 'worktree.max' allows {max}"))
                .with_hint("'git checkpoint worktree list' shows them, '... worktree remove' removes one"))
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
            let path = parent.join(directory_name(&context.settings.worktree.name_template, named_after(main), &name)?);
            validate::refuse_outside(context, &path)?;
            // Git has another worktree there, whose directory may be gone.
            if context.repo.registration_at(&path)?.is_some() {
                last = path;
                continue;
            }
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = path,
                Err(error) => {
                    return Err(error)
                        .context(Kind::User, || format!("cannot make the directory '{}'", path.display()));
                }
            }
        }
        let found = context.repo.registration_at(&last)?;
        if found.as_ref().is_some_and(|it| it.place == Place::Unreadable) {
            return Err(validate::Code::Unreadable.error(&last));
        }
        if !is_there(&last) {
            let lock = found.and_then(|it| it.lock);
            if let Some(reason) = lock.as_ref().filter(|reason| whereabouts::is_ours(reason)) {
                return Err(in_use::locked(&last, reason.as_bstr()));
            }
            let unlock = if lock.is_some() {
                format!("'git worktree unlock {}' unlocks it, then ", in_use::word(&last))
            } else {
                String::new()
            };
            return Err(Error::refused(format!("git has another worktree at '{}', which is gone", last.display()))
                .with_hint(format!("{unlock}'git checkpoint worktree prune' forgets those that are gone")));
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
            // This fails if the directory has files: another program has put them there.
            drop(fs::remove_dir(&self.0));
        }
    }
}

/// Returns the directory that the repository is called after.
fn named_after(main: &Registration) -> &Path {
    let is_hidden = main.path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    // A bare repository may be `.bare` in a directory that has the name, beside the worktrees.
    main.path.parent().filter(|_| is_hidden && main.place == Place::Bare).unwrap_or(&main.path)
}

/// Returns the name of a worktree's directory by `template`, if the repository is called after the directory `main`.
///
/// # Errors
/// [`Kind::Config`] if the template makes more of it than one name, or one that is hidden, or hard to type.
fn directory_name(template: &str, main: &Path, name: &str) -> Result<String> {
    let own = main.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let own = own.trim_start_matches('.');
    let own = own.strip_suffix(".git").filter(|own| !own.is_empty()).unwrap_or(own);
    // The name may contain braces; the template's are gone by then.
    let parts: Vec<String> = template.split("{name}").map(|part| part.replace("{repo}", own)).collect();
    let full = parts.join(name);
    let mut components = Path::new(&full).components();
    let is_one = matches!(components.next(), Some(Component::Normal(only)) if only == OsStr::new(&full));
    let is_plain = !full.contains(char::is_control) && !full.starts_with(['.', '-']);
    if is_one && is_plain && template.contains("{name}") {
        return Ok(full);
    }
    Err(Error::config(format!(
        "the setting 'worktree.name-template' is '{}', which makes no name of a directory",
        path_text::printable(template.as_bytes().as_bstr())
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
    #[case("{repo}-wt-{name}", "/home/me/.dotfiles", Some("dotfiles-wt-feature-auth"))]
    #[case(".{name}", "/r", None)]
    #[case("-{name}", "/r", None)]
    #[case("{name}\n", "/r", None)]
    #[case("{name}\u{1b}[31m", "/r", None)]
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
