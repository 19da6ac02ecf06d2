//! Appends to the log: one commit for all additions, and the transcripts they name, in one transaction.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Additions, NewRecord, commit,
    index::index_path,
    log::{CHANGES, COMMITS, Log, PARENTS, folder},
    transcript::{self, Redacted, Transcripts},
};
use crate::{
    error::{Kind, Result},
    git::{
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
    },
    model::{
        change::Mode,
        record::{How, Link, MOST_REVISIONS, Prompt, Record, RecordId},
        refname,
    },
    ops::Context,
    state::{self, failpoint, lock::Lock},
};

/// Adds records and links to the log, and transcripts beside it.
///
/// Secrets are redacted before any object is written. Adding the same data again changes nothing; a stored record is
/// replaced only by one with a higher revision. If another process appends at the same time, we retry on top of its
/// log.
///
/// # Errors
/// [`Kind::Race`] if other processes win the race for longer than `lock-timeout`.
pub fn append(context: &Context, mut additions: Additions) -> Result<()> {
    let texts = additions.records.iter_mut().map(|new| transcript::redact(context, new)).collect::<Vec<_>>();
    let start = Instant::now();
    let _lock = lock(context)?;
    let mut pause = Duration::from_millis(2 + u64::from(std::process::id() % 7));
    loop {
        context.check_interrupt()?;
        match try_append(context, &additions, &texts) {
            Err(error) if error.kind() == Kind::Race && start.elapsed() < context.settings.lock_timeout => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(100));
            }
            outcome => return outcome,
        }
    }
}

/// Takes the lock of the records, which all worktrees share. Processes that do not take it may still move the refs.
pub(crate) fn lock(context: &Context) -> Result<Lock> {
    let repo = &context.repo;
    let path = state::ensure_directory(repo.common_dir())?.join("records.lock");
    let mut lock = Lock::acquire(&path, context.settings.lock_timeout, &|| context.check_interrupt())?;
    if !lock.dead().is_empty() {
        repo.sweep(lock.dead());
        lock.forget_dead();
    }
    Ok(lock)
}

fn try_append(context: &Context, additions: &Additions, texts: &[Vec<Redacted>]) -> Result<()> {
    let repo = &context.repo;
    let tip = repo.find_ref(refname::HISTORY)?;
    let tree_id = tip.map_or(Ok(repo.empty_tree_id()), |tip| repo.tree_of_commit(tip))?;
    // A record needs about ten objects with its trees, a link two.
    let target = Target::for_count(additions.records.len() * 10 + additions.links.len() * 2);
    let mut objects = NewObjects::new(repo, target);
    let mut transcripts = Transcripts::read(repo)?;
    let mut edits = Edits::new(Log::at(repo, tree_id));
    for (new, texts) in additions.records.iter().zip(texts) {
        edits.add_record(new, texts, &mut transcripts, &mut objects)?;
    }
    for link in &additions.links {
        edits.add_link(link)?;
    }
    let subject = edits.subject();
    let edits = edits.finish(&mut objects)?;
    let new_tree_id = edit_tree(tree_id, &edits, &mut objects)?;
    let mut updates = transcripts.finish(&mut objects)?;
    if new_tree_id != tree_id {
        let id = commit(repo, new_tree_id, tip, &subject, &mut objects)?;
        updates.push(RefUpdate { name: refname::HISTORY.into(), old: tip, new: Some(id) });
    }
    if updates.is_empty() {
        return Ok(());
    }
    let of_records = additions.records.iter().map(|new| new.record.commit);
    repo.note_commits_of_hook(of_records.chain(additions.links.iter().map(|link| link.commit)));
    failpoint::hit("records:before-objects");
    let written = objects.write()?;
    failpoint::hit("records:after-objects");
    repo.update_refs(&updates)?;
    failpoint::hit("records:after-refs");
    written.check_and_release()?;
    Ok(())
}

/// The changes of the log's tree.
struct Edits<'r> {
    log: Log<'r>,
    files: BTreeMap<BString, Edit>,
    /// The links that were added or have more files now, by their paths.
    widened: BTreeMap<String, Link>,
    /// The lines that the indices will have.
    lines: BTreeMap<String, BTreeSet<RecordId>>,
    records: usize,
    links: usize,
}

impl<'r> Edits<'r> {
    fn new(log: Log<'r>) -> Self {
        let (files, widened, lines) = Default::default();
        Self { log, files, widened, lines, records: 0, links: 0 }
    }

