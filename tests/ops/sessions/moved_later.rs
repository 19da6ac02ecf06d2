//! Lines that are moved to another file in two steps: something else happens between the copy and the cut, or between the move and the
//! commit.

use super::desk::{Desk, words};
use crate::support::World;

/// Who wrote the lines that are moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Person,
    PersonWhoCommitted,
    Agent,
    AgentWhoCommitted,
}

/// One act: of the session with that name, by a tool call that names a file, each in a turn of its own; or of a person, `me`.
type Act<'t> = (&'t str, &'t str, &'t str);

impl Desk {
    /// Returns who owns the last four lines of `path`: `human`, or the session.
    fn writers(&self, path: &str) -> Vec<String> {
        let found = self.json(&["blame", "--", path]);
        let lines = found["lines"].as_array().expect("a list").iter().flat_map(|span| {
            let count = span["end"].as_u64().expect("a number") - span["start"].as_u64().expect("a number") + 1;
            let owner = span["session"].as_str().or(span["owner"].as_str()).expect("a word").to_owned();
            (0..count).map(move |_| owner.clone())
        });
        let lines: Vec<String> = lines.collect();
        lines[lines.len() - 4..].to_vec()
    }

    /// Adds four lines of `writer` to `f`.
    fn written(&self, writer: Writer) -> &'static str {
        let with_block = format!("{}{}", self.read("f"), words("b", 1..=4));
        match writer {
            Writer::Person | Writer::PersonWhoCommitted => self.write("f", with_block),
            Writer::Agent | Writer::AgentWhoCommitted => self.turn_with_tool("b", "f", &with_block),
        }
        if matches!(writer, Writer::PersonWhoCommitted | Writer::AgentWhoCommitted) {
            self.commit_all();
        }
        if matches!(writer, Writer::Agent | Writer::AgentWhoCommitted) { "b" } else { "human" }
    }

    /// Commits what `staged` names. Before and after that, the lines in `path` are those of `expected`.
    fn commit_lines_of(&self, expected: &str, path: &str, staged: &str) {
        assert_eq!(self.writers(path), [expected; 4]);
        self.git(&["add", staged]);
        self.commit();
        assert_eq!(self.writers(path), [expected; 4]);
    }

    fn act(&self, acts: &[Act<'_>]) {
        for (who, path, script) in acts {
            match *who {
                "me" => self.sh(script),
                session => self.turn_with_calls(session, &[(path, &|| self.sh(script))]),
            }
        }
    }
}

fn desk() -> Desk {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    desk
}

const COPY: &str = "tail -4 f >>m";
const CUT: &str = "sed -i '21,$d' f";

#[rstest::rstest]
#[case::in_two_turns(&[("a", "m", COPY), ("a", "f", CUT)])]
#[case::in_two_turns_to_a_committed_file(&[("me", "", "git mv g m; git commit -qm m"), ("a", "m", COPY), ("a", "f", CUT)])]
#[case::with_a_turn_of_another_agent(&[("a", "m", COPY), ("c", "z", "echo z >z"), ("a", "f", CUT)])]
#[case::cut_by_another_agent(&[("a", "m", COPY), ("c", "f", CUT)])]
#[case::cut_by_a_person(&[("a", "m", COPY), ("me", "f", CUT), ("me", "", "git checkpoint save -q")])]
#[case::edited_between(&[("a", "m", COPY), ("a", "m", "sed -i '1i first' m"), ("a", "f", CUT)])]
fn lines_that_two_steps_move(
    #[case] acts: &[Act<'_>],
    #[values(Writer::Person, Writer::PersonWhoCommitted, Writer::Agent, Writer::AgentWhoCommitted)] writer: Writer,
    #[values("m", ".")] staged: &str,
) {
    let desk = desk();
    let expected = desk.written(writer);
    desk.act(acts);
    desk.commit_lines_of(expected, "m", staged);
    desk.write("later", "later\n");
    desk.commit_all();
    assert_eq!(desk.writers("m"), [expected; 4]);
    desk.finish();
}

/// In between, the worktree is as in HEAD if the lines are not committed, so that a prompt sets aside the shadow that has them.
#[rstest::rstest]
#[case::cut_first(&[("a", "f", "tail -4 f >../cut; sed -i '21,$d' f"), ("c", "z", "echo z >z"), ("a", "m", "cat ../cut >>m")])]
fn committed_lines_that_are_cut_first(
    #[case] acts: &[Act<'_>],
    #[values(Writer::PersonWhoCommitted, Writer::AgentWhoCommitted)] writer: Writer,
    #[values("m", ".")] staged: &str,
) {
    let desk = desk();
    let expected = desk.written(writer);
    desk.act(acts);
    desk.commit_lines_of(expected, "m", staged);
    desk.finish();
}

/// No agent takes part, so the commit has no record; it shows both files.
#[rstest::rstest]
#[case::by_a_person_with_a_save(&[("me", "m", COPY), ("me", "", "git checkpoint save -q"), ("me", "f", CUT), ("me", "", "git checkpoint save -q")])]
fn lines_that_a_person_moves_with_a_save(
    #[case] acts: &[Act<'_>],
    #[values(Writer::Person, Writer::PersonWhoCommitted, Writer::Agent, Writer::AgentWhoCommitted)] writer: Writer,
) {
    let desk = desk();
    let expected = desk.written(writer);
    desk.act(acts);
    desk.commit_lines_of(expected, "m", ".");
    desk.finish();
}

