//! Commits in the middle of a turn, several of them, interrupted turns, and the transcript that is completed.

use std::io::BufRead as _;

use super::{
    desk::{Desk, changed, parts},
    moved::{TOOL, blamed, command, tell},
};
use crate::support::template::Template;

/// Returns what the records of `commit` hold of transcripts.
fn transcript(desk: &Desk, commit: &str) -> String {
    let mut text = String::new();
    for record in desk.records(commit) {
        for chunk in record.sessions.iter().flat_map(|session| &session.chunks) {
            text += &desk.git(&["cat-file", "blob", &chunk.id.to_string()]);
            text.push('\n');
        }
    }
    text
}

/// A desk with a turn under way whose transcript is `log`.
static UNDER_WAY: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    say(&desk, "asked");
    let log = desk.world.root().join("log");
    let log = log.to_str().expect("plain");
    desk.json(&["session", "start", "a", "--transcript", log, "--agent", "tester"]);
    desk.prompt("a");
});

fn under_way() -> Desk {
    Desk::after(&UNDER_WAY)
}

fn say(desk: &Desk, text: &str) {
    desk.sh(&format!("echo '{{\"text\":\"{text}\"}}' >>../log"));
}

#[test]
fn the_agent_commits_and_the_transcript_is_completed_at_stop() {
    let desk = under_way();
    desk.write("f", changed(&[(3, "a")]));
    desk.json(&["save", "--session", "a"]);
    say(&desk, "committing");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    assert!(desk.records("HEAD")[0].sessions[0].is_partial);
    assert_eq!(desk.sessions()["a"]["phase"], "active");
    say(&desk, "done");
    desk.stop("a");
    let record = &desk.records("HEAD")[0];
    assert!(!record.sessions[0].is_partial && record.revision == 2, "{record:#?}");
    let text = transcript(&desk, "HEAD");
    for word in ["asked", "committing", "done"] {
        assert_eq!(text.matches(word).count(), 1, "{word}: {text}");
    }
    assert_eq!(desk.sessions()["a"]["phase"], "idle");
    desk.finish();
}

#[test]
fn a_commit_after_the_first_one_has_the_end_of_the_transcript() {
    let desk = under_way();
    desk.write("f", changed(&[(3, "a")]));
    desk.json(&["save", "--session", "a"]);
    desk.commit_all();
    say(&desk, "more");
    desk.write("g", "a");
    desk.json(&["save", "--session", "a"]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    let [first, second] = ["HEAD~1", "HEAD"].map(|commit| transcript(&desk, commit));
    assert_eq!((first.contains("more"), second.contains("more")), (true, true), "{first}\n{second}");
    desk.finish();
}

#[test]
fn unsaved_changes_in_a_commit_are_the_only_open_turns() {
    let desk = under_way();
    desk.write("f", changed(&[(3, "a")]));
    desk.commit_all();
    desk.stop("a");
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (parts(&[("f", "a")]), 1));
    desk.finish();
}

/// A turn whose agent is gone without a word grows old although the user commits.
#[test]
fn a_commit_by_hand_is_no_sign_of_life() {
    let desk = under_way();
    let file = desk.world.repo().join(".git/checkpoint/sessions/a.toml");
    let seen = || {
        let text = std::fs::read_to_string(&file).expect("it is known");
        text.lines().find(|line| line.starts_with("last-seen")).expect("it was seen").to_owned()
    };
    desk.sh("sed -i \"s/^last-seen = .*/last-seen = $(($(date +%s) - 60))/\" .git/checkpoint/sessions/a.toml");
    let before = seen();
    desk.write("f", changed(&[(3, "a")]));
    desk.commit_all();
    assert_eq!((seen(), desk.recorded("HEAD")), (before.clone(), parts(&[("f", "a")])));
    desk.json(&["save", "--session", "a"]);
    assert_ne!(seen(), before);
    desk.finish();
}

#[test]
fn unsaved_changes_in_a_commit_are_unknown_if_two_turns_are_open() {
    let desk = two_under_way();
    desk.commit_all();
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (parts(&[("f", "a"), ("g", "")]), 1));
    assert_eq!(desk.records("HEAD")[0].counts.unknown, 1, "{:?}", desk.records("HEAD"));
    desk.finish();
}

