//! A repository that processes of their own work on, die in, and must leave sound.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use super::{World, program};

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

    /// Starts the built program with `arguments`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.start_with(arguments, "")
    }

    /// The same with a failpoint.
    pub(crate) fn start_with(&self, arguments: &[&str], failpoint: &str) -> Child {
        self.command(program())
            .args(arguments)
            .env("CHECKPOINT_FAILPOINT", failpoint)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// Runs the built program, which must succeed and not be slow, and returns what it printed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.checkpoint(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", described(&output));
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// The same for a command that prints JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.done(arguments)).expect("it prints JSON")
    }

    /// Returns the ids of the live shadows of all worktrees.
    pub(crate) fn shadows(&self) -> Vec<String> {
        let ids = self.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]);
        ids.lines().map(ToOwned::to_owned).collect()
    }

    /// Returns the content of every blob that a checkpoint holds.
    pub(crate) fn held(&self) -> BTreeSet<Vec<u8>> {
        let objects = self.git(&["rev-list", "--objects", "--no-object-names", "--glob=refs/checkpoints/*"]);
        let mut child = self
            .command("git")
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git starts");
        let mut input = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, objects.as_bytes()));
        let output = child.wait_with_output().expect("git runs").stdout;
        writer.join().expect("no panic").expect("git reads");
        let mut held = BTreeSet::new();
        let mut rest = output.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let header = std::str::from_utf8(&rest[..end]).expect("a header is text");
            let words: Vec<&str> = header.split(' ').collect();
            let &[_, kind, size] = words.as_slice() else { panic!("not there: {header}") };
            let size: usize = size.parse().expect("a size");
            let content = &rest[end + 1..=end + size];
            if kind == "blob" {
                held.insert(content.to_vec());
            }
            rest = &rest[end + size + 2..];
        }
        held
    }
}

/// Returns everything that a process said, for messages.
pub(crate) fn described(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}: {}{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// Returns a running mean of how long a command takes. One run that waited for a busy machine counts as at most twice the mean:
/// otherwise, most of the kills after it would come too late.
pub(crate) fn mean(usual: Duration, took: Duration) -> Duration {
    (usual * 3 + took.min(usual * 2)) / 4
}

/// Kills `child` after `delay`, unless it ends before, and returns how it ended and what it printed.
pub(crate) fn kill_after(mut child: Child, delay: Duration) -> Output {
    std::thread::sleep(delay);
    // A process that is done cannot be killed; that is as good.
    drop(child.kill());
    child.wait_with_output().expect("it ends")
}

/// Waits until `child` has halted itself at a failpoint.
pub(crate) fn halted(child: &Child) {
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    let start = Instant::now();
    while state() != Some('T') {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not halt");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends `signal` (a name of kill(1)) to `child`.
pub(crate) fn signal(child: &Child, signal: &str) {
    let status = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// Waits until `child` ends; it must within `limit`.
pub(crate) fn ended(child: &mut Child, limit: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return status;
        }
        assert!(start.elapsed() < limit, "it still runs");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Numbers that look random and are the same in every run (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
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
