//! The user's own commits: which one a text names, which are reachable, what they change.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
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

/// The headers of a commit that people read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) id: ObjectId,
    /// The author's name, as the mailmap has it.
    pub(crate) author: String,
    /// When the author wrote it, in Unix seconds.
    pub(crate) seconds: i64,
    /// The author's offset from UTC, in seconds.
    pub(crate) offset: i32,
    /// The first paragraph of the message, on one line.
    pub(crate) subject: String,
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

    /// Returns the moment, in Unix seconds, that git reads `text` as where it takes a date (`--since`), when it is `clock`; none if
    /// that cannot be asked. Git takes a text without a date for the present moment.
    pub(crate) fn approximate_date(&self, text: &str, clock: i64) -> Result<Option<i64>> {
        if text.trim().is_empty() || text.contains('\0') {
            return Ok(None);
        }
        let output = self.try_git_at(&["rev-parse", &format!("--since={text}")], clock)?;
        let seconds = output.stdout.trim().strip_prefix(b"--max-age=");
        Ok(seconds.and_then(|it| it.to_str().ok()?.parse().ok()))
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

    /// Returns the headers of `commits`, in their order; without those that are no commits here.
    pub(crate) fn headers_of(&self, commits: &[ObjectId]) -> Result<Vec<Header>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let walk = ["log", "--no-show-signature", "--ignore-missing", "--no-walk=unsorted", "--no-patch", "-z"];
        let format = ["--encoding=UTF-8", "--date=raw", "--format=%H%n%aN%n%ad%n%s", "--stdin"];
        let output = self.run_git(&[&walk[..], &format].concat(), Some(lines(commits).as_bytes()))?;
        Ok(output.split_str("\0").filter_map(header).collect())
    }

    /// Returns those of `commits` that are reachable from HEAD, a branch or a tag, newest first.
    pub(crate) fn reachable_of(&self, commits: &[ObjectId]) -> Result<Vec<ObjectId>> {
        fn ids<C: FromIterator<ObjectId>>(output: &BString) -> C {
            output.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect()
        }

        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let input = lines(commits);
        let start = ["rev-list", "--ignore-missing", "--stdin", "--not", "--branches", "--remotes", "--tags", "HEAD"];
        let left: HashSet<ObjectId> = ids(&self.run_git(&start, Some(input.as_bytes()))?);
        let sorted = ["rev-list", "--ignore-missing", "--no-walk=sorted", "--stdin"];
        let mut found: Vec<ObjectId> = ids(&self.run_git(&sorted, Some(input.as_bytes()))?);
        found.retain(|id| !left.contains(id));
        Ok(found)
    }

    /// Returns the oldest commit of `ids`, the commits of the range `text`, where a shallow clone ends the range although the
    /// commit has parents that belong to it; none if the range is whole. Of a single commit, that needs no parents.
    pub(crate) fn cut_off(&self, text: &str, ids: &[ObjectId]) -> Result<Option<ObjectId>> {
        let what = || "cannot read where the shallow clone begins".into();
        let Some(first) = self.inner.shallow_commits().context(Kind::Corrupt, what)? else { return Ok(None) };
        let first: HashSet<&ObjectId> = first.iter().collect();
        for id in ids.iter().rev().filter(|id| first.contains(id) && !text.ends_with("^!")) {
            let parents = self.written_parents_of(*id)?.iter().map(ToString::to_string).collect::<Vec<_>>();
            // If all its parents are excluded, they add nothing. An object that is missing is an error of git.
            let words = ["rev-list", "--count", "--end-of-options", text].map(str::to_owned);
            let words: Vec<String> = words.into_iter().chain(parents).chain(["--".to_owned()]).collect();
            let counted = self.try_git(&words, None)?.stdout;
            if counted.trim().to_str().ok().and_then(|count| count.parse().ok()) != Some(ids.len()) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Returns the commits, or the tags, that the range `text` begins with, and those whose history it leaves out.
    pub(crate) fn ends_of(&self, text: &str) -> Result<(Vec<ObjectId>, Vec<ObjectId>)> {
        let output = self.run_git(&["rev-parse", "--revs-only", "--end-of-options", text], None)?;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for line in output.lines() {
            let (hex, ids) = line.strip_prefix(b"^").map_or((line, &mut with), |hex| (hex, &mut without));
            ids.extend(ObjectId::from_hex(hex.trim()).ok());
        }
        Ok((with, without))
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

    /// Returns those of `commits`, and of what they lead to, that none of `tips` is or leads to. A commit that is not here is among them.
    pub(crate) fn outside_of(&self, tips: &[ObjectId], commits: &[ObjectId]) -> Result<HashSet<ObjectId>> {
        let (mut outside, mut here) = (HashSet::new(), Vec::new());
        for commit in commits {
            if self.is_commit(*commit)? {
                here.push(*commit);
            } else {
                outside.insert(*commit);
            }
        }
        if !here.is_empty() {
            let mut input = lines(&here);
            input.extend(tips.iter().map(|tip| format!("^{tip}\n")));
            let output = self.run_git(&["rev-list", "--ignore-missing", "--stdin"], Some(input.as_bytes()))?;
            outside.extend(output.lines().filter_map(|line| ObjectId::from_hex(line).ok()));
        }
        Ok(outside)
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

fn header(entry: &[u8]) -> Option<Header> {
    let mut fields = entry.splitn_str(4, "\n");
    let id = ObjectId::from_hex(fields.next()?.trim()).ok()?;
    let author = fields.next()?.to_str_lossy().into_owned();
    let (seconds, zone) = fields.next()?.to_str().ok()?.split_once(' ')?;
    let zone: i32 = zone.parse().ok()?;
    Some(Header {
        id,
        author,
        seconds: seconds.parse().ok()?,
        offset: (zone / 100 * 60 + zone % 100) * 60,
        subject: fields.next()?.trim_end().to_str_lossy().into_owned(),
    })
}

pub(super) fn walk(start: &[&str], exclude: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = start.iter().map(|&word| word.to_owned()).collect();
    arguments.extend(exclude.iter().map(|glob| format!("--exclude={glob}")));
    // A ref that names nothing leads to nothing.
    arguments.extend(["--ignore-missing".into(), "--all".into()]);
    arguments
}

pub(super) fn lines(ids: &[ObjectId]) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}
