//! Checkpoints and records go to another clone in a file, and nothing of the file that is damaged or foreign arrives.

use std::{fs, process::Stdio};

use crate::{
    ops::sharing::{HISTORY, Team},
    support::{World, processes::described, program},
};

const IMPORTED: &str = "refs/checkpoints-remote/import%3Astick";

pub(super) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// Saves a checkpoint in the clone, and returns its id.
pub(super) fn saved(team: &Team, name: &str, script: &str, message: &str) -> String {
    team.world.sh(&format!("cd ../{name}; {script}"));
    let saved = json(&team.done(name, &["save", "-m", message, "--json"]));
    saved["id"].as_str().expect("an id").to_owned()
}

/// Returns all refs and objects of the clone.
pub(super) fn state(team: &Team, name: &str) -> String {
    team.world.sh(&format!(
        "cd ../{name}; git for-each-ref; git cat-file --batch-check --batch-all-objects | sort; ls .git/objects .git/objects/pack"
    ))
}

/// A clone `a` with a record that `b` does not have, and a checkpoint with a tag and a note; the branch is in both.
pub(super) fn team() -> (Team, String) {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of an agent");
    team.git("a", &["push", "-q", "origin", "HEAD:main"]);
    team.git("b", &["pull", "-q", "origin", "main"]);
    let id = saved(
        &team,
        "a",
        "echo changed >f; mkdir -p d/e; echo new >d/e/new; ln -s new d/e/link; chmod +x d/e/new",
        "half of it",
    );
    team.done("a", &["tag", "good", "@"]);
    team.done("a", &["note", "@", "-m", "of the checkpoint"]);
    team.done("a", &["note", "HEAD", "-m", "of the commit"]);
    (team, id)
}

#[test]
fn work_goes_to_another_clone_in_a_file() {
    let (team, id) = team();
    let before = team.git("a", &["for-each-ref"]);
    let said = team.done("a", &["export", "../stick.bundle"]);
    assert!(said.contains("written to '../stick.bundle': 1 checkpoint, 1 tag, 2 notes, 1 record"), "{said}");
    assert_eq!(team.git("a", &["for-each-ref"]), before);
    // For git, it is a bundle like any other.
    let verified = team.git("b", &["bundle", "verify", "../stick.bundle"]);
    assert!(verified.contains(HISTORY) && verified.contains("refs/checkpoints/tags/good"), "{verified}");

    let clean = state(&team, "b");
    let planned = team.done("b", &["import", "-n", "../stick.bundle"]);
    assert!(planned.contains("would import stick/") && planned.contains("would import 1 record, 2 notes"), "{planned}");
    assert_eq!(state(&team, "b"), clean);
    let said = team.done("b", &["import", "../stick.bundle"]);
    assert!(
        said.contains(&format!("imported stick/{}", &id[..7])) && said.contains("imported stick/good, a tag"),
        "{said}"
    );
    assert!(team.id("b", HISTORY).is_empty(), "nothing of others is in the own log");

    let listed = team.done("b", &["list", "--fetched"]);
    assert!(listed.contains("half of it [tag: good, note: of the checkpoint]"), "{listed}");
    let entry = json(&team.done("b", &["list", "--fetched", "--json"]));
    assert_eq!(
        (&entry["id"], &entry["remote"], &entry["imported"]),
        (&id.into(), &"stick".into(), &true.into()),
        "{entry}"
    );
    for name in ["stick/good", &format!("stick/{}", &entry["id"].as_str().expect("an id")[..8])] {
        let shown = team.done("b", &["show", name]);
        assert!(
            shown.contains("half of it") && shown.contains("d/e/new") && shown.contains("of the checkpoint"),
            "{shown}"
        );
        assert!(team.done("b", &["diff", name]).contains("d/e/new"));
    }
    team.done("b", &["restore", "stick/good"]);
    assert_eq!(team.world.sh("cd ../b; cat f d/e/new; readlink d/e/link; test -x d/e/new"), "changed\nnew\nnew\n");
    team.done("b", &["undo"]);
    // The record counts as one of a remote.
    assert!(team.done("b", &["blame", "x"]).contains("agent"));
    let explained = team.done("b", &["explain", "HEAD"]);
    assert!(explained.contains("of the commit") && explained.contains("please write"), "{explained}");
    assert!(!team.done("b", &["list", "--all"]).contains("half of it"));
    team.assert_sound(&["a", "b"]);
}

