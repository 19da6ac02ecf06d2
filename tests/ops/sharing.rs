//! Records go to a remote and come back: clones diverge and converge, nothing leaves without consent, and hostile remotes change nothing.

use std::{fs, path::PathBuf, process::Output};

use crate::support::{
    World,
    files::write_script,
    processes::{described, halted, signal},
    program,
};

pub(super) const HISTORY: &str = "refs/checkpoints/history";
pub(super) const TRACKING: &str = "refs/checkpoints-remote/origin/history";

/// Lets git make a commit as we do when we join two logs.
pub(super) const AS_JOINED: &str = "export GIT_AUTHOR_NAME=git-checkpoint GIT_AUTHOR_EMAIL=checkpoint@agent.invalid \
     GIT_COMMITTER_NAME=git-checkpoint GIT_COMMITTER_EMAIL=checkpoint@agent.invalid \
     GIT_AUTHOR_DATE='1748779200 +0000' GIT_COMMITTER_DATE='1748779200 +0000'";

/// A server, and clones of it with our hooks.
pub(super) struct Team {
    pub(super) world: World,
}

impl Team {
    pub(super) fn new() -> Self {
        let world = World::with_hooks();
        world.sh("git init -q --bare ../server.git; git remote add origin ../server.git; git push -q origin HEAD:main");
        Self { world }
    }

    pub(super) fn of(names: &[&str]) -> Self {
        let team = Self::new();
        for name in names {
            team.world.sh(&format!("cp -a . ../{name}"));
            team.done(name, &["remote", "approve", "origin", "--yes"]);
        }
        team
    }

    /// Lets the clone reach the server by the engine `engine`: ours needs an absolute path.
    pub(super) fn reach_by(&self, name: &str, engine: &str) {
        let server = self.path("server.git");
        self.git(name, &["config", "remote.origin.url", server.to_str().expect("plain")]);
        self.git(name, &["config", "remote.origin.checkpointEngine", engine]);
        self.done(name, &["remote", "approve", "origin", "--yes"]);
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.world.root().join(name)
    }

    pub(super) fn run(&self, name: &str, arguments: &[&str]) -> Output {
        self.world.command(program()).current_dir(self.path(name)).args(arguments).output().expect("the program runs")
    }

