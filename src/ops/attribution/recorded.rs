//! The records of a commit, read once each, newest first.

use std::{collections::HashMap, rc::Rc};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::records::{Limit, Log, SameChange},
    authors::Authors,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{
        attribution::text::{Attribution, File},
        record::{How, Link, Parts, RecordId, ids_in_message},
    },
};

/// The part of a record that attribution needs.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) id: RecordId,
    pub(super) commit: ObjectId,
    /// The remote it was fetched from; none if this clone has made it.
    pub(super) remote: Option<String>,
    pub(super) parent: Option<ObjectId>,
    /// The base of the shadow: the parent, or the commit that was amended.
    base: Option<ObjectId>,
    seconds: i64,
    /// True if it says alone who wrote the lines of its commit.
    is_whole: bool,
    files: Vec<File>,
    /// The blobs before the commit, by path.
    before: HashMap<BString, Option<ObjectId>>,
}

impl Recorded {
    /// Returns the recorded file that the commit has at `path`.
    pub(super) fn file(&self, path: &BStr) -> Option<&File> {
        let at = self.files.binary_search_by(|file| file.ownership.path.as_slice().cmp(path)).ok()?;
        Some(&self.files[at])
    }

    /// Returns true if the commit deletes the file at `path`, or gives it another name.
    pub(super) fn has_left(&self, path: &BString) -> bool {
        match self.file(path.as_bstr()) {
            Some(file) => file.blob.is_none(),
            None => self.files.iter().any(|file| file.ownership.from.as_ref() == Some(path)),
        }
    }

    /// Returns the record with the files `only`.
    fn of_files(&self, only: &[BString]) -> Self {
        let mut part = self.clone();
        part.files.retain(|file| only.contains(&file.ownership.path));
        part.before.retain(|path, _| only.contains(path));
        part
    }

    /// Returns the files that the commit changes.
    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns a recorded file that the commit has as `blob`.
    pub(super) fn file_of_blob(&self, blob: ObjectId) -> Option<&File> {
        self.files.iter().find(|file| file.blob == Some(blob))
    }

    /// Returns true if a file that the commit changes is not in the tree `tree_id` under its name.
    pub(super) fn is_renamed_in(&self, repo: &Repo, tree_id: ObjectId) -> Result<bool> {
        for (path, _) in self.before.iter().filter(|(_, blob)| blob.is_some()) {
            if repo.find_leaf(tree_id, path.as_bstr())?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the blob of the file before the commit.
    pub(super) fn before(&self, path: &BStr) -> Option<ObjectId> {
        self.before.get(path).copied().flatten()
    }
}

/// The records found for a commit.
pub(super) struct Found {
    /// Newest first.
    pub(super) records: Vec<Rc<Recorded>>,
    /// False if a record is missing or cannot be read, or if it is not known whether the commit is a copy of a recorded one.
    pub(super) is_complete: bool,
    /// True if the log knows the commit, not only its message a record.
    pub(super) is_linked: bool,
    /// The records that the message or the log names, and that are not here or cannot be read.
    pub(super) missing: Vec<RecordId>,
}

/// Reads records.
pub(super) struct Records<'r> {
    repo: &'r Repo,
    log: Option<Log<'r>>,
    known: HashMap<RecordId, Option<Rc<Recorded>>>,
    links: HashMap<RecordId, Rc<Vec<Link>>>,
    /// Records that count for a commit beside those that it names and that are linked to it.
    pub(super) added: HashMap<ObjectId, Vec<RecordId>>,
    /// For a commit that is only in memory, or that has such records, the records of which it has some files only.
    pub(super) parts: HashMap<ObjectId, Parts>,
    /// True if there are records, and none of them can be read: any commit may have one.
    is_lost: bool,
    /// The errors of unreadable records.
    pub(super) troubles: Vec<String>,
}

impl<'r> Records<'r> {
    pub(super) fn open(repo: &'r Repo) -> Result<Self> {
        let (log, troubles) = match Log::open(repo) {
            Err(error) if error.kind() == Kind::Corrupt => (None, vec![full(&error)]),
            log => (log?, Vec::new()),
        };
        let is_lost = !troubles.is_empty();
        let (known, links, added, parts) = Default::default();
        Ok(Self { repo, log, known, links, added, parts, is_lost, troubles })
    }

