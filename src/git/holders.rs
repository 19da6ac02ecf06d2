//! Which objects lead where: those behind our refs, and those that the user's branches, tags, reflogs and indices hold.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, presence::may_exist};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{path_text, refname},
};

/// Lets git go on where an object is missing: in a partial clone, or where a damaged checkpoint was set aside.
const MAY_MISS: &str = "--missing=allow-any";

/// The tree that a merge with conflicts has written to the worktree: it is a ref that `--all` does not have.
const AUTO_MERGE: &str = "AUTO_MERGE";

/// What to do about a worktree whose files of git are damaged.
const DAMAGED: &str = "'git worktree list' shows the worktrees; repair its HEAD, or remove the worktree";

/// Returns `words` for git after those that name the git directory.
pub(super) fn of_git_dir<'w>(git_dir: &'w Path, words: &[&'w str]) -> Vec<&'w OsStr> {
    let of = [OsStr::new("--git-dir"), git_dir.as_os_str()];
    of.into_iter().chain(words.iter().map(|word| OsStr::new(*word))).collect()
}

impl Repo {
    /// Returns all commits that are stored, reachable or not.
    pub(crate) fn all_commits(&self) -> Result<Vec<ObjectId>> {
        self.all_of_kind(b" commit", None)
    }

    /// Returns all blobs that are stored, reachable or not.
    pub(crate) fn all_blobs(&self) -> Result<HashSet<ObjectId>> {
        Ok(self.all_of_kind(b" blob", None)?.into_iter().collect())
    }

    /// Returns all trees that are stored, reachable or not.
    pub(crate) fn all_trees(&self) -> Result<Vec<ObjectId>> {
        self.all_of_kind(b" tree", None)
    }

    /// Returns all annotated tags that are stored, reachable or not.
    pub(crate) fn all_tags(&self) -> Result<Vec<ObjectId>> {
        self.all_of_kind(b" tag", None)
    }

    fn all_of_kind(&self, kind: &[u8], beside: Option<&Path>) -> Result<Vec<ObjectId>> {
        let format = "--batch-check=%(objectname) %(objecttype)";
        let arguments = ["cat-file", "--batch-all-objects", "--unordered", "--buffer", format];
        let listed = self.run_git_with_objects(&arguments, b"", beside)?;
        Ok(listed.lines().filter_map(|line| ObjectId::from_hex(line.strip_suffix(kind)?).ok()).collect())
    }

    /// Returns the objects behind the commits `tips`, these included, each with a path of it; that of a commit is empty. With
    /// `ours` (a prefix), leaves out many that another ref leads to, but not all.
    pub(crate) fn objects_behind(&self, tips: &[ObjectId], ours: Option<&str>) -> Result<HashMap<ObjectId, BString>> {
        let input = lines(tips.iter());
        let exclude = ours.map(|ours| format!("--exclude={ours}*"));
        let mut arguments = vec!["rev-list", "--objects", "--ignore-missing", MAY_MISS, "--stdin"];
        arguments.extend(exclude.iter().flat_map(|exclude| ["--not", exclude.as_str(), "--all"]));
        let listed = self.run_git(&arguments, Some(input.as_bytes()))?;
        let object = |line: &[u8]| {
            let (id, path) = line.split_once_str(" ").unwrap_or((line, b""));
            Some((ObjectId::from_hex(id).ok()?, BString::from(path)))
        };
        Ok(listed.lines().filter_map(object).collect())
    }

    /// Returns those of `wanted` that something holds: a ref, a HEAD, a reflog or an index of any worktree, or a commit,
    /// reachable or not, except the commits `own`. With `ours`, refs whose names begin so do not count, nor do their reflogs.
    /// `beside` is a directory with more objects.
    ///
    /// Each call lists the commits anew: the user may have made one that only a file of git names, such as an autostash.
    pub(crate) fn held(
        &self,
        wanted: &HashSet<ObjectId>,
        own: &HashSet<ObjectId>,
        ours: Option<&str>,
        beside: Option<&Path>,
    ) -> Result<HashSet<ObjectId>> {
        if wanted.is_empty() {
            return Ok(HashSet::new());
        }
        let commits = self.all_of_kind(b" commit", beside)?.into_iter().filter(|id| !own.contains(id)).collect();
        self.led_to(wanted, commits, ours, beside)
    }

    /// Returns those of `wanted` that a ref, a HEAD, a reflog or an index of any worktree leads to: a lost commit does not count.
    pub(crate) fn held_by_names(&self, wanted: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
        if wanted.is_empty() { Ok(HashSet::new()) } else { self.led_to(wanted, BTreeSet::new(), None, None) }
    }

    /// Returns the same, and those that the commits `tips` lead to.
    fn led_to(
        &self,
        wanted: &HashSet<ObjectId>,
        mut tips: BTreeSet<ObjectId>,
        ours: Option<&str>,
        beside: Option<&Path>,
    ) -> Result<HashSet<ObjectId>> {
        tips.extend(self.logged_ids(ours)?);
        tips.extend(self.refs_of_single_worktrees()?);
        if ours.is_none() {
            tips.extend(self.needed_to_undo()?);
        }
        let listed = self.list_reachable(&tips, ours, beside)?;
        if missing_in(&listed).next().is_some() {
            self.refuse_missing(beside)?;
        }
        let ids = listed.lines().filter_map(|line| ObjectId::from_hex(line).ok());
        Ok(ids.filter(|id| wanted.contains(id)).collect())
    }

    /// Lists the objects that the refs, HEADs and indices of all worktrees lead to, and the commits `tips`, as git prints them.
    /// With `ours`, refs whose names begin so do not count.
    fn list_reachable(&self, tips: &BTreeSet<ObjectId>, ours: Option<&str>, beside: Option<&Path>) -> Result<BString> {
        let exclude = ours.map(|ours| format!("--exclude={ours}*"));
        let mut arguments = vec!["rev-list", "--objects", "--no-object-names", "--ignore-missing", "--missing=print"];
        arguments.extend(exclude.as_deref());
        arguments.extend(["--all", "--indexed-objects", "--stdin"]);
        self.run_git_with_objects(&arguments, lines(tips.iter()).as_bytes(), beside)
    }

    /// Refuses if a ref, a reflog or an index of the user leads to a missing object: it is not known what that leads to.
    /// In a partial clone, git fetches such objects.
    fn refuse_missing(&self, beside: Option<&Path>) -> Result<()> {
        let packs = entries_of(&self.objects_path().join("pack"))?;
        if packs.iter().any(|path| path.extension().is_some_and(|end| end == "promisor")) {
            return Ok(());
        }
        let mut tips = self.logged_ids(Some(refname::PREFIX))?;
        tips.extend(self.refs_of_single_worktrees()?);
        match missing_in(&self.list_reachable(&tips, Some(refname::PREFIX), beside)?).next() {
            None => Ok(()),
            Some(id) => Err(Error::corrupt(format!("the object '{}' of this repository is missing", id.as_bstr()))
                .with_hint("'git fsck' shows what leads to it; nothing is removed before it is back")),
        }
    }

    /// Returns the git directories of all worktrees, the main one last.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub(crate) fn git_dirs(&self) -> Result<Vec<PathBuf>> {
        let mut git_dirs = entries_of(&self.common_dir().join("worktrees"))?;
        git_dirs.retain(|git_dir| git_dir.is_dir());
        git_dirs.push(self.common_dir().to_owned());
        Ok(git_dirs)
    }

    /// Returns what the refs lead to that each worktree has for itself (git-worktree(1)): `--all` has only those of this one.
    fn refs_of_single_worktrees(&self) -> Result<Vec<ObjectId>> {
        let mut ids = Vec::new();
        for git_dir in self.git_dirs()? {
            ids.extend(self.refs_of_single_worktree(&git_dir)?);
        }
        Ok(ids)
    }

    /// Returns the same of the worktree with the git directory `git_dir`.
    pub(super) fn refs_of_single_worktree(&self, git_dir: &Path) -> Result<Vec<ObjectId>> {
        // Without a HEAD, a worktree is not complete, and git does not look into it.
        if !may_exist(&git_dir.join("HEAD")) {
            return Ok(Vec::new());
        }
        let words = ["for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/bisect", "refs/rewritten"];
        let listed = self.run_git(&of_git_dir(git_dir, &words), None).map_err(|error| {
            let what = format!("cannot list the refs of the worktree in '{}'", git_dir.display());
            Error::corrupt(what).with_hint(DAMAGED).with_cause(error)
        })?;
        let mut ids: Vec<_> = listed.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()).collect();
        ids.extend(self.pseudo_ref(git_dir, AUTO_MERGE)?.map(|(_, id)| id));
        Ok(ids)
    }

    /// Returns the files below `root`, by their paths there, that git does not ignore. Git has registered no worktree there.
    pub(crate) fn not_ignored_below(&self, root: &Path) -> Result<Vec<BString>> {
        let words = ["ls-files", "--others", "--exclude-standard", "-z"];
        let what = || format!("cannot list the files in '{}'", root.display());
        let absolute = |path: &Path| fs::canonicalize(path).context(Kind::Internal, what);
        let (root, common) = (absolute(root)?, absolute(self.common_dir())?);
        let mut command = self.git(words);
        // Without an index, it lists them all.
        command.current_dir(&root).env("GIT_DIR", &common).env("GIT_WORK_TREE", &root);
        let output = command.env("GIT_INDEX_FILE", common.join("checkpoint/none")).output();
        let output = output.context(Kind::Internal, what)?;
        if !output.status.success() {
            return Err(Error::internal(what()).with_cause(output.stderr.trim().to_str_lossy().into_owned()));
        }
        Ok(output.stdout.split_str("\0").filter(|path| !path.is_empty()).map(BString::from).collect())
    }

    /// Refuses if a ref of the user names an object that is missing: it is not known what that leads to. Git only warns.
    pub(crate) fn refuse_lost_refs(&self) -> Result<()> {
        let mut refs = self.refs_below("refs/")?;
        refs.retain(|(name, _)| !name.starts_with(refname::PREFIX));
        for (name, id) in refs {
            if self.kind_of(id)?.is_none() {
                let name = path_text::printable(name.as_str().into());
                return Err(Error::corrupt(format!("'{name}' leads to the object '{id}', which is missing"))
                    .with_hint("bring it back, or delete the ref; nothing is removed before"));
            }
        }
        Ok(())
    }

    /// Returns the ids in the reflogs of all worktrees, except those of refs that begin with `ours`.
    fn logged_ids(&self, ours: Option<&str>) -> Result<BTreeSet<ObjectId>> {
        let mut ids = BTreeSet::new();
        for git_dir in self.git_dirs()? {
            ids.extend(self.logged_ids_in(&git_dir, ours)?);
        }
        Ok(ids)
    }

    /// Returns the same of the worktree with the git directory `git_dir`.
    pub(super) fn logged_ids_in(&self, git_dir: &Path, ours: Option<&str>) -> Result<BTreeSet<ObjectId>> {
        let mut ids = BTreeSet::new();
        if self.common_dir().join("reftable").exists() {
            let run = |words: &[&str]| self.run_git(&of_git_dir(git_dir, words), None);
            for name in run(&["reflog", "list"])?.lines() {
                let name = name.to_str_lossy();
                if ours.is_none_or(|ours| !name.starts_with(ours)) {
                    let listed = run(&["rev-list", "--walk-reflogs", &name])?;
                    ids.extend(listed.lines().filter_map(|line| ObjectId::from_hex(line).ok()));
                }
            }
            return Ok(ids);
        }
        let logs = git_dir.join("logs");
        for file in files_below(&logs)? {
            if ours.is_some_and(|ours| file.strip_prefix(&logs).is_ok_and(|name| name.starts_with(ours))) {
                continue;
            }
            let text = match fs::read(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read.context(Kind::Internal, || format!("cannot read '{}'", file.display()))?,
            };
            let of_line = |line: &[u8]| {
                line.split_str(" ").take(2).filter_map(|id| ObjectId::from_hex(id).ok()).collect::<Vec<_>>()
            };
            ids.extend(text.lines().flat_map(of_line).filter(|id| !id.is_null()));
        }
        Ok(ids)
    }

    /// Removes the reflogs of refs that begin with `ours`: they have the ids of what the refs led to.
    pub(crate) fn forget_logs(&self, ours: &str, names: &[String]) -> Result<()> {
        if self.common_dir().join("reftable").exists() {
            for name in names {
                self.try_git(&["reflog", "expire", "--expire=all", name], None)?;
            }
        }
        match fs::remove_dir_all(self.common_dir().join("logs").join(ours)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::internal(format!("cannot remove the reflogs of '{ours}'")).with_cause(error))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the ids of missing objects in what git has listed.
fn missing_in(listed: &BString) -> impl Iterator<Item = &[u8]> {
    listed.lines().filter_map(|line| line.strip_prefix(b"?"))
}

fn lines<'i>(ids: impl Iterator<Item = &'i ObjectId>) -> String {
    ids.map(|id| format!("{id}\n")).collect()
}

