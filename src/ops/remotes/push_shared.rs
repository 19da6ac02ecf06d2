//! `push --checkpoint`: sends checkpoints, each alone, in a commit that has its files.
//!
//! If the remote is known to have the commit that a checkpoint stands on, or with `with_history`, that is the parent: then only what differs from it
//! is sent. Else the commit has no parent, and all files are sent, but no other commit.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use serde::Serialize;

use super::{
    known::{Remote, branches_of, to_send_to},
    outgoing::Scan,
    push_notes::{self, SharedNote},
    push_tags::{self, SharedTag, is_not_atomic, tags_of},
    shape::{NewObject, new_objects},
    shared::{LARGEST, LARGEST_FILE, LONGEST_PATH, check, named},
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        commit::{Identity, Moment, NewCommit},
        exact_address::ExactAddress,
        new_objects::{NewObjects, Target},
        transfer::Outcome,
        written::Written,
    },
    model::{
        checkpoint::Checkpoint,
        id_text,
        path_text::{printable, shell_word},
        refname, shared,
    },
    ops::{Context, lookup},
    state::failpoint,
};

/// How much older than a commit those that build on it may be, in seconds: clocks differ.
const SLACK: i64 = 24 * 3600;

/// What to send, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShareOptions {
    /// The name of an approved remote.
    pub(crate) remote: Option<String>,
    /// What names the checkpoints.
    pub(crate) checkpoints: Vec<String>,
    /// The notes of all checkpoints that the remote has already, too.
    pub(crate) notes: bool,
    /// With the commits that they stand on.
    pub(crate) with_history: bool,
    /// Do not look for secrets.
    pub(crate) no_scan: bool,
    /// Send nothing.
    pub(crate) dry_run: bool,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shared {
    version: u32,
    pub(crate) remote: String,
    pub(crate) urls: Vec<String>,
    pub(crate) dry_run: bool,
    pub(crate) checkpoints: Vec<SharedCheckpoint>,
    /// The notes of checkpoints that were there already.
    pub(crate) notes: Vec<SharedNote>,
    /// What the server's hooks have printed.
    pub(crate) said: Vec<String>,
}

/// A checkpoint that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SharedCheckpoint {
    /// Its id.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The ref that leads to it there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// Where it was sent to.
    pub(crate) url: String,
    /// The commit that carries it.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
    /// False if it was there already.
    pub(crate) is_new: bool,
    /// How many files were sent.
    pub(crate) files: usize,
    /// How many bytes they have.
    pub(crate) bytes: u64,
    /// How many commits of the branch were sent with it.
    pub(crate) commits: usize,
    /// Paths that the checkpoint has left out: to others they are absent.
    pub(crate) skipped: Vec<String>,
    /// Its tags.
    pub(crate) tags: Vec<SharedTag>,
    /// Its note.
    pub(crate) note: Option<SharedNote>,
}

