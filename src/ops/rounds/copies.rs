//! The copies in which isolated rounds work: found, read, and moved aside. Each is a repository of its own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    super::{Context, remotes},
    lock::locked,
    narrowed::alone,
    retire::refuse_used,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, refs::RefUpdate, registrations::Registration},
    model::{
        head_move::MoveKind,
        path_text::{printable, shell_word},
        round::Mode,
    },
    ops::holding::hold,
    state::{
        failpoint,
        removed::{is_of_two_mounts, move_directory},
        rounds::{self, Phase, Place, Round},
    },
};

/// Where a copy may have refs that lead to work.
const PLACES: [&str; 3] = ["refs/heads/", "refs/tags/", "refs/notes/"];

/// How many of the last moves of HEAD are looked at.
const MOST_MOVES: usize = 1000;

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Returns true if the directory `path` is the copy that was made for `place`.
pub(super) fn is_its(place: &Place, path: &Path) -> bool {
    let git_dir = path.join(".git");
    is_directory(path) && is_directory(&git_dir) && place.mark.is_some() && rounds::mark(&git_dir) == place.mark
}

/// Opens the copy in which the work of `place` goes on; none if it is gone.
///
/// # Errors
/// [`Kind::Refused`] if git would work elsewhere there: an agent may have changed its settings.
pub(super) fn open(context: &Context, place: &Place) -> Result<Option<Context>> {
    let Some(path) = place.path.as_ref().filter(|path| is_its(place, path)) else { return Ok(None) };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let refused = || damaged(path);
    let git_dir = real(&path.join(".git"));
    let repo = context.repo.open_worktree(path).map_err(|error| match error.hint().map(str::to_owned) {
        Some(hint) => refused().with_cause(error).with_hint(hint),
        None => refused().with_cause(error),
    })?;
    let is_whole = [repo.git_dir(), repo.common_dir()].into_iter().all(|it| real(it) == git_dir);
    if git_dir.is_none() || !is_whole || repo.object_hash() != context.repo.object_hash() {
        return Err(refused());
    }
    Ok(Some(context.with_repo(repo)))
}

/// Returns the error for a copy at `path` whose repository is another one by now, or damaged.
pub(super) fn damaged(path: &Path) -> Error {
    Error::refused(format!("'{}' is not the copy any more that the round has made", path.display()))
}

/// Returns the error for the copy of `place`, which is gone.
pub(super) fn gone(place: &Place) -> Error {
    let path = place.path.as_deref().or(place.claimed.as_deref()).unwrap_or(&place.context);
    Error::refused(format!("the copy '{}' is gone", path.display()))
        .with_hint("if you have moved it, move it back: a round does not find it elsewhere")
}

/// Brings the branch of the place number `at` of `round` from its copy, the repository of `there`, into this repository, and notes
/// which commit it has got.
///
/// # Errors
/// [`Kind::Refused`] if another command has moved the branch here, or a worktree has it; if git cannot copy the commits.
pub(super) fn follow(context: &Context, there: &Context, round: &mut Round, at: usize) -> Result<()> {
    let repo = &context.repo;
    let Some(branch) = round.places[at].branch.clone() else { return Ok(()) };
    let full = format!("refs/heads/{branch}");
    let Some(tip) = there.repo.find_ref(&full)? else { return Ok(()) };
    let old = repo.find_ref(&full)?;
    if old != Some(tip) {
        repo.bring_commits(&there.repo, &[tip])?;
        repo.bring_lfs(&there.repo)?;
        if let Some(old) = old {
            let place = &round.places[at];
            let old_text = old.to_string();
            let is_ours = [&place.brought, &place.base].into_iter().flatten().any(|it| *it == old_text);
            if !is_ours && !repo.leads_to(tip, old) {
                return Err(Error::refused(format!(
                    "the branch '{branch}' has commits here that the round does not have"
                ))
                .with_hint(format!("'git branch -m {} <name>' gives them another name", shell_word(&branch))));
            }
            refuse_used(context, &branch)?;
            // The agent may have made the commits anew.
            if !repo.leads_to(tip, old) {
                hold(repo, old)?;
            }
        }
        // Without them, its lines would count as a person's.
        if let Some(why) = bring_records(context, there)? {
            tracing::warn!(why, "records stay in the copy");
        }
        repo.update_refs(&[RefUpdate { name: full, old, new: Some(tip) }])?;
        failpoint::hit("round:after-bring");
    }
    round.places[at].brought = Some(tip.to_string());
    round.write(repo.common_dir())
}