/// Returns all that is below `directory` and is no directory; does not follow links. What is gone meanwhile is not there.
///
/// # Errors
/// If a directory cannot be read: it may have anything.
pub(crate) fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries_of(directory)? {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => files.extend(files_below(&path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => {
                read.context(Kind::Internal, || format!("cannot look at '{}'", path.display()))?;
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the same without what is in `left`, an entry of `directory`.
pub(crate) fn files_below_without(directory: &Path, left: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries_of(directory)?.into_iter().filter(|path| path != left) {
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns what is in `directory`; nothing if that is not there.
///
/// # Errors
/// If it cannot be read.
pub(super) fn entries_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let what = || format!("cannot read '{}'", directory.display());
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.context(Kind::Internal, what)?,
    };
    entries.map(|entry| Ok(entry.context(Kind::Internal, what)?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_not_taken_for_empty() {
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("a/b/file");
        fs::create_dir_all(root.path().join("a/b")).expect("a folder");
        fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink("nowhere", root.path().join("a/link")).expect("a link");
        let found = files_below(root.path()).expect("readable");
        assert_eq!(found, [file.clone(), root.path().join("a/link")]);
        assert_eq!(files_below(&root.path().join("missing")).expect("nothing"), Vec::<PathBuf>::new());
        assert!(files_below(&file).is_err(), "a file is no directory");
    }
}
