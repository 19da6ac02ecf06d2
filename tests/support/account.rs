//! Whether everything that sessions did is accounted for: work in shadows, archives and records, and a record for each
//! commit that promises one.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use git_checkpoint::{
    Context,
    testing::{
        model::record::{RecordId, ids_in_message},
        ops::records,
        repo,
    },
};
use gix::ObjectId;

use super::World;

/// Git's lock files of running commands: after killing git, the user has to remove them.
const LOCKS_OF_GIT: [&str; 5] =
    ["index.lock", "HEAD.lock", "AUTO_MERGE.lock", "refs/heads/main.lock", "refs/heads/side.lock"];

impl World {
    /// Returns the library opened on the worktree at `root`.
    pub(crate) fn context_at(root: &Path) -> Context {
        Context::open(root).expect("the repository opens")
    }

    /// Checks that each commit of a branch has the records it names, that each record has one commit, and that nothing is
    /// left half done; returns the records by their commits.
    pub(crate) fn assert_accounted(&self, when: &str) -> BTreeMap<ObjectId, Vec<RecordId>> {
        self.assert_sound(when);
        let context = Self::context_at(&self.repo());
        let repo = repo(&context);
        let all = records::all(repo).expect("sound");
        let mut by_commit: BTreeMap<ObjectId, Vec<RecordId>> = BTreeMap::new();
        for id in &all {
            let record = records::find(repo, id).expect("sound").expect("it is there");
            by_commit.entry(record.commit).or_default().push(*id);
            let links = records::links(repo, id).expect("sound");
            assert!(links.iter().any(|link| link.commit == record.commit), "{when}: {id} is linked");
        }
        for (commit, ids) in &by_commit {
            assert_eq!(ids.len(), 1, "{when}: {commit} has one record: {ids:?}");
        }
        for entry in self.git(&["log", "-z", "--branches", "--format=%H%n%B"]).split_terminator('\0') {
            let (commit, message) = entry.split_once('\n').expect("an id, and the message");
            let commit = ObjectId::from_hex(commit.as_bytes()).expect("an id");
            let named: BTreeSet<RecordId> = ids_in_message(message.as_bytes()).into_iter().collect();
            for id in &named {
                assert!(all.contains(id), "{when}: {commit} names {id}, and there is no such record");
            }
            let found: BTreeSet<RecordId> = records::of_commit(repo, commit).expect("sound").into_iter().collect();
            assert!(found.is_superset(&named), "{when}: {commit}");
        }
        by_commit
    }

    /// Checks that nothing is left of processes that died in the worktrees with these git directories.
    pub(crate) fn assert_tidy(&self, when: &str, git_dirs: &[PathBuf]) {
        for git_dir in git_dirs {
            let note = git_dir.join("checkpoint/commit.toml");
            let note = std::fs::read_to_string(&note).unwrap_or_default();
            assert!(!promises_something(&note), "{when}: {note}");
        }
        let is_of_git = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // `git commit` leaves maintenance running behind it.
            name == "maintenance.lock" || name.strip_prefix("tmp_obj_").is_some_and(|rest| rest.len() == 6)
        };
        let left: Vec<PathBuf> = self.leftovers().into_iter().filter(|path| !is_of_git(path)).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{when}: nothing is left behind");
    }

    /// Removes what git leaves when it is killed, as its user has to.
    pub(crate) fn unlock_git(&self) {
        for name in LOCKS_OF_GIT {
            drop(std::fs::remove_file(self.repo().join(".git").join(name)));
        }
    }
}

/// Returns true if `note`, the text of a `commit.toml`, promises a commit more than that nothing needs to be done for it.
pub(crate) fn promises_something(note: &str) -> bool {
    let says_nothing = |line: &str| line.is_empty() || line == "[[commit]]" || line.starts_with("head = ");
    !note.lines().all(says_nothing)
}