/// Sends checkpoints.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the remote is not approved, or something must not be sent.
pub(crate) fn share(context: &Context, options: &ShareOptions) -> Result<Shared> {
    let repo = &context.repo;
    let remote = to_send_to(context, options.remote.as_deref())?;
    let mut checkpoints = Vec::new();
    for text in &options.checkpoints {
        let checkpoint = lookup::checkpoint(context, lookup::resolve(context, text)?)?;
        lookup::refuse_without_files(repo, checkpoint.id)?;
        checkpoints.push(checkpoint);
    }
    let (mut sent, mut notes, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for url in &remote.push_urls {
        let address = ExactAddress::new(repo, &remote.name, url);
        let listed = address.list(repo, "refs/")?;
        for checkpoint in &checkpoints {
            let one = send(context, &remote, &address, checkpoint, &listed, options)?;
            sent.push(one.0);
            said.extend(one.1);
        }
        if options.notes {
            let mut ids = push_notes::ours_of(repo, &listed)?;
            ids.retain(|id| checkpoints.iter().all(|it| it.id != *id));
            let (scan, dry_run) = (Scan::of_checkpoints(!options.no_scan), options.dry_run);
            notes.extend(push_notes::send(repo, &address, &ids, &listed, (&scan, dry_run), &mut said)?);
        }
    }
    let (name, urls) = (remote.name, remote.urls);
    Ok(Shared { version: 1, remote: name, urls, dry_run: options.dry_run, checkpoints: sent, notes, said })
}

/// How many branches of the remote git is to find there as they are known here.
const MOST_ANCHORS: usize = 8;

fn send(
    context: &Context,
    remote: &Remote,
    address: &ExactAddress,
    checkpoint: &Checkpoint,
    listed: &[(String, ObjectId)],
    options: &ShareOptions,
) -> Result<(SharedCheckpoint, Vec<String>)> {
    let anchors = anchors(&context.repo, remote, checkpoint, listed, options.with_history)?;
    match send_beside(context, remote, address, checkpoint, listed, options, &anchors) {
        // Then git does not know which of them the server has, and sends all.
        Err(error) if !anchors.is_empty() && is_not_atomic(&error) => {
            send_beside(context, remote, address, checkpoint, listed, options, &[])
        }
        sent => sent,
    }
}

/// Returns branches of `remote` that it lists, and that are known to be there: what they lead to need not be sent, and is not looked at.
/// One that has the commit which `checkpoint` stands on, or else some if that is to be sent `with_history`.
///
/// What the remote lists is not enough: it could have the history sent that it claims to have. Nor is what is known here: git may send it to
/// another repository than it fetches from. So git looks at these branches once more where it sends to.
fn anchors(
    repo: &Repo,
    remote: &Remote,
    checkpoint: &Checkpoint,
    listed: &[(String, ObjectId)],
    with_history: bool,
) -> Result<Vec<(String, ObjectId)>> {
    let branches = branches_of(repo, remote)?.into_iter().map(|(name, id)| (format!("refs/heads/{name}"), id));
    let mut anchors: Vec<(String, ObjectId)> = branches.filter(|branch| listed.contains(branch)).collect();
    let base = checkpoint.base.commit_id().filter(|base| repo.is_commit(*base).unwrap_or(false));
    for (at, (_, id)) in anchors.iter().enumerate() {
        if base.map_or(Ok(false), |base| repo.reaches(vec![*id], base, SLACK))? {
            return Ok(vec![anchors.swap_remove(at)]);
        }
    }
    // Without a parent, there is no history to send.
    anchors.truncate(if with_history { MOST_ANCHORS } else { 0 });
    Ok(anchors)
}

fn send_beside(
    context: &Context,
    remote: &Remote,
    address: &ExactAddress,
    checkpoint: &Checkpoint,
    listed: &[(String, ObjectId)],
    options: &ShareOptions,
    anchors: &[(String, ObjectId)],
) -> Result<(SharedCheckpoint, Vec<String>)> {
    let repo = &context.repo;
    let name = refname::shared_ref(checkpoint.id);
    let there: Vec<ObjectId> = anchors.iter().map(|(_, id)| *id).collect();
    let base = checkpoint.base.commit_id().filter(|base| repo.is_commit(*base).unwrap_or(false));
    let is_base_there = base.map_or(Ok(false), |base| repo.reaches(there.clone(), base, SLACK))?;
    let parent = base.filter(|_| is_base_there || options.with_history);
    let (commit, written) = write(repo, checkpoint, parent)?;
    check(repo, commit, checkpoint.id)?;
    let known = listed.iter().find(|(known, _)| *known == name).map(|(_, id)| *id);
    let mut one = SharedCheckpoint {
        id: checkpoint.id,
        name: name.clone(),
        url: address.shown().to_owned(),
        commit,
        is_new: known.is_none(),
        files: 0,
        bytes: 0,
        commits: 0,
        skipped: skipped_by(repo, checkpoint)?,
        tags: Vec::new(),
        note: None,
    };
    let tags = tags_of(repo, checkpoint)?;
    let mut said = Vec::new();
    let scan = Scan::of_checkpoints(!options.no_scan);
    // A secret in the note is found before anything leaves.
    one.note = push_notes::send(repo, address, &[one.id], listed, (&scan, true), &mut said)?.pop();
    if one.is_new {
        look(repo, &mut one, &there, &scan)?;
        if !options.dry_run {
            said = push(repo, remote, address, &mut one, anchors)?;
        }
    }
    // From here on, the remote keeps it.
    written.check_and_release()?;
    failpoint::hit("push:before-tags");
    let there = known.unwrap_or(one.commit);
    one.tags = if options.dry_run || tags.is_empty() {
        push_tags::plan(&tags, listed, there)
    } else {
        send_tags(repo, address, checkpoint, &tags, there, listed, &mut said)?
    };
    if !options.dry_run {
        one.note = push_notes::send(repo, address, &[one.id], listed, (&scan, false), &mut said)?.pop();
    }
    Ok((one, said))
}

/// Sends `tags`, those of `checkpoint`, which the remote has in the commit `there`, or, if another push was faster, in the one that it
/// lists now.
fn send_tags(
    repo: &Repo,
    address: &ExactAddress,
    checkpoint: &Checkpoint,
    tags: &[String],
    there: ObjectId,
    listed: &[(String, ObjectId)],
    said: &mut Vec<String>,
) -> Result<Vec<SharedTag>> {
    // With the parent or without one: another push may have sent it when the remote had less, or more.
    let base = checkpoint.base.commit_id().filter(|base| repo.is_commit(*base).unwrap_or(false));
    for parent in [None, base] {
        let (carrier, written) = write(repo, checkpoint, parent)?;
        if carrier == there {
            let sent =
                push_tags::send(repo, address, tags, (&refname::shared_ref(checkpoint.id), carrier), listed, said);
            written.check_and_release()?;
            return sent;
        }
    }
    Ok(push_tags::refused(tags, "the remote has the checkpoint in a commit that is not made here"))
}

/// Returns the paths that `checkpoint` has left out.
fn skipped_by(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<String>> {
    let Some(side_id) = checkpoint.side_id else { return Ok(Vec::new()) };
    let skipped = repo.read_side(side_id)?.manifest.skipped;
    Ok(skipped.iter().map(|skipped| printable(skipped.path.as_bstr())).collect())
}

/// Writes the commit that carries `checkpoint`.
fn write<'r>(repo: &'r Repo, checkpoint: &Checkpoint, parent: Option<ObjectId>) -> Result<(ObjectId, Written<'r>)> {
    let mut objects = NewObjects::new(repo, Target::Loose);
    let id = carrier(repo, checkpoint, parent, &mut objects)?;
    Ok((id, objects.write_together()?))
}

/// Adds the commit that carries `checkpoint` to `objects`, and returns its id. It depends on nothing but that and `parent`.
pub(super) fn carrier(
    repo: &Repo,
    checkpoint: &Checkpoint,
    parent: Option<ObjectId>,
    objects: &mut NewObjects<'_>,
) -> Result<ObjectId> {
    let who = author(repo, checkpoint.id)?;
    let commit = NewCommit {
        tree_id: checkpoint.tree_id,
        parents: parent.into_iter().collect(),
        author: who.clone(),
        committer: who,
        time: Moment { micros: 0, ..Moment::of(checkpoint) },
        message: &shared::message(checkpoint),
    };
    Repo::write_commit(&commit, objects)
}

/// Returns the author of the commit `id`.
pub(super) fn author(repo: &Repo, id: ObjectId) -> Result<Identity> {
    let who = repo.with_commit(id, |commit| {
        let author = commit.author().ok();
        author.map(|who| Identity { name: who.name.to_owned(), email: who.email.to_owned() })
    })?;
    Ok(who.unwrap_or_else(Identity::fallback))
}

/// Counts what is sent of `one` if the other side has the commits `there`, and looks for secrets in it.
fn look(repo: &Repo, one: &mut SharedCheckpoint, there: &[ObjectId], scan: &Scan) -> Result<()> {
    let counted = count(repo, &[one.commit], there, scan)?;
    (one.files, one.bytes, one.commits) = (counted.files, counted.bytes, counted.commits - 1);
    if one.bytes > LARGEST {
        return Err(Error::refused("more than 1 GiB would be sent")
            .with_hint("push the branch that the checkpoint stands on first: then only what differs from it is sent"));
    }
    Ok(())
}

/// What leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// How many files.
    pub(super) files: usize,
    /// How many bytes they have.
    pub(super) bytes: u64,
    /// How many commits.
    pub(super) commits: usize,
}

