//! A repository made by git, saves of it, and what must hold after each: the tree is git's, nothing else has moved.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bstr::{BString, ByteSlice as _};
use serde_json::Value;

use super::child::{Failure, Order};
use crate::support::{World, template::Template, this_program};

/// What every script may use.
const PRELUDE: &str = r#"
set -eu
init() { git init -q -b main --template="$W/template" "$@" .; }
commit() { git add -A; git commit -qm "${1:-more}"; }
base() { init "$@"; printf '%s\n' {1..20} >file; mkdir -p dir/deep; echo one >dir/one; echo two >dir/deep/two; commit base; }
"#;

/// What makes the expected tree, as long as nothing else is set.
const ADD_ALL: &str = "git add -A";

/// A world without a repository.
static EMPTY: Template = Template::new(|world| {
    for name in ["oracle", "template/info"] {
        std::fs::create_dir_all(world.root().join(name)).expect("a directory can be made");
    }
});

/// The repository that `base` makes.
static BASE: Template = Template::new(|world| {
    EMPTY.make(world);
    run(world, "base");
});

/// A repository under test.
pub(super) struct Bench {
    pub(super) world: World,
    /// The worktree, relative to where scripts run.
    at: String,
    /// What makes the expected tree, run with an index of its own.
    oracle: String,
    count: AtomicUsize,
    git_dir: OnceLock<PathBuf>,
}

/// What a save answered.
#[derive(Clone, Debug)]
pub(super) struct Saved(pub(super) Value);

impl Saved {
    pub(super) fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub(super) fn tree(&self) -> &str {
        self.text("tree")
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.0["id"].as_str()
    }

    pub(super) fn is_created(&self) -> bool {
        self.0["created"] == true
    }

    /// Returns `<status> <path>` of what changed.
    pub(super) fn paths(&self) -> Vec<String> {
        let line = |path: &Value| {
            format!("{} {}", path["status"].as_str().unwrap_or("?"), path["path"].as_str().unwrap_or("?"))
        };
        self.0["paths"].as_array().expect("paths are a list").iter().map(line).collect()
    }

    /// Returns `<path>: <reason>` of what is not in the checkpoint.
    pub(super) fn skipped(&self) -> Vec<String> {
        let line = |path: &Value| {
            format!("{}: {}", path["path"].as_str().unwrap_or("?"), path["reason"].as_str().unwrap_or("?"))
        };
        let mut lines: Vec<_> = self.0["skipped"].as_array().expect("skipped is a list").iter().map(line).collect();
        lines.sort();
        lines
    }
}

impl Bench {
    /// Makes a world and runs `script` in its empty directory for repositories.
    pub(super) fn new(script: &str) -> Self {
        Self::made(script, Template::world)
    }

    /// The same on a disk.
    pub(super) fn on_disk(script: &str) -> Self {
        Self::made(script, Template::world_on_disk)
    }

    fn made(script: &str, world: impl FnOnce(&Template) -> World) -> Self {
        // What most begin with is made once.
        let (template, rest) = match script.strip_prefix("base") {
            Some(rest) if rest.is_empty() || rest.starts_with([';', '\n']) => (&BASE, rest.trim_start_matches(';')),
            _ => (&EMPTY, script),
        };
        let bench = Self::in_world(world(template));
        if !rest.trim().is_empty() {
            bench.run(rest);
        }
        bench
    }

    fn in_world(world: World) -> Self {
        let oracle = ADD_ALL.into();
        Self { world, at: String::new(), oracle, count: AtomicUsize::new(0), git_dir: OnceLock::new() }
    }

    /// Continues in the worktree `at`, relative to where scripts run.
    pub(super) fn at(mut self, at: &str) -> Self {
        at.clone_into(&mut self.at);
        self
    }

    /// Looks for the git directory again, after [`at`](Self::at).
    pub(super) fn with_fresh_git_dir(mut self) -> Self {
        self.git_dir = OnceLock::new();
        self
    }

    /// Sets the script that makes the expected tree.
    pub(super) fn oracle(mut self, script: &str) -> Self {
        script.clone_into(&mut self.oracle);
        self
    }

    /// Returns the path of the worktree.
    pub(super) fn root(&self) -> PathBuf {
        self.world.repo().join(&self.at)
    }

    /// Runs `script` where repositories are made.
    pub(super) fn run(&self, script: &str) {
        run(&self.world, script);
    }