#[test]
fn importing_twice_changes_nothing_and_undo_takes_it_back() {
    let (team, _) = team();
    team.done("a", &["export", "../stick.bundle"]);
    team.done("b", &["import", "../stick.bundle"]);
    let imported = state(&team, "b");
    let again = team.done("b", &["import", "../stick.bundle"]);
    assert!(again.contains("nothing in it is new to 'stick'"), "{again}");
    assert_eq!(state(&team, "b"), imported);
    // The same, exported once more, and more.
    saved(&team, "a", "echo more >more", "more of it");
    team.done("a", &["tag", "-f", "good", "@"]);
    team.done("a", &["note", "-f", "HEAD", "-m", "another text"]);
    team.done("a", &["export", "../stick.bundle"]);
    let second = json(&team.done("b", &["import", "--json", "../stick.bundle"]));
    assert_eq!(second["checkpoints"].as_array().map(Vec::len), Some(1), "{second}");
    assert_eq!((&second["tags"][0]["tag"], &second["notes"]), (&"good".into(), &1.into()), "{second}");
    let refs = |below: &str| team.git("b", &["for-each-ref", "--format=%(refname) %(objectname)", below]);
    assert!(team.done("b", &["show", "stick/good"]).contains("more of it"));
    let after = refs(IMPORTED);
    team.done("b", &["undo"]);
    assert!(team.done("b", &["show", "stick/good"]).contains("half of it"));
    team.done("b", &["redo"]);
    assert_eq!(refs(IMPORTED), after);
    let said = team.done("b", &["remote", "remove", "stick", "--yes"]);
    assert!(said.contains("forgot what was imported as 'stick': 2 checkpoints, 1 record"), "{said}");
    assert_eq!(refs(IMPORTED), "");
    team.done("b", &["undo"]);
    assert_eq!(refs(IMPORTED), after);
    team.assert_sound(&["b"]);
}

#[test]
fn commits_that_are_missing_are_named() {
    let (team, _) = team();
    team.world.sh("cd ../a; git add -A; git commit -qm 'not pushed'");
    let id = saved(&team, "a", "echo later >later", "later");
    team.done("a", &["export", "../stick.bundle", &id]);
    let clean = state(&team, "b");
    let said = team.fails("b", &["import", "../stick.bundle"]);
    let base = team.git("a", &["rev-parse", "HEAD"]);
    assert!(said.contains("it needs a commit that is not here") && said.contains(&base[..12]), "{said}");
    assert!(said.contains("(not pushed)") && said.contains("'git fetch origin") && said.contains("--full"), "{said}");
    assert_eq!(state(&team, "b"), clean);
    // With its history, it needs nothing.
    let exported = json(&team.done("a", &["export", "--full", "--json", "../full.bundle", &id]));
    assert_eq!(exported["prerequisites"], serde_json::json!([]), "{exported}");
    assert!(exported["commits"].as_u64() > Some(1) && exported["records"] == 0, "{exported}");
    team.world.sh("git init -q ../new");
    team.done("new", &["import", "../full.bundle", "--as", "stick"]);
    assert_eq!(team.git("new", &["log", "-1", "--format=%s", &format!("{IMPORTED}/shared/{id}^")]), "not pushed");
    team.done("new", &["restore", "--all", &format!("stick/{}", &id[..8])]);
    assert_eq!(team.world.sh("cat ../new/later"), "later\n");
    team.assert_sound(&["new"]);
}

