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

/// Where git sends to, nothing is as the remote lists it: no commit that was not looked at is sent.
#[rstest::rstest]
fn a_server_that_lists_more_than_it_has_gets_no_history(
    #[values(false, true)] with_history: bool,
    #[values("main", "pull")] listed: &str,
) {
    let team = Team::of(&["a"]);
    team.world.sh("cd ../a; printf -- '-----BEGIN RSA PRIVATE KEY-----\\nMIIEowIBAAKCAQEAx0123456789abcdefghijklmnopqrstuvwxyz\\n' >key
        git add key; git commit -qm key; git rm -q key; git commit -qm none; git init -q --bare ../receives.git");
    let head = team.git("a", &["rev-parse", "HEAD"]);
    match listed {
        "main" => team.git("a", &["push", "-q", "origin", "HEAD:main"]),
        // It has it, and says so only to those who fetch.
        _ => team.git("a", &["push", "-q", "origin", "HEAD:refs/pull/1/head"]),
    };
    team.git("a", &["config", "remote.origin.receivepack", "sh -c 'git receive-pack ../receives.git' --"]);
    team.world.sh("cd ../a; echo new >new");
    saved(&team, "a", "work");
    let history = if with_history { &["--with-history"][..] } else { &[] };
    let output = team.run("a", &[&["push", "--shadow", "origin"], history].concat());
    let said = described(&output);
    let has = team.world.try_git(&["-C", team.path("receives.git").to_str().expect("plain"), "cat-file", "-e", &head]);
    assert!(!has.status.success(), "{said}");
    // Alone, it can be sent if nothing was relied on.
    let is_sent = listed == "pull" && !with_history;
    assert_eq!(output.status.success(), is_sent, "{said}");
    assert!(is_sent || said.contains("is not what it lists") || said.contains("looks as if it has a secret"), "{said}");
}

/// The slower one of two pushes of the same checkpoint finds it there.
#[test]
fn a_checkpoint_that_was_pushed_meanwhile_is_there() {
    let team = Team::of(&["a"]);
    team.world.sh("cd ../a; echo x >x");
    let id = saved(&team, "a", "work");
    let hook = team.path("server.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
    let name = format!("{SHARED}/{id}");
    write_script(&hook, &format!("#!/bin/sh\nenv -u GIT_QUARANTINE_PATH git update-ref {name} main\n"));
    let output = team.run("a", &["push", "--shadow"]);
    let said = described(&output);
    assert!(output.status.success() && said.contains("'origin' has ") && said.contains(" already"), "{said}");
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
    share_forged(&team, EVIL, forge);
    let output = team.run("a", &["fetch", "--checkpoints"]);
    let said = described(&output);
    assert!(output.status.code() == Some(1) && said.contains("is refused"), "{said}");
    assert_eq!(refs(&team, "a", "refs/checkpoints-remote/origin/shared"), [""; 0], "{said}");
    assert!(!has_commit_of(&team, EVIL), "nothing of it is here");
    team.assert_sound(&["a"]);
}

/// The id under which what is forged is shared.
const EVIL: &str = "1234567890123456789012345678901234567890";

/// Lets the server have a ref of the checkpoint `id` that leads to what the shell lines `forge` make.
fn share_forged(team: &Team, id: &str, forge: &str) {
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
}

/// Returns true if the clone `a` has the commit that carries the checkpoint `id` in the server.
fn has_commit_of(team: &Team, id: &str) -> bool {
    let commit = team.id("server.git", &format!("{SHARED}/{id}"));
    let a = team.path("a");
    team.world.try_git(&["-C", a.to_str().expect("plain"), "cat-file", "-e", &commit]).status.success()
}

/// One that is not as it should be, in whatever way, keeps none of the others away.
#[rstest::rstest]
#[case::no_message("tree=$good; subject='x'")]
#[case::malformed("tree=$(printf '040000 .git\\0' | cat - $raw | git hash-object -w -t tree --literally --stdin)")]
#[case::not_whole(
    "tree=$(printf '100644 blob 0000000000000000000000000000000000000001\\tx\\n' | git mktree --missing)"
)]
fn the_others_are_fetched_beside_a_refused_one(#[case] forge: &str, #[values("auto", "git")] engine: &str) {
    let team = Team::of(&["a", "b"]);
    let mut good = Vec::new();
    for name in ["one", "two", "three"] {
        team.world.sh(&format!("cd ../b; echo {name} >{name}"));
        good.push(saved(&team, "b", name));
        team.done("b", &["push", "--shadow"]);
    }
    good.sort();
    for id in [EVIL, "ffffffffffffffffffffffffffffffffffffffff"] {
        share_forged(&team, id, forge);
    }
    team.reach_by("a", engine);
    let output = team.run("a", &["fetch", "--checkpoints"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the checkpoint origin/12345678") && said.contains("origin/ffffffff"), "{said}");
    assert!(said.contains(&format!("'git push origin :{SHARED}/{EVIL}' takes it back there")), "{said}");
    let expected: Vec<String> = good.iter().map(|id| format!("refs/checkpoints-remote/origin/shared/{id}")).collect();
    assert_eq!(refs(&team, "a", "refs/checkpoints-remote/origin/shared"), expected, "{said}");
    assert!(!has_commit_of(&team, EVIL), "nothing of the refused one is here");
    let output = team.run("a", &["fetch", "--checkpoints", "--json"]);
    let fetched: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &fetched["checkpoints"]), (Some(1), &serde_json::json!([])), "{fetched}");
    let refused = &fetched["refused"];
    assert_eq!((&refused[0]["id"], refused.as_array().map(Vec::len)), (&EVIL.into(), Some(2)), "{fetched}");
    assert_eq!(refused[0]["ref"], format!("{SHARED}/{EVIL}"), "{fetched}");
    team.done("a", &["restore", &format!("origin/{}", good[0])]);
    team.assert_sound(&["a"]);
    // Once they are gone there, nothing is left to refuse.
    for name in [EVIL, "ffffffffffffffffffffffffffffffffffffffff"] {
        team.git("server.git", &["update-ref", "-d", &format!("{SHARED}/{name}")]);
    }
    assert!(team.done("a", &["fetch", "--checkpoints"]).contains("no checkpoint is new"));
}

