//! Refs: read them, and change several at once, each with its expected old value.

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Head, Repo, ref_store::RefStore};
use crate::error::{Context as _, Error, Kind, Result};

/// A change of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The full name.
    pub name: String,
    /// The expected old value; none: the ref must not exist.
    pub old: Option<ObjectId>,
    /// The new value; none: delete the ref.
    pub new: Option<ObjectId>,
}

impl Repo {
    /// Returns what HEAD points to now.
    pub(super) fn head_now(&self) -> Result<Head> {
        match self.ref_store {
            RefStore::Files => self.head_in_files(),
            RefStore::Git => {
                let branch = self.try_git(&["symbolic-ref", "-q", "HEAD"], None)?;
                let branch = branch.status.success().then(|| branch.stdout.trim().into());
                Ok(Head { id: self.find_ref("HEAD")?, branch })
            }
        }
    }

    /// Returns what the ref `name` points to, without peeling tags.
    pub fn find_ref(&self, name: &str) -> Result<Option<ObjectId>> {
        match self.ref_store {
            RefStore::Files => self.find_ref_in_files(name),
            RefStore::Git => {
                let output = self.try_git(&["rev-parse", "--verify", "-q", "--end-of-options", name], None)?;
                if !output.status.success() {
                    return Ok(None);
                }
                ObjectId::from_hex(output.stdout.trim())
                    .map(Some)
                    .context(Kind::Internal, || format!("git's id of '{name}' is none"))
            }
        }
    }

