//! Records in the log: found again, appended once, shared by many processes.

use git_checkpoint::{
    Base, Context,
    settings::Store,
    testing::{
        model::record::{Counts, How, Link, Prompt, Record, RecordFile, RecordId, SessionPart},
        ops::records::{self, Additions, NewRecord, NewSession},
        repo,
    },
};
use gix::ObjectId;

use crate::support::{START, World};

/// Returns a record of `commit` for one session.
pub(super) fn record_of(world: &World, commit: &str, id: &str) -> NewRecord {
    let commit_id = world.id(&["rev-parse", commit]);
    let parents = world.git(&["rev-list", "--parents", "-1", commit]);
    let parent = parents.split_whitespace().nth(1).map(|hex| ObjectId::from_hex(hex.as_bytes()).expect("an id"));
    let mut files = Vec::new();
    let changes = world.git(&["diff-tree", "-r", "--root", "--no-commit-id", "--no-renames", commit]);
    for line in changes.lines() {
        let (meta, path) = line.split_once('\t').expect("a path");
        let words: Vec<&str> = meta.split(' ').collect();
        let id = |hex: &str| ObjectId::from_hex(hex.as_bytes()).ok().filter(|id| !id.is_null());
        files.push(RecordFile { path: path.into(), before: id(words[2]), after: id(words[3]), sessions: vec![0] });
    }
    let patch = world.patch_id(commit);
    let record = Record {
        id: RecordId::parse(id).expect("16 digits"),
        revision: 1,
        commit: commit_id,
        parent,
        tree: world.id(&["rev-parse", &format!("{commit}^{{tree}}")]),
        patch_id: patch,
        seconds: START,
        base: parent.map_or(Base::Unborn, Base::Commit),
        worktree: "main".into(),
        tool: "0.1.0".into(),
        sessions: vec![SessionPart {
            id: "s1".into(),
            agent: Some("claude-code".into()),
            model: Some("some-model".into()),
            turns: vec![1],
            checkpoints: 2,
            is_partial: false,
            usage: Vec::new(),
            chunks: Vec::new(),
        }],
        files,
        counts: Counts { agent: 3, human: 1, ..Counts::default() },
        is_whole: false,
    };
    let prompts = vec![Prompt { turn: 1, seconds: START, text: "please add numbers".into() }];
    let transcript = Some(format!("{{\"role\":\"user\",\"commit\":\"{commit_id}\"}}\n").into_bytes());
    NewRecord { record, attribution: b"attribution\n".to_vec(), sessions: vec![NewSession { prompts, transcript }] }
}

impl World {
    /// Returns the stable patch id of `commit`, as git computes it.
    pub(super) fn patch_id(&self, commit: &str) -> Option<String> {
        let script = format!("git diff-tree --root -p {commit} | git patch-id --stable");
        let output = self.command("sh").args(["-c", &script]).output().expect("sh runs");
        String::from_utf8_lossy(&output.stdout).split_whitespace().next().map(Into::into)
    }

    /// Appends `records` to the log.
    pub(super) fn append(&self, records: Vec<NewRecord>, links: Vec<Link>) {
        let context = self.context();
        records::append(&context, Additions { records, links }).expect("it can be written");
    }

    pub(super) fn context(&self) -> Context {
        Context::open(&self.repo()).expect("a repository")
    }
}

pub(super) fn an_id(text: &str) -> RecordId {
    RecordId::parse(text).expect("16 digits")
}

pub(super) const ONE: &str = "0123456789abcdef";
pub(super) const TWO: &str = "01fedcba98765432";

