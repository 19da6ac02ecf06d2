//! The attribution of uncommitted changes: replays the archived shadows whose work is in the worktree again, then the
//! live shadow, then the worktree as it is now. Of what git has prepared a commit from, the records name the authors.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    rc::Rc,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context, author,
        chain::{carry_forward::base_tree, peek::worktree_tree, shadows},
        condense::{renamed_since, steps_aside},
        known_base::known_base,
        provenance::{
            doubt::doubtful_lines,
            moved_from::Parents,
            recorded::{Again, parts_brought, records_again_in_worktree, records_of_sides},
            replay::Work,
            step::Step,
            steps::steps,
            thrown_away,
        },
        records,
        rewrite::squashed_commits,
    },
    authors::CARRIER,
    commit::{OfCommit, OfFile, Reader},
    known::Otherwise,
    options::Options,
    patch::PatchFile,
    present::Sum,
    recorded::Recorded,
    text::Text,
    unsaved::unsaved,
    unsaved_moves::{moved_since, passed_by, sources},
};
use crate::{
    error::Result,
    git::{
        Repo,
        commit::NewCommit,
        edit_tree::{edit_tree, edits_of},
        line_edits::{kept_lines, step_edits},
        new_objects::{NewObjects, Target},
    },
    model::{
        attribution::{
            Author, FileOwnership, Owner, Span,
            carry::restrict,
            combine::{Beside, combine},
            kind::agent_of,
            text::{Attribution, File},
        },
        change::{Change, Leaf},
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        record::{RecordId, TRAILER},
        refname::Base,
        trailer,
    },
};

/// The attribution of the uncommitted changes.
pub(crate) struct Uncommitted {
    pub(crate) work: OfCommit,
    pub(crate) authors: Vec<Author>,
    pub(crate) texts: Vec<Option<Text>>,
    /// The new files that had another name before, which HEAD has and the worktree, too: each with that file.
    pub(crate) copied: BTreeMap<BString, (BString, Leaf)>,
    /// The repository with the worktree in its memory, and the tree of that.
    pub(crate) worktree: (Repo, ObjectId),
}

/// Returns the attribution of the lines that the worktree adds to HEAD in the file at `path`, whatever its name was.
pub(crate) fn uncommitted(context: &Context, path: &BStr) -> Result<Uncommitted> {
    beyond(context, &[], &mut |it| it == path, true, true)
}