    fn add_record(
        &mut self,
        new: &NewRecord,
        texts: &[Redacted],
        transcripts: &mut Transcripts<'_>,
        objects: &mut NewObjects<'_>,
    ) -> Result<()> {
        let mut record = new.record.clone();
        // A damaged record is replaced: its text cannot be recovered.
        let stored = self.log.find(&record.id).unwrap_or_default();
        let is_later = |stored: Record| stored.revision < record.revision || record.revision >= MOST_REVISIONS;
        if stored.is_none_or(is_later) {
            let folder = folder(&record.id);
            for (part, text) in record.sessions.iter_mut().zip(texts) {
                let chunk = match transcripts.add(&part.id, text, objects)? {
                    // All of the conversation is in earlier records: the end of it led to this commit as well.
                    None if part.chunks.is_empty() => transcripts.last(&part.id, text)?,
                    chunk => chunk,
                };
                if let Some(chunk) = chunk.filter(|chunk| !part.chunks.contains(chunk)) {
                    part.chunks.push(chunk);
                }
            }
            self.file(format!("{folder}/record.toml"), record.to_toml().as_bytes(), objects)?;
            if !new.attribution.is_empty() {
                self.file(format!("{folder}/attribution"), &new.attribution, objects)?;
            }
            for (index, part) in record.sessions.iter().enumerate() {
                let folder = format!("{folder}/sessions/{index}");
                self.file(format!("{folder}/session.toml"), part.to_toml().as_bytes(), objects)?;
                let prompts = texts.get(index).map_or(&[][..], |text| &text.prompts);
                if !prompts.is_empty() {
                    self.file(format!("{folder}/prompts.toml"), Prompt::list_to_toml(prompts).as_bytes(), objects)?;
                }
            }
            self.records += 1;
        }
        self.line(PARENTS, record.parent.unwrap_or(self.no_commit()), record.id);
        let link = Link { record: record.id, commit: record.commit, from: None, how: How::Commit, only: Vec::new() };
        self.add_link(&link)
    }

    /// An existing link stays as it is, but for the files that this one adds. A record that is only in a log that was fetched gets none: our own log vouches for no record
    /// that it does not have.
    fn add_link(&mut self, link: &Link) -> Result<()> {
        let is_added = self.files.contains_key(format!("{}/record.toml", folder(&link.record)).as_bytes().as_bstr());
        if !is_added && !self.log.has(&link.record)? {
            return Ok(());
        }
        let path = format!("{}/links/{}", folder(&link.record), link.commit);
        let known = match self.widened.get(&path) {
            Some(known) => Ok(Some(known.clone())),
            None => self.log.link(&link.record, link.commit),
        };
        match known {
            // `doctor` names a damaged one.
            Err(error) if error.kind() == Kind::Corrupt => {}
            known => {
                let known = known?;
                let mut joined = known.clone().unwrap_or_else(|| link.clone());
                joined.widen(link);
                if known.as_ref() != Some(&joined) {
                    self.links += usize::from(known.is_none());
                    self.widened.insert(path, joined);
                }
            }
        }
        self.line(COMMITS, link.commit, link.record);
        let repo = self.log.repo;
        if repo.is_commit(link.commit)? {
            let parent = repo.with_commit(link.commit, |commit| commit.parents().next())?;
            self.line(PARENTS, parent.unwrap_or(self.no_commit()), link.record);
            if let Some(change) = self.log.change_of(link.commit)? {
                self.line(CHANGES, change, link.record);
            }
        }
        Ok(())
    }

    fn no_commit(&self) -> ObjectId {
        ObjectId::null(self.log.repo.object_hash())
    }

    fn line(&mut self, index: &str, key: ObjectId, id: RecordId) {
        self.lines.entry(index_path(index, key)).or_default().insert(id);
    }

    fn file(&mut self, path: String, content: &[u8], objects: &mut NewObjects<'_>) -> Result<()> {
        let id = objects.add(ObjectKind::Blob, content)?;
        self.files.insert(path.into(), Some((id, Mode::File)));
        Ok(())
    }

    fn subject(&self) -> String {
        format!("{} added or completed, {} linked\n", plural(self.records, "record"), plural(self.links, "commit"))
    }

    /// Returns all edits, including those of the indices.
    fn finish(mut self, objects: &mut NewObjects<'_>) -> Result<Vec<(BString, Edit)>> {
        for (path, link) in std::mem::take(&mut self.widened) {
            self.file(path, link.to_toml().as_bytes(), objects)?;
        }
        for (path, mut ids) in std::mem::take(&mut self.lines) {
            let before = self.log.read(&path)?.unwrap_or_default();
            ids.extend(before.lines().filter_map(|line| RecordId::parse(line.to_str().ok()?)));
            let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
            if text.as_bytes() != before {
                self.file(path, text.as_bytes(), objects)?;
            }
        }
        Ok(self.files.into_iter().collect())
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