#[test]
fn several_commits_in_a_turn() {
    let desk = under_way();
    for path in ["one", "two", "three"] {
        desk.work("a", &[(path, "a\n")]);
        say(&desk, path);
        desk.commit_all();
        assert_eq!(desk.recorded("HEAD"), parts(&[(path, "a")]));
    }
    say(&desk, "over");
    desk.stop("a");
    let ids: std::collections::BTreeSet<String> =
        ["HEAD", "HEAD^", "HEAD~2"].iter().flat_map(|commit| desk.trailers(commit)).collect();
    assert_eq!(ids.len(), 3);
    for commit in ["HEAD", "HEAD^", "HEAD~2"] {
        let record = &desk.records(commit)[0];
        assert!(!record.sessions[0].is_partial, "{commit}: {record:#?}");
        assert_eq!(record.sessions[0].turns, [1]);
    }
    let text = ["HEAD~2", "HEAD^", "HEAD"].map(|commit| transcript(&desk, commit)).concat();
    for word in ["asked", "one", "two", "three", "over"] {
        assert_eq!(text.matches(word).count(), 1, "{word}: {text}");
    }
    desk.finish();
}

#[test]
fn a_part_committed_in_mid_turn_and_the_rest_after_it() {
    let desk = under_way();
    desk.work("a", &[("one", "a\n"), ("two", "a\n"), ("three", "a\n")]);
    desk.git(&["add", "one"]);
    desk.commit();
    assert_eq!((desk.recorded("HEAD"), desk.chain()), (parts(&[("one", "a")]), vec!["a*".into()]));
    desk.work("a", &[("four", "a\n")]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("four", "a"), ("three", "a"), ("two", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn the_flag_of_a_turn_survives_no_commit() {
    let desk = Desk::new();
    desk.turn("old", &[("f", &changed(&[(3, "old")]))]);
    desk.git(&["stash", "-q"]);
    assert_eq!(desk.prompt("a"), "clean");
    desk.git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    desk.work("a", &[("g", "a\n")]);
    desk.work("a", &[("h", "a\n")]);
    desk.stop("a");
    assert_eq!(desk.saved("f"), Some(changed(&[])));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "a")]));
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "old")]));
    desk.finish();
}

#[test]
fn an_interrupted_turn_is_closed_by_the_next_prompt() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.write("f", changed(&[(3, "a")]));
    // The user interrupts: no stop comes.
    assert_eq!(desk.prompt("a"), "overlap");
    assert_eq!((desk.chain(), &desk.sessions()["a"]["turn"]), (vec!["a".into()], &2.into()));
    desk.work("a", &[("g", "a\n")]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "a")]));
    assert_eq!(desk.records("HEAD")[0].sessions[0].turns, [1, 2]);
    desk.finish();
}

#[test]
fn stop_and_end_save_the_unsaved_changes_of_a_turn() {
    for how in ["stop", "end"] {
        let desk = Desk::new();
        desk.prompt("a");
        desk.write("g", "a\n");
        let stopped = desk.json(&["session", how, "a"]);
        assert_eq!(stopped["checkpoint"]["contributor"], "agent");
        desk.commit_all();
        assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
        desk.finish();
    }
}

#[test]
fn an_ended_sessions_work_is_linked() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.json(&["session", "end", "a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    assert_eq!(desk.sessions()["a"]["phase"], "ended");
    desk.finish();
}

#[test]
fn prompts_of_all_turns_are_in_the_record() {
    let desk = Desk::new();
    for (turn, text) in ["first", "second", "third"].iter().enumerate() {
        desk.json(&["session", "prompt", "a", "-m", text]);
        desk.work("a", &[("f", &changed(&[(u32::try_from(turn).expect("few") + 3, text)]))]);
        desk.stop("a");
    }
    desk.commit_all();
    let record = &desk.records("HEAD")[0];
    assert_eq!(record.sessions[0].turns, [1, 2, 3]);
    let context = desk.context();
    let prompts =
        git_checkpoint::testing::ops::records::prompts(git_checkpoint::testing::repo(&context), &record.id, 0)
            .expect("sound");
    assert_eq!(prompts.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["first", "second", "third"]);
    desk.finish();
}

#[test]
fn edits_by_hand_before_a_turn_stay_a_humans_over_a_commit_in_it() {
    let desk = Desk::new();
    desk.write("h", "by hand\n");
    desk.write("untracked", "by hand\n");
    desk.prompt("a");
    desk.write("g", "a\n");
    desk.git(&["commit", "-qm", "a commit", "--allow-empty"]);
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "a"), ("h", ""), ("untracked", "")]));
    desk.finish();
}

