//! Random texts and values: formats survive a round trip, and no parser panics.

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::CommitRef};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{
    checkpoint::{self, Checkpoint, Origin},
    contributor::Contributor,
    manifest::{Manifest, Nested, Part, Reason, Skipped, Tied, Unfiltered, Unmerged},
    path_text,
    refname::{self, Base, ShadowName},
    selector::Selector,
    session::is_valid_id,
    trailer,
};

/// Text that tries to look like more than one value.
fn hostile() -> impl Strategy<Value = String> {
    let words = [
        "Checkpoint-Session: forged",
        "Checkpoint-Base: unborn",
        "Checkpoint-Contributor: human",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\u{0}",
        "\u{b}",
        "\u{85}",
        "\u{2028}",
        " ",
        "\t",
        ":",
        "<",
        ">",
        "é",
        "-",
        "word",
        "tree 0123456789012345678901234567890123456789",
        "\u{1b}[31m",
        "%",
        "---",
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..12).prop_map(|words| words.concat())
    ]
}

fn path() -> impl Strategy<Value = BString> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20).prop_map(BString::from),
        hostile().prop_map(|text| BString::from(text.into_bytes())),
    ]
}

fn id() -> impl Strategy<Value = ObjectId> {
    prop::array::uniform20(any::<u8>()).prop_map(|bytes| ObjectId::try_from(bytes.as_slice()).expect("20 bytes"))
}

fn origin() -> impl Strategy<Value = Origin> {
    let contributors = prop::sample::select(vec![Contributor::Agent, Contributor::Human, Contributor::Unknown]);
    let text = || prop::option::of(hostile());
    (contributors, text(), text(), text(), any::<Option<u32>>(), text(), text(), text()).prop_map(
        |(contributor, session, agent, model, turn, agent_id, tool, note)| Origin {
            contributor,
            session,
            agent,
            model,
            turn,
            agent_id,
            tool,
            note,
            carried: None,
        },
    )
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let reasons = vec![
        Reason::TooLarge,
        Reason::TooManyFiles,
        Reason::LowDiskSpace,
        Reason::SpecialFile,
        Reason::Unreadable,
        Reason::Purged,
        Reason::InvalidName,
    ];
    let size = 0..=i64::MAX.unsigned_abs();
    let skipped =
        (path(), prop::sample::select(reasons), size).prop_map(|(path, reason, size)| Skipped { path, reason, size });
    let nested = (path(), prop::option::of(id()), any::<Option<bool>>(), any::<bool>())
        .prop_map(|(path, head, dirty, is_worktree)| Nested { path, head, dirty, is_worktree });
    let unmerged =
        (path(), 1..=3u8, any::<u32>(), id()).prop_map(|(path, stage, mode, id)| Unmerged { path, stage, mode, id });
    let tied = (path(), id()).prop_map(|(path, checkpoint)| Tied { path, checkpoint });
    let unfiltered = (path(), hostile(), hostile()).prop_map(|(path, filter, reason)| Unfiltered {
        path,
        filter: filter.into(),
        reason,
    });
    let few = 0..4;
    let lost = prop::sample::subsequence(vec![Part::Tree, Part::Staged, Part::Raw, Part::Manifest], 0..=4);
    (
        lost,
        prop::collection::vec(skipped, few.clone()),
        prop::collection::vec(nested, few.clone()),
        prop::collection::vec(tied, few.clone()),
        prop::collection::vec(path(), few.clone()),
        prop::collection::vec(unmerged, few.clone()),
        prop::collection::vec(path(), few.clone()),
        prop::collection::vec(unfiltered, few.clone()),
        prop::collection::vec(hostile(), few),
    )
        .prop_map(
            |(lost, skipped, nested, submodules, empty_directories, unmerged, intent_to_add, unfiltered, filters)| {
                let mut manifest = Manifest {
                    lost,
                    skipped,
                    nested,
                    submodules,
                    empty_directories,
                    unmerged,
                    intent_to_add,
                    unfiltered,
                    filters,
                };
                manifest.filters.sort();
                manifest.unfiltered.sort();
                manifest.skipped.sort();
                manifest.nested.sort();
                manifest.submodules.sort();
                manifest.empty_directories.sort();
                manifest.unmerged.sort();
                manifest.intent_to_add.sort();
                manifest
            },
        )
}