    pub(super) fn done(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.run(name, arguments);
        assert!(output.status.success(), "{name} {arguments:?}: {}", described(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that has to fail, and returns all that it says.
    pub(super) fn fails(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.run(name, arguments);
        assert!(!output.status.success(), "{name} {arguments:?}: {}", described(&output));
        described(&output)
    }

    pub(super) fn git(&self, name: &str, arguments: &[&str]) -> String {
        self.world.git(&[&["-C", self.path(name).to_str().expect("plain")], arguments].concat()).trim().to_owned()
    }

    pub(super) fn id(&self, name: &str, reference: &str) -> String {
        self.git(name, &["for-each-ref", "--format=%(objectname)", reference])
    }

    /// An agent works in the clone, which then has one more record.
    pub(super) fn work(&self, name: &str, file: &str, text: &str) {
        self.prompted(name, file, text, "please write");
    }

    pub(super) fn prompted(&self, name: &str, file: &str, text: &str, prompt: &str) {
        let script = format!(
            "git checkpoint session prompt s-{name} --agent claude-code -q -m '{prompt}'
            printf '%s\\n' '{text}' >>{file}
            git checkpoint session stop s-{name} -q
            git add -A; git commit -qm 'work on {file}'"
        );
        let output = self.world.command("sh").args(["-ec", &script]).current_dir(self.path(name)).output();
        let output = output.expect("there is a shell");
        assert!(output.status.success(), "{}", described(&output));
    }

    /// Returns how many records the own log of the clone has.
    pub(super) fn records(&self, name: &str) -> usize {
        self.records_in(name, HISTORY)
    }

    /// Returns how many records the log has that `reference` leads to.
    pub(super) fn records_in(&self, name: &str, reference: &str) -> usize {
        let paths = self.git(name, &["ls-tree", "-r", "--name-only", reference]);
        paths.lines().filter(|it| it.ends_with("/record.toml") && !it.contains("/others/")).count()
    }

    pub(super) fn assert_sound(&self, names: &[&str]) {
        for name in names {
            self.git(name, &["fsck", "--strict", "--no-dangling"]);
        }
    }
}

#[test]
fn two_clones_diverge_and_converge() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.work("b", "y", "of b");
    team.work("b", "y", "more of b");
    team.done("a", &["push"]);
    let of_a = team.id("a", HISTORY);
    assert_eq!(team.id("server.git", HISTORY), of_a);
    let sent: serde_json::Value = serde_json::from_str(&team.done("b", &["push", "--json"])).expect("JSON");
    assert_eq!((&sent["refs"][0]["joined"], &sent["refs"][0]["sent_records"]), (&true.into(), &2.into()), "{sent}");
    let joined = team.id("server.git", HISTORY);
    assert_eq!(team.id("b", TRACKING), joined);
    team.done("a", &["sync"]);
    assert_eq!([team.id("a", HISTORY), team.id("a", TRACKING)], [of_a, joined]);
    assert_eq!(["a", "b", "server.git"].map(|name| team.records(name)), [1, 2, 3]);
    for name in ["a", "b"] {
        let again = team.done(name, &["sync", "--json"]);
        assert!(again.contains("\"joined\":false") && again.contains("\"sent_records\":0"), "{again}");
    }
    team.assert_sound(&["a", "b", "server.git"]);
}

#[test]
fn the_order_of_pushes_does_not_matter() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.work("b", "y", "of b");
    let mut tips = Vec::new();
    for order in [["a", "b"], ["b", "a"]] {
        team.world.sh("rm -rf ../copies; mkdir ../copies; cp -a ../a ../b ../server.git ../copies");
        for name in order {
            let copy = format!("copies/{name}");
            // It is another path.
            team.done(&copy, &["remote", "approve", "origin", "--yes"]);
            team.done(&copy, &["sync"]);
        }
        tips.push(team.id("copies/server.git", HISTORY));
    }
    assert_eq!(tips[0], tips[1]);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let names = ["a", "b", "c", "d"];
    let team = Team::of(&names);
    for round in 0..2 {
        for name in names {
            team.work(name, name, &format!("round {round}"));
        }
        std::thread::scope(|scope| {
            for name in names {
                let team = &team;
                scope.spawn(move || team.done(name, &["push"]));
            }
        });
    }
    for name in names {
        team.done(name, &["sync"]);
        assert_eq!(team.id(name, TRACKING), team.id("server.git", HISTORY));
        assert_eq!([team.records(name), team.records_in(name, TRACKING)], [2, 8]);
    }
    team.assert_sound(&names);
}

/// The remote has the join, and the clone that was killed does not know that.
#[test]
fn a_killed_push_is_taken_up_again() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.work("b", "y", "of b");
    team.done("a", &["push"]);
    let before = team.id("b", HISTORY);
    let mut command = team.world.command(program());
    command.current_dir(team.path("b")).arg("push").env("CHECKPOINT_FAILPOINT", "push:after-remote");
    assert!(!command.output().expect("the program runs").status.success());
    assert_eq!(team.id("b", HISTORY), before);
    assert_ne!(team.id("server.git", HISTORY), before);
    team.done("b", &["sync"]);
    assert_eq!([team.id("b", TRACKING), team.id("b", HISTORY)], [team.id("server.git", HISTORY), before]);
    assert_eq!(team.records("server.git"), 2);
    team.assert_sound(&["b"]);
}

