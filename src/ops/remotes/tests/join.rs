//! The laws of the join, for random logs: the order of joins does not matter, and nothing gets lost.

use std::{collections::BTreeMap, process as run};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, proptest};

use super::super::join::{Differences, join_commits, join_trees};
use crate::{
    git::{
        Repo,
        commit::{Moment, NewCommit},
        edit_tree::edit_tree,
        new_objects::{NewObjects, Target},
    },
    model::{
        change::Mode,
        log_place::Place,
        record::{Chunk, Counts, How, Link, Prompt, Record, RecordId, SessionPart},
        refname::{self, Base},
    },
};

/// Makes a repository with git, of the hash function `hash`.
pub(super) fn repository(hash: &str) -> (tempfile::TempDir, Repo) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
    let mut git = run::Command::new("git");
    let status = git.args(["init", "-q", "--object-format", hash]).arg(directory.path()).status();
    assert!(status.expect("git runs").success());
    let repo = Repo::open(directory.path()).expect("a repository");
    (directory, repo)
}

/// Writes a tree with `files`, and returns its id.
pub(super) fn tree(repo: &Repo, files: &BTreeMap<String, Vec<u8>>, objects: &mut NewObjects<'_>) -> ObjectId {
    let mut edits = Vec::new();
    for (path, content) in files {
        let id = objects.add(ObjectKind::Blob, content).expect("it can be written");
        edits.push((BString::from(path.as_str()), Some((id, Mode::File))));
    }
    edit_tree(repo.empty_tree_id(), &edits, objects).expect("it can be written")
}

pub(super) fn number(repo: &Repo, number: usize) -> ObjectId {
    let digits = repo.object_hash().len_in_hex();
    ObjectId::from_hex(format!("{number:0digits$x}").as_bytes()).expect("digits")
}

/// A version of a record.
#[derive(Clone, Debug)]
pub(super) struct Body {
    revision: u32,
    /// What it is a record of.
    commit: usize,
    attribution: usize,
    prompt: Option<usize>,
    pieces: usize,
}

impl Body {
    fn add_to(&self, repo: &Repo, id: RecordId, files: &mut BTreeMap<String, Vec<u8>>) {
        let folder = format!("{}/{}", &id.as_str()[..2], &id.as_str()[2..]);
        let chunk = |at: usize| Chunk {
            reference: refname::transcripts_ref("202506"),
            path: format!("s/{at:06}"),
            id: number(repo, at),
        };
        let part =
            SessionPart { id: "s".into(), chunks: (1..=self.pieces).map(chunk).collect(), ..SessionPart::default() };
        let record = Record {
            id,
            revision: self.revision,
            commit: number(repo, self.commit),
            parent: None,
            tree: number(repo, 9),
            patch_id: None,
            seconds: 1,
            base: Base::Unborn,
            worktree: "main".into(),
            tool: "0".into(),
            sessions: vec![part.clone()],
            files: Vec::new(),
            counts: Counts::default(),
            is_whole: false,
        };
        files.insert(format!("{folder}/record.toml"), record.to_toml().into_bytes());
        files.insert(format!("{folder}/attribution"), format!("{}\n", self.attribution).into_bytes());
        files.insert(format!("{folder}/sessions/0/session.toml"), part.to_toml().into_bytes());
        if let Some(text) = self.prompt {
            let text = if text == PURGED { "[purged]".to_owned() } else { text.to_string() };
            let prompts = [Prompt { turn: 1, seconds: 1, text }];
            files.insert(format!("{folder}/sessions/0/prompts.toml"), Prompt::list_to_toml(&prompts).into_bytes());
        }
    }
}

pub(super) fn record_id(at: usize) -> RecordId {
    RecordId::parse(&format!("{:02x}{:014x}", at % 2, at)).expect("digits")
}

fn body() -> impl Strategy<Value = Body> {
    (1..4_u32, 0..2_usize, 0..2_usize, prop::option::of(0..2_usize), 0..3_usize).prop_map(
        |(revision, commit, attribution, prompt, pieces)| Body { revision, commit, attribution, prompt, pieces },
    )
}

