//! `worktree add`: makes a worktree beside the others, named after its branch.

use std::{collections::BTreeMap, os::unix::ffi::OsStrExt as _, path::Path};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        restore::{self, RestoreOptions},
        save::save_before,
        session_info,
    },
    branch::{AddOptions, Start, base, exists},
    chains,
    claimed::Claimed,
    in_use,
    include::{Included, NotCopied, include},
    lock::lock,
};
use crate::{
    error::{Error, Kind, Result},
    git::registrations::{Registration, named_git_dir},
    model::{
        change::Leaf,
        id_text, operation, path_text,
        process::Life,
        refname::decode_component,
        session::Phase,
        submodule::Recurse,
        verdict::{Left, Why},
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
    add_noted(context, options, &mut |_, _| Ok(()))
}

/// As [`add`]. `note` gets the path of the worktree, and the commit at which a branch begins that is made, before git makes them.
pub(crate) fn add_noted(
    context: &Context,
    options: &AddOptions,
    note: &mut dyn FnMut(&Path, Option<ObjectId>) -> Result<()>,
) -> Result<Added> {
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
    let claimed = match &options.inside {
        Some(directory) => Claimed::numbered(context, directory)?,
        None => Claimed::new(context, main, branch)?,
    };
    note(&claimed.0, base.as_ref().map(|base| base.commit))?;
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
    let saved = save_before(&worktree, "For a new worktree", false)?.saved;
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
    let there = context.with_repo(context.repo.open_worktree(path)?);
    fill_with(context, &there, checkpoint)
}

/// Brings what its branch does not have to the new worktree of `there`: the files of a checkpoint, and the ignored files that
/// `.worktreeinclude` names in the worktree of `context`.
///
/// # Errors
/// If not all files of the checkpoint can be written.
pub(crate) fn fill_with(context: &Context, there: &Context, checkpoint: Option<ObjectId>) -> Result<Included> {
    let not_copied = checkpoint.map_or(Ok(Vec::new()), |id| fill_from_checkpoint(there, id, None))?;
    let mut included = include(context, &there.repo)?;
    included.not_copied.extend(not_copied);
    Ok(included)
}

/// Writes the files of the checkpoint `id` to the new worktree of `there`: all, or `only` those that are named, each with what it is
/// there. Returns the repositories inside, which no checkpoint has.
///
/// # Errors
/// If not all files can be written.
pub(crate) fn fill_from_checkpoint(
    there: &Context,
    id: ObjectId,
    only: Option<BTreeMap<BString, Option<Leaf>>>,
) -> Result<Vec<NotCopied>> {
    // A hook may have made new files, which are in neither the checkpoint nor its commit.
    let options = RestoreOptions {
        target: id.to_string(),
        all: true,
        keep_new: true,
        recurse_submodules: if only.is_some() { Recurse::No } else { Recurse::default() },
        only,
        ..RestoreOptions::default()
    };
    let _way = there.repo.on_the_way(operation::RESTORE);
    let restored = restore::restore(there, &options)?;
    // From here on, it is a part of making the worktree: no undo there takes it back.
    if let Err(error) = there.repo.rename_recorded(operation::WORKTREE_ADD, BEGAN_WITH_IT.to_owned()) {
        tracing::warn!(%error, "'git checkpoint undo' in the new worktree takes back what was brought along");
    }
    let left = restored.kept.into_iter().chain(restored.conflicts);
    let (inside, left): (Vec<Left>, Vec<Left>) = left.partition(|left| left.why == Why::RepositoryGone);
    if let Some(left) = left.first() {
        let path = path_text::printable(left.path.as_bstr());
        let why = &left.why;
        return Err(Error::user(format!(
            "not all files of the checkpoint '{id}' can be written: '{path}' is left: {why}"
        )));
    }
    let why = || "it is another repository".to_owned();
    Ok(inside.into_iter().map(|left| NotCopied { path: left.path, why: why() }).collect())
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
