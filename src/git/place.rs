//! Where the user keeps an object: in a commit of a branch or of a reflog, or in one to which nothing leads.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::Repo;
use crate::{error::Result, model::refname};

/// How many commits that add or remove an object we look at.
const MOST_COMMITS: &str = "-10";

/// A commit that brings an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) commit: ObjectId,
    /// The path that the object has there.
    pub(crate) path: BString,
    pub(crate) holder: Holder,
}

/// What leads to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The ref with this short name.
    Ref(BString),
    /// A ref of ours with this name, and none of the user: the commit is the base of a checkpoint, or in the reflog of a removed
    /// worktree.
    Ours(BString),
    /// Only a reflog.
    Reflog,
    /// Nothing.
    Nothing,
}

impl Repo {
    /// Returns a commit that brings the object `id`, and is none of `own`; ours are the refs that begin with `ours`.
    pub(crate) fn place_of(&self, id: ObjectId, own: &HashSet<ObjectId>, ours: &str) -> Result<Option<Place>> {
        let exclude = format!("--exclude={ours}*");
        let (of_refs, of_logs) = ([exclude.as_str(), "--all"], ["--reflog"]);
        let lost = ["--stdin", "--not", exclude.as_str(), "--all", "--reflog"];
        let mut found = self.commit_with(id, own, &of_refs, None)?;
        let mut is_logged = false;
        if found.is_none() {
            found = self.commit_with(id, own, &of_logs, None)?;
            is_logged = found.is_some();
        }
        if found.is_none() {
            let commits = self.all_commits()?.into_iter().filter(|id| !own.contains(id));
            let input: String = commits.map(|id| format!("{id}\n")).collect();
            found = self.commit_with(id, own, &lost, Some(input.as_bytes()))?;
        }
        let Some((commit, path)) = found else { return Ok(None) };
        let holder = match (self.name_leading_to(commit, |name| !name.starts_with(ours))?, is_logged) {
            (Some(name), _) => Holder::Ref(name),
            (None, is_logged) => match self.our_name_leading_to(commit, ours)? {
                Some(name) => Holder::Ours(name),
                None if is_logged => Holder::Reflog,
                None => Holder::Nothing,
            },
        };
        Ok(Some(Place { commit, path, holder }))
    }

    /// Returns a ref of ours that leads to `commit`: that of a removed worktree only if there is no other.
    fn our_name_leading_to(&self, commit: ObjectId, ours: &str) -> Result<Option<BString>> {
        let of_removed = |name: &str| name.starts_with(refname::REMOVED_WORKTREES);
        match self.name_leading_to(commit, |name| name.starts_with(ours) && !of_removed(name))? {
            Some(name) => Ok(Some(name)),
            None => self.name_leading_to(commit, of_removed),
        }
    }

    /// Returns one of the commits behind `tips` that has the object `id`, and its path there; leaves out those of `own`.
    fn commit_with(
        &self,
        id: ObjectId,
        own: &HashSet<ObjectId>,
        tips: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Option<(ObjectId, BString)>> {
        let find = format!("--find-object={id}");
        let mut arguments = vec!["log", MOST_COMMITS, "--format=%H", &find, "-m", "--root"];
        arguments.extend(tips);
        let found = self.try_git(&arguments, input)?;
        // Git also names the commit that takes the object away.
        for commit in found.stdout.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()) {
            if own.contains(&commit) {
                continue;
            }
            let tree = self.run_git(&["ls-tree", "-r", "-z", &commit.to_string()], None)?;
            let entry = format!(" {id}");
            let mut entries = tree.split_str("\0").filter_map(|line| line.split_once_str("\t"));
            if let Some((_, path)) = entries.find(|(about, _)| about.ends_with(entry.as_bytes())) {
                return Ok(Some((commit, BString::from(path))));
            }
        }
        Ok(None)
    }

    /// Returns the short name of a ref that leads to `commit` and whose name `is_wanted`.
    pub(crate) fn name_leading_to(
        &self,
        commit: ObjectId,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<BString>> {
        let contains = format!("--contains={commit}");
        let listed = self.try_git(&["for-each-ref", "--format=%(refname:short)%00%(refname)", &contains], None)?;
        let mut names = listed.stdout.lines().filter_map(|line| line.split_once_str("\0"));
        let name = names.find(|(_, full)| is_wanted(&full.to_str_lossy()));
        Ok(name.map(|(short, _)| short.as_bstr().to_owned()))
    }
}