fn world() -> World {
    let world = World::with_commit();
    world.write("a", "1\n2\n3\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "work\n\nCheckpoint: 0123456789abcdef"]);
    world
}

#[test]
fn appended_records_are_found_by_id_commit_and_parent() {
    let world = world();
    let new = record_of(&world, "HEAD", ONE);
    world.append(vec![new.clone()], Vec::new());
    let context = world.context();
    let repo = repo(&context);
    let found = records::find(repo, &an_id(ONE)).expect("it can be read").expect("it is there");
    let chunk = found.sessions[0].chunks[0].clone();
    assert_eq!((chunk.reference.len(), chunk.path.as_str()), ("refs/checkpoints/transcripts/".len() + 6, "s1/000001"));
    let text = records::transcript(repo, &chunk).expect("it can be read").expect("it is there");
    assert_eq!(Some(text), new.sessions[0].transcript);
    let mut expected = new.record.clone();
    expected.sessions[0].chunks = vec![chunk];
    assert_eq!(found, expected);
    assert_eq!(records::attribution(repo, &an_id(ONE)).expect("it can be read"), Some(new.attribution));
    assert_eq!(records::prompts(repo, &an_id(ONE), 0).expect("they can be read"), new.sessions[0].prompts);
    assert_eq!(records::of_commit(repo, found.commit).expect("the index is sound"), [an_id(ONE)]);
    assert_eq!(records::of_parent(repo, found.parent.expect("a parent")).expect("the index is sound"), [an_id(ONE)]);
    assert_eq!(records::links(repo, &an_id(ONE)).expect("they are sound")[0].how, How::Commit);
    assert_eq!(records::all(repo).expect("it can be read"), [an_id(ONE)]);
    assert_eq!(records::find(repo, &an_id(TWO)).expect("it can be read"), None);
    world.assert_sound("with a record");
}

#[test]
fn the_log_leads_to_no_code() {
    let world = world();
    world.append(vec![record_of(&world, "HEAD", ONE)], Vec::new());
    world.write("b", "more\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "more"]);
    world.append(vec![record_of(&world, "HEAD", TWO)], Vec::new());
    let objects = |refs: &[&str]| -> Vec<String> {
        let output = world.git(&[&["rev-list", "--objects", "--no-object-names"], refs].concat());
        output.lines().map(Into::into).collect()
    };
    let code = objects(&["main"]);
    let ours = objects(&["--glob=refs/checkpoints/*"]);
    assert!(ours.len() > 20 && ours.iter().all(|id| !code.contains(id)));
}

#[test]
fn the_same_again_changes_nothing() {
    let world = world();
    let new = record_of(&world, "HEAD", ONE);
    let link = Link {
        record: an_id(ONE),
        commit: new.record.parent.expect("one"),
        from: None,
        how: How::Copy,
        only: Vec::new(),
    };
    world.append(vec![new.clone()], vec![link.clone()]);
    let refs = world.git(&["for-each-ref"]);
    world.append(vec![new.clone()], vec![link.clone(), link]);
    assert_eq!(world.git(&["for-each-ref"]), refs);
    // A crash after the transcripts were moved and before the log was.
    world.git(&["update-ref", "-d", "refs/checkpoints/history"]);
    world.append(vec![new.clone()], Vec::new());
    let context = world.context();
    let found = records::find(repo(&context), &an_id(ONE)).expect("it can be read").expect("it is there");
    assert_eq!(found.sessions[0].chunks[0].path, "s1/000001");
    let list = world.git(&["ls-tree", "-r", "--name-only", &found.sessions[0].chunks[0].reference]);
    assert_eq!(list, "s1/000001\n");
}

#[test]
fn a_higher_revision_completes_a_record() {
    let world = world();
    let mut new = record_of(&world, "HEAD", ONE);
    new.record.sessions[0].is_partial = true;
    world.append(vec![new.clone()], Vec::new());
    let context = world.context();
    let mut record = records::find(repo(&context), &an_id(ONE)).expect("it can be read").expect("it is there");
    record.revision = 2;
    record.sessions[0].is_partial = false;
    let session = NewSession { prompts: Vec::new(), transcript: Some(b"the rest\n".to_vec()) };
    world.append(vec![NewRecord { record, attribution: Vec::new(), sessions: vec![session] }], Vec::new());
    world.append(vec![new.clone()], Vec::new());
    let context = world.context();
    let repo = repo(&context);
    let found = records::find(repo, &an_id(ONE)).expect("it can be read").expect("it is there");
    assert_eq!((found.revision, found.sessions[0].is_partial, found.sessions[0].chunks.len()), (2, false, 2));
    assert_eq!(records::prompts(repo, &an_id(ONE), 0).expect("they stay").len(), 1);
    assert_eq!(records::attribution(repo, &an_id(ONE)).expect("it stays"), Some(b"attribution\n".to_vec()));
}

#[test]
fn many_processes_append_at_once() {
    let world = world();
    let new = record_of(&world, "HEAD", ONE);
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let (world, new) = (&world, &new);
            scope.spawn(move || {
                for number in 0..6_u64 {
                    let mut new = new.clone();
                    new.record.id = an_id(&format!("{writer:02x}{number:014x}"));
                    new.sessions[0].transcript = Some(format!("{writer} {number}\n").into_bytes());
                    world.append(vec![new], Vec::new());
                }
            });
        }
    });
    let context = world.context();
    let all = records::all(repo(&context)).expect("it can be read");
    assert_eq!(all.len(), 24);
    let mut texts = std::collections::BTreeSet::new();
    for id in &all {
        let record = records::find(repo(&context), id).expect("it is sound").expect("it is there");
        let chunk = &record.sessions[0].chunks[0];
        texts.insert(records::transcript(repo(&context), chunk).expect("it is sound").expect("it is there"));
        assert_eq!(world.id(&["rev-parse", &format!("{}:{}", chunk.reference, chunk.path)]), chunk.id);
    }
    assert_eq!(texts.len(), 24);
    assert_eq!(records::of_commit(repo(&context), new.record.commit).expect("the index is sound").len(), 24);
    world.assert_sound("after many writers");
}

