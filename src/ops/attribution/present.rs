//! Sums up the owners of lines by session and by file for the report.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use gix::ObjectId;

use super::{
    commit::{OfCommit, OfFile, Reader},
    patch::PatchFile,
    report::{Attribution, CommitLines, FetchedRecord, FileLines, OwnedLines, Remover, SessionLines},
    who::{Who, who},
};
use crate::model::{
    attribution::{
        Author, AuthorId, Owner,
        kind::{Kind, agent_of, kind_of},
        summary::Figures,
    },
    contributor::Contributor,
    record::RecordId,
};

/// A session's name: id, agent and model.
type SessionKey = (Option<String>, Option<String>, Option<String>);

#[derive(Default)]
struct SessionSum {
    lines: u32,
    mixed: u32,
    removed: u32,
    files: BTreeSet<BString>,
}

/// Adds up commits.
pub(super) struct Sum {
    pub(super) commit: Option<ObjectId>,
    pub(super) parent: Option<ObjectId>,
    pub(super) range: Option<String>,
    pub(super) is_worktree: bool,
    pub(super) troubles: Vec<String>,
    pub(super) lacking: Vec<RecordId>,
    records: Vec<RecordId>,
    fetched: BTreeMap<RecordId, String>,
    missing: Vec<RecordId>,
    checked_unknown: u32,
    unchecked_unknown: u32,
    pub(super) has_history: bool,
    /// True if the files of each commit are listed.
    pub(super) by_commit: bool,
    inferred: BTreeSet<String>,
    summary: Figures,
    sessions: BTreeMap<SessionKey, SessionSum>,
    commits: Vec<CommitLines>,
    files: BTreeMap<BString, FileLines>,
    patch: Option<Vec<PatchFile>>,
}

impl Sum {
    pub(super) fn new(with_patch: bool) -> Self {
        Self {
            commit: None,
            parent: None,
            range: None,
            is_worktree: false,
            troubles: Vec::new(),
            lacking: Vec::new(),
            records: Vec::new(),
            fetched: BTreeMap::new(),
            missing: Vec::new(),
            checked_unknown: 0,
            unchecked_unknown: 0,
            has_history: true,
            by_commit: false,
            inferred: BTreeSet::new(),
            summary: Figures::default(),
            sessions: BTreeMap::new(),
            commits: Vec::new(),
            files: BTreeMap::new(),
            patch: with_patch.then(Vec::new),
        }
    }

    /// Adds a commit; if `is_alone`, its lines are listed one by one.
    pub(super) fn add(&mut self, commit: &OfCommit, authors: &[Author], is_alone: bool) {
        let mut figures = Figures::default();
        for file in &commit.files {
            let of_file = Figures::of_file(&file.ownership, authors);
            figures = figures.plus(&of_file);
            self.sessions(file, authors);
            let lines = lines(file, authors, of_file, is_alone);
            match self.files.get_mut(&file.change.path) {
                None => drop(self.files.insert(file.change.path.clone(), lines)),
                Some(known) => join(known, lines),
            }
        }
        self.summary = self.summary.plus(&figures);
        for id in &commit.records {
            if is_alone || !self.records.contains(id) {
                self.records.push(*id);
            }
        }
        self.fetched.extend(commit.fetched.iter().cloned());
        for id in &commit.missing {
            if !self.missing.contains(id) {
                self.missing.push(*id);
            }
        }
        *if commit.is_earlier { &mut self.unchecked_unknown } else { &mut self.checked_unknown } += figures.unknown;
        self.inferred.extend(commit.inferred.iter().cloned());
        if !is_alone {
            let listed = commit.files.iter().filter(|_| self.by_commit);
            let files = listed.map(|file| lines(file, authors, Figures::of_file(&file.ownership, authors), true));
            self.commits.push(CommitLines {
                commit: commit.id,
                records: commit.records.clone(),
                summary: figures,
                files: files.collect(),
                missing: commit.missing.clone(),
                inferred: commit.inferred.clone(),
            });
        }
    }

    /// Notes which records `reader` could not read, or not compare.
    pub(super) fn note_gaps(&mut self, reader: &Reader<'_>) {
        self.troubles = reader.troubles().to_vec();
        self.lacking = reader.lacking();
    }

    pub(super) fn patch(&mut self, files: Vec<PatchFile>, authors: &[Author]) {
        if let Some(patch) = &mut self.patch {
            patch.extend(files.into_iter().map(|file| file.named(authors)));
        }
    }

