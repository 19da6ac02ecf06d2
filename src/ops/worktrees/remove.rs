//! `worktree remove`: takes a checkpoint of a worktree, and moves it aside, from where `worktree restore` brings it back.

use std::{collections::BTreeSet, ffi::OsString, io, os::unix::ffi::OsStrExt as _, path::Path, thread, time::Duration};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        inside,
        save::{SavedAndSeen, SkippedPath, save_before},
    },
    approval::Purpose::Teardown,
    aside, chains, in_use,
    lock::lock,
    named::{self, short},
    setup::{Ran, Run, has_commands, refuse_not_approved, tear_down},
    whereabouts::is_held_by_us,
    worktree_lock::{gone, lock_removal},
};
use crate::{
    error::{Error, Result},
    git::{
        Head, Repo,
        registrations::{Place, Registration},
    },
    model::{id_text, path_text, submodule::Recurse},
    state::{failpoint, removed::Removed},
};

/// The clock of the file system has gone on after this time.
const TICK: Duration = Duration::from_millis(20);

/// The messages of the checkpoints.
const BEFORE_TEARDOWN: &str = "Before the teardown of the worktree";
const BEFORE_REMOVAL: &str = "Before the worktree was removed";

/// What to remove.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoveOptions {
    /// The worktree.
    pub(crate) name: OsString,
    /// Remove it without a question, if it has changes that are not committed.
    pub(crate) force: bool,
    /// Do not run the commands of `worktree.teardown`.
    pub(crate) no_teardown: bool,
    /// Remove it only if its HEAD is there; none: wherever HEAD is.
    pub(crate) head: Option<Head>,
}

/// What was removed. Serializes to what `worktree remove --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Removal {
    /// The version of this shape.
    pub(crate) version: u32,
    /// What `worktree restore` takes.
    pub(crate) id: String,
    /// Its root.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// Git's id of it.
    pub(crate) worktree: String,
    /// The branch that was checked out in it, which stays; none if HEAD was detached.
    pub(crate) branch: Option<String>,
    /// The commit at its HEAD.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) head: Option<ObjectId>,
    /// The checkpoint of what is removed.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The one that was taken before the commands, if they have changed something.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) before_teardown: Option<ObjectId>,
    /// In how many paths its files, or what was staged, differed from HEAD.
    pub(crate) dirty: usize,
    /// Whether HEAD of the main worktree contains its commit; none if one of them has no commit.
    pub(crate) merged: Option<bool>,
    /// The ignored files and directories, which are in no checkpoint.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) ignored: Vec<BString>,
    /// Those that the commands have deleted.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) ignored_deleted: Vec<BString>,
    /// What else is in no checkpoint.
    pub(crate) skipped: Vec<SkippedPath>,
    /// The commands that have run before; none: there are none, or they were not to run.
    pub(crate) teardown: Option<Ran>,
}

/// Decides about a worktree with changes that are not committed.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&Removal) -> Result<bool>;

/// Takes a checkpoint of a worktree, and moves the worktree aside. Its branch stays. If it has changes that are not committed,
/// and the options do not force it, `ask` decides. Then `run` runs the commands of `worktree.teardown`; of what they have left, all
/// that is done once more.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it is in use or locked, if it has submodules or other repositories inside, if
/// `ask` says no, or if a command fails or is not approved; [`Kind::Race`](crate::error::Kind::Race) if it is changed meanwhile. It
/// is where it was then.
pub(crate) fn remove(context: &Context, options: &RemoveOptions, ask: Ask<'_>, run: Run<'_>) -> Result<Removal> {
    context.repo.name_operation("worktree remove");
    context.emit_failure("worktree remove", try_remove(context, options, ask, run))
}