/// The agent has reported tools in an earlier turn, and none in this one yet: what changes now has an unknown author.
#[rstest::rstest]
fn edits_by_hand_before_a_turn_stay_a_humans_over_a_commit_before_its_first_tool(
    #[values("--amend -m other", "--allow-empty -m other", "-m other n")] commit: &str,
) {
    let desk = Desk::new();
    command(&desk, "a", "echo 'a line' >g");
    desk.commit_all();
    desk.write("n", "by hand\n");
    desk.write("untracked", "by hand\n");
    desk.git(&["add", "n"]);
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    desk.sh(&format!("git commit -q {commit}"));
    tell(&desk, "a", "PreToolUse", TOOL);
    desk.sh("echo 'a line' >>h");
    tell(&desk, "a", "PostToolUse", TOOL);
    tell(&desk, "a", "Stop", "");
    desk.commit_all();
    let owners = ["n", "untracked", "h"].map(|path| blamed(&desk, path).pop());
    assert_eq!(owners, ["by hand: human", "by hand: human", "a line: a"].map(|it| Some(it.to_owned())));
    desk.finish();
}

/// The turn sets aside work that is no longer in the worktree, and the commit runs no hooks.
#[test]
fn edits_by_hand_before_a_turn_that_begins_afresh_stay_a_humans_over_a_commit_in_it() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    desk.sh("git checkout -q g; echo 'by hand' >>f");
    command(&desk, "a", "echo 'by a command' >>f; git -c core.hooksPath=/dev/null commit -qam f");
    assert_eq!(blamed(&desk, "f"), ["by hand: human", "by a command: unknown"]);
    desk.finish();
}

#[test]
fn edits_by_hand_that_were_committed_in_a_turn_are_not_saved_again() {
    let desk = Desk::new();
    desk.write("h", "by hand\n");
    desk.prompt("a");
    desk.commit_all();
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    assert_eq!(desk.chain(), ["a"]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn edits_by_hand_before_a_turn_stay_a_humans_over_a_reset_in_it() {
    let desk = Desk::new();
    desk.turn("old", &[("f", &changed(&[(3, "old")]))]);
    desk.write("h", "by hand\n");
    desk.prompt("a");
    desk.json(&["reset", "--force"]);
    desk.work("a", &[("g", "a\n")]);
    assert_eq!(desk.chain(), ["human", "a"]);
    desk.stop("a");
    desk.finish();
}

#[test]
fn a_question_with_something_only_staged_takes_no_checkpoint() {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "staged")]));
    desk.git(&["add", "f"]);
    desk.write("f", changed(&[]));
    desk.question("a");
    assert_eq!(desk.shadow(), None);
    // Staging content that a checkpoint has takes no checkpoint.
    desk.git(&["restore", "--staged", "f"]);
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["add", "g"]);
    let chain = desk.chain();
    desk.turn("a", &[("h", "a\n")]);
    assert_eq!(desk.chain(), [chain, vec!["a".into()]].concat());
    desk.finish();
}

#[test]
fn a_long_transcript_loses_its_beginning_and_continues_in_the_next_commit() {
    let desk = under_way();
    desk.git(&["config", "checkpoint.transcript.max-size", "60"]);
    for word in ["first", "second", "third", "fourth", "last"] {
        say(&desk, word);
    }
    desk.write("f", changed(&[(3, "a")]));
    desk.stop("a");
    desk.commit_all();
    let text = transcript(&desk, "HEAD");
    assert!(!text.contains("first") && text.contains("last") && text.starts_with("{\"text\""), "{text}");
    say(&desk, "after");
    desk.turn("a", &[("g", "again\n")]);
    desk.commit_all();
    let text = transcript(&desk, "HEAD");
    assert!(text.contains("after") && !text.contains("last"), "{text}");
    desk.finish();
}

