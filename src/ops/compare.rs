//! Compares checkpoints with each other, with their base and with the worktree.

use std::path::PathBuf;

use base64::Engine as _;
use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Context, chain::peek::worktree_tree, lookup, verified_mark::marked};
use crate::{
    error::Result,
    git::{
        Repo,
        diff_attributes::DiffAttributes,
        line_edits::{self, Shown},
    },
    model::{
        change::{Change, Leaf, Mode, Status},
        line_diff::{self, Hunk},
        path_text,
        refname::Base,
    },
};

/// What to compare, and what to find out.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// The old side: a checkpoint or another commit as [`lookup::resolve`] knows it. Without it, the
    /// verified checkpoint of the worktree, or else the base.
    pub from: Option<String>,
    /// The new side, likewise. Without it, the worktree as it is now.
    pub to: Option<String>,
    /// Only these paths, relative to the worktree's root.
    pub pathspecs: Vec<BString>,
    /// Whether renames are looked for.
    pub renames: bool,
    /// Whether lines are counted. Without it no content is read, unless another option needs it.
    pub counts: bool,
    /// Whether [`FileDiff::before`] and [`FileDiff::after`] are wanted.
    pub content: bool,
    /// Whether [`FileDiff::hunks`] are wanted, with so many lines of context.
    pub hunks: Option<usize>,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { from: None, to: None, pathspecs: Vec::new(), renames: true, counts: true, content: false, hunks: None }
    }
}

/// One side of a comparison. Serializes to the id, `worktree` or `unborn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A checkpoint or another commit.
    Commit(ObjectId),
    /// The worktree as it was when compared.
    Worktree,
    /// Nothing: the base of a shadow without a commit, or the empty tree.
    Unborn,
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Commit(id) => serializer.collect_str(id),
            Self::Worktree => serializer.serialize_str("worktree"),
            Self::Unborn => serializer.serialize_str("unborn"),
        }
    }
}

/// How two sides differ. Serializes to what `diff --json` prints.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The version of the JSON format.
    pub version: u32,
    /// The old side.
    pub from: Side,
    /// The new side.
    pub to: Side,
    /// The files that differ, by path.
    pub files: Vec<FileDiff>,
    /// True if the old side was not named, and is the verified checkpoint.
    #[serde(skip)]
    pub is_from_verified: bool,
}

/// How one file differs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileDiff {
    /// The path relative to the worktree's root.
    pub path: BString,
    /// The path in the file system.
    pub absolute: PathBuf,
    /// Where a renamed file was.
    pub old_path: Option<BString>,
    /// What happened.
    pub status: Status,
    /// What the old side holds.
    pub before_leaf: Option<Leaf>,
    /// What the new side holds.
    pub after_leaf: Option<Leaf>,
    /// True if it is declared binary or looks like it; false if no content was read.
    pub binary: bool,
    /// How many bytes a binary file had, and has; none if it has lines, or no content was read.
    pub bytes: Option<(usize, usize)>,
    /// How many lines were added, as `git diff --numstat` counts; none for binary files, or if not asked for.
    pub added: Option<u32>,
    /// How many lines were deleted.
    pub deleted: Option<u32>,
    /// The old content, if asked for.
    pub before: Option<Vec<u8>>,
    /// The new content, if asked for.
    pub after: Option<Vec<u8>>,
    /// The changed lines, if asked for; none of binary files. A file that changed its type has two, as in git: the
    /// deletion and the creation.
    pub hunks: Vec<Hunk>,
}

/// Returns how the two sides that `options` name differ.
///
/// # Errors
/// If a side cannot be found, a pathspec is malformed, or content is missing (as in partial clones) though needed.
pub fn diff(context: &Context, options: &DiffOptions) -> Result<Comparison> {
    let worktree = options.to.is_none().then(|| worktree_tree(context)).transpose()?;
    // New content of the worktree is only in the in-memory objects of the worktree's own repository handle.
    let repo = worktree.as_ref().map_or(&context.repo, |worktree| &worktree.repo);
    let (from, old_tree) = match &options.from {
        Some(text) => named(context, text)?,
        None => default_side(repo)?,
    };
    let (to, new_tree) = match (&options.to, &worktree) {
        (Some(text), _) => named(context, text)?,
        (None, seen) => (Side::Worktree, seen.as_ref().expect("it was looked at").tree_id),
    };
    let mut changes = repo.diff_trees(old_tree, new_tree)?;
    if !options.pathspecs.is_empty() {
        let mut pathspec = repo.pathspec(&options.pathspecs)?;
        changes.retain(|change| pathspec.matches(change.path.as_bstr()));
    }
    if options.renames {
        changes = repo.detect_renames(changes)?;
    }
    let mut reader = Reader { repo, options, shown: repo.shown_edits(), attributes: DiffAttributes::new(repo)? };
    let files = changes.into_iter().map(|change| reader.file(change)).collect::<Result<_>>()?;
    let is_from_verified = options.from.is_none() && marked(repo)?.is_some();
    Ok(Comparison { version: 1, from, to, files, is_from_verified })
}

fn named(context: &Context, text: &str) -> Result<(Side, ObjectId)> {
    let repo = &context.repo;
    let is_nothing = text == "base" && repo.head()?.id.is_none();
    if is_nothing || ObjectId::from_hex(text.as_bytes()).is_ok_and(|id| id == repo.empty_tree_id()) {
        return Ok((Side::Unborn, repo.empty_tree_id()));
    }
    let id = lookup::resolve(context, text)?;
    lookup::refuse_without_files(repo, id)?;
    Ok((Side::Commit(id), repo.tree_of_commit(id)?))
}