fn try_remove(context: &Context, options: &RemoveOptions, ask: Ask<'_>, run: Run<'_>) -> Result<Removal> {
    let found = named::registered(context, Some(&options.name))?;
    if !is_held_by_us(&found) {
        in_use::refuse_kind(&found)?;
    }
    let mut removal_lock = lock_removal(context, &found)?;
    if context.repo.registration(found.id.as_bstr())?.is_some_and(|now| is_held_by_us(&now)) {
        // A removal was killed.
        drop(lock(context)?);
    }
    if !options.no_teardown {
        refuse_not_approved(context)?;
    }
    let has_teardown = !options.no_teardown && has_commands(context, Teardown);
    let mut seen = look(context, &found, if has_teardown { BEFORE_TEARDOWN } else { BEFORE_REMOVAL })?;
    refuse_other_head(&seen, None, options)?;
    confirm(&seen, None, options, ask)?;
    if !options.no_teardown {
        let torn_down = tear_down(context, &seen.found, &mut removal_lock, run);
        if torn_down.is_err() && context.check_interrupt().is_err() {
            // What the signal has cut off may not have ended.
            removal_lock.leave();
            return Err(torn_down.expect_err("it is one"));
        }
        if let Some(ran) = torn_down? {
            // What they have written last must be older than the look at it.
            thread::sleep(TICK);
            // What the commands have left is what is removed.
            let before = std::mem::replace(&mut seen, look(context, &found, BEFORE_REMOVAL)?);
            seen.removal.before_teardown = before.removal.checkpoint.filter(|_| before.trees != seen.trees);
            seen.removal.ignored_deleted = gone_of(&before, &seen);
            seen.removal.teardown = Some(ran);
            refuse_other_head(&seen, Some(&before), options)?;
            confirm(&seen, Some(&before), options, ask)?;
        }
    }
    let Seen { found, since, mut removal, .. } = seen;
    let _lock = lock(context)?;
    let again = fresh(context, &found)?;
    in_use::refuse(context, &again, &found.path)?;
    let mut removed = Removed::new(context.repo.common_dir(), found.id.clone(), found.path.clone(), &found.git_dir)?;
    (removed.branch, removed.head) = (found.head.branch.clone(), found.head.id);
    removed.checkpoint = removal.checkpoint;
    removed.refs = chains::of_worktree(&context.repo, found.id.as_bstr())?;
    aside::move_aside(context, &found, &mut removed, since)?;
    // Before the lock of all worktrees: once that is free, a restore may move the directory back.
    removal_lock.end(&removed.admin());
    note(context, format!("'git checkpoint worktree restore {}' brings the worktree back", removed.id));
    removal.id = removed.id;
    Ok(removal)
}

/// A worktree of which a checkpoint was just taken.
struct Seen {
    found: Registration,
    /// When it was looked at, by the clock of the file system.
    since: Duration,
    /// What it had, and what was staged.
    trees: [Option<ObjectId>; 2],
    removal: Removal,
}

/// Takes a checkpoint of the worktree `found`, wherever it is by now, with `message`.
///
/// # Errors
/// If it is gone, or must not be removed.
fn look(context: &Context, found: &Registration, message: &str) -> Result<Seen> {
    let Some(found) = context.repo.registration(found.id.as_bstr())? else { return Err(gone(found)) };
    in_use::refuse_kind(&found)?;
    let found = named::checked(context, &found)?;
    in_use::refuse(context, &found, &found.path)?;
    let there = context.with_repo(context.repo.open_worktree(&found.path)?);
    let worktree = Worktree::enter(&there, Purpose::Change)?;
    let (since, taken) = (worktree.taken_at(), save_before(&worktree, message, true)?);
    drop(worktree);
    // The checkpoint has the other files, whatever the user does then.
    in_use::refuse_submodules(&found)?;
    failpoint::hit("worktree:after-save");
    refuse_inside(&there, &taken)?;
    let (trees, removal) = removal(context, &there, &found, &taken)?;
    Ok(Seen { found, since, trees, removal })
}

/// Refuses if HEAD is not where the worktree may be removed.
fn refuse_other_head(seen: &Seen, before: Option<&Seen>, options: &RemoveOptions) -> Result<()> {
    if options.head.as_ref().is_none_or(|head| *head == seen.found.head) {
        return Ok(());
    }
    let by_commands = if before.is_some() { " by its teardown commands" } else { "" };
    Err(Error::race(format!("HEAD of '{}' has just been moved{by_commands}", seen.found.path.display()))
        .with_hint("the worktree stays: look at what was committed there"))
}

/// Lets `ask` decide about changes that are not committed, unless they are those that it has accepted `before`.
fn confirm(seen: &Seen, before: Option<&Seen>, options: &RemoveOptions, ask: Ask<'_>) -> Result<()> {
    let Seen { found, removal, .. } = seen;
    let is_known = before.is_some_and(|before| before.trees == seen.trees && before.found.head == found.head);
    if removal.dirty == 0 || options.force || is_known || ask(removal)? {
        return Ok(());
    }
    let what = match removal.dirty {
        1 => "1 path that differs".to_owned(),
        count => format!("{count} paths that differ"),
    };
    let by_commands = if before.is_some() { " after its teardown commands" } else { "" };
    Err(Error::refused(format!("the worktree '{}' has {what} from HEAD{by_commands}", found.path.display())).with_hint(
        format!(
            "a checkpoint has {}: 'git checkpoint worktree remove --force {}' removes it, \
            '... worktree restore' brings it back",
            if removal.dirty == 1 { "it" } else { "them" },
            in_use::word(&found.path)
        ),
    ))
}

