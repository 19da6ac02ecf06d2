//! Records stay with their work through what git does to commits.

use git_checkpoint::testing::{
    model::record::{How, Link, Parts},
    ops::{records, rewrite},
    repo,
};
use gix::ObjectId;

use super::records::{ONE, TWO, an_id, record_of};
use crate::support::{World, template::Template};

/// A base, and three commits, the first two with records.
static RECORDS: Template = Template::new(|world| {
    world.commit_base();
    world.script(".git/hooks/post-rewrite", "#!/bin/sh\necho \"$1\" >.git/how\ncat >.git/pairs\n");
    for (file, id) in [("a", ONE), ("b", TWO)] {
        world.write(file, format!("{file}\n{file}\n"));
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", &format!("add {file}\n\nCheckpoint: {id}")]);
        world.append(vec![record_of(world, "HEAD", id)], Vec::new());
    }
    world.write("c", "c\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "add c"]);
});

fn world() -> World {
    RECORDS.world()
}

/// Runs git with the hook, and then what the hook of ours would do.
fn rewrite(world: &World, arguments: &[&str]) {
    drop(std::fs::remove_file(world.repo().join(".git/pairs")));
    let mut command = world.command("git");
    let output = command.env("GIT_EDITOR", "true").args(arguments).output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(world.repo().join(".git").join(name)).expect("the hook ran");
    let id = |hex: &str| ObjectId::from_hex(hex.as_bytes()).expect("an id");
    let text = read("pairs");
    let pairs = text.lines().map(|line| line.split_once(' ').expect("two ids"));
    let pairs: Vec<_> = pairs.map(|(old, new)| (id(old), id(new.split(' ').next().expect("one")))).collect();
    rewrite::rewritten(&world.context(), read("how").trim(), &pairs).expect("links can be written");
}

/// Returns the records of `commit` and how each is linked to it.
fn records_of(world: &World, commit: &str) -> Vec<(String, Option<How>)> {
    let commit = world.id(&["rev-parse", commit]);
    let context = world.context();
    let ids = records::of_commit(repo(&context), commit).expect("sound");
    let how = |id| {
        let links = records::links(repo(&context), id).expect("sound");
        links.iter().find(|link: &&Link| link.commit == commit).map(|link| link.how)
    };
    ids.iter().map(|id| (id.to_string(), how(id))).collect()
}

fn one(id: &str, how: How) -> Vec<(String, Option<How>)> {
    vec![(id.to_owned(), Some(how))]
}

#[test]
fn an_amend_with_another_message_keeps_the_record() {
    let world = world();
    world.git(&["reset", "-q", "--hard", "HEAD^"]);
    rewrite(&world, &["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(records_of(&world, "HEAD"), one(TWO, How::Amend));
    // And again: a chain.
    rewrite(&world, &["commit", "-q", "--amend", "-m", "words again"]);
    assert_eq!(records_of(&world, "HEAD"), one(TWO, How::Amend));
    world.assert_sound("after amends");
}

#[test]
fn a_rebase_maps_each_commit() {
    let world = world();
    world.git(&["checkout", "-q", "-b", "side", "HEAD~3"]);
    world.write("d", "d\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "add d"]);
    world.git(&["checkout", "-q", "main"]);
    rewrite(&world, &["rebase", "-q", "side"]);
    assert_eq!(records_of(&world, "HEAD~2"), one(ONE, How::Rebase));
    assert_eq!(records_of(&world, "HEAD~1"), one(TWO, How::Rebase));
    assert_eq!(records_of(&world, "HEAD"), []);
    let context = world.context();
    let parent = world.id(&["rev-parse", "side"]);
    assert_eq!(records::of_parent(repo(&context), parent).expect("sound"), [an_id(ONE)]);
}

#[test]
fn a_squash_has_the_records_of_all() {
    let world = world();
    let todo = "sed -i '2,$s/^pick/fixup/'";
    rewrite(&world, &["-c", &format!("sequence.editor={todo}"), "rebase", "-q", "-i", "HEAD~3"]);
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
    let mut found = records_of(&world, "HEAD");
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, [one(ONE, How::Squash), one(TWO, How::Squash)].concat());
    // What is rewritten again still has both.
    rewrite(&world, &["commit", "-q", "--amend", "-m", "x"]);
    assert_eq!(records_of(&world, "HEAD").len(), 2);
}

#[test]
fn reorder_and_reword_and_drop() {
    let world = world();
    let todo = "sed -i -e '1{h;d}' -e '2{s/^pick/reword/;G}' -e '3s/^pick/drop/'";
    rewrite(&world, &["-c", &format!("sequence.editor={todo}"), "rebase", "-q", "-i", "HEAD~3"]);
    assert_eq!(world.git(&["log", "--format=%s", "HEAD~2..HEAD"]), "add a\nadd b\n");
    assert_eq!(records_of(&world, "HEAD"), one(ONE, How::Rebase));
    assert_eq!(records_of(&world, "HEAD^"), one(TWO, How::Rebase));
}

#[test]
fn a_cherry_pick_is_a_copy() {
    let world = world();
    let source = world.id(&["rev-parse", "main~1"]);
    world.git(&["checkout", "-q", "-b", "side", "HEAD~3"]);
    world.git(&["cherry-pick", "-x", "main~1"]);
    let commit = world.id(&["rev-parse", "HEAD"]);
    rewrite::link_copies(&world.context(), commit, &std::collections::BTreeMap::new()).expect("links can be written");
    assert_eq!(records_of(&world, "HEAD"), one(TWO, How::Copy));
    let links = records::links(repo(&world.context()), &an_id(TWO)).expect("sound");
    assert_eq!(links.iter().find(|link| link.commit == commit).expect("linked").from, Some(source));
    // Once is enough.
    let tip = world.id(&["rev-parse", "refs/checkpoints/history"]);
    rewrite::link_copies(&world.context(), commit, &std::collections::BTreeMap::new()).expect("nothing to do");
    assert_eq!(world.id(&["rev-parse", "refs/checkpoints/history"]), tip);
}

#[test]
fn a_squash_merge_has_the_records_of_the_branch() {
    for message in [&["--no-edit"][..], &["-m", "one"]] {
        let world = world();
        world.git(&["checkout", "-q", "-b", "side", "HEAD~3"]);
        world.git(&["merge", "-q", "--squash", "main"]);
        let squashed = rewrite::squashed_commits(&world.context()).expect("git wrote it");
        assert_eq!(squashed.len(), 3);
        world.git(&[&["commit", "-q"], message].concat());
        let commit = world.id(&["rev-parse", "HEAD"]);
        rewrite::link_copies(&world.context(), commit, &std::collections::BTreeMap::new())
            .expect("links can be written");
        rewrite::link_from(&world.context(), commit, &squashed, How::Squash, &Parts::new())
            .expect("links can be written");
        assert_eq!(records_of(&world, "HEAD").len(), 2, "{message:?}");
        assert!(rewrite::squashed_commits(&world.context()).expect("it is gone").is_empty());
    }
}

#[test]
fn an_amend_of_a_commit_without_record_gets_none() {
    let world = world();
    let tip = world.id(&["rev-parse", "refs/checkpoints/history"]);
    rewrite(&world, &["commit", "-q", "--amend", "-m", "add c otherwise"]);
    assert_eq!(records_of(&world, "HEAD"), []);
    assert_eq!(world.id(&["rev-parse", "refs/checkpoints/history"]), tip);
    // Nor does a trailer that is made up.
    world.git(&["commit", "-q", "--amend", "-m", "x\n\nCheckpoint: ffffffffffffffff"]);
    rewrite::link_copies(&world.context(), world.id(&["rev-parse", "HEAD"]), &std::collections::BTreeMap::new())
        .expect("nothing to do");
    assert_eq!(records_of(&world, "HEAD"), []);
}