/// Sessions `a` and `b` are both at work, and something is unsaved that either may have written.
static TWO_UNDER_WAY: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.prompt("a");
    desk.prompt("b");
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("g", "of one of them\n");
});

fn two_under_way() -> Desk {
    Desk::after(&TWO_UNDER_WAY)
}

#[rstest::rstest]
#[case::stop(&["session", "stop", "a"])]
#[case::end(&["session", "end", "a"])]
#[case::prompt_of_the_same(&["session", "prompt", "a"])]
fn unsaved_changes_of_one_of_two_turns_have_an_unknown_author(#[case] event: &[&str]) {
    let desk = two_under_way();
    desk.json(event);
    assert_eq!(desk.chain(), ["a", "unknown"]);
    desk.work("b", &[("h", "b\n")]);
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", ""), ("h", "b")]));
    let counts = &desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human, counts.unknown), (2, 0, 1));
    desk.finish();
}

#[test]
fn unsaved_changes_at_a_third_prompt_have_an_unknown_author() {
    let desk = two_under_way();
    desk.prompt("c");
    desk.work("c", &[("h", "c\n")]);
    desk.stop("c");
    assert_eq!(desk.chain(), ["a", "unknown", "c"]);
    desk.finish();
}

#[test]
fn the_last_turn_under_way_has_done_what_it_leaves() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.prompt("b");
    desk.stop("a");
    desk.write("g", "b\n");
    desk.stop("b");
    assert_eq!(desk.chain(), ["b"]);
    desk.finish();
}

#[rstest::rstest]
#[case::save(&["save"])]
#[case::save_verified(&["save", "--verify"])]
#[case::restore(&["restore", "@{0}", "--", "mine"])]
fn saves_by_hand_in_the_only_open_turn_are_the_sessions(#[case] command: &[&str]) {
    let desk = Desk::new();
    desk.write("mine", "human\n");
    if command[0] == "restore" {
        desk.json(&["save"]);
    }
    desk.prompt("a");
    desk.write("g", "a\n");
    if command[0] == "restore" {
        desk.write("mine", "a\n");
    }
    desk.json(command);
    assert_eq!(desk.chain()[..2], ["human", "a"]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("mine", "")]));
    // The turn has ended.
    desk.write("g", "human\n");
    assert_eq!(desk.json(&["save"])["contributor"], "human");
    desk.finish();
}

/// What a session has changed in its open turn is its own before it is saved, too: a dry run says what the restore does.
#[test]
fn a_restore_in_the_only_open_turn_takes_back_what_the_session_has_not_saved() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.write("g", "one\n");
    desk.json(&["save"]);
    desk.write("g", "two\n");
    let planned = desk.json(&["restore", "--dry-run", "@{0}"]);
    let restored = desk.json(&["restore", "@{0}"]);
    assert_eq!((&planned["written"], &restored["written"]), (&["g"].into(), &["g"].into()), "{planned}");
    assert_eq!(desk.read("g"), "one\n");
    desk.finish();
}

#[rstest::rstest]
#[case::by_the_option_contributor(&["save", "--contributor", "human"], "human")]
#[case::of_several_sessions(&["save"], "unknown")]
fn a_save_by_hand_in_a_turn_may_have_another_contributor(#[case] command: &[&str], #[case] whose: &str) {
    let desk = Desk::new();
    desk.prompt("a");
    if whose == "unknown" {
        desk.prompt("b");
    }
    desk.write("g", "?\n");
    assert_eq!(desk.json(command)["contributor"], whose);
    desk.finish();
}

