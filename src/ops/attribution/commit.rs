//! The attribution of commits: from their records, and inferred where there is no record.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
    rc::Rc,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{super::Context, authors::Authors, recorded::Records, text::Text, unseen::unseen_commits};
use crate::{
    error::Result,
    git::{
        Repo,
        counting::Counting,
        diff_attributes::DiffAttributes,
        line_edits::{Algorithm, counted_edits},
    },
    model::{
        attribution::{FileOwnership, carry::restrict},
        change::Change,
        contributor::Contributor,
        inferred,
        record::{Parts, RecordId},
    },
    ops::{
        provenance::{left, moved_from::Parents, moved_on::Left},
        shallow::refuse_without_parent,
    },
};

/// A commit and the attribution of its lines.
#[derive(Debug)]
pub(crate) struct OfCommit {
    pub(crate) id: ObjectId,
    pub(crate) parent: Option<ObjectId>,
    /// When it was made, in Unix seconds.
    pub(crate) seconds: i64,
    /// The committer's name and address.
    pub(crate) committer: String,
    pub(crate) records: Vec<RecordId>,
    /// Those of them that were fetched, with the remotes they come from.
    pub(crate) fetched: Vec<(RecordId, String)>,
    /// The records that its message or the log names, and that are not here or cannot be read.
    pub(crate) missing: Vec<RecordId>,
    /// True if it has no record because it was made before git-checkpoint was in use; false where it was never in use.
    pub(crate) is_earlier: bool,
    /// Agents named by its message but by no record.
    pub(crate) inferred: Vec<String>,
    pub(crate) files: Vec<OfFile>,
}

/// A file that a commit changes, and the attribution of its lines.
#[derive(Debug)]
pub(crate) struct OfFile {
    pub(crate) change: Change,
    pub(crate) ownership: FileOwnership,
}

/// The headers and the message of a commit.
struct Facts {
    tree_id: ObjectId,
    parents: Vec<ObjectId>,
    seconds: i64,
    committer: String,
    message: BString,
}

