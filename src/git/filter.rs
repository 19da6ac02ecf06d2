//! Conversions between worktree and repository: line endings, `ident`, encodings, filter commands (gitattributes(5)).

use std::{cell::OnceCell, ffi::OsString, os::unix::ffi::OsStringExt as _};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    filter::plumbing::{Pipeline, pipeline::CrlfRoundTripCheck, pipeline::convert},
    objs::Find as _,
    worktree::{Stack, stack::state::attributes::Source},
};

use super::Repo;
use crate::error::{Context as _, Kind, Result};

/// The conversions that attributes and settings ask for.
pub(crate) struct Filters<'r> {
    repo: &'r Repo,
    pipeline: Pipeline,
    attributes: Stack,
    /// The user's index, read only if a file with CRLF asks whether it is stored so.
    index: OnceCell<Option<gix::index::File>>,
    /// The tree whose attributes count; none: the worktree's.
    tree_id: Option<ObjectId>,
}

impl<'r> Filters<'r> {
    /// Returns the conversions by the `.gitattributes` of the worktree.
    pub(crate) fn for_worktree(repo: &'r Repo) -> Result<Self> {
        Self::new(repo, &gix::index::State::new(repo.object_hash()), Source::WorktreeThenIdMapping, None)
    }

    /// Returns the conversions by the `.gitattributes` of the tree `tree_id`, for `paths` only.
    pub(crate) fn for_tree(repo: &'r Repo, tree_id: ObjectId, paths: &[BString]) -> Result<Self> {
        let files = super::ignore::files_of_tree(repo, tree_id, paths, ".gitattributes")?;
        Self::new(repo, &files, Source::IdMapping, Some(tree_id))
    }

    fn new(repo: &'r Repo, files: &gix::index::State, source: Source, tree_id: Option<ObjectId>) -> Result<Self> {
        let what = || "cannot read the git attributes".into();
        let attributes = repo.inner.attributes_only(files, source).context(Kind::User, what)?.detach();
        let mut options = gix::filter::Pipeline::options(&repo.inner).context(Kind::User, what)?;
        // A checkpoint must not fail because a commit would be warned about; raw bytes are kept where it matters.
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        let context = repo.inner.command_context().context(Kind::User, what)?;
        let pipeline = Pipeline::new(context, repo.object_hash(), options);
        Ok(Self { repo, pipeline, attributes, index: OnceCell::new(), tree_id })
    }

    /// Returns what a save stores of `bytes` of the file `path` (none: the bytes themselves), and whether the exact bytes are
    /// to be kept beside it.
    ///
    /// A filter that fails must not cost the file: its exact bytes are kept, and so marked.
    pub(crate) fn store(&mut self, path: &BStr, bytes: &[u8]) -> (Option<Vec<u8>>, bool) {
        match self.to_git(path, bytes) {
            Ok(stored) => {
                let is_raw = self.needs_raw(path, bytes, stored.as_deref()).unwrap_or(true);
                (stored, is_raw)
            }
            Err(error) => {
                tracing::warn!(%error, "stored without conversion");
                (None, true)
            }
        }
    }

    /// Returns `bytes` of the file `path` as git would store them; none if they stay as they are.
    ///
    /// # Errors
    /// If a required filter command fails.
    pub(crate) fn to_git(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.to_git_by_gix(path, bytes).or_else(|error| self.to_git_by_git(path, bytes).map_err(|_| error))
    }

    /// Git knows filter servers that gix does not understand, and all encodings of iconv(1).
    fn to_git_by_git(&self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let id = self.run_git(&["hash-object", "-w", "--stdin"], path, b"", bytes)?;
        let id = ObjectId::from_hex(id.trim()).context(Kind::Internal, || "git's id of a blob is none".into())?;
        let converted = self.repo.read_blob(id)?;
        Ok((converted != bytes).then_some(converted))
    }

    fn to_worktree_by_git(&self, path: &BStr, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        let id = self.repo.run_git(&["hash-object", "-w", "--stdin"], Some(blob))?;
        let converted = self.run_git(&["cat-file", "--filters"], path, id.trim(), b"")?;
        Ok((converted != blob).then(|| converted.into()))
    }