#[test]
fn a_record_made_during_a_push_stays() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.work("b", "y", "of b");
    team.done("a", &["push"]);
    let mut command = team.world.command(program());
    command.current_dir(team.path("b")).arg("push").env("CHECKPOINT_FAILPOINT", "stop@push:after-remote");
    let mut child = command.spawn().expect("the program starts");
    halted(&child);
    team.work("b", "z", "meanwhile");
    signal(&child, "CONT");
    assert!(child.wait().expect("it ends").success());
    assert_eq!([team.records("b"), team.records("server.git")], [2, 2]);
    team.done("b", &["push"]);
    assert_eq!(team.id("b", TRACKING), team.id("server.git", HISTORY));
    assert_eq!(team.records("server.git"), 3);
    team.assert_sound(&["b", "server.git"]);
}

/// Git would leave the content of the files for later, and ask for each of them.
#[test]
fn a_partial_clone_gets_whole_records() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of an agent");
    team.done("a", &["push"]);
    team.git("a", &["push", "-q", "origin", "HEAD:main"]);
    team.git("server.git", &["config", "uploadpack.allowFilter", "true"]);
    team.world.sh("git clone -q --filter=blob:none -b main \"file://$PWD/../server.git\" ../partial");
    team.done("partial", &["fetch"]);
    team.git("partial", &["remote", "set-url", "origin", "/nowhere"]);
    let why = team.done("partial", &["why", "x:1"]);
    assert!(why.contains("please write"), "{why}");
}

#[test]
fn lines_of_others_are_known_after_a_fetch() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of an agent");
    team.done("a", &["push"]);
    team.git("a", &["push", "-q", "origin", "HEAD:main"]);
    team.world.sh("git clone -q -b main ../server.git ../reader");
    assert!(team.done("reader", &["blame", "x"]).contains("unknown"));
    let said = described(&team.run("reader", &["blame", "x"]));
    assert!(said.contains("'git checkpoint fetch <remote>'"), "{said}");
    team.done("reader", &["fetch"]);
    assert_eq!(team.id("reader", HISTORY), "", "our own log is not touched");
    let blame = team.done("reader", &["blame", "x"]);
    assert!(blame.contains("claude-code") && !blame.contains("unknown"), "{blame}");
    let why = team.done("reader", &["why", "x:1"]);
    assert!(why.contains("please write"), "{why}");
    assert!(team.done("reader", &["explain"]).contains("claude-code"));
    // A record of our own beside those of others.
    team.world.sh("cp ../a/.git/hooks/* ../reader/.git/hooks");
    team.work("reader", "z", "of another agent");
    for (file, session) in [("x", "s-a"), ("z", "s-reader")] {
        assert!(team.done("reader", &["blame", file]).contains(session), "{file}");
    }
    assert_eq!(team.records("reader"), 1);
    assert!(team.done("reader", &["doctor"]).contains("2 records"));
}

#[test]
fn nothing_is_sent_without_consent() {
    let team = Team::of(&[]);
    team.world.sh("cp -a . ../a; git init -q --bare ../other.git");
    team.work("a", "x", "of a");
    assert!(team.fails("a", &["push"]).contains("no remote is approved"));
    for arguments in [&["push", "origin"][..], &["sync"], &["sync", "origin"]] {
        assert!(team.fails("a", arguments).contains("not approved"));
    }
    // Neither a setting nor a committed file approves anything.
    team.world
        .sh("cd ../a; printf '[remote \"origin\"]\\ncheckpointApproved = true\\n' >c; git config include.path ../c");
    assert!(team.fails("a", &["push", "origin"]).contains("not approved"));
    assert!(team.fails("a", &["remote", "approve", "origin"]).contains("not approved"), "it cannot ask");
    team.done("a", &["remote", "approve", "origin", "--yes"]);
    team.done("a", &["push", "--dry-run"]);
    assert_eq!(team.id("server.git", "refs/checkpoints"), "");
    for change in ["remote.origin.pushurl ../other.git", "url.../other.git.pushInsteadOf ../server.git"] {
        let (key, value) = change.split_once(' ').expect("two words");
        team.git("a", &["config", key, value]);
        let said = team.fails("a", &["push"]);
        assert!(said.contains("other.git") && said.contains("is not the one that was approved"), "{said}");
        team.git("a", &["config", "--unset", key]);
    }
    team.done("a", &["push"]);
    team.done("a", &["remote", "remove", "origin", "--yes"]);
    assert!(team.fails("a", &["push", "origin"]).contains("not approved"));
    let refs = team.git("server.git", &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, format!("{HISTORY}\nrefs/heads/main"), "only records are sent");
}

