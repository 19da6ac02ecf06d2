//! `export`: writes checkpoints and records to a git bundle.
//!
//! Each checkpoint travels in a commit of its own, as to a remote. Its parent is the commit that it stands on, which must be there
//! where the file is imported, unless the history goes along. Of a commit that no branch has any more, that cannot be expected: then the
//! commit that carries the checkpoint has no parent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Write as _,
};

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    super::{
        copied::own_logs,
        follow::record_ids,
        outgoing::{self, Scan},
        push_shared::{author, carrier, count},
        shared::{Checks, is_tag},
    },
    chosen::{Choice, Chosen, chosen},
    exported::{Exported, Format, Prerequisite},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        Repo,
        commit::{Identity, NewCommit},
        new_objects::{NewObjects, Target},
        notes::{Notes, Writer},
        whole_tree::{TreeEntry, add_tree},
    },
    model::{
        bundle::{Header, MANIFEST_FILE},
        checkpoint::Checkpoint,
        log_place::Place,
        note::MOST_BYTES,
        refname,
    },
    ops::{Context, tags},
};

/// What goes into a bundle beside checkpoints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    /// The records, with notes on commits.
    pub(crate) records: bool,
    /// Transcripts, too.
    pub(crate) transcripts: bool,
    /// The history of the commits that the checkpoints stand on.
    pub(crate) full: bool,
    /// Do not look for secrets.
    pub(crate) no_scan: bool,
}

/// What is about to be written.
struct Plan<'r> {
    repo: &'r Repo,
    objects: NewObjects<'r>,
    header: Header,
    /// The commits that carry checkpoints.
    carriers: Vec<ObjectId>,
    exported: Exported,
}

/// Writes the checkpoints of `choice`, and what `parts` says, to `out`.
///
/// # Errors
/// If there is nothing to write; [`Kind::Refused`] if something looks as if it has a secret, or is too large.
pub(crate) fn export(context: &Context, choice: &Choice, parts: Parts, out: &mut File) -> Result<Exported> {
    let repo = &context.repo;
    let Chosen { checkpoints, left_out } = chosen(context, choice)?;
    let mut logs = if parts.records { own_logs(repo)? } else { Vec::new() };
    logs.retain(|(name, _)| name == refname::HISTORY || parts.transcripts);
    if checkpoints.is_empty() && logs.is_empty() {
        return Err(Error::user("there is nothing to export")
            .with_hint("'git checkpoint list' shows the checkpoints of this worktree, '--all' exports those of all"));
    }
    let header = Header { format: repo.object_hash(), prerequisites: Vec::new(), refs: Vec::new() };
    let exported = Exported { left_out, ..Exported::new(Format::Bundle, &checkpoints) };
    let objects = NewObjects::new(repo, Target::Loose);
    let mut plan = Plan { repo, objects, header, carriers: Vec::new(), exported };
    plan.add_checkpoints(&checkpoints, parts.full)?;
    plan.add_notes(&checkpoints, parts.records)?;
    plan.add_logs(&logs)?;
    plan.add_manifest()?;
    context.check_interrupt()?;
    let Plan { objects, header, carriers, mut exported, .. } = plan;
    let written = objects.write_together()?;
    let mut checks = Checks::new(repo);
    for (carrier, checkpoint) in carriers.iter().zip(&checkpoints) {
        checks.check(*carrier, checkpoint.id).map_err(|error| {
            let message = format!("the checkpoint {} is refused: {}", repo.short_id(&checkpoint.id), error.message());
            error.with_message(message)
        })?;
    }
    let scan = Scan::of_export(!parts.no_scan);
    let without: Vec<ObjectId> = header.prerequisites.iter().map(|(id, _)| *id).collect();
    if !carriers.is_empty() {
        let counted = count(repo, &carriers, &without, &scan)?;
        exported.files = counted.files;
        exported.commits = counted.commits.saturating_sub(carriers.iter().collect::<BTreeSet<_>>().len());
    }
    for (name, id) in &header.refs {
        let place = if name == refname::NOTES { Some(Place::Notes) } else { Place::of_ref(name) };
        place.map_or(Ok(()), |place| outgoing::check(repo, place, *id, &[], &scan))?;
    }
    let tips: Vec<ObjectId> = header.refs.iter().map(|(_, id)| *id).collect();
    out.write_all(&header.text()).and_then(|()| out.flush()).context(Kind::User, || "cannot write the file".into())?;
    repo.pack_into(&tips, &without, out)?;
    written.check_and_release()?;
    Ok(exported)
}

