//! Whose the work is when stashes, resets and other worktrees come in between.

use std::collections::BTreeSet;

use super::{
    desk::{Desk, changed, parts},
    moved::{command, tell},
};

/// Returns the sessions in all records of `commit`.
fn sessions(desk: &Desk, commit: &str) -> Vec<String> {
    let all: BTreeSet<String> =
        desk.records(commit).into_iter().flat_map(|record| record.sessions).map(|part| part.id).collect();
    all.into_iter().collect()
}

/// Returns how many lines `commit` has of agents, and of people.
fn lines(desk: &Desk, commit: &str) -> (u64, u64) {
    let summary = &desk.json(&["attribution", commit])["summary"];
    let figure = |name: &str| summary[name].as_u64().expect("a number");
    (figure("agent_lines") + figure("mixed"), figure("human_added") + figure("human_modified"))
}

/// Session `a` changes `f` and makes `new`; both are stashed, its shadow is live, and another worktree pops them.
fn popped_elsewhere() -> Desk {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("new", "a 1\na 2\n")]);
    desk.git(&["stash", "-q", "-u"]);
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.go("linked");
    desk.git(&["stash", "pop", "-q"]);
    desk
}

#[test]
fn a_stash_is_known_again_in_another_worktree() {
    let desk = popped_elsewhere();
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    desk.go("repo");
    assert_eq!(desk.chain(), ["a"]);
    desk.finish();
}

#[test]
fn a_stash_is_taken_up_at_a_prompt_in_another_worktree() {
    let desk = popped_elsewhere();
    let prompted = desk.prompted("b");
    assert_eq!(prompted["taken_up"], serde_json::json!(["a"]));
    desk.work("b", &[("g", "b\n")]);
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("new", "a")]));
    desk.go("repo");
    assert_eq!(desk.chain(), ["a"]);
    desk.finish();
}

#[test]
fn a_merge_makes_no_record_of_what_the_other_side_has_one_of() {
    let desk = popped_elsewhere();
    desk.commit_all();
    desk.go("repo");
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", "linked"]);
    assert_eq!((desk.trailers("HEAD").len(), desk.records("HEAD").len()), (0, 0));
    assert_eq!((desk.shadow(), desk.recorded("HEAD^2").len()), (None, 2));
    desk.turn("b", &[("g", "b\n")]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.finish();
}

#[test]
fn a_worktree_that_is_gone_holds_no_session_up() {
    for removal in ["git worktree remove --force ../linked", "rm -r ../linked"] {
        let desk = Desk::new();
        desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
        for session in ["a", "b"] {
            desk.go("linked");
            desk.prompt(session);
            desk.work(session, &[(session, session)]);
            desk.go("repo");
        }
        desk.sh(removal);
        desk.json(&["session", "end", "a"]);
        desk.json(&["session", "adopt", "b"]);
        assert_eq!((&desk.sessions()["a"]["phase"], &desk.sessions()["b"]["phase"]), (&"ended".into(), &"idle".into()));
        // What it had saved is still known.
        desk.write("b", "b");
        desk.commit_all();
        assert_eq!(desk.recorded("HEAD"), parts(&[("b", "b")]));
        desk.finish();
    }
}

#[test]
fn a_commit_taken_back_and_stashed_is_known_again() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.turn("b", &[("g", "b\n")]);
    desk.commit_all();
    desk.git(&["reset", "-q", "--soft", "HEAD~2"]);
    desk.git(&["stash", "-q"]);
    desk.write("h", "by hand\n");
    desk.commit_all();
    assert_eq!(sessions(&desk, "HEAD"), [""; 0]);
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(sessions(&desk, "HEAD"), ["a", "b"]);
    assert_eq!(lines(&desk, "HEAD"), (2, 0));
    desk.finish();
}

#[test]
fn a_commit_taken_back_is_known_beside_new_work() {
    for mode in ["--soft", "--mixed"] {
        let desk = Desk::new();
        desk.turn("a", &[("f", &changed(&[(3, "a"), (4, "a")])), ("one", "a 1\na 2\na 3\n")]);
        desk.commit_all();
        desk.git(&["reset", "-q", mode, "HEAD~1"]);
        desk.turn("b", &[("f", &changed(&[(3, "a"), (4, "a"), (9, "b")])), ("one", "a 1\nb 2\nb 3\n"), ("g", "b\n")]);
        desk.commit_all();
        assert_eq!(sessions(&desk, "HEAD"), ["a", "b"], "{mode}");
        assert_eq!(lines(&desk, "HEAD"), (7, 0), "{mode}");
        desk.finish();
    }
}

#[test]
fn a_commit_taken_back_and_rewritten_by_another_session_is_still_known() {
    let desk = Desk::new();
    desk.turn("a", &[("one", "a 1\na 2\na 3\na 4\na 5\n")]);
    desk.commit_all();
    desk.git(&["reset", "-q", "HEAD~1"]);
    desk.turn("b", &[("one", "a 1\nb 2\nb 3\nb 4\nb 5\n")]);
    desk.commit_all();
    assert_eq!(sessions(&desk, "HEAD"), ["a", "b"]);
    assert_eq!(lines(&desk, "HEAD"), (5, 0));
    desk.finish();
}