/// What is shared has the same files as the worktree of the one who fetches it, or is what that one has shared.
#[rstest::rstest]
fn what_is_here_already_is_fetched_all_the_same(#[values("auto", "git")] engine: &str) {
    let team = Team::of(&["a", "b"]);
    for name in ["a", "b"] {
        team.world.sh(&format!("cd ../{name}; mkdir -p d; echo same >d/same; >empty; echo {name} >own"));
        saved(&team, name, "work");
        team.done(name, &["push", "--shadow"]);
        team.reach_by(name, engine);
    }
    for name in ["a", "b"] {
        team.done(name, &["fetch", "--checkpoints"]);
        assert_eq!(refs(&team, name, "refs/checkpoints-remote/origin/shared").len(), 2);
    }
    team.assert_sound(&["a", "b"]);
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

#[test]
fn a_push_names_what_the_checkpoint_has_skipped() {
    let team = Team::of(&["a"]);
    team.git("a", &["config", "checkpoint.save.max-file-size", "10"]);
    team.world.sh("cd ../a; echo small >small; echo 'larger than that' >large");
    saved(&team, "a", "work");
    let said = described(&team.run("a", &["push", "--shadow"]));
    assert!(said.contains("has left out 'large': others do not get it"), "{said}");
    assert!(team.done("a", &["push", "--shadow", "--json"]).contains("\"skipped\":[\"large\"]"));
}

/// What is damaged lets git itself fail: `fetch` and `doctor --fix` set it aside, and the next fetch gets it anew.
#[rstest::rstest]
#[case::missing("0123456789012345678901234567890123456789\n")]
#[case::garbage("garbage\n")]
fn a_damaged_ref_of_a_shared_checkpoint_is_set_aside(
    #[case] content: &str,
    #[values("refs/checkpoints-remote/origin/shared", SHARED)] below: &str,
    #[values("doctor", "fetch")] command: &str,
) {
    let is_tracking = below != SHARED;
    if command == "fetch" && !is_tracking {
        return;
    }
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; echo changed >f");
    let id = saved(&team, "a", "work");
    team.done("a", &["push", "--shadow"]);
    team.done("b", &["fetch", "--checkpoints"]);
    let name = format!("{below}/{id}");
    let file = team.path("b/.git").join(&name);
    fs::create_dir_all(file.parent().expect("it has one")).expect("made");
    fs::write(&file, content).expect("written");
    let output = team.run("b", &["doctor"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&name) && said.contains("the shared checkpoint cannot all be read"), "{said}");
    let words = if command == "doctor" { vec!["doctor", "--fix"] } else { vec!["fetch", "--checkpoints"] };
    let said = described(&team.run("b", &words));
    assert!(said.contains(&name) && (said.contains("set aside") || said.contains("its file was moved")), "{said}");
    assert_eq!(file.exists(), command == "fetch");
    assert!(!described(&team.run("b", &["doctor"])).contains(&name));
    team.git("b", &["gc", "-q", "--prune=now"]);
    team.git("b", &["fetch", "-q", "origin"]);
    if is_tracking {
        team.done("b", &["fetch", "--checkpoints"]);
        team.done("b", &["restore", &format!("origin/{id}")]);
    }
    let kept = team.world.sh("cd ../b/.git/checkpoint/damaged; cat *");
    assert_eq!(kept, content);
    team.assert_sound(&["b"]);
}

/// A file or a directory of it is gone; what its base has is not looked at.
#[rstest::rstest]
#[case::file("f")]
#[case::directory("d")]
fn what_a_shared_checkpoint_has_lost_is_found(#[case] path: &str) {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; echo changed >f; mkdir d; echo new >d/new");
    let id = saved(&team, "a", "work");
    team.done("a", &["push", "--shadow"]);
    team.done("b", &["fetch", "--checkpoints"]);
    let name = format!("refs/checkpoints-remote/origin/shared/{id}");
    assert!(!described(&team.run("b", &["doctor"])).contains(&name));
    let lost = team.git("b", &["rev-parse", &format!("{name}:{path}")]);
    team.world.sh(&format!(
        "cd ../b; for pack in .git/objects/pack/*.pack; do mv $pack .; git unpack-objects -q <${{pack##*/}}; rm ${{pack##*/}}; done
        rm -f .git/objects/pack/* .git/objects/$(echo {lost} | sed 's,..,&/,')"
    ));
    let said = described(&team.run("b", &["doctor"]));
    assert!(said.contains(&name) && said.contains("cannot all be read"), "{said}");
    team.done("b", &["doctor", "--fix"]);
    team.git("b", &["gc", "-q"]);
    team.done("b", &["fetch", "--checkpoints"]);
    team.done("b", &["restore", &format!("origin/{id}")]);
    team.assert_sound(&["b"]);
}

/// Its message says who took the last step, and not who made the others: nothing counts as the one's who restores it, nor as an agent's.
#[rstest::rstest]
#[case::agent(true)]
#[case::person(false)]
fn what_is_restored_has_an_unknown_author(#[case] is_of_agent: bool) {
    let team = Team::of(&["a", "b"]);
    let work = if is_of_agent {
        "git checkpoint session prompt s --agent claude-code -q -m x; printf 'first line\\nsecond line\\n' >new; git checkpoint session stop s -q"
    } else {
        "printf 'first line\\nsecond line\\n' >new; git checkpoint save -q"
    };
    team.world.sh(&format!("cd ../a; {work}"));
    let sent: serde_json::Value = serde_json::from_str(&team.done("a", &["push", "--shadow", "--json"])).expect("JSON");
    let id = sent["checkpoints"][0]["id"].as_str().expect("an id").to_owned();
    team.done("b", &["fetch", "--checkpoints"]);
    team.done("b", &["restore", &format!("origin/{id}")]);
    // An agent has a part in the commit, so that it gets a record; what is in no checkpoint is a person's.
    team.world.sh("cd ../b; git checkpoint session prompt t --agent codex -q -m x; echo agents >of-agent; git checkpoint session stop t -q
        echo own >own; git add -A; git commit -qm work");
    let owners = |path: &str| -> Vec<String> {
        let blamed: serde_json::Value =
            serde_json::from_str(&team.done("b", &["blame", "--json", path])).expect("JSON");
        let lines = blamed["lines"].as_array().expect("lines").clone();
        lines.iter().map(|line| line["owner"].as_str().expect("a word").to_owned()).collect()
    };
    assert_eq!(owners("new"), ["unknown"]);
    assert_eq!([owners("own"), owners("of-agent")].concat(), ["human", "agent"]);
}

/// Each of its files may be sent, and all of them together fill a disk.
#[test]
fn a_checkpoint_with_too_many_bytes_is_refused() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; echo small >small");
    let id = saved(&team, "a", "small");
    team.world.sh(&format!(
        "cd ../server.git; blob=$(head -c 104857600 /dev/zero | git hash-object -w --stdin)
         tree=$(for n in $(seq 400); do printf '100644 blob %s\\t%s\\n' $blob $n; done | git mktree)
         commit=$(printf 'x\\n\\nCheckpoint-Shared: {id}\\nCheckpoint-Base: unborn\\n' | git commit-tree $tree)
         git update-ref {SHARED}/{id} $commit"
    ));
    let output = team.run("b", &["fetch", "--checkpoints"]);
    let said = described(&output);
    assert!(said.contains("all files together are too large"), "{said}");
    assert_eq!(refs(&team, "b", "refs/checkpoints-remote/origin/shared"), [""; 0]);
}

/// What is larger than the limit of this clone is sound: nothing is to be taken back for that.
#[test]
fn a_checkpoint_that_is_larger_than_a_fetch_may_be_says_which_setting_that_is() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; head -c 300000 /dev/urandom >large");
    saved(&team, "a", "large");
    team.done("a", &["push", "--checkpoint", "@"]);
    team.git("b", &["config", "checkpoint.remote.max-fetch-size", "10KiB"]);
    let said = described(&team.run("b", &["fetch", "--checkpoints"]));
    assert!(said.contains("'remote.max-fetch-size' says") && !said.contains("takes it back"), "{said}");
    team.git("b", &["config", "--unset", "checkpoint.remote.max-fetch-size"]);
    team.done("b", &["fetch", "--checkpoints"]);
}
