//! Checkpoints as patches and as archives: git makes the same files of them.

use std::fs;

use crate::{
    ops::{
        exported::{json, saved},
        sharing::Team,
    },
    support::processes::described,
};

/// States of all kinds of files, one after the other.
const STATES: &[(&str, &str)] = &[
    ("printf 'one\\ntwo\\n' >text; printf 'no end' >no-end; printf 'a\\0b\\377' >binary", "new files"),
    ("printf 'one\\n2\\n' >text; printf 'no end, still' >no-end; printf 'a\\0c\\377\\n' >binary", "[wip] changed"),
    ("mkdir d; mv text d/renamed; chmod +x no-end; ln -s d/renamed link; : >empty", "From: renamed"),
    ("ln -sf no-end link; printf 'end\\n' >>no-end; rm binary; printf 'a\\r\\nb\\r\\n' >crlf", "links and ends"),
    (
        "chmod -x no-end; rm link; mkdir link; echo in >link/in; printf 'a\\r\\nc\\r\\n' >crlf; printf '\\303\\244\\n' >\"d/a b\t\\303\\244\"",
        "Ünïcode",
    ),
];

fn team() -> (Team, Vec<String>) {
    let team = Team::of(&["a", "b"]);
    let ids = STATES.iter().map(|(script, message)| saved(&team, "a", script, message)).collect();
    (team, ids)
}

fn tree(team: &Team, name: &str, revision: &str) -> String {
    team.git(name, &["rev-parse", &format!("{revision}^{{tree}}")])
}

#[test]
fn patches_give_the_same_trees() {
    let (team, ids) = team();
    // Settings of the user that change patches.
    team.world.sh(
        "cd ../a; for it in diff.noprefix=true diff.mnemonicPrefix=true diff.renames=copies diff.external=false diff.context=0 \
         format.signOff=true format.attach=x format.coverLetter=true format.subjectPrefix=X format.numbered=false \
         format.headers=X-A:b format.signature=s diff.submodule=log color.ui=always core.quotePath=false format.to=x@x; \
         do git config ${it%%=*} ${it#*=}; done; echo '*.txt diff=x' >.git/info/attributes; git config diff.x.textconv 'tr a-z A-Z'",
    );
    let exported = json(&team.done("a", &["export", "--format=patch", "--json", "../series"]));
    assert_eq!(exported["checkpoints"].as_array().map(Vec::len), Some(STATES.len()), "{exported}");
    let count = STATES.len();
    team.world.sh("cd ../b; git am -q --keep-cr ../series");
    for (at, id) in ids.iter().enumerate() {
        let commit = format!("HEAD~{}", count - 1 - at);
        assert_eq!(tree(&team, "b", &commit), tree(&team, "a", id), "{}", STATES[at].1);
    }
    let subjects = team.git("b", &["log", "--reverse", "--format=%s", &format!("-{count}")]);
    assert_eq!(subjects, "new files\ncheckpoint: [wip] changed\ncheckpoint: From: renamed\nlinks and ends\nÜnïcode");
    team.assert_sound(&["a", "b"]);
    // One of them alone.
    team.done("a", &["export", "--format=patch", "../one", &ids[2]]);
    team.world.sh("cd ../b; git reset -q --hard HEAD~5; git clean -qfd; git am -q --keep-cr ../one");
    assert_eq!(tree(&team, "b", "HEAD"), tree(&team, "a", &ids[2]));
}

#[test]
fn patches_without_a_commit_below() {
    let team = Team::of(&["a"]);
    team.world.sh("git init -q ../new; git init -q ../other; cd ../new; echo one >f; git checkpoint save -q -m one; echo two >f; git checkpoint save -q -m two; git checkpoint export --format=patch ../series; cd ../other; git am -q ../series");
    assert_eq!(team.git("other", &["log", "--format=%s"]), "two\none");
    assert_eq!(team.world.sh("cat ../other/f"), "two\n");
}