#[rstest::rstest]
#[case::plain(&["save", "--session", "a"])]
#[case::verified(&["save", "--session", "a", "--verify"])]
fn a_save_of_what_the_turn_began_with_names_the_checkpoint_of_that(#[case] command: &[&str]) {
    let desk = Desk::new();
    desk.write("mine", "human\n");
    desk.prompt("a");
    let saved = desk.json(command);
    let id = saved["id"].as_str().expect("something holds the state");
    assert_eq!((saved["created"].as_bool(), desk.git(&["show", &format!("{id}:mine")])), (Some(false), "human".into()));
    assert_eq!(saved["verified"], command.contains(&"--verify"));
    desk.json(&["save", "--session", "a", "--allow-empty"]);
    desk.stop("a");
    let reached = desk.git(&["for-each-ref", "--contains", id, "refs/checkpoints/shadow/"]);
    assert!(!reached.is_empty(), "git may remove '{id}'");
    desk.remove("mine");
    desk.world.done(&["restore", id]);
    assert_eq!(desk.read("mine"), "human\n");
    desk.finish();
}

#[test]
fn a_save_of_what_a_commit_left_of_the_turns_beginning_is_held() {
    let desk = Desk::new();
    desk.write("mine", "human\n");
    desk.write("other", "human\n");
    desk.prompt("a");
    desk.git(&["add", "mine"]);
    desk.commit();
    let saved = desk.json(&["save", "--session", "a"]);
    let id = saved["id"].as_str().expect("something holds the state");
    assert_eq!(desk.git(&["show", &format!("{id}:other")]), "human");
    let reached = desk.git(&["for-each-ref", "--contains", id, "refs/checkpoints/"]);
    assert!(!reached.is_empty(), "git may remove '{id}'");
    desk.finish();
}

/// Returns the log of operations.
fn events(desk: &Desk) -> Vec<serde_json::Value> {
    let log = desk.ours(&["events", "--json"]).stdout;
    log.lines().map(|line| serde_json::from_slice(line.expect("it is text").as_bytes()).expect("it is JSON")).collect()
}

/// The turn has only published what it began with: that is enough to set the stashed work aside, and all of it is in the log.
#[rstest::rstest]
#[case::of_what_it_began_with(None, false)]
#[case::of_a_change(Some("g"), true)]
fn the_first_save_of_a_turn_that_sets_a_shadow_aside_says_so(#[case] changes: Option<&str>, #[case] created: bool) {
    let desk = Desk::new();
    desk.turn("old", &[("f", &changed(&[(3, "old")]))]);
    desk.git(&["stash", "-q"]);
    desk.write("mine", "human\n");
    let aside = desk.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]);
    desk.prompt("a");
    if let Some(path) = changes {
        desk.write(path, "a\n");
    }
    let before = events(&desk).len();
    let saved = desk.json(&["save", "--session", "a"]);
    assert_eq!((&saved["created"], &saved["reset"]), (&created.into(), &true.into()), "{saved}");
    let events = events(&desk).split_off(before);
    assert_eq!((&events[0]["event"], &events[0]["tip"]), (&"reset".into(), &aside.as_str().into()), "{events:#?}");
    let archive = events[0]["archive"].as_str().expect("it is named");
    assert_eq!(desk.git(&["rev-parse", archive]), aside);
    let taken: Vec<_> = events[1..].iter().map(|event| (&event["event"], &event["to"], &event["paths"])).collect();
    let shadow = desk.git(&["rev-list", "--first-parent", "--reverse", "HEAD..", saved["ref"].as_str().unwrap_or("")]);
    let expected: Vec<serde_json::Value> = shadow.lines().map(Into::into).collect();
    assert_eq!(taken.len(), 1 + usize::from(created), "{events:#?}");
    for (taken, id) in taken.iter().zip(&expected) {
        assert_eq!(*taken, (&"checkpoint".into(), id, &1.into()));
    }
    desk.finish();
}

#[test]
fn a_restore_in_a_turn_that_has_done_nothing_yet() {
    let desk = Desk::new();
    desk.write("mine", "before\n");
    desk.json(&["save"]);
    desk.write("mine", "human\n");
    desk.prompt("a");
    desk.json(&["restore", "@{0}"]);
    assert_eq!(desk.read("mine"), "before\n");
    desk.json(&["undo"]);
    assert_eq!(desk.read("mine"), "human\n");
    desk.finish();
}
