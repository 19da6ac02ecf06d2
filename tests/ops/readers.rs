//! Commands that read take no lock, write nothing, and work where they cannot write.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::Path, time::Instant};

use rstest::rstest;

use crate::support::{World, program, template::Template};

/// All commands that only read, in a repository with a commit of an agent, checkpoints since, and a file `f`.
const READERS: [&[&str]; 17] = [
    &["list"],
    &["list", "--all"],
    &["show"],
    &["show", "--json"],
    &["diff"],
    &["diff", "base"],
    &["blame", "f"],
    &["why", "f:2"],
    &["explain", "two"],
    &["attribution"],
    &["attribution", "two"],
    &["attribution", "--worktree"],
    &["status"],
    &["status", "--json"],
    &["session", "list"],
    &["events"],
    &["overlap", "--json"],
];

/// What tells whether a file was written: inode, size, when it was changed.
type Stamp = (u64, u64, i64, i64);

fn stamps(directory: &Path) -> BTreeMap<std::path::PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(directory).expect("a directory") {
        let path = item.expect("readable").path();
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        found.insert(path.clone(), (metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec()));
        if metadata.is_dir() {
            found.extend(stamps(&path));
        }
    }
    found
}

/// What a repository may be in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Settled,
    InTurn,
    /// A restore was killed.
    Interrupted,
    /// HEAD has moved without our hooks.
    Behind,
}

/// A commit of an agent, and many checkpoints since.
static SETTLED: Template = Template::new(|world| {
    world.sh("git init -qb main; echo 1 >f; git add f; git commit -qm base");
    world.done(&["enable"]);
    world.done(&["session", "prompt", "s", "-m", "go"]);
    world.write("f", "1\n2\n");
    world.done(&["session", "stop", "s"]);
    world.sh("git commit -qam two; git tag two");
    // As many as make statistics worth to be cached.
    for number in 0..70 {
        world.write("g", format!("{number}\n"));
        git_checkpoint::save(
            &git_checkpoint::Context::open(&world.repo()).expect("a repository"),
            &git_checkpoint::SaveOptions::default(),
        )
        .expect("saved");
    }
});

fn world(state: State) -> World {
    let world = SETTLED.world();
    match state {
        State::Settled => {}
        State::InTurn => {
            world.done(&["session", "prompt", "s", "-m", "more"]);
            world.write("f", "1\n2\n3\n");
        }
        State::Interrupted => {
            let mut command = world.command(program());
            let command =
                command.args(["restore", "--all", "@{5}"]).env("CHECKPOINT_FAILPOINT", "restore:after-journal");
            assert!(!command.status().expect("it runs").success());
        }
        State::Behind => drop(world.sh("echo 3 >>f; git -c core.hooksPath=/dev/null commit -qam three")),
    }
    world
}

#[rstest]
fn write_nothing_and_do_not_wait(
    #[values(State::Settled, State::InTurn, State::Interrupted, State::Behind)] state: State,
) {
    let world = world(state);
    for arguments in READERS {
        let lock = world.lock();
        let (before, start) = (stamps(&world.repo()), Instant::now());
        world.done(arguments);
        // The default of `lock-timeout` is longer.
        assert!(start.elapsed().as_secs() < 5, "{arguments:?}");
        drop(lock);
        world.done(arguments);
        let after = stamps(&world.repo());
        let written: Vec<_> = after.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).collect();
        assert!(written.is_empty() && after.len() == before.len(), "{arguments:?}: {written:?}");
    }
}

/// A user who may read the repository, and nothing else.
#[rstest]
fn work_where_they_cannot_write(#[values(State::Settled, State::Interrupted)] state: State) {
    let world = world(state);
    let expected: Vec<String> = READERS.iter().map(|arguments| world.done(arguments)).collect();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        world.sh("chmod 755 ..; chown -R 65534 ..");
    }
    world.sh("chmod -R a-w ..");
    let user: &[&str] = if is_root { &["setpriv", "--reuid=65534", "--clear-groups"] } else { &["env"] };
    for (arguments, expected) in READERS.iter().zip(expected) {
        let mut command = world.command(user[0]);
        let command = command.args(&user[1..]).arg(program()).args(*arguments);
        let output = command.output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{arguments:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let is_quiet = said.lines().all(|line| line.starts_with("compared with "));
        assert!(output.status.success() && is_quiet, "{arguments:?}: {output:?}");
    }
    world.sh("chmod -R u+w ..");
}

/// What gix cannot convert, git does, which would store it.
#[rstest]
#[case::encoding("* working-tree-encoding=CP850")]
#[case::optional_filter("* filter=none")]
fn what_git_converts_is_stored_nowhere(#[case] attributes: &str) {
    let world = World::with_commit();
    world.git(&["config", "filter.none.clean", "no-such-command"]);
    world.sh("mkdir -p .git/info; printf 'caf\\202\\n' >new; git add -N new");
    world.write(".git/info/attributes", format!("{attributes}\n"));
    let files = || world.sh("find .git -type f -printf '%p %s\\n' | sort");
    let before = files();
    for arguments in [&["status"][..], &["diff", "--stat"]] {
        world.done(arguments);
        assert_eq!(files(), before, "{arguments:?}");
    }
}

/// Where git has no other place to write to, it converts as before: no filter has failed.
#[rstest]
#[case::none("/no/such")]
#[case::read_only("/proc/self")]
#[case::full("/dev/full")]
fn a_look_needs_no_temporary_directory(#[case] directory: &str) {
    let world = World::with_commit();
    world.write(".gitattributes", "n* working-tree-encoding=CP850\n");
    world.sh("printf 'x\\201y\\n' >n1");
    world.commit_all("encoded");
    world.sh("touch -d 2020-01-01 n1");
    for arguments in [&["status"][..], &["diff", "HEAD"]] {
        let mut command = world.command(program());
        let output = command.args(arguments).env("TMPDIR", directory).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !said.contains("n1"), "{arguments:?}: {output:?}");
    }
}

/// A small file system that is full, which a namespace of our own has.
#[cfg(target_os = "linux")]
#[test]
fn a_look_needs_no_room() {
    let world = World::with_commit();
    if !world.command("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
        return;
    }
    world.write(".gitattributes", "n* working-tree-encoding=CP850\n");
    world.sh("printf 'x\\201y\\n' >n1; seq 20000 >n2");
    world.commit_all("encoded");
    world.sh("touch -d 2020-01-01 n1; sed -i 1d n2; mkdir ../small");
    let script =
        "mount -t tmpfs -o size=4k none ../small; head -c 4096 /dev/zero >../small/x; export TMPDIR=$PWD/../small;
        git-checkpoint status && git-checkpoint diff HEAD --stat";
    let output = world.command("unshare").args(["-rm", "sh", "-c", script]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !said.contains("n1") && !said.contains("unfiltered"), "{output:?}");
    assert!(said.contains("n2"), "{output:?}");
}
