//! Keeps records linked to their work when commits are rewritten, copied or squashed.

mod unreported;

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{
    Context,
    provenance::amended::{Amended, is_undone},
    records::{self, Additions, Log},
};
use crate::{
    error::{Context as _, Kind, Result},
    git::{Repo, message},
    model::record::{How, Link, Parts, ids_in_message},
};

pub(crate) use unreported::link_unreported;

/// How git begins the message of `git merge --squash`.
const SQUASHED: &[u8] = b"Squashed commit of the following:";

/// What `git cherry-pick -x` says before the commit that it copied.
const PICKED: &[u8] = b"(cherry picked from commit ";

/// Links rewritten commits to the records of the originals: `pairs` are old and new commits, as post-rewrite gets them.
///
/// `how` is `amend` or `rebase`. If several old commits have the same new one, they were squashed.
pub fn rewritten(context: &Context, how: &str, pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
    let repo = &context.repo;
    let Some(log) = Log::own(repo)? else { return Ok(()) };
    let mut sources: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for (_, new) in pairs {
        *sources.entry(*new).or_default() += 1;
    }
    let mut links = Vec::new();
    for (old, new) in pairs {
        context.check_interrupt()?;
        let how = match how {
            _ if sources[new] > 1 => How::Squash,
            "amend" => How::Amend,
            _ => How::Rebase,
        };
        links.extend(links_of(&log, *old, *new, how)?);
    }
    append(context, held(repo, links)?)
}

/// Returns those of `links` whose commit names the record or still contains some of its work: an amend, alone or within
/// a rebase, may have undone it.
fn held(repo: &Repo, links: Vec<Link>) -> Result<Vec<Link>> {
    let mut held = Vec::with_capacity(links.len());
    for link in links {
        let amended = link.from.filter(|_| matches!(link.how, How::Amend | How::Rebase));
        let is_held = match amended {
            Some(old) if !ids_in_message(repo.message_of(link.commit)?.as_bytes()).contains(&link.record) => {
                !is_undone(repo, &link.record, old, Amended::To(link.commit))?
            }
            _ => true,
        };
        held.extend(is_held.then_some(link));
    }
    Ok(held)
}

/// Links `commit` to the records that its message names though they were made for another commit (a cherry-pick), and
/// to those of the commits that its message lists (`git merge --squash`). Of those in `parts`, it has some files only.
///
/// Not for the commits of an amend or a rebase: post-rewrite knows their originals.
pub fn link_copies(context: &Context, commit: ObjectId, parts: &Parts) -> Result<()> {
    let repo = &context.repo;
    let Some(log) = Log::own(repo)? else { return Ok(()) };
    let message = repo.with_commit(commit, |commit| commit.message.to_owned())?;
    let linked = log.linked_to(commit)?;
    let origin = picked_from(repo, message.as_bstr())?;
    let mut links = Vec::new();
    for id in log.named_by(commit)? {
        if linked.contains(&id) {
            continue;
        }
        let from = match origin {
            Some(origin) => Some(origin),
            None => log.find(&id)?.map(|record| record.commit),
        };
        let link = Link { record: id, commit, from, how: How::Copy, only: Vec::new() };
        links.extend(limited(&log, origin.unwrap_or(commit), link)?);
    }
    // The messages do not name records that were squashed into the origin; only its links do.
    if let Some(origin) = origin {
        let copied = links_of(&log, origin, commit, How::Copy)?;
        links.extend(copied.into_iter().filter(|link| !linked.contains(&link.record)));
        links.sort_by_key(|link| link.record);
        links.dedup_by_key(|link| link.record);
    }
    for old in commits_listed(message.as_bstr()) {
        links.extend(links_of(&log, old, commit, How::Squash)?);
    }
    append(context, links.into_iter().filter_map(|link| link.within(parts)).collect())
}

/// Links `commit` to the records of the commits `from`, which it was made from in the way `how`. Of those in `parts`, it has some files
/// only.
pub fn link_from(context: &Context, commit: ObjectId, from: &[ObjectId], how: How, parts: &Parts) -> Result<()> {
    let Some(log) = Log::own(&context.repo)? else { return Ok(()) };
    let mut links = Vec::new();
    for old in from {
        links.extend(links_of(&log, *old, commit, how)?.into_iter().filter_map(|link| link.within(parts)));
    }
    append(context, held(&context.repo, links)?)
}

/// Returns the commits that `git merge --squash` took, in this worktree, for the commit to come.
///
/// Git removes the file before post-commit runs, so this is for prepare-commit-msg.
pub fn squashed_commits(context: &Context) -> Result<Vec<ObjectId>> {
    let path = context.repo.git_dir().join("SQUASH_MSG");
    match std::fs::read(&path) {
        Ok(text) => Ok(commits_listed(text.as_bstr())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).context(Kind::Internal, || format!("cannot read '{}'", path.display())),
    }
}

/// Returns true if the message `text` may name records, or commits that have some.
pub fn names_commits(text: &[u8]) -> bool {
    let is_copied = text.contains_str(PICKED);
    is_copied || message::has_trailer(text) || !commits_listed(text.as_bstr()).is_empty()
}

fn links_of(log: &Log<'_>, old: ObjectId, new: ObjectId, how: How) -> Result<Vec<Link>> {
    let ids = if old == new { Vec::new() } else { log.of_commit(old)? };
    let mut links = Vec::with_capacity(ids.len());
    for record in ids {
        links.extend(limited(log, old, Link { record, commit: new, from: Some(old), how, only: Vec::new() })?);
    }
    Ok(links)
}

/// Returns `link` with the only files whose work `commit`, which its commit is made from, has; none if that is not known: no link says
/// more than a wrong one.
fn limited(log: &Log<'_>, commit: ObjectId, mut link: Link) -> Result<Option<Link>> {
    let limit = log.limit(&link.record, commit)?;
    link.only = limit.files;
    Ok((!limit.is_doubtful).then_some(link))
}

fn append(context: &Context, links: Vec<Link>) -> Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    records::append(context, Additions { records: Vec::new(), links })
}

/// Returns the commit that `git cherry-pick -x` names as its source, if this repository has it.
fn picked_from(repo: &Repo, message: &BStr) -> Result<Option<ObjectId>> {
    let said = message.lines().rev().find_map(|line| {
        let hex = line.trim().strip_prefix(PICKED)?.strip_suffix(b")")?;
        ObjectId::from_hex(hex).ok()
    });
    match said {
        Some(id) if repo.is_commit(id)? => Ok(Some(id)),
        _ => Ok(None),
    }
}

fn commits_listed(message: &BStr) -> Vec<ObjectId> {
    if !message.lines().any(|line| line == SQUASHED) {
        return Vec::new();
    }
    let commit = |line: &[u8]| ObjectId::from_hex(line.strip_prefix(b"commit ")?.trim()).ok();
    message.lines().filter_map(commit).collect()
}