/// Brings the branches of isolated rounds that go on as far as they are committed. A failure is no failure of the command, which reads
/// what was brought before.
pub(super) fn follow_live(context: &Context) {
    let all = rounds::all(context.repo.common_dir()).unwrap_or_default().sound;
    for round in all.iter().filter(|round| round.phase == Phase::Live) {
        for at in 0..round.places.len() {
            if let Err(error) = follow_one(context, round, at) {
                tracing::warn!(%error, round = %round.id, "its branch is as it was");
            }
        }
    }
}

/// Brings the branch of the isolated round `round`, if that goes on, as far as it is committed, with the records.
///
/// # Errors
/// If it cannot come; [`Kind::Refused`] if some of the records cannot: the lines of its commits would count as a person's.
pub(super) fn follow_round(context: &Context, round: &Round) -> Result<()> {
    if round.phase != Phase::Live {
        return Ok(());
    }
    for at in 0..round.places.len() {
        follow_one(context, round, at)?;
        follow_records(context, &round.places[at])?;
    }
    Ok(())
}

fn follow_one(context: &Context, round: &Round, at: usize) -> Result<()> {
    let place = &round.places[at];
    if place.mode != Mode::Isolated || place.is_done {
        return Ok(());
    }
    let Some(there) = open(context, place)? else { return Ok(()) };
    let branch = place.branch.as_deref().unwrap_or_default();
    let tip = there.repo.find_ref(&format!("refs/heads/{branch}"))?;
    if tip.map(|tip| tip.to_string()) == place.brought {
        return Ok(());
    }
    let (_lock, mut round) = locked(context, &round.id)?;
    if round.phase == Phase::Live { follow(context, &there, &mut round, at) } else { Ok(()) }
}

/// Takes a checkpoint of the copy, the repository of `there`, brings it into this repository, and returns it: what is in two
/// repositories can be compared only there.
///
/// # Errors
/// If it cannot be taken or copied.
pub(super) fn bring_checkpoint(context: &Context, there: &Context) -> Result<ObjectId> {
    let id = alone(there, super::commit::checkpoint(there)?)?;
    let ids: Vec<ObjectId> = there.repo.head()?.id.into_iter().chain([id]).collect();
    context.repo.bring_commits(&there.repo, &ids)?;
    Ok(id)
}

/// Brings the records of whose work the commits are from the copy, the repository of `there`. Returns why some of them are left out.
///
/// # Errors
/// If they cannot be copied or joined.
pub(super) fn bring_records(context: &Context, there: &Context) -> Result<Option<String>> {
    let logs = remotes::own_logs(&there.repo)?;
    let ids: Vec<_> = logs.iter().map(|(_, id)| *id).collect();
    if !ids.is_empty() {
        context.repo.bring_commits(&there.repo, &ids)?;
    }
    failpoint::hit("round:after-records");
    remotes::join_own(context, &logs)
}

/// Lets the archive hold what other branches, tags and the stash of the copy, the repository of `there`, have, and `branch` has not: they
/// go with the copy. What a branch, a tag or a remote of this repository leads to needs no hold. Returns what is said of each, also of what
/// cannot be copied: a commit that git finds wrong, which stays in the copy.
///
/// # Errors
/// If the refs of the copy cannot be read, or the archive cannot hold a commit.
pub(super) fn bring_others(context: &Context, there: &Context, branch: &str) -> Result<Vec<String>> {
    let own = format!("refs/heads/{branch}");
    let Some(tip) = there.repo.find_ref(&own)? else { return Ok(Vec::new()) };
    let mut others = Vec::new();
    for below in PLACES {
        others.extend(there.repo.refs_below(below)?);
    }
    others.retain(|(name, _)| *name != own);
    let stashed = there.repo.run_git(&["stash", "list", "--format=%H"], None)?;
    let stashed = stashed.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok());
    others.extend(stashed.enumerate().map(|(at, id)| (format!("stash@{{{at}}}"), id)));
    // What was committed on no branch, or on one that is no more.
    let left = there.repo.left_lately(MOST_MOVES).into_iter().filter(|(_, kind)| *kind == Some(MoveKind::Existing));
    others.extend(left.map(|(id, _)| ("HEAD".to_owned(), id)));
    let commits: Vec<ObjectId> = others.iter().filter_map(|(_, id)| there.repo.commit_behind(*id)).collect();
    let here = context.repo.reachable_of(&commits)?;
    let (mut said, mut known) = (Vec::new(), vec![tip]);
    for (name, id) in others {
        let Some(commit) = there.repo.commit_behind(id) else { continue };
        let is_known = |tips: &[ObjectId]| tips.iter().any(|tip| there.repo.leads_to(*tip, commit));
        if is_known(&known[..1]) || name == "HEAD" && is_known(&known) {
            continue;
        }
        if here.contains(&commit) {
            continue;
        }
        let short = PLACES.iter().find_map(|it| name.strip_prefix(it)).unwrap_or(&name);
        let brought = context.repo.bring_commits(&there.repo, &[commit]);
        context.repo.check_interrupt()?;
        if let Err(error) = brought {
            said.push(format!("'{}' of the copy stays there: {error}", printable(short.as_bytes().into())));
            continue;
        }
        hold(&context.repo, commit)?;
        known.push(commit);
        said.push(match name.as_str() {
            "HEAD" => format!("HEAD of the copy was at the commit {commit}, which is here"),
            _ => format!("'{}' of the copy is the commit {commit} here", printable(short.as_bytes().into())),
        });
    }
    Ok(said)
}

