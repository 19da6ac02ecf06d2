//! Finds the state of the worktree that people mean: a checkpoint by `@{n}`, `<session>@<turn>`, `verified`, a tag, an id or the
//! beginning of one; `base`, or another commit by a revision of git's.

mod meant;
mod shared;
mod turn;

use std::collections::HashSet;

use gix::ObjectId;

use super::{
    Context,
    called::called,
    chain::{
        shadows,
        timeline::{self, Numbers, Timeline},
    },
    restored_target::restored,
    session_info,
    start::start,
    verified_mark::marked,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{
        checkpoint::Checkpoint,
        likely,
        manifest::Part,
        path_text::shell_word,
        refname,
        selector::{Selector, TurnName},
    },
};

pub(crate) use meant::meant_tag;
pub(crate) use shared::author_of as author_of_shared;
pub(crate) use turn::turn_of;

/// The next step where a text names no checkpoint.
const LIST: &str = "'git checkpoint list' shows the checkpoints of this worktree";
/// The name of what lists call the start.
const START: &str = "'verified' names the start, as long as no checkpoint is marked as verified";
/// How many candidates of an ambiguous prefix are listed.
const LISTED: usize = 10;

/// What a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The checkpoint, or another commit.
    pub(crate) id: ObjectId,
    /// The session whose work since, or until, is meant; none: all work.
    pub(crate) session: Option<String>,
}

/// Returns the id of the checkpoint, or of another commit, that `text` names:
///
/// - `@` or `@{0}`: the latest checkpoint of this worktree; `@{1}`: the one before, and so on
/// - `verified`: the verified one of this worktree; if none is marked, the start, which may be a commit
/// - `base`: the commit that HEAD is at
/// - a tag
/// - `<remote>/<id>`: a checkpoint that was fetched from a remote; also `<import>/<id>` and `<import>/<tag>`
/// - an id, or the beginning of one
/// - `<session>@<turn>`: the last checkpoint of the turn; `<session>@<turn>^`: the state before its prompt
/// - a revision, as gitrevisions(7) has them
///
/// Neither a full id nor `@{0}` walks a chain.
///
/// # Errors
/// If none or several match, or if `text` is the id of an object that is no commit.
pub fn resolve(context: &Context, text: &str) -> Result<ObjectId> {
    find(context, text).map(|found| found.id)
}

/// The same, with the session that `text` or the checkpoint belongs to.
pub(crate) fn find(context: &Context, text: &str) -> Result<Found> {
    let repo = &context.repo;
    let found = match Selector::parse(text) {
        Some(Selector::Latest(n)) => Some(latest(repo, n)?),
        Some(Selector::Base) => Some(base(repo)?),
        Some(Selector::Verified) => Some(verified(repo)?),
        Some(Selector::Prefix(hex)) if hex.len() == repo.object_hash().len_in_hex() => Some(full_id(repo, &hex)?),
        Some(Selector::Prefix(hex)) => match tag(repo, text)? {
            Some(id) => Some(id),
            None => prefix(repo, &hex)?,
        },
        Some(Selector::Turn(name)) => match tag(repo, text)? {
            None => match of_turn(context, &name) {
                // A branch may have such a name.
                Err(error) if error.kind() == Kind::User => Some(repo.find_commit(text)?.ok_or(error)?),
                found => return found,
            },
            tagged => tagged,
        },
        Some(Selector::Tag(name)) => match tag(repo, &name)? {
            // A branch may have such a name, and others choose those of what they share.
            None if repo.find_commit(text)?.is_some() => None,
            None => shared::find(repo, text)?,
            tagged => tagged,
        },
        None => return Err(no_match(text)),
    };
    let id = found.map_or_else(
        || repo.find_commit(text)?.ok_or_else(|| shared::with_hint(repo, text, no_match_or_session(context, text))),
        Ok,
    )?;
    let origin = repo.find_checkpoint(id).ok().flatten().map(|checkpoint| checkpoint.origin);
    // What a restore has put back is the user's.
    let session = origin.filter(|origin| restored(origin).is_none()).and_then(|origin| origin.session);
    Ok(Found { id, session })
}

