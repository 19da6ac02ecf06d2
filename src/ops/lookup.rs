//! Finds the checkpoint that people mean: `@{n}`, `base`, `verified`, a tag, an id or the beginning of one.

use std::collections::HashSet;

use gix::ObjectId;

use super::{
    Context,
    chain::{
        shadows,
        timeline::{self, Timeline},
    },
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{checkpoint::Checkpoint, manifest::Part, refname, selector::Selector},
};

/// The next step where a text names no checkpoint.
const LIST: &str = "'git checkpoint list' shows the checkpoints of this worktree";
/// How many candidates of an ambiguous prefix are listed.
const LISTED: usize = 10;

/// Returns the id of the checkpoint that `text` names.
///
/// - `@` or `@{0}`: the latest of this worktree; `@{1}`: the one before, and so on
/// - `verified`: the verified one of this worktree
/// - `base`: no checkpoint, but the commit that HEAD is at
/// - a tag
/// - an id, or the beginning of one
///
/// Neither a full id nor `@{0}` walks a chain.
///
/// # Errors
/// If none or several match, or if `text` is the id of another object.
pub fn resolve(context: &Context, text: &str) -> Result<ObjectId> {
    let repo = &context.repo;
    match Selector::parse(text) {
        Some(Selector::Latest(n)) => latest(repo, n),
        Some(Selector::Base) => base(repo),
        Some(Selector::Verified) => repo.find_sound_ref(&refname::verified_ref(repo.worktree_id()))?.ok_or_else(|| {
            Error::user("no checkpoint of this worktree is verified")
                .with_hint("'git checkpoint verify <id>' marks one")
        }),
        Some(Selector::Prefix(hex)) if hex.len() == repo.object_hash().len_in_hex() => full_id(repo, &hex),
        Some(Selector::Prefix(hex)) => match tag(repo, text)? {
            Some(id) => Ok(id),
            None => prefix(repo, &hex),
        },
        Some(Selector::Tag(name)) => tag(repo, &name)?.ok_or_else(|| no_match(repo, text)),
        None => Err(no_match(repo, text)),
    }
}

/// Returns the checkpoint `id`.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if it is missing or damaged; if it is another object.
pub(crate) fn checkpoint(context: &Context, id: ObjectId) -> Result<Checkpoint> {
    match context.repo.find_checkpoint(id) {
        Ok(Some(checkpoint)) => Ok(checkpoint),
        Ok(None) if context.repo.can_read(id) => Err(not_a_checkpoint(&id.to_string(), LIST.into())),
        Ok(None) => Err(unreadable(id)),
        Err(error) => Err(unreadable(id).with_cause(error)),
    }
}

/// Refuses the copy of a damaged checkpoint of which no file could be read: its tree is that of the one before.
pub(crate) fn refuse_without_files(repo: &Repo, id: ObjectId) -> Result<()> {
    let side_id = repo.find_checkpoint(id).ok().flatten().and_then(|checkpoint| checkpoint.side_id);
    let side = side_id.and_then(|id| repo.read_side(id).ok());
    if side.is_some_and(|side| side.manifest.lacks(&[Part::Tree])) { Err(without_files(id)) } else { Ok(()) }
}

/// Returns that no file of the checkpoint `id` can be read.
pub(crate) fn without_files(id: ObjectId) -> Error {
    Error::corrupt(format!("the files of '{id}' cannot be read: it is the copy of a damaged checkpoint"))
        .with_hint("'git checkpoint list --archived' shows others; nothing was changed")
}

fn unreadable(id: ObjectId) -> Error {
    Error::corrupt(format!("the checkpoint '{id}' cannot be read"))
}

fn no_match(repo: &Repo, text: &str) -> Error {
    Error::user(format!("no checkpoint matches '{text}'")).with_hint(hint(repo, text))
}

fn not_a_checkpoint(text: &str, hint: String) -> Error {
    Error::user(format!("'{text}' is not a checkpoint")).with_hint(hint)
}

/// Returns what to type instead of `text`, which names no checkpoint but may be a revision of git's, such as `HEAD`.
fn hint(repo: &Repo, text: &str) -> String {
    let head = repo.head().ok().and_then(|head| head.id);
    // Git's @{<n>} is an entry of the reflog, ours a checkpoint.
    if head.is_some() && !text.starts_with("@{") && repo.find_commit(text).ok().flatten() == head {
        return format!("'base' names the commit that HEAD is at; {LIST}");
    }
    LIST.to_owned()
}

