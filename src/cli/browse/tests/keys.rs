//! What keys do.

use bstr::BString;

use super::{
    super::{
        input::Key,
        press::{Effect, Picked},
        state::{Against, Goal, Hits, Mode, Pane, State},
    },
    entry, id, load, ran, selected, state, text,
};
use crate::ops::browse::Subject;

fn press(state: &mut State, keys: &str) -> Option<Effect> {
    keys.chars().map(|key| state.press(Key::Char(key))).last().flatten()
}

fn at(row: usize) -> State {
    let mut state = state();
    state.page = 4;
    (0..row).for_each(|_| drop(state.press(Key::Char('j'))));
    load(&mut state);
    state
}

#[rstest::rstest]
#[case::down("jj", 2)]
#[case::not_beyond_the_end("jjjjjjjjjj", 6)]
#[case::up("jjk", 1)]
#[case::not_beyond_the_begin("kk", 0)]
#[case::last("G", 6)]
#[case::first("Gg", 0)]
fn rows_are_selected(#[case] keys: &str, #[case] expected: usize) {
    let mut state = state();
    assert_eq!(press(&mut state, keys), None);
    assert_eq!(state.at, expected);
}

#[test]
fn half_a_page_is_half_a_page() {
    let mut state = state();
    state.page = 8;
    state.press(Key::Control('d'));
    assert_eq!(state.at, 4);
    state.press(Key::Control('u'));
    assert_eq!(state.at, 0);
}

#[test]
fn only_what_is_near_is_read() {
    let mut state = State::new(Vec::new(), None, BString::default());
    state.page = 10;
    assert!(state.needed() < 40);
    let rows = state.authors.rows(entry(1, None, "x"));
    state.add(rows);
    // The last row is not known yet.
    press(&mut state, "G");
    assert_eq!((state.goal, state.needed()), (Some(Goal::End), usize::MAX));
    let rows = state.authors.rows(entry(2, None, "y"));
    state.add(rows);
    assert_eq!(state.at, 0);
    state.end();
    assert_eq!((state.at, state.goal), (2, None));
}

#[test]
fn another_key_ends_the_way_to_the_last_row() {
    let mut state = State::new(Vec::new(), None, BString::default());
    press(&mut state, "G");
    state.press(Key::Escape);
    assert_eq!(state.goal, None);
}

#[rstest::rstest]
#[case::worktree(0, Pane::Timeline, "attribution --worktree --patch")]
#[case::turn(1, Pane::Timeline, &format!("diff {} {}", id(2), id(1)))]
#[case::one(2, Pane::Timeline, &format!("show --patch {}", id(2)))]
#[case::commit(4, Pane::Timeline, &format!("attribution --patch {}", id(0xcc)))]
#[case::file(2, Pane::Files, &format!("diff {} {} -- src/main.rs", id(3), id(2)))]
#[case::file_of_commit(4, Pane::Diff, &format!("attribution --patch {} -- src/main.rs", id(0xcc)))]
fn the_bottom_line_prints_what_is_selected(#[case] row: usize, #[case] pane: Pane, #[case] expected: &str) {
    let mut state = at(row);
    state.pane = pane;
    assert_eq!(text(&state.command()), expected);
}

#[test]
fn panes_follow_each_other() {
    let mut state = state();
    let mut panes = Vec::new();
    for key in [Key::Tab, Key::Tab, Key::Tab, Key::BackTab, Key::BackTab, Key::Escape, Key::Enter, Key::Char('h')] {
        state.press(key);
        panes.push(state.pane);
    }
    let (timeline, files, diff) = (Pane::Timeline, Pane::Files, Pane::Diff);
    assert_eq!(panes, [files, diff, timeline, diff, files, timeline, files, timeline]);
}

#[rstest::rstest]
#[case::restore(2, Pane::Timeline, 'r', &format!("restore --dry-run {0} / restore {0}", id(2)))]
#[case::restore_of_a_file(2, Pane::Files, 'r', &format!("restore --dry-run {0} -- src/main.rs / restore {0} -- src/main.rs", id(2)))]
#[case::restore_of_a_commit(4, Pane::Timeline, 'r', &format!("restore --dry-run {0} / restore {0}", id(0xcc)))]
#[case::restore_of_the_worktree(0, Pane::Timeline, 'r', "None")]
#[case::undo(0, Pane::Timeline, 'u', "undo --dry-run / undo")]
#[case::redo(0, Pane::Timeline, 'U', "redo --dry-run / redo")]
#[case::verify(2, Pane::Timeline, 'v', &format!("verify {}", id(2)))]
#[case::verify_a_commit(4, Pane::Timeline, 'v', "None")]
#[case::note(2, Pane::Timeline, 'e', &format!("note --edit {}", id(2)))]
#[case::note_of_the_worktree(0, Pane::Timeline, 'e', "None")]
#[case::copy(2, Pane::Timeline, 'y', &format!("Some(Copy(\"{}\"))", id(2)))]
#[case::all(0, Pane::Timeline, 'a', "Some(Filter(\"--all\"))")]
#[case::quit(0, Pane::Diff, 'q', "Some(Quit)")]
#[case::why_of_a_commit(4, Pane::Diff, 'w', &format!("why --rev {} src/main.rs:1", id(0xcc)))]
#[case::why_of_the_worktree(0, Pane::Diff, 'w', "why src/main.rs:1")]
fn actions_are_commands(#[case] row: usize, #[case] pane: Pane, #[case] key: char, #[case] expected: &str) {
    let mut state = at(row);
    state.pane = pane;
    let effect = state.press(Key::Char(key));
    assert_eq!(ran(effect), expected);
    assert_eq!(state.message.is_some(), expected == "None", "what cannot be done says why");
}