/// Returns the state before the checkpoint that `text` names was taken; of a turn, before its prompt.
///
/// # Errors
/// As [`find`], and if `text` names a commit that is no checkpoint.
pub(crate) fn find_before(context: &Context, text: &str) -> Result<Found> {
    match Selector::parse(text) {
        Some(Selector::Turn(name)) if tag(&context.repo, text)?.is_none() => {
            of_turn(context, &TurnName { is_before: true, ..name })
        }
        _ => {
            let Found { id, session } = find(context, text)?;
            if let (Ok(None), true) = (context.repo.find_checkpoint(id), context.repo.can_read(id)) {
                let word = shell_word(text);
                return Err(Error::user(format!("'{text}' is a commit: nothing is before it")).with_hint(format!(
                    "'git checkpoint restore {word}', without '--before', goes back to the commit"
                )));
            }
            let mut found = checkpoint(context, id)?;
            // One that was carried forward to another base holds the worktree as its original does.
            while let Some(original) = found.origin.carried {
                found = checkpoint(context, original)?;
            }
            Ok(Found { id: found.before_id(), session })
        }
    }
}

/// Returns what `name` names.
///
/// # Errors
/// [`Kind::User`] if there is no such session, or its turn has no checkpoint.
fn of_turn(context: &Context, name: &TurnName) -> Result<Found> {
    let Some(session) = session_info::find(context, &name.session)? else {
        return Err(session_info::unknown(context, &name.session).with_kind(Kind::User));
    };
    Ok(Found { id: turn::find(context, &session, name)?, session: Some(session) })
}

/// Returns true if `text` means the verified checkpoint, and none is marked: it then names the start.
pub(crate) fn is_unmarked(repo: &Repo, text: &str) -> Result<bool> {
    Ok(Selector::parse(text) == Some(Selector::Verified) && marked(repo)?.is_none())
}

fn verified(repo: &Repo) -> Result<ObjectId> {
    marked(repo)?.map_or_else(|| start(repo), |id| Ok(Some(id)))?.ok_or_else(|| {
        Error::user("no checkpoint of this worktree is verified").with_hint("'git checkpoint verify <id>' marks one")
    })
}

