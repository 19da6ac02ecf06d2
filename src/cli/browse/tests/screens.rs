//! Pictures of screens, in `tests/browse/`. `UPDATE_SCENARIOS=1` makes them as they are now.

use std::{fs, path::Path};

use gix::ObjectId;
use ratatui::{Terminal, backend::TestBackend, buffer::Buffer, style::Color};

use super::{
    super::{
        super::environment,
        input::Key,
        state::{Hits, Pane, State},
        view::{self, Look},
    },
    NOW, load, state,
};

const HEIGHT: u16 = 16;

fn drawn(state: &mut State, columns: u16, is_coloured: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, HEIGHT)).expect("it is in memory");
    let short = |id: &ObjectId| id.to_hex_with_len(7).to_string();
    let look = Look { now: NOW, short: &short, is_coloured };
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let area = frame.area();
        view::fit(state, area);
        view::draw(state, &look, area, frame.buffer_mut());
    };
    terminal.draw(draw).expect("it is in memory");
    terminal.backend().buffer().clone()
}

/// Returns the text of a screen, without what a wide character covers.
fn text(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut text = String::new();
    for y in 0..area.height {
        let mut line = String::new();
        let mut covered = 0;
        for x in 0..area.width {
            let symbol = buffer[(x, y)].symbol();
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = super::super::super::layout::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Compares a screen of `state` with the picture `name` of it.
fn compare(name: &str, state: &mut State, columns: u16) {
    let shown = text(&drawn(state, columns, false));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/browse/{name}.txt"));
    if environment::variable("UPDATE_SCENARIOS").is_some() {
        fs::write(&path, &shown).expect("the pictures can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|_| panic!("'{}' is missing", path.display()));
    assert!(shown == expected, "{name} is not as in its picture, but:\n{shown}");
    for line in shown.lines() {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[rstest::rstest]
#[case(60)]
#[case(100)]
#[case(200)]
fn the_timeline(#[case] columns: u16) {
    let mut state = state();
    state.press(Key::Char('j'));
    load(&mut state);
    compare(&format!("timeline-{columns}"), &mut state, columns);
}

#[rstest::rstest]
#[case(60)]
#[case(100)]
#[case(200)]
fn the_changes(#[case] columns: u16) {
    let mut state = state();
    state.press(Key::Char('j'));
    load(&mut state);
    (state.pane, state.line_at) = (Pane::Diff, 3);
    compare(&format!("changes-{columns}"), &mut state, columns);
}

#[test]
fn the_files_of_a_narrow_screen() {
    let mut state = state();
    state.press(Key::Char('j'));
    load(&mut state);
    state.pane = Pane::Files;
    compare("files-60", &mut state, 60);
}

#[rstest::rstest]
#[case(60)]
#[case(200)]
fn a_plan(#[case] columns: u16) {
    let mut state = state();
    state.press(Key::Char('j'));
    load(&mut state);
    let words = vec!["restore".into(), super::id(1).to_string().into(), "--".into(), "it's.txt".into()];
    let plan = "would write src/main.rs\nwould delete notes.txt\nkept     a/long/path/of/another/session.rs (changed by session two)\n";
    state.ran(words.clone(), Some(words), plan, false);
    compare(&format!("plan-{columns}"), &mut state, columns);
}

#[test]
fn the_keys() {
    let mut state = state();
    state.press(Key::Char('?'));
    compare("keys-60", &mut state, 60);
}

#[test]
fn a_search_and_a_filter() {
    let mut state = state();
    state.press(Key::Char('j'));
    load(&mut state);
    state.filter = "--agent claude-code".to_owned();
    let mut hits = Hits { text: "add\u{7}".to_owned(), ..Hits::default() };
    hits.ids.insert(super::id(3));
    state.find(hits);
    compare("search-100", &mut state, 100);
    "fsrc".chars().for_each(|key| drop(state.press(Key::Char(key))));
    compare("filter-100", &mut state, 100);
}

#[test]
fn a_message_takes_the_place_of_the_place() {
    let mut state = state();
    state.press(Key::Char('r'));
    compare("message-60", &mut state, 60);
}

#[test]
fn a_screen_may_be_tiny() {
    for (columns, rows) in [(0, 0), (1, 1), (19, 4), (20, 5), (21, 6), (80, 5), (140, 5)] {
        for pane in [Pane::Timeline, Pane::Files, Pane::Diff] {
            for has_read in [false, true] {
                let mut state = state();
                state.pane = pane;
                if has_read {
                    load(&mut state);
                }
                let area = ratatui::layout::Rect::new(0, 0, columns, rows);
                let mut buffer = Buffer::empty(area);
                let short = |id: &ObjectId| id.to_string();
                view::fit(&mut state, area);
                view::draw(&state, &Look { now: NOW, short: &short, is_coloured: true }, area, &mut buffer);
                state.press(Key::Char('?'));
                view::draw(&state, &Look { now: NOW, short: &short, is_coloured: true }, area, &mut buffer);
            }
        }
    }
}

#[test]
fn each_session_has_a_colour_and_without_colours_there_is_none() {
    let mut state = state();
    state.press(Key::Char('j'));
    load(&mut state);
    let coloured = drawn(&mut state, 200, true);
    // The rows of the two sessions, and the person's between them.
    let colours: Vec<Color> = [2, 4, 3].map(|y| coloured[(0, y)].fg).into();
    assert!(colours[0] != colours[1] && colours[1] != colours[2] && colours[0] != colours[2], "{colours:?}");
    assert_eq!(coloured[(0, 6)].fg, colours[0], "the same session, before the commit");
    let plain = drawn(&mut state, 200, false);
    assert!(plain.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}
