//! Logs that others have made to harm us are refused, with the path.

use std::collections::BTreeMap;

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    super::{join::join_trees, outgoing, shape::check_log},
    join::{repository, tree},
};
use crate::{
    error::Kind,
    git::{
        Repo,
        commit::{Identity, Moment, NewCommit},
        new_objects::{NewObjects, Target},
        whole_tree::{TreeEntry, add_tree},
    },
    model::log_place::Place,
};

const RECORD: &str = "01/23456789abcdef";

/// Commits the tree `tree_id`, with the parents `parents`, as a join does.
fn commit(repo: &Repo, tree_id: ObjectId, parents: Vec<ObjectId>) -> ObjectId {
    commit_as(repo, tree_id, parents, [Identity::fallback(), Identity::fallback()], "logs joined\n")
}

pub(super) fn commit_as(
    repo: &Repo,
    tree_id: ObjectId,
    parents: Vec<ObjectId>,
    [author, committer]: [Identity; 2],
    message: &str,
) -> ObjectId {
    let mut objects = NewObjects::new(repo, Target::Loose);
    let time = Moment { seconds: 1_748_779_200, micros: 0, offset: 0 };
    let id = Repo::write_commit(&NewCommit { tree_id, parents, author, committer, time, message }, &mut objects);
    drop(objects.write().expect("it can be written"));
    id.expect("it can be written")
}

/// Returns what may be in the file at `path`.
fn sound(path: &str) -> Vec<u8> {
    if path.ends_with("attribution") { b"attribution 1\n".to_vec() } else { Vec::new() }
}

fn file(repo: &Repo, path: &str) -> ObjectId {
    let mut objects = NewObjects::new(repo, Target::Loose);
    let id = tree(repo, &BTreeMap::from([(path.to_owned(), sound(path))]), &mut objects);
    drop(objects.write().expect("it can be written"));
    id
}

#[rstest::rstest]
#[case::code("src/main.rs", "'src'")]
#[case::attributes(".gitattributes", "'.gitattributes'")]
#[case::unknown_file("01/23456789abcdef/script", "'01/23456789abcdef/script'")]
#[case::too_deep("01/23456789abcdef/links/a/b", "'01/23456789abcdef/links/a'")]
#[case::escape("01/23456789abcdef/\u{1b}[2J", "'01/23456789abcdef/\\u{1b}[2J'")]
#[case::file_for_a_directory("01", "neither an ordinary file nor a directory")]
fn foreign_paths_are_refused(#[case] path: &str, #[case] expected: &str) {
    let (_directory, repo) = repository("sha1");
    let tip = commit(&repo, file(&repo, path), Vec::new());
    let error = check_log(&repo, Place::History, tip, &[], &mut |_| {}).expect_err("it is none of ours");
    assert_eq!(error.kind(), Kind::Refused);
    assert!(error.message().contains(expected), "{}", error.message());
    assert!(!error.message().contains('\u{1b}'));
}

#[rstest::rstest]
#[case::link("120000", "record.toml")]
#[case::executable("100755", "record.toml")]
#[case::submodule("160000", "record.toml")]
#[case::link_for_a_directory("120000", "sessions")]
#[case::submodule_for_a_directory("160000", "links")]
fn foreign_modes_are_refused(#[case] mode: &str, #[case] name: &str) {
    let (_directory, repo) = repository("sha1");
    // Git looks at the object of a file, and a submodule's commit is in another repository.
    let blob = repo.run_git(&["hash-object", "-w", "--stdin"], Some(b"/etc/passwd")).expect("git runs").to_string();
    let kind = if mode == "160000" { "commit" } else { "blob" };
    let id = if mode == "160000" { "0123456789".repeat(4) } else { blob.trim().to_owned() };
    let mut entry = format!("{mode} {kind} {id}\t{name}\n");
    for name in [&RECORD[3..], &RECORD[..2]] {
        let made = repo.run_git(&["mktree", "--missing"], Some(entry.as_bytes())).expect("git runs");
        entry = format!("040000 tree {}\t{name}\n", made.to_string().trim());
    }
    let root = repo.run_git(&["mktree"], Some(entry.as_bytes())).expect("git runs");
    let root = ObjectId::from_hex(root.to_string().trim().as_bytes()).expect("an id");
    let tip = commit(&repo, root, Vec::new());
    let error = check_log(&repo, Place::History, tip, &[], &mut |_| {}).expect_err("it is none of ours");
    assert!(error.message().contains(&format!("'{RECORD}/{name}'")), "{}", error.message());
}