/// Attributes commits one by one, and caches what it has read.
pub(crate) struct Reader<'r> {
    pub(crate) repo: &'r Repo,
    pub(crate) authors: Authors,
    pub(super) records: Records<'r>,
    pub(super) counting: Counting<'r>,
    /// The commits that `counting` is prepared for.
    foreseen: HashSet<ObjectId>,
    pub(super) attributes: DiffAttributes<'r>,
    /// Since when git's hooks are enabled here, in Unix seconds; none if they are not.
    pub(super) hooks_since: OnceCell<Option<i64>>,
    /// Since when this repository records agents' work, in Unix seconds; none if it never did.
    pub(super) enabled_since: OnceCell<Option<i64>>,
    /// Commits that may have taken a session's work: the next command that writes decides.
    pub(super) unseen: HashSet<ObjectId>,
    /// The names that files had when a record was made, by those that they have in a commit.
    pub(super) renames: HashMap<(RecordId, ObjectId), HashMap<BString, BString>>,
    /// The names that files which a commit makes or changes had when a record was made, by those that they have in the commit.
    pub(super) renamed: HashMap<(RecordId, ObjectId), HashMap<BString, BString>>,
    /// The files of a record that lost lines in another version of its commit.
    pub(super) left: HashMap<(RecordId, ObjectId), Rc<Vec<Left>>>,
    /// How many commits without a record blame has compared line by line.
    pub(super) looked_at: usize,
    /// By path, the contents of files of a commit that were read together.
    pub(super) texts: HashMap<BString, Option<Text>>,
    /// The parents of the commit that was looked at last, if it is not one step.
    pub(super) parents: Option<(ObjectId, Parents<'r>)>,
    /// The records that could not be compared with a commit, because the content that they are of is not here.
    pub(super) lacking: BTreeSet<RecordId>,
    /// How many more bytes of files may be read to find where single files have moved lines from.
    pub(super) bytes_for_moves: u64,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(context: &'r Context) -> Result<Self> {
        Ok(Self { unseen: unseen_commits(context)?, ..Self::of_repo(&context.repo)? })
    }

    /// Returns a reader that knows only the records and links of our own log, not what others say about our commits.
    pub(crate) fn of_own_log(repo: &'r Repo) -> Result<Self> {
        let reader = Self::of_repo(repo)?;
        Ok(Self { records: reader.records.of_own_log()?, ..reader })
    }

    pub(super) fn of_repo(repo: &'r Repo) -> Result<Self> {
        Ok(Self {
            repo,
            authors: Authors::default(),
            records: Records::open(repo)?,
            counting: Counting::new(repo),
            foreseen: HashSet::new(),
            attributes: DiffAttributes::new(repo)?,
            hooks_since: OnceCell::new(),
            enabled_since: OnceCell::new(),
            unseen: HashSet::new(),
            renames: HashMap::new(),
            renamed: HashMap::new(),
            left: HashMap::new(),
            looked_at: 0,
            texts: HashMap::new(),
            parents: None,
            lacking: BTreeSet::new(),
            bytes_for_moves: left::MOST_BYTES,
        })
    }

    /// Returns a reader for uncommitted changes.
    pub(super) fn of_worktree(repo: &'r Repo) -> Result<Self> {
        let reader = Self::of_repo(repo)?;
        Ok(Self { counting: reader.counting.of_worktree(), ..reader })
    }

    /// Returns the errors of unreadable records.
    pub(crate) fn troubles(&self) -> &[String] {
        &self.records.troubles
    }

    /// Returns the records without content here that lines may be of: git has rewritten their commits before they were pushed.
    pub(crate) fn lacking(&self) -> Vec<RecordId> {
        self.lacking.iter().copied().collect()
    }

    /// Returns the records that the message of `commit` or the log names, and that are not here or cannot be read.
    pub(crate) fn missing(&mut self, commit: ObjectId) -> Result<Vec<RecordId>> {
        Ok(self.records.of(commit, &mut self.authors)?.missing)
    }

    /// Lets the records `ids` count for `commit`, too, which may be made of their commits; of those in `parts`, some files only.
    pub(crate) fn add_records(&mut self, commit: ObjectId, ids: Vec<RecordId>, parts: Parts) {
        self.records.added.insert(commit, ids);
        self.records.parts.insert(commit, parts);
    }

    /// Prepares for `commits`.
    pub(crate) fn foresee(&mut self, commits: &[ObjectId]) {
        self.counting.of_commits(commits);
        self.foreseen = commits.iter().copied().collect();
    }

    /// Returns the attribution of `commit`, limited to the files that `wanted` accepts.
    pub(crate) fn commit(&mut self, id: ObjectId, wanted: &mut dyn FnMut(&BString) -> bool) -> Result<OfCommit> {
        self.commit_with(id, wanted, &mut |_, _| Ok(()))
    }

    /// The same; `seen` also gets the lines of each file.
    pub(crate) fn commit_with(
        &mut self,
        id: ObjectId,
        wanted: &mut dyn FnMut(&BString) -> bool,
        seen: &mut dyn FnMut(&OfFile, Option<&Text>) -> Result<()>,
    ) -> Result<OfCommit> {
        // A commit that could not be read may have left its texts.
        self.texts.clear();
        if !self.foreseen.contains(&id) {
            self.foresee(&[id]);
        }
        let facts = self.facts(id)?;
        let known = self.known(id)?;
        let (records, otherwise) = (known.deciding, known.otherwise);
        let parent_tree_id = match facts.parents.first() {
            Some(parent) => {
                refuse_without_parent(self.repo, id, *parent)?;
                self.repo.tree_of_commit(*parent)?
            }
            None => self.repo.empty_tree_id(),
        };
        let all = self.repo.diff_trees(parent_tree_id, facts.tree_id)?;
        let (changes, unwanted): (Vec<_>, Vec<_>) = all.into_iter().partition(|change| wanted(&change.path));
        let mut changes = self.repo.detect_renames(changes)?;
        let others = facts.parents.get(1..).unwrap_or_default();
        self.drop_brought(others, facts.tree_id, &mut changes)?;
        if otherwise.author == self.authors.plain(Contributor::Human) && !self.is_of_steps(id, &records)? {
            // The lines may come from files that the caller does not want.
            self.read_together(&changes.iter().chain(&unwanted).collect::<Vec<_>>())?;
        }
        let mut files = Vec::with_capacity(changes.len());
        for change in changes {
            let (mut ownership, mut text) = self.file(id, &change, &records, otherwise)?;
            if !others.is_empty() {
                self.narrow(others, &change, &mut ownership, text.as_mut())?;
            }
            let file = OfFile { change, ownership };
            seen(&file, text.as_ref())?;
            files.push(file);
        }
        self.texts.clear();
        let names = if records.is_empty() { inferred::agents(facts.message.as_bstr()) } else { Vec::new() };
        Ok(OfCommit {
            id,
            parent: facts.parents.first().copied(),
            seconds: facts.seconds,
            committer: facts.committer,
            records: known.records.iter().map(|record| record.id).collect(),
            fetched: known.records.iter().filter_map(|record| Some((record.id, record.remote.clone()?))).collect(),
            missing: known.missing,
            is_earlier: known.is_earlier,
            inferred: names,
            files,
        })
    }

    fn facts(&self, id: ObjectId) -> Result<Facts> {
        self.repo.with_commit(id, |commit| {
            let committer = commit.committer().ok();
            Facts {
                tree_id: commit.tree(),
                parents: commit.parents().collect(),
                seconds: committer.as_ref().map(gix::actor::SignatureRef::seconds).unwrap_or_default(),
                committer: committer.map(|who| format!("{} <{}>", who.name, who.email)).unwrap_or_default(),
                message: commit.message.to_owned(),
            }
        })
    }

    /// Drops from the changes of a merge to `tree_id` those that one of `others`, its other parents, brought in.
    pub(super) fn drop_brought(&self, others: &[ObjectId], tree_id: ObjectId, changes: &mut Vec<Change>) -> Result<()> {
        for other in others {
            let theirs = self.repo.diff_trees(self.repo.tree_of_commit(*other)?, tree_id)?;
            changes.retain(|change| theirs.binary_search_by(|it| it.path.cmp(&change.path)).is_ok());
        }
        Ok(())
    }

    /// Narrows a file of a merge to the added lines that no parent has and the deleted lines that all parents had.
    pub(super) fn narrow(
        &mut self,
        others: &[ObjectId],
        change: &Change,
        ownership: &mut FileOwnership,
        text: Option<&mut Text>,
    ) -> Result<()> {
        let Some(text) = text else { return Ok(()) };
        let (mut added, mut deleted) = (text.added(), text.deleted());
        for other in others {
            let tree_id = self.repo.tree_of_commit(*other)?;
            let mut leaf = self.repo.find_leaf(tree_id, change.path.as_bstr())?;
            if let (None, Some(old_path)) = (leaf, &change.old_path) {
                leaf = self.repo.find_leaf(tree_id, old_path.as_bstr())?;
            }
            let theirs = leaf.map(|leaf| self.repo.read_blob(leaf.id)).transpose()?.unwrap_or_default();
            let edits = counted_edits(Algorithm::Myers, &theirs, &text.after);
            added = common(&added, edits.iter().map(|(_, new)| new));
            // This parent lacks them: its side deleted those lines, or never had them.
            let gone = counted_edits(Algorithm::Myers, &text.before, &theirs);
            deleted = without(&deleted, gone.iter().map(|(old, _)| old));
        }
        text.is_of_merge = true;
        text.edits = Vec::new();
        text.edits.extend(deleted.iter().map(|lines| (lines.clone(), 0..0)));
        text.edits.extend(added.iter().map(|lines| (0..0, lines.clone())));
        ownership.spans = restrict(&ownership.spans, &added, crate::model::attribution::Owner::Base);
        shorten(
            ownership,
            u32::try_from(deleted.iter().map(ExactSizeIterator::len).sum::<usize>()).unwrap_or(u32::MAX),
        );
        Ok(())
    }
}