/// Returns the attribution of the lines that the worktree adds to HEAD and to `others`, the commits being merged, limited
/// to the files that `wanted` accepts; on request, these may have had names that it does not accept.
pub(super) fn beyond(
    context: &Context,
    others: &[ObjectId],
    wanted: &mut dyn FnMut(&BString) -> bool,
    with_text: bool,
    with_former_names: bool,
) -> Result<Uncommitted> {
    let worktree = worktree_tree(context)?;
    let repo: &Repo = &worktree.repo;
    let head = context.repo.head()?.id;
    let head_tree_id = head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let base = Base::of_head(head);
    let checkpoint = last_checkpoint(context, repo, base)?;
    let touched = checkpoint.as_ref().map(|tip| repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)).transpose()?;
    let touched = touched.unwrap_or_default();
    let mut all_changes = repo.diff_trees(head_tree_id, worktree.tree_id)?;
    let everything = all_changes.clone();
    let (own, beside): (Vec<Change>, Vec<Change>) = all_changes.iter().cloned().partition(|it| wanted(&it.path));
    if with_former_names {
        part_renames(&mut all_changes, wanted);
    }
    let is_touched = |change: &Change| touched.binary_search_by(|it| it.path.cmp(&change.path)).is_ok();
    all_changes.retain(|change| change.after.is_none() || is_touched(change) || wanted(&change.path));
    // Without those that are not wanted, a file that is gone or replaced looks unchanged.
    let around = repo.detect_renames(all_changes)?;
    let mut changes = if with_former_names { around.clone() } else { repo.detect_renames(own)? };
    changes.retain(|change| wanted(&change.path));
    let mut reader = Reader::of_worktree(repo)?;
    reader.drop_brought(others, worktree.tree_id, &mut changes)?;
    let sources = sources(repo, &changes, beside);
    let mut names: Vec<&BString> =
        changes.iter().chain(&sources).flat_map(|it| [Some(&it.path), it.old_path.as_ref()]).flatten().collect();
    let (mut renamed, mut moved, mut passed, mut is_any_lost) = (Vec::new(), BTreeSet::new(), Vec::new(), false);
    let (mut all, last) = steps_aside(repo, base, &changes, &everything)?;
    let mut last_tree_id = head_tree_id;
    if let Some(tip) = &checkpoint {
        renamed = renamed_since(repo, &touched, &around)?;
        renamed.retain(|change| wanted(&change.path));
        let unsaved = repo.diff_trees(tip.tree_id, worktree.tree_id)?;
        names.extend(renamed.iter().filter_map(|change| change.old_path.as_ref()));
        names.sort();
        (moved, is_any_lost) = moved_since(repo, &unsaved, &changes, &|path| names.binary_search(&path).is_ok());
        names.extend(&moved);
        names.sort();
        let chain = steps(repo, tip, &|path| names.binary_search(&path).is_ok())?;
        passed = passed_by(&chain, &unsaved, &names);
        names.extend(&passed);
        names.sort();
        all.extend(chain);
        last_tree_id = add_put_back(repo, tip, &mut all)?;
    }
    if !changes.is_empty() {
        let is_renamed =
            |path: &BString| renamed.iter().any(|it| it.path == *path || it.old_path.as_ref() == Some(path));
        let wanted = |path: &BString| names.contains(&path) && !is_renamed(path);
        let origin = author::unsaved(context)?;
        let trees = (last_tree_id, worktree.tree_id);
        let may_be_moved = is_any_lost || !moved.is_empty() || !passed.is_empty() || !renamed.is_empty();
        let rest = unsaved(context, repo, &origin, checkpoint.as_ref(), trees, &wanted, may_be_moved)?;
        if !renamed.is_empty() {
            all.push(Step::new(origin, renamed));
        }
        all.extend(rest);
    }
    all.extend(last);
    let copied = copied(repo, head_tree_id, &all, &changes)?;
    let next = Next::of(context, &mut reader, worktree.tree_id, &changes)?;
    let mut with_sources = [changes.as_slice(), &sources].concat();
    with_sources.sort_by(|one, other| one.path.cmp(&other.path));
    let work = Work::of(repo, &all, &with_sources, &mut reader.counting)?;
    let mut files = Vec::with_capacity(changes.len());
    let mut texts = Vec::new();
    let mut merged = Parents::of(repo, &context.repo.merge_heads(), worktree.tree_id)?;
    for (change, ownership) in with_sources.into_iter().zip(work.ownership.files) {
        if sources.iter().any(|source| source.path == change.path) {
            continue;
        }
        let mut ownership = reader.authors.adopt_file(ownership, &work.authors);
        if let Some(next) = &next {
            next.add_authors(&mut reader, &change, &mut ownership)?;
        }
        if let Some((_, leaf)) = copied.get(&change.path) {
            give_back(repo, *leaf, &change, &mut ownership)?;
        }
        merged.leave_out_moved(&change, &mut ownership)?;
        if with_text || !others.is_empty() {
            let mut text = reader.text(&change)?;
            if !others.is_empty() {
                reader.narrow(others, &change, &mut ownership, text.as_mut())?;
            }
            texts.push(text);
        }
        files.push(OfFile { change, ownership });
    }
    let work = OfCommit {
        id: ObjectId::null(repo.object_hash()),
        parent: head,
        seconds: 0,
        committer: String::new(),
        records: Vec::new(),
        fetched: Vec::new(),
        missing: Vec::new(),
        is_earlier: false,
        inferred: Vec::new(),
        files,
    };
    let (authors, tree_id) = (reader.authors.list, worktree.tree_id);
    Ok(Uncommitted { work, authors, texts, copied, worktree: (worktree.repo, tree_id) })
}

/// Adds the step with which git has put files back since the checkpoint `tip`, if it has, and returns the tree after it.
fn add_put_back(repo: &Repo, tip: &Checkpoint, steps: &mut Vec<Step>) -> Result<ObjectId> {
    let put_back = thrown_away::since(repo, tip)?;
    let tree_id = edit_tree(tip.tree_id, &edits_of(&put_back), &mut NewObjects::new(repo, Target::Memory))?;
    steps.extend((!put_back.is_empty()).then(|| Step::new(Origin::default(), put_back)));
    Ok(tree_id)
}

/// Returns the last checkpoint on `base`. HEAD may have moved since we last looked: then the work is still on the commit where it was.
fn last_checkpoint(context: &Context, repo: &Repo, base: Base) -> Result<Option<Checkpoint>> {
    let known = known_base(context).filter(|known| *known != base);
    match (shadows::latest_on(repo, base)?, known) {
        (None, Some(known)) => shadows::latest_on(repo, known),
        (checkpoint, _) => Ok(checkpoint),
    }
}

