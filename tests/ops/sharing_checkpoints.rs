//! Checkpoints go to another clone only if they are named, and what arrives is looked at before it can be restored.

use std::fs;

use crate::{
    ops::sharing::{HISTORY, Team},
    support::{files::write_script, processes::described},
};

const SHARED: &str = "refs/checkpoints/shared";

/// Saves a checkpoint in the clone, and returns its id.
fn saved(team: &Team, name: &str, message: &str) -> String {
    let saved: serde_json::Value =
        serde_json::from_str(&team.done(name, &["save", "-m", message, "--json"])).expect("JSON");
    saved["id"].as_str().expect("an id").to_owned()
}

fn refs(team: &Team, name: &str, below: &str) -> Vec<String> {
    team.git(name, &["for-each-ref", "--format=%(refname)", below]).lines().map(str::to_owned).collect()
}

#[test]
fn a_checkpoint_is_restored_in_another_clone() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; echo changed >f; mkdir -p d/e; echo new >d/e/new; ln -s new d/e/link; chmod +x d/e/new");
    let id = saved(&team, "a", "half of it");
    let before = team.git("a", &["for-each-ref"]);
    let sent: serde_json::Value =
        serde_json::from_str(&team.done("a", &["push", "--checkpoint", "@", "--json"])).expect("JSON");
    let one = &sent["checkpoints"][0];
    // The server has the base commit: no other file and no commit goes along.
    assert_eq!((&one["files"], &one["commits"], &one["is_new"]), (&3.into(), &0.into(), &true.into()), "{sent}");
    assert_eq!(refs(&team, "server.git", SHARED), [format!("{SHARED}/{id}")]);
    assert_eq!(team.git("a", &["for-each-ref"]), before);
    let said = team.done("a", &["push", "--shadow"]);
    assert!(said.contains("has") && said.contains("already"), "{said}");

    let named = format!("origin/{}", &id[..8]);
    let said = team.fails("b", &["show", &named]);
    assert!(said.contains("'git checkpoint fetch --checkpoints origin' gets the checkpoints"), "{said}");
    let said = team.done("b", &["fetch", "--checkpoints"]);
    assert!(said.contains("fetched origin/"), "{said}");
    assert!(team.done("b", &["fetch", "--checkpoints"]).contains("no checkpoint is new"));
    let said = team.done("b", &["show", &named]);
    assert!(said.contains("half of it") && said.contains("d/e/new"), "{said}");
    assert!(team.done("b", &["diff", &named]).contains("d/e/new"));
    team.done("b", &["restore", &named]);
    assert_eq!(team.world.sh("cd ../b; cat f d/e/new; readlink d/e/link; test -x d/e/new"), "changed\nnew\nnew\n");
    team.done("b", &["undo"]);
    assert!(!team.path("b/d").exists());
    // It is of another clone: no session and no checkpoint of ours.
    assert!(!team.done("b", &["list", "--all"]).contains("half of it"));
    team.assert_sound(&["a", "b", "server.git"]);
    // It goes with what was fetched from the remote.
    team.done("b", &["remote", "remove", "origin", "--yes"]);
    assert_eq!(refs(&team, "b", "refs/checkpoints-remote"), [""; 0]);
}

/// Where the base commit is not in the remote, the checkpoint goes alone, unless the user wants its history.
#[test]
fn code_goes_along_only_if_the_user_wants_that() {
    let team = Team::of(&["a"]);
    team.world.sh("cd ../a; echo one >one; git add one; git commit -qm one; echo two >two; git add two; git commit -qm two; echo x >x");
    let id = saved(&team, "a", "work");
    let json =
        |arguments: &[&str]| -> serde_json::Value { serde_json::from_str(&team.done("a", arguments)).expect("JSON") };
    let planned = json(&["push", "--checkpoint", &id, "--with-history", "-n", "--json"]);
    assert_eq!(planned["checkpoints"][0]["commits"], 2, "{planned}");
    assert_eq!(refs(&team, "server.git", SHARED), [""; 0]);
    assert!(team.done("a", &["push", "--shadow", "-n", "--with-history"]).contains("and 2 commits of code"));
    let sent = json(&["push", "--checkpoint", &id, "--json"]);
    assert_eq!(sent["checkpoints"][0]["commits"], 0, "{sent}");
    let log = team.git("server.git", &["log", "--format=%s", &format!("{SHARED}/{id}")]);
    assert_eq!(log, "work");
    team.git("server.git", &["update-ref", "-d", &format!("{SHARED}/{id}")]);
    team.done("a", &["push", "--checkpoint", &id, "--with-history"]);
    let log = team.git("server.git", &["log", "--format=%s", "-3", &format!("{SHARED}/{id}")]);
    assert_eq!(log, "work\ntwo\none");
    let said = team.fails("a", &["push", "--with-history"]);
    assert!(said.contains("is for checkpoints"), "{said}");
}