/// Returns the intersection of two lists of ranges, both in order.
fn common<'e>(one: &[Range<usize>], other: impl Iterator<Item = &'e Range<usize>>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for range in other {
        while one.get(at).is_some_and(|it| it.end <= range.start) {
            at += 1;
        }
        for it in one[at..].iter().take_while(|it| it.start < range.end) {
            let both = it.start.max(range.start)..it.end.min(range.end);
            found.extend((!both.is_empty()).then_some(both));
        }
    }
    found
}

/// Returns the first list of ranges without the second one, both in order.
fn without<'e>(one: &[Range<usize>], other: impl Iterator<Item = &'e Range<usize>>) -> Vec<Range<usize>> {
    let (mut gaps, mut from) = (Vec::new(), 0);
    for range in other {
        gaps.push(from..range.start);
        from = range.end;
    }
    gaps.push(from..usize::MAX);
    common(one, gaps.iter())
}

/// Reduces the deleted lines to `total`: the counts do not say which ones they are.
fn shorten(ownership: &mut FileOwnership, total: u32) {
    let mut left = total;
    for (_, count) in &mut ownership.removed {
        *count = (*count).min(left);
        left -= *count;
    }
    ownership.removed.retain(|(_, count)| *count > 0);
    ownership.kept = ownership.kept.min(left);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut() {
        let one = [1..4, 6..9];
        assert_eq!(common(&one, [0..2, 3..7, 8..8].iter()), [1..2, 3..4, 6..7]);
        assert_eq!(without(&one, [0..2, 3..7].iter()), [2..3, 7..9]);
        assert_eq!(without(&one, [].iter()), one);
    }
}