/// The last checkpoint has the copy; only the commit shows the cut.
#[rstest::rstest]
#[case::after_a_save(&[("me", "m", COPY), ("me", "", "git checkpoint save -q"), ("me", "f", CUT)])]
#[case::after_a_turn(&[("me", "m", COPY), ("a", "z", "echo z >z"), ("me", "f", CUT)])]
fn committed_lines_that_are_cut_before_the_commit(
    #[case] acts: &[Act<'_>],
    #[values(Writer::PersonWhoCommitted, Writer::AgentWhoCommitted)] writer: Writer,
) {
    let desk = desk();
    let expected = desk.written(writer);
    desk.act(acts);
    desk.commit_lines_of(expected, "m", ".");
    desk.finish();
}

/// The file that had the lines is as in HEAD again, or gone, so that its work looks undone.
#[rstest::rstest]
#[case::a_prompt("tail -4 f >>g; sed -i '21,$d' f", &[("a", "z", "echo z >z")])]
#[case::a_prompt_of_the_same_session("tail -4 f >>g; sed -i '21,$d' f", &[("b", "z", "echo z >z")])]
#[case::a_commit_of_another_file("tail -4 f >>g; sed -i '21,$d' f", &[("me", "", "echo o >o; git add o; git commit -qm o")])]
#[case::both("tail -4 f >>g; sed -i '21,$d' f", &[("a", "z", "echo z >z"), ("me", "", "echo o >o; git add o; git commit -qm o")])]
#[case::a_new_file("tail -4 f >m; git checkout -q f; cat m >>g; rm m", &[("a", "z", "echo z >z")])]
fn lines_that_a_person_moves_before(#[case] script: &str, #[case] acts: &[Act<'_>]) {
    let desk = desk();
    let expected = desk.written(Writer::Agent);
    desk.sh(script);
    assert_eq!(desk.writers("g"), [expected; 4]);
    desk.act(acts);
    desk.commit_lines_of(expected, "g", ".");
    desk.finish();
}

/// A person moves lines without a save, and commits the file that had them first.
#[rstest::rstest]
#[case::moved_at_once("true")]
#[case::copied_first(
    "git checkpoint session prompt a -m q >/dev/null; echo z >z; git checkpoint session stop a >/dev/null"
)]
fn lines_whose_first_file_is_committed_first(#[case] between: &str, #[values("f", "m", ".")] first: &str) {
    let desk = desk();
    let expected = desk.written(Writer::Agent);
    desk.sh(&format!("echo mine | cat - f >../f; cp ../f f; {COPY}; {between}; sed -i '22,$d' f"));
    desk.commit_lines_of(expected, "m", first);
    desk.write("later", "later\n");
    desk.commit_all();
    assert_eq!(desk.writers("m"), [expected; 4]);
    desk.finish();
}

/// All lines are moved to one file, and then some of them to another one, which alone is committed.
#[test]
fn lines_that_are_moved_on_in_part() {
    let desk = desk();
    let expected = desk.written(Writer::PersonWhoCommitted);
    desk.turn_with_calls("b", &[("m", &|| desk.sh("tail -8 f >m; sed -i '17,$d' f"))]);
    desk.turn_with_calls("a", &[("g", &|| desk.sh("tail -4 m >>g; sed -i '5,$d' m"))]);
    desk.commit_lines_of(expected, "g", "g");
    desk.finish();
}

/// The first place still has the lines, or a stash entry does: the second one has a copy.
#[rstest::rstest]
#[case::in_two_files("true")]
#[case::stashed("git checkpoint save -q; git stash push -q f; git checkpoint save -q")]
#[case::not_committed("git checkpoint save -q; git add m")]
fn lines_that_a_person_copies(#[case] script: &str) {
    let desk = desk();
    desk.written(Writer::Agent);
    desk.sh(&format!("{COPY}; git checkpoint save -q; {script}"));
    assert_eq!(desk.writers("m"), ["human"; 4]);
    desk.git(&["add", "m"]);
    desk.commit();
    assert_eq!(desk.writers("m"), ["human"; 4]);
    desk.finish();
}

/// A commit has the new place only. Git's settings and a line that is too long to be looked for change nothing.
#[rstest::rstest]
#[case::plain("true")]
#[case::colours("git config color.ui always")]
#[case::colours_of_grep("git config color.grep always")]
fn blame_finds_the_first_file_whatever_the_settings(#[case] setting: &str, #[values(0, 3000)] length: usize) {
    let desk = desk();
    let long = "x".repeat(length);
    desk.turn_with_tool("b", "f", &format!("{}{long}\n{}", desk.read("f"), words("b", 1..=4)));
    desk.commit_all();
    desk.turn_with_calls("a", &[("g", &|| desk.sh("tail -5 f >>g; sed -i '21,$d' f"))]);
    desk.sh(&format!("git add g; git commit -qm g; {setting}"));
    assert_eq!(desk.writers("g"), ["b"; 4]);
}

/// The lines are put back in the first file only, which has them again then; the second one has a copy.
#[rstest::rstest]
#[case::restored("git checkpoint save -q; git checkpoint restore -q @{1} -- f")]
#[case::copied_back("git checkpoint save -q; cp ../old f")]
#[case::without_a_save("cp ../old f")]
fn lines_that_are_put_back(#[case] back: &str, #[values(false, true)] is_moved_by_agent: bool) {
    let desk = desk();
    desk.written(Writer::Agent);
    desk.sh("cp f ../old");
    let script = format!("{COPY}; {CUT}");
    if is_moved_by_agent {
        desk.turn_with_calls("a", &[("m", &|| desk.sh(&script))]);
    } else {
        desk.sh(&script);
    }
    desk.sh(back);
    let copier = if is_moved_by_agent { "a" } else { "human" };
    let all = || [desk.writers("f"), desk.writers("m")].map(|lines| lines.join(" "));
    let expected = ["b b b b".to_owned(), [copier; 4].join(" ")];
    assert_eq!(all(), expected);
    desk.commit_all();
    assert_eq!(all(), expected);
}
