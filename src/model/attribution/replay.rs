//! The replay: applies steps and tracks the owner of each line; `finish` computes what the commit adds and deletes.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use bstr::{BStr, BString};

use super::{
    AuthorId, Change, Content, Differ, FileOwnership, Limits, Owner,
    file::{self, File, Grave, Writer},
    moved_later::{MovedLater, Step},
    moves,
    work::{Outcome, Work},
};

/// In the place of the author who deleted a line: the line was not deleted.
pub(super) const NOT_DELETED: AuthorId = AuthorId::MAX;

/// The state of all files that any step has touched.
///
/// Steps in a row by one author are one step: a checkpoint more or less between them changes nothing. But a step that takes a
/// file back to an earlier content or deletes it, as a stash does, is one of its own: the lines that it deletes may come back. So
/// is a step that has lines from elsewhere, and one that the caller keeps apart.
pub struct Replay<'d> {
    pub(super) differ: Differ<'d>,
    pub(super) limits: Limits,
    pub(super) files: HashMap<BString, File>,
    /// By file of the base: who deleted each line.
    pub(super) fates: Vec<Vec<AuthorId>>,
    pub(super) bases: HashMap<BString, u32>,
    /// By file of the base: a digest of its content.
    starts: Vec<u64>,
    author: Option<AuthorId>,
    pending: BTreeMap<BString, Pending>,
    /// How many steps were replayed.
    steps: u32,
    pub(super) moved_later: MovedLater,
}

struct Pending {
    /// The path before the steps that are pending.
    source: Option<BString>,
    after: Option<Content>,
    moved: Option<FileOwnership>,
    is_of_commit: bool,
}

/// A file of a step that is being replayed.
struct Job {
    path: BString,
    old: File,
    after: Option<Content>,
    /// The owners of lines that are from elsewhere.
    moved: Option<FileOwnership>,
    /// The commit has this content, and the last step may have left another one.
    is_of_commit: bool,
    /// Another file of the step has the path afterwards.
    is_replaced: bool,
}

fn digest(content: Option<&Content>) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

impl<'d> Replay<'d> {
    /// Returns a replay that begins at the commit's parent; each change brings the parent's content of its file.
    pub fn new(differ: Differ<'d>) -> Self {
        Self::with_limits(differ, Limits::default())
    }

    pub(super) fn with_limits(differ: Differ<'d>, limits: Limits) -> Self {
        Self {
            differ,
            limits,
            files: HashMap::new(),
            fates: Vec::new(),
            bases: HashMap::new(),
            starts: Vec::new(),
            author: None,
            pending: BTreeMap::new(),
            steps: 0,
            moved_later: MovedLater::default(),
        }
    }

    /// Returns true if the content of `path` before the next step is known, so that the change need not provide it.
    pub fn knows(&self, path: &BStr) -> bool {
        self.files.contains_key(path) || self.pending.contains_key(path)
    }

    /// Returns true if lines of a file at `path` are known that were deleted with it.
    pub(super) fn remembers(&self, path: &BStr) -> bool {
        self.files.get(path).is_some_and(|file| !file.graves.is_empty())
    }

    /// Replays a step. A change that leaves the content as it is is ignored.
    pub fn step(&mut self, author: AuthorId, changes: Vec<Change>) {
        self.step_of(author, changes, false);
    }

