//! The user's own commits: which one a text names, which are reachable, what they change.

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::Repo;
use crate::error::{Context as _, Kind, Result};

/// A reachable commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reachable {
    pub(crate) id: ObjectId,
    pub(crate) tree_id: ObjectId,
    /// Its first parent.
    pub(crate) parent_id: Option<ObjectId>,
}

/// What a commit changes in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) commit: ObjectId,
    pub(crate) path: BString,
    /// The blob afterwards; none if it is deleted.
    pub(crate) after: Option<ObjectId>,
}

impl Repo {
    /// Returns true if the repository lacks the parents of some commits on purpose.
    pub(crate) fn is_shallow(&self) -> bool {
        self.inner.is_shallow().unwrap_or(false)
    }

    /// Returns the commit that `text` names as a revision (gitrevisions(7)).
    pub(crate) fn find_commit(&self, text: &str) -> Result<Option<ObjectId>> {
        if text.is_empty() || text.contains('\0') {
            return Ok(None);
        }
        let revision = format!("{text}^{{commit}}");
        let output = self.try_git(&["rev-parse", "--verify", "-q", "--end-of-options", &revision], None)?;
        Ok(output.status.success().then(|| ObjectId::from_hex(output.stdout.trim()).ok()).flatten())
    }

    /// Returns the moment, in Unix seconds, that git reads `text` as where it takes a date (`--since`); none if git finds nothing in
    /// it. Git takes that for the present moment, which is `now`.
    pub(crate) fn approximate_date(&self, text: &str, now: i64) -> Result<Option<i64>> {
        /// The clock goes on while git starts.
        const SLACK: i64 = 60;
        if text.trim().is_empty() || text.contains('\0') {
            return Ok(None);
        }
        let output = self.try_git(&["rev-parse", &format!("--since={text}")], None)?;
        let seconds = output.stdout.trim().strip_prefix(b"--max-age=").and_then(|it| it.to_str().ok()?.parse().ok());
        Ok(seconds.filter(|seconds: &i64| !(now..=now + SLACK).contains(seconds)))
    }

    /// Returns true if a remote-tracking branch contains the commit `id`.
    pub(crate) fn is_published(&self, id: ObjectId) -> Result<bool> {
        /// Clocks of different machines differ.
        const SLACK: i64 = 24 * 60 * 60;
        let tips = self.refs_below("refs/remotes/")?.into_iter().map(|(_, tip)| tip);
        self.reaches(tips.collect(), id, SLACK)
    }