/// Splits renames that put one file in the place of another, for example `mv a t; mv b a; mv t b`: a change to content that another
/// file had before becomes a new file if its path is `wanted`, else a deletion.
fn part_renames(changes: &mut [Change], wanted: &mut dyn FnMut(&BString) -> bool) {
    let before: HashSet<Leaf> = changes.iter().filter_map(|change| change.before).collect();
    let is_replaced = |it: &&mut Change| it.before.is_some() && it.after.is_some_and(|after| before.contains(&after));
    for change in changes.iter_mut().filter(is_replaced) {
        let end = if wanted(&change.path) { &mut change.before } else { &mut change.after };
        *end = None;
    }
}

/// The commit that git would make of the worktree, if that has work of commits with records: it would be linked to them.
struct Next {
    id: ObjectId,
    records: Vec<Rc<Recorded>>,
    /// The lines that may come from other records, of which there are too few to be sure.
    doubtful: Option<Attribution>,
    /// True if no record can be read: any line may come from one.
    is_lost: bool,
}

impl Next {
    /// Returns the next commit, which has the tree `tree_id` and is only in memory, with the records of the work in `changes`.
    fn of(context: &Context, reader: &mut Reader<'_>, tree_id: ObjectId, changes: &[Change]) -> Result<Option<Self>> {
        let (repo, head) = (reader.repo, context.repo.head()?.id);
        let id = ObjectId::null(repo.object_hash());
        if reader.records.is_lost() {
            return Ok(Some(Self { id, records: Vec::new(), doubtful: None, is_lost: true }));
        }
        let Again { certain: ids, parts, perhaps } = repeated(context, repo, tree_id, changes).or_else(|error| {
            repo.check_interrupt()?;
            // Git reports its own damaged files.
            tracing::warn!(%error, "cannot read which commits git has prepared the next one from");
            Ok(Again::default())
        })?;
        let ids: BTreeSet<RecordId> = ids.into_iter().collect();
        let doubtful = doubtful_lines(repo, changes, &perhaps)?;
        if ids.is_empty() && doubtful.is_none() {
            return Ok(None);
        }
        let trailers: Vec<(&str, String)> = ids.iter().map(|id| (TRAILER, id.to_string())).collect();
        let message = trailer::compose("next", "", &trailers);
        let (who, time, parents) = (repo.identity(), repo.now(), head.into_iter().collect());
        let new = NewCommit { tree_id, parents, author: who.clone(), committer: who, time, message: &message };
        let id = Repo::write_commit(&new, &mut NewObjects::new(repo, Target::Memory))?;
        reader.records.parts.insert(id, parts);
        let records = reader.records.of(id, &mut reader.authors)?.records;
        Ok(Some(Self { id, records, doubtful, is_lost: false }))
    }

    /// Gives the lines that are people's in `ownership`, since no checkpoint has another author, to the agents that the records
    /// name. The author of doubtful lines is unknown.
    fn add_authors(&self, reader: &mut Reader<'_>, change: &Change, ownership: &mut FileOwnership) -> Result<()> {
        let human = reader.authors.plain(Contributor::Human);
        if self.is_lost {
            let unknown = Owner::Author(reader.authors.plain(Contributor::Unknown));
            give_to(unknown, Owner::Author(human), ownership);
            return Ok(());
        }
        let otherwise = Otherwise { author: human, is_complete: true };
        let (mut recorded, _) = reader.file(self.id, change, &self.records, otherwise)?;
        let is_agent = |owner: Owner| agent_of(owner, &reader.authors.list).is_some();
        recorded.spans.retain(|span| is_agent(span.owner));
        if ownership.whole == Some(Owner::Author(human)) && recorded.whole.is_some_and(is_agent) {
            ownership.whole = recorded.whole;
        }
        let unknown = Owner::Author(reader.authors.plain(Contributor::Unknown));
        let is_here = |file: &&File| file.ownership.path == change.path;
        let doubtful = self.doubtful.as_ref().and_then(|doubtful| doubtful.files.iter().find(is_here));
        let doubtful = doubtful.map_or_else(Vec::new, |file| file.ownership.spans.clone());
        let doubtful: Vec<_> = doubtful.into_iter().map(|span| Span { owner: unknown, ..span }).collect();
        if recorded.spans.is_empty() && doubtful.is_empty() {
            return Ok(());
        }
        let added: Vec<_> = ownership.spans.iter().map(|span| span.start as usize - 1..span.end as usize).collect();
        let is_persons_edit = |owner: Owner| matches!(owner, Owner::Mixed { of, .. } if of == human);
        let is_recorded = |line: u32| matches!(recorded.owner(line), Owner::Author(_));
        let own = std::mem::take(&mut ownership.spans).into_iter().filter(|span| span.owner != Owner::Author(human));
        let own =
            own.flat_map(|Span { start, end, owner }| (start..=end).map(move |at| Span { start: at, end: at, owner }));
        // A person has brought back the line that a record gives to an agent, for example by a restore.
        let own = own.filter(|span| !(is_persons_edit(span.owner) && is_recorded(span.start))).collect();
        let unclaimed = Owner::Author(human);
        let beside = Beside { carrier: CARRIER, author: human, unclaimed, keeps_base: true };
        ownership.spans = combine(&[own, recorded.spans, doubtful], &added, beside);
        Ok(())
    }
}