/// The commit that a checkpoint stands on may be gone, as after an amend: then no other clone can have it.
#[test]
fn what_stands_on_a_dropped_commit_needs_nothing() {
    let (team, id) = team();
    team.world.sh("cd ../a; git reset -q --hard; git reset -q --hard HEAD^");
    let exported = json(&team.done("a", &["export", "--json", "../stick.bundle", &id]));
    assert_eq!(exported["prerequisites"].as_array().map(Vec::len), Some(1), "a remote branch has it: {exported}");
    team.git("a", &["update-ref", "-d", "refs/remotes/origin/main"]);
    let exported = json(&team.done("a", &["export", "--json", "../stick.bundle", &id]));
    assert_eq!(exported["prerequisites"], serde_json::json!([]), "{exported}");
    team.world.sh("git init -q ../new");
    team.done("new", &["import", "../stick.bundle"]);
    team.done("new", &["restore", "--all", "stick/good"]);
    assert_eq!(team.world.sh("cat ../new/d/e/new"), "new\n");
}

#[test]
fn what_is_exported_can_be_chosen() {
    let (team, id) = team();
    team.done("a", &["reset"]);
    let of_session = {
        let script = "cd ../a; git checkpoint session prompt s9 --agent codex -q -m 'go on'; echo by >by; git checkpoint session stop s9 -q";
        team.world.sh(script);
        json(&team.done("a", &["list", "--session", "s9", "--json"]))["id"].clone()
    };
    let ids = |arguments: &[&str]| -> (Vec<String>, serde_json::Value) {
        let exported = json(&team.done("a", &[&["export", "--json", "../chosen.bundle"], arguments].concat()));
        let ids = exported["checkpoints"].as_array().expect("a list").iter();
        (ids.map(|it| it["id"].as_str().expect("an id").to_owned()).collect(), exported)
    };
    let (all, exported) = ids(&["--all"]);
    assert!(all.contains(&id) && all.contains(&of_session.as_str().expect("an id").to_owned()), "{exported}");
    assert_eq!((&exported["records"], &exported["transcripts"]), (&1.into(), &serde_json::json!([])), "{exported}");
    let (live, _) = ids(&[]);
    assert!(!live.contains(&id) && !live.is_empty(), "{live:?}");
    let (session, exported) = ids(&["--session", "s9"]);
    assert!(
        session.contains(&of_session.as_str().expect("an id").to_owned()) && exported["records"] == 0,
        "{exported}"
    );
    let (named, exported) = ids(&["good", &id[..9], "--records"]);
    assert_eq!((named, &exported["records"], &exported["notes"]), (vec![id], &1.into(), &2.into()), "{exported}");
    assert!(team.fails("a", &["export", "../x.bundle", "nothing-of-this-name"]).contains("no checkpoint matches"));
    assert!(!team.path("x.bundle").exists());
    let said = team.fails("b", &["export", "../x.bundle"]);
    assert!(said.contains("there is nothing to export"), "{said}");
}

#[test]
fn what_looks_like_a_secret_is_not_written() {
    let (team, _) = team();
    let secret = "token = \"ghp_0123456789abcdefghijklmnopqrstuvwxyz012345\"";
    saved(&team, "a", &format!("mkdir s; echo '{secret}' >s/settings"), "work");
    for arguments in
        [&["export", "../x"][..], &["export", "--format=tar", "../x"], &["export", "--format=patch", "../x"]]
    {
        let said = team.fails("a", arguments);
        assert!(
            said.contains("the file 's/settings' looks as if it has a secret") && !said.contains("ghp_0123"),
            "{said}"
        );
        assert!(said.contains("nothing was written") && said.contains("'--no-scan'"), "{said}");
        assert_eq!(team.world.sh("ls -A .. | grep -e '^x' -e '^.git-checkpoint' || true"), "");
        team.done("a", &[arguments, &["--no-scan"]].concat());
        fs::remove_file(team.path("x")).expect("it was written");
    }
    // In a note that git has written.
    let (team, _) = self::team();
    team.world.sh(&format!("cd ../a; git notes --ref refs/notes/x add -m '{secret}' HEAD; git update-ref refs/checkpoints/notes refs/notes/x"));
    let said = team.fails("a", &["export", "../x"]);
    assert!(said.contains("the note for") || said.contains("no commit of a log"), "{said}");
}

