//! A pipe or a device in the place of a file with rules: git itself waits for it without end.

use std::{fs, io::Read as _, time::Duration};

use super::bench::Scenario;
use crate::support::{World, processes};

/// Returns the exit code of `git checkpoint <arguments>` and what it said.
fn ended(world: &World, arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = world.start(arguments);
    let status = processes::ended(&mut child, Duration::from_secs(20));
    let mut text = String::new();
    child.stderr.take().expect("it is captured").read_to_string(&mut text).expect("it is text");
    (status.code(), text)
}

fn world() -> World {
    let world = World::with_commit();
    world.sh("mkdir d; for file in a d/x d/y; do echo 1 >$file; done");
    world.commit_all("files");
    world.sh("for file in a d/x d/y; do echo saved >>$file; done");
    world.done(&["save"]);
    world.sh("for file in a d/x d/y; do echo 2 >>$file; done; echo n >new; echo n >d/new");
    world
}

#[rstest::rstest]
fn a_pipe_is_refused_and_named(
    #[values(".gitignore", ".gitattributes", "d/.gitignore", "d/.gitattributes")] name: &str,
    #[values(&["save"], &["save", "--paths", "d/x", "d/y"], &["status"], &["diff"], &["restore", "@{0}"])]
    arguments: &[&str],
) {
    let world = world();
    world.sh(&format!("mkfifo {name}"));
    let (refs, disk) = (world.git(&["for-each-ref"]), world.disk());
    let (code, text) = ended(&world, arguments);
    // What is named and tracked has no ignore rules.
    if name.ends_with("ignore") && arguments.contains(&"--paths") {
        return assert_eq!(code, Some(0), "{text}");
    }
    assert_eq!(code, Some(128), "{text}");
    assert!(
        text.contains(&format!("'{name}' is a pipe")) && text.contains("hint: remove it, or move it away"),
        "{text}"
    );
    assert_eq!(world.git(&["for-each-ref"]), refs);
    assert_eq!(world.disk(), disk, "nothing was written");
    fs::remove_file(world.repo().join(name)).expect("it is there");
    let (code, text) = ended(&world, arguments);
    assert_eq!(code, Some(0), "{text}");
}

#[rstest::rstest]
#[case::exclude("mkfifo rules && mv rules .git/info/exclude", ".git/info/exclude")]
#[case::attributes("mkfifo rules && mv rules .git/info/attributes", ".git/info/attributes")]
#[case::excludes_file("mkfifo ../rules && git config core.excludesFile ../rules", "rules")]
#[case::attributes_file("mkfifo ../rules && git config core.attributesFile ../rules", "rules")]
fn a_pipe_outside_of_the_worktree_is_refused(#[case] script: &str, #[case] named: &str) {
    let world = world();
    world.sh(script);
    for arguments in [&["save"][..], &["status"], &["diff"]] {
        let (code, text) = ended(&world, arguments);
        assert_eq!(code, Some(128), "{arguments:?}: {text}");
        assert!(text.contains(named) && text.contains("is a pipe"), "{arguments:?}: {text}");
    }
}

/// Git runs in these, and would wait.
#[rstest::rstest]
#[case::restore(&["restore", "@{0}", "nowhere"], "d/.gitignore")]
#[case::find(&["worktree", "files", "find", "main", "x"], "d/.gitignore")]
#[case::blame(&["blame", "d/x"], "d/.gitattributes")]
fn git_does_not_wait_either(#[case] arguments: &[&str], #[case] name: &str) {
    let world = world();
    world.sh(&format!("mkfifo {name}"));
    let (code, text) = ended(&world, arguments);
    assert_eq!(code, Some(128), "{text}");
    assert!(text.contains(&format!("{name}' is a pipe")), "{text}");
}

/// Git opens no rules in there, and neither do we.
#[rstest::rstest]
fn what_git_does_not_enter_is_no_reason_to_fail(
    #[values(
        "echo node/ >.gitignore; mkdir -p node/1; mkfifo node/.gitignore node/1/.gitignore",
        "echo node/ >.gitignore; mkdir -p node/1; echo 1 >node/1/t; git add -f node; touch node/1/new; mkfifo node/1/.gitignore",
        "git init -q sub; mkfifo sub/.gitignore",
        "git init -q sub; git -C sub commit -q --allow-empty -m s; git add sub 2>&1; mkfifo sub/.gitignore"
    )]
    script: &str,
    #[values(
        &["restore", "@{0}", "nowhere"],
        &["worktree", "files", "find", "main", "x"],
        &["attribution", "--check", "HEAD", "--", "nowhere"],
        &["status"],
        &["save"]
    )]
    arguments: &[&str],
) {
    let world = world();
    world.sh(script);
    let (code, text) = ended(&world, arguments);
    assert!(!text.contains("is a pipe"), "{text}");
    assert_eq!(code == Some(0), !arguments.contains(&"nowhere"), "{text}");
}

/// A directory that is a link now has no rules; 'git diff', and so ours, reads attributes behind it.
#[rstest::rstest]
fn what_is_behind_a_link_is_no_reason_to_fail(
    #[values(".gitignore", ".gitattributes")] name: &str,
    #[values("true", "echo '*.z text' >.gitattributes", "git config core.autocrlf input")] before: &str,
    #[values(&["save"], &["status"], &["restore", "@{0}", "-n"], &["save", "--paths", "d/x", "d"])]
    arguments: &[&str],
) {
    let world = World::with_commit();
    world.sh("mkdir d; for file in a d/x d/y; do echo 1 >$file; done");
    world.sh(before);
    world.commit_all("files");
    world.done(&["save", "--allow-empty"]);
    world.sh(&format!("mkdir ../od; touch ../od/x; mkfifo ../od/{name}; rm -r d; ln -s ../od d"));
    let (code, text) = ended(&world, arguments);
    assert_eq!(code, Some(0), "{text}");
}

