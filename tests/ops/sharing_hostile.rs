//! Servers that want more than records: objects of ours that were sent nowhere, our memory, or our time.

use std::process::Output;

use rstest::rstest;

use super::sharing::{AS_JOINED, HISTORY, TRACKING, Team};
use crate::support::{
    files::write_script,
    processes::described,
    program,
    servers::{Asks, WebServer},
};

/// Lets git's side of a fetch, on this machine, send the pack `evil.pack`, whatever it was asked for.
pub(super) fn with_forged_packs(team: &Team) {
    write_script(
        &team.path("packs"),
        &format!("#!/bin/sh\ncat >/dev/null\ncat '{}'\n", team.path("evil.pack").display()),
    );
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/gitconfig");
    let text =
        format!("[include]\npath = {settings}\n[uploadpack]\npackObjectsHook = {}\n", team.path("packs").display());
    std::fs::write(team.path("gitconfig"), text).expect("written");
}

pub(super) fn run(team: &Team, words: &[&str]) -> Output {
    let mut command = team.world.command(program());
    command.current_dir(team.path("a")).env("GIT_CONFIG_GLOBAL", team.path("gitconfig"));
    command.args(words).output().expect("the program runs")
}

/// A clone `a`, an agent of which has written a file that is sent nowhere, and a server that lists a log with it as if it had it: an
/// earlier state of the log, or a piece of a transcript. What is pushed goes to a repository that shows no refs. Returns the file.
fn thief(is_transcript: bool) -> (Team, String) {
    let team = Team::of(&["a", "b"]);
    team.work("b", "y", "of b");
    team.done("b", &["push"]);
    team.work("a", "private.c", "the private code of a");
    let stolen = team.git("a", &["rev-parse", "HEAD:private.c"]);
    assert!(team.git("a", &["grep", "-h", &stolen, HISTORY]).contains("private.c"), "the record names the file");
    let commit = if is_transcript {
        format!(
            "session=$(printf '100644 blob {stolen}\\t000001\\n' | git mktree --missing)
            root=$(printf \"040000 tree $session\\ts\\n\" | git mktree); record=$session; shard=$root
            c1=$(echo transcripts | git commit-tree $root); c2=$c1; name=refs/checkpoints/transcripts/202601"
        )
    } else {
        format!(
            "record=$(printf '100644 blob {stolen}\\tattribution\\n' | git mktree --missing)
            shard=$(printf \"040000 tree $record\\t0be75d43149016\\n\" | git mktree)
            root=$(printf \"040000 tree $shard\\t57\\n\" | git mktree)
            c1=$(echo '1 record added or completed, 1 commit linked' | git commit-tree $root)
            c2=$(echo 'logs joined' | git commit-tree '{HISTORY}^{{tree}}' -p $c1 -p {HISTORY}); name={HISTORY}"
        )
    };
    team.world.sh(&format!(
        "cd ../server.git; {AS_JOINED}; {commit}
        (git rev-list --objects {HISTORY} | cut -d' ' -f1; printf '%s\\n' $record $shard $root $c1 $c2) | sort -u >ids
        git pack-objects -q --stdout <ids >../evil.pack; git update-ref $name $c2
        git init -q --bare ../receives.git
        cd ../a; git config remote.origin.receivepack \"sh -c 'git receive-pack ../receives.git' --\""
    ));
    with_forged_packs(&team);
    (team, stolen)
}

#[rstest]
#[case::push(&["push", "--transcripts", "origin"])]
#[case::sync(&["sync", "--transcripts", "origin"])]
#[case::fetch(&["fetch", "--transcripts", "origin"])]
fn a_server_gets_no_object_for_its_id(
    #[case] words: &[&str],
    #[values("auto", "git")] engine: &str,
    #[values(false, true)] is_transcript: bool,
) {
    let (team, stolen) = thief(is_transcript);
    team.git("a", &["config", "remote.origin.checkpointEngine", engine]);
    let output = run(&team, words);
    let has = team.world.sh(&format!("git -C ../receives.git cat-file -p {stolen} 2>/dev/null || :"));
    assert_eq!(has, "", "{}", described(&output));
    assert!(!output.status.success() && described(&output).contains(&stolen), "{}", described(&output));
    assert_eq!(team.id("a", "refs/checkpoints-remote"), "");
}

/// What was listed is sound, but the server does not have it where it receives.
#[test]
fn nothing_is_sent_to_a_server_that_no_longer_has_what_it_has_listed() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.work("b", "y", "of b");
    team.done("b", &["push"]);
    team.world.sh("git init -q --bare ../receives.git
        cd ../a; git config remote.origin.receivepack \"sh -c 'git receive-pack ../receives.git' --\"");
    let said = team.fails("a", &["push", "origin"]);
    assert!(said.contains("has refused"), "{said}");
    let counted = team.git("receives.git", &["count-objects"]);
    assert!(counted.starts_with("0 objects"), "{counted}");
}

/// What is here, and in no log, comes again from a server that has it.
#[rstest]
fn what_was_forgotten_is_fetched_again(#[values("auto", "git")] engine: &str, #[values(false, true)] has_moved: bool) {
    let team = Team::of(&["a", "b"]);
    team.work("b", "y", "of b");
    team.done("b", &["push"]);
    team.done("a", &["fetch"]);
    team.git("a", &["update-ref", "-d", TRACKING]);
    if has_moved {
        team.work("b", "y", "more of b");
        team.done("b", &["push"]);
    }
    // As after an error of the disk.
    let blob = team.git("server.git", &["rev-parse", &format!("{HISTORY}^{{tree}}")]);
    team.git("a", &["repack", "-q", "-a", "-d", "-k"]);
    team.world.sh(&format!(
        "cd ../a; for pack in .git/objects/pack/*.pack; do mv $pack .; git unpack-objects -q <${{pack##*/}}; done
        rm -f .git/objects/$(echo {blob} | sed 's,..,&/,')"
    ));
    team.git("a", &["config", "remote.origin.checkpointEngine", engine]);
    team.done("a", &["fetch"]);
    assert_eq!(team.id("a", TRACKING), team.id("server.git", HISTORY));
    team.assert_sound(&["a"]);
    // A push needs it, too.
    team.git("a", &["update-ref", "-d", TRACKING]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    assert_eq!(team.records_in("server.git", HISTORY), 2 + usize::from(has_moved));
    team.assert_sound(&["a", "server.git"]);
}

/// A pack of some kilobytes whose paths, all together, have gigabytes.
#[test]
fn long_paths_take_no_memory() {
    let team = Team::of(&["a"]);
    team.world.sh(&format!(
        "cd ../server.git; {AS_JOINED}; name=$(printf '%04000d' 0); mode='100644 blob'; id=$(echo x | git hash-object -w --stdin)
        for n in $(seq 520); do id=$(printf '%s %s\t%s\n' \"$mode\" $id $name | git mktree); mode='040000 tree'; done
        git update-ref {HISTORY} $(echo '1 commit linked' | git commit-tree $id)"
    ));
    let mut command = team.world.command("sh");
    command.current_dir(team.path("a")).args(["-c", "ulimit -v 1000000; git checkpoint fetch"]);
    let output = command.output().expect("there is a shell");
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let said = described(&output);
    assert!(said.contains("is refused") && said.len() < 1_000, "{said}");
    assert_eq!(team.world.sh("cd ../a/.git/objects; ls -d tmp_* || :"), "");
}

/// The way to a server is the same whatever its URL looks like, and where other settings come from.
#[rstest]
#[case::remote("git config remote.web.proxy http://127.0.0.1:1", &[])]
#[case::environment(
    "true",
    &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "http.proxy"), ("GIT_CONFIG_VALUE_0", "http://127.0.0.1:1")]
)]
fn a_proxy_is_not_passed_by(#[case] settings: &str, #[case] variables: &[(&str, &str)]) {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    team.world.sh("git init -q --bare ../e=q.git");
    let web = WebServer::start(&team.world.root(), Asks::default());
    team.done("a", &["remote", "add", "web", &web.url("e=q.git")]);
    team.done("a", &["remote", "approve", "web", "--yes"]);
    team.world.sh(&format!("cd ../a; {settings}"));
    for words in [["push", "-n", "web"], ["push", "--json", "web"]] {
        let mut command = team.world.command(program());
        let output = command.current_dir(team.path("a")).envs(variables.iter().copied()).args(words).output();
        let output = output.expect("the program runs");
        assert!(!output.status.success() && described(&output).contains("port 1"), "{}", described(&output));
    }
    assert_eq!(web.take_requests().len(), 0);
    team.world.sh("cd ../a; git config --unset remote.web.proxy || :");
    team.done("a", &["push", "web"]);
    assert_eq!(team.id("e=q.git", HISTORY), team.id("a", HISTORY));
}