#[test]
fn a_record_counts_only_what_is_in_no_other() {
    let desk = Desk::new();
    desk.turn("a", &[("one", "a 1\na 2\na 3\n")]);
    desk.commit_all();
    desk.git(&["reset", "-q", "--soft", "HEAD~1"]);
    desk.turn("b", &[("one", "a 1\na 2\na 3\nb 4\n")]);
    desk.commit_all();
    for record in desk.records("HEAD") {
        assert_eq!(record.counts.human, 0, "{record:?}");
    }
    assert_eq!(lines(&desk, "HEAD"), (4, 0));
    desk.finish();
}

#[test]
fn a_commit_taken_back_within_a_turn_keeps_its_record() {
    let desk = Desk::new();
    desk.turn("a", &[("one", "a 1\na 2\na 3\n")]);
    desk.commit_all();
    desk.prompt("b");
    desk.git(&["reset", "-q", "--soft", "HEAD~1"]);
    desk.work("b", &[("one", "a 1\na 2\na 3\nb 4\n")]);
    desk.commit_all();
    desk.stop("b");
    assert_eq!(sessions(&desk, "HEAD"), ["a", "b"]);
    let mut counts: Vec<u32> = desk.records("HEAD").iter().map(|record| record.counts.agent).collect();
    counts.sort_unstable();
    // The recognized work names the first turn, too.
    assert_eq!(counts, [3, 4]);
    assert!(desk.records("HEAD").iter().all(|record| record.counts.human == 0));
    assert_eq!(lines(&desk, "HEAD"), (4, 0));
    desk.finish();
}

#[test]
fn a_squash_with_new_work_upon_it_counts_each_line_once() {
    let desk = Desk::new();
    desk.git(&["checkout", "-q", "-b", "topic"]);
    desk.turn("a", &[("one", "a 1\na 2\na 3\n")]);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.git(&["merge", "-q", "--squash", "topic"]);
    desk.turn("b", &[("one", "a 1\na 2\na 3\nb 4\n")]);
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(sessions(&desk, "HEAD"), ["a", "b"]);
    assert!(desk.records("HEAD").iter().all(|record| record.counts.human == 0), "{:?}", desk.records("HEAD"));
    assert_eq!(lines(&desk, "HEAD"), (4, 0));
    desk.finish();
}

#[test]
fn the_first_save_of_paths_takes_no_other() {
    let desk = Desk::new();
    desk.write("g", "by hand\n");
    desk.write("new", "by hand\n");
    desk.write("f", changed(&[(3, "a")]));
    let saved = desk.json(&["save", "--session", "a", "--paths", "f"]);
    assert_eq!(saved["paths"].as_array().map(Vec::len), Some(1), "{saved}");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", ""), ("new", "")]));
    assert_eq!(lines(&desk, "HEAD"), (1, 2));
    desk.finish();
}

#[test]
fn a_forgotten_session_stays_forgotten() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.json(&["session", "forget", "a"]);
    assert!(desk.sessions().is_empty());
    assert_eq!(desk.ours(&["session", "list"]).status.code(), Some(1));
    assert_eq!(desk.ours(&["session", "show", "a"]).status.code(), Some(1));
    assert_eq!(desk.ours(&["session", "forget", "a"]).status.code(), Some(1));
    // Its checkpoints stay, and are still its own.
    assert_eq!(desk.chain(), ["a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    // It may come back.
    desk.turn("a", &[("g", "a\n")]);
    assert_eq!(desk.sessions().len(), 1);
    desk.finish();
}

#[test]
fn a_save_takes_no_session_id_that_is_none() {
    let desk = Desk::new();
    desk.write("g", "a\n");
    for id in ["", "a\nb", " a", &"a".repeat(201)] {
        let output = desk.ours(&["save", "--session", id]);
        assert_eq!(output.status.code(), Some(128), "{id:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("invalid session id"), "{id:?}");
    }
    assert_eq!(desk.refs("shadow"), [""; 0]);
    assert!(!desk.json(&["status"])["last_error"].is_string());
}

#[test]
fn a_stash_hint_is_of_work_that_waits() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.turn("b", &[("f", &changed(&[(3, "a"), (17, "b")]))]);
    desk.sh("printf 'y\\nn\\n' | git add -p f");
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.git(&["stash", "-q"]);
    assert_eq!(desk.prompted("c")["stashed"], serde_json::json!(["b"]));
    desk.stop("c");
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "b")]));
    desk.finish();
}