/// Counts what the commits `carriers` lead to, and the commits `there` do not, and searches it for secrets.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if a file is too large, and that of `scan`.
pub(super) fn count(repo: &Repo, carriers: &[ObjectId], there: &[ObjectId], scan: &Scan) -> Result<Counted> {
    let own: HashSet<ObjectId> = carriers.iter().copied().collect();
    let mut counted = Counted::default();
    new_objects(repo, carriers, there, LONGEST_PATH, &mut |NewObject { id, path }| {
        let Some(path) = path else {
            let (who, message) =
                repo.with_commit(id, |commit| (commit.author.to_owned(), commit.message.to_owned()))?;
            scan.refuse(|| format!("the author of the commit {id}"), &who, false)?;
            scan.refuse(|| format!("the message of the commit {id}"), &message, own.contains(&id))?;
            counted.commits += 1;
            return Ok(());
        };
        if repo.kind_of(id)? != Some(ObjectKind::Blob) {
            return Ok(());
        }
        let path = BString::from(path);
        let size = repo.size_of_object(id).unwrap_or_default();
        (counted.files, counted.bytes) = (counted.files + 1, counted.bytes.saturating_add(size));
        if size > LARGEST_FILE {
            return Err(Error::refused(format!("the file '{}' is too large to be sent", named(&path)))
                .with_hint("no more than 100 MiB are sent of a file: let git ignore it, and take another checkpoint"));
        }
        if !scan.is_on {
            return Ok(());
        }
        scan.refuse(|| format!("the file '{}'", named(&path)), &repo.read_blob(id)?, false)
    })?;
    Ok(counted)
}