    /// Lets only our own log count.
    pub(super) fn of_own_log(self) -> Result<Self> {
        Ok(Self { log: Log::own(self.repo)?, ..self })
    }

    /// Returns true if there are records, and none of them can be read.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the records of `commit`.
    pub(super) fn of(&mut self, commit: ObjectId, authors: &mut Authors) -> Result<Found> {
        let mut ids = ids_in_message(self.repo.message_of(commit)?.as_bytes());
        let added = self.added.get(&commit).into_iter().flatten();
        ids.extend(added.filter(|id| !ids.contains(id)).copied().collect::<Vec<_>>());
        let (mut is_linked, mut is_doubtful) = (false, self.is_lost);
        match self.log.as_ref().map(|log| in_log(log, commit, !ids.is_empty())).transpose() {
            Ok(None) => {}
            Ok(Some((linked, same))) => {
                is_linked = !linked.is_empty();
                ids.extend(linked.into_iter().filter(|id| !ids.contains(id)).collect::<Vec<_>>());
                ids.extend(same.copied);
                is_doubtful = same.is_doubtful;
            }
            // The part of the log that is damaged may name any record.
            Err(error) if error.kind() == Kind::Corrupt => {
                is_doubtful = true;
                self.note(full(&error));
            }
            Err(error) => return Err(error),
        }
        let (mut found, mut missing) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in &ids {
            if !self.known.contains_key(id) {
                let record = self.read(*id, authors).unwrap_or_else(|error| {
                    self.note(error.to_string());
                    None
                });
                self.known.insert(*id, record.map(Rc::new));
            }
            match self.known[id].clone() {
                Some(record) => {
                    let (record, is_certain) = self.part(record, commit)?;
                    is_doubtful |= !is_certain;
                    found.push(record);
                }
                None => missing.push(*id),
            }
        }
        let is_complete = missing.is_empty() && !is_doubtful;
        found.sort_by_key(|record| std::cmp::Reverse((record.commit == commit, record.seconds)));
        in_order(self.repo, &mut found);
        Ok(Found { records: found, is_complete, is_linked, missing })
    }

    /// Returns `record` with the files only whose work `commit` has, and true if it cannot have that of others.
    fn part(&self, record: Rc<Recorded>, commit: ObjectId) -> Result<(Rc<Recorded>, bool)> {
        let in_memory = self.parts.get(&commit).and_then(|parts| parts.get(&record.id)).cloned();
        let Limit { files, is_doubtful } = match (in_memory, &self.log) {
            (Some(files), _) => Limit { files, is_doubtful: false },
            (None, Some(log)) if record.commit != commit => log.limit(&record.id, commit)?,
            _ => Limit::default(),
        };
        // A link that names other files than the record has is damaged.
        let is_certain = !is_doubtful && files.iter().all(|path| record.before.contains_key(path));
        Ok((if files.is_empty() { record } else { Rc::new(record.of_files(&files)) }, is_certain))
    }

    /// Notes the error `text` of unreadable records, once.
    fn note(&mut self, text: String) {
        if !self.troubles.contains(&text) {
            self.troubles.push(text);
        }
    }

    /// Returns the time of the oldest commit with a record in the log whose tree is `tree_id`.
    pub(super) fn seconds_of_first(&self, tree_id: ObjectId) -> Result<Option<i64>> {
        let log = Log::at(self.repo, tree_id);
        let mut seconds = Vec::new();
        for id in log.all()? {
            // Skips a damaged record.
            seconds.extend(log.find(&id).ok().flatten().map(|record| record.seconds));
        }
        Ok(seconds.into_iter().min())
    }

    /// Returns true if what `record` calls base lines may be newer than the parent of `commit`: they are those of the commit that was
    /// amended, or of another one that was squashed with the record's, or committed again together with it.
    pub(super) fn has_newer_base(&mut self, record: &Recorded, commit: ObjectId) -> Result<bool> {
        if record.base != record.parent || record.commit == commit {
            return Ok(record.base != record.parent);
        }
        let is_joined = |how: How| matches!(how, How::Squash | How::Recommit);
        let is_added = self.added.get(&commit).is_some_and(|ids| ids.contains(&record.id));
        let is_linked = |link: &Link| link.commit == commit && is_joined(link.how);
        let is_joined = is_added || self.links(record.id)?.iter().any(is_linked);
        // The first of the commits that were squashed has the same parent.
        Ok(is_joined && self.repo.parents_of(commit)?.first().copied() != record.base)
    }