/// Text that gets past the first line of a manifest.
fn manifest_like() -> impl Strategy<Value = String> {
    (manifest(), any::<prop::sample::Index>(), hostile()).prop_map(|(manifest, at, text)| {
        let whole = manifest.to_toml();
        let at = at.index(whole.len());
        let at = (0..=at).rev().find(|at| whole.is_char_boundary(*at)).expect("0 is one");
        format!("{}{text}{}", &whole[..at], &whole[at..])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_value_of_a_message_can_forge_another(
        subject in hostile(),
        body in hostile(),
        origin in origin(),
        base in prop_oneof![Just(Base::Unborn), id().prop_map(Base::Commit)],
        worktree in path(),
        micros in 0_u32..1_000_000,
    ) {
        let message = checkpoint::message(&subject, &body, &origin, base, worktree.as_bstr(), None, micros);
        prop_assert!(!message.contains('\0'));
        let parent = "0123456789012345678901234567890123456789";
        let who = "A <a@b> 1 +0000";
        let commit = format!("tree {parent}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{message}");
        let (id, commit) = (ObjectId::null(gix::hash::Kind::Sha1), commit.as_bytes());
        let read = Checkpoint::parse(id, commit).expect("well formed").expect("a checkpoint");
        let whole = CommitRef::from_bytes(commit, id.kind()).expect("well formed");
        prop_assert_eq!(Checkpoint::from_commit(id, &whole), Some(read.clone()));
        let plain = |text: &Option<String>| text.as_deref().map(trailer::one_line);
        let session = plain(&origin.session);
        let is_valid = session.as_deref().is_none_or(is_valid_id);
        prop_assert_eq!(read.origin, Origin {
            contributor: if is_valid { origin.contributor } else { Contributor::Unknown },
            session: session.filter(|_| is_valid),
            agent: plain(&origin.agent),
            model: plain(&origin.model),
            turn: origin.turn,
            agent_id: plain(&origin.agent_id),
            tool: plain(&origin.tool),
            note: plain(&origin.note),
            carried: None,
        });
        prop_assert_eq!((read.base, read.worktree, read.micros), (base, worktree, micros));
        prop_assert_eq!(read.subject, trailer::one_line(&subject));
        let body = body.replace('\0', "");
        prop_assert_eq!(read.body.trim(), body.trim());
    }

    #[test]
    fn no_message_makes_the_parser_panic(message in hostile()) {
        let (subject, body, trailers) = trailer::parse(&message);
        prop_assert!(subject.len() + body.len() <= message.len());
        prop_assert!(trailers.iter().all(|(key, value)| message.contains(key) && message.contains(value)));
    }

    #[test]
    fn a_manifest_comes_back(manifest in manifest()) {
        prop_assert_eq!(Manifest::from_toml(&manifest.to_toml()), Ok(manifest));
    }

    #[test]
    fn no_text_makes_the_manifest_panic(text in prop_oneof![hostile(), manifest_like()]) {
        if let Ok(manifest) = Manifest::from_toml(&text) {
            prop_assert!(Manifest::from_toml(&manifest.to_toml()).is_ok());
        }
    }

    #[test]
    fn every_text_names_a_checkpoint_in_one_way_or_in_none(text in prop_oneof![hostile(), "@\\{[0-9]{0,30}\\}?", "[0-9a-fA-F]{0,70}", "[a-z@]{0,4}@[0-9]{0,12}\\^?"]) {
        match Selector::parse(&text) {
            Some(Selector::Latest(n)) => prop_assert!(text == "@" || text.contains(&n.to_string())),
            Some(Selector::Prefix(hex)) => prop_assert_eq!(hex, text.to_ascii_lowercase()),
            Some(Selector::Tag(tag)) => prop_assert_eq!(tag, text),
            Some(Selector::Turn(name)) => prop_assert!(text.starts_with(&name.session)),
            Some(Selector::Base | Selector::Verified) | None => {}
        }
    }

    #[test]
    fn every_name_is_one_valid_component_and_comes_back(name in path(), base in id()) {
        let component = refname::encode_component(name.as_bstr());
        prop_assert!(!component.contains('/'));
        prop_assert_eq!(refname::decode_component(&component), Some(name.clone()));
        let shadow = ShadowName { base: Base::Commit(base), worktree: name, session: None };
        let full = shadow.to_ref();
        prop_assert!(gix::validate::reference::name(full.as_str().into()).is_ok(), "{}", full);
        prop_assert_eq!(ShadowName::from_ref(&full), Some(shadow));
    }

    #[test]
    fn no_ref_makes_the_parsers_panic(text in hostile()) {
        for name in [text.clone(), format!("{}{text}", refname::SHADOWS), format!("{}unborn/{text}", refname::SHADOWS)] {
            if let Some(shadow) = ShadowName::from_ref(&name) {
                prop_assert_eq!(shadow.to_ref(), name);
            }
        }
        let _ = refname::archived_at(&format!("{}{text}", refname::ARCHIVE));
        if let Some(name) = refname::decode_component(&text) {
            prop_assert_eq!(refname::encode_component(name.as_bstr()), text);
        }
    }

    #[test]
    fn paths_come_back_from_their_text_and_do_no_harm_on_a_terminal(path in path()) {
        let text = path_text::escape(path.as_bstr());
        prop_assert_eq!(path_text::unescape(&text, path_text::raw(path.as_bstr()).as_deref()), Some(path.clone()));
        prop_assert!(!path_text::printable(path.as_bstr()).chars().any(char::is_control));
    }
}
