//! Finds where a line is, or was: runs git-grep(1) and git-log(1).

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::Repo;
use crate::error::Result;

/// A longer line is not looked for: it is an argument of a program.
pub(crate) const LONGEST_LINE: usize = 1_000;
/// How many commits are searched for one that has removed the line.
const MOST_COMMITS: usize = 100;

impl Repo {
    /// Returns the text files of `commit` that contain `line`; none if git cannot look for it.
    pub(crate) fn files_with_line(&self, commit: ObjectId, line: &[u8]) -> Result<Vec<BString>> {
        self.files_with_lines(commit, &[line])
    }

    /// Returns the text files of `commit` that contain one of `lines`, of those that git can look for.
    pub(crate) fn files_with_lines(&self, commit: ObjectId, lines: &[&[u8]]) -> Result<Vec<BString>> {
        let lines: Vec<&&[u8]> = lines.iter().filter(|line| is_argument(line)).collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let options = ["grep", "-l", "-z", "-I", "-F", "--no-color", "--full-name", "--no-recurse-submodules"];
        let mut arguments: Vec<OsString> = options.map(Into::into).into();
        for line in lines {
            arguments.extend(["-e".into(), OsStr::from_bytes(line).to_owned()]);
        }
        arguments.extend([commit.to_string().into(), "--".into()]);
        let output = self.try_git(&arguments, None)?;
        let prefix = format!("{commit}:");
        let names = output.stdout.split_str("\0").filter_map(|name| name.strip_prefix(prefix.as_bytes()));
        Ok(names.map(Into::into).collect())
    }

    /// Returns the newest commit that changed how often a file contains `line`. Looks at `commit` and at 100 commits before it, along the
    /// first parents.
    pub(crate) fn last_change_of_line(&self, commit: ObjectId, line: &[u8]) -> Result<Option<ObjectId>> {
        if !is_argument(line) {
            return Ok(None);
        }
        let mut searched = OsString::from("-S");
        searched.push(OsStr::from_bytes(line));
        let oldest = format!("^{commit}~{MOST_COMMITS}");
        let of = |oldest: Option<&str>| {
            let options = [
                "log",
                "-1",
                "--first-parent",
                "-m",
                "--no-renames",
                "--no-textconv",
                "--no-ext-diff",
                "--no-show-signature",
                "--format=%H",
            ];
            let mut arguments: Vec<OsString> = options.map(Into::into).into();
            arguments.extend([searched.clone(), commit.to_string().into()]);
            arguments.extend(oldest.map(Into::into));
            arguments.push("--".into());
            self.try_git(&arguments, None)
        };
        let found = match of(Some(&oldest))? {
            output if output.status.success() => output,
            // The history is shorter.
            _ => of(None)?,
        };
        Ok(ObjectId::from_hex(found.stdout.lines().next().unwrap_or_default()).ok())
    }
}

fn is_argument(line: &[u8]) -> bool {
    !line.is_empty() && line.len() <= LONGEST_LINE && !line.contains(&0)
}
