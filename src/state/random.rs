//! Text from nowhere in our own files.

use bstr::BString;
use gix::ObjectId;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{
    events,
    journal::{Journal, Progress, path},
    lock::Lock,
};
use crate::model::{
    change::{Leaf, Mode},
    slot::{Slot, SlotChange},
    step::{Content, Step},
    step_below::{ActionBelow, StepBelow},
};

fn id() -> impl Strategy<Value = ObjectId> {
    prop::array::uniform20(any::<u8>()).prop_map(|bytes| ObjectId::try_from(bytes.as_slice()).expect("20 bytes"))
}

fn name() -> impl Strategy<Value = BString> {
    prop::collection::vec(any::<u8>(), 0..12).prop_map(BString::from)
}

fn content() -> impl Strategy<Value = Option<Content>> {
    let mode = prop::sample::select(vec![Mode::File, Mode::Executable, Mode::Link, Mode::Gitlink]);
    let content = (id(), mode, prop::option::of(id()));
    prop::option::of(content.prop_map(|(id, mode, raw)| Content { leaf: Leaf { id, mode }, raw }))
}

fn journal() -> impl Strategy<Value = Journal> {
    let progress = prop::sample::select(vec![Progress::Applying, Progress::Done]);
    let step = (name(), content(), content()).prop_map(|(path, before, after)| Step { path, before, after });
    let names = || prop::collection::vec(name(), 0..3);
    let steps = prop::collection::vec(step, 0..4);
    let index = prop::collection::vec((name(), slot(), slot()), 0..3);
    let index = index.prop_map(|slots| {
        slots.into_iter().map(|(path, before, after)| SlotChange { path, before, after }).collect::<Vec<_>>()
    });
    let action = prop_oneof![
        (id(), prop::bool::ANY).prop_map(|(checkpoint, staged)| ActionBelow::Restore { checkpoint, staged }),
        ("[0-9a-f]{16}", prop::bool::ANY).prop_map(|(nonce, has_begun)| ActionBelow::TakeBack { nonce, has_begun }),
    ];
    let session = prop::option::of("[0-9a-f]{4}");
    let below = (name(), "[0-9a-f]{16}", action, prop::bool::ANY, session, prop::bool::ANY);
    let below = below.prop_map(|(path, nonce, action, all, session, only_submodules)| StepBelow {
        path,
        nonce,
        action,
        all,
        session,
        only_submodules,
    });
    let below = prop::collection::vec(below, 0..3);
    let permissions = prop::collection::vec((name(), 0..=0o777_u32), 0..3);
    let directories = (names(), names());
    (progress, id(), id(), "[0-9a-f]{16}", steps, directories, index, below, permissions).prop_map(
        |(progress, target, pre_restore, nonce, steps, (directories, removed), index, below, permissions)| Journal {
            progress,
            target,
            pre_restore,
            nonce,
            steps,
            directories,
            removed,
            index,
            below,
            permissions,
        },
    )
}

fn slot() -> impl Strategy<Value = Slot> {
    let staged = content().prop_map(|content| content.map_or(Slot::Absent, |content| Slot::Staged(content.leaf)));
    prop_oneof![staged, prop::strategy::Just(Slot::IntentToAdd)]
}

fn json_like() -> impl Strategy<Value = String> {
    let words = vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\\u0000",
        "null",
        "true",
        "1",
        "-1e999",
        "\"version\":1",
        "\"steps\":[",
        "\"event\":\"error\"",
        "\"message\":\"x\"",
        "\"worktree\":\"main\"",
        "\n",
        "é",
        "\u{0}",
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.concat())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_journal_comes_back(journal in journal()) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        journal.write(dir.path()).expect("written");
        prop_assert_eq!(Journal::read(dir.path()).expect("sound"), Some(journal));
    }

    #[test]
    fn no_text_makes_our_files_panic(
        text in json_like(),
        journal in journal(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        journal.write(dir.path()).expect("written");
        let mut bytes = std::fs::read(path(dir.path())).expect("written");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for bytes in [bytes, text.clone().into_bytes(), [b"{".repeat(5000), text.clone().into_bytes()].concat()] {
            std::fs::write(path(dir.path()), &bytes).expect("written");
            let _ = Journal::read(dir.path()).is_ok();
            std::fs::write(events::path(dir.path()), &bytes).expect("written");
            let _ = events::last_error(dir.path(), "main");
            let file = super::directory(dir.path()).join("lock");
            std::fs::write(&file, &bytes).expect("written");
            drop(Lock::try_acquire(&file).expect("no text keeps it").expect("no process holds it"));
        }
    }
}