    fn sessions(&mut self, file: &OfFile, authors: &[Author]) {
        let path = &file.change.path;
        let mut of = |id: AuthorId, count: &mut dyn FnMut(&mut SessionSum)| {
            let Some(author) = authors.get(id as usize).filter(|it| it.contributor == Contributor::Agent) else {
                return;
            };
            let key = (author.session.clone(), author.agent.clone(), author.model.clone());
            let sum = self.sessions.entry(key).or_default();
            count(sum);
            if !sum.files.contains(path) {
                sum.files.insert(path.clone());
            }
        };
        for span in &file.ownership.spans {
            let Some((id, _)) = agent_of(span.owner, authors) else { continue };
            let is_mixed = kind_of(span.owner, authors) == Kind::Mixed;
            of(id, &mut |sum| *if is_mixed { &mut sum.mixed } else { &mut sum.lines } += span.count());
        }
        for (id, count) in &file.ownership.removed {
            of(*id, &mut |sum| sum.removed += count);
        }
        if let Some((id, _)) = file.ownership.whole.and_then(|owner| agent_of(owner, authors)) {
            of(id, &mut |_| {});
        }
    }

    pub(super) fn finish(self) -> Attribution {
        let session = |((id, agent, model), sum): (SessionKey, SessionSum)| SessionLines {
            id,
            agent,
            model,
            lines: sum.lines,
            mixed: sum.mixed,
            removed: sum.removed,
            files: u32::try_from(sum.files.len()).unwrap_or(u32::MAX),
        };
        let mut sessions: Vec<SessionLines> = self.sessions.into_iter().map(session).collect();
        sessions.sort_by_key(|it| std::cmp::Reverse((it.lines, it.mixed, it.removed)));
        Attribution {
            version: 1,
            commit: self.commit,
            parent: self.parent,
            range: self.range,
            worktree: self.is_worktree,
            records: self.records,
            fetched_records: self.fetched.into_iter().map(|(id, remote)| FetchedRecord { id, remote }).collect(),
            missing_records: self.missing,
            lacking_records: self.lacking,
            checked_unknown: self.checked_unknown,
            is_unchecked: !self.has_history && self.unchecked_unknown > 0,
            lacks_records: !self.has_history,
            inferred: self.inferred.into_iter().collect(),
            summary: self.summary,
            sessions,
            commits: self.commits,
            files: self.files.into_values().collect(),
            patch: self.patch.unwrap_or_default(),
            troubles: self.troubles,
        }
    }
}

fn lines(file: &OfFile, authors: &[Author], figures: Figures, is_alone: bool) -> FileLines {
    let ownership = &file.ownership;
    let mut owners: Vec<OwnedLines> = Vec::new();
    for span in ownership.spans.iter().filter(|_| is_alone) {
        let who = who(span.owner, authors);
        let agent_share = agent_of(span.owner, authors).map_or(0, |(_, share)| share);
        match owners.last_mut() {
            Some(last) if last.who == who && last.agent_share == agent_share && last.end + 1 == span.start => {
                last.end = span.end;
            }
            _ => owners.push(OwnedLines { start: span.start, end: span.end, who, agent_share }),
        }
    }
    let mut removers: BTreeMap<Who, u32> = BTreeMap::new();
    for (id, count) in &ownership.removed {
        *removers.entry(who(Owner::Author(*id), authors)).or_default() += count;
    }
    if ownership.kept > 0 {
        removers.insert(who(Owner::Base, authors), ownership.kept);
    }
    FileLines {
        path: file.change.path.clone(),
        old_path: file.change.old_path.clone(),
        blob: file.change.after.map(|leaf| leaf.id).filter(|_| is_alone),
        added: ownership.added(),
        deleted: ownership.deleted(),
        whole: ownership.whole.map(|owner| kind_of(owner, authors)),
        cut_off: ownership.is_cut_off,
        owners,
        deleted_by: removers.into_iter().map(|(who, lines)| Remover { who, lines }).collect(),
        figures,
    }
}

/// Adds what another commit of the range did to the file.
fn join(known: &mut FileLines, more: FileLines) {
    known.added += more.added;
    known.deleted += more.deleted;
    known.cut_off |= more.cut_off;
    known.figures = known.figures.plus(&more.figures);
    for remover in more.deleted_by {
        match known.deleted_by.iter_mut().find(|it| it.who == remover.who) {
            Some(it) => it.lines += remover.lines,
            None => known.deleted_by.push(remover),
        }
    }
}