    /// Runs git with `arguments`, the option that names `path`, and `last` unless it is empty.
    fn run_git(&self, arguments: &[&str], path: &BStr, last: &[u8], input: &[u8]) -> Result<BString> {
        let source = self.tree_id.map(|id| OsString::from(format!("--attr-source={id}")));
        let mut named = OsString::from("--path=");
        named.push(path.to_os_str().context(Kind::Internal, || "a path".into())?);
        let last = (!last.is_empty()).then(|| OsString::from_vec(last.to_vec()));
        let arguments = arguments.iter().map(OsString::from);
        let all: Vec<_> = source.into_iter().chain(arguments).chain([named]).chain(last).collect();
        self.repo.run_git(&all, Some(input))
    }

    fn to_git_by_gix(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let what = || format!("cannot convert '{path}' for storing");
        let platform = self.attributes.at_entry(path, None, &self.repo.inner.objects).context(Kind::Internal, what)?;
        let (repo, index) = (self.repo, &self.index);
        let outcome = self
            .pipeline
            .convert_to_git(
                bytes,
                &gix::path::from_bstr(path).context(Kind::Internal, what)?,
                &mut |_, attributes| {
                    platform.matching_attributes(attributes);
                },
                &mut |buffer| {
                    let index = index.get_or_init(|| repo.user_index().ok().flatten());
                    let entry = index.as_ref().and_then(|index| index.entry_by_path(path));
                    let Some(entry) = entry else { return Ok(None) };
                    Ok(repo.inner.objects.try_find(&entry.id, buffer)?.map(drop))
                },
            )
            .context(Kind::User, what)?;
        let converted = match outcome {
            convert::ToGitOutcome::Unchanged(_) => return Ok(None),
            convert::ToGitOutcome::Buffer(buffer) => buffer.to_vec(),
            convert::ToGitOutcome::Process(mut read) => {
                let mut buffer = Vec::with_capacity(bytes.len());
                std::io::Read::read_to_end(&mut read, &mut buffer).context(Kind::User, what)?;
                buffer
            }
        };
        Ok((converted != bytes).then_some(converted))
    }

    /// Returns the stored `blob` as it belongs into the worktree at `path`; none if it stays as it is.
    ///
    /// # Errors
    /// If a required filter command fails.
    pub(crate) fn to_worktree(&mut self, path: &BStr, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        self.to_worktree_by_gix(path, blob).or_else(|error| self.to_worktree_by_git(path, blob).map_err(|_| error))
    }

    fn to_worktree_by_gix(&mut self, path: &BStr, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        let what = || format!("cannot convert '{path}' for the worktree");
        let platform = self.attributes.at_entry(path, None, &self.repo.inner.objects).context(Kind::Internal, what)?;
        let options = convert::to_worktree::Options::default();
        let mut outcome = self
            .pipeline
            .convert_to_worktree(
                blob,
                path,
                &mut |_, attributes| {
                    platform.matching_attributes(attributes);
                },
                options,
            )
            .context(Kind::User, what)?;
        if !outcome.is_changed() {
            return Ok(None);
        }
        let mut converted = Vec::with_capacity(blob.len());
        std::io::Read::read_to_end(&mut outcome, &mut converted).context(Kind::User, what)?;
        Ok(Some(converted))
    }

    /// Returns the bytes to keep beside the stored ones, if those would not come back as `bytes` by themselves.
    ///
    /// `stored` is what [`to_git`](Self::to_git) made of `bytes`.
    pub(crate) fn needs_raw(&mut self, path: &BStr, bytes: &[u8], stored: Option<&[u8]>) -> Result<bool> {
        if stored.is_some() && self.is_content_addressed(path)? {
            return Ok(false);
        }
        let back = self.to_worktree(path, stored.unwrap_or(bytes))?;
        Ok(back.as_deref().or(stored).is_some_and(|back| back != bytes))
    }