    /// Runs git in the worktree, and returns what it printed without the final line break.
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        self.git_bytes(arguments).to_str_lossy().trim_end_matches('\n').to_owned()
    }

    fn git_bytes(&self, arguments: &[&str]) -> BString {
        let output = self.world.command("git").current_dir(self.root()).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout.into()
    }

    /// Returns the git directory of the worktree.
    pub(super) fn git_dir(&self) -> &Path {
        self.git_dir.get_or_init(|| {
            let below = self.root().join(".git");
            // All else is git's to find.
            let is_plain = below.is_dir() && !below.is_symlink() && below.join("HEAD").is_file();
            let of_git = || self.git(&["rev-parse", "--absolute-git-dir"]).into();
            if is_plain { below.canonicalize().expect("it is there") } else { of_git() }
        })
    }

    fn objects(&self) -> PathBuf {
        let common = std::fs::read_to_string(self.git_dir().join("commondir")).unwrap_or_default();
        self.git_dir().join(common.trim_end()).join("objects")
    }

    /// Returns the tree that git would store.
    pub(super) fn expected_tree(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let home = self.world.root().join(format!("oracle/{number}"));
        std::fs::create_dir_all(home.join("objects")).expect("a directory can be made");
        let index = self.git_dir().join("index");
        let objects = self.objects();
        let (own_index, own_objects) = (home.join("index"), home.join("objects"));
        let no: &Path = Path::new("1");
        let environment = [
            ("GIT_INDEX_FILE", own_index.as_path()),
            ("GIT_OBJECT_DIRECTORY", &own_objects),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects),
            ("GIT_NO_LAZY_FETCH", no),
        ];
        if let Ok(metadata) = index.metadata() {
            std::fs::copy(&index, &own_index).expect("the index can be copied");
            // Git finds racy entries by the times of the index.
            let times = std::fs::FileTimes::new().set_modified(metadata.modified().expect("it has one"));
            let copy = std::fs::File::options().write(true).open(&own_index);
            copy.and_then(|copy| copy.set_times(times)).expect("the copy is ours");
        }
        let git = |arguments: &[&str]| {
            let mut command = self.world.command("git");
            command.current_dir(self.root()).envs(environment).args(arguments).output().expect("git runs")
        };
        let prepared = if self.oracle == ADD_ALL {
            git(&["add", "-A"])
        } else {
            bash(&self.world, &self.root(), &self.oracle, &environment)
        };
        assert!(prepared.status.success(), "oracle: {}", String::from_utf8_lossy(&prepared.stderr));
        let output = git(&["write-tree", "--missing-ok"]);
        assert!(output.status.success(), "oracle: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout.trim().to_str_lossy().into_owned()
    }

    /// Takes a checkpoint, whatever comes of it.
    pub(super) fn attempt(&self, order: &Order) -> Result<Saved, Failure> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let answer = self.world.root().join(format!("oracle/answer-{number}"));
        let mut command = self.world.command(this_program());
        command.current_dir(self.root());
        order.run(command, &answer).map(Saved)
    }

    /// Takes a checkpoint, which must succeed and move nothing that is not ours.
    pub(super) fn save_with(&self, order: &Order) -> Saved {
        let before = self.fingerprint();
        let refs = self.foreign_refs();
        let saved = self.attempt(order).unwrap_or_else(|failure| panic!("{order:?}: {failure:?}"));
        let after = self.fingerprint();
        assert_same(&before, &after);
        assert_eq!(self.foreign_refs(), refs, "refs that are not ours");
        assert!(saved.id().is_some() || !saved.is_created());
        saved
    }

    /// Takes a checkpoint of the whole worktree; its tree must be what git would store.
    pub(super) fn save(&self) -> Saved {
        let saved = self.save_with(&Order::default());
        self.assert_tree(&saved, &self.expected_tree());
        saved
    }

    /// Git must find what was saved where it was said to be.
    fn check_ref(&self, saved: &Saved) {
        if let Some(id) = saved.id() {
            let reference = saved.text("ref");
            let of_git = self.git(&["rev-parse", reference, &format!("{reference}^{{tree}}")]);
            assert_eq!(of_git, format!("{id}\n{}", saved.tree()), "{reference}");
        }
    }

    /// The same, and again without the stat cache: that must see the same.
    pub(super) fn save_warm_and_cold(&self) -> Saved {
        let saved = self.save_with(&Order { and_cold: true, ..Order::default() });
        self.assert_tree(&saved, &self.expected_tree());
        let cold = Saved(saved.0["cold"].clone());
        let what = |saved: &Saved| (saved.id().map(str::to_owned), saved.tree().to_owned(), saved.skipped());
        assert_eq!(what(&cold), what(&saved), "without the stat cache: {cold:?}");
        assert!(!cold.is_created(), "without the stat cache something has changed: {cold:?}");
        self.check_ref(&saved);
        self.check_repository();
        saved
    }

    /// Takes a checkpoint of `paths`; its tree must be what git would store.
    pub(super) fn save_paths(&self, paths: Vec<BString>) -> Saved {
        self.save_paths_as(paths, "")
    }

    /// The same where git has made `likely` of the same files elsewhere, unless they are random.
    fn save_paths_as(&self, paths: Vec<BString>, likely: &str) -> Saved {
        let saved = self.save_with(&Order { paths: Some(paths), ..Order::default() });
        if saved.tree() != likely {
            self.assert_tree(&saved, &self.expected_tree());
        }
        self.check_ref(&saved);
        self.check_repository();
        saved
    }

    /// Returns everything in the worktree that `change` changes.
    fn paths_changed_by(&self, change: impl FnOnce()) -> Vec<BString> {
        let before = self.fingerprint();
        change();
        let after = self.fingerprint();
        let one_way = differences(&before, &after).into_iter().chain(differences(&after, &before));
        let root = self.root().canonicalize().expect("it is there");
        let paths = one_way.filter_map(|(path, what)| {
            let path = path.strip_prefix(&root).ok()?;
            let is_file = !what.starts_with("directory") && !path.starts_with(".git");
            is_file.then(|| BString::from(path.as_os_str().as_bytes()))
        });
        paths.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn assert_tree(&self, saved: &Saved, expected: &str) {
        if saved.tree() == expected {
            return;
        }
        let last = self.count.load(Ordering::Relaxed);
        let objects: Vec<_> = (0..last).map(|at| self.world.root().join(format!("oracle/{at}/objects"))).collect();
        let list = |tree: &str| {
            let output = self
                .world
                .command("git")
                .current_dir(self.root())
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", std::env::join_paths(&objects).expect("plain paths"))
                .args(["ls-tree", "-r", "-t", tree])
                .output()
                .expect("git runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let ours = list(saved.tree());
        let theirs = list(expected);
        let only = |a: &str, b: &str| {
            a.lines().filter(|line| !b.lines().any(|other| other == *line)).collect::<Vec<_>>().join("\n")
        };
        panic!(
            "the tree is not git's\nonly saved:\n{}\nonly git:\n{}\n{saved:?}",
            only(&ours, &theirs),
            only(&theirs, &ours)
        );
    }

    /// Removes the stat cache.
    pub(super) fn forget(&self) {
        drop(std::fs::remove_file(self.git_dir().join("checkpoint/index")));
    }

    /// Returns the tree of exact bytes beside the checkpoint `id`, as lines of paths and ids.
    pub(super) fn side(&self, id: &str, directory: &str) -> Vec<String> {
        let output = self
            .world
            .command("git")
            .current_dir(self.root())
            .args(["ls-tree", "-r", "--format=%(path) %(objectname)", &format!("{id}^2:{directory}")])
            .output()
            .expect("git runs");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    /// Returns the manifest beside the checkpoint `id`; empty if there is none.
    pub(super) fn manifest(&self, id: &str) -> String {
        let output = self
            .world
            .command("git")
            .current_dir(self.root())
            .args(["cat-file", "blob", &format!("{id}^2:manifest.toml")])
            .output()
            .expect("git runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns what the fingerprint of files cannot show.
    fn foreign_refs(&self) -> String {
        if !self.git_dir().join("reftable").is_dir() {
            return String::new();
        }
        let all = self.git(&["for-each-ref", "--format=%(refname) %(objectname) %(symref)", "--include-root-refs"]);
        let foreign: Vec<_> = all.lines().filter(|line| !line.starts_with("refs/checkpoints/")).collect();
        foreign.join("\n")
    }

    /// The repository is sound, and nothing temporary is left.
    pub(super) fn check_repository(&self) {
        let mut fsck = self.world.fsck(&self.objects(), &["fsck.gitignoreSymlink=ignore"]);
        let output = fsck.current_dir(self.root()).env("GIT_NO_LAZY_FETCH", "1").output().expect("git runs");
        let said = [output.stdout, output.stderr].concat();
        let said: Vec<_> = said
            .lines()
            .filter(|line| !line.starts_with(b"notice: ") && !line.starts_with(b"hint: "))
            .map(ToOwned::to_owned)
            .map(BString::from)
            .collect();
        assert!(output.status.success() && said.is_empty(), "git fsck: {said:?}");
        let lock = std::fs::read(self.git_dir().join("checkpoint/lock")).unwrap_or_default();
        assert!(lock.is_empty(), "a lock is held");
    }

    /// Everything in the world that a save must leave alone: what is at each path, and its times.
    fn fingerprint(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for name in std::fs::read_dir(self.world.root()).expect("the world is readable") {
            let path = name.expect("the world is readable").path();
            if !path.ends_with("oracle") {
                fingerprint(&path, &mut found);
            }
        }
        found
    }
}

fn run(world: &World, script: &str) {
    let output = bash(world, &world.repo(), script, &[]);
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn bash(world: &World, directory: &Path, script: &str, environment: &[(&str, &Path)]) -> std::process::Output {
    let mut command = world.command("bash");
    command.current_dir(directory).env("W", world.root()).env("GIT_TEMPLATE_DIR", "");
    command.envs(environment.iter().copied()).args(["-c", &format!("{PRELUDE}{script}")]);
    command.output().expect("bash runs")
}

fn assert_same(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) {
    let (gone, new) = (differences(before, after), differences(after, before));
    assert!(gone.is_empty() && new.is_empty(), "a save has changed\nbefore: {gone:#?}\nafter: {new:#?}");
}

/// Returns what `a` has and `b` has not.
fn differences<'a>(a: &'a BTreeMap<PathBuf, String>, b: &BTreeMap<PathBuf, String>) -> Vec<(&'a PathBuf, &'a String)> {
    a.iter().filter(|(path, what)| b.get(*path) != Some(what)).collect()
}

fn fingerprint(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().expect("below the world");
    let is_of_git = parent.join("HEAD").is_file() || parent.ends_with("refs") || parent.ends_with("logs/refs");
    // What is ours, and the store of objects, may grow; no temporary file may stay in them. The file that is locked while
    // objects are repacked stays, empty.
    let is_lock = |name: &[u8]| name.ends_with(b".lock") && name != b"repack.lock";
    let is_leftover = |name: &[u8]| name.starts_with(b"tmp_") || name.starts_with(b".tmp") || is_lock(name);
    if is_of_git && ["objects", "checkpoint", "checkpoints", "reftable"].iter().any(|ours| name == *ours) {
        for inner in files_below(path) {
            if is_leftover(inner.file_name().unwrap_or_default().as_bytes()) {
                found.insert(inner, "temporary".into());
            }
        }
        return;
    }
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_dir() {
        found.insert(path.to_owned(), format!("directory {:o}", metadata.mode()));
        for inner in std::fs::read_dir(path).into_iter().flatten().flatten() {
            fingerprint(&inner.path(), found);
        }
        return;
    }
    let content = if metadata.is_file() {
        std::fs::read(path).unwrap_or_default()
    } else {
        std::fs::read_link(path).unwrap_or_default().into_os_string().into_encoded_bytes()
    };
    let what = (metadata.mode(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len());
    found.insert(
        path.to_owned(),
        format!(
            "{what:?} {}",
            gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &content).expect("no collision")
        ),
    );
}

fn files_below(path: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for inner in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if inner.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.append(&mut files_below(&inner.path()));
        } else {
            files.push(inner.path());
        }
    }
    files
}

/// A repository, and a change of its worktree.
pub(super) struct Scenario<'s> {
    first: &'s str,
    then: &'s str,
    at: &'s str,
    oracle: &'s str,
    has_hints: bool,
}

impl<'s> Scenario<'s> {
    pub(super) fn new(first: &'s str, then: &'s str) -> Self {
        Self { first, then, at: "", oracle: ADD_ALL, has_hints: true }
    }

    pub(super) fn at(self, at: &'s str) -> Self {
        Self { at, ..self }
    }

    pub(super) fn oracle(self, oracle: &'s str) -> Self {
        Self { oracle, ..self }
    }

    /// Only full passes: the second script changes what no path names (the index, settings, ignore rules).
    pub(super) fn without_hints(self) -> Self {
        Self { has_hints: false, ..self }
    }

    fn bench(&self) -> Bench {
        Bench::new(self.first).at(self.at).oracle(self.oracle)
    }

    /// Saves, changes, saves: by a full pass, without the stat cache, and by the names of the changed paths. Each
    /// must see what git sees. Returns the bench of the full passes with both results.
    pub(super) fn check(&self) -> (Bench, Saved, Saved) {
        let bench = self.bench();
        let first = bench.save();
        bench.run(self.then);
        let second = bench.save_warm_and_cold();
        if self.has_hints {
            let hinted = self.bench();
            hinted.save_with(&Order { allow_empty: true, ..Order::default() });
            let paths = hinted.paths_changed_by(|| hinted.run(self.then));
            let named = hinted.save_paths_as(paths, second.tree());
            let raw = |bench: &Bench, saved: &Saved| saved.id().map(|id| bench.side(id, "raw")).unwrap_or_default();
            assert_eq!(raw(&hinted, &named), raw(&bench, &second), "exact bytes of named paths");
            // The stat cache knows nothing of that save.
            let full = hinted.save_with(&Order::default());
            assert_eq!(full.tree(), named.tree(), "a full pass after it");
        }
        (bench, first, second)
    }
}
