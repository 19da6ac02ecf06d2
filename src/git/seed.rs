//! The stat cache as the user's index has it: the start of every chain of passes, and again whenever that index changes.

use bstr::ByteSlice as _;
use gix::{
    ObjectId,
    index::{
        State,
        entry::{Flags, Mode as IndexMode, Stage},
    },
};

use super::{
    Repo,
    attribute_files::{AttributeFiles, is_attribute_file},
    conversions::AttributeTimes,
    filter::Filters,
    index_tree::tree_of_index,
    new_objects::NewObjects,
    stat_cache::{Entry, Known, Stat, StatCache},
    user_index::IndexIdentity,
};
use crate::{
    error::Result,
    model::{change::Mode, manifest::Unmerged},
};

/// What the user's index holds beside plain entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staged {
    /// Its tree, without unmerged and intent-to-add entries.
    pub(crate) tree_id: Option<ObjectId>,
    /// Unmerged entries.
    pub(crate) unmerged: Vec<Unmerged>,
    /// Intent-to-add entries.
    pub(crate) intent_to_add: Vec<bstr::BString>,
    /// Files that git takes for unchanged, though conversions may have given them other bytes than their blobs'.
    pub(crate) doubted: Vec<bstr::BString>,
}

/// Returns the cache that `index` (none: there is no file) makes, and what is staged.
///
/// What `before` knows of the same version of a file is taken over. Files that a conversion may have changed are named, as
/// only reading shows whether their bytes would come back.
pub(crate) fn seed(
    repo: &Repo,
    index: Option<&State>,
    identity: IndexIdentity,
    before: Option<&StatCache>,
    objects: &mut NewObjects<'_>,
) -> Result<(StatCache, Staged)> {
    let mut staged = Staged::default();
    let mut cache = StatCache::default();
    cache.index = identity;
    let Some(index) = index else {
        let empty = repo.empty_tree_id();
        cache.tree_id = Some(empty);
        cache.index_tree_id = Some(empty);
        staged.tree_id = Some(empty);
        return Ok((cache, staged));
    };
    let tree_id = tree_of_index(index, objects)?;
    let is_sparse = repo.is_sparse();
    let mut converts = Converts::new(repo, index, before)?;
    let mut old = before.map(|before| before.entries().iter().peekable());
    let mut last_path: Option<&[u8]> = None;
    let (mut measured, mut ids) = (Vec::new(), Vec::new());
    for entry in index.entries() {
        let path = entry.path(index);
        note_special(entry, path, &mut staged);
        // Stages of one path follow each other; a sparse directory is held by the tree alone.
        if last_path == Some(path.as_bytes()) || entry.mode == IndexMode::DIR {
            continue;
        }
        last_path = Some(path.as_bytes());
        let Some(mode) = Mode::from_bits(entry.mode.bits()) else { continue };
        let is_plain = entry.stage() == Stage::Unconflicted && !entry.flags.contains(Flags::INTENT_TO_ADD);
        let skips_worktree = entry.flags.contains(Flags::SKIP_WORKTREE);
        // What git knew of the file does not matter once sparse checkout leaves it out.
        let stat = if skips_worktree && is_sparse { Stat::default() } else { Stat::of_index(&entry.stat) };
        let smudged = stat.size == 0 && !entry.id.is_empty_blob() && matches!(mode, Mode::File | Mode::Executable);
        let mut known = Known {
            stat,
            id: if is_plain { entry.id } else { ObjectId::null(repo.object_hash()) },
            raw_id: None,
            mode,
            is_tracked: true,
            skips_worktree,
            // Where objects are damaged, only reading the file shows that its content is stored.
            is_racy: smudged || repo.distrusts_objects() || stat.is_racy(identity.mtime),
            is_unfiltered: false,
        };
        let earlier = before.zip(old.as_mut()).and_then(|(before, old)| {
            while old.next_if(|entry| before.path(entry) < path).is_some() {}
            old.peek().copied().filter(|entry| before.path(entry) == path)
        });
        match earlier {
            Some(earlier) if is_same_version(earlier, &known) => {
                known.raw_id = before.and_then(|before| before.raw_id(earlier));
                (known.is_racy, known.is_unfiltered) = (false, earlier.is_unfiltered);
            }
            _ if is_plain && !known.is_racy => {
                let doubt = match converts.doubt(path, &known) {
                    // It is gone: the rules that are refused are behind the link, and not read.
                    Err(error) if error.path().is_some_and(|rules| repo.is_behind_link(rules.as_bstr())) => Doubt::None,
                    doubt => doubt?,
                };
                if doubt == Doubt::Certain {
                    staged.doubted.push(path.to_owned());
                }
                if mode != Mode::Gitlink && !known.skips_worktree {
                    measured.push((path, (doubt == Doubt::UnlessOfSameSize).then_some(stat.size)));
                    ids.push(entry.id);
                }
            }
            _ => {}
        }
        cache.push(path, known);
    }
    let sizes = repo.blob_sizes(&ids);
    if sizes.contains(&None) && !repo.distrusts_objects() {
        // Only the worktree may have the content of a file whose blob is gone: then all files are read, and stored anew.
        repo.distrust_objects();
        return seed(repo, Some(index), identity, before, objects);
    }
    for ((path, size), blob_size) in measured.into_iter().zip(sizes) {
        // The index has the lower 32 bits.
        let has_another = |size: u32| blob_size.is_some_and(|it| it & u64::from(u32::MAX) != u64::from(size));
        if size.is_some_and(has_another) {
            staged.doubted.push(path.to_owned());
        }
    }
    cache.tree_id = Some(tree_id);
    let is_plain = staged.unmerged.is_empty() && staged.intent_to_add.is_empty();
    cache.index_tree_id = is_plain.then_some(tree_id);
    staged.tree_id = Some(tree_id);
    Ok((cache, staged))
}

