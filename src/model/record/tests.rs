//! Formats survive a round trip, and no text makes the parsers panic.

use bstr::BString;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

fn an_id() -> impl Strategy<Value = ObjectId> {
    prop::array::uniform20(any::<u8>()).prop_map(|bytes| ObjectId::try_from(bytes.as_slice()).expect("20 bytes"))
}

fn a_path() -> impl Strategy<Value = BString> {
    prop::collection::vec(any::<u8>(), 1..12).prop_map(BString::from)
}

fn a_chunk() -> impl Strategy<Value = Chunk> {
    let month = (2_000..3_000_u32, 1..=12_u32);
    (month, any::<String>(), 0..999_999_u32, an_id()).prop_map(|((year, month), session, number, id)| Chunk {
        reference: refname::transcripts_ref(&format!("{year}{month:02}")),
        path: format!("{}/{number:06}", refname::encode_component(session.as_str().into())),
        id,
    })
}

fn a_part() -> impl Strategy<Value = SessionPart> {
    let turns = prop::collection::btree_set(any::<u32>(), 0..4);
    let chunks = prop::collection::vec(a_chunk(), 0..3);
    (
        any::<String>(),
        any::<Option<String>>(),
        any::<Option<String>>(),
        turns,
        any::<u32>(),
        any::<bool>(),
        chunks,
        usage(),
    )
        .prop_map(|(id, agent, model, turns, checkpoints, is_partial, chunks, usage)| SessionPart {
            id,
            agent,
            model,
            turns: turns.into_iter().collect(),
            checkpoints,
            is_partial,
            usage,
            chunks,
        })
}

fn usage() -> impl Strategy<Value = Vec<Used>> {
    let model = prop::option::of("[a-z][a-z0-9.-]{0,9}");
    let used = (0_u32..9, model, prop::array::uniform5(0_u64..1_000_000_000_000))
        .prop_map(|(turn, model, numbers)| Used { turn, model, tokens: Tokens::of(numbers) });
    prop::collection::vec(used, 0..3).prop_map(|all| {
        let mut sorted = Vec::new();
        all.iter().filter(|used| !used.tokens.is_empty()).for_each(|used| usage::add(&mut sorted, used));
        sorted
    })
}

fn counts() -> impl Strategy<Value = Counts> {
    prop::array::uniform6(any::<u32>()).prop_map(|[agent, human, mixed, unknown, agent_removed, human_removed]| {
        Counts { agent, human, mixed, unknown, agent_removed, human_removed }
    })
}

fn a_file(sessions: usize) -> impl Strategy<Value = RecordFile> {
    let indices = match sessions {
        0 => Just(Vec::new()).boxed(),
        count => prop::collection::btree_set(0..count, 0..3).prop_map(|set| set.into_iter().collect()).boxed(),
    };
    (a_path(), prop::option::of(an_id()), prop::option::of(an_id()), indices)
        .prop_map(|(path, before, after, sessions)| RecordFile { path, before, after, sessions })
}

