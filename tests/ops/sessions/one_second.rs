//! Checkpoints of one second: their microseconds say which one is later, whatever has become of HEAD and its reflog since.

use serde_json::Value;

use super::{desk::Desk, moved::tell};
use crate::support::World;

/// What the program shows of `f` in `checkpoint`.
fn f_of(desk: &Desk, checkpoint: &str) -> String {
    let id = desk.json(&["show", checkpoint])["id"].as_str().expect("an id").to_owned();
    desk.git(&["show", &format!("{id}:f")])
}

/// In one command of session `a`, which a turn is about.
fn turn_with_command(desk: &Desk, script: &str) {
    let bash = r#","tool_name":"Bash","tool_input":{"command":"sh"},"tool_response":{},"tool_use_id":"t""#;
    tell(desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    tell(desk, "a", "PreToolUse", bash);
    // The real time, as people have it.
    desk.sh(&format!("unset GIT_COMMITTER_DATE GIT_AUTHOR_DATE; {script}"));
    tell(desk, "a", "PostToolUse", bash);
    tell(desk, "a", "Stop", "");
}

/// A desk on which `a` had a turn with `script`, with a commit after it. At least two checkpoints of the turn, on different
/// commits, are of one second.
fn desk_after(script: &str) -> Desk {
    for _ in 0..40 {
        let desk = Desk::new();
        desk.sh("git checkout -qb other; git commit -q --allow-empty -m other; git checkout -q -");
        turn_with_command(&desk, script);
        desk.git(&["commit", "-qam", "rest"]);
        let list = desk.ours(&["list", "--all", "--json"]).stdout;
        let lines = serde_json::Deserializer::from_slice(&list).into_iter::<Value>();
        let taken: Vec<_> = lines.flatten().map(|it| (it["time"].to_string(), it["base"].to_string())).collect();
        if taken.iter().any(|(time, base)| taken.iter().any(|other| other.0 == *time && other.1 != *base)) {
            return desk;
        }
    }
    panic!("never two checkpoints in one second");
}

const COMMITS: &str = "echo one >f; git commit -qam one; echo two >>f; git commit -qam two; echo three >>f";
const BRANCHES: &str = "echo one >f; git checkpoint save -q --session a; git checkout -q other; echo two >>f;
     git checkpoint save -q --session a; git checkout -q -; echo three >>f";

#[rstest::rstest]
#[case::commits(COMMITS, "")]
#[case::branches(BRANCHES, "")]
#[case::a_later_visit_of_an_old_commit(COMMITS, "git checkout -q HEAD~2; git checkout -q -")]
#[case::no_reflog(COMMITS, "git reflog expire --expire=now --all")]
fn the_last_checkpoint_of_a_turn_has_all_of_it(#[case] script: &str, #[case] later: &str) {
    let desk = desk_after(script);
    desk.sh(later);
    assert_eq!(f_of(&desk, "a@1"), "one\ntwo\nthree");
    let before = f_of(&desk, "a@1^");
    assert!(before.starts_with("line 1\n"), "{before}");
    desk.sh("git worktree add -q ../linked -b linked");
    desk.go("linked");
    assert_eq!(f_of(&desk, "a@1"), "one\ntwo\nthree");
    assert_eq!(f_of(&desk, "a@1^"), before);
}

#[test]
fn the_latest_checkpoint_is_that_of_the_last_turn() {
    let desk = Desk::on(&World::with_lines().with_clock());
    for at in ["one", "two", "three"] {
        desk.turn("a", &[("f", at)]);
        desk.commit_all();
        assert_eq!(f_of(&desk, "@{0}"), at);
    }
    assert_eq!(["@{1}", "@{2}"].map(|name| f_of(&desk, name)), ["two", "one"]);
    assert_eq!(["a@3", "a@2", "a@1"].map(|name| f_of(&desk, name)), ["three", "two", "one"]);
    desk.finish();
}
