//! `git-remote-checkpoint`: git's own commands, real servers and clones on the other side of `checkpoint::`.

use std::process::Output;

use rstest::rstest;

use crate::support::{
    World,
    processes::described,
    servers::{Asks, WebServer},
};

pub(super) const HISTORY: &str = "refs/checkpoints/history";

/// A server, and clones of it in which agents have worked.
pub(super) struct Team {
    pub(super) world: World,
}

impl Team {
    pub(super) fn of(names: &[&str]) -> Self {
        let world = World::with_hooks();
        world.sh("git init -q --bare ../server.git; git remote add origin ../server.git; git push -q origin HEAD:main");
        for name in names {
            world.sh(&format!(
                "cp -a . ../{name}; cd ../{name}; git checkpoint remote approve origin --yes -q
                git remote add team checkpoint::origin
                git config remote.team.fetch '+refs/checkpoints/*:refs/checkpoints-remote/team/*'
                git config remote.team.push {HISTORY}
                git config remote.team.tagOpt --no-tags
                git checkpoint session prompt s-{name} --agent claude-code -q -m write
                echo {name} >{name}.txt
                git checkpoint session stop s-{name} -q
                git add -A; git commit -qm 'work of {name}'"
            ));
        }
        Self { world }
    }

    pub(super) fn run(&self, name: &str, words: &[&str]) -> Output {
        let directory = self.world.root().join(name);
        self.world.command("git").current_dir(directory).args(words).output().expect("git runs")
    }

    /// Runs git, which has to succeed, and returns all that it says.
    pub(super) fn git(&self, name: &str, words: &[&str]) -> String {
        let output = self.run(name, words);
        assert!(output.status.success(), "{name} {words:?}: {}", described(&output));
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
    }

    /// Runs git, which has to fail, and returns all that it says.
    pub(super) fn fails(&self, name: &str, words: &[&str]) -> String {
        let output = self.run(name, words);
        assert!(!output.status.success(), "{name} {words:?}: {}", described(&output));
        described(&output)
    }

    pub(super) fn id(&self, name: &str, reference: &str) -> String {
        self.git(name, &["for-each-ref", "--format=%(objectname)", reference]).trim().to_owned()
    }

    fn records(&self, name: &str) -> usize {
        let names = self.git(name, &["ls-tree", "-r", "--name-only", HISTORY]);
        names.lines().filter(|name| name.ends_with("/record.toml")).count()
    }
}