/// Returns what is staged now, without a look at the worktree.
pub(crate) fn staged(repo: &Repo, objects: &mut NewObjects<'_>) -> Result<Staged> {
    let mut staged = Staged { tree_id: Some(repo.empty_tree_id()), ..Staged::default() };
    if let Some(index) = repo.user_index()? {
        staged.tree_id = Some(tree_of_index(&index, objects)?);
        for entry in index.entries() {
            note_special(entry, entry.path(&index), &mut staged);
        }
    }
    Ok(staged)
}

fn is_same_version(earlier: &Entry, known: &Known) -> bool {
    !earlier.is_racy && earlier.stat == known.stat && earlier.id == known.id && earlier.mode == known.mode
}

fn note_special(entry: &gix::index::Entry, path: &bstr::BStr, staged: &mut Staged) {
    let stage = match entry.stage() {
        Stage::Unconflicted => 0,
        Stage::Base => 1,
        Stage::Ours => 2,
        Stage::Theirs => 3,
    };
    if stage > 0 {
        staged.unmerged.push(Unmerged { path: path.to_owned(), stage, mode: entry.mode.bits(), id: entry.id });
    } else if entry.flags.contains(Flags::INTENT_TO_ADD) {
        staged.intent_to_add.push(path.to_owned());
    }
}

/// Whether a file that git takes for unchanged may have other bytes than its blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    None,
    /// A rule or a setting that is gone may have converted it.
    UnlessOfSameSize,
    /// A rule may convert it.
    Certain,
}

/// Finds the files that a conversion may change or may have changed; reads attributes only where there can be any.
struct Converts<'r> {
    repo: &'r Repo,
    times: AttributeTimes<'r>,
    /// By the attributes of the worktree, and by those of the index: what has put a file where it is may not apply any more.
    filters: Option<(Filters<'r>, Filters<'r>)>,
    /// The attribute files of the index.
    of_index: AttributeFiles,
    all: bool,
    has_filter_commands: bool,
}

impl<'r> Converts<'r> {
    fn new(repo: &'r Repo, index: &State, before: Option<&StatCache>) -> Result<Self> {
        let of_index = AttributeFiles::among(
            index.entries().iter().map(|entry| (entry.path(index), Mode::from_bits(entry.mode.bits()), entry.id)),
        );
        let of_before = before.map(AttributeFiles::of_cache).unwrap_or_default();
        let ids: Vec<_> = of_index.ids().chain(of_before.ids()).filter(|id| repo.has_object(*id)).collect();
        let paths = || of_index.paths().chain(of_before.paths());
        let is_expected = |entry: &&gix::index::Entry| !entry.flags.contains(Flags::SKIP_WORKTREE);
        let expected = index.entries().iter().filter(is_expected).map(|entry| entry.path(index));
        let expected = expected.filter(|path| is_attribute_file(path)).map(ToOwned::to_owned).collect();
        let times = AttributeTimes::new(repo, paths().cloned().collect(), expected);
        let all = repo.converts_line_endings();
        let filters = if all || repo.may_convert(paths(), &ids)? { Some(both(repo, &of_index)?) } else { None };
        let has_filter_commands = repo.has_filter_commands();
        Ok(Self { repo, times, filters, of_index, all, has_filter_commands })
    }

    /// Returns whether the file `path` must be read to know if it has the bytes of its blob; `known` is what the index says.
    fn doubt(&mut self, path: &bstr::BStr, known: &Known) -> Result<Doubt> {
        if known.skips_worktree || !matches!(known.mode, Mode::File | Mode::Executable) {
            return Ok(Doubt::None);
        }
        if self.filters.is_none() && self.times.converts_unknown_to_git(path) {
            self.filters = Some(both(self.repo, &self.of_index)?);
        }
        if let Some((now, then)) = &mut self.filters {
            if self.all || now.applies_to(path)? || then.applies_to(path)? {
                return Ok(Doubt::Certain);
            }
            if now.is_content_addressed(path)? {
                return Ok(Doubt::None);
            }
        }
        // A filter that does not apply any more may have kept the size, and may have hidden its own rule from git.
        let is_certain = self.has_filter_commands && self.times.are_newer(path, &known.stat);
        Ok(if is_certain { Doubt::Certain } else { Doubt::UnlessOfSameSize })
    }
}

/// Returns the conversions by the attributes of the worktree, and by those of the index.
fn both<'r>(repo: &'r Repo, of_index: &AttributeFiles) -> Result<(Filters<'r>, Filters<'r>)> {
    Ok((Filters::for_worktree(repo)?, Filters::of_checkpoint(repo, of_index.clone())?))
}