    /// Returns true if an attribute of `path` may convert its bytes in a way that is not exactly reversed.
    pub(crate) fn applies_to(&mut self, path: &BStr) -> Result<bool> {
        let what = || format!("cannot read the attributes of '{path}'");
        let mut outcome = self.attributes.selected_attribute_matches(CONVERTING);
        let platform = self.attributes.at_entry(path, None, &self.repo.inner.objects).context(Kind::Internal, what)?;
        platform.matching_attributes(&mut outcome);
        let converts = outcome.iter_selected().any(|found| {
            use gix::attrs::StateRef;
            match found.assignment.state {
                StateRef::Unspecified | StateRef::Unset => false,
                StateRef::Set => true,
                StateRef::Value(value) => value.as_bstr() != "lfs",
            }
        });
        Ok(converts)
    }

    /// Returns what decides how `path` is converted: equal values mean equal conversions.
    pub(crate) fn conversion(&mut self, path: &BStr) -> Result<Vec<String>> {
        let what = || format!("cannot read the attributes of '{path}'");
        let names = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];
        let mut outcome = self.attributes.selected_attribute_matches(names);
        let platform = self.attributes.at_entry(path, None, &self.repo.inner.objects).context(Kind::Internal, what)?;
        platform.matching_attributes(&mut outcome);
        Ok(outcome.iter_selected().map(|found| format!("{:?}", found.assignment.state)).collect())
    }

    /// Returns true for Git LFS: its pointer names the very bytes, so asking the filter to bring them back would
    /// only copy a large file.
    fn is_content_addressed(&mut self, path: &BStr) -> Result<bool> {
        let what = || format!("cannot read the attributes of '{path}'");
        let mut outcome = self.attributes.selected_attribute_matches(["filter"]);
        let platform = self.attributes.at_entry(path, None, &self.repo.inner.objects).context(Kind::Internal, what)?;
        platform.matching_attributes(&mut outcome);
        let is_lfs =
            outcome.iter_selected().any(|found| found.assignment.state.as_bstr().is_some_and(|name| name == "lfs"));
        Ok(is_lfs)
    }
}

/// The attributes that convert bytes, gitattributes(5).
const CONVERTING: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

impl Repo {
    /// Returns true if `core.autocrlf` is on.
    pub(crate) fn converts_line_endings(&self) -> bool {
        let is_off =
            |value: &[u8]| ["false", "no", "off", "0", ""].iter().any(|off| value.eq_ignore_ascii_case(off.as_bytes()));
        self.config_value("core.autocrlf").is_some_and(|value| !is_off(&value))
    }

    /// Returns a number that changes with the settings and files outside the worktree that convert files.
    pub(crate) fn conversions(&self) -> Result<u32> {
        let mut sum = flate2::Crc::new();
        for key in ["core.autocrlf", "core.eol", "core.attributesFile"] {
            sum.update(&self.config_value(key).unwrap_or_default());
            sum.update(b"\0");
        }
        for pair in self.config_pairs("filter") {
            sum.update(pair.key.as_bytes());
            sum.update(&pair.value);
            sum.update(b"\0");
        }
        for path in self.attribute_files()? {
            sum.update(&std::fs::read(path).unwrap_or_default());
            sum.update(b"\0");
        }
        Ok(sum.sum())
    }

    /// Returns the attribute files outside the worktree, whether they exist or not.
    fn attribute_files(&self) -> Result<Vec<std::path::PathBuf>> {
        let mut paths =
            self.inner.attribute_global_paths().context(Kind::User, || "cannot find the global attributes".into())?;
        paths.push(self.common_dir().join("info/attributes"));
        Ok(paths)
    }

    /// Returns true if attributes may convert any file, so that bytes in the worktree may differ from
    /// what git stored even where git sees no change. `attribute_files` are the ids of all `.gitattributes` blobs.
    pub(crate) fn may_convert(&self, attribute_files: &[ObjectId]) -> Result<bool> {
        if self
            .config_value("core.autocrlf")
            .is_some_and(|value| !matches!(value.as_slice(), b"false" | b"no" | b"off" | b"0"))
        {
            return Ok(true);
        }
        let mut files: Vec<Vec<u8>> = Vec::new();
        for id in attribute_files {
            files.push(self.read_blob(*id)?);
        }
        files.extend(self.attribute_files()?.iter().filter_map(|path| std::fs::read(path).ok()));
        Ok(files.iter().any(|file| CONVERTING.iter().any(|word| file.contains_str(word))))
    }
}