/// Opens the copy of `place` where it was moved; none if it is not there.
///
/// # Errors
/// As [`open`].
pub(super) fn open_aside(context: &Context, place: &Place) -> Result<Option<Context>> {
    open(context, &Place { path: place.aside.clone(), ..place.clone() })
}

/// Moves the copy of the place number `at` of `round` back where it was.
///
/// # Errors
/// If it cannot be moved: the file of the round says where it is.
pub(super) fn put_back(context: &Context, round: &mut Round, at: usize) -> Result<()> {
    let place = &round.places[at];
    if let Some((aside, path)) = place.aside.as_ref().zip(place.path.as_ref()) {
        move_directory(aside, path)?;
        round.places[at].aside = None;
        round.write(context.repo.common_dir())?;
    }
    Ok(())
}

/// Sees to it that this repository has the records of the isolated round that goes on in `place`, if one does.
///
/// # Errors
/// [`Kind::Refused`] if some of them cannot come: the lines of its commits would count as a person's.
fn follow_records(context: &Context, place: &Place) -> Result<()> {
    if place.mode != Mode::Isolated || place.is_done {
        return Ok(());
    }
    let Some(there) = open(context, place)? else { return Ok(()) };
    bring_records(context, &there)?.map_or(Ok(()), |why| {
        Err(Error::refused(format!("the records of whose work it is cannot come here: {why}"))
            .with_hint("'git checkpoint round end' brings the branch without them"))
    })
}

/// Moves the copy of the place number `at` of `round` aside, and notes where, before. Nothing is deleted. One that was made in part
/// goes, too.
///
/// # Errors
/// If it cannot be moved.
pub(super) fn put_aside(context: &Context, round: &mut Round, at: usize) -> Result<()> {
    let (place, common) = (&round.places[at], context.repo.common_dir());
    let Some(path) = place.path.clone().or_else(|| place.claimed.clone()) else { return Ok(()) };
    if place.path.is_none() && fs::remove_dir(&path).is_ok() {
        return Ok(());
    }
    let is_begun = || place.path.is_none() && is_skeleton(&path);
    if !(is_its(place, &path) || is_begun()) {
        return Ok(());
    }
    let (to, beside) = rounds::name_aside(common, &round.id, at, &path)?;
    for to in [to, beside] {
        round.places[at].aside = Some(to.clone());
        round.write(common)?;
        if to.parent() == path.parent() {
            rounds::note_beside(common, &round.id, &to)?;
        }
        failpoint::hit("round:before-aside");
        match move_directory(&path, &to) {
            Ok(()) => {
                failpoint::hit("round:after-aside");
                return Ok(());
            }
            Err(error) if is_of_two_mounts(&error) && to.parent() != path.parent() => {
                to.parent().map(fs::remove_dir);
            }
            Err(error) => {
                round.places[at].aside = None;
                round.write(common)?;
                return Err(if is_fixed(&path) {
                    let word = shell_word(&path.to_string_lossy());
                    error.with_hint(format!("'chmod u+w {word}' lets it be moved"))
                } else {
                    error
                });
            }
        }
    }
    Ok(())
}

/// Returns true if nothing can be changed in the directory `path` itself.
fn is_fixed(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o200 == 0)
}

/// Returns true if nothing is in the directory `path` but a repository: a start was killed that had only just begun.
fn is_skeleton(path: &Path) -> bool {
    let is_git = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == ".git");
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_git))
}

/// Returns true if the copy of `place` was moved aside: a call was killed after it had done that.
pub(super) fn is_aside(place: &Place) -> bool {
    place.aside.as_ref().is_some_and(|aside| is_its(place, aside))
        && !place.path.as_ref().is_some_and(|path| is_its(place, path))
}

/// Returns the canonical directory `path`.
pub(super) fn real(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).context(Kind::User, || format!("cannot find '{}'", path.display()))
}

/// Returns a directory in which git can run.
pub(super) fn directory(repo: &Repo) -> Result<PathBuf> {
    let registered = repo.registrations()?;
    Ok(registered.first().map_or_else(|| repo.common_dir().to_owned(), Registration::directory))
}
