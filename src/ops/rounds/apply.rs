//! `round apply`: brings what a round has changed into a worktree. A restore does that, so that a checkpoint is taken first, and `undo`
//! takes it back; here it is decided which files it gets.

use std::{collections::BTreeMap, fs};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context,
        chain::peek::{self, worktree_tree},
        restore::{ChosenHunks, RestoreOptions, Restored, restore},
    },
    changes::common_with_here,
    copies::follow_round,
    listing::{base_of, named},
    retire::tip_of,
    source::repo_of,
};
use crate::{
    error::{Error, Result},
    model::{
        change::{Change, Leaf},
        operation, path_text,
        round::Mode,
        submodule::Recurse,
    },
    state::{
        failpoint,
        rounds::{Phase, Place, Round},
    },
};

/// What to do with files that have changed since the round began, where it is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Drift {
    /// Change nothing at all.
    #[default]
    Fail,
    /// Leave them as they are.
    Skip,
    /// Take them from the round.
    Prefer,
}

/// How git shows changes so that it can apply them, whatever its settings say.
const PLAIN_DIFF: &str =
    "git -c diff.noprefix=false -c diff.mnemonicPrefix=false diff --binary --no-color --no-ext-diff --no-textconv";
/// How it applies them.
const PLAIN_APPLY: &str = "-c core.autocrlf=false apply --whitespace=nowarn";

/// What an application changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// The round.
    pub(crate) round: String,
    /// The branch whose changes are applied.
    pub(crate) branch: String,
    /// The commit at which it begins.
    pub(crate) from: ObjectId,
    /// Its last commit.
    pub(crate) to: ObjectId,
    /// True if the round goes on: the branch may lack something of it.
    pub(crate) is_live: bool,
    /// True if the branch has commits, and HEAD here has all of them.
    pub(crate) is_merged: bool,
    /// The files that it changes, each with what it is here.
    pub(crate) paths: BTreeMap<BString, Option<Leaf>>,
    /// The files that have changed here since the round began.
    pub(crate) drift: Vec<BString>,
}

impl Planned {
    /// Returns what a restore has to do for it.
    pub(crate) fn options(&self, dry_run: bool) -> RestoreOptions {
        RestoreOptions {
            target: self.to.to_string(),
            all: true,
            only: Some(self.paths.clone()),
            dry_run,
            recurse_submodules: Recurse::No,
            ..RestoreOptions::default()
        }
    }
}

/// Decides what of the changes of the round `name` the worktree of `context` gets: those of `pathspecs`, or all.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if the round has several branches, and `name` is none of them, or if a pathspec matches no
/// change; [`Kind::Refused`](crate::error::Kind::Refused) if it has no branch any more.
pub(crate) fn plan(context: &Context, name: &str, pathspecs: &[BString], drift: Drift) -> Result<Planned> {
    context.repo.name_operation("round apply");
    context.emit_failure("round apply", try_plan(context, name, pathspecs, drift))
}

fn try_plan(context: &Context, name: &str, pathspecs: &[BString], drift: Drift) -> Result<Planned> {
    let (repo, round) = (&context.repo, named(context, name)?);
    follow_round(context, &round)?;
    let (place, branch) = place_of(&round, name)?;
    refuse_plain(context, &round, place, branch)?;
    let Some(base) = base_of(place) else {
        return Err(Error::refused(format!("the round '{}' has not begun", round.id)));
    };
    let to = tip_of(repo, branch, place.retired.as_deref())?;
    let from = common_with_here(repo, base, to)?;
    let mut changes = repo.diff_trees(repo.tree_of_commit(from)?, repo.tree_of_commit(to)?)?;
    let mut search = repo.pathspec(pathspecs)?;
    changes.retain(|change| search.matches(change.path.as_bstr()));
    if let Some(text) = search.unmatched().next() {
        let shown = path_text::printable(text.as_bstr());
        return Err(Error::user(format!("pathspec '{shown}' did not match any file that the round has changed"))
            .with_hint(format!("'git checkpoint round diff --name-only {}' lists these", round.id)));
    }
    let here = worktree_tree(context)?;
    // Files that the worktree of the round began with are no change here. The checkpoint may have gone since.
    let files = place.files.as_deref().and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
    let files = files.and_then(|id| repo.tree_of_commit(id).ok());
    let deleted: Vec<&BString> = changes.iter().filter(|it| it.after.is_none()).map(|it| &it.path).collect();
    let mut planned = Planned {
        round: round.id.clone(),
        branch: branch.to_owned(),
        from,
        to,
        is_live: round.phase != Phase::Ended,
        is_merged: from == to && base != to,
        paths: BTreeMap::new(),
        drift: Vec::new(),
    };
    for change in &changes {
        let now = here.repo.find_leaf(here.tree_id, change.path.as_bstr())?;
        if now == change.after {
            continue;
        }
        let began_with = match files {
            Some(tree_id) => here.repo.find_leaf(tree_id, change.path.as_bstr())?,
            None => change.before,
        };
        let is_changed = now != change.before && now != began_with;
        let has_drifted = is_changed || is_something_in_the_way(context, &here, change, now, &deleted)?;
        if has_drifted {
            planned.drift.push(change.path.clone());
        }
        if !has_drifted || drift == Drift::Prefer {
            planned.paths.insert(change.path.clone(), now);
        }
    }
    if drift == Drift::Fail && !planned.drift.is_empty() {
        planned.paths.clear();
    }
    Ok(planned)
}