/// Makes `to` the owner of the lines, or of the whole file, that `from` owns in `ownership`.
fn give_to(to: Owner, from: Owner, ownership: &mut FileOwnership) {
    ownership.spans.iter_mut().filter(|span| span.owner == from).for_each(|span| span.owner = to);
    if ownership.whole == Some(from) {
        ownership.whole = Some(to);
    }
}

/// Returns the records of the commits that git has prepared the next one from, or of those whose work has come back.
fn repeated(context: &Context, repo: &Repo, tree_id: ObjectId, changes: &[Change]) -> Result<Again> {
    let mut found = Again::default();
    let mut commits = squashed_commits(context)?;
    let is_prepared = repo.prepared_message().is_some();
    for name in ["CHERRY_PICK_HEAD", "REBASE_HEAD"].iter().filter(|_| is_prepared) {
        commits.extend(repo.find_ref(name)?);
    }
    for commit in &commits {
        found.certain.extend(records::evidence::of_commit(repo, *commit)?);
    }
    found.parts = parts_brought(repo, repo.head()?.id, Some(tree_id), &found.certain)?;
    found.certain.retain(|id| found.parts.get(id).is_none_or(|files| !files.is_empty()));
    let of_sides = records_of_sides(repo, repo.head()?.id, Some(tree_id), &commits)?;
    found.certain.extend(of_sides.certain);
    found.parts.extend(of_sides.parts);
    // What `git merge` has not committed is blamed on the commits that it merges.
    if commits.is_empty() && !repo.is_merging() {
        let head = repo.head()?.id;
        let again = records_again_in_worktree(repo, head, tree_id, changes)?;
        found.certain.extend(again.certain);
        found.parts.extend(again.parts);
        found.perhaps.extend(again.perhaps);
    }
    Ok(found)
}

/// Returns the files of HEAD that new files of `changes` come from by the renames in `steps`. Git has put those files back since.
fn copied(
    repo: &Repo,
    head_tree_id: ObjectId,
    steps: &[Step],
    changes: &[Change],
) -> Result<BTreeMap<BString, (BString, Leaf)>> {
    let mut copied = BTreeMap::new();
    for change in changes.iter().filter(|change| change.before.is_none() && change.old_path.is_none()) {
        let mut name = change.path.clone();
        for step in steps.iter().rev() {
            let Some(change) = step.changes.iter().find(|it| it.path == name) else { continue };
            name = change.old_path.clone().unwrap_or(name);
        }
        if let Some(leaf) = repo.find_leaf(head_tree_id, name.as_bstr())? {
            copied.insert(change.path.clone(), (name, leaf));
        }
    }
    Ok(copied)
}

/// Takes from the new file of `change` the owners of the lines that it has from `leaf`, a file of HEAD: they are no new lines.
fn give_back(repo: &Repo, leaf: Leaf, change: &Change, ownership: &mut FileOwnership) -> Result<()> {
    let Some(after) = change.after.filter(|_| ownership.whole.is_none()) else { return Ok(()) };
    let (before, after) = (repo.read_blob(leaf.id)?, repo.read_blob(after.id)?);
    let added: Vec<_> = step_edits(&before, &after).into_iter().map(|(_, new)| new).collect();
    let own = restrict(&ownership.spans, &added, Owner::Base);
    ownership.spans = [restrict(&[], &kept_lines(&before, &after), Owner::Base), own].concat();
    ownership.spans.sort_by_key(|span| span.start);
    Ok(())
}

pub(super) fn add(context: &Context, options: &Options, sum: &mut Sum) -> Result<()> {
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let others = context.repo.merge_heads();
    let found = beyond(context, &others, &mut |path| pathspec.matches(path.as_bstr()), options.patch, false)?;
    sum.is_worktree = true;
    sum.parent = found.work.parent;
    sum.add(&found.work, &found.authors, true);
    let files = found.work.files.iter().zip(&found.texts);
    sum.patch(files.map(|(file, text)| PatchFile::of(file, text.as_ref())).collect(), &found.authors);
    Ok(())
}