#[test]
fn a_deleted_line_has_no_explanation() {
    let mut state = at(4);
    (state.pane, state.line_at) = (Pane::Diff, 2);
    assert_eq!(state.press(Key::Char('w')), None);
    assert!(state.message.is_some());
}

#[test]
fn names_that_are_patterns_are_quoted() {
    let mut state = at(2);
    let loaded = state.loaded.as_mut().expect("it was read");
    loaded.files[0].path = "a*[b".into();
    state.pane = Pane::Files;
    assert!(ran(state.press(Key::Char('r'))).ends_with("-- :(literal)a*[b"));
    state.prefix = "src/".into();
    assert!(ran(state.press(Key::Char('r'))).ends_with("-- :(literal)../a*[b"));
}

#[test]
fn a_plan_is_asked_about() {
    let mut state = at(2);
    let Some(Effect::Plan(plan, words)) = state.press(Key::Char('r')) else { panic!("it has a plan") };
    state.ran(plan, Some(words.clone()), "would write a\nhint: x\n", false);
    assert_eq!(state.command(), words);
    // Only one key is an answer.
    for key in [Key::Enter, Key::Char('n'), Key::Char('q'), Key::Escape] {
        let mut state = at(2);
        state.ran(words.clone(), Some(words.clone()), "would write a\n", false);
        assert_eq!(state.press(key), None, "{key:?}");
        assert!(matches!(state.mode, Mode::Normal));
    }
    assert_eq!(state.press(Key::Char('j')), None);
    let Some(Effect::Agreed(agreed)) = state.press(Key::Char('y')) else { panic!("it was asked") };
    assert_eq!((agreed.then, agreed.lines), (Some(words), vec!["would write a".to_owned(), "hint: x".to_owned()]));
}

#[test]
fn nothing_is_asked_where_nothing_would_be_done() {
    let mut state = at(2);
    let words = vec!["restore".into()];
    state.ran(words.clone(), Some(words), "nothing to do\nhint: x\n", false);
    assert_eq!(state.press(Key::Char('y')), None);
    assert!(matches!(state.mode, Mode::Normal));
}

#[test]
fn what_a_command_prints_cannot_control_the_terminal() {
    let mut state = state();
    state.ran(vec!["undo".into()], None, "a\x1b[2Jb\n\tc\n", false);
    let Mode::Text(text) = &state.mode else { panic!("it is shown") };
    assert_eq!(text.lines, ["a\\u{1b}[2Jb", "        c"]);
}

#[test]
fn a_tag_is_typed() {
    let mut state = at(2);
    press(&mut state, "tgood");
    assert_eq!(text(&state.command()), format!("tag good {}", id(2)));
    assert_eq!(ran(state.press(Key::Enter)), format!("tag good {}", id(2)));
    // An empty name is none.
    press(&mut state, "t");
    assert_eq!(state.press(Key::Enter), None);
}

#[test]
fn a_filter_is_that_of_the_list() {
    let mut state = at(2);
    state.filter = "--all".to_owned();
    press(&mut state, "f --agent 'a b'");
    assert_eq!(text(&state.command()), "list --all --agent a b");
    assert_eq!(state.press(Key::Enter), Some(Effect::Filter("--all --agent 'a b'".to_owned())));
    assert_eq!(press(&mut state, "a"), Some(Effect::Filter(String::new())));
}

#[rstest::rstest]
#[case::worktree(2, "d", 2, Subject::Compared { from: id(2), to: None })]
#[case::ended(2, "dd", 2, Subject::Checkpoint { before: id(3), id: id(2) })]
#[case::older_is_marked(3, "Dk", 2, Subject::Compared { from: id(3), to: Some(id(2)) })]
#[case::newer_is_marked(1, "Dj", 2, Subject::Compared { from: id(2), to: Some(id(1)) })]
#[case::with_itself(2, "D", 2, Subject::Checkpoint { before: id(3), id: id(2) })]
fn states_are_compared(#[case] row: usize, #[case] keys: &str, #[case] selected: u8, #[case] expected: Subject) {
    let mut state = at(row);
    press(&mut state, keys);
    assert_eq!(super::selected(&state), Some(id(selected)));
    assert_eq!(state.subject(), Some(expected));
}

#[test]
fn esc_ends_a_comparison() {
    let mut state = at(2);
    press(&mut state, "d");
    assert_eq!(state.against, Some(Against::Worktree));
    state.press(Key::Escape);
    assert_eq!(state.against, None);
}