fn push(
    repo: &Repo,
    remote: &Remote,
    address: &ExactAddress,
    one: &mut SharedCheckpoint,
    anchors: &[(String, ObjectId)],
) -> Result<Vec<String>> {
    let report = address.push_beside(repo, one.commit, &one.name, anchors)?;
    let outcome = |name: &str| report.refs.iter().find(|it| it.name == name).map(|it| &it.outcome);
    let is_moved = |(name, _): &(String, ObjectId)| matches!(outcome(name), Some(Outcome::Refused(_)));
    match outcome(&one.name) {
        Some(Outcome::Done | Outcome::Same) => Ok(report.said),
        Some(Outcome::Refused(why)) => {
            if let Some((_, there)) = address.list(repo, &one.name)?.into_iter().find(|(name, _)| *name == one.name) {
                // Another push of the same checkpoint was faster.
                (one.is_new, one.commit) = (false, there);
                return Ok(report.said);
            }
            let said = format!("{why}\n{}", report.errors).trim_end().to_owned();
            let hint = match anchors.iter().find(|anchor| is_moved(anchor)) {
                Some((branch, _)) => format!(
                    "where it receives, '{branch}' is not what it lists: nothing was sent; 'git fetch {}' and then the same command \
                     again, or 'git checkpoint remote add' with the other URL",
                    shell_word(&remote.name)
                ),
                None => "the server's rules decide that; nothing here has changed".to_owned(),
            };
            Err(Error::refused(format!("'{}' has refused '{}'", remote.name, one.name))
                .with_hint(hint)
                .with_cause(said))
        }
        None => Err(Error::internal(format!("git does not say whether '{}' was pushed", one.name))
            .with_hint("run the command again")),
    }
}