    /// Returns true if the commit of `newer` commits the work of `older` once more, as after `git reset --soft`. Then
    /// `newer` was made without the checkpoints that name the authors.
    pub(super) fn is_blind(&mut self, newer: &Recorded, older: &Recorded) -> Result<bool> {
        Ok(!newer.is_whole
            && self.links(older.id)?.iter().any(|link| link.commit == newer.commit && link.how == How::Recommit))
    }

    fn links(&mut self, id: RecordId) -> Result<Rc<Vec<Link>>> {
        if let Some(links) = self.links.get(&id) {
            return Ok(links.clone());
        }
        let links = Rc::new(self.log.as_ref().map_or(Ok(Vec::new()), |log| log.links(&id))?);
        self.links.insert(id, links.clone());
        Ok(links)
    }

    fn read(&self, id: RecordId, authors: &mut Authors) -> Result<Option<Recorded>> {
        let Some(log) = &self.log else { return Ok(None) };
        let Some(record) = log.find(&id)? else { return Ok(None) };
        let Some(text) = log.attribution(&id)? else { return Ok(None) };
        let stored = Attribution::from_text(&text)
            .map_err(|why| Error::corrupt(format!("the attribution of the record '{id}' is damaged: {why}")))?;
        Ok(Some(Recorded {
            id,
            commit: record.commit,
            remote: log.remote_of(&id)?,
            parent: record.parent,
            base: record.base.commit_id(),
            seconds: record.seconds,
            is_whole: record.is_whole,
            files: authors.adopt(stored),
            before: record.files.into_iter().map(|file| (file.path, file.before)).collect(),
        }))
    }
}

impl Found {
    /// Returns the record that says alone who wrote the lines of `commit`. One that was fetched does not decide over a record of our own.
    pub(super) fn whole(&self, commit: ObjectId) -> Option<Rc<Recorded>> {
        let has_own = self.records.iter().any(|record| record.remote.is_none());
        let is_trusted = |record: &Recorded| record.remote.is_none() || !has_own;
        let is_whole = |record: &&Rc<Recorded>| record.is_whole && record.commit == commit && is_trusted(record);
        self.records.iter().find(is_whole).cloned()
    }
}

/// Returns the records that `log` links to `commit`. If there are none, and the message names none either (`is_named`), also
/// returns those of commits that make the same change.
fn in_log(log: &Log<'_>, commit: ObjectId, is_named: bool) -> Result<(Vec<RecordId>, SameChange)> {
    let linked = log.linked_to(commit)?;
    let same = if linked.is_empty() && !is_named { log.of_change(commit)? } else { SameChange::default() };
    Ok((linked, same))
}

/// Returns the message of `error` with its last cause.
fn full(error: &Error) -> String {
    std::iter::once(error.to_string()).chain(error.causes().pop()).collect::<Vec<_>>().join(": ")
}

/// Sorts a record before those of the commits that its own commit builds on: their seconds may be equal.
fn in_order(repo: &Repo, records: &mut [Rc<Recorded>]) {
    for at in 1..records.len() {
        let older = (0..at).find(|&before| is_older(repo, &records[before], &records[at]));
        if let Some(to) = older {
            records[to..=at].rotate_right(1);
        }
    }
}

/// Returns true if the commit of `newer` amends that of `one`, is its child, or was made in the same second and builds on it. The
/// time of all other commits decides by itself.
fn is_older(repo: &Repo, one: &Recorded, newer: &Recorded) -> bool {
    let is_same_second = one.seconds == newer.seconds && one.commit != newer.commit;
    // A commit that was rewritten may be gone.
    let builds_on = || repo.reaches(vec![newer.commit], one.commit, 0).unwrap_or(false);
    newer.parent == Some(one.commit) || newer.base == Some(one.commit) || is_same_second && builds_on()
}