impl Plan<'_> {
    /// Adds a commit for each of `checkpoints`, and their tags.
    fn add_checkpoints(&mut self, checkpoints: &[Checkpoint], is_full: bool) -> Result<()> {
        let bases: BTreeSet<ObjectId> = checkpoints.iter().filter_map(|it| it.base.commit_id()).collect();
        let mut parents: Vec<ObjectId> =
            bases.into_iter().filter(|id| self.repo.is_commit(*id).unwrap_or(false)).collect();
        if !is_full {
            let lost = self.repo.on_no_ref(&parents, &[refname::PREFIX, refname::FETCHED])?;
            parents.retain(|id| !lost.contains(id));
        }
        let mut carried = BTreeMap::new();
        for checkpoint in checkpoints {
            let parent = checkpoint.base.commit_id().filter(|id| parents.contains(id));
            let id = carrier(self.repo, checkpoint, parent, &mut self.objects)?;
            self.carriers.push(id);
            carried.insert(checkpoint.id, id);
            self.header.refs.push((refname::shared_ref(checkpoint.id), id));
        }
        if !is_full {
            let of = |id: &ObjectId| Prerequisite::of(self.repo, *id);
            self.exported.prerequisites = parents.iter().map(of).collect();
            let lines = self.exported.prerequisites.iter().map(|it| (it.commit, it.subject.as_str().into()));
            self.header.prerequisites = lines.collect();
        }
        let mut tags = tags::all(self.repo)?;
        tags.sort();
        for (tag, id) in tags {
            // Git may have made others.
            let Some(carrier) = carried.get(&id).filter(|_| is_tag(&tag, &refname::tag_ref(&tag))) else { continue };
            self.header.refs.push((refname::tag_ref(&tag), *carrier));
            self.exported.tags.push(tag);
        }
        Ok(())
    }

    /// Adds the notes for `checkpoints`, and, `with_commits`, for all that is none. A commit of its own names who has written each.
    fn add_notes(&mut self, checkpoints: &[Checkpoint], with_commits: bool) -> Result<()> {
        let Some(ours) = self.repo.readable_notes()? else { return Ok(()) };
        let chosen: BTreeSet<ObjectId> = checkpoints.iter().map(|it| it.id).collect();
        let is_other = |id: ObjectId| !self.repo.can_read(id) || matches!(self.repo.find_checkpoint(id), Ok(None));
        let wanted = ours.all().filter(|(id, _)| chosen.contains(id) || with_commits && is_other(*id));
        let wanted: Vec<(ObjectId, ObjectId)> = wanted.collect();
        let mut writers = ours.writers(&wanted.iter().map(|(id, _)| *id).collect())?;
        let mut notes = Notes::at(self.repo, None)?;
        for (id, blob) in wanted {
            if !is_text(self.repo, blob)? {
                self.exported
                    .left_out
                    .push(format!("the note of {} is no text that a note may be", self.repo.short_id(&id)));
                continue;
            }
            let writer = writers.remove(&id).unwrap_or_else(Writer::unknown);
            notes.copy(id, blob, &writer, &mut self.objects)?;
            self.exported.notes += 1;
        }
        for checkpoint in checkpoints {
            // That of its message, which the commit that carries it does not have.
            let Some(note) = checkpoint.origin.note.as_ref().filter(|_| notes.blob(&checkpoint.id).is_none()) else {
                continue;
            };
            let blob = self.objects.add(ObjectKind::Blob, format!("{note}\n").as_bytes())?;
            let &Checkpoint { id, seconds, offset, .. } = checkpoint;
            let who = author(self.repo, id)?;
            notes.copy(id, blob, &Writer { who, seconds, offset }, &mut self.objects)?;
            self.exported.notes += 1;
        }
        self.header.refs.extend(notes.tip().map(|id| (refname::NOTES.to_owned(), id)));
        Ok(())
    }

    fn add_logs(&mut self, logs: &[(String, ObjectId)]) -> Result<()> {
        for (name, id) in logs {
            match refname::transcripts_month(name) {
                Some(month) => self.exported.transcripts.push(month.to_owned()),
                None => self.exported.records = record_ids(self.repo, [*id])?.len(),
            }
            self.header.refs.push((name.clone(), *id));
        }
        Ok(())
    }

    /// Adds what the file says of itself.
    fn add_manifest(&mut self) -> Result<()> {
        let blob = self.objects.add(ObjectKind::Blob, &self.header.manifest())?;
        let tree_id = add_tree(self.repo, vec![TreeEntry::file(MANIFEST_FILE, blob)], &mut self.objects)?;
        let who = Identity::fallback();
        let commit = NewCommit {
            tree_id,
            parents: Vec::new(),
            author: who.clone(),
            committer: who,
            time: self.repo.now(),
            message: "exported\n",
        };
        let id = Repo::write_commit(&commit, &mut self.objects)?;
        self.header.refs.push((refname::EXPORT.to_owned(), id));
        Ok(())
    }
}

/// Returns true if the blob `id` is a text that a note may be.
fn is_text(repo: &Repo, id: ObjectId) -> Result<bool> {
    if repo.object_size(id)?.is_some_and(|size| size > MOST_BYTES) {
        return Ok(false);
    }
    let text = repo.read_blob(id)?;
    Ok(std::str::from_utf8(&text).is_ok() && !text.contains(&0))
}