fn a_record() -> impl Strategy<Value = Record> {
    let base = prop_oneof![Just(Base::Unborn), an_id().prop_map(Base::Commit)];
    let ids = (an_id(), prop::option::of(an_id()), an_id(), prop::option::of("[0-9a-f]{40}"));
    let rest = (any::<u64>(), any::<u32>(), any::<i64>(), base, a_path(), any::<String>(), counts());
    let parts = prop::collection::vec(a_part(), 0..3).prop_flat_map(|sessions| {
        let files = prop::collection::vec(a_file(sessions.len()), 0..4);
        (Just(sessions), files)
    });
    (ids, rest, parts).prop_map(|((commit, parent, tree, patch_id), rest, (sessions, mut files))| {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        let (number, revision, seconds, base, worktree, tool, counts) = rest;
        let is_whole = revision % 2 == 0;
        let id = RecordId::parse(&format!("{number:016x}")).expect("16 digits");
        Record {
            id,
            revision,
            commit,
            parent,
            tree,
            patch_id,
            seconds,
            base,
            worktree,
            tool,
            sessions,
            files,
            counts,
            is_whole,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn records_come_back(record in a_record()) {
        let text = record.to_toml();
        let mut read = Record::from_toml(text.as_bytes()).expect("it is sound");
        prop_assert_eq!(read.to_toml(), text);
        for (part, kept) in read.sessions.iter_mut().zip(&record.sessions) {
            part.chunks = Chunk::list_from_toml(kept.to_toml().as_bytes()).expect("they are sound");
        }
        prop_assert_eq!(read, record);
    }

    #[test]
    fn prompts_and_links_come_back(only in prop::collection::vec(a_path(), 0..3), prompts in prop::collection::vec((any::<u32>(), any::<i64>(), any::<String>()), 0..4), id in an_id(), from in prop::option::of(an_id())) {
        let prompts: Vec<Prompt> = prompts.into_iter().map(|(turn, seconds, text)| Prompt { turn, seconds, text }).collect();
        prop_assert_eq!(Prompt::list_from_toml(Prompt::list_to_toml(&prompts).as_bytes()), Ok(prompts));
        let link = Link { record: RecordId::random(), commit: id, from, how: How::Squash, only };
        prop_assert_eq!(Link::from_toml(link.record, id, link.to_toml().as_bytes()), Ok(link));
    }

    #[test]
    fn nothing_makes_the_parsers_panic(record in a_record(), at in any::<prop::sample::Index>(), byte in any::<u8>(), noise in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut text = record.to_toml().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        for text in [text, noise] {
            if let Ok(record) = Record::from_toml(&text) {
                prop_assert!(record.files.iter().flat_map(|file| &file.sessions).all(|index| *index < record.sessions.len()));
            }
            let _ = (Chunk::list_from_toml(&text), Prompt::list_from_toml(&text), Link::from_toml(record.id, record.commit, &text));
        }
    }
}

#[rstest::rstest]
#[case::sound("version = 1", "MONTH", "s/000001", "0123456789012345678901234567890123456789", true)]
#[case::newer("version = 2", "MONTH", "s/000001", "0123456789012345678901234567890123456789", false)]
#[case::others_ref("version = 1", "refs/heads/main", "s/000001", "0123456789012345678901234567890123456789", false)]
#[case::others_path("version = 1", "MONTH", "../x/000001", "0123456789012345678901234567890123456789", false)]
#[case::no_id("version = 1", "MONTH", "s/000001", "0123", false)]
fn only_sound_chunks_are_read(
    #[case] version: &str,
    #[case] reference: &str,
    #[case] path: &str,
    #[case] id: &str,
    #[case] is_sound: bool,
) {
    let reference = reference.replace("MONTH", &refname::transcripts_ref("202511"));
    let text = format!("{version}\nid = \"s\"\n[[chunk]]\nref = \"{reference}\"\npath = \"{path}\"\nid = \"{id}\"\n");
    assert_eq!(Chunk::list_from_toml(text.as_bytes()).is_ok(), is_sound);
}

/// Returns a record as it was written before usage was kept, up to the table of its session.
fn earlier_text() -> String {
    let id = "0123456789012345678901234567890123456789";
    format!(
        "version = 1\nid = \"0123456789abcdef\"\nrevision = 2\ncommit = \"{id}\"\ntree = \"{id}\"\nseconds = 5\n\
         base = \"{id}\"\nworktree = \"main\"\ntool = \"0.1.0\"\n\n[counts]\nagent = 1\nhuman = 0\nmixed = 0\nunknown = 0\n\
         agent-removed = 1\nhuman-removed = 0\n\n[[session]]\nid = \"s\"\nagent = \"a\"\nmodel = \"m\"\nturns = [1, 2]\n\
         checkpoints = 3\npartial = true\n"
    )
}

#[test]
fn a_record_without_usage_stays_as_it_is() {
    let text = earlier_text() + "\n[[file]]\npath = \"f\"\nsessions = [0]\n";
    let record = Record::from_toml(text.as_bytes()).expect("it is sound");
    assert_eq!((record.to_toml(), record.sessions[0].usage.as_slice()), (text, &[][..]));
}

#[test]
fn usage_of_others_is_within_bounds() {
    let with = |usage: &str| Record::from_toml(format!("{}\n[[session.usage]]\n{usage}", earlier_text()).as_bytes());
    let used = |usage: &str| with(usage).expect("it is sound").sessions.remove(0).usage;
    assert_eq!(used("turn = 1\nmodel = \"\\u001b[31m\"\noutput = 5")[0].model, None);
    assert_eq!(used("turn = 1\n"), []);
    let most = used("turn = 1\noutput = 9223372036854775807")[0].tokens.output;
    assert!(most < u64::MAX / 1000 && with("turn = -1").is_err() && with("turn = 1\noutput = -1").is_err());
}
