//! Files whose conversion changed though they did not: what `.gitattributes` say is part of what brings bytes back.

use bstr::{BStr, BString, ByteSlice as _};

use super::{
    Repo,
    capture::Reader,
    filter::Filters,
    new_objects::NewObjects,
    stat_cache::{Known, StatCache},
};
use crate::{error::Result, model::change::Mode};

/// Returns the directories (with final `/`, empty for the root) whose `.gitattributes` are among `paths`.
pub(super) fn directories_of_attributes<'p>(paths: impl Iterator<Item = &'p BStr>) -> Vec<BString> {
    let directories = paths.filter_map(|path| path.strip_suffix(b".gitattributes"));
    directories.filter(|rest| rest.is_empty() || rest.ends_with(b"/")).map(BString::from).collect()
}

/// Returns what changes for the files of `cache` below `directories` that `is_settled` says are as they were.
///
/// Their blobs stay, as git leaves them; whether the exact bytes must be kept beside is asked again.
pub(super) fn reconvert(
    repo: &Repo,
    cache: &StatCache,
    directories: &[BString],
    is_settled: impl Fn(&BStr) -> bool,
    objects: &mut NewObjects<'_>,
) -> Result<Vec<(BString, Known)>> {
    let mut changes = Vec::new();
    let mut filters = Filters::for_worktree(repo)?;
    let reader = Reader::new(repo, objects.target())?;
    for directory in directories {
        for entry in &cache.entries()[cache.below(directory.as_bstr())] {
            let path = cache.path(entry);
            let is_file = matches!(entry.mode, Mode::File | Mode::Executable) && !entry.id.is_null();
            if !is_file || entry.skips_worktree || !is_settled(path) {
                continue;
            }
            if cache.raw_id(entry).is_none() && !filters.applies_to(path)? {
                continue;
            }
            // A file that changes just now is the next pass's matter.
            let Some(bytes) = reader.bytes_of(path, entry.stat) else { continue };
            let blob = repo.read_blob(entry.id)?;
            let back = filters.to_worktree(path, &blob)?.unwrap_or(blob);
            let mut new = Vec::new();
            let raw_id = if back == bytes { None } else { Some(reader.prepare(&bytes, &mut new)?) };
            new.into_iter().try_for_each(|object| objects.add_prepared(object))?;
            if raw_id != cache.raw_id(entry) {
                changes.push((path.to_owned(), Known { raw_id, ..cache.known(entry) }));
            }
        }
    }
    Ok(changes)
}