    /// Returns true if one of `tips` is the commit `id` or has it as an ancestor; tips that are missing or no commits do not
    /// count. No descendant of `id` may be older than it by more than `slack` seconds.
    pub(crate) fn reaches(&self, mut tips: Vec<ObjectId>, id: ObjectId, slack: i64) -> Result<bool> {
        use gix::revision::walk::Sorting;
        use gix::traverse::commit::simple::CommitTimeOrder;
        let what = || format!("cannot look for descendants of '{id}'");
        if tips.contains(&id) {
            return Ok(true);
        }
        tips.retain(|tip| self.inner.try_find_header(*tip).is_ok_and(|it| it.is_some_and(|it| it.kind().is_commit())));
        if tips.is_empty() {
            return Ok(false);
        }
        let time = self.with_commit(id, |commit| commit.committer().ok().and_then(|it| it.time().ok()))?;
        let sorting = match time {
            Some(time) => {
                Sorting::ByCommitTimeCutoff { order: CommitTimeOrder::NewestFirst, seconds: time.seconds - slack }
            }
            None => Sorting::BreadthFirst,
        };
        let walk = self.inner.rev_walk(tips).sorting(sorting).all().context(Kind::Corrupt, what)?;
        for commit in walk {
            if commit.context(Kind::Corrupt, what)?.id == id {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the commits of the range `text` (git-rev-list(1)), newest first; none if it is no valid range.
    pub(crate) fn commits_in(&self, text: &str) -> Result<Option<Vec<ObjectId>>> {
        if text.is_empty() || text.contains('\0') {
            return Ok(None);
        }
        let output = self.try_git(&["rev-list", "--end-of-options", text, "--"], None)?;
        let ids = output.stdout.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok());
        Ok(output.status.success().then(|| ids.collect()))
    }

    /// Returns the newest `most` commits that `tip` is or leads to. Where a shallow clone ends, or something is damaged, the list ends.
    pub(crate) fn newest_commits(&self, tip: ObjectId, most: usize) -> Result<Vec<ObjectId>> {
        use gix::{revision::walk::Sorting, traverse::commit::simple::CommitTimeOrder};
        let newest_first = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.inner.rev_walk([tip]).sorting(newest_first).all();
        let walk = walk.context(Kind::Corrupt, || format!("cannot walk the commits of '{tip}'"))?;
        Ok(walk.map_while(std::result::Result::ok).take(most).map(|commit| commit.id).collect())
    }

    /// Returns the newest `most` commits reachable from HEADs and refs, except the refs that `exclude` (globs) matches.
    pub(crate) fn reachable(&self, exclude: &[String], most: usize) -> Result<Vec<Reachable>> {
        let limit = format!("--max-count={most}");
        let output =
            self.run_git(&walk(&["log", "--no-show-signature", "--format=%H %T %P", &limit], exclude), None)?;
        let parse = |line: &[u8]| {
            let mut ids = line.split_str(" ").map(|hex| ObjectId::from_hex(hex).ok());
            Some(Reachable { id: ids.next()??, tree_id: ids.next()??, parent_id: ids.next().flatten() })
        };
        Ok(output.lines().filter_map(parse).collect())
    }

    /// Returns the reachable commits that have a line beginning with `key` and a colon in their message, with the
    /// message.
    pub(crate) fn commits_with_key(&self, key: &str, exclude: &[String]) -> Result<Vec<(ObjectId, BString)>> {
        let grep = format!("--grep=^{key}:");
        let start = ["log", "--no-show-signature", "-i", "-E", &grep, "--encoding=UTF-8", "--format=%H%n%B%x00"];
        let output = self.run_git(&walk(&start, exclude), None)?;
        let parse = |entry: &[u8]| {
            let (hex, message) = entry.trim_start().split_once_str("\n")?;
            Some((ObjectId::from_hex(hex).ok()?, message.into()))
        };
        Ok(output.split_str("\0").filter_map(parse).collect())
    }

    /// Returns the newest `most` reachable commits, without merges, that change any of `paths`.
    pub(crate) fn commits_touching(&self, paths: &[&BStr], exclude: &[String], most: usize) -> Result<Vec<ObjectId>> {
        let limit = format!("--max-count={most}");
        let start = ["--literal-pathspecs", "rev-list", "--no-merges", "--full-history", &limit];
        let mut arguments = walk(&start, exclude);
        arguments.push("--stdin".into());
        let mut input = b"--\n".to_vec();
        // Paths with a line break cannot be passed; other paths of the same commit will find it.
        for path in paths.iter().filter(|path| !path.contains(&b'\n')) {
            input.extend_from_slice(path);
            input.push(b'\n');
        }
        let output = self.run_git(&arguments, Some(&input))?;
        Ok(output.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
    }

    /// Returns what `commits` change in files, compared with their first parents.
    pub(crate) fn steps_of(&self, commits: &[ObjectId]) -> Result<Vec<Step>> {
        let arguments = ["diff-tree", "--stdin", "--root", "-r", "-z", "--no-renames", "--no-abbrev"];
        let output = self.run_git(&arguments, Some(lines(commits).as_bytes()))?;
        let (mut steps, mut commit) = (Vec::new(), None);
        let mut fields = output.split_str("\0");
        while let Some(field) = fields.next() {
            // `:<mode> <mode> <before> <after> <status>`, or a commit.
            let Some(meta) = field.strip_prefix(b":") else {
                commit = ObjectId::from_hex(field.trim()).ok();
                continue;
            };
            let (Some(commit), Some(path)) = (commit, fields.next()) else { continue };
            let after = meta.split_str(" ").nth(3).and_then(|hex| ObjectId::from_hex(hex).ok());
            steps.push(Step { commit, path: path.into(), after: after.filter(|id| !id.is_null()) });
        }
        Ok(steps)
    }
}

fn walk(start: &[&str], exclude: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = start.iter().map(|&word| word.to_owned()).collect();
    arguments.extend(exclude.iter().map(|glob| format!("--exclude={glob}")));
    // A ref that names nothing leads to nothing.
    arguments.extend(["--ignore-missing".into(), "--all".into()]);
    arguments
}

fn lines(ids: &[ObjectId]) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}
