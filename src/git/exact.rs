//! Exact bytes: a checkpoint stands for the very bytes that a file had.
//!
//! A checkpoint's tree holds a file as git would store it. Where that and the checkpoint's own attributes do not give the
//! bytes back, they are kept beside the tree (`raw/` of the side commit). So whenever the attributes of a tree change,
//! each file they concern is asked about anew, be the file itself changed or not.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Repo,
    attribute_files::{AttributeFiles, is_attribute_file},
    capture::Reader,
    edit_tree::Edit,
    filter::Filters,
    new_objects::{NewObjects, id_of},
};
use crate::{
    error::{Error, Result},
    model::{
        change::{Leaf, Mode},
        path_text::printable,
        step::{Content, Step},
    },
};

/// What decides which bytes the files of a stored checkpoint, or of a commit, stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Basis {
    /// Its tree.
    pub(crate) tree_id: ObjectId,
    /// True for a commit of the user, which stands for what git checks out now.
    pub(crate) is_commit: bool,
    /// The tree of the commit that the checkpoint stands on, if any. A commit stands on itself.
    pub(crate) base_tree_id: Option<ObjectId>,
    /// The filters that had a command for the worktree when the checkpoint was taken.
    pub(crate) filters: Vec<String>,
}

/// The bytes that files of one stored checkpoint stand for.
pub(crate) struct Exact<'r> {
    repo: &'r Repo,
    filters: Filters<'r>,
    base_tree_id: Option<ObjectId>,
    had_commands: Vec<String>,
}

impl<'r> Exact<'r> {
    /// Returns those of the checkpoint or commit with this `basis`, for `paths` only.
    pub(crate) fn of_tree(repo: &'r Repo, basis: Basis, paths: &[BString]) -> Result<Self> {
        let Basis { tree_id, is_commit, base_tree_id, filters: had_commands } = basis;
        let filters = Filters::for_tree(repo, tree_id, is_commit, paths)?;
        Ok(Self { repo, filters, base_tree_id, had_commands })
    }

    fn by_rules(repo: &'r Repo, files: &AttributeFiles) -> Result<Self> {
        Ok(Self {
            repo,
            filters: Filters::of_checkpoint(repo, files.clone())?,
            base_tree_id: None,
            had_commands: Vec::new(),
        })
    }

    /// Returns the bytes of the file or link `path` with `content`; `blob` is what `content` names.
    ///
    /// # Errors
    /// If a filter fails.
    pub(crate) fn bytes(&mut self, path: &BStr, content: Content, blob: Vec<u8>) -> Result<Vec<u8>> {
        if content.raw.is_some() || content.leaf.mode == Mode::Link {
            return Ok(blob);
        }
        Ok(self.to_worktree(path, content, &blob)?.unwrap_or(blob))
    }

    /// Returns what the conversions make of `blob`, the stored `content` of the file `path`; none if it stays as it is.
    ///
    /// A save keeps the bytes of each file whose filter has no command for the worktree. Where there are none, a command made
    /// the bytes that is missing now: the blob would be something else. Committed content that no save has read comes back as
    /// git checks it out, if the filter had no command at the save either.
    fn to_worktree(&mut self, path: &BStr, content: Content, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        let converted = self.filters.to_worktree(path, blob)?;
        if self.filters.may_get_a_filter(path)? {
            let name = self.filters.filter_name(path)?.unwrap_or_default().to_string();
            if self.had_commands.contains(&name) || !self.is_of_base(path, content)? {
                let (name, path) = (printable(name.as_str().into()), printable(path));
                return Err(Error::user(format!("the filter '{name}' of '{path}' has no command 'smudge' any more")));
            }
        }
        Ok(converted)
    }

    fn is_of_base(&self, path: &BStr, content: Content) -> Result<bool> {
        let Some(tree_id) = self.base_tree_id.filter(|id| *id != self.repo.empty_tree_id()) else { return Ok(false) };
        Ok(self.repo.find_leaf(tree_id, path)?.is_some_and(|leaf| leaf.id == content.leaf.id))
    }

    /// Returns the id that the exact bytes of the file `path` with `content` have as a blob.
    ///
    /// # Errors
    /// If a filter fails, or the content is missing.
    pub(crate) fn id(&mut self, path: &BStr, content: Content) -> Result<ObjectId> {
        if let Some(raw_id) = content.raw {
            return Ok(raw_id);
        }
        let is_file = matches!(content.leaf.mode, Mode::File | Mode::Executable);
        if !is_file || !self.filters.applies_to(path)? {
            return Ok(content.leaf.id);
        }
        let blob = self.repo.read_blob(content.leaf.id)?;
        match self.to_worktree(path, content, &blob)? {
            Some(bytes) => id_of(ObjectKind::Blob, &bytes, self.repo.object_hash()),
            None => Ok(content.leaf.id),
        }
    }