#[test]
fn a_pick_within_a_turn_leaves_each_their_own() {
    let desk = Desk::new();
    desk.git(&["checkout", "-q", "-b", "topic"]);
    desk.write("k", "k\n");
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.write("h", "by hand\n");
    desk.prompt("a");
    desk.work("a", &[("g", "a\n")]);
    desk.git(&["cherry-pick", "topic"]);
    desk.work("a", &[("new", "a\n")]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", ""), ("new", "a")]));
    desk.finish();
}

#[test]
fn files_that_one_tool_call_changes_and_commits_are_its_sessions() {
    let desk = Desk::new();
    let tell = |event: &str, rest: &str| tell(&desk, "a", event, rest);
    let tool = r#","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{},"tool_use_id":"t1""#;
    desk.write("h", "by hand\n");
    tell("UserPromptSubmit", r#","prompt":"do it""#);
    tell("PreToolUse", tool);
    // As an agent does it in its shell, with an index of the commit's own.
    desk.sh("echo a >>g; echo a >new; git add new; git commit -qm 'all in one' g new");
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("new", "a")]));
    assert_eq!(lines(&desk, "HEAD"), (2, 0));
    // Content that git brings is not new work of a session.
    desk.git(&["revert", "--no-edit", "HEAD"]);
    desk.git(&["cherry-pick", "HEAD~1"]);
    assert_eq!((desk.chain().len(), desk.records("HEAD^").len(), desk.records("HEAD").len()), (0, 0, 1));
    tell("PostToolUse", tool);
    tell("Stop", "");
    desk.git(&["commit", "-qam", "mine"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[]));
    desk.finish();
}

/// One shell command of the agent changes what a merge has brought, and commits it: only its own lines are its session's.
#[rstest::rstest]
#[case::without_conflict("git merge -q --no-commit topic; echo a >>g; git commit -qam merged", "g", (1, 0))]
#[case::after_a_conflict("git merge -q topic || sed -i '/^[<=>]\\{7\\}/d' f; echo a >>f; git commit -qam merged", "f", (1, 0))]
#[case::continued("git merge -q topic || sed -i '/^[<=>]\\{7\\}/d' f; echo a >>f; git add f; GIT_EDITOR=true git merge --continue", "f", (1, 0))]
fn lines_that_a_tool_adds_to_a_merge_are_its_sessions(
    #[case] command: &str,
    #[case] path: &str,
    #[case] expected: (u64, u64),
) {
    let desk = Desk::new();
    desk.git(&["checkout", "-q", "-b", "topic"]);
    desk.write("k", "of a person\n");
    if path == "f" {
        desk.write("f", changed(&[(3, "of topic")]));
    }
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.write("f", changed(&[(3, "of main")]));
    desk.commit_all();
    let tell = |event: &str, rest: &str| tell(&desk, "a", event, rest);
    tell("UserPromptSubmit", r#","prompt":"do it""#);
    tell("PreToolUse", r#","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"t1""#);
    desk.sh(command);
    assert_eq!(desk.git(&["rev-list", "--count", "HEAD^2"]).trim(), "2", "it is a merge");
    assert_eq!(lines(&desk, "HEAD"), expected);
    tell("PostToolUse", r#","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{},"tool_use_id":"t1""#);
    tell("Stop", "");
    assert_eq!(desk.chain().len(), 0, "nothing is left");
    desk.finish();
}

#[test]
fn a_commit_that_a_tool_undoes_and_repeats_is_not_its_sessions() {
    let desk = Desk::new();
    let tell = |event: &str, rest: &str| tell(&desk, "a", event, rest);
    desk.write("h", "by hand\n");
    desk.commit_all();
    tell("UserPromptSubmit", r#","prompt":"do it""#);
    tell("PreToolUse", r#","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"t1""#);
    desk.sh("git reset -q --soft HEAD~1; git commit -qm 'again'");
    assert_eq!(desk.recorded("HEAD"), parts(&[]));
}

#[test]
fn nothing_is_left_over_of_work_that_was_committed_beside_other_lines() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(2, "a")]))]);
    desk.write("f", changed(&[(2, "a"), (3, "of a person")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    assert!(desk.chain().is_empty(), "{:?}", desk.chain());
    desk.finish();
}

/// What a person takes away with a restore is no work of the session whose state comes back.
#[rstest::rstest]
#[case::alone(false)]
#[case::beside_the_work_of_another(true)]
fn a_commit_after_a_restore_names_no_session_for_lines_of_people(#[case] is_mixed: bool) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent")]))]);
    desk.write("f", changed(&[(3, "agent"), (9, "human")]));
    desk.commit_all();
    desk.sh("git checkpoint restore -q --all a@1");
    if is_mixed {
        desk.turn("b", &[("g", "b\n")]);
    }
    desk.commit_all();
    let expected = if is_mixed { parts(&[("f", ""), ("g", "b")]) } else { Vec::new() };
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (expected, usize::from(is_mixed)));
    desk.finish();
}

/// Another session's command stashes the work and pops it: the record has the prompt that led to it.
#[test]
fn the_prompt_of_work_that_another_session_popped_is_in_the_record() {
    let desk = Desk::new();
    desk.turn("b", &[("g", "b\n")]);
    command(&desk, "a", "git stash -q; echo x >>f; git commit -qam f; git stash pop -q");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    let explained = desk.json(&["explain", "HEAD"]);
    assert!(explained.to_string().contains("a wish for b"), "{explained}");
    desk.finish();
}