/// Lets the operation log say what this command has done, and what takes it back: `instead`.
pub(super) fn note(context: &Context, instead: String) {
    context.repo.note_not_undone(instead);
    if let Err(error) = context.repo.update_refs(&[]) {
        // It is done, and can be taken back all the same.
        tracing::warn!(%error, "the operation log cannot be written; 'git checkpoint doctor' shows why");
    }
}

/// Refuses if there are repositories in the worktree: no checkpoint has their content.
fn refuse_inside(there: &Context, taken: &SavedAndSeen) -> Result<()> {
    let Some(cache) = taken.cache.as_ref() else { return Err(Error::internal("the worktree was not looked at")) };
    for path in inside::repositories(cache, &taken.side.manifest.nested, Recurse::All) {
        let full = there.repo.worktree_root().join(path.to_path_lossy());
        if full.join(".git").symlink_metadata().is_ok() {
            return Err(in_use::repository_inside(&full));
        }
    }
    Ok(())
}

/// Returns the trees of what the worktree `found` has and of what is staged there, of which a checkpoint was just `taken`, and what
/// is reported of it.
fn removal(
    context: &Context,
    there: &Context,
    found: &Registration,
    taken: &SavedAndSeen,
) -> Result<([Option<ObjectId>; 2], Removal)> {
    let (repo, saved) = (&there.repo, &taken.saved);
    let head_tree_id = found.head.id.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let checkpoint = saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))?;
    let mut differing: BTreeSet<BString> = BTreeSet::new();
    let trees = [Some(repo.tree_of_commit(checkpoint)?), taken.side.index_tree_id];
    for tree_id in trees.into_iter().flatten() {
        differing.extend(repo.diff_trees(head_tree_id, tree_id)?.into_iter().map(|change| change.path));
    }
    let branch = found.head.branch.as_ref();
    let removal = Removal {
        version: 1,
        id: String::new(),
        path: found.path.as_os_str().as_bytes().into(),
        worktree: path_text::escape(found.id.as_bstr()),
        branch: branch.map(|branch| short(branch.as_bstr()).to_string()),
        head: found.head.id,
        checkpoint: Some(checkpoint),
        before_teardown: None,
        dirty: differing.len(),
        merged: super::listing::is_merged_into_main(context, found.head.id)?,
        ignored: ignored(repo)?,
        ignored_deleted: Vec::new(),
        skipped: taken.side.manifest.skipped.iter().map(SkippedPath::from).collect(),
        teardown: None,
    };
    Ok((trees, removal))
}

/// Returns the ignored files of the worktree; a directory without other files counts as one.
fn ignored(repo: &Repo) -> Result<Vec<BString>> {
    let words = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let listed = repo.run_git(&words, None)?;
    Ok(listed.split_str("\0").filter(|path| !path.is_empty()).map(BString::from).collect())
}

/// Returns the ignored files and directories that the worktree had `before`, and that are not there any more.
fn gone_of(before: &Seen, seen: &Seen) -> Vec<BString> {
    let is_gone = |path: &&BString| {
        let full = seen.found.path.join(path.to_path_lossy());
        full.symlink_metadata()
            .is_err_and(|error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    };
    before.removal.ignored.iter().filter(is_gone).cloned().collect()
}

/// Returns the worktree `seen` as git has registered it now.
///
/// # Errors
/// If another process has removed, moved or locked it, or HEAD has moved.
fn fresh(context: &Context, seen: &Registration) -> Result<Registration> {
    let Some(found) = context.repo.registration(seen.id.as_bstr())? else {
        return Err(gone(seen));
    };
    in_use::refuse_kind(&found)?;
    let is_there = found.place == Place::Worktree
        && std::fs::canonicalize(&found.path).is_ok_and(|real| real == *AsRef::<Path>::as_ref(&seen.path));
    if is_there && found.head == seen.head {
        return Ok(found);
    }
    Err(in_use::just_changed(&seen.path))
}