#[test]
fn patches_are_of_one_commit_and_change_something() {
    let (team, ids) = team();
    team.world.sh("cd ../a; git add -A; git commit -qm all");
    let said = team.fails("a", &["export", "--format=patch", "../x"]);
    assert!(said.contains("there is no checkpoint to make a patch of"), "{said}");
    let id = saved(&team, "a", "echo x >x", "on the next one");
    let said = team.fails("a", &["export", "--format=patch", "../x", &ids[0], &id]);
    assert!(said.contains("stand on several commits"), "{said}");
    team.world.sh("cd ../a; git reset -q --hard; rm x");
    let same = json(&team.done("a", &["save", "--allow-empty", "-m", "same", "--json"]))["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let said = team.fails("a", &["export", "--format=patch", "../x", &same]);
    assert!(said.contains("do not differ"), "{said}");
    for option in ["--full", "--records", "--transcripts"] {
        assert!(team.fails("a", &["export", "--format=tar", option, "../x"]).contains("is for a bundle"));
    }
    assert!(!team.path("x").exists());
    // What the patch removes was in the base, which was not searched.
    team.world.sh("cd ../a; echo 'token = \"ghp_0123456789abcdefghijklmnopqrstuvwxyz012345\"' >s; git add s; git commit -qm s; rm s");
    let id = saved(&team, "a", "", "removed");
    let said = team.fails("a", &["export", "--format=patch", "../x", &id]);
    assert!(said.contains("what the patches remove looks as if it has a secret"), "{said}");
}

#[test]
fn an_archive_is_that_of_git() {
    let (team, ids) = team();
    team.done("a", &["export", "--format=tar", "../x.tar"]);
    team.world.sh(&format!("cd ../a; git archive --format=tar {} >../git.tar", ids.last().expect("there are some")));
    let [ours, gits] = ["x.tar", "git.tar"].map(|name| fs::read(team.path(name)).expect("written"));
    assert!(ours == gits, "they differ");
    team.world.sh("mkdir ../out; tar -xf ../x.tar -C ../out; diff -r ../out ../a --exclude=.git");
    team.done("a", &["export", "--format=tar", "../first.tar", &ids[0]]);
    assert_eq!(team.world.sh("tar -xOf ../first.tar text"), "one\ntwo\n");
    let said = described(&team.run("a", &["export", "--format=tar", "../x2.tar", &ids[0], &ids[1]]));
    assert!(said.contains("an archive has the files of one checkpoint, and not of 2"), "{said}");
    let output = team.run("a", &["export", "--format=tar", "-"]);
    assert!(output.stdout == gits, "{}", String::from_utf8_lossy(&output.stderr));
}

/// A filter may decrypt what is stored: the archive has what the checkpoint has, as a bundle does.
#[test]
fn an_archive_has_what_is_stored_and_not_what_a_filter_makes_of_it() {
    let team = Team::of(&["a"]);
    team.world.sh(
        "cd ../a; git config filter.hide.clean 'sed s/open/hidden/'; git config filter.hide.smudge 'sed s/hidden/open/'
         git config filter.hide.required true; echo '*.key filter=hide' >.gitattributes; echo open >a.key",
    );
    team.done("a", &["save", "-m", "with a filter"]);
    team.done("a", &["export", "--format=tar", "../x.tar"]);
    assert_eq!(team.world.sh("tar -xOf ../x.tar a.key"), "hidden\n");
}

/// The author of the patch is the agent: its lines are no person's where they arrive, though no record comes with it.
#[test]
fn a_patch_of_an_agent_is_no_persons() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; git checkpoint session prompt s1 --agent claude-code -q -m x; echo 'by the agent' >new
        git checkpoint session stop s1 -q; git checkpoint export --format=patch ../of-agent >../log");
    team.world.sh("cd ../b; git am -q --keep-cr ../of-agent");
    let blamed = team.done("b", &["blame", "new"]);
    assert!(blamed.contains(" unknown ") && !blamed.contains(" human "), "{blamed}");
}
