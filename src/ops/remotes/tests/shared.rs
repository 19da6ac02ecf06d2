//! Commits that carry a checkpoint: only ours, with files that may be put into a worktree.

use gix::ObjectId;

use super::{
    super::shared::check,
    join::{number, repository},
    shape::commit_as,
};
use crate::{
    error::Kind,
    git::{
        Repo,
        commit::Identity,
        new_objects::{NewObjects, Target},
        whole_tree::{TreeEntry, add_tree},
    },
};

/// Makes a commit that carries the checkpoint 1, with one file in each of the directories `names`, the first one inside of all others.
fn carrying(repo: &Repo, names: &[&str], mode: u32, message: &str) -> ObjectId {
    let id = repo.run_git(&["hash-object", "-w", "--stdin"], Some(b"../outside")).expect("git runs").to_string();
    let id = ObjectId::from_hex(id.trim().as_bytes()).expect("an id");
    let mut objects = NewObjects::new(repo, Target::Loose);
    let mut entry = TreeEntry { name: names[0].into(), mode, id };
    for name in &names[1..] {
        let tree_id = add_tree(repo, vec![entry], &mut objects).expect("it can be written");
        entry = TreeEntry::directory(*name, tree_id);
    }
    let tree_id = add_tree(repo, vec![entry], &mut objects).expect("it can be written");
    drop(objects.write().expect("it can be written"));
    let message = message.replace("ONE", &number(repo, 1).to_string());
    commit_as(repo, tree_id, Vec::new(), [Identity::fallback(), Identity::fallback()], &message)
}

const OURS: &str = "work\n\nCheckpoint-Shared: ONE\nCheckpoint-Base: unborn\n";

#[rstest::rstest]
#[case::file(&["f"], 0o100_644)]
#[case::executable(&["f", "d"], 0o100_755)]
#[case::link(&["f", "d", "e"], 0o120_000)]
#[case::submodule(&["f"], 0o160_000)]
#[case::like_git(&[".gitignore"], 0o100_644)]
fn files_of_worktrees_are_accepted(#[case] names: &[&str], #[case] mode: u32) {
    let (_directory, repo) = repository("sha1");
    check(&repo, carrying(&repo, names, mode, OURS), number(&repo, 1)).expect("it is ours");
}

#[rstest::rstest]
#[case::git(&["config", ".git"], 0o100_644, "'.git'")]
#[case::folded(&["config", ".GIT", "d"], 0o100_644, "'d/.GIT'")]
#[case::short(&["config", "git~1"], 0o100_644, "'git~1'")]
#[case::itself(&["."], 0o100_644, "'.'")]
#[case::parent(&["f", ".."], 0o100_644, "'..'")]
#[case::absolute(&["/etc"], 0o100_644, "'/etc'")]
#[case::slash(&["a/b"], 0o100_644, "'a/b'")]
#[case::linked_settings(&[".gitmodules"], 0o120_000, "'.gitmodules'")]
#[case::other_mode(&["f"], 0o100_664, "neither a file nor a directory")]
#[case::escape(&["\u{1b}[2J", ".git"], 0o100_644, "'.git'")]
fn what_would_leave_the_worktree_is_refused(#[case] names: &[&str], #[case] mode: u32, #[case] expected: &str) {
    let (_directory, repo) = repository("sha1");
    let error = check(&repo, carrying(&repo, names, mode, OURS), number(&repo, 1)).expect_err("it is none of ours");
    assert_eq!(error.kind(), Kind::Refused);
    assert!(error.message().contains(expected) && !error.message().contains('\u{1b}'), "{}", error.message());
}

#[rstest::rstest]
#[case::another("work\n\nCheckpoint-Shared: 0123456789012345678901234567890123456789\n")]
#[case::a_checkpoint(
    "work\n\nCheckpoint-Shared: ONE\nCheckpoint-Contributor: agent\nCheckpoint-Base: unborn\nCheckpoint-Worktree: main\n"
)]
#[case::nothing("work\n")]
fn other_commits_are_refused(#[case] message: &str) {
    let (_directory, repo) = repository("sha1");
    let error =
        check(&repo, carrying(&repo, &["f"], 0o100_644, message), number(&repo, 1)).expect_err("it is not ours");
    assert!(error.message().contains("does not carry the checkpoint"), "{}", error.message());
    // Neither is a blob.
    let blob = repo.run_git(&["hash-object", "-w", "--stdin"], Some(b"x")).expect("git runs").to_string();
    let blob = ObjectId::from_hex(blob.trim().as_bytes()).expect("an id");
    assert!(check(&repo, blob, number(&repo, 1)).is_err());
}

/// Seven directories in each other, of ten entries each that are the same directory: eight objects, and ten million files.
#[test]
fn a_directory_that_is_there_again_and_again_counts_each_time() {
    let (_directory, repo) = repository("sha1");
    let blob = repo.run_git(&["hash-object", "-w", "--stdin"], Some(b"x")).expect("git runs").to_string();
    let blob = ObjectId::from_hex(blob.trim().as_bytes()).expect("an id");
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let names: Vec<String> = (0..10).map(|number| format!("d{number}")).collect();
    let of = |entry: &dyn Fn(&str) -> TreeEntry| names.iter().map(|name| entry(name)).collect::<Vec<_>>();
    let file = |name: &str| TreeEntry { name: name.into(), mode: 0o100_644, id: blob };
    let mut tree_id = add_tree(&repo, of(&file), &mut objects).expect("it can be written");
    for _ in 0..6 {
        let directory = |name: &str| TreeEntry::directory(name, tree_id);
        tree_id = add_tree(&repo, of(&directory), &mut objects).expect("it can be written");
    }
    drop(objects.write().expect("it can be written"));
    let message = OURS.replace("ONE", &number(&repo, 1).to_string());
    let who = [Identity::fallback(), Identity::fallback()];
    let commit = commit_as(&repo, tree_id, Vec::new(), who, &message);
    let error = check(&repo, commit, number(&repo, 1)).expect_err("it is too large");
    assert!(error.message().contains("too many files"), "{}", error.message());
}