#[rstest::rstest]
#[case::command("ext::sh -c 'touch ran'")]
#[case::descriptor("fd::7")]
#[case::nested("checkpoint::origin")]
#[case::option("--upload-pack=touch ran")]
fn dangerous_addresses_are_refused(#[case] address: &str) {
    let team = Team::of(&[]);
    team.world.sh("cp -a . ../a");
    let said = team.fails("a", &["remote", "add", "bad", "--", address]);
    assert!(said.contains("cannot be used"), "{said}");
    team.git("a", &["config", "remote.bad.url", address]);
    for arguments in [&["fetch", "bad"][..], &["push", "bad"], &["remote", "approve", "bad", "--yes"]] {
        let said = team.fails("a", arguments);
        assert!(said.contains("the address of 'bad' cannot be used"), "{said}");
    }
    assert!(!team.path("a").join("ran").exists());
}

#[test]
fn passwords_in_urls_are_not_shown() {
    let team = Team::of(&[]);
    team.world.sh("cp -a . ../a");
    let url = "http://user:hunter2@127.0.0.1:9/x";
    let mut said = team.done("a", &["remote", "add", "team", url]);
    said += &team.done("a", &["remote", "list", "--json"]);
    said += &team.done("a", &["remote", "approve", "team", "--yes"]);
    said += &team.fails("a", &["fetch", "team"]);
    said += &team.fails("a", &["push", "team"]);
    said += &described(&team.run("a", &["remote", "remove", "team"]));
    assert!(said.contains("127.0.0.1") && !said.contains("hunter2") && !said.contains("user"), "{said}");
    assert_eq!(team.git("a", &["remote"]), "origin");
}

#[test]
fn secrets_are_not_sent() {
    let team = Team::of(&["a"]);
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    team.git("a", &["config", "--local", "user.name", "a"]);
    team.world.sh("cd ../a; git checkpoint config set transcript.redact false");
    team.prompted("a", "x", "text", &format!("use {secret}"));
    for arguments in [&["push"][..], &["push", "--dry-run"], &["sync"]] {
        let said = team.fails("a", arguments);
        assert!(said.contains("a prompt in the record") && said.contains("nothing was sent"), "{said}");
        assert!(!said.contains("ghp_"), "{said}");
    }
    assert_eq!(team.id("server.git", HISTORY), "");
    team.done("a", &["push", "--no-scan"]);
    assert_ne!(team.id("server.git", HISTORY), "");
}