/// Git goes on without such rules.
#[rstest::rstest]
fn a_socket_is_no_reason_to_fail(
    #[values(".gitignore", "d/.gitignore")] name: &str,
    #[values(&["save"], &["status"], &["diff"], &["restore", "@{0}"], &["blame", "d/x"])] arguments: &[&str],
) {
    let world = world();
    let _socket = std::os::unix::net::UnixListener::bind(world.repo().join(name)).expect("it can be made");
    let (code, text) = ended(&world, arguments);
    assert_eq!(code, Some(0), "{text}");
}

/// The files that git reads if no setting names another one.
#[rstest::rstest]
fn a_pipe_in_the_configuration_is_refused(#[values("ignore", "attributes")] name: &str) {
    let world = world();
    world.sh(&format!("mkdir -p $XDG_CONFIG_HOME/git; mkfifo $XDG_CONFIG_HOME/git/{name}"));
    for arguments in [&["save"][..], &["status"], &["diff"]] {
        let (code, text) = ended(&world, arguments);
        assert_eq!(code, Some(128), "{arguments:?}: {text}");
        assert!(text.contains(&format!("git/{name}' is a pipe")), "{arguments:?}: {text}");
    }
    let setting = if name == "ignore" { "core.excludesFile" } else { "core.attributesFile" };
    world.git(&["config", setting, "/dev/null"]);
    assert_eq!(ended(&world, &["save"]).0, Some(0));
}

/// Without the whole path, the hint would be about another file.
#[rstest::rstest]
#[case::remove(&["worktree", "remove", "side"], ".gitignore")]
#[case::find(&["worktree", "files", "find", "side", "x"], "d/.gitignore")]
#[case::diff(&["worktree", "remove", "side"], "d/.gitattributes")]
fn a_pipe_in_another_worktree_is_named_with_its_place(#[case] arguments: &[&str], #[case] name: &str) {
    let world = world();
    world.sh("git worktree add -q -b side ../side; echo x >>../side/d/x; touch ../side/d/new");
    world.sh(&format!("mkfifo ../side/{name}"));
    let (code, text) = ended(&world, arguments);
    assert_ne!(code, Some(0), "{text}");
    let path = world.root().join("side").join(name);
    assert!(text.contains(&format!("'{}' is a pipe", path.display())), "{text}");
}

/// Git does not follow a link to rules in the worktree, wherever it leads.
#[rstest::rstest]
fn what_does_not_block_is_no_reason_to_fail(
    #[values(".gitignore", ".gitattributes", "dir/.gitignore", "dir/.gitattributes")] name: &str,
    #[values("ln -s /dev/null", "ln -s /dev/zero", "ln -s nowhere", "mkfifo ../pipe; ln -s $PWD/../pipe", "mkdir")]
    make: &str,
) {
    let first = "base; git config fsck.gitattributesSymlink ignore";
    Scenario::new(first, &format!("{make} {name}; echo x >>file; echo x >dir/new")).check();
}

#[rstest::rstest]
#[case::excludes("core.excludesFile")]
#[case::attributes("core.attributesFile")]
fn no_rules_are_an_empty_device(#[case] setting: &str) {
    let world = world();
    world.git(&["config", setting, "/dev/null"]);
    assert_eq!(ended(&world, &["save"]).0, Some(0));
}

/// A sandbox hides files so.
#[rstest::rstest]
fn an_empty_device_is_an_empty_file(#[values(".gitignore", ".gitattributes")] name: &str) {
    let world = world();
    world.write(name, "*\n");
    world.done(&["session", "start", "s"]);
    let mount = |device: &str| format!("mount --bind {device} {name} && exec git-checkpoint save");
    let run = |device: &str| {
        let mut command = world.command("timeout");
        command.args(["20", "unshare", "-rm", "sh", "-c", &mount(device)]);
        command.output().expect("timeout runs")
    };
    if !world.command("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
        return;
    }
    let output = run("/dev/zero");
    assert_eq!(output.status.code(), Some(128), "{}", processes::described(&output));
    assert!(processes::described(&output).contains(&format!("'{name}' is a device")));
    let output = run("/dev/null");
    assert!(output.status.success(), "{}", processes::described(&output));
}

/// Neither a commit nor an agent waits, or fails.
#[rstest::rstest]
fn hooks_let_a_commit_go_on(#[values(".gitignore", ".gitattributes")] name: &str) {
    let world = World::with_hooks();
    // Else git would look at the files again when it commits, and read their attributes.
    world.sh(&format!(
        "echo 1 >a; git add a; git ls-files -z | xargs -0 touch -d 2020-01-01; git add -A; mkfifo {name}"
    ));
    let mut commit = world.command("timeout");
    // With the summary, git itself would read the attributes.
    let output = commit.args(["20", "git", "commit", "-q", "-m", "a"]).output().expect("timeout runs");
    assert!(output.status.success(), "{}", processes::described(&output));
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "a\n");
}