    /// Returns true if `bytes` of the file or link `path`, whose id as a blob is `id`, are those of `content`.
    ///
    /// # Errors
    /// If a filter fails.
    pub(crate) fn is(&mut self, path: &BStr, content: Content, (bytes, id): (&[u8], ObjectId)) -> Result<bool> {
        let is_file = matches!(content.leaf.mode, Mode::File | Mode::Executable);
        if is_file && content.raw.is_none() && self.filters.is_content_addressed(path)? {
            let stored = self.filters.to_git(path, bytes)?;
            let hash = self.repo.object_hash();
            return Ok(stored.map_or(Ok(id), |stored| id_of(ObjectKind::Blob, &stored, hash))? == content.leaf.id);
        }
        if id == content.leaf.id && content.raw.is_none() && is_file {
            // A file that its filter leaves as it is has its bytes kept: without these, the content is something else.
            if self.filters.filter_name(path)?.is_some() {
                return Ok(false);
            }
            // The bytes are those of the blob: most often nothing converts them.
            return Ok(self.filters.to_worktree(path, bytes)?.is_none_or(|back| back == bytes));
        }
        Ok(id == self.id(path, content)?)
    }
}

/// A file that stays as it is while the attributes around it change.
pub(super) struct Unchanged {
    pub(super) blob_id: ObjectId,
    pub(super) raw_id: Option<ObjectId>,
}

/// Asks again which exact bytes are kept.
pub(super) struct Rechecker<'r> {
    repo: &'r Repo,
    before: Exact<'r>,
    now: Exact<'r>,
    /// True if filters may do something else than before.
    has_new_filters: bool,
    /// Reads files whose filters fail.
    disk: Option<Reader<'r>>,
}

impl<'r> Rechecker<'r> {
    /// Returns what asks about files that had the attributes in `before` and have those in `now`.
    pub(super) fn new(
        repo: &'r Repo,
        (before, now): (&AttributeFiles, &AttributeFiles),
        has_new_filters: bool,
    ) -> Result<Self> {
        let (before, now) = (Exact::by_rules(repo, before)?, Exact::by_rules(repo, now)?);
        Ok(Self { repo, before, now, has_new_filters, disk: None })
    }