/// Brings what is `planned` into the worktree of `context`: of that, only what is `chosen`.
///
/// # Errors
/// As [`restore`]; [`Kind::Race`](crate::error::Kind::Race) if a file is not what it was when that was decided.
pub(crate) fn apply(
    context: &Context,
    planned: &Planned,
    chosen: Option<ChosenHunks>,
    dry_run: bool,
) -> Result<Restored> {
    failpoint::hit("round:before-apply");
    let _way = context.repo.on_the_way(operation::RESTORE);
    restore(context, &RestoreOptions { chosen, ..planned.options(dry_run) })
}

/// Refuses changes of a directory that is in no repository: they cannot be restored there.
fn refuse_plain(context: &Context, round: &Round, place: &Place, branch: &str) -> Result<()> {
    let repo = &context.repo;
    let Some(base) = base_of(place).filter(|_| place.mode == Mode::Isolated) else { return Ok(()) };
    let is_first = repo.with_commit(base, |commit| commit.parents().next().is_none())?;
    // It may have become a repository since, which is another one than this.
    if !is_first || repo_of(context, place).is_ok() {
        return Ok(());
    }
    let path = place.context.display();
    let word = path_text::shell_word(&place.context.to_string_lossy());
    let message = format!("the round '{}' has worked on '{path}', which is in no repository", round.id);
    Err(Error::refused(message)
        .with_hint(format!("'{PLAIN_DIFF} {base} {branch} | git -C {word} {PLAIN_APPLY}' brings its changes there")))
}

/// Returns the directory of `round` that `name` stands for, and its branch.
fn place_of<'r>(round: &'r Round, name: &str) -> Result<(&'r Place, &'r str)> {
    let all: Vec<_> = round.places.iter().filter_map(|place| Some((place, place.branch.as_deref()?))).collect();
    if let Some(found) = all.iter().find(|(_, branch)| *branch == name) {
        return Ok(*found);
    }
    match all[..] {
        [] => Err(Error::refused(format!("the round '{}' has no branch", round.id))),
        [only] => Ok(only),
        _ => {
            let names: Vec<String> = all.iter().map(|(_, branch)| format!("'{branch}'")).collect();
            Err(Error::user(format!("the round '{}' has several branches: {}", round.id, names.join(", ")))
                .with_hint("give one of them in the place of the round"))
        }
    }
}

/// Returns true if the file that `change` adds is not the only one here that wants its place: a directory with other files than
/// those `deleted`, a file above it, or one that no checkpoint has.
fn is_something_in_the_way(
    context: &Context,
    here: &peek::Worktree,
    change: &Change,
    now: Option<Leaf>,
    deleted: &[&BString],
) -> Result<bool> {
    if change.after.is_none() || now.is_some() {
        return Ok(false);
    }
    let path = change.path.as_bstr();
    for parent in path.find_iter("/").map(|at| path[..at].as_bstr()) {
        let is_file = here.repo.find_leaf(here.tree_id, parent)?.is_some();
        if is_file && !deleted.iter().any(|it| it.as_bstr() == parent) {
            return Ok(true);
        }
    }
    let full = |path: &BStr| context.repo.worktree_root().join(path.to_path_lossy());
    let Ok(found) = fs::symlink_metadata(full(path)) else { return Ok(false) };
    if !found.is_dir() {
        // It may also be one below a symbolic link, which is deleted.
        let is_below = |it: &&&BString| path.strip_prefix(it.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
        return Ok(deleted.iter().find(is_below).is_none());
    }
    Ok(!holds_only(&full(path), path, deleted))
}

/// Returns true if all that is in the directory `full`, which is `path` in the worktree, is among `deleted`, or is a directory of
/// which this is true.
fn holds_only(full: &std::path::Path, path: &BStr, deleted: &[&BString]) -> bool {
    let Ok(entries) = fs::read_dir(full) else { return false };
    entries.into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        let name = gix::path::os_string_into_bstring(entry.file_name());
        let Ok(inner) = name.map(|name| BString::from([path.as_bytes(), b"/", name.as_bytes()].concat())) else {
            return false;
        };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => holds_only(&entry.path(), inner.as_bstr(), deleted),
            Ok(_) => deleted.contains(&&inner),
            Err(_) => false,
        }
    })
}
