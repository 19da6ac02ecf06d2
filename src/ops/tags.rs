//! Tags: names that the user gives to checkpoints. A tag is a ref, and what it leads to is never pruned.

use std::collections::BTreeSet;

use gix::ObjectId;
use serde::Serialize;

use super::{Context, Worktree, called::called, enter::Purpose, holding::hold_or_rely, lookup, retried::retried};
use crate::{
    error::{Error, Result},
    git::{Repo, ref_names, refs::RefUpdate},
    model::{checkpoint::Checkpoint, id_text, moment, path_text, path_text::shell_word, refname, tag_name},
};

/// A tag that was made or moved. Serializes to what `tag --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Tagged {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// Its name.
    pub(crate) tag: String,
    /// The checkpoint that it names.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// What it named before, if that was something else.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) previous: Option<ObjectId>,
    /// The subject of the checkpoint.
    pub(crate) subject: String,
    /// What the checkpoint is called for people.
    #[serde(skip)]
    pub(crate) called: String,
    /// When the checkpoint was taken, in ISO 8601.
    pub(crate) time: String,
    /// True if git knows a commit by the same name: our commands read the name as the tag.
    #[serde(skip)]
    pub(crate) is_revision: bool,
}

/// A tag that was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Deleted {
    /// Its name.
    pub(crate) tag: String,
    /// What it named.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
}

/// What became of tags that were to be deleted. Serializes to what `tag -d --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Untagged {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// Those that were deleted.
    pub(crate) deleted: Vec<Deleted>,
    /// The names that no tag has.
    pub(crate) missing: Vec<String>,
}

/// A tag in a list. Serializes to a line of `tag --list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListedTag {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// Its name.
    pub(crate) tag: String,
    /// What it names: a checkpoint, or another commit if git made the tag.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The worktree of the checkpoint; none if it is another commit, or cannot be read.
    pub(crate) worktree: Option<String>,
    /// The subject; none if it cannot be read.
    pub(crate) subject: Option<String>,
    /// What the checkpoint is called for people.
    #[serde(skip)]
    pub(crate) called: Option<String>,
    /// When it was taken, in ISO 8601.
    pub(crate) time: Option<String>,
    /// The same in seconds since 1970, with the offset from UTC.
    #[serde(skip)]
    pub(crate) moment: Option<(i64, i32)>,
}

/// Gives the checkpoint that `text` names, or the latest of this worktree, the tag `name`. With `is_forced`, the name may be that of
/// another checkpoint so far.
///
/// # Errors
/// If the name is no valid one or may be mistaken for another checkpoint, if there is such a tag, or as [`lookup::resolve`].
pub(crate) fn tag(context: &Context, name: &str, text: Option<&str>, is_forced: bool) -> Result<Tagged> {
    let repo = &context.repo;
    check_name(name)?;
    let text = text.unwrap_or("@");
    checkpoint(context, text)?;
    if !is_forced && repo.find_ref(&refname::tag_ref(name))?.is_some() {
        return Err(exists(name));
    }
    repo.name_operation("tag");
    // If HEAD has moved, `@` is another checkpoint than before.
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let checkpoint = checkpoint(context, text)?;
    let previous = set(repo, name, checkpoint.id, is_forced)?;
    Ok(Tagged {
        version: 1,
        tag: name.to_owned(),
        id: checkpoint.id,
        previous: previous.filter(|previous| *previous != checkpoint.id),
        called: called(repo, &checkpoint),
        time: moment::iso(checkpoint.seconds, checkpoint.offset),
        subject: checkpoint.subject,
        is_revision: repo.find_commit(name)?.is_some(),
    })
}

fn check_name(name: &str) -> Result<()> {
    tag_name::check(name)?;
    // As git-tag(1), which reads such a name as an option.
    let is_valid = !name.starts_with('-') && ref_names::is_valid(&format!("{}{name}", refname::TAGS));
    if is_valid {
        return Ok(());
    }
    let error = Error::user(format!("'{name}' is not a valid tag name"));
    Err(error.with_hint("'git help check-ref-format' has the rules for names"))
}

fn checkpoint(context: &Context, text: &str) -> Result<Checkpoint> {
    let id = lookup::resolve(context, text)?;
    lookup::checkpoint(context, id).map_err(|error| {
        let is_commit =
            context.repo.find_checkpoint(id).is_ok_and(|found| found.is_none()) && context.repo.can_read(id);
        if is_commit {
            error.with_hint("'git tag' names commits; 'git checkpoint list' shows the checkpoints")
        } else {
            error
        }
    })
}

