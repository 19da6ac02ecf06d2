//! What others have written stays beside our own log, goes to no other remote, and can be forgotten.

use crate::{
    ops::sharing::{AS_JOINED, HISTORY, TRACKING, Team},
    support::processes::described,
};

/// Returns all that the objects of a clone have, as text.
fn all_objects(team: &Team, name: &str) -> String {
    team.git(name, &["cat-file", "--batch-all-objects", "--batch"])
}

/// A version of our own record that another one has forged, with a higher revision and another author.
#[test]
fn a_forged_record_never_takes_the_place_of_ours() {
    let team = Team::of(&["a", "b"]);
    team.work("b", "y", "of an agent");
    team.done("b", &["push"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    let before = (team.id("b", HISTORY), team.done("b", &["blame", "y"]));
    assert!(before.1.contains("claude-code"), "{}", before.1);
    team.world.sh(&format!(
        "cd ../a; export GIT_INDEX_FILE=../index; git read-tree {TRACKING}
        git -C ../b ls-tree -r --name-only {HISTORY} | grep -E '/(record.toml|attribution)$' | while read path; do
            blob=$(git cat-file blob {TRACKING}:$path | sed 's/^revision = .*/revision = 900/; s/s-b/s-x/' | git hash-object -w --stdin)
            git update-index --cacheinfo 100644,$blob,$path
        done
        {AS_JOINED}
        git push -q -f origin $(git commit-tree -p {TRACKING} -m 'logs joined' $(git write-tree)):{HISTORY}"
    ));
    for command in ["fetch", "sync", "push"] {
        team.done("b", &[command]);
        assert_eq!((team.id("b", HISTORY), team.done("b", &["blame", "y"])), before, "{command}");
    }
    // The forged one goes with all that was fetched.
    team.done("b", &["remote", "remove", "origin", "--yes"]);
    assert!(!team.git("b", &["for-each-ref"]).contains("checkpoints-remote"));
    assert_eq!(team.done("b", &["blame", "y"]), before.1);
}

#[test]
fn records_of_one_remote_do_not_go_to_another() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    team.work("b", "y", "of b");
    team.done("b", &["sync", "origin"]);
    team.world.sh("git init -q --bare ../team.git; cd ../b; git checkpoint remote add team ../team.git");
    team.done("b", &["remote", "approve", "team", "--yes"]);
    team.done("b", &["sync", "team"]);
    assert_eq!([team.records("server.git"), team.records("team.git")], [2, 1]);
}

/// What the remote has lost stays here.
#[test]
fn a_remote_that_was_set_back_takes_nothing_from_us() {
    let team = Team::of(&["a", "b", "c"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    let first = team.id("server.git", HISTORY);
    team.work("a", "x", "more of a");
    team.done("a", &["push"]);
    team.done("b", &["fetch"]);
    let whole = team.id("b", TRACKING);
    team.git("server.git", &["update-ref", HISTORY, &first]);
    let said = described(&team.run("b", &["fetch"]));
    assert!(said.contains("nothing is new"), "{said}");
    assert_eq!(team.id("b", TRACKING), whole);
    // Another clone has begun anew there.
    team.git("server.git", &["update-ref", "-d", HISTORY]);
    team.work("c", "z", "of c");
    team.done("c", &["push"]);
    let fetched: serde_json::Value = serde_json::from_str(&team.done("b", &["fetch", "--json"])).expect("JSON");
    assert_eq!((&fetched["refs"][0]["joined"], &fetched["new_records"]), (&true.into(), &1.into()), "{fetched}");
    assert_eq!(team.records_in("b", TRACKING), 3);
    // It has none of its own to send.
    assert_eq!(team.id("b", HISTORY), "");
    team.done("b", &["push"]);
    assert_eq!([team.records("server.git"), team.records_in("b", TRACKING)], [1, 3]);
    team.done("a", &["push"]);
    assert_eq!(team.records("server.git"), 3);
    team.assert_sound(&["b", "server.git"]);
}

#[test]
fn sync_fetches_before_it_says_that_nothing_may_be_sent() {
    let team = Team::of(&["a"]);
    team.world.sh("cp -a . ../b");
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    let output = team.run("b", &["sync", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&said["fetch"]["new_records"], &said["push"]), (&1.into(), &serde_json::Value::Null), "{said}");
    assert!(described(&output).contains("remote approve origin"), "{}", described(&output));
    assert_eq!(team.records_in("b", TRACKING), 1);
    team.done("b", &["remote", "approve", "origin", "--yes"]);
    team.work("b", "y", "of b");
    let said: serde_json::Value = serde_json::from_str(&team.done("b", &["sync", "--json"])).expect("JSON");
    assert_eq!(said["push"]["refs"][0]["sent_records"], 1, "{said}");
}

#[test]
fn what_was_fetched_from_a_remote_is_forgotten_with_it() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    team.done("b", &["fetch"]);
    let said = described(&team.run("b", &["remote", "remove", "-n", "origin"]));
    assert!(said.contains("1 record, 1 of which nothing else here has"), "{said}");
    let said = team.fails("b", &["remote", "remove", "origin"]);
    assert!(said.contains("is not removed") && said.contains("--yes"), "{said}");
    team.done("b", &["remote", "remove", "--json", "origin"]);
    assert_eq!(team.records_in("b", TRACKING), 1);
    // Git no longer knows it; what other programs have fetched stays.
    let foreign = "refs/checkpoints-remote/origin/shadow/x";
    team.git("b", &["update-ref", foreign, "HEAD"]);
    team.git("b", &["remote", "remove", "origin"]);
    let removed: serde_json::Value =
        serde_json::from_str(&team.done("b", &["remote", "remove", "--json", "--yes", "origin"])).expect("JSON");
    assert_eq!((&removed["records"], &removed["was_approved"]), (&1.into(), &true.into()), "{removed}");
    assert_eq!(team.git("b", &["for-each-ref", "--format=%(refname)", "refs/checkpoints-remote"]), foreign);
    assert!(team.fails("b", &["remote", "remove", "origin"]).contains("there is no remote"));
}

/// A purge leaves no object with the text, also none of what was fetched; nothing brings it back unasked.
#[test]
fn a_purge_reaches_what_was_fetched() {
    let team = Team::of(&["a", "b"]);
    team.prompted("a", "x", "text", "the codename is wombat");
    team.prompted("b", "y", "text", "the codename is wombat, too");
    team.done("a", &["push"]);
    team.done("b", &["push"]);
    team.done("a", &["fetch"]);
    assert!(all_objects(&team, "a").contains("wombat"));
    let plan: serde_json::Value =
        serde_json::from_str(&team.done("a", &["purge", "-n", "--json", "wombat"])).expect("JSON");
    assert_eq!((&plan["forgotten"][0], &plan["kept"]), (&TRACKING.into(), &serde_json::json!([])), "{plan}");
    let output = team.run("a", &["purge", "--force", "wombat"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    let said = described(&output);
    assert!(said.contains("found in what was fetched from 'origin'"), "{said}");
    assert!(said.contains("the remote 'origin' may still have it"), "{said}");
    assert!(!said.contains("is also staged"), "{said}");
    assert!(!all_objects(&team, "a").contains("wombat"));
    assert_eq!(team.id("a", TRACKING), "");
    for command in ["fetch", "push"] {
        assert!(team.fails("a", &[command]).contains("purged"), "{command}");
    }
    // All clones are purged, and the log in the remote is deleted.
    team.done("b", &["purge", "--force", "wombat"]);
    team.git("server.git", &["update-ref", "-d", HISTORY]);
    for name in ["a", "b", "a"] {
        team.done(name, &["sync"]);
    }
    assert_eq!(team.records_in("a", TRACKING), 2);
    // What was refused was fetched before it was looked at.
    for name in ["a", "b", "server.git"] {
        team.git(name, &["gc", "-q", "--prune=now"]);
        assert!(!all_objects(&team, name).contains("wombat"), "{name}");
    }
}

/// In each worktree, a relative path leads to another directory.
#[test]
fn a_relative_address_is_approved_for_one_place() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    team.world.sh("git init -q --bare ../deep/server.git; git -C ../a worktree add -q ../deep/tree");
    let said = team.fails("deep/tree", &["push", "origin"]);
    assert!(said.contains("is not the one that was approved") && said.contains("deep/tree/../server.git"), "{said}");
    assert_eq!(team.id("deep/server.git", HISTORY), "");
    team.done("a", &["push", "origin"]);
}

/// A remote of which a program decides where it goes.
#[test]
fn a_remote_with_a_helper_is_refused() {
    let team = Team::of(&["a"]);
    team.git("a", &["config", "remote.origin.vcs", "foreign"]);
    for arguments in [&["fetch", "origin"][..], &["push", "origin"], &["remote", "approve", "origin", "--yes"]] {
        assert!(team.fails("a", arguments).contains("'vcs'"), "{arguments:?}");
    }
}

/// The name of a remote may stand for another address later: what was fetched before is another team's.
#[test]
fn what_was_fetched_is_not_sent_to_another_address_of_that_name() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    team.done("b", &["fetch"]);
    team.work("b", "y", "of b");
    team.world.sh("git init -q --bare ../else.git; cd ../b; git remote set-url origin ../else.git");
    team.done("b", &["remote", "approve", "origin", "--yes"]);
    team.done("b", &["push"]);
    assert_eq!([team.records("else.git"), team.records_in("b", TRACKING)], [1, 2]);
}