#[rstest::rstest]
#[case::full(Store::Full, 1, 1)]
#[case::prompts(Store::Prompts, 1, 0)]
#[case::none(Store::None, 0, 0)]
fn settings_decide_what_is_kept(#[case] store: Store, #[case] prompts: usize, #[case] chunks: usize) {
    let world = world();
    let mut context = world.context();
    context.settings.transcript.store = store;
    let mut new = record_of(&world, "HEAD", ONE);
    let secret = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    new.sessions[0].prompts[0].text = format!("use {secret} please");
    new.sessions[0].transcript = Some(format!("{{\"text\":\"token {secret}\"}}\n").into_bytes());
    records::append(&context, Additions { records: vec![new], links: Vec::new() }).expect("it can be written");
    assert_eq!(records::prompts(repo(&context), &an_id(ONE), 0).expect("sound").len(), prompts);
    let found = records::find(repo(&context), &an_id(ONE)).expect("sound").expect("there");
    assert_eq!(found.sessions[0].chunks.len(), chunks);
    for content in world.held() {
        assert!(!String::from_utf8_lossy(&content).contains(&secret), "no object holds the secret");
    }
}

#[test]
#[ignore = "takes a minute; run by hand"]
fn appending_costs_the_same_with_many_records() {
    let world = world();
    let new = record_of(&world, "HEAD", ONE);
    let numbered = |number: u64| {
        let mut new = new.clone();
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        new.record.id = an_id(&format!("{mixed:016x}"));
        let bytes: Vec<u8> = [mixed, !mixed, number].iter().flat_map(|it| it.to_be_bytes()).collect();
        new.record.commit = ObjectId::try_from(&bytes[..20]).expect("20 bytes");
        new.record.parent = Some(new.record.commit);
        new.record.sessions[0].id = format!("session-{}", number / 20);
        new.sessions[0].transcript = Some(format!("{number}\n").into_bytes());
        new
    };
    let time = |first: u64| {
        let mut times = Vec::new();
        for number in first..first + 21 {
            let (context, records) = (world.context(), vec![numbered(number)]);
            let start = std::time::Instant::now();
            records::append(&context, Additions { records, links: Vec::new() }).expect("it can be written");
            times.push(start.elapsed());
        }
        times.sort();
        times[10]
    };
    let empty = time(0);
    let count = 8_000;
    world.append((100..100 + count).map(numbered).collect(), Vec::new());
    let full = time(30_000);
    assert!(full < empty * 3, "{empty:?} with none, {full:?} with {count}");
}