#[test]
fn a_checkpoint_is_not_sent_without_consent_or_with_a_secret() {
    let team = Team::of(&["a"]);
    team.world.sh("cd ../a; mkdir d; echo 'token = \"ghp_0123456789abcdefghijklmnopqrstuvwxyz012345\"' >d/settings");
    saved(&team, "a", "work");
    let said = team.fails("a", &["push", "--shadow"]);
    assert!(said.contains("the file 'd/settings' looks as if it has a secret") && !said.contains("ghp_0123"), "{said}");
    assert_eq!(refs(&team, "server.git", SHARED), [""; 0]);
    team.git("a", &["remote", "add", "other", "../server.git"]);
    let said = team.fails("a", &["push", "--shadow", "--no-scan", "other"]);
    assert!(said.contains("is not approved"), "{said}");
    assert_eq!(refs(&team, "server.git", SHARED), [""; 0]);
    team.done("a", &["push", "--shadow", "--no-scan", "origin"]);
    assert_eq!(refs(&team, "server.git", SHARED).len(), 1);
    // Records did not go along.
    assert_eq!(team.id("server.git", HISTORY), "");
}

#[test]
fn what_a_server_refuses_is_said() {
    let team = Team::of(&["a"]);
    team.world.sh("cd ../a; echo x >x");
    saved(&team, "a", "work");
    let hook = team.path("server.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
    write_script(&hook, "#!/bin/sh\necho 'only branches here' >&2\nexit 1\n");
    let said = team.fails("a", &["push", "--shadow"]);
    assert!(said.contains("has refused 'refs/checkpoints/shared/") && said.contains("only branches here"), "{said}");
    fs::remove_file(hook).expect("it is there");
    team.done("a", &["push", "--shadow"]);
}

/// What others can put into such a ref: nothing of it becomes part of the repository.
#[rstest::rstest]
#[case::git_directory(
    "git update-index --add --cacheinfo 100644,$blob,x; tree=$(git write-tree); tree=$(printf '040000 .git\\0' | cat - $raw | git hash-object -w -t tree --literally --stdin)"
)]
#[case::parent_directory("tree=$(printf '040000 ..\\0' | cat - $raw | git hash-object -w -t tree --literally --stdin)")]
#[case::short_name("tree=$(printf '040000 GIT~1\\0' | cat - $raw | git hash-object -w -t tree --literally --stdin)")]
#[case::slash("tree=$(printf '040000 a/b\\0' | cat - $raw | git hash-object -w -t tree --literally --stdin)")]
#[case::link_and_directory(
    "tree=$( (printf '120000 a\\0'; cat $rawblob; printf '040000 a\\0'; cat $raw) | git hash-object -w -t tree --literally --stdin)"
)]
#[case::another_id("tree=$good; subject='Checkpoint-Shared: 0000000000000000000000000000000000000001'")]
#[case::a_checkpoint("tree=$good; more='Checkpoint-Contributor: agent\nCheckpoint-Worktree: main\n'")]
#[case::no_message("tree=$good; subject='x'")]
fn hostile_checkpoints_are_refused(#[case] forge: &str) {
    let team = Team::of(&["a"]);
    let id = "1234567890123456789012345678901234567890";
    // The server takes what it is given.
    team.world.sh(&format!(
        "cd ../server.git; export GIT_INDEX_FILE=$PWD/index GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x
        blob=$(echo evil | git hash-object -w --stdin); good=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
        bytes() {{ printf '%s' $1 | sed 's/../\\\\x&/g' | xargs -0 printf; }}
        raw=$PWD/raw; bytes $good >$raw; rawblob=$PWD/rawblob; bytes $blob >$rawblob
        subject='Checkpoint-Shared: {id}'; more=
        {forge}
        commit=$(printf 'x\\n\\n%s\\nCheckpoint-Base: unborn\\n%b' \"$subject\" \"$more\" | git commit-tree $tree)
        git update-ref {SHARED}/{id} $commit"
    ));
    let output = team.run("a", &["fetch", "--checkpoints"]);
    let said = described(&output);
    assert!(!output.status.success() && (said.contains("is refused") || said.contains("cannot fetch")), "{said}");
    assert_eq!(refs(&team, "a", "refs/checkpoints-remote/origin/shared"), [""; 0], "{said}");
    let commit = team.id("server.git", &format!("{SHARED}/{id}"));
    let a = team.path("a");
    let has = team.world.try_git(&["-C", a.to_str().expect("plain"), "cat-file", "-e", &commit]);
    assert!(!has.status.success(), "nothing of it is here");
    team.assert_sound(&["a"]);
}

/// Refs of another tool, and of other shapes, are none of ours.
#[test]
fn refs_of_others_are_left_alone() {
    let team = Team::of(&["a"]);
    let foreign = ["refs/checkpoints/shared/x", "refs/checkpoints/some-session/1", "refs/checkpoints/shared/1234"];
    for name in foreign {
        team.git("server.git", &["update-ref", name, "main"]);
    }
    assert!(team.done("a", &["fetch", "--checkpoints"]).contains("no checkpoint is new"));
    assert_eq!(refs(&team, "a", "refs/checkpoints-remote"), [""; 0]);
}