#[test]
fn commits_of_code_are_refused_behind_a_sound_tree() {
    let (_directory, repo) = repository("sha1");
    let code = commit(&repo, file(&repo, "main.rs"), Vec::new());
    let sound = file(&repo, &format!("{RECORD}/attribution"));
    let tip = commit(&repo, sound, vec![code]);
    let error = check_log(&repo, Place::History, tip, &[], &mut |_| {}).expect_err("it leads to code");
    assert!(error.message().contains("'main.rs'"), "{}", error.message());
    // What is known is not looked at again.
    check_log(&repo, Place::History, tip, &[code], &mut |_| {}).expect("the rest is ours");
    check_log(&repo, Place::History, commit(&repo, sound, Vec::new()), &[], &mut |_| {}).expect("it is ours");
}

#[test]
fn large_files_are_refused() {
    let (_directory, repo) = repository("sha1");
    let path = format!("{RECORD}/links/{}", "0".repeat(40));
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let tree_id = tree(&repo, &BTreeMap::from([(path.clone(), vec![b'x'; 5 << 10])]), &mut objects);
    drop(objects.write().expect("it can be written"));
    let error =
        check_log(&repo, Place::History, commit(&repo, tree_id, Vec::new()), &[], &mut |_| {}).expect_err("too large");
    assert!(error.message().contains(&path) && error.message().contains("too large"), "{}", error.message());
}

/// What cannot be read later does not come in, and no text of it reaches the terminal as it is.
#[rstest::rstest]
#[case::record("record.toml", b"x = \"\x1b[2J".to_vec())]
#[case::zeros("record.toml", vec![0; 1 << 20])]
#[case::attribution("attribution", b"attribution 1\nowner \x1b[2J\n".to_vec())]
#[case::sessions("sessions/0/session.toml", b"version = 1\nid = \"\"\n[[chunk]]\nref = \"refs/heads/\\u001b[2J\"\npath = \"\"\nid = \"\"\n".to_vec())]
#[case::prompts("sessions/0/prompts.toml", b"version = 2\n".to_vec())]
#[case::version("others/0123456789012345678901234567890123456789/prompts", Vec::new())]
#[case::link("links/0123456789012345678901234567890123456789", b"version = 1\nhow = \"\\u001b[2J\"\n".to_vec())]
fn what_cannot_be_parsed_is_refused(#[case] name: &str, #[case] content: Vec<u8>) {
    let (_directory, repo) = repository("sha1");
    let path = format!("{RECORD}/{name}");
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let tree_id = tree(&repo, &BTreeMap::from([(path.clone(), content)]), &mut objects);
    drop(objects.write().expect("it can be written"));
    let error = check_log(&repo, Place::History, commit(&repo, tree_id, Vec::new()), &[], &mut |_| {})
        .expect_err("it is damaged");
    assert!(error.message().contains(RECORD) && !error.message().contains('\u{1b}'), "{}", error.message());
    assert!(error.message().len() < 500, "{}", error.message());
}

#[test]
fn commits_with_nothing_in_them_are_refused() {
    let (_directory, repo) = repository("sha1");
    let tip = commit(&repo, repo.empty_tree_id(), Vec::new());
    let error = check_log(&repo, Place::History, tip, &[], &mut |_| {}).expect_err("it is none of ours");
    assert!(error.message().contains("no commit of a log"), "{}", error.message());
}

/// The names and the message of a commit are as we write them.
fn scan(is_on: bool) -> outgoing::Scan {
    outgoing::Scan { is_on, undone: "nothing was sent", hint: "x".into() }
}

#[rstest::rstest]
#[case::own("1 record added or completed, 1 commit linked\n", ["me", "me"], true)]
#[case::joined("logs joined\n", ["git-checkpoint", "git-checkpoint"], true)]
#[case::other_message("hello\n", ["me", "me"], false)]
#[case::body("1 record added or completed, 1 commit linked\n\nhello\n", ["me", "me"], false)]
#[case::joined_by_another("logs joined\n", ["me", "me"], false)]
#[case::two_people("1 record added or completed, 1 commit linked\n", ["me", "you"], false)]
fn foreign_commits_are_refused(#[case] message: &str, #[case] names: [&str; 2], #[case] is_ours: bool) {
    let (_directory, repo) = repository("sha1");
    let tree_id = file(&repo, &format!("{RECORD}/attribution"));
    let who = names.map(|name| Identity { name: name.into(), ..Identity::fallback() });
    let tip = commit_as(&repo, tree_id, Vec::new(), who, message);
    let checked = check_log(&repo, Place::History, tip, &[], &mut |_| {});
    assert_eq!(checked.is_ok(), is_ours, "{checked:?}");
    let sent = outgoing::check(&repo, Place::History, tip, &[], &scan(true));
    assert_eq!(sent.is_ok(), is_ours, "{sent:?}");
}

