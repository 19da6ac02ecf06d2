//! Commits that change paths.

use std::{collections::HashMap, ops::ControlFlow};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Repo,
    revision::{lines, walk},
};
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Returns the newest `most` commits, without merges, that change any of `paths`, or without paths anything, of those that `tips` are or lead to, or without
    /// tips, of those that are reachable from HEADs and refs.
    pub(crate) fn commits_touching(
        &self,
        paths: &[&BStr],
        tips: &[ObjectId],
        exclude: &[String],
        most: usize,
    ) -> Result<Vec<ObjectId>> {
        let limit = format!("--max-count={most}");
        let start = ["--literal-pathspecs", "rev-list", "--no-merges", "--full-history", &limit];
        let Some((arguments, input)) = walk_of_paths(&start, paths, tips, exclude) else { return Ok(Vec::new()) };
        let output = self.run_git(&arguments, Some(&input))?;
        Ok(output.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
    }

    /// Returns the newest `most` commits that `tips` are or lead to, and `since` do not, without merges; with `paths`, those that change
    /// any of these.
    pub(crate) fn commits_since(
        &self,
        since: &[ObjectId],
        tips: &[ObjectId],
        paths: &[&BStr],
        most: usize,
    ) -> Result<Vec<ObjectId>> {
        let limit = format!("--max-count={most}");
        // A purge may have removed some of `since`.
        let words = ["--literal-pathspecs", "rev-list", "--no-merges", "--ignore-missing", &limit, "--stdin"];
        let mut input = lines(tips).into_bytes();
        input.extend(since.iter().flat_map(|since| format!("^{since}\n").into_bytes()));
        input.extend(after_dashes(paths));
        let output = self.run_git(&words, Some(&input))?;
        Ok(output.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
    }

    /// Returns the same of each path by itself, its newest `most`, and which of `paths` each commit changes. Git ends once that is known: a
    /// file of an old repository may have many thousands of commits.
    pub(crate) fn commits_touching_each(
        &self,
        paths: &[&BStr],
        tips: &[ObjectId],
        exclude: &[String],
        most: usize,
    ) -> Result<Vec<(ObjectId, Vec<BString>)>> {
        // No path of a tree begins with a slash.
        let start = [
            ["-c", "log.showRoot=true", "--literal-pathspecs", "log", "--no-show-signature", "--no-color"].as_slice(),
            &["--no-merges", "--full-history", "--no-follow", "--no-renames", "--no-relative", "--name-only", "-z"],
            &["--format=/%H"],
        ];
        let Some((arguments, input)) = walk_of_paths(&start.concat(), paths, tips, exclude) else {
            return Ok(Vec::new());
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut counts: HashMap<&BStr, usize> = sayable(paths).map(|path| (path, 0)).collect();
        let mut found: Vec<(ObjectId, Vec<BString>)> = Vec::new();
        let (mut open, mut left, mut is_first) = (counts.len(), most.saturating_mul(counts.len()), false);
        self.fields_of_git(&arguments, &input, LONGEST_PATH, &mut |field| {
            if let Some(hex) = field.strip_prefix(b"/") {
                if open == 0 || left == 0 {
                    return Ok(ControlFlow::Break(()));
                }
                let id = ObjectId::from_hex(hex).context(Kind::Internal, || "cannot read 'git log'".to_owned())?;
                found.push((id, Vec::new()));
                (left, is_first) = (left - 1, true);
                return Ok(ControlFlow::Continue(()));
            }
            let path = if std::mem::take(&mut is_first) { field.strip_prefix(b"\n").unwrap_or(field) } else { field };
            // A directory may have had the name of a file: git lists its files, too.
            if let Some(((_, touched), count)) = found.last_mut().zip(counts.get_mut(path.as_bstr())) {
                *count += 1;
                open -= usize::from(*count == most);
                if *count <= most {
                    touched.push(path.into());
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        found.retain(|(_, touched)| !touched.is_empty());
        if left == 0 {
            // Those of other paths have taken the room.
            for path in counts.iter().filter(|(_, count)| **count < most).map(|(path, _)| *path) {
                for id in self.commits_touching(&[path], tips, exclude, most)? {
                    match found.iter_mut().find(|(known, _)| *known == id) {
                        Some((_, touched)) if touched.iter().any(|it| it == path) => {}
                        Some((_, touched)) => touched.push(path.to_owned()),
                        None => found.push((id, vec![path.to_owned()])),
                    }
                }
            }
        }
        Ok(found)
    }
}

/// No path of a tree that git can check out is longer.
const LONGEST_PATH: usize = 8 << 10;

/// Returns the arguments, and the input, with which git walks from `tips`, or without any as [`walk`] does, to commits that change one of
/// `paths`, or without any to all; none if there are some, and none of them can be passed.
fn walk_of_paths(
    start: &[&str],
    paths: &[&BStr],
    tips: &[ObjectId],
    exclude: &[String],
) -> Option<(Vec<String>, Vec<u8>)> {
    if !paths.is_empty() {
        sayable(paths).next()?;
    }
    let mut arguments = if tips.is_empty() {
        walk(start, exclude)
    } else {
        start.iter().map(|&word| word.to_owned()).chain(["--ignore-missing".to_owned()]).collect()
    };
    arguments.push("--stdin".into());
    let mut input = lines(tips).into_bytes();
    input.extend(after_dashes(paths));
    Some((arguments, input))
}

/// Returns `paths` for git's `--stdin`.
fn after_dashes(paths: &[&BStr]) -> Vec<u8> {
    let mut input = b"--\n".to_vec();
    for path in sayable(paths) {
        input.extend_from_slice(path);
        input.push(b'\n');
    }
    input
}

/// Returns those of `paths` that can be passed to git's `--stdin`: those without a line break.
fn sayable<'p>(paths: &[&'p BStr]) -> impl Iterator<Item = &'p BStr> {
    paths.iter().copied().filter(|path| !path.contains(&b'\n'))
}
