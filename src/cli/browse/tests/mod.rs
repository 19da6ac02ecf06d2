//! A browser that two sessions, a person and a commit have left something for.

mod keys;
mod screens;

use std::ffi::OsString;

use gix::ObjectId;

use super::{
    lines::{Changed, Line, Owner},
    loaded::{Loaded, Shown},
    press::Effect,
    rows::Row,
    state::State,
};
use crate::{
    model::{
        attribution::kind::Kind,
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        line_diff::Side,
        refname::Base,
    },
    ops::history::{Commit, Entry},
};

/// The time of the newest checkpoint; each other one is a minute older.
const NOW: i64 = 1_748_779_200;

fn id(number: u8) -> ObjectId {
    ObjectId::from_hex(format!("{number:02x}").repeat(20).as_bytes()).expect("40 digits")
}

/// Returns the checkpoint `number` of `session`, or of a person.
fn entry(number: u8, session: Option<(&str, u32)>, called: &str) -> Entry {
    let origin = Origin {
        contributor: if session.is_some() { Contributor::Agent } else { Contributor::Human },
        session: session.map(|(session, _)| session.to_owned()),
        agent: session.map(|_| "claude-code".to_owned()),
        turn: session.map(|(_, turn)| turn),
        ..Origin::default()
    };
    let checkpoint = Checkpoint {
        id: id(number),
        tree_id: id(number),
        parent_id: id(number + 1),
        after: None,
        side_id: None,
        base: Base::Unborn,
        worktree: "main".into(),
        origin,
        subject: called.to_owned(),
        body: String::new(),
        seconds: NOW - 60 * i64::from(number),
        micros: 0,
        offset: 0,
    };
    Entry {
        before: checkpoint.parent_id,
        checkpoint,
        number: Some(usize::from(number)),
        called: called.to_owned(),
        restored: None,
        commits: Vec::new(),
        paths: None,
        tags: Vec::new(),
        note: None,
        verified: false,
        start: false,
        archived: false,
        is_set_aside: false,
        undone: false,
        folded: 0,
    }
}

/// Returns a browser with all that a timeline may have.
fn state() -> State {
    let mut state = State::new(Vec::new(), None, "".into());
    let commit = Commit { id: id(0xcc), subject: "count further".to_owned() };
    let entries = [
        Entry { folded: 3, ..entry(1, Some(("0196b1f2-one", 2)), "simplify everything") },
        Entry { note: Some("look here\nand there".to_owned()), ..entry(2, None, "by hand") },
        Entry { tags: vec!["good".to_owned()], verified: true, ..entry(3, Some(("0196b1f2-two", 1)), "add tests") },
        Entry {
            archived: true,
            commits: vec![commit],
            ..entry(4, Some(("0196b1f2-one", 1)), "add \u{1b}[31msub\u{202e}traction")
        },
        Entry { archived: true, start: true, ..entry(5, None, "\u{6570}\u{5b57} start") },
    ];
    for entry in entries {
        let rows = state.authors.rows(entry);
        state.add(rows);
    }
    state.end();
    state
}

/// Lets the browser have read what is selected: two files.
fn load(state: &mut State) {
    let subject = state.subject().expect("a row is selected");
    let owner = |kind, turn: Option<u32>| {
        let session = turn.map(|_| "0196b1f2-one".to_owned());
        Some(Owner { kind, session, turn, agent: turn.map(|_| "claude-code".to_owned()) })
    };
    let line = |side, number, owner, text: &str| {
        Line::Changed(Box::new(Changed { side, number, owner, text: text.to_owned() }))
    };
    let lines = vec![
        Line::Header("@@ -1,3 +1,5 @@ fn main() {".to_owned()),
        line(Side::Common, Some(1), None, "fn main() {"),
        line(Side::Deleted, None, None, "    one();"),
        line(
            Side::Added,
            Some(2),
            owner(Kind::Agent, Some(2)),
            "    one_and_a_long_name_that_does_not_fit_on_a_narrow_screen();",
        ),
        line(Side::Added, Some(3), owner(Kind::Human, None), "    two();"),
        line(Side::Added, Some(4), owner(Kind::Mixed, Some(2)), "    three(\u{6570});"),
        line(Side::Added, Some(5), owner(Kind::Unknown, None), "}"),
    ];
    let file = |name: &str, letter, bar, lines| Shown {
        path: name.into(),
        old_path: None,
        name: name.to_owned(),
        letter,
        counted: Some((4, 1)),
        bar: Some(bar),
        lines,
        is_owned: true,
    };
    state.load(Loaded {
        subject,
        about: vec![
            "checkpoint 0101010".to_owned(),
            "by claude-code, turn 2".to_owned(),
            "simplify everything".to_owned(),
        ],
        files: vec![
            file("src/main.rs", 'M', [1, 1, 1, 1, 0], Some(lines)),
            file("a/directory/with/a/long/name/notes.txt", 'A', [0, 0, 4, 0, 0], None),
        ],
        troubles: Vec::new(),
    });
}

/// Returns the words of a command line in one text.
fn text(words: &[OsString]) -> String {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Returns the selected row's id.
fn selected(state: &State) -> Option<ObjectId> {
    state.row().and_then(Row::id)
}

fn ran(effect: Option<Effect>) -> String {
    match effect {
        Some(Effect::Run(words) | Effect::Outside(words)) => text(&words),
        Some(Effect::Plan(plan, words)) => format!("{} / {}", text(&plan), text(&words)),
        other => format!("{other:?}"),
    }
}