fn default_side(repo: &Repo) -> Result<(Side, ObjectId)> {
    if let Some(id) = marked(repo)? {
        lookup::refuse_without_files(repo, id)?;
        return Ok((Side::Commit(id), repo.tree_of_commit(id)?));
    }
    match Base::of_head(repo.head()?.id) {
        Base::Commit(id) => Ok((Side::Commit(id), repo.tree_of_commit(id)?)),
        Base::Unborn => Ok((Side::Unborn, repo.empty_tree_id())),
    }
}

/// Reads from changed files what the options select: counts, content or hunks.
struct Reader<'r> {
    repo: &'r Repo,
    options: &'r DiffOptions,
    shown: Shown,
    attributes: DiffAttributes<'r>,
}

impl Reader<'_> {
    fn file(&mut self, change: Change) -> Result<FileDiff> {
        let mut file = FileDiff {
            absolute: self.repo.worktree_root().join(change.path.to_path_lossy()),
            path: change.path,
            old_path: change.old_path,
            status: change.status,
            before_leaf: change.before,
            after_leaf: change.after,
            binary: false,
            bytes: None,
            added: None,
            deleted: None,
            before: None,
            after: None,
            hunks: Vec::new(),
        };
        if self.options.counts || self.options.content || self.options.hunks.is_some() {
            self.read(&mut file)?;
        }
        Ok(file)
    }

    fn read(&mut self, file: &mut FileDiff) -> Result<()> {
        let is_same = file.before_leaf.map(|leaf| leaf.id) == file.after_leaf.map(|leaf| leaf.id);
        if is_same && !self.options.content {
            (file.added, file.deleted) = (Some(0), Some(0));
            return Ok(());
        }
        let before = file.before_leaf.map(|leaf| self.content(leaf)).transpose()?;
        let after = file.after_leaf.map(|leaf| self.content(leaf)).transpose()?;
        file.binary = self.is_binary(file, before.as_deref(), after.as_deref())?;
        if file.binary {
            let size = |content: &Option<Vec<u8>>| content.as_ref().map_or(0, Vec::len);
            file.bytes = Some((size(&before), size(&after)));
        } else {
            let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
            let (added, deleted) = if is_same { (0, 0) } else { self.shown.count(old, new) };
            (file.added, file.deleted) = (Some(added), Some(deleted));
            if let Some(context_lines) = self.options.hunks {
                let hunks = |old, new| line_diff::hunks(old, new, &self.shown.edits(old, new), context_lines);
                file.hunks = if file.status == Status::TypeChanged {
                    [hunks(old, b""), hunks(b"", new)].concat()
                } else {
                    hunks(old, new)
                };
            }
        }
        if self.options.content {
            (file.before, file.after) = (before, after);
        }
        Ok(())
    }

    /// The content of a submodule, as git shows it.
    fn content(&self, leaf: Leaf) -> Result<Vec<u8>> {
        match leaf.mode {
            Mode::Gitlink => Ok(format!("Subproject commit {}\n", leaf.id).into_bytes()),
            Mode::File | Mode::Executable | Mode::Link => self.repo.read_blob(leaf.id),
        }
    }

    /// As in git, one binary side is enough.
    fn is_binary(&mut self, file: &FileDiff, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<bool> {
        let old_path = file.old_path.as_ref().unwrap_or(&file.path);
        for (path, leaf, data) in [(old_path, file.before_leaf, before), (&file.path, file.after_leaf, after)] {
            let (Some(leaf), Some(data)) = (leaf, data) else { continue };
            if leaf.mode == Mode::Gitlink {
                continue;
            }
            if self.attributes.is_binary(path.as_bstr())?.unwrap_or_else(|| line_edits::is_binary(data)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Serialize for FileDiff {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("path", &path_text::escape(self.path.as_bstr()))?;
        if let Some(raw) = path_text::raw(self.path.as_bstr()) {
            map.serialize_entry("path_raw", &raw)?;
        }
        map.serialize_entry("absolute", &self.absolute.to_string_lossy())?;
        map.serialize_entry("old_path", &self.old_path.as_ref().map(|path| path_text::escape(path.as_bstr())))?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("before_id", &self.before_leaf.map(|leaf| leaf.id.to_string()))?;
        map.serialize_entry("after_id", &self.after_leaf.map(|leaf| leaf.id.to_string()))?;
        map.serialize_entry("binary", &self.binary)?;
        map.serialize_entry("added", &self.added)?;
        map.serialize_entry("deleted", &self.deleted)?;
        if self.before.is_some() || self.after.is_some() {
            serialize_content(&mut map, ["before", "before_raw"], self.before.as_deref())?;
            serialize_content(&mut map, ["after", "after_raw"], self.after.as_deref())?;
        }
        map.end()
    }
}

/// Content as text; null if there is no file. If the content is not UTF-8, the text is null and the bytes are in base64
/// beside it.
fn serialize_content<M: SerializeMap>(map: &mut M, keys: [&str; 2], content: Option<&[u8]>) -> Result<(), M::Error> {
    let text = content.and_then(|content| content.to_str().ok());
    map.serialize_entry(keys[0], &text)?;
    if let Some(content) = content.filter(|_| text.is_none()) {
        map.serialize_entry(keys[1], &base64::engine::general_purpose::STANDARD.encode(content))?;
    }
    Ok(())
}