#[test]
fn a_file_of_the_users_is_not_replaced() {
    let (team, _) = team();
    let file = team.path("stick.bundle");
    fs::write(&file, "mine\n").expect("written");
    let said = team.fails("a", &["export", "../stick.bundle"]);
    assert!(said.contains("exists already and is no export") && said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(&file).expect("it stays"), "mine\n");
    team.world.sh("cd ../a; git bundle create -q ../stick.bundle HEAD");
    assert!(team.fails("a", &["export", "../stick.bundle"]).contains("is no export"), "a bundle of git's");
    team.done("a", &["export", "--force", "../stick.bundle"]);
    team.world.sh("chmod 600 ../stick.bundle; ln -s stick.bundle ../link");
    team.done("a", &["export", "../link"]);
    assert_eq!(team.world.sh("stat -c '%a %F' ../stick.bundle ../link"), "600 regular file\n777 symbolic link\n");
    team.done("a", &["export", "--format=tar", "../x.tar"]);
    assert!(team.fails("a", &["export", "--format=tar", "../x.tar"]).contains("may be something else"));
    assert!(team.fails("a", &["export", ".."]).contains("is a directory"));
    assert!(team.fails("a", &["export", "../no/such/x"]).contains("cannot write"));
}

#[test]
fn the_file_may_be_a_stream() {
    let (team, _) = team();
    let exported = team.run("a", &["export", "-"]);
    assert!(exported.status.success() && exported.stdout.starts_with(b"# v2 git bundle\n"), "{}", described(&exported));
    fs::write(team.path("file"), &exported.stdout).expect("written");
    let mut command = team.world.command(program());
    command.current_dir(team.path("b")).args(["import", "-", "--as", "stick"]);
    let output =
        command.stdin(Stdio::from(fs::File::open(team.path("file")).expect("there"))).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    team.done("b", &["show", "stick/good"]);
    assert!(team.fails("b", &["import", "-"]).contains("needs a name"));
    assert!(team.fails("a", &["export", "--json", "-"]).contains("cannot have both"));
    // A pipe cannot be read twice.
    team.world.sh("cd ../b; mkfifo ../pipe; cat ../file >../pipe & git checkpoint import --as piped ../pipe; wait");
    team.done("b", &["show", "piped/good"]);
    let name = "a\u{1b}[31m.bundle";
    fs::copy(team.path("file"), team.path(name)).expect("copied");
    let said = team.fails("b", &["import", &format!("../{name}")]);
    assert!(said.contains("cannot be what an import is called") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn places_where_it_works_and_where_it_does_not() {
    let (team, id) = team();
    team.world.sh("cd ../a; mkdir -p sub/dir; git worktree add -q --detach ../linked");
    team.done("a/sub/dir", &["export", "../../../from-below.bundle"]);
    team.world.sh(
        "cd ../linked; echo linked >linked; git checkpoint save -q -m linked; git checkpoint export ../linked.bundle",
    );
    let imported = json(&team.done("b", &["import", "--json", "../linked.bundle"]));
    assert_eq!(imported["checkpoints"].as_array().map(Vec::len), Some(1), "of the linked worktree alone: {imported}");
    team.done("linked", &["import", "../from-below.bundle"]);
    assert!(team.done("a", &["show", &format!("from-below/{}", &id[..8])]).contains("half of it"));
    team.world.sh("git clone -q --bare ../a ../bare");
    let said = team.fails("bare", &["import", "../linked.bundle"]);
    assert!(said.contains("worktree"), "{said}");
    // Without a commit.
    team.world.sh("git init -q ../unborn; cd ../unborn; echo first >first; git checkpoint save -q -m first; git checkpoint export ../unborn.bundle");
    team.done("b", &["import", "../unborn.bundle"]);
    assert!(team.done("b", &["list", "--fetched"]).contains("unborn/"));
    team.assert_sound(&["a", "b", "unborn"]);
}

#[test]
fn ids_of_sha_256_work_and_do_not_mix() {
    let world = World::new();
    world.sh(
        "git init -q --object-format=sha256 .; echo one >f; git add .; git commit -qm one; cp -a . ../other
         echo two >f; git checkpoint save -q -m two; git checkpoint tag t; git checkpoint export ../sha256.bundle
         git bundle verify -q ../sha256.bundle; cd ../other; git checkpoint import ../sha256.bundle; git checkpoint restore sha256/t
         git fsck --strict --no-dangling",
    );
    assert_eq!(world.sh("cat ../other/f"), "two\n");
    let output = world
        .command("sh")
        .args(["-c", "git init -q ../sha1; cd ../sha1; git checkpoint import ../sha256.bundle"])
        .output();
    let said = described(&output.expect("a shell"));
    assert!(said.contains("its objects have ids of sha256"), "{said}");
}

#[test]
fn other_commands_know_what_was_imported() {
    let (team, _) = team();
    team.done("a", &["export", "../stick.bundle"]);
    team.done("b", &["import", "../stick.bundle"]);
    let refs = || team.git("b", &["for-each-ref", IMPORTED]);
    let before = refs();
    team.done("b", &["prune", "--keep", "0"]);
    team.git("b", &["gc", "-q", "--prune=now"]);
    team.done("b", &["doctor"]);
    assert_eq!(refs(), before);
    // A purge forgets the log that has the text, and no operation holds it.
    let said = team.done("b", &["purge", "--force", "please write"]);
    assert!(said.contains("stick"), "{said}");
    assert_eq!(team.id("b", &format!("{IMPORTED}/history")), "");
    team.git("b", &["gc", "-q", "--prune=now"]);
    let found = team.world.sh("cd ../b; git cat-file --batch --batch-all-objects | grep -a -c 'please write' || true");
    assert_eq!(found, "0\n");
    // It would come back, and does not, only where the own log was purged.
    team.done("b", &["import", "../stick.bundle"]);
    // Damage is named, and set aside.
    let log = format!("{IMPORTED}/history");
    let tree = team.git("b", &["rev-parse", &format!("{log}^{{tree}}")]);
    team.world.sh(&format!("cd ../b; mkdir ../packs; mv .git/objects/pack/* ../packs/; for pack in ../packs/*.pack; do git unpack-objects -q <$pack; done; rm -f .git/objects/{}/{}", &tree[..2], &tree[2..]));
    let said = described(&team.run("b", &["doctor"]));
    assert!(said.contains("fetched-log-broken") || said.contains("cannot all be read"), "{said}");
    assert!(said.contains("git checkpoint import --as stick <file>"), "{said}");
    team.done("b", &["import", "../stick.bundle"]);
    assert!(team.done("b", &["blame", "x"]).contains("agent"));
}

/// The name of a file is its sender's choice: what it has never stands for what a remote has.
#[test]
fn an_import_has_not_the_name_of_a_remote() {
    let (team, id) = team();
    team.done("a", &["export", "../origin.bundle"]);
    team.done("a", &["push", "--checkpoint", "@"]);
    let clean = state(&team, "b");
    let said = team.fails("b", &["import", "../origin.bundle"]);
    assert!(said.contains("'origin' is a remote") && said.contains("'--as <name>'"), "{said}");
    assert_eq!(state(&team, "b"), clean);
    team.done("b", &["import", "--as", "stick", "../origin.bundle"]);
    // A remote that is added later may have the same name, and another checkpoint of the same id.
    team.git("b", &["remote", "rename", "origin", "stick"]);
    team.done("b", &["fetch", "--checkpoints", "stick"]);
    let named = format!("stick/{}", &id[..8]);
    team.done("b", &["show", &named]);
    team.world.sh(&format!(
        "cd ../b; commit=$(git rev-parse refs/checkpoints-remote/stick/shared/{id})
         git update-ref refs/checkpoints-remote/stick/shared/{id} \\
             $(git cat-file commit $commit | sed \"s/^tree .*/tree $(git rev-parse HEAD^{{tree}})/\" | git hash-object -t commit -w --stdin)"
    ));
    let said = team.fails("b", &["restore", &named]);
    assert!(said.contains("is ambiguous") && said.contains("one was fetched and one imported"), "{said}");
}