    /// Does the same; if `is_of_commit`, for the difference between the last step and the commit.
    pub(super) fn step_of(&mut self, author: AuthorId, mut changes: Vec<Change>, is_of_commit: bool) {
        for change in &mut changes {
            let path = change.from.as_ref().unwrap_or(&change.path);
            if !self.knows(path.as_ref()) {
                self.begin(path.clone(), change.before.take());
            }
        }
        changes.retain(|change| change.from.is_some() || self.current(change.path.as_ref()) != change.after.as_ref());
        if changes.is_empty() {
            return;
        }
        let has_moved = changes.iter().any(|change| change.moved.is_some());
        if has_moved || self.author != Some(author) || changes.iter().any(|change| self.takes_back(change)) {
            self.flush();
            self.author = Some(author);
        }
        // Renames may form a circle, so all files are taken out before any is put back.
        let sources: Vec<Option<BString>> = changes.iter().map(|change| self.source(change)).collect();
        for from in changes.iter().filter_map(|change| change.from.clone()) {
            self.pending.insert(from, Pending { source: None, after: None, moved: None, is_of_commit });
        }
        for (change, source) in changes.into_iter().zip(sources) {
            self.pending
                .insert(change.path, Pending { source, after: change.after, moved: change.moved, is_of_commit });
        }
        if has_moved {
            self.flush();
        }
    }

    /// Keeps the last step apart from the next one, though they have one author. The caller knows that a later step, for example a
    /// restore, brings back content that the last step left. Lines of that content must be known then.
    pub fn keep_apart(&mut self) {
        self.flush();
    }

    /// Returns true if `change` undoes what the pending steps have done to its file, or all that was done to it, or deletes it.
    /// A stash that takes a renamed file away and puts the first one back looks like a rename.
    fn takes_back(&self, change: &Change) -> bool {
        let path = change.from.as_ref().unwrap_or(&change.path);
        let was_at = |path: &BString| {
            let before = self.files.get(path).and_then(|file| file.content.as_ref());
            let is_start = |index: &u32| self.starts[*index as usize] == digest(change.after.as_ref());
            before == change.after.as_ref() || self.bases.get(path).is_some_and(is_start)
        };
        self.pending.contains_key(path) && (change.after.is_none() || was_at(path) || was_at(&change.path))
    }

    fn begin(&mut self, path: BString, content: Option<Content>) {
        self.starts.push(digest(content.as_ref()));
        let index = u32::try_from(self.fates.len()).unwrap_or(u32::MAX);
        let file = File::base(content, index);
        self.fates.push(vec![NOT_DELETED; file.lines.len()]);
        self.bases.insert(path.clone(), index);
        self.files.insert(path, file);
    }

    /// Returns the content of `path` as the last step left it.
    pub fn current(&self, path: &BStr) -> Option<&Content> {
        match self.pending.get(path) {
            Some(pending) => pending.after.as_ref(),
            None => self.files.get(path).and_then(|file| file.content.as_ref()),
        }
    }

    fn source(&self, change: &Change) -> Option<BString> {
        let path = change.from.as_ref().unwrap_or(&change.path);
        match self.pending.get(path) {
            Some(pending) => pending.source.clone(),
            None => Some(path.clone()),
        }
    }

    /// Replays the pending steps as one.
    pub(super) fn flush(&mut self) {
        let Some(author) = self.author.take() else { return };
        self.steps += 1;
        let writer = Writer { author, step: self.steps };
        let (mut jobs, mut moves) = self.jobs();
        moves.extend(find_renames(&mut jobs));
        let left: Vec<(BString, Vec<Grave>)> =
            moves.into_iter().map(|(from, to)| (from, jobs[to].old.as_deleted())).collect();
        let mut works: Vec<Work<'_>> = jobs
            .iter()
            .map(|job| Work::new(&self.differ, &self.limits, &job.old, file::text(job.after.as_ref())))
            .collect();
        moves::place_moved(&mut works);
        let outcomes: Vec<Outcome> = works
            .into_iter()
            .zip(&jobs)
            .map(|(work, job)| work.finish(&self.differ, &self.limits, writer, job.moved.as_ref()))
            .collect();
        // Moved lines are not deleted, and restored ones no longer are. Deletions come first, because another file may
        // undo them.
        for outcome in &outcomes {
            for (origin, by) in outcome.deleted.iter().filter_map(|it| Some((it.grave.line.origin?, it.by))) {
                self.fates[origin.file as usize][origin.line as usize] = by;
            }
        }
        let mut later = Step::default();
        let paths: Vec<BString> = jobs.iter().map(|job| job.path.clone()).collect();
        for (job, mut outcome) in jobs.into_iter().zip(outcomes) {
            later.add(&job.path, &outcome, job.is_of_commit);
            for arrived in std::mem::take(&mut outcome.arrived) {
                later.add_moved(&paths[arrived.from], &job.path, arrived, writer);
            }
            if !job.is_replaced {
                let owner = job.moved.and_then(|moved| moved.whole).unwrap_or(Owner::Author(author));
                let part = outcome.part.clone();
                let file = applied(job.old, job.after, outcome, owner);
                for origin in file.lines[part].iter().filter_map(|line| line.origin) {
                    self.fates[origin.file as usize][origin.line as usize] = NOT_DELETED;
                }
                self.files.insert(job.path, file);
            }
        }
        // Git may put a renamed file back.
        for (path, graves) in left {
            if let Some(file) = self.files.get_mut(&path).filter(|file| file.content.is_none()) {
                file.graves = graves;
            }
        }
        let moved = self.moved_later.find(&mut self.files, later);
        for origin in moved {
            self.fates[origin.file as usize][origin.line as usize] = NOT_DELETED;
        }
    }