    /// Returns the blob of exact bytes to be kept of the file `path`, which `objects` holds then.
    ///
    /// `read` returns what the file in the worktree holds; none if that changes just now. If `must_read`, nothing else says
    /// which bytes the file has.
    pub(super) fn raw_id(
        &mut self,
        path: &BStr,
        file: &Unchanged,
        must_read: bool,
        read: impl FnOnce() -> Option<Vec<u8>>,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ObjectId>> {
        let is_same = self.before.filters.conversion(path)? == self.now.filters.conversion(path)?;
        let filter = self.now.filters.filter_name(path)?;
        let is_filtered_anew = self.has_new_filters && filter.is_some();
        if is_same && (!must_read && !is_filtered_anew || self.now.filters.is_content_addressed(path)?) {
            return Ok(file.raw_id);
        }
        let leaf = Leaf { id: file.blob_id, mode: Mode::File };
        let content = Content { leaf, raw: file.raw_id };
        let exact = match read() {
            Some(bytes) => bytes,
            None if must_read => return Ok(file.raw_id),
            None => {
                let blob = self.repo.read_blob(file.raw_id.unwrap_or(file.blob_id))?;
                let bytes = self.before.bytes(path, content, blob);
                self.repo.check_interrupt()?;
                match bytes {
                    Ok(bytes) => bytes,
                    // The file in the worktree should be what the filter does not give back now.
                    Err(_) => match self.disk.as_ref().and_then(|disk| disk.bytes_now(path)) {
                        Some(bytes) => bytes,
                        None => return Ok(file.raw_id),
                    },
                }
            }
        };
        self.now.raw_for(path, Content { leaf, raw: None }, &exact, objects)
    }
}

/// Returns how the tree of exact bytes changes for files that `edits` of the tree `base_id` leave alone: where they change
/// attributes, other exact bytes may have to be kept beside the tree than are in `base_raw_id`.
pub(crate) fn raw_edits_of_unchanged(
    repo: &Repo,
    (base_id, base_raw_id): (ObjectId, Option<ObjectId>),
    edits: &[(BString, Edit)],
    objects: &mut NewObjects<'_>,
) -> Result<Vec<(BString, Edit)>> {
    if !edits.iter().any(|(path, _)| is_attribute_file(path.as_bstr())) {
        return Ok(Vec::new());
    }
    let edited: BTreeSet<&BString> = edits.iter().map(|(path, _)| path).collect();
    let empty = repo.empty_tree_id();
    let mut files = repo.diff_trees(empty, base_id)?;
    files.retain(|change| !edited.contains(&change.path));
    let before = AttributeFiles::of_tree(repo, base_id, files.iter().map(|change| &change.path))?;
    let now = before.with_tree_edits(repo, edits, objects)?;
    let directories = before.differing_directories(&now);
    let raw = repo.diff_trees(empty, base_raw_id.unwrap_or(empty))?;
    let raw_ids: BTreeMap<_, _> =
        raw.iter().filter_map(|change| Some((change.path.as_bstr(), change.after?.id))).collect();
    let mut rechecker = Rechecker::new(repo, (&before, &now), false)?;
    rechecker.disk = Some(Reader::new(repo, &now, objects.target())?);
    let mut raw_edits = Vec::new();
    for change in &files {
        let path = change.path.as_bstr();
        let Some(Leaf { id: blob_id, mode: Mode::File | Mode::Executable }) = change.after else { continue };
        if !directories.iter().any(|directory| path.starts_with(directory)) {
            continue;
        }
        let file = Unchanged { blob_id, raw_id: raw_ids.get(path).copied() };
        let raw_id = rechecker.raw_id(path, &file, false, || None, objects)?;
        if raw_id != file.raw_id {
            raw_edits.push((change.path.clone(), raw_id.map(|id| (id, Mode::File))));
        }
    }
    Ok(raw_edits)
}

/// Returns how the tree of exact bytes changes where `steps` bring content `from` a checkpoint or commit into the tree
/// `base_id`; `edits` are those of that tree.
pub(crate) fn raw_edits_of_steps(
    repo: &Repo,
    (from, base_id): (&Basis, ObjectId),
    steps: &[Step],
    edits: &[(BString, Edit)],
    objects: &mut NewObjects<'_>,
) -> Result<Vec<(BString, Edit)>> {
    let paths: Vec<BString> = steps.iter().map(|step| step.path.clone()).collect();
    let mut from = Exact::of_tree(repo, from.clone(), &paths)?;
    let files = AttributeFiles::of_tree(repo, base_id, &paths)?.with_tree_edits(repo, edits, objects)?;
    let mut now = Exact::by_rules(repo, &files)?;
    let mut raw_edits = Vec::with_capacity(steps.len());
    for step in steps {
        let raw_id = match step.after {
            Some(content) => now.raw_id_of(step.path.as_bstr(), content, &mut from, objects)?,
            None => None,
        };
        raw_edits.push((step.path.clone(), raw_id.map(|id| (id, Mode::File))));
    }
    Ok(raw_edits)
}

impl Exact<'_> {
    /// Returns the blob of exact bytes to be kept here of the file `path`, whose `content` is `from` another checkpoint.
    fn raw_id_of(
        &mut self,
        path: &BStr,
        content: Content,
        from: &mut Exact<'_>,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ObjectId>> {
        let is_file = matches!(content.leaf.mode, Mode::File | Mode::Executable);
        if content.raw.is_some() || !is_file {
            return Ok(content.raw);
        }
        let is_same = from.filters.conversion(path)? == self.filters.conversion(path)?;
        if is_same && !self.filters.may_get_a_filter(path)? {
            return Ok(None);
        }
        let blob = self.repo.read_blob(content.leaf.id)?;
        // The restore has written the file from these bytes just before.
        let bytes = from.bytes(path, content, blob)?;
        self.raw_for(path, content, &bytes, objects)
    }

    /// Returns the blob with `bytes` of the file `path`, added to `objects`, if `content` does not give them back.
    fn raw_for(
        &mut self,
        path: &BStr,
        content: Content,
        bytes: &[u8],
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ObjectId>> {
        let id = id_of(ObjectKind::Blob, bytes, self.repo.object_hash())?;
        let is_exact = self.is(path, content, (bytes, id)).unwrap_or(false) && !self.filters.may_get_a_filter(path)?;
        self.repo.check_interrupt()?;
        if is_exact { Ok(None) } else { objects.add(ObjectKind::Blob, bytes).map(Some) }
    }
}
