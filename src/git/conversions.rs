//! The settings that make git convert files, and whether there are any.

use std::{
    collections::{BTreeSet, HashMap},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, rule_files, settings::ConfigPair, stat_cache::Stat};
use crate::error::Result;

/// The attributes that convert bytes, gitattributes(5).
pub(super) const CONVERTING: [&str; 6] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding"];

impl Repo {
    /// Returns true if `core.autocrlf` is on.
    pub(crate) fn converts_line_endings(&self) -> bool {
        let is_off =
            |value: &[u8]| ["false", "no", "off", "0", ""].iter().any(|off| value.eq_ignore_ascii_case(off.as_bytes()));
        self.config_value("core.autocrlf").is_some_and(|value| !is_off(&value))
    }

    /// Returns true if a setting may make git convert line endings of files that it checks out.
    pub(super) fn has_line_ending_setting(&self) -> bool {
        self.converts_line_endings() || self.config_value("core.eol").is_some()
    }

    /// Returns two checksums of the settings outside the worktree that affect conversions: of the filter commands, and
    /// of the attribute files outside the worktree that may name filters. If they differ, the settings have changed.
    pub(crate) fn filter_settings(&self) -> Result<(u32, u32)> {
        let mut commands = flate2::Crc::new();
        for pair in self.config_pairs("filter") {
            commands.update(pair.key.as_bytes());
            commands.update(&pair.value);
            commands.update(b"\0");
        }
        let mut sum = flate2::Crc::new();
        for file in self.outside_attributes()?.into_iter().filter(|file| file.contains_str("filter")) {
            sum.update(&file);
            sum.update(b"\0");
        }
        Ok((commands.sum(), sum.sum()))
    }

    /// Returns true if git is configured with filter commands other than those of Git LFS, whose pointer files can be
    /// recognized.
    pub(super) fn has_filter_commands(&self) -> bool {
        self.config_pairs("filter").iter().any(|pair| !pair.key.starts_with("lfs."))
    }

    /// Returns the names of the filters with a command for the worktree, sorted; Git LFS excepted.
    pub(crate) fn filters_with_smudge(&self) -> Vec<String> {
        let has_command = |pair: &ConfigPair| [".smudge", ".process"].iter().any(|end| pair.key.ends_with(end));
        let pairs = self.config_pairs("filter").into_iter().filter(|pair| has_command(pair) && !pair.value.is_empty());
        let names = pairs.filter_map(|pair| Some(pair.key.rsplit_once('.')?.0.to_owned()));
        names.filter(|name| name != "lfs").collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns true if an attribute file outside the worktree may name a filter.
    pub(super) fn outside_attributes_name_filters(&self) -> Result<bool> {
        Ok(self.outside_attributes()?.iter().any(|file| file.contains_str("filter")))
    }

    /// Returns the content of all attribute files outside the worktree.
    fn outside_attributes(&self) -> Result<Vec<Vec<u8>>> {
        let mut contents = Vec::new();
        for path in self.attribute_files_outside()? {
            rule_files::refuse_endless_outside(&path)?;
            contents.extend(std::fs::read(path).ok());
        }
        Ok(contents)
    }

    /// Returns true if attributes may convert any file, so that a file's bytes may differ from the stored ones though
    /// git sees no change. `paths` and `ids` are all `.gitattributes` that git knows: a filter may make the blob of
    /// such a file differ from the file.
    pub(super) fn may_convert<'p>(&self, paths: impl Iterator<Item = &'p BString>, ids: &[ObjectId]) -> Result<bool> {
        if self.converts_line_endings() {
            return Ok(true);
        }
        let mut files = self.outside_attributes()?;
        for id in ids {
            files.push(self.read_blob(*id)?);
        }
        files.extend(paths.filter_map(|path| self.read_in_worktree(path.as_bstr())));
        Ok(files.iter().any(|file| has_converting_rules(file)))
    }

    fn read_in_worktree(&self, path: &BStr) -> Option<Vec<u8>> {
        rule_files::read(&self.worktree_root().join(path.to_path().ok()?))
    }
}

/// Returns true if the attribute file with the content `file` may have a rule that converts.
fn has_converting_rules(file: &[u8]) -> bool {
    CONVERTING.iter().any(|word| file.contains_str(word))
}

/// When attribute files last changed.
///
/// An older file may have bytes that today's rules would not give: git considers it unchanged until its times change.
pub(super) struct AttributeTimes<'r> {
    repo: &'r Repo,
    /// The attribute files that git knows, and those that should exist.
    known: BTreeSet<BString>,
    expected: BTreeSet<BString>,
    /// The attribute files with rules for the files of each directory (with final `/`, empty for the root).
    attributes: HashMap<BString, Above>,
}

/// What is known of the attribute files with rules for the files of a directory.
#[derive(Clone, Copy, Default)]
struct Above {
    /// When one last changed; none: there is none.
    newest: Option<Time>,
    /// True if one that git does not know may have a rule that converts.
    converts_unknown_to_git: bool,
}

/// Seconds and nanoseconds.
type Time = (i64, u32);

/// The time of an attribute file that git does not know, or does not know to be gone: newer than any other.
const UNKNOWN: Time = (i64::MAX, 0);

impl<'r> AttributeTimes<'r> {
    /// Git knows the attribute files `known`, and expects `expected` in the worktree.
    pub(super) fn new(repo: &'r Repo, known: BTreeSet<BString>, expected: BTreeSet<BString>) -> Self {
        Self { repo, known, expected, attributes: HashMap::new() }
    }

    /// Returns true if an attribute file with rules for `path` changed after the file with `stat` was written, or if git does
    /// not know it.
    pub(super) fn are_newer(&mut self, path: &BStr, stat: &Stat) -> bool {
        self.above(parent(path)).newest.is_some_and(|time| time > written(stat))
    }

    /// Returns true if an attribute file that git does not know may have a rule that converts `path`.
    pub(super) fn converts_unknown_to_git(&mut self, path: &BStr) -> bool {
        self.above(parent(path)).converts_unknown_to_git
    }

    /// Returns what is known of the attribute files with rules for the files in `directory`.
    fn above(&mut self, directory: &[u8]) -> Above {
        if let Some(above) = self.attributes.get(directory.as_bstr()) {
            return *above;
        }
        let file = BString::from([directory, b".gitattributes"].concat());
        let time = file.to_path().ok().and_then(|file| changed(&self.repo.worktree_root().join(file)));
        let is_known = self.known.contains(&file);
        let own = match time {
            Some(time) => Some(if is_known { time } else { UNKNOWN }),
            None => self.expected.contains(&file).then_some(UNKNOWN),
        };
        let mut above =
            directory.strip_suffix(b"/").map_or_else(Above::default, |directory| self.above(parent(directory)));
        above.newest = above.newest.max(own);
        above.converts_unknown_to_git |= time.is_some()
            && !is_known
            && self.repo.read_in_worktree(file.as_bstr()).is_none_or(|file| has_converting_rules(&file));
        self.attributes.insert(directory.into(), above);
        above
    }
}

/// Returns the directory of `path` with its final `/`; empty for the root.
fn parent(path: &[u8]) -> &[u8] {
    path.rfind_byte(b'/').map_or(&path[..0], |at| &path[..=at])
}

fn written(stat: &Stat) -> Time {
    stat.mtime.min(stat.ctime)
}

fn changed(path: &Path) -> Option<Time> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.ctime(), u32::try_from(metadata.ctime_nsec()).unwrap_or_default()))
}