#[test]
fn clones_that_diverged_converge_by_git_push_alone() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
    let own = team.id("b", HISTORY);
    let said = team.git("b", &["push", "team"]);
    assert!(!said.contains("forced") && said.contains(HISTORY), "{said}");
    assert_eq!(team.id("server.git", HISTORY), team.id("b", "refs/checkpoints-remote/team/history"));
    assert_eq!(team.id("b", HISTORY), own, "a push does not change the own log");
    assert_eq!((team.records("server.git"), team.records("b"), team.records("a")), (2, 1, 1));
    let again = (team.id("server.git", HISTORY), team.git("b", &["push", "team"]));
    assert_eq!(team.id("server.git", HISTORY), again.0, "{}", again.1);
    assert_eq!(team.id("b", "refs/checkpoints-remote/team/history"), again.0, "{}", again.1);
    // What is merely behind changes nothing there.
    let before = team.id("server.git", HISTORY);
    team.git("a", &["push", "team"]);
    assert_eq!(team.id("server.git", HISTORY), before);
    for name in ["a", "b", "server.git"] {
        team.git(name, &["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn a_fetch_lets_readers_see_the_records_of_others() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.git("a", &["push", "-q", "origin", "HEAD:main"]);
    team.git("b", &["fetch", "-q", "origin"]);
    let before = team.id("b", HISTORY);
    team.git("b", &["fetch", "team"]);
    assert_eq!(team.id("b", "refs/checkpoints-remote/team/history"), team.id("a", HISTORY));
    assert_eq!(team.id("b", HISTORY), before);
    let blame = team.git("b", &["checkpoint", "blame", "--rev", "origin/main", "a.txt"]);
    assert!(blame.contains("claude-code"), "{blame}");
    assert!(team.git("b", &["fetch", "team"]).is_empty(), "nothing is new");
}

#[rstest]
#[case::a_remote("checkpoint::origin")]
#[case::a_path("checkpoint::../server.git")]
fn only_logs_are_listed(#[case] address: &str) {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    team.world.sh("cd ../server.git; git update-ref refs/checkpoints/session-of-others/1 main");
    let listed = team.git("a", &["ls-remote", address]);
    let id = team.id("a", HISTORY);
    assert_eq!(listed, format!("{id}\t{HISTORY}\n{id}\tHEAD\n"));
}

#[test]
fn a_mirror_and_a_plain_clone() {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    let address = format!("checkpoint::{}", team.world.root().join("server.git").display());
    team.git("", &["clone", "-q", "--mirror", &address, "mirror.git"]);
    assert_eq!(team.id("mirror.git", HISTORY), team.id("a", HISTORY));
    team.git("mirror.git", &["fsck", "--strict"]);
    team.git("", &["clone", "-q", &address, "audit"]);
    assert!(team.git("audit", &["ls-files"]).contains("record.toml"));
}

#[test]
fn over_http() {
    let team = Team::of(&["a", "b"]);
    let web = WebServer::start(&team.world.root(), Asks::default());
    for name in ["a", "b"] {
        team.git(name, &["remote", "set-url", "origin", &web.url("server.git")]);
        team.git(name, &["checkpoint", "remote", "approve", "origin", "--yes", "-q"]);
        team.git(name, &["push", "team"]);
        team.git(name, &["fetch", "team"]);
    }
    assert_eq!(team.id("server.git", HISTORY), team.id("b", "refs/checkpoints-remote/team/history"));
    assert_eq!(team.records("server.git"), 2);
}

#[rstest]
#[case::deletion(&["push", "team", ":refs/checkpoints/history"], "is never deleted")]
#[case::another_ref(&["push", "team", "HEAD:refs/heads/main"], "only logs of records")]
#[case::another_source(&["push", "team", "HEAD:refs/checkpoints/history"], "itself can be pushed")]
#[case::a_checkpoint(&["push", "team", "HEAD:refs/checkpoints/shadow/x"], "only logs of records")]
#[case::forced(&["push", "team", "+HEAD:refs/checkpoints/history"], "itself can be pushed")]
#[case::all_or_nothing(&["push", "--atomic", "team", "refs/checkpoints/history"], "atomic")]
fn what_is_refused(#[case] words: &[&str], #[case] why: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("b", &["push", "team"]);
    let before = team.id("server.git", HISTORY);
    let said = team.fails("a", words);
    assert!(said.contains(why), "{said}");
    assert_eq!(team.id("server.git", HISTORY), before);
    assert_eq!(team.git("server.git", &["for-each-ref", "--format=%(refname)"]).lines().count(), 2);
}

#[test]
fn nothing_is_sent_without_approval() {
    let team = Team::of(&["a"]);
    team.world.sh("git init -q --bare ../other.git");
    for (name, words) in
        [("a", ["push", "checkpoint::../other.git", HISTORY]), ("a", ["push", "checkpoint::file://SERVER", HISTORY])]
    {
        let server = team.world.root().join("other.git").display().to_string();
        let words = words.map(|word| word.replace("SERVER", &server));
        let said = team.fails(name, &words.each_ref().map(String::as_str));
        assert!(said.contains("is approved") && said.contains("remote approve"), "{said}");
    }
    assert_eq!(team.id("other.git", "refs"), "");
    // The URL itself is approved.
    team.git("a", &["push", "checkpoint::../server.git", HISTORY]);
    team.git("a", &["remote", "set-url", "--push", "origin", "../other.git"]);
    team.git("server.git", &["update-ref", "-d", HISTORY]);
    let said = team.fails("a", &["push", "team"]);
    assert!(said.contains("is not the one that was approved"), "{said}");
    assert_eq!(team.id("other.git", "refs"), "");
}

#[rstest]
#[case::nested("checkpoint::checkpoint::origin")]
#[case::command("checkpoint::ext::sh -c touch% ran")]
#[case::option("checkpoint::--upload-pack=touch ran")]
#[case::empty("checkpoint::")]
#[case::to_itself("checkpoint::team")]
#[case::rewritten("checkpoint::loop/x")]
fn addresses_that_lead_nowhere_or_run_something(#[case] address: &str) {
    let team = Team::of(&["a"]);
    team.git("a", &["config", "url.checkpoint::.insteadOf", "loop/"]);
    team.fails("a", &["ls-remote", address]);
    assert!(!team.world.root().join("a/ran").exists());
}

#[test]
fn a_failing_list_prunes_nothing() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.git("b", &["fetch", "team"]);
    team.world.sh("mv ../server.git ../away");
    team.fails("b", &["fetch", "--prune", "team"]);
    assert_eq!(team.id("b", "refs/checkpoints-remote/team/history"), team.id("a", HISTORY));
}

#[test]
fn a_dry_run_sends_nothing() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "-n", "team"]);
    assert_eq!(team.id("server.git", HISTORY), "");
    team.git("a", &["push", "team"]);
    let before = [team.id("server.git", HISTORY), team.id("b", HISTORY)];
    team.git("b", &["push", "-n", "team"]);
    assert_eq!([team.id("server.git", HISTORY), team.id("b", HISTORY)], before);
}

