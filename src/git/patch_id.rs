//! Patch ids of commits, as `git patch-id --stable` computes them (git-patch-id(1)) from the patches that git prints.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Write as _},
    process::{Child, Stdio},
    sync::mpsc::{self, Receiver},
};

use bstr::ByteSlice as _;
use gix::{
    ObjectId,
    hash::{Hasher, Kind as HashKind, hasher},
};

use super::{Repo, subprocess::output_of, threads};
use crate::error::{Context as _, Error, Kind, Result};

/// The patch of each commit against its first parent; merges have none.
const PATCHES: [&str; 8] =
    ["diff-tree", "--stdin", "--root", "-p", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames"];

/// Patch ids, perhaps computed in the background.
pub(crate) enum PatchIds {
    Known(HashMap<ObjectId, String>),
    ByGit(Child, Receiver<io::Result<HashMap<ObjectId, String>>>),
}

impl Repo {
    /// Returns the stable patch ids of `commits` against their first parents; merges and empty commits have none.
    ///
    /// Starts one process at most, however many commits there are.
    pub(crate) fn patch_ids(&self, commits: &[ObjectId]) -> Result<HashMap<ObjectId, String>> {
        self.start_patch_ids(commits)?.finish()
    }

    /// Computes the id of a single simple commit, or starts computing them in the background.
    pub(crate) fn start_patch_ids(&self, commits: &[ObjectId]) -> Result<PatchIds> {
        if let [commit] = commits
            && let Ok(Some(patch)) = self.plain_patch(*commit)
            && let Ok(ids) = hash_patches(&patch[..], self.object_hash())
        {
            return Ok(PatchIds::Known(ids));
        }
        self.patch_ids_by_git(commits)
    }

    pub(super) fn patch_ids_by_git(&self, commits: &[ObjectId]) -> Result<PatchIds> {
        let what = || "cannot run 'git diff-tree'".to_owned();
        let input: String = commits.iter().map(|id| format!("{id}\n")).collect();
        // Otherwise, git would read the whole index, only to look for attribute files that the worktree lacks.
        let no_index = self.git_dir().join("checkpoint/no-index");
        let git = self.git(PATCHES).env("GIT_INDEX_FILE", no_index).stdin(Stdio::piped()).spawn();
        let mut git = git.context(Kind::Internal, what)?;
        let (mut stdin, stdout) = (git.stdin.take().expect("piped"), git.stdout.take().expect("piped"));
        let (hash, (send, ids)) = (self.object_hash(), mpsc::sync_channel(1));
        // In threads of their own: otherwise, both sides would block once the pipes are full. If git stops reading, it says why.
        threads::detach(move || drop(stdin.write_all(input.as_bytes()))).context(Kind::Internal, what)?;
        threads::detach(move || drop(send.send(hash_patches(BufReader::new(stdout), hash))))
            .context(Kind::Internal, what)?;
        Ok(PatchIds::ByGit(git, ids))
    }
}

impl PatchIds {
    /// Returns them, by commit.
    pub(crate) fn finish(self) -> Result<HashMap<ObjectId, String>> {
        let (git, ids) = match self {
            Self::Known(ids) => return Ok(ids),
            Self::ByGit(git, ids) => (git, ids),
        };
        let output = output_of(git).context(Kind::Internal, || "cannot run 'git diff-tree'".into())?;
        if !output.status.success() {
            return Err(Error::internal("'git diff-tree' failed").with_cause(output.stderr.trim().to_str_lossy()));
        }
        let ids = ids.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        ids.context(Kind::Internal, || "cannot compute a patch id".into())
    }
}

/// Returns the ids of `patches`, each after a line with the id of its commit.
pub(super) fn hash_patches(mut patches: impl BufRead, hash: HashKind) -> io::Result<HashMap<ObjectId, String>> {
    let (mut ids, mut current, mut line) = (HashMap::new(), None::<(ObjectId, Patch)>, Vec::new());
    loop {
        line.clear();
        let is_end = patches.read_until(b'\n', &mut line)? == 0;
        // Git reads a line up to a byte that is zero.
        let text = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let commit = text.get(..hash.len_in_hex()).and_then(|hex| ObjectId::from_hex(hex).ok());
        if commit.is_none() && !is_end {
            if let Some((_, patch)) = &mut current {
                patch.read(text)?;
            }
            continue;
        }
        if let Some((commit, patch)) = current.take() {
            ids.extend(patch.finish()?.map(|id| (commit, id)));
        }
        if is_end {
            return Ok(ids);
        }
        current = commit.map(|commit| (commit, Patch::new(hash)));
    }
}

/// Where in a patch the next line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first file.
    Start,
    /// Between the line `diff` of a file and its first hunk.
    Header,
    /// In a hunk with so many lines left of the old and the new file; behind it, with none.
    Hunk(i64, i64),
    /// In the content of a binary file.
    Binary,
    /// In text that is no part of the patch.
    End,
}

/// A patch that is being read line by line.
struct Patch {
    place: Place,
    hash: HashKind,
    /// Hashes the current file.
    hasher: Hasher,
    /// The sum of the hashes of the files before, so that their order does not matter: a number, its lowest byte first.
    sum: Vec<u8>,
    is_empty: bool,
    /// The ids of the blobs of the current file.
    blobs: Vec<u8>,
}