    /// Returns the files of the pending steps, and which of them had another path: that, and the place of the file.
    fn jobs(&mut self) -> (Vec<Job>, Vec<(BString, usize)>) {
        let pending = std::mem::take(&mut self.pending);
        let mut taken: BTreeMap<BString, File> = BTreeMap::new();
        for path in pending.iter().flat_map(|(path, pending)| [Some(path), pending.source.as_ref()]).flatten() {
            if let Some(file) = self.files.remove(path) {
                taken.insert(path.clone(), file);
            }
        }
        let (mut jobs, mut moves) = (Vec::with_capacity(pending.len()), Vec::new());
        for (path, Pending { source, after, moved, is_of_commit }) in pending {
            moves.extend(source.clone().filter(|source| *source != path).map(|source| (source, jobs.len())));
            let old = source.and_then(|source| taken.remove(&source)).unwrap_or_else(File::absent);
            jobs.push(Job { path, old, after, moved, is_of_commit, is_replaced: false });
        }
        jobs.extend(taken.into_iter().map(|(path, old)| Job {
            path,
            old,
            after: None,
            moved: None,
            is_of_commit: false,
            is_replaced: true,
        }));
        (jobs, moves)
    }
}

/// Finds renames: a deleted file whose content appears in a new file. Returns the old path of each, and the place of the file.
fn find_renames(jobs: &mut [Job]) -> Vec<(BString, usize)> {
    let mut gone: HashMap<&Content, Vec<usize>> = HashMap::new();
    for (at, job) in jobs.iter().enumerate().rev().filter(|(_, job)| job.after.is_none()) {
        if let Some(content) = &job.old.content {
            gone.entry(content).or_default().push(at);
        }
    }
    let mut renames = Vec::new();
    for (at, job) in jobs.iter().enumerate().filter(|(_, job)| job.old.content.is_none()) {
        if let Some(from) = job.after.as_ref().and_then(|content| gone.get_mut(content)).and_then(Vec::pop) {
            renames.push((from, at));
        }
    }
    let mut moves = Vec::with_capacity(renames.len());
    for (from, to) in renames {
        jobs[to].old = std::mem::replace(&mut jobs[from].old, File::absent());
        moves.push((jobs[from].path.clone(), to));
    }
    moves
}

/// Returns `file` as the step left it; `owner` has the whole of it, if it has no lines.
fn applied(mut file: File, after: Option<Content>, outcome: Outcome, owner: Owner) -> File {
    if file.content != after {
        file.whole = owner;
    }
    file.content = after;
    outcome.place(&mut file.lines);
    let mut at = 0;
    file.graves.retain(|_| {
        at += 1;
        !outcome.reopened.contains(&(at - 1))
    });
    file.bury(&outcome.edits, outcome.deleted);
    file.is_cut_off |= outcome.is_cut_off;
    file
}