#[test]
fn what_the_server_says_reaches_the_user() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    let before = team.id("a", HISTORY);
    let hook = team.path("server.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
    write_script(&hook, "#!/bin/sh\nprintf 'policy 17: \\033[2Jno records' >&2; echo >&2; exit 1\n");
    let said = team.fails("a", &["push"]);
    assert!(said.contains("policy 17") && said.contains("has refused"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    assert_eq!([team.id("a", HISTORY), team.id("a", TRACKING)], [before, String::new()]);
    write_script(&hook, "#!/bin/sh\necho 'thanks for the records' >&2\n");
    let said = described(&team.run("a", &["push"]));
    assert!(said.contains("thanks for the records"), "{said}");
}

#[test]
fn a_hidden_ref_is_named() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    team.git("server.git", &["config", "transfer.hideRefs", "refs/checkpoints"]);
    let said = team.fails("a", &["push"]);
    assert!(said.contains("hidden ref"), "{said}");
    team.git("server.git", &["config", "--unset", "transfer.hideRefs"]);
    team.git("server.git", &["config", "uploadpack.hideRefs", "refs/checkpoints"]);
    let said = described(&team.run("a", &["push"]));
    assert!(said.contains("was pushed, but 'origin' does not show it"), "{said}");
}

/// A branch of code, or anything else that is not of our format, is refused as a log; nothing moves, and later all is well.
#[test]
fn hostile_logs_change_nothing() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.work("b", "y", "of b");
    team.done("a", &["push"]);
    team.done("b", &["fetch"]);
    let (sound, before) = (team.id("server.git", HISTORY), team.git("b", &["for-each-ref"]));
    let hostile = "blob=$(echo x | git hash-object -w --stdin); \
         evil=$(printf '100644 blob %s\\t\\033[2J\\n' $blob | git mktree); \
         tree=$(git ls-tree history | { cat; printf '040000 tree %s\\tzz\\n' $evil; } | git mktree); \
         git commit-tree -p history -m x $tree";
    let hostile = format!("cd ../server.git; git update-ref refs/heads/history {sound}; {hostile}");
    let evil = team.world.sh(&hostile).trim().to_owned();
    for (tip, named) in [(team.id("server.git", "refs/heads/main"), "'f'"), (evil, "'zz'")] {
        team.git("server.git", &["update-ref", HISTORY, &tip]);
        for command in ["fetch", "push", "sync"] {
            let said = team.fails("b", &[command]);
            assert!(said.contains("is refused") && !said.contains('\u{1b}'), "{said}");
            assert!(said.contains(named) || named == "'f'", "{said}");
        }
        assert_eq!(team.git("b", &["for-each-ref"]), before);
    }
    team.git("server.git", &["update-ref", HISTORY, &sound]);
    team.done("b", &["sync"]);
    assert_eq!([team.records("b"), team.records_in("b", TRACKING)], [1, 2]);
    // A log that was taken away gets our records again, and those of others from them.
    team.git("server.git", &["update-ref", "-d", HISTORY]);
    team.done("b", &["push"]);
    assert_eq!([team.records("server.git"), team.records_in("b", TRACKING)], [1, 2]);
    team.git("server.git", &["update-ref", HISTORY, &sound]);
    team.done("b", &["push"]);
    assert_eq!(team.records("server.git"), 2);
}

#[test]
fn another_hash_function_is_one_clear_sentence() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    team.world.sh("git init -q --object-format=sha256 ../s; cd ../s; git commit -q --allow-empty -m x
        git update-ref refs/checkpoints/history HEAD; cd ../a; git remote set-url origin ../s");
    let said = team.fails("a", &["fetch"]);
    assert!(said.contains("ids of sha256") && said.contains("cannot be exchanged"), "{said}");
}

#[test]
fn transcripts_go_only_if_asked_for() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; echo '{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}' >../said
        git checkpoint session prompt s1 --agent claude-code --transcript $PWD/../said -q -m p
        echo x >>x; git checkpoint session stop s1 -q; git add x; git commit -qm work");
    let months = "refs/checkpoints/transcripts";
    assert_ne!(team.id("a", months), "", "there is one");
    team.done("a", &["push"]);
    assert_eq!(team.id("server.git", months), "");
    team.done("a", &["push", "--transcripts"]);
    assert_eq!(team.id("server.git", months), team.id("a", months));
    team.done("b", &["fetch"]);
    assert_eq!(team.git("b", &["for-each-ref", "--format=%(refname)", "refs/checkpoints-remote"]), TRACKING);
    team.done("b", &["fetch", "--transcripts"]);
    assert!(team.git("b", &["for-each-ref", "refs/checkpoints-remote"]).contains("/transcripts/"));
}

/// What one clone has purged does not come back from a remote.
#[test]
fn a_purge_is_not_undone() {
    let team = Team::of(&["a", "b"]);
    team.prompted("a", "x", "text", "the codename is wombat");
    team.done("a", &["push"]);
    team.git("a", &["update-ref", "-d", TRACKING]);
    team.done("a", &["purge", "--force", "wombat"]);
    let purged = team.id("a", HISTORY);
    for command in ["push", "sync"] {
        let said = team.fails("a", &[command]);
        assert!(said.contains("purged"), "{said}");
        assert_eq!(team.id("a", HISTORY), purged);
    }
    team.work("b", "y", "of b");
    team.done("b", &["sync"]);
    assert!(team.fails("a", &["sync"]).contains("purged"));
}