    /// Returns all refs whose names begin with `prefix` (which ends in `/`), with their values, sorted by name.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        match self.ref_store {
            RefStore::Files => self.refs_below_in_files(prefix),
            RefStore::Git => {
                let output = self.run_git(&["for-each-ref", "--format=%(objectname) %(refname)", prefix], None)?;
                let parse = |line: &str| {
                    let (id, name) = line.split_once(' ')?;
                    Some((name.to_owned(), ObjectId::from_hex(id.as_bytes()).ok()?))
                };
                Ok(output.to_str_lossy().lines().filter_map(parse).collect())
            }
        }
    }

    /// Returns the refs below `prefix`, with their values; leaves out malformed ones.
    pub(crate) fn sound_refs(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let refs = self.sound_and_broken_refs(prefix)?;
        Ok(refs.into_iter().filter_map(|(name, id)| Some((name, id?))).collect())
    }

    /// Returns the refs below `prefix`, with their values; none for a malformed value.
    pub(crate) fn sound_and_broken_refs(&self, prefix: &str) -> Result<Vec<(String, Option<ObjectId>)>> {
        let output = self.try_git(&["for-each-ref", "--format=%(objectname) %(refname)", prefix], None)?;
        let parse = |line: &[u8]| {
            let (id, name) = line.to_str().ok()?.split_once(' ')?;
            Some((name.to_owned(), ObjectId::from_hex(id.as_bytes()).ok()))
        };
        let said = output.stderr.to_str_lossy();
        let broken = said.lines().filter_map(|line| line.split_once("ignoring broken ref "));
        let broken = broken.map(|(_, name)| (name.to_owned(), None));
        Ok(output.stdout.lines().filter_map(parse).chain(broken).collect())
    }

    /// Returns the names of all refs directly in `prefix` (which ends in `/`), in no order, without reading their
    /// values.
    pub(crate) fn ref_names_below(&self, prefix: &str) -> Result<Vec<String>> {
        let mut names = match self.ref_store {
            RefStore::Files => self.ref_names_below_in_files(prefix)?,
            RefStore::Git => self.refs_below(prefix)?.into_iter().map(|(name, _)| name).collect(),
        };
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Carries out all of `updates` or none, and records them in the operation log.
    ///
    /// # Errors
    /// [`Kind::Race`] if a ref is not as expected or is locked by another process.
    pub fn update_refs(&self, updates: &[RefUpdate]) -> Result<()> {
        self.update_and_record(updates)
    }

    /// Carries out all of `updates` or none.
    pub(super) fn move_refs(&self, updates: &[RefUpdate]) -> Result<()> {
        self.remove_dead_locks();
        // A process that lists refs at this moment may see the object under neither name.
        for gone in updates.iter().filter(|update| update.new.is_none()) {
            if let Some(id) = gone.old.filter(|id| updates.iter().any(|update| update.new == Some(*id))) {
                self.renew(id);
            }
        }
        // If the user wants a reflog for every ref, git updates them.
        let is_logged =
            || self.config_value("core.logAllRefUpdates").is_some_and(|value| value.eq_ignore_ascii_case(b"always"));
        if self.ref_store == RefStore::Files && !is_logged() && self.update_refs_in_files(updates)? {
            return Ok(());
        }
        self.update_refs_by_git(updates)
    }

    pub(super) fn update_refs_by_git(&self, updates: &[RefUpdate]) -> Result<()> {
        let zero = ObjectId::null(self.object_hash());
        let mut input = String::from("start\n");
        for update in updates {
            let old = update.old.unwrap_or(zero);
            match update.new {
                Some(new) => input.push_str(&format!("update {} {new} {old}\n", update.name)),
                None => input.push_str(&format!("delete {} {old}\n", update.name)),
            }
        }
        input.push_str("prepare\ncommit\n");
        let output = self.try_git(&["update-ref", "--stdin", "--no-deref"], Some(input.as_bytes()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = output.stderr.trim().to_str_lossy().into_owned();
        let kind = if is_race(&said) { Kind::Race } else { Kind::Internal };
        Err(Error::new(kind, "cannot update the refs of checkpoints").with_cause(said))
    }
}

/// Returns true if git-update-ref(1), which has one exit code for all failures, `said` that a ref is locked or not as
/// expected (refs.c, refs/files-backend.c, reftable/error.c).
fn is_race(said: &str) -> bool {
    const SAYINGS: [&str; 8] = [
        // A concurrent `git prune` removed the object; it will be written again.
        "nonexistent object",
        "but expected",
        "reference already exists",
        "unable to resolve reference",
        "reference is missing",
        "File exists",
        "data is locked",
        "data concurrently modified",
    ];
    SAYINGS.iter().any(|saying| said.contains(saying))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, process as run, sync::atomic::Ordering};

    use super::*;
    use crate::git::new_objects::{NewObjects, Target as StoreAs};

    fn repository(extra: &[&str]) -> (tempfile::TempDir, Repo) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
        let status = run::Command::new("git").args(["init", "-q"]).args(extra).arg(directory.path()).status();
        assert!(status.expect("git runs").success());
        let repo = Repo::open(directory.path()).expect("a repository");
        (directory, repo)
    }

    fn update(name: &str, old: Option<ObjectId>, new: ObjectId) -> [RefUpdate; 1] {
        [RefUpdate { name: name.into(), old, new: Some(new) }]
    }

    #[rstest::rstest]
    #[case::files(&[])]
    #[case::reftable(&["--ref-format=reftable"])]
    fn a_ref_that_others_changed_is_a_race(#[case] format: &[&str]) {
        let (_directory, repo) = repository(format);
        // Git requires the object to exist.
        let mut objects = NewObjects::new(&repo, StoreAs::Loose);
        let id = objects.add(gix::objs::Kind::Blob, b"a").expect("it can be written");
        let other = objects.add(gix::objs::Kind::Blob, b"b").expect("it can be written");
        drop(objects.write().expect("they can be written"));
        let name = "refs/x/ours/tags/a";
        repo.update_refs(&update(name, None, id)).expect("it is new");
        for update in [update(name, None, other), update(name, Some(other), other), update("refs/x/y", Some(id), other)]
        {
            let error = repo.update_refs(&update).expect_err("it is not as expected");
            assert_eq!(error.kind(), Kind::Race, "{:?}", error.causes());
        }
        let error = repo.update_refs(&update("refs/x/ours/a..b", None, id)).expect_err("no ref name");
        assert_eq!(error.kind(), Kind::Internal, "{:?}", error.causes());
    }

    /// The second of two updates fails after the first one is written.
    #[test]
    fn all_refs_move_or_none() {
        let (directory, repo) = repository(&[]);
        let mut objects = NewObjects::new(&repo, StoreAs::Loose);
        let [old, new] = [b"a", b"b"].map(|text| objects.add(gix::objs::Kind::Blob, text).expect("it can be written"));
        drop(objects.write().expect("they can be written"));
        repo.update_refs(&update("refs/x/moved", None, old)).expect("it is new");
        repo.update_refs(&update("refs/x/deleted", None, old)).expect("it is new");
        // A lock can be created beside a non-empty directory, but not renamed to its name.
        let folder = directory.path().join(".git/refs/x/none");
        fs::create_dir_all(&folder).expect("it can be made");
        fs::write(folder.join("foreign.lock"), "").expect("it can be written");
        let before = repo.refs_below("refs/x/").expect("sound");
        let change = |name: &str, old, new| RefUpdate { name: format!("refs/x/{name}"), old, new };
        let updates = [
            change("new", None, Some(new)),
            change("deleted", Some(old), None),
            change("moved", Some(old), Some(new)),
            change("none", None, Some(new)),
        ];
        let error = repo.update_refs(&updates).expect_err("one cannot be written");
        assert_eq!(error.kind(), Kind::Internal, "{:?}", error.causes());
        assert_eq!(repo.refs_below("refs/x/").expect("sound"), before);
        fs::remove_dir_all(&folder).expect("it is ours");
        repo.update_refs(&updates).expect("all can be written");
        let names = ["moved", "new", "none"].map(|name| (format!("refs/x/{name}"), new));
        assert_eq!(repo.refs_below("refs/x/").expect("sound"), names);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_no_race() {
        let (directory, repo) = repository(&[]);
        let folder = directory.path().join(".git/refs/x/ours");
        fs::create_dir_all(&folder).expect("it can be made");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("it is ours");
        let id = repo.empty_tree_id();
        if fs::write(folder.join("probe"), "").is_ok() {
            // Root can write anywhere, so a file takes the directory's place instead.
            fs::remove_file(folder.join("probe")).expect("it is ours");
            fs::write(folder.join("shadow"), "").expect("it can be written");
        }
        let error = repo.update_refs(&update("refs/x/ours/shadow/a", None, id)).expect_err("no place");
        assert_eq!(error.kind(), Kind::Internal, "{:?}", error.causes());
    }

    /// Runs `script` in the repository and returns its output.
    fn run(directory: &tempfile::TempDir, script: &str) -> String {
        #[expect(clippy::disallowed_methods, reason = "the test changes its repository with git")]
        let output = run::Command::new("sh").args(["-c", script]).current_dir(directory).output().expect("sh runs");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    #[rstest::rstest]
    #[case::unborn("")]
    #[case::born("c")]
    #[case::packed("c; git pack-refs --all")]
    #[case::changed_since("c; git pack-refs --all; c; git branch b")]
    #[case::detached("c; git checkout -q --detach")]
    #[case::detached_and_packed("c; git checkout -q --detach; git branch b; git pack-refs --all; c")]
    #[case::unborn_beside_others("c; git pack-refs --all; git checkout -q --orphan other")]
    #[case::by_another_name(
        "c; git symbolic-ref refs/heads/alias refs/heads/main; git symbolic-ref HEAD refs/heads/alias"
    )]
    #[case::of_a_worktree(
        "c; git update-ref refs/worktree/w HEAD; git symbolic-ref HEAD refs/worktree/w; git pack-refs --all"
    )]
    #[case::deep(
        "c; git branch a/b/c; git pack-refs --all; git branch -d -q a/b/c; git branch a/b; git tag -a -m t a/t"
    )]
    #[case::locked(
        "c; touch .git/refs/heads/x.lock .git/HEAD.lock .git/packed-refs.lock; mkdir -p .git/refs/heads/y/z"
    )]
    fn refs_are_what_git_says(#[case] script: &str) {
        let (directory, repo) = repository(&["-b", "main"]);
        let commit = "c() { git -c user.name=a -c user.email=a@b commit -q --allow-empty -m $((n += 1)); }";
        run(&directory, &format!("{commit}; {script}"));
        let head = repo.head().expect("it can be read");
        let id = head.id.map(|id| id.to_string()).unwrap_or_default();
        assert_eq!(id, run(&directory, "git rev-parse -q --verify HEAD"));
        let branch = head.branch.map(|name| name.to_string()).unwrap_or_default();
        assert_eq!(branch, run(&directory, "git symbolic-ref -q --no-recurse HEAD"));
        for prefix in ["refs/heads/", "refs/heads/a/", "refs/tags/", "refs/none/"] {
            let listed = repo.refs_below(prefix).expect("they can be read");
            let listed: Vec<_> = listed.into_iter().map(|(name, id)| format!("{id} {name}")).collect();
            let format = "%(if)%(symref)%(then)%(else)%(objectname) %(refname)%(end)";
            let by_git = run(&directory, &format!("git for-each-ref --format='{format}' {prefix} | grep ."));
            assert_eq!(listed.join("\n"), by_git, "{prefix}");
            for line in &listed {
                let (id, name) = line.split_once(' ').expect("two words");
                assert_eq!(repo.find_ref(name).expect("it can be read").map(|id| id.to_string()).as_deref(), Some(id));
            }
        }
    }

    /// `git pack-refs` packs all refs and removes the loose ones, while we change and delete some of them.
    #[test]
    fn nothing_is_taken_back_while_others_pack_refs() {
        let (directory, repo) = repository(&[]);
        let mut objects = NewObjects::new(&repo, StoreAs::Loose);
        // Git itself loses a ref that is deleted and then gets its old value back while refs are packed; so values do
        // not repeat.
        let ids: Vec<ObjectId> = (0..1_000)
            .map(|turn| objects.add(gix::objs::Kind::Blob, format!("{turn}").as_bytes()).expect("it can be written"))
            .collect();
        drop(objects.write().expect("they can be written"));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let pack = || {
                while !is_over.load(Ordering::SeqCst) {
                    #[expect(clippy::disallowed_methods, reason = "another process runs it")]
                    let packed = run::Command::new("git").args(["pack-refs", "--all"]).current_dir(&directory).output();
                    drop(packed.expect("git runs"));
                }
            };
            scope.spawn(pack);
            let change = || {
                let mut old = None;
                for (turn, new) in ids.into_iter().enumerate() {
                    let is_there = |name: &str| repo.find_ref(name).expect("sound") == Some(new);
                    until_done(&repo, &update("refs/x/gone", None, new));
                    std::thread::sleep(std::time::Duration::from_millis(turn as u64 % 5));
                    until_done(&repo, &update("refs/x/kept", old, new));
                    assert!(is_there("refs/x/kept"), "in turn {turn}");
                    let kept: Vec<_> = repo.refs_below("refs/x/").expect("sound");
                    assert_eq!(
                        kept,
                        [("refs/x/gone".to_owned(), new), ("refs/x/kept".to_owned(), new)],
                        "in turn {turn}"
                    );
                    until_done(&repo, &[RefUpdate { name: "refs/x/gone".into(), old: Some(new), new: None }]);
                    assert!(is_there("refs/x/kept"), "in turn {turn}");
                    assert_eq!(repo.find_ref("refs/x/gone").expect("sound"), None, "in turn {turn}");
                    old = Some(new);
                }
            };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(change));
            is_over.store(true, Ordering::SeqCst);
            outcome.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        });
    }

    /// Carries out `updates` as soon as no other process holds a lock on these refs.
    fn until_done(repo: &Repo, updates: &[RefUpdate]) {
        for _ in 0..100 {
            match repo.update_refs(updates) {
                Err(error) if error.kind() == Kind::Race => std::thread::sleep(std::time::Duration::from_millis(1)),
                done => return done.expect("nothing else is wrong"),
            }
        }
        panic!("it never ends: {updates:?}");
    }

    #[test]
    fn no_hook_runs() {
        let (directory, repo) = repository(&["--ref-format=reftable"]);
        let hook = directory.path().join(".git/hooks/reference-transaction");
        fs::create_dir_all(hook.parent().expect("it has one")).expect("it can be made");
        fs::write(&hook, "#!/bin/sh\necho ran >\"$GIT_DIR/ran\"\n").expect("it can be written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).expect("it is ours");
        let id = repo.empty_tree_id();
        repo.run_git(&["hash-object", "-t", "tree", "-w", "--stdin"], Some(b"")).expect("it can be written");
        repo.update_refs(&update("refs/x/ours/tags/a", None, id)).expect("it is new");
        assert!(!directory.path().join(".git/ran").exists());
    }
}