impl Patch {
    fn new(hash: HashKind) -> Self {
        let (hasher, sum) = (hasher(hash), vec![0; hash.len_in_bytes()]);
        Self { place: Place::Start, hash, hasher, sum, is_empty: true, blobs: Vec::new() }
    }

    fn read(&mut self, line: &[u8]) -> io::Result<()> {
        // '\ No newline at end of file', in any language.
        if line.starts_with(b"\\ ") && line.len() > 12 {
            return Ok(());
        }
        let is_file = line.starts_with(b"diff ");
        match self.place {
            Place::Start if is_file => self.place = Place::Header,
            Place::Header if line.starts_with(b"GIT binary patch") || line.starts_with(b"Binary files") => {
                self.hasher.update(&std::mem::take(&mut self.blobs));
                self.place = Place::Binary;
                return self.end_file();
            }
            Place::Header if line.starts_with(b"index ") => {
                let ids = line[b"index ".len()..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
                self.blobs = ids.replacen("..", "", 1);
                return Ok(());
            }
            Place::Header if line.starts_with(b"--- ") => self.place = Place::Hunk(1, 1),
            Place::Header if line.first().is_some_and(u8::is_ascii_alphabetic) => {}
            // Git takes the line 'diff' of the next file for the end of this one.
            Place::Binary if is_file => {
                self.place = Place::Header;
                return Ok(());
            }
            Place::Hunk(0, 0) if line.starts_with(b"@@ -") => {
                self.place = hunk(line);
                return Ok(());
            }
            Place::Hunk(0, 0) if is_file => {
                self.end_file()?;
                self.place = Place::Header;
            }
            Place::Hunk(before, after) if (before, after) != (0, 0) => {}
            Place::Start | Place::Binary => return Ok(()),
            Place::Header | Place::Hunk(..) | Place::End => {
                self.place = Place::End;
                return Ok(());
            }
        }
        if let Place::Hunk(before, after) = &mut self.place {
            *before -= i64::from(matches!(line.first(), Some(b'-' | b' ')));
            *after -= i64::from(matches!(line.first(), Some(b'+' | b' ')));
        }
        for word in line.split(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.hasher.update(word);
        }
        self.is_empty = false;
        Ok(())
    }

    /// Adds the hash of the current file to the sum.
    fn end_file(&mut self) -> io::Result<()> {
        let ended = std::mem::replace(&mut self.hasher, hasher(self.hash));
        let id = ended.try_finalize().map_err(|error| io::Error::other(error.to_string()))?;
        let mut carry = 0;
        for (digit, byte) in self.sum.iter_mut().zip(id.as_bytes()) {
            carry += u16::from(*digit) + u16::from(*byte);
            *digit = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        Ok(())
    }

    /// Returns the id; none of an empty patch.
    fn finish(mut self) -> io::Result<Option<String>> {
        self.end_file()?;
        Ok((!self.is_empty).then(|| ObjectId::from_bytes_or_panic(&self.sum).to_string()))
    }
}

/// Returns the hunk that begins with `line`: `@@ -<line>,<count> +<line>,<count> @@`, where a count of one may be left out.
fn hunk(line: &[u8]) -> Place {
    let count = |range: Option<&[u8]>| {
        let count = range?.split_once_str(",").map(|(_, count)| count);
        count.map_or(Some(1), |count| count.to_str().ok()?.parse().ok())
    };
    let mut ranges = line[b"@@ -".len()..].split(|byte| matches!(byte, b' ' | b'+')).filter(|range| !range.is_empty());
    match (count(ranges.next()), count(ranges.next())) {
        (Some(before), Some(after)) => Place::Hunk(before, after),
        _ => Place::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As git diff-tree prints it.
    const PATCHES: &str = include_str!("../../tests/fixtures/patches");

    /// The ids are git's.
    #[test]
    fn ids_are_those_of_git() {
        let ids = hash_patches(PATCHES.as_bytes(), HashKind::Sha1).expect("readable");
        let mut ids: Vec<String> = ids.iter().map(|(commit, id)| format!("{commit} {id}")).collect();
        ids.sort();
        assert_eq!(
            ids,
            [
                "0ced79ffa7f9e4e13e344e8fa57c6fbe0d9ae4bc 6256dbf1e697dde15e563bee34b6ac60ed944bf0",
                "678b0e906dca3ff17eb23ae7131c37e261755d34 8c6ab25ad5949b957af0a26e74bc3b15fc3e366f",
                "7e1dbb6db0359f6f99f23e3ac717baf409ea2d36 ee64029de70d208ec4cdcfad597a9ae19ec02d33",
                "afb6af1d0e1d0d0112cc4196ba21cdbb390bd618 389a914c4e935124b4ac19ca872e638a53e5228b",
            ]
        );
    }

    #[rstest::rstest]
    #[case::nothing("")]
    #[case::of_no_commit("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n")]
    #[case::of_an_empty_commit("678b0e906dca3ff17eb23ae7131c37e261755d34\n")]
    fn a_commit_without_a_patch_has_no_patch_id(#[case] patches: &str) {
        assert_eq!(hash_patches(patches.as_bytes(), HashKind::Sha1).expect("readable"), HashMap::new());
    }
}