#[test]
fn records_travel_over_the_network() {
    let team = Team::of(&["a", "b"]);
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free").local_addr().expect("bound").port();
    let mut daemon = team.world.command("git");
    daemon.args(["daemon", "--reuseaddr", "--listen=127.0.0.1", "--export-all", "--enable=receive-pack"]);
    daemon.arg(format!("--port={port}")).arg(format!("--base-path={}", team.world.root().display()));
    let mut daemon = daemon.spawn().expect("git runs");
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(daemon.try_wait().expect("it is ours").is_none(), "the daemon has ended");
        std::thread::yield_now();
    }
    let url = format!("git://127.0.0.1:{port}/server.git");
    for name in ["a", "b"] {
        team.work(name, name, "text");
        team.done(name, &["remote", "add", "team", &url]);
        team.done(name, &["remote", "approve", "team", "--yes"]);
        team.done(name, &["sync", "team"]);
    }
    team.done("a", &["fetch", "team"]);
    let tracking = "refs/checkpoints-remote/team/history";
    assert_eq!(team.id("a", tracking), team.id("b", tracking));
    assert_eq!(team.records("server.git"), 2);
    // Git itself does not ask it.
    team.git("a", &["fetch", "-q", "--all"]);
    let pid = i32::try_from(daemon.id()).expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("it runs");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is ours");
    daemon.wait().expect("it ends");
}

/// What was asked about is what is approved.
#[test]
fn an_address_that_changes_during_the_question_is_not_approved() {
    let team = Team::of(&[]);
    team.world.sh("cp -a . ../a; git init -q --bare ../other.git");
    team.work("a", "x", "of a");
    let mut command = team.world.command(program());
    command.current_dir(team.path("a")).args(["remote", "approve", "origin", "--yes"]);
    let mut child = command.env("CHECKPOINT_FAILPOINT", "stop@remote:asked").spawn().expect("the program starts");
    halted(&child);
    team.git("a", &["config", "remote.origin.pushurl", "../other.git"]);
    signal(&child, "CONT");
    assert!(!child.wait().expect("it ends").success());
    for url in ["../other.git", "../server.git"] {
        team.git("a", &["config", "remote.origin.pushurl", url]);
        assert!(team.fails("a", &["push", "origin"]).contains("not approved"));
    }
}

/// The settings change while the remote is asked: records go to what was approved all the same.
#[rstest::rstest]
#[case::push_url("remote.origin.pushurl ../other.git")]
#[case::rewritten("url.../other.git.pushInsteadOf ../server.git")]
#[case::rewritten_for_all("url.../other.git.insteadOf ../server.git")]
#[case::named_like_the_address("remote.../server.git.pushurl ../other.git")]
fn records_go_to_the_approved_address(#[case] change: &str) {
    let team = Team::of(&["a"]);
    team.world.sh("git init -q --bare ../other.git");
    team.work("a", "x", "of a");
    let (key, value) = change.split_once(' ').expect("two words");
    let wrapper = team.path("wrapper");
    let config = team.path("a/.git/config");
    write_script(
        &wrapper,
        &format!("#!/bin/sh\ngit config -f '{}' '{key}' '{value}'\nexec git-upload-pack \"$@\"\n", config.display()),
    );
    team.git("a", &["config", "remote.origin.uploadpack", wrapper.to_str().expect("plain")]);
    team.done("a", &["push", "origin"]);
    assert_eq!(team.git("a", &["config", key]), value, "the wrapper ran");
    assert_eq!(team.id("other.git", HISTORY), "");
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
}

