//! The settings that convert files, and whether there are any.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt as _};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, index::State};

use super::{Repo, attribute_files::is_attribute_file, stat_cache::Stat};
use crate::error::{Context as _, Kind, Result};

/// The attributes that convert bytes, gitattributes(5).
pub(super) const CONVERTING: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

impl Repo {
    /// Returns true if `core.autocrlf` is on.
    pub(crate) fn converts_line_endings(&self) -> bool {
        let is_off =
            |value: &[u8]| ["false", "no", "off", "0", ""].iter().any(|off| value.eq_ignore_ascii_case(off.as_bytes()));
        self.config_value("core.autocrlf").is_some_and(|value| !is_off(&value))
    }

    /// Returns a number that changes with the commands of filters, and with the attribute files outside the worktree
    /// that may name filters: all that decides from outside which bytes a checkpoint stands for.
    pub(crate) fn filter_settings(&self) -> Result<u32> {
        let mut sum = flate2::Crc::new();
        for pair in self.config_pairs("filter") {
            sum.update(pair.key.as_bytes());
            sum.update(&pair.value);
            sum.update(b"\0");
        }
        for file in self.outside_attributes()? {
            sum.update(&file);
            sum.update(b"\0");
        }
        Ok(sum.sum())
    }

    /// Returns true if an attribute file outside the worktree may name a filter.
    pub(super) fn outside_attributes_name_filters(&self) -> Result<bool> {
        Ok(self.outside_attributes()?.iter().any(|file| file.contains_str("filter")))
    }

    /// Returns the content of all attribute files outside the worktree.
    fn outside_attributes(&self) -> Result<Vec<Vec<u8>>> {
        let mut paths =
            self.inner.attribute_global_paths().context(Kind::User, || "cannot find the global attributes".into())?;
        paths.push(self.common_dir().join("info/attributes"));
        Ok(paths.iter().filter_map(|path| std::fs::read(path).ok()).collect())
    }

    /// Returns true if the blob `id` is here and does not have as many bytes as `stat` tells, modulo 2^32.
    pub(super) fn is_of_other_size(&self, id: ObjectId, stat: &Stat) -> bool {
        self.inner.find_header(id).is_ok_and(|header| header.size() & u64::from(u32::MAX) != u64::from(stat.size))
    }

    /// Returns true if attributes may convert any file, so that bytes in the worktree may differ from
    /// what git stored even where git sees no change. `attribute_files` are the ids of all `.gitattributes` blobs.
    pub(crate) fn may_convert(&self, attribute_files: &[ObjectId]) -> Result<bool> {
        if self.converts_line_endings() {
            return Ok(true);
        }
        let mut files = self.outside_attributes()?;
        for id in attribute_files {
            files.push(self.read_blob(*id)?);
        }
        Ok(files.iter().any(|file| CONVERTING.iter().any(|word| file.contains_str(word))))
    }
}

/// When the rules that convert files last changed, as far as the file system tells.
///
/// A file that is older may be there in a form that today's rules do not give: git calls it clean as long as nobody
/// touches it.
pub(super) struct RuleTimes {
    /// When any file with settings changed.
    settings: (i64, u32),
    /// When the `.gitattributes` of a directory (with final `/`, empty for the root) changed.
    attributes: BTreeMap<BString, (i64, u32)>,
}

impl RuleTimes {
    /// Returns the times of the files with settings, and of the attribute files of `index` in the worktree.
    pub(super) fn new(repo: &Repo, index: &State) -> Self {
        let changed = |path: &std::path::Path| {
            let metadata = std::fs::symlink_metadata(path).ok()?;
            Some((metadata.ctime(), u32::try_from(metadata.ctime_nsec()).unwrap_or_default()))
        };
        let config = repo.inner.config_snapshot();
        let files = config.plumbing().sections().filter_map(|section| section.meta().path.as_deref());
        let settings = files.filter_map(changed).chain(changed(&repo.common_dir().join("info/attributes"))).max();
        let attributes = index.entries().iter().map(|entry| entry.path(index)).filter(|path| is_attribute_file(path));
        let attributes = attributes.filter_map(|path| {
            let directory = &path[..path.rfind_byte(b'/').map_or(0, |at| at + 1)];
            Some((directory.into(), changed(&repo.worktree_root().join(path.to_path().ok()?))?))
        });
        Self { settings: settings.unwrap_or_default(), attributes: attributes.collect() }
    }

    /// Returns true if a rule for `path` changed after the file that `stat` tells of was written.
    pub(super) fn are_newer(&self, path: &BStr, stat: &Stat) -> bool {
        let written = stat.mtime.min(stat.ctime);
        let mut directories = path.rfind_iter("/").map(|at| &path[..=at]).chain([&path[..0]]);
        self.settings > written
            || (!self.attributes.is_empty()
                && directories
                    .any(|directory| self.attributes.get(directory.as_bstr()).is_some_and(|time| *time > written)))
    }
}