/// What one log may have.
#[derive(Clone, Debug)]
struct Log {
    bodies: Vec<(usize, Body)>,
    links: Vec<(usize, usize, How, Vec<&'static str>)>,
    lines: Vec<(usize, Vec<usize>)>,
}

fn log() -> impl Strategy<Value = Log> {
    let how = prop::sample::select(vec![How::Commit, How::Rebase, How::Relink]);
    let only = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    let bodies = prop::collection::vec((0..3_usize, body()), 0..4);
    let links = prop::collection::vec((0..3_usize, 0..2_usize, how, only), 0..4);
    let lines = prop::collection::vec((0..3_usize, prop::collection::vec(0..4_usize, 1..4)), 0..3);
    (bodies, links, lines).prop_map(|(bodies, links, lines)| Log { bodies, links, lines })
}

impl Log {
    fn write(&self, repo: &Repo, objects: &mut NewObjects<'_>) -> ObjectId {
        let mut files = BTreeMap::new();
        let bodies: BTreeMap<usize, &Body> = self.bodies.iter().map(|(at, body)| (*at, body)).collect();
        for (at, body) in bodies {
            body.add_to(repo, record_id(at), &mut files);
        }
        for (at, commit, how, only) in &self.links {
            let id = record_id(*at);
            let only = only.iter().map(|path| (*path).into()).collect();
            let link = Link { record: id, commit: number(repo, *commit), from: None, how: *how, only };
            let path = format!("{}/{}/links/{}", &id.as_str()[..2], &id.as_str()[2..], link.commit);
            files.insert(path, link.to_toml().into_bytes());
        }
        for (key, ids) in &self.lines {
            let hex = number(repo, *key).to_string();
            let mut ids: Vec<String> = ids.iter().map(|at| format!("{}\n", record_id(*at))).collect();
            ids.sort();
            ids.dedup();
            files.insert(format!("commits/{}/{}", &hex[..2], &hex[2..]), ids.concat().into_bytes());
        }
        tree(repo, &files, objects)
    }
}

/// Returns the blobs of the tree by path.
pub(super) fn files(repo: &Repo, tree_id: ObjectId) -> BTreeMap<String, ObjectId> {
    let mut found = BTreeMap::new();
    let mut work = vec![(String::new(), tree_id)];
    while let Some((path, id)) = work.pop() {
        for (name, is_tree, id) in repo.tree_entries(id).expect("it can be read") {
            let full = format!("{path}{name}");
            if is_tree {
                work.push((format!("{full}/"), id));
            } else {
                found.insert(full, id);
            }
        }
    }
    found
}

/// Returns what `joined` lacks of `part`.
fn lost(repo: &Repo, part: ObjectId, joined: ObjectId) -> Vec<String> {
    let (part, joined) = (files(repo, part), files(repo, joined));
    let text = |id: ObjectId| repo.read_blob(id).expect("it can be read").to_str_lossy().into_owned();
    let mut lost = Vec::new();
    for (path, id) in part {
        let is_there = if path.starts_with("commits/") {
            let now = joined.get(&path).map(|id| text(*id)).unwrap_or_default();
            text(id).lines().all(|line| now.lines().any(|other| other == line))
        } else if path.contains("/links/") {
            joined.contains_key(&path)
        } else {
            // In the version that is shown, or beside it; a record or its list of pieces may also have been completed.
            let (folder, name) = (&path[..17], &path[18..]);
            let of_record: Vec<_> = joined.iter().filter(|(other, _)| other.starts_with(folder)).collect();
            of_record.iter().any(|(other, now)| other.ends_with(name) && **now == id)
                || (name != "attribution" && !name.ends_with("prompts.toml") && is_completed(&of_record, &path, &text))
        };
        if !is_there {
            lost.push(path);
        }
    }
    lost
}

fn is_completed(of_record: &[(&String, &ObjectId)], path: &str, text: &dyn Fn(ObjectId) -> String) -> bool {
    let name = &path[path.rfind('/').expect("a directory") + 1..];
    of_record.iter().any(|(other, id)| other.ends_with(name) && !text(**id).is_empty())
}

fn all_laws_hold(hash: &str, logs: &[Log]) -> Result<(), proptest::test_runner::TestCaseError> {
    let (_directory, repo) = repository(hash);
    let repo = repo.with_object_memory();
    let mut objects = NewObjects::new(&repo, Target::Memory);
    let trees: Vec<ObjectId> = logs.iter().map(|log| log.write(&repo, &mut objects)).collect();
    let mut join = |one, other| join_trees(&repo, Place::History, one, other, &mut objects).expect("both are ours").0;
    let [a, b, c] = trees[..] else { panic!("three logs") };
    let ab = join(a, b);
    prop_assert_eq!(ab, join(b, a), "commutative");
    let bc = join(b, c);
    prop_assert_eq!(join(ab, c), join(a, bc), "associative");
    prop_assert_eq!(join(a, a), a, "idempotent");
    prop_assert_eq!(join(ab, a), ab, "absorbs");
    prop_assert_eq!(join(ab, bc), join(ab, c), "what is in both counts once");
    for part in [a, b] {
        let lost = lost(&repo, part, ab);
        prop_assert!(lost.is_empty(), "lost: {lost:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_logs_are_joined_in_any_order(logs in prop::collection::vec(log(), 3)) {
        all_laws_hold("sha1", &logs)?;
    }

    #[test]
    fn random_logs_are_joined_in_any_order_with_sha256(logs in prop::collection::vec(log(), 3)) {
        all_laws_hold("sha256", &logs)?;
    }
}

/// A log with one record, which is `body`, and the tree of it.
pub(super) fn with_record(repo: &Repo, body: &Body, objects: &mut NewObjects<'_>) -> ObjectId {
    let mut files = BTreeMap::new();
    body.add_to(repo, record_id(0), &mut files);
    tree(repo, &files, objects)
}

/// The number of a prompt that was purged.
const PURGED: usize = 9;

pub(super) const FIRST: Body = Body { revision: 1, commit: 1, attribution: 1, prompt: Some(1), pieces: 1 };

#[rstest::rstest]
#[case::completed(Body { revision: 2, pieces: 2, ..FIRST }, 0, false)]
#[case::another_commit(Body { revision: 2, commit: 2, ..FIRST }, 1, false)]
#[case::another_author(Body { revision: 9, attribution: 2, ..FIRST }, 1, false)]
#[case::a_piece_less(Body { revision: 2, pieces: 0, ..FIRST }, 1, false)]
#[case::another_prompt(Body { revision: 2, prompt: Some(2), ..FIRST }, 1, false)]
#[case::purged(Body { prompt: Some(2), ..FIRST }, 1, true)]
#[case::purged_before_it_was_completed(Body { revision: 2, prompt: Some(PURGED), ..FIRST }, 1, true)]
fn a_record_is_replaced_only_by_one_that_has_all_of_it(
    #[case] other: Body,
    #[case] beside: usize,
    #[case] is_rewritten: bool,
) {
    let (_directory, repo) = repository("sha1");
    let repo = repo.with_object_memory();
    let mut objects = NewObjects::new(&repo, Target::Memory);
    let (one, other) = (with_record(&repo, &FIRST, &mut objects), with_record(&repo, &other, &mut objects));
    let (joined, differences) = join_trees(&repo, Place::History, one, other, &mut objects).expect("both are ours");
    let files = files(&repo, joined);
    let is_other = |path: &&String| path.contains("/others/") && path.ends_with("/record.toml");
    assert_eq!(files.keys().filter(is_other).count(), beside, "{files:?}");
    assert_eq!((differences.apart.len(), differences.rewritten.len()), (beside, usize::from(is_rewritten)));
    let again = join_trees(&repo, Place::History, joined, one, &mut objects).expect("both are ours");
    assert_eq!(again, (joined, Differences::default()), "a known difference is reported once");
}

fn commit(repo: &Repo, tree_id: ObjectId, parents: Vec<ObjectId>, objects: &mut NewObjects<'_>) -> ObjectId {
    let seconds = 1_748_779_200 + i64::try_from(parents.len()).expect("few");
    let time = Moment { seconds, micros: 0, offset: 3_600 };
    let (author, committer) = (repo.identity(), repo.identity());
    let message = "1 record added or completed, 1 commit linked\n";
    Repo::write_commit(&NewCommit { tree_id, parents, author, committer, time, message }, objects).expect("written")
}

#[rstest::rstest]
fn two_clones_make_the_same_commit(#[values("sha1", "sha256")] hash: &str) {
    let mut made = Vec::new();
    for is_turned in [false, true] {
        let (directory, repo) = repository(hash);
        let mut objects = NewObjects::new(&repo, Target::Loose);
        let (one, other) =
            (with_record(&repo, &FIRST, &mut objects), with_record(&repo, &Body { commit: 2, ..FIRST }, &mut objects));
        let (one, other) =
            (commit(&repo, one, Vec::new(), &mut objects), commit(&repo, other, Vec::new(), &mut objects));
        let written = objects.write().expect("it can be written");
        let (first, second) = if is_turned { (other, one) } else { (one, other) };
        let mut objects = NewObjects::new(&repo, Target::Loose);
        let (id, _) = join_commits(&repo, Place::History, first, second, &mut objects).expect("both are ours");
        drop((written, objects.write().expect("it can be written")));
        repo.run_git(&["update-ref", refname::HISTORY, &id.to_string()], None).expect("git takes it");
        repo.run_git(&["fsck", "--strict"], None).expect("git finds nothing wrong");
        let mut objects = NewObjects::new(&repo, Target::Loose);
        for part in [one, other] {
            let (again, _) = join_commits(&repo, Place::History, part, id, &mut objects).expect("both are ours");
            assert_eq!(again, id, "it leads to both");
        }
        made.push((id, directory));
    }
    assert_eq!(made[0].0, made[1].0);
}

#[test]
fn what_a_later_commit_has_removed_comes_back() {
    let (_directory, repo) = repository("sha1");
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let tree_id = with_record(&repo, &FIRST, &mut objects);
    let one = commit(&repo, tree_id, Vec::new(), &mut objects);
    let emptied = tree(&repo, &BTreeMap::from([("commits/00/x".to_owned(), Vec::new())]), &mut objects);
    let empty = edit_tree(emptied, &[("commits/00/x".into(), None)], &mut objects).expect("written");
    let later = commit(&repo, empty, vec![one], &mut objects);
    drop(objects.write().expect("it can be written"));
    let mut objects = NewObjects::new(&repo, Target::Loose);
    let (id, _) = join_commits(&repo, Place::History, one, later, &mut objects).expect("both are ours");
    drop(objects.write().expect("it can be written"));
    assert_ne!(id, later);
    assert_eq!(repo.tree_of_commit(id).expect("a commit"), tree_id);
}

/// The same number in the transcript of one session: both pieces stay, and the ids in records lead to them.
#[test]
fn pieces_of_the_same_number_stand_beside_each_other() {
    let (_directory, repo) = repository("sha1");
    let repo = repo.with_object_memory();
    let mut objects = NewObjects::new(&repo, Target::Memory);
    let mut log = |texts: &[(&str, &str)]| {
        let files = texts.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        tree(&repo, &files, &mut objects)
    };
    let trees = [
        log(&[("s/000001", "one"), ("s/000002", "two")]),
        log(&[("s/000001", "other")]),
        log(&[("s/000001", "third"), ("t/000001", "t")]),
        log(&[("s/000001", "[purged]")]),
    ];
    let mut join = |one, other| join_trees(&repo, Place::Transcripts, one, other, &mut objects).expect("ours");
    let (joined, differences) = join(trees[0], trees[1]);
    assert_eq!((differences.apart.len(), differences.rewritten.len()), (1, 0));
    let (one, _) = join(joined, trees[2]);
    let other = join(trees[1], trees[2]).0;
    assert_eq!(one, join(other, trees[0]).0);
    let texts: Vec<_> = files(&repo, one).into_values().map(|id| repo.read_blob(id).expect("readable")).collect();
    for text in ["one", "two", "other", "third", "t"] {
        assert!(texts.iter().any(|found| found == text.as_bytes()), "{text}");
    }
    assert_eq!(texts.len(), 5);
    assert_eq!(join(trees[0], trees[3]).1.rewritten.len(), 1);
}

/// Two logs of 20,000 records, of which 1,000 differ on each side. Prints how long the join takes.
#[test]
#[ignore = "a measurement"]
fn large_logs_are_joined_quickly() {
    const COUNT: usize = 20_000;
    let (_directory, repo) = repository("sha1");
    let mut objects = NewObjects::new(&repo, Target::Pack);
    let id_of = |at: usize| {
        RecordId::of_commit(
            gix::objs::compute_hash(repo.object_hash(), ObjectKind::Blob, at.to_string().as_bytes()).expect("hashed"),
        )
    };
    let file = |at: usize, files: &mut BTreeMap<String, Vec<u8>>| {
        let id = id_of(at);
        FIRST.add_to(&repo, id, files);
        for index in ["commits", "parents", "changes"] {
            let key = gix::objs::compute_hash(repo.object_hash(), ObjectKind::Blob, format!("{index}{at}").as_bytes());
            let hex = key.expect("hashed").to_string();
            files.insert(format!("{index}/{}/{}", &hex[..2], &hex[2..]), format!("{id}\n").into_bytes());
        }
    };
    let mut sides = [BTreeMap::new(), BTreeMap::new()];
    for at in 0..COUNT - 1_000 {
        for side in &mut sides {
            file(at, side);
        }
    }
    for at in 0..1_000 {
        for (number, side) in sides.iter_mut().enumerate() {
            file(COUNT * (number + 1) + at, side);
        }
    }
    let trees: Vec<ObjectId> = sides.iter().map(|side| tree(&repo, side, &mut objects)).collect();
    let written = objects.write().expect("it can be written");
    for attempt in 0..3 {
        let mut objects = NewObjects::new(&repo, Target::Pack);
        let start = std::time::Instant::now();
        join_trees(&repo, Place::History, trees[0], trees[1], &mut objects).expect("both are ours");
        let joined = start.elapsed();
        let new = if attempt == 2 { Some(objects.write().expect("it can be written")) } else { None };
        #[expect(clippy::print_stderr, reason = "it is a measurement")]
        {
            eprintln!("joined in {joined:?}, with writing in {:?} ({})", start.elapsed(), new.is_some());
        }
    }
    drop(written);
}