fn latest(repo: &Repo, n: usize) -> Result<ObjectId> {
    let tips = timeline::live_tips(repo, Some(repo.worktree_id()))?;
    if let (0, [tip]) = (n, tips.as_slice()) {
        return Ok(tip.id);
    }
    let mut timeline = Timeline::new(repo, &tips)?;
    let found = timeline.nth(n);
    match found {
        Some((checkpoint, _)) => Ok(checkpoint.id),
        None if !timeline.broken.is_empty() => Err(timeline.broken.remove(0)),
        None if tips.is_empty() => Err(Error::user("this worktree has no checkpoint yet").with_hint(
            "'base' names the commit that a clean worktree stands on; 'git checkpoint save' takes a checkpoint, \
             'git checkpoint list --archived' shows those that were set aside",
        )),
        None => Err(no_match(repo, &format!("@{{{n}}}"))),
    }
}

/// Returns HEAD; on an unborn branch, the empty root commit that the shadow is based on.
fn base(repo: &Repo) -> Result<ObjectId> {
    if let Some(id) = repo.head()?.id {
        return Ok(id);
    }
    let none = || Error::user("HEAD has no commit yet").with_hint("'git checkpoint save' begins a shadow without one");
    let tip = shadows::latest_on(repo, refname::Base::Unborn)?.ok_or_else(none)?;
    match repo.chain(tip.id).last().transpose()? {
        Some(first) => Ok(first.parent_id),
        None => Err(none()),
    }
}

fn tag(repo: &Repo, name: &str) -> Result<Option<ObjectId>> {
    repo.find_sound_ref(&refname::tag_ref(name))
}

/// Accepts any checkpoint, reachable or not: to check that would mean to walk every chain.
fn full_id(repo: &Repo, hex: &str) -> Result<ObjectId> {
    let id = ObjectId::from_hex(hex.as_bytes()).map_err(|_| no_match(repo, hex))?;
    let is_ours = || Ok::<_, Error>(repo.refs_below(refname::PREFIX)?.iter().any(|(_, tip)| *tip == id));
    match repo.find_checkpoint(id) {
        Ok(Some(_)) => Ok(id),
        Ok(None) if repo.can_read(id) => Err(not_a_checkpoint(hex, hint(repo, hex))),
        Ok(None) if repo.has_object(id) || is_ours()? => Err(unreadable(id)),
        Ok(None) => Err(no_match(repo, hex)),
        Err(error) => Err(unreadable(id).with_cause(error)),
    }
}

fn prefix(repo: &Repo, hex: &str) -> Result<ObjectId> {
    let mut candidates = Vec::new();
    for id in repo.ids_with_prefix(hex)? {
        candidates.extend(repo.find_checkpoint(id).ok().flatten());
    }
    if candidates.len() > 1 {
        // Some may be left over from dropped shadows, and count only if no other matches.
        let reachable = reachable(repo)?;
        let (kept, left_over): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|it| reachable.contains(&it.id));
        candidates = if kept.is_empty() { left_over } else { kept };
    }
    match candidates.as_slice() {
        [] => Err(no_match(repo, hex)),
        [only] => Ok(only.id),
        several => Err(ambiguous(hex, several)),
    }
}

fn ambiguous(hex: &str, candidates: &[Checkpoint]) -> Error {
    let mut hint = "the candidates are:".to_owned();
    for candidate in candidates.iter().take(LISTED) {
        hint.push_str(&format!("\n  {} {}", candidate.id.to_hex_with_len(12), candidate.subject));
    }
    if candidates.len() > LISTED {
        hint.push_str(&format!("\n  and {} more", candidates.len() - LISTED));
    }
    Error::user(format!("'{hex}' is ambiguous: {} checkpoints match", candidates.len())).with_hint(hint)
}

/// Returns the ids of all checkpoints of all worktrees, archived, tagged and verified ones included.
fn reachable(repo: &Repo) -> Result<HashSet<ObjectId>> {
    let mut ids = HashSet::new();
    for (_, tip) in repo.refs_below(refname::PREFIX)? {
        // A chain that is broken holds what comes before the gap.
        for checkpoint in repo.chain(tip).take_while(Result::is_ok).flatten() {
            if !ids.insert(checkpoint.id) {
                break;
            }
        }
    }
    Ok(ids)
}
