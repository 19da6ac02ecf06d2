//! `push --checkpoint`: sends checkpoints, each alone, in a commit that has its files.
//!
//! If the remote has the commit that a checkpoint stands on, or with `with_history`, that is the parent: then only what differs from it
//! is sent. Else the commit has no parent, and all files are sent, but no other commit.

use std::collections::HashSet;

use bstr::BString;
use gix::{ObjectId, objs::Kind as ObjectKind};
use serde::Serialize;

use super::{
    known::{Remote, to_send_to},
    outgoing::Scan,
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
    model::{checkpoint::Checkpoint, id_text, refname, shared},
    ops::{Context, lookup},
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
    let (mut sent, mut said) = (Vec::new(), Vec::new());
    for url in &remote.push_urls {
        let address = ExactAddress::new(repo, &remote.name, url);
        let listed = address.list(repo, "refs/")?;
        for checkpoint in &checkpoints {
            let one = send(context, &remote, &address, checkpoint, &listed, options)?;
            sent.push(one.0);
            said.extend(one.1);
        }
    }
    let (name, urls) = (remote.name, remote.urls);
    Ok(Shared { version: 1, remote: name, urls, dry_run: options.dry_run, checkpoints: sent, said })
}

fn send(
    context: &Context,
    remote: &Remote,
    address: &ExactAddress,
    checkpoint: &Checkpoint,
    listed: &[(String, ObjectId)],
    options: &ShareOptions,
) -> Result<(SharedCheckpoint, Vec<String>)> {
    let repo = &context.repo;
    let name = refname::shared_ref(checkpoint.id);
    // What others say that they have, and what that leads to, as far as it is here as well.
    let is_here = |id: &ObjectId| repo.is_commit(*id).unwrap_or(false);
    let there: Vec<ObjectId> = listed.iter().map(|(_, id)| *id).filter(is_here).collect();
    let base = checkpoint.base.commit_id().filter(|base| is_here(base));
    // Not what the other side says: it could have the history sent that it claims to have. What was exchanged with it is known here.
    let branches = repo.refs_below(&format!("refs/remotes/{}/", remote.name))?;
    let exchanged: Vec<ObjectId> = branches.into_iter().map(|(_, id)| id).filter(is_here).collect();
    let is_there =
        |base: ObjectId| Ok(repo.reaches(exchanged.clone(), base, SLACK)? && repo.reaches(there.clone(), base, SLACK)?);
    let is_base_there = base.map_or(Ok(false), is_there)?;
    let parent = base.filter(|_| is_base_there || options.with_history);
    let (commit, written) = write(repo, checkpoint, parent)?;
    check(repo, commit, checkpoint.id)?;
    let mut one = SharedCheckpoint {
        id: checkpoint.id,
        name: name.clone(),
        url: address.shown().to_owned(),
        commit,
        is_new: !listed.iter().any(|(known, _)| *known == name),
        files: 0,
        bytes: 0,
        commits: 0,
    };
    let mut said = Vec::new();
    if one.is_new {
        look(repo, &mut one, &there, !options.no_scan)?;
        if !options.dry_run {
            said = push(repo, remote, address, &one)?;
        }
    }
    // From here on, the remote keeps it.
    written.check_and_release()?;
    Ok((one, said))
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
fn look(repo: &Repo, one: &mut SharedCheckpoint, there: &[ObjectId], is_scanned: bool) -> Result<()> {
    let hint = "'--no-scan' sends it as it is".to_owned();
    let scan = Scan { is_on: is_scanned, undone: "nothing was sent", hint };
    let counted = count(repo, &[one.commit], there, &scan)?;
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

fn push(repo: &Repo, remote: &Remote, address: &ExactAddress, one: &SharedCheckpoint) -> Result<Vec<String>> {
    let report = address.push(repo, one.commit, &one.name, None)?;
    match report.refs.iter().find(|it| it.name == one.name).map(|it| &it.outcome) {
        Some(Outcome::Done | Outcome::Same) => Ok(report.said),
        Some(Outcome::Refused(why)) => {
            let said = format!("{why}\n{}", report.errors).trim_end().to_owned();
            Err(Error::refused(format!("'{}' has refused '{}'", remote.name, one.name))
                .with_hint("the server's rules decide that; nothing here has changed")
                .with_cause(said))
        }
        None => Err(Error::internal(format!("git does not say whether '{}' was pushed", one.name))
            .with_hint("run the command again")),
    }
}
