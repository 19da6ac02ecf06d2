//! What must be so whatever happened: git finds nothing wrong, nothing of the user's has moved, nothing is left behind, and
//! everything that sessions did is accounted for: work in shadows, archives and records, and a record for each commit that
//! promises one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
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

/// What no operation may move: HEAD, index, config, the refs and reflogs of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts(BTreeMap<String, String>);

impl World {
    /// Returns what must be the same afterwards.
    pub(crate) fn facts(&self) -> Facts {
        let mut facts = BTreeMap::new();
        let git_dir = self.repo().join(".git");
        let refs = if git_dir.join("reftable").exists() {
            self.git(&["for-each-ref", "--format=%(objectname) %(refname)"])
        } else {
            refs_below(&git_dir)
        };
        facts.extend(refs.lines().filter_map(|line| {
            let (value, name) = line.rsplit_once(' ')?;
            (!name.starts_with("refs/checkpoints/")).then(|| (name.to_owned(), value.to_owned()))
        }));
        for name in ["HEAD", "index", "config", "ORIG_HEAD", "info/exclude"] {
            facts.insert(name.to_owned(), format!("{:?}", fs::read(git_dir.join(name)).ok()));
        }
        for path in files_below(&git_dir.join("logs")) {
            facts.insert(path.display().to_string(), fs::read_to_string(&path).expect("a reflog is text"));
        }
        Facts(facts)
    }

    /// Returns a command that lets git look through the repository with its objects in the directory `objects`.
    ///
    /// Where there is no commit-graph and no multi-pack-index, it does not start the two processes that would only see that.
    pub(crate) fn fsck(&self, objects: &Path, settings: &[&str]) -> Command {
        let verified = ["info/commit-graph", "info/commit-graphs", "pack/multi-pack-index", "pack/multi-pack-index.d"];
        let is_plain = objects.join("pack").is_dir() && !objects.join("info/alternates").exists();
        let mut command = self.command("git");
        if is_plain && !verified.iter().any(|name| objects.join(name).exists()) {
            command.args(["-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"]);
        }
        command.args(settings.iter().flat_map(|setting| ["-c", setting]));
        command.args(["fsck", "--strict", "--no-dangling", "--no-progress"]);
        command
    }

    /// Checks that git finds nothing wrong.
    pub(crate) fn assert_sound(&self, when: &str) {
        let output = self.fsck(&self.repo().join(".git/objects"), &[]).output().expect("git runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let is_quiet = said.lines().all(|line| line.starts_with("notice: "));
        assert!(output.status.success() && is_quiet, "{when}: {said}");
    }

    /// Returns all files that look like something left behind: temporary ones, the locks of git, and the notes of ours.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let names = ["lock", "repack.lock", "hooks.lock", "records.lock", "events.lock", "agents.lock"];
        let ours = |path: &Path| names.iter().any(|name| path.ends_with(format!("checkpoint/{name}")));
        let is_left = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let ends = [".lock", ".keep", ".tmp"].iter().any(|end| name.ends_with(end));
            let begins = ["tmp_", ".tmp", ".git-checkpoint-"].iter().any(|start| name.starts_with(start));
            let is_note = path.parent().is_some_and(|directory| directory.ends_with("checkpoint/locks"));
            (ends || begins || is_note) && !ours(path)
        };
        files_below(&self.repo()).into_iter().filter(is_left).collect()
    }

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

/// Returns the refs in the files of `git_dir`, as lines of values and names; packed ones first, for loose ones count more.
fn refs_below(git_dir: &Path) -> String {
    let packed = fs::read_to_string(git_dir.join("packed-refs")).unwrap_or_default();
    let mut refs: String =
        packed.lines().filter(|line| !line.starts_with(['#', '^'])).map(|line| format!("{line}\n")).collect();
    for path in files_below(&git_dir.join("refs")).iter().filter(|path| path.extension() != Some("lock".as_ref())) {
        let name = path.strip_prefix(git_dir).expect("it is below").display();
        refs += &format!("{} {name}\n", String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).trim_end());
    }
    refs
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory { directories.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort();
    files
}