/// Returns the checkpoint `id`.
///
/// # Errors
/// [`Kind::Corrupt`] if it is missing or damaged; if it is another object.
pub(crate) fn checkpoint(context: &Context, id: ObjectId) -> Result<Checkpoint> {
    match context.repo.find_checkpoint(id) {
        Ok(Some(checkpoint)) => Ok(checkpoint),
        Ok(None) if context.repo.is_commit(id).unwrap_or(false) => Err(is_a_commit(&context.repo.short_id(&id))),
        Ok(None) if context.repo.can_read(id) => Err(not_a_checkpoint(&id.to_string())),
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

fn no_match(text: &str) -> Error {
    Error::user(format!("no checkpoint matches '{text}'")).with_hint(LIST)
}

/// Returns that `text` names no checkpoint, with the hint that it names a session if it does.
fn no_match_or_session(context: &Context, text: &str) -> Error {
    let error = no_match(text);
    let named = text.strip_suffix('^').unwrap_or(text);
    let (name, is_turn) = named.strip_suffix("@0").map_or((text, false), |name| (name, true));
    let Ok(Some(id)) = session_info::find(context, name) else {
        return match meant::meant(context, text) {
            _ if text == "start" => error.with_hint(START),
            Some(name) => error.with_hint(likely::hint(Some(&name), LIST)),
            None => error,
        };
    };
    let session = session_info::find_or_rebuild(context, &id).ok().flatten();
    let (has_turns, word) = (session.is_none_or(|session| session.turn.number > 0), shell_word(name));
    error.with_hint(match (has_turns, is_turn) {
        (false, _) => {
            format!("'{name}' is a session without turns: 'git checkpoint list --session {word}' shows its checkpoints")
        }
        (true, true) => format!("turns are counted from 1: 'git checkpoint prompts {word}' lists them"),
        (true, false) => format!(
            "'{name}' is a session: '{name}@<turn>' names the state after a turn, 'git checkpoint prompts {word}' lists them"
        ),
    })
}

/// Returns that `text` names a commit where a checkpoint is needed.
pub(super) fn is_a_commit(text: &str) -> Error {
    Error::user(format!("'{text}' is a commit, not a checkpoint")).with_hint(LIST)
}

fn not_a_checkpoint(text: &str) -> Error {
    Error::user(format!("'{text}' is not a checkpoint")).with_hint(LIST)
}

fn latest(repo: &Repo, n: usize) -> Result<ObjectId> {
    let tips = timeline::all_tips(repo, Some(repo.worktree_id()))?;
    if let (0, [tip]) = (n, tips.as_slice()) {
        return Ok(tip.id);
    }
    let (mut timeline, mut numbers) = (Timeline::new(repo, &tips)?, Numbers::of(&tips));
    let found = timeline.by_ref().find(|(checkpoint, archived)| numbers.next(checkpoint.id, *archived) == Some(n));
    match found {
        Some((checkpoint, _)) => Ok(checkpoint.id),
        None if !timeline.broken.is_empty() => Err(timeline.broken.remove(0)),
        None if tips.is_empty() => {
            let base = repo.head()?.id.map(|_| "'base' names the commit that a clean worktree stands on; ");
            let hint = format!("{}'git checkpoint save' takes a checkpoint", base.unwrap_or_default());
            Err(Error::user("this worktree has no checkpoint yet").with_hint(hint))
        }
        None => {
            let error = no_match(&format!("@{{{n}}}"));
            let earliest = numbers.count().checked_sub(1);
            Err(match earliest {
                Some(earliest) => error.with_hint(format!("the earliest one is '@{{{earliest}}}'; {LIST}")),
                None => error,
            })
        }
    }
}

/// Returns HEAD; on an unborn branch, the empty root commit that the shadow is based on.
fn base(repo: &Repo) -> Result<ObjectId> {
    if let Some(id) = repo.head()?.id {
        return Ok(id);
    }
    let none =
        || Error::user("HEAD has no commit yet").with_hint("'git checkpoint save' takes a checkpoint without one");
    let tip = shadows::latest_on(repo, refname::Base::Unborn)?.ok_or_else(none)?;
    match repo.chain(tip.id).last().transpose()? {
        Some(first) => Ok(first.parent_id),
        None => Err(none()),
    }
}

fn tag(repo: &Repo, name: &str) -> Result<Option<ObjectId>> {
    repo.find_sound_ref(&refname::tag_ref(name))
}

/// Accepts any commit, reachable or not: to check that would mean to walk every chain.
fn full_id(repo: &Repo, hex: &str) -> Result<ObjectId> {
    let id = ObjectId::from_hex(hex.as_bytes()).map_err(|_| no_match(hex))?;
    let is_ours = || Ok::<_, Error>(repo.refs_of_checkpoints()?.iter().any(|(_, tip)| *tip == id));
    match repo.is_commit(id) {
        Ok(true) if repo.can_read(id) => Ok(id),
        Ok(false) if repo.can_read(id) => Err(not_a_checkpoint(hex)),
        Ok(_) if repo.has_object(id) || is_ours()? => Err(unreadable(id)),
        Ok(_) => Err(no_match(hex)),
        Err(error) => Err(unreadable(id).with_cause(error)),
    }
}

/// Returns the only checkpoint whose id begins with `hex`, if there is one.
fn prefix(repo: &Repo, hex: &str) -> Result<Option<ObjectId>> {
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
        [] => Ok(None),
        [only] => Ok(Some(only.id)),
        several => Err(ambiguous(repo, hex, several)),
    }
}

fn ambiguous(repo: &Repo, hex: &str, candidates: &[Checkpoint]) -> Error {
    let mut hint = "the candidates are:".to_owned();
    for candidate in candidates.iter().take(LISTED) {
        hint.push_str(&format!("\n  {} {}", repo.short_id(&candidate.id), called(repo, candidate)));
    }
    if candidates.len() > LISTED {
        hint.push_str(&format!("\n  and {} more", candidates.len() - LISTED));
    }
    Error::user(format!("'{hex}' is ambiguous: {} checkpoints match", candidates.len())).with_hint(hint)
}

/// Returns the ids of all checkpoints of all worktrees, archived, tagged and verified ones included.
fn reachable(repo: &Repo) -> Result<HashSet<ObjectId>> {
    let mut ids = HashSet::new();
    for (_, tip) in repo.refs_of_checkpoints()? {
        // A chain that is broken holds what comes before the gap.
        for checkpoint in repo.chain(tip).take_while(Result::is_ok).flatten() {
            if !ids.insert(checkpoint.id) {
                break;
            }
        }
    }
    Ok(ids)
}