fn exists(name: &str) -> Error {
    Error::user(format!("tag '{name}' already exists")).with_hint(format!(
        "'git checkpoint show {word}' shows what it names; '-f' lets it name another checkpoint",
        word = shell_word(name)
    ))
}

/// Points the ref of the tag to `id`, and returns its old value: compare and swap, with retries.
fn set(repo: &Repo, name: &str, id: ObjectId, is_forced: bool) -> Result<Option<ObjectId>> {
    let full = refname::tag_ref(name);
    retried(|| {
        let old = repo.find_ref(&full)?;
        if old.is_some() && !is_forced {
            return Err(exists(name));
        }
        let names = std::slice::from_ref(&full);
        let held = old.filter(|old| *old != id).map_or(Ok(None), |left| hold_or_rely(repo, left, names))?;
        let moved = RefUpdate { name: full.clone(), old, new: Some(id) };
        repo.update_refs(&held.into_iter().chain([moved]).collect::<Vec<_>>()).map(|()| old)
    })
}

/// Deletes the tags `names`, all at once.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if other processes keep moving them.
pub(crate) fn delete(context: &Context, names: &[String]) -> Result<Untagged> {
    let repo = &context.repo;
    repo.name_operation("tag");
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let names: BTreeSet<&String> = names.iter().collect();
    retried(|| {
        let (mut untagged, mut updates) =
            (Untagged { version: 1, deleted: Vec::new(), missing: Vec::new() }, Vec::new());
        for name in &names {
            let full = refname::tag_ref(name);
            match repo.find_ref(&full)? {
                Some(id) => {
                    untagged.deleted.push(Deleted { tag: (*name).clone(), id });
                    updates.push(RefUpdate { name: full, old: Some(id), new: None });
                }
                None => untagged.missing.push((*name).clone()),
            }
        }
        let gone: Vec<String> = updates.iter().map(|update| update.name.clone()).collect();
        let left: BTreeSet<ObjectId> = untagged.deleted.iter().map(|it| it.id).collect();
        for id in left {
            let held = hold_or_rely(repo, id, &gone)?;
            // One ref may hold several of them.
            updates.extend(held.filter(|held| updates.iter().all(|update| update.name != held.name)));
        }
        // What holds a checkpoint comes before what lets it go.
        updates.sort_by_key(|update| update.new.is_none());
        repo.update_refs(&updates).map(|()| untagged)
    })
}

/// Returns the tags whose names one of `patterns` matches, or all, by name.
pub(crate) fn list(context: &Context, patterns: &[String]) -> Result<Vec<ListedTag>> {
    let mut tags = all(&context.repo)?;
    tags.retain(|(name, _)| patterns.is_empty() || ref_names::matches_one(patterns, name));
    tags.sort();
    Ok(tags.into_iter().map(|(name, id)| listed(&context.repo, name, id)).collect())
}

/// Returns all tags, with what they name.
pub(crate) fn all(repo: &Repo) -> Result<Vec<(String, ObjectId)>> {
    let refs = repo.sound_refs(refname::TAGS)?;
    Ok(refs.into_iter().filter_map(|(name, id)| Some((refname::tag_of_ref(&name)?, id))).collect())
}

fn listed(repo: &Repo, tag: String, id: ObjectId) -> ListedTag {
    let unread =
        ListedTag { version: 1, tag, id, worktree: None, subject: None, called: None, time: None, moment: None };
    if !repo.can_read(id) {
        return unread;
    }
    let with = |subject: String, called: String, (seconds, offset): (i64, i32)| ListedTag {
        subject: Some(subject),
        called: Some(called),
        time: Some(moment::iso(seconds, offset)),
        moment: Some((seconds, offset)),
        ..unread.clone()
    };
    match repo.find_checkpoint(id) {
        Ok(Some(checkpoint)) => ListedTag {
            worktree: Some(path_text::escape(checkpoint.worktree.as_ref())),
            ..with(checkpoint.subject.clone(), called(repo, &checkpoint), (checkpoint.seconds, checkpoint.offset))
        },
        Ok(None) => match (repo.message_of(id), repo.parent_and_time(id)) {
            (Ok(message), Ok(found)) => {
                let subject = message.lines().next().unwrap_or_default().to_owned();
                with(subject.clone(), subject, (found.map_or(0, |(_, seconds)| seconds), 0))
            }
            _ => unread,
        },
        Err(_) => unread,
    }
}