#[test]
fn hits_are_visited_in_turn() {
    let mut state = state();
    let mut hits = Hits { text: "x".to_owned(), ..Hits::default() };
    hits.ids.insert(id(0xcc));
    hits.turns.entry("0196b1f2-one".to_owned()).or_default().insert(2);
    state.find(hits);
    let mut seen = vec![selected(&state)];
    for key in ['n', 'n', 'N', 'N'] {
        press(&mut state, &key.to_string());
        seen.push(selected(&state));
    }
    let (turn, commit) = (Some(id(1)), Some(id(0xcc)));
    assert_eq!(seen, [turn, commit, turn, commit, turn]);
}

#[test]
fn a_hit_further_down_is_read_for() {
    let mut state = State::new(Vec::new(), None, BString::default());
    let mut hits = Hits::default();
    hits.ids.insert(id(3));
    state.find(hits);
    assert!(matches!(state.goal, Some(Goal::Hit(_))));
    for number in 1..5 {
        let rows = state.authors.rows(entry(number, None, "x"));
        state.add(rows);
    }
    assert_eq!((selected(&state), state.goal), (Some(id(3)), None));
}

#[test]
fn a_list_that_is_read_again_keeps_what_is_selected() {
    let mut state = at(3);
    state.restart();
    let rows = state.authors.rows(entry(9, None, "new"));
    state.add(rows);
    for number in [1, 2, 3] {
        let rows = state.authors.rows(entry(number, None, "x"));
        state.add(rows);
    }
    assert_eq!(selected(&state), Some(id(3)));
    // One that is gone leaves its place to another.
    state.restart();
    let rows = state.authors.rows(entry(9, None, "new"));
    state.add(rows);
    state.end();
    assert_eq!(selected(&state), Some(id(9)));
}

fn picked(all: bool) -> Effect {
    Effect::Pick(Picked { id: id(1).to_string(), all })
}

#[test]
fn what_is_picked_was_agreed_to() {
    let mut state = State::new(Vec::new(), Some(vec!["--before".into()]), BString::default());
    let rows = state.authors.rows(entry(1, None, "x"));
    state.add(rows);
    state.end();
    assert_eq!(state.rows.len(), 1, "what the worktree has cannot be picked");
    let Some(Effect::Plan(plan, words)) = state.press(Key::Enter) else { panic!("it has a plan") };
    assert_eq!(text(&plan), format!("restore --dry-run --before {}", id(1)));
    state.ran(plan, Some(words), "would write a\n", false);
    assert_eq!(state.press(Key::Char('y')), Some(picked(false)));
    // What others have changed since is only restored if that was in the plan.
    let plan = super::super::words::plan_of(&state.restore().expect("it can be restored"));
    state.ran(plan, None, "kept     a\nhint: x\n", true);
    let Some(Effect::Plan(plan, words)) = state.press(Key::Char('a')) else { panic!("it has a plan") };
    assert_eq!(text(&plan), format!("restore --dry-run --all --before {}", id(1)));
    state.ran(plan, Some(words), "would write a\n", false);
    assert_eq!(state.press(Key::Char('a')), None);
    let words = super::super::words::with_all(&state.restore().expect("it can be restored"));
    state.ran(words.clone(), Some(words), "would write a\n", false);
    assert_eq!(state.press(Key::Char('y')), Some(picked(true)));
    // Git asks about each hunk.
    state.picks = Some(vec!["--patch".into()]);
    assert_eq!(state.press(Key::Enter), Some(picked(false)));
}

/// While a plan is shown, the list may be read again, and another checkpoint come to the selected row.
#[test]
fn a_plan_stays_that_of_its_checkpoint() {
    let mut state = State::new(Vec::new(), Some(Vec::new()), BString::default());
    let rows = state.authors.rows(entry(1, None, "x"));
    state.add(rows);
    let Some(Effect::Plan(plan, words)) = state.press(Key::Enter) else { panic!("it has a plan") };
    state.ran(plan.clone(), Some(words.clone()), "would write a\n", false);
    state.restart();
    assert_eq!(state.press(Key::Char('y')), Some(picked(false)), "no row is there yet");
    let rows = state.authors.rows(entry(2, None, "y"));
    state.add(rows);
    state.ran(plan.clone(), Some(words), "would write a\n", false);
    assert_eq!(state.press(Key::Char('y')), Some(picked(false)), "another row is there");
    state.ran(plan, None, "kept     a\nhint: x\n", true);
    let Some(Effect::Plan(_, words)) = state.press(Key::Char('a')) else { panic!("it has a plan") };
    assert_eq!(text(&words), format!("restore --all {}", id(1)));
}

#[test]
fn what_is_wanted_is_the_selected_row_and_then_its_file() {
    let mut state = state();
    assert_eq!(state.wanted(), Some((Subject::Worktree, None)));
    load(&mut state);
    assert_eq!(state.wanted(), None);
    state.pane = Pane::Files;
    press(&mut state, "j");
    let path = "a/directory/with/a/long/name/notes.txt";
    assert_eq!(state.wanted(), Some((Subject::Worktree, Some(path.into()))));
    state.give_up(Subject::Worktree, Some(&path.into()), "it is gone");
    assert_eq!(state.wanted(), None);
}
