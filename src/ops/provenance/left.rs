//! Finds the lines that other files lost in a commit, or in the worktree: git does not see where moved lines come from.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, line_edits},
    model::change::{Change, Leaf, Mode},
};

/// At most this many files of a commit are compared with their earlier content: a commit may change all files of a repository.
const MOST_FILES: usize = 256;
/// At most this many bytes of a commit's files are compared, before and after together: without a limit, a few huge files
/// would make blame slow. Smaller files come first, so that a huge one does not hide them.
pub(crate) const MOST_BYTES: u64 = 128 << 20;

/// Lines of a file in a commit.
pub(crate) struct Source {
    pub(crate) path: BString,
    pub(crate) text: Vec<u8>,
    /// The number of each line of `text` in the file, from 1; none if `text` is the whole file.
    pub(crate) lines: Option<Vec<u32>>,
}

/// Returns the lines that files other than `path` lost from the first of `trees` to the second, without the files that lost none. The
/// files that lost most of the lines `wanted` of `after` (from 1) come first.
pub(crate) fn left(
    repo: &Repo,
    trees: (ObjectId, ObjectId),
    path: &BStr,
    after: &[u8],
    wanted: impl Iterator<Item = u32>,
) -> Result<Vec<Source>> {
    let mut budget = MOST_BYTES;
    Ok(left_with_counts(repo, trees, path, after, wanted, &mut budget)?.into_iter().map(|(_, source)| source).collect())
}

/// The same, each with how many of the lines it lost. Reads at most `budget` bytes of files, and subtracts what it reads.
pub(crate) fn left_with_counts(
    repo: &Repo,
    trees: (ObjectId, ObjectId),
    path: &BStr,
    after: &[u8],
    wanted: impl Iterator<Item = u32>,
    budget: &mut u64,
) -> Result<Vec<(usize, Source)>> {
    let wanted: HashSet<u32> = wanted.collect();
    let lines = (1..).zip(after.lines_with_terminator()).filter(|(number, _)| wanted.contains(number));
    let keys: HashSet<Vec<u8>> = lines.map(|(_, line)| key(line)).filter(|key| !key.is_empty()).collect();
    let mut sources = Vec::new();
    for Candidate { size, path, before, after: now } in candidates(repo, trees, path)? {
        if size > *budget {
            continue;
        }
        *budget -= size;
        let before = repo.read_blob(before.id)?;
        let now = now.map_or_else(|| Ok(Vec::new()), |leaf| repo.read_blob(leaf.id))?;
        let (text, lines) = lost(&before, &now);
        if !lines.is_empty() {
            let count = text.lines_with_terminator().filter(|line| keys.contains(&key(line))).count();
            if count > 0 || keys.is_empty() {
                sources.push((count, Source { path, text, lines: Some(lines) }));
            }
        }
    }
    sources.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    Ok(sources)
}

/// A file that may have lost lines.
struct Candidate {
    /// Before and after together, in bytes.
    size: u64,
    path: BString,
    before: Leaf,
    after: Option<Leaf>,
}

/// Returns the files to compare: deleted files first, then small ones.
fn candidates(repo: &Repo, (before, now): (ObjectId, ObjectId), path: &BStr) -> Result<Vec<Candidate>> {
    let is_file = |leaf: &Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
    let mut found = Vec::new();
    // A renamed file still has its lines.
    let changes = repo.detect_renames(repo.diff_trees(before, now)?)?;
    for change in changes {
        let Change { path: now, old_path, before: Some(before), after, .. } = change else { continue };
        // A partial clone may lack the content.
        let is_here = [Some(before), after].iter().flatten().all(|leaf| repo.has_object(leaf.id));
        if now == path || !is_file(&before) || !is_here {
            continue;
        }
        let after = after.filter(is_file);
        let size = |leaf: Leaf| repo.object_size(leaf.id).map(Option::unwrap_or_default);
        let size = size(before)? + after.map_or(Ok(0), size)?;
        found.push(Candidate { size, path: old_path.unwrap_or(now), before, after });
    }
    found.sort_by_key(|file| (file.after.is_some(), file.size));
    found.truncate(MOST_FILES);
    Ok(found)
}

/// Returns the lines of `before` that `after` has no more, and their numbers from 1.
fn lost(before: &[u8], after: &[u8]) -> (Vec<u8>, Vec<u32>) {
    // Most of a file is usually unchanged; to compare bytes is much faster than to compare lines.
    let equal = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let head = before[..equal].rfind_byte(b'\n').map_or(0, |at| at + 1);
    let (old, new) = (&before[head..], &after[head..]);
    let equal = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let tail = old[old.len() - equal..].find_byte(b'\n').map_or(0, |at| equal - at - 1);
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let first = u32::try_from(before[..head].find_iter(b"\n").count()).unwrap_or(u32::MAX).saturating_add(1);
    let all: Vec<&[u8]> = old.lines_with_terminator().collect();
    let (mut text, mut lines) = (Vec::new(), Vec::new());
    for (gone, _) in line_edits::step_edits(old, new) {
        for at in gone {
            text.extend_from_slice(all[at]);
            lines.push(first.saturating_add(u32::try_from(at).unwrap_or(u32::MAX)));
        }
    }
    (text, lines)
}

/// Returns `line` without blanks.
pub(super) fn key(line: &[u8]) -> Vec<u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::lost;

    #[rstest::rstest]
    #[case::equal("a\nb\n", "a\nb\n", "", &[])]
    #[case::grown("a\nb\n", "a\nx\nb\n", "", &[])]
    #[case::one_of_two_equal_lines("a\na\nb\n", "a\nb\n", "a\n", &[2])]
    #[case::deleted("a\nb", "", "a\nb", &[1, 2])]
    #[case::apart("a\nb\nc\nd\ne\n", "a\nc\ne\n", "b\nd\n", &[2, 4])]
    #[case::equal_ends_of_lines("ab\ncd\n", "ab\nxd\n", "cd\n", &[2])]
    #[case::end_of_file("a\nb", "a\n", "b", &[2])]
    fn lost_lines(#[case] before: &str, #[case] after: &str, #[case] text: &str, #[case] lines: &[u32]) {
        assert_eq!(lost(before.as_bytes(), after.as_bytes()), (text.into(), lines.to_vec()));
    }
}