#[test]
fn each_address_of_a_remote_gets_records() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("git init -q --bare '../other=1.git'");
    team.work("b", "y", "of b");
    team.done("b", &["push"]);
    team.work("a", "x", "of a");
    for url in ["../other=1.git", "../server.git"] {
        team.git("a", &["config", "--add", "remote.origin.pushurl", url]);
    }
    team.done("a", &["remote", "approve", "origin", "--yes"]);
    team.done("a", &["push"]);
    assert_eq!([team.records("other=1.git"), team.records("server.git")], [1, 2]);
    team.work("a", "x", "more");
    team.world.sh("rm -rf '../other=1.git'");
    assert!(team.fails("a", &["push"]).contains("other=1.git"));
}

/// The URL to fetch from is another one, which has no records: the ref is not hidden where it was pushed to.
#[test]
fn a_ref_is_looked_for_where_it_was_pushed_to() {
    let team = Team::of(&["a"]);
    team.world.sh("git init -q --bare ../other.git");
    team.work("a", "x", "of a");
    team.git("a", &["config", "remote.origin.pushurl", "../other.git"]);
    team.done("a", &["remote", "approve", "origin", "--yes"]);
    let said = described(&team.run("a", &["push"]));
    assert!(!said.contains("does not show it"), "{said}");
}

/// What cannot be read in a log that was fetched is as if it were not there, and never comes into our own log.
#[rstest::rstest]
#[case::record("record.toml")]
#[case::attribution("attribution")]
#[case::session("sessions/0/session.toml")]
#[case::prompts("sessions/0/prompts.toml")]
#[case::link("links/")]
fn damaged_records_of_others_stop_nothing(#[case] name: &str) {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of an agent");
    team.done("a", &["push"]);
    team.git("b", &["pull", "-q", "../a", "HEAD"]);
    team.work("b", "y", "of b");
    team.done("b", &["fetch"]);
    let damaged = team.world.sh(&format!(
        "cd ../b; export GIT_INDEX_FILE=../index; git read-tree {TRACKING}
        bad=$(printf 'no toml \\033[2J' | git hash-object -w --stdin)
        for path in $(git ls-files | grep -F '/{name}'); do git update-index --cacheinfo 100644,$bad,$path; done
        {AS_JOINED}
        commit=$(git commit-tree -p {TRACKING} -m 'logs joined' $(git write-tree)); unset GIT_INDEX_FILE
        git push -q -f origin $commit:{HISTORY}; echo $commit"
    ));
    let damaged = damaged.trim();
    assert_eq!(team.id("server.git", HISTORY), damaged);
    let before = team.id("b", HISTORY);
    for command in ["fetch", "sync", "push"] {
        let said = team.fails("b", &[command]);
        assert!(said.contains("is refused") && said.contains(name) && !said.contains('\u{1b}'), "{said}");
    }
    // Another program has fetched it.
    team.git("b", &["update-ref", TRACKING, damaged]);
    for arguments in
        [&["blame", "x"][..], &["why", "x:1"], &["explain"], &["explain", "HEAD~1"], &["attribution", "HEAD~1"]]
    {
        let output = team.run("b", arguments);
        assert_ne!(output.status.code(), Some(128), "{arguments:?}: {}", described(&output));
    }
    assert_eq!(team.id("b", HISTORY), before);
}

/// Our own log links no commit to a record that only others have.
#[test]
fn a_record_of_others_gets_no_link_in_our_log() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of an agent");
    team.done("a", &["push"]);
    team.git("b", &["pull", "-q", "../a", "HEAD"]);
    team.done("b", &["fetch"]);
    team.git("b", &["commit", "-q", "--amend", "-m", &team.git("b", &["log", "-1", "--format=%B"])]);
    team.work("b", "y", "of b");
    let paths = team.git("b", &["ls-tree", "-r", "--name-only", HISTORY]);
    let records = paths.lines().filter(|it| it.ends_with("/record.toml")).count();
    let links = paths.lines().filter(|it| it.contains("/links/")).count();
    assert_eq!((records, links), (1, 1), "{paths}");
    let blame = team.done("b", &["blame", "x"]);
    assert!(blame.contains("claude-code"), "{blame}");
}