#[test]
fn a_secret_in_the_name_of_an_author_is_not_sent() {
    let (_directory, repo) = repository("sha1");
    let tree_id = file(&repo, &format!("{RECORD}/attribution"));
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let who = || Identity { name: secret.as_str().into(), ..Identity::fallback() };
    let tip = commit_as(&repo, tree_id, Vec::new(), [who(), who()], "0 records added or completed, 1 commit linked\n");
    let error = outgoing::check(&repo, Place::History, tip, &[], &scan(true)).expect_err("it is a secret");
    assert!(error.message().contains("the name of the author") && !error.message().contains("ghp_"), "{error}");
    outgoing::check(&repo, Place::History, tip, &[], &scan(false)).expect("it is not looked for");
}

/// What only an earlier commit has would be stored all the same.
#[test]
fn large_files_of_earlier_commits_are_refused() {
    let (_directory, repo) = repository("sha1");
    let path = format!("{RECORD}/links/{}", "0".repeat(40));
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let tree_id = tree(&repo, &BTreeMap::from([(path.clone(), vec![b'x'; 5 << 10])]), &mut objects);
    drop(objects.write().expect("it can be written"));
    let large = commit(&repo, tree_id, Vec::new());
    let tip = commit(&repo, file(&repo, &format!("{RECORD}/attribution")), vec![large]);
    let error = check_log(&repo, Place::History, tip, &[], &mut |_| {}).expect_err("too large");
    assert!(error.message().contains(&path) && error.message().contains("too large"), "{}", error.message());
}

/// A version has the id of its tree as its name, and is not empty.
#[rstest::rstest]
#[case::empty(true)]
#[case::another_name(false)]
fn versions_that_are_none_are_refused(#[case] is_empty: bool) {
    let (_directory, repo) = repository("sha1");
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let other = if is_empty {
        objects.add(ObjectKind::Tree, b"").expect("it can be written")
    } else {
        tree(&repo, &BTreeMap::from([("attribution".to_owned(), sound("attribution"))]), &mut objects)
    };
    let name = if is_empty { other.to_string() } else { "0".repeat(40) };
    let mut tree_id = other;
    for name in [name.as_str(), "others", &RECORD[3..], &RECORD[..2]] {
        tree_id = add_tree(&repo, vec![TreeEntry::directory(name, tree_id)], &mut objects).expect("written");
    }
    drop(objects.write().expect("it can be written"));
    let error =
        check_log(&repo, Place::History, commit(&repo, tree_id, Vec::new()), &[], &mut |_| {}).expect_err("no version");
    assert!(error.message().contains("no version"), "{}", error.message());
}

/// Writes a record with `count` other versions, from number `first` on, and returns the tree of its log.
fn with_versions(repo: &Repo, first: usize, count: usize) -> ObjectId {
    let mut objects = NewObjects::new(repo, Target::Loose);
    let mut version = |at: usize| {
        let text = format!("attribution 1\nauthor 0 agent session=s{at}\n").into_bytes();
        tree(repo, &BTreeMap::from([("attribution".to_owned(), text)]), &mut objects)
    };
    let ids: Vec<ObjectId> = (first..first + count).map(&mut version).collect();
    let mut others: Vec<_> = ids.iter().map(|id| TreeEntry::directory(id.to_string(), *id)).collect();
    others.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut tree_id = add_tree(repo, others, &mut objects).expect("written");
    for name in ["others", &RECORD[3..], &RECORD[..2]] {
        tree_id = add_tree(repo, vec![TreeEntry::directory(name, tree_id)], &mut objects).expect("written");
    }
    drop(objects.write().expect("it can be written"));
    tree_id
}

/// Each version of a record is compared with each: thousands of them would take minutes.
#[rstest::rstest]
#[case::some(64, true)]
#[case::too_many(65, false)]
fn a_record_has_a_bounded_number_of_versions(#[case] count: usize, #[case] is_ours: bool) {
    let (_directory, repo) = repository("sha1");
    let tip = commit(&repo, with_versions(&repo, 0, count), Vec::new());
    let checked = check_log(&repo, Place::History, tip, &[], &mut |_| {});
    assert_eq!(checked.is_ok(), is_ours, "{checked:?}");
    let message =
        checked.map_or_else(|error| error.message().to_owned(), |()| format!("{RECORD}/others: more than 64"));
    assert!(message.contains(&format!("{RECORD}/others")) && message.contains("more than 64"), "{message}");
}

/// Two logs that are sound have too many together.
#[rstest::rstest]
#[case::some(32, true)]
#[case::too_many(40, false)]
fn a_join_makes_no_log_that_others_refuse(#[case] count: usize, #[case] is_ours: bool) {
    let (_directory, repo) = repository("sha1");
    let [one, other] = [0, count].map(|first| with_versions(&repo, first, count));
    let mut objects = NewObjects::new(&repo, Target::Memory);
    let joined = join_trees(&repo, Place::History, one, other, &mut objects).map(|(id, _)| id);
    assert_eq!(joined.is_ok(), is_ours, "{joined:?}");
}