#[test]
fn what_a_server_says_reaches_the_user() {
    let team = Team::of(&["a"]);
    let hook = "#!/bin/sh\necho 'not on a Friday' >&2\nexit 1\n";
    crate::support::files::write_script(&team.world.root().join("server.git/hooks/pre-receive"), hook);
    let said = team.fails("a", &["push", "team"]);
    assert!(said.contains("not on a Friday"), "{said}");
}

/// Both ways to list and to fetch say and do the same.
#[rstest]
#[case::ours("auto")]
#[case::gits("git")]
fn a_fetch_over_http(#[case] engine: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    let web = WebServer::start(&team.world.root(), Asks::default());
    team.git("b", &["remote", "set-url", "origin", &web.url("server.git")]);
    team.git("b", &["config", "remote.origin.checkpointEngine", engine]);
    team.git("b", &["checkpoint", "fetch", "origin"]);
    assert_eq!(team.id("b", "refs/checkpoints-remote/origin/history"), team.id("a", HISTORY));
    let requests = web.take_requests();
    // Version 2: what can you do, which refs are there; and again, with the pack.
    assert!(requests.len() <= if engine == "auto" { 4 } else { 5 }, "{requests:#?}");
    team.git("b", &["checkpoint", "fetch", "origin"]);
    assert!(web.take_requests().len() <= 2, "nothing is new");
    team.world.sh("mv ../server.git ../away");
    let said = team.fails("b", &["checkpoint", "fetch", "origin"]);
    assert!(said.contains("cannot list the refs of 'origin'") && said.contains("not found"), "{said}");
}

#[test]
fn the_settings_hold_when_git_fetches() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "-q", "team"]);
    team.git("b", &["config", "checkpoint.remote.max-fetch-size", "100"]);
    let said = team.fails("b", &["fetch", "team"]);
    assert!(said.contains("sends more than 100 bytes") && said.contains("'remote.max-fetch-size'"), "{said}");
    team.git("b", &["config", "--unset", "checkpoint.remote.max-fetch-size"]);
    team.git("b", &["fetch", "-q", "team"]);
}
