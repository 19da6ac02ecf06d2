//! The rows of the table, one by one.

use git_checkpoint::testing::model::guard::Where;

use super::{Code, Concurrency, Decision, Ground, after, before, denied};
use Concurrency::{Off, Refuse, Strict, Warn};

const NAMED: Option<Code> = Some(Code::ConcurrentSession);
const TEMPORARY: Option<Code> = Some(Code::TemporaryWorkspace);

#[rstest::rstest]
fn ordinary_work_of_two_sessions_is_allowed(#[values(Refuse, Strict, Warn, Off)] policy: Concurrency) {
    let ground = Ground::new();
    for session in ["a", "b"] {
        ground.prompt(session);
        // Several tools in a row, parallel ones, and a commit of its own in between.
        for calls in [&["1"][..], &["2", "3"]] {
            for call in calls {
                let verdict = before(&ground, policy, session, call);
                assert_eq!((verdict.decision, verdict.notes.len()), (Decision::Allow, 0), "{verdict:?}");
            }
            ground.commit(&format!("work\n\nClaude-Session-Id: {session}"));
            for call in calls {
                let verdict = after(&ground, policy, session, call);
                assert_eq!((verdict.decision, verdict.is_attributed), (Decision::Allow, true), "{verdict:?}");
            }
        }
        ground.commit("of a person's");
        ground.stop(session);
    }
    assert!(!ground.has_claim("a") && !ground.has_claim("b"));
}

#[rstest::rstest]
#[case::refuse(Refuse, Decision::Allow)]
#[case::strict(Strict, Decision::Deny)]
#[case::warn(Warn, Decision::Allow)]
#[case::off(Off, Decision::Allow)]
fn another_session_has_a_tool_at_work(#[case] policy: Concurrency, #[case] expected: Decision) {
    let ground = Ground::new();
    ground.prompt("a");
    ground.prompt("b");
    assert_eq!(before(&ground, policy, "a", "1").decision, Decision::Allow);
    assert_eq!(before(&ground, policy, "b", "1").decision, expected);
    assert_eq!(before(&ground, policy, "a", "2").decision, Decision::Allow, "its own are no hindrance");
    if expected == Decision::Deny {
        assert!(!ground.has_claim("b"));
        after(&ground, policy, "a", "1");
        assert_eq!(denied(&ground, policy, "b"), Some(Code::ToolCallOpen), "one is still at work");
        after(&ground, policy, "a", "2");
        assert_eq!(denied(&ground, policy, "b"), None);
    }
}

#[rstest::rstest]
#[case::stop(Ground::stop)]
#[case::end(Ground::end)]
#[case::prompt(|ground: &Ground, session: &str| drop(ground.prompt(session)))]
fn a_turn_that_is_over_has_no_claim(#[case] over: fn(&Ground, &str)) {
    let ground = Ground::new();
    ground.prompt("a");
    before(&ground, Strict, "a", "never ends");
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ToolCallOpen));
    over(&ground, "a");
    assert_eq!(denied(&ground, Strict, "b"), None);
}

#[test]
fn heads_message_names_a_session() {
    let ground = Ground::new();
    ground.commit("work\n\nclaude-session-ID: a");
    // No session of that name is known.
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Strict, "b")), (None, NAMED));
    // It is at work.
    ground.prompt("a");
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Strict, "b")), (NAMED, NAMED));
    let warned = before(&ground, Warn, "b", "");
    assert_eq!((warned.decision, warned.report.map(|it| it.code)), (Decision::Warn, NAMED));
    after(&ground, Warn, "b", "");
    assert_eq!((denied(&ground, Refuse, "a"), denied(&ground, Strict, "a")), (None, None), "its own commit");
    // It waits for a prompt: the window is open.
    ground.stop("a");
    assert_eq!(denied(&ground, Refuse, "b"), NAMED);
    // It was left.
    ground.end("a");
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Strict, "b")), (None, NAMED));
}

#[test]
fn a_published_commit_of_another_session_is_allowed() {
    let ground = Ground::new();
    ground.prompt("a");
    let id = ground.commit("work\n\nClaude-Session-Id: a");
    assert_eq!(denied(&ground, Refuse, "b"), NAMED);
    ground.git(&["update-ref", "refs/remotes/origin/main", &id]);
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Strict, "b")), (None, NAMED));
    // Further down, too.
    let tip = ground.commit("a person's");
    ground.git(&["update-ref", "refs/remotes/origin/main", &tip]);
    ground.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    ground.git(&["reset", "-q", "--hard", &id]);
    assert_eq!(denied(&ground, Refuse, "b"), None);
    // Another history is not it.
    ground.git(&["update-ref", "refs/remotes/origin/main", &format!("{id}~1")]);
    assert_eq!(denied(&ground, Refuse, "b"), NAMED);
}

#[rstest::rstest]
#[case::workspace("[Claude Workspace] Temporary workspace for session a", "a")]
#[case::anywhere("wip\n\non top of [Claude Workspace]", "")]
#[case::temp_change("wip\n\nClaude-Temp-Change: a", "a")]
#[case::precommit("wip\n\nClaude-precommit-session-id: a", "a")]
fn a_message_of_a_temporary_workspace(#[case] message: &str, #[case] other: &str) {
    let ground = Ground::new();
    let id = ground.commit(message);
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Strict, "b")), (TEMPORARY, TEMPORARY));
    let report = before(&ground, Refuse, "b", "").report.expect("a denial says why");
    assert_eq!((report.change, report.this_session.as_str()), (Some(id), "b"));
    assert_eq!(report.other_session.unwrap_or_default(), other);
    assert_eq!(denied(&ground, Strict, "a").is_none(), !other.is_empty(), "only its own is allowed");
}

#[test]
fn tool_calls_on_a_detached_checkpoint_are_denied() {
    let ground = Ground::new();
    ground.prompt("a");
    ground.write("f", "of a's\n");
    ground.stop("a");
    let tip = ground.shadows().remove(0);
    let branch = ground.git(&["symbolic-ref", "--short", "HEAD"]);
    ground.git(&["checkout", "-qf", "--detach", &tip]);
    for session in ["a", "b"] {
        assert_eq!((denied(&ground, Refuse, session), denied(&ground, Strict, session)), (TEMPORARY, TEMPORARY));
    }
    let text = before(&ground, Refuse, "b", "").report.expect("a denial says why").text("Claude");
    assert!(text.starts_with("Error: Temporary workspace detected\n"), "{text}");
    assert!(text.contains("`git switch <your-branch>`") && text.contains("Other session:  a\n"), "{text}");
    // Other commits below our refs are not for the user to work on either.
    ground.git(&["checkout", "-qf", branch.trim()]);
    let id = ground.commit("something");
    ground.git(&["checkout", "-qf", "--detach", &id]);
    assert_eq!(denied(&ground, Strict, "b"), None, "an ordinary commit");
    ground.git(&["update-ref", "refs/checkpoints/anything", &id]);
    assert_eq!(denied(&ground, Refuse, "b"), TEMPORARY);
}

#[test]
fn the_worktree_was_made_for_another_session() {
    let ground = Ground::new().linked();
    let folder = ground.git_dir().join("checkpoint");
    std::fs::create_dir_all(&folder).expect("directories can be made");
    std::fs::write(folder.join("owner"), "a\n").expect("it can be written");
    let code = Some(Code::AgentWorktree);
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Strict, "b")), (code, code));
    assert_eq!((denied(&ground, Refuse, "a"), denied(&ground, Strict, "a")), (None, None));
    // The session that takes it over may continue.
    ground.prompt("b");
    git_checkpoint::testing::ops::sessions::adopt(&ground.context(Refuse), "b", true).expect("it is known");
    assert_eq!((denied(&ground, Refuse, "b"), denied(&ground, Refuse, "a")), (None, code));
}

#[rstest::rstest]
#[case::moved("work\n\nClaude-Session-Id: x", Code::StartingPointMoved)]
#[case::temporary("[Claude Workspace] Temporary workspace for session x", Code::TemporaryWorkspace)]
fn the_starting_point_becomes_anothers(#[case] message: &str, #[case] code: Code) {
    let ground = Ground::new();
    ground.prompt("a");
    before(&ground, Refuse, "a", "1");
    ground.write("f", "what the tool did\n");
    ground.git(&["commit", "-q", "--amend", "--allow-empty", "-m", message]);
    let (mut facts, chain) = (ground.everything(), ground.shadows());
    let verdict = after(&ground, Refuse, "a", "1");
    let report = verdict.report.expect("a denial says why");
    assert_eq!((verdict.decision, report.code, report.context), (Decision::Deny, code, Where::Original));
    assert!(report.text("Claude").contains("The stored original working copy "), "{report:?}");
    // What the tool did is kept, and nothing else has changed but the claim.
    let kept = verdict.kept.expect("it is kept").to_string();
    assert_eq!(ground.git(&["cat-file", "blob", &format!("{kept}:f")]), "what the tool did\n");
    assert!(ground.git(&["for-each-ref", "refs/checkpoints/archive/"]).contains(&kept));
    assert_eq!(ground.shadows(), chain);
    let mut now = ground.everything();
    for name in ["refs", "objects"].map(Into::into).into_iter().chain([ground.turns_file().display().to_string()]) {
        facts.remove(&name);
        now.remove(&name);
    }
    for (name, content) in facts {
        assert_eq!(now.get(&name), Some(&content), "{name}");
    }
    ground.assert_sound("after it");
}

#[test]
fn head_may_move_during_a_call() {
    let ground = Ground::new();
    ground.prompt("a");
    let moves: [(&str, &str); 4] = [
        ("ordinary", "work"),
        ("own", "work\n\nCheckpoint-Session: a"),
        ("record", "work\n\nCheckpoint: 0123456789abcdef"),
        ("in the text", "about Claude-Session-Id: x\n\nmore"),
    ];
    for (name, message) in moves {
        before(&ground, Strict, "a", name);
        ground.commit(message);
        assert_eq!(after(&ground, Strict, "a", name).decision, Decision::Allow, "{name}");
    }
    // Pulled commits belong to all sessions, except with `strict`.
    for (policy, expected) in [(Refuse, Decision::Allow), (Strict, Decision::Deny)] {
        ground.commit("mine");
        before(&ground, policy, "a", "pull");
        let id = ground.commit("theirs\n\nClaude-Session-Id: x");
        ground.git(&["update-ref", "refs/remotes/origin/main", &id]);
        assert_eq!(after(&ground, policy, "a", "pull").decision, expected);
    }
    // Without `strict`, a call may begin on a commit of a session that has ended, and rewrite it.
    before(&ground, Refuse, "a", "amend");
    ground.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    ground.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "better\n\nClaude-Session-Id: x"]);
    assert_eq!(after(&ground, Refuse, "a", "amend").decision, Decision::Allow);
}

#[test]
fn a_call_that_moves_to_a_checkpoint() {
    let ground = Ground::new();
    ground.prompt("x");
    ground.write("f", "of x's\n");
    ground.stop("x");
    let tip = ground.shadows().remove(0);
    ground.prompt("a");
    before(&ground, Refuse, "a", "1");
    ground.git(&["checkout", "-qf", "--detach", &tip]);
    let verdict = after(&ground, Refuse, "a", "1");
    assert_eq!(verdict.report.map(|it| it.code), TEMPORARY);
    assert!(verdict.kept.is_some());
}

#[rstest::rstest]
fn a_session_file_removed_during_a_tool_call_makes_the_author_unknown(#[values(true, false)] is_all: bool) {
    let ground = Ground::new();
    ground.write("f", "a person's\n");
    ground.done(&["save"]);
    ground.prompt("a");
    before(&ground, Strict, "a", "1");
    let folder = ground.git_dir().join("checkpoint");
    if is_all {
        std::fs::remove_dir_all(&folder).expect("it is there");
    } else {
        std::fs::remove_file(folder.join("sessions/a.toml")).expect("it is there");
    }
    let verdict = after(&ground, Strict, "a", "1");
    assert_eq!((verdict.decision, verdict.is_attributed), (Decision::Allow, false));
    let status = ground.json(&["status", "--json"]);
    assert!(status["notes"][0].as_str().is_some_and(|note| note.contains("'a'")), "{status}");
    assert!(ground.done(&["status"]).contains("\nNotes:\n\tthe file of the session 'a'"));
    // A new turn is a new start.
    ground.prompt("a");
    assert_eq!(ground.json(&["status", "--json"])["notes"], serde_json::json!([]));
    before(&ground, Strict, "a", "2");
    assert!(after(&ground, Strict, "a", "2").is_attributed);
    // A session of which nothing was known before is another matter.
    assert!(after(&ground, Strict, "late", "3").is_attributed);
}

#[test]
fn an_unborn_head_belongs_to_no_session() {
    let world = crate::support::World::new();
    world.git(&["init", "-q", "."]);
    let ground = Ground::on(world);
    ground.prompt("a");
    assert_eq!(before(&ground, Strict, "a", "1").decision, Decision::Allow);
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ToolCallOpen));
    let text = before(&ground, Strict, "b", "").report.expect("a denial says why").text("Codex");
    assert!(text.contains("Concurrent Codex session") && !text.contains("Current change"), "{text}");
    ground.commit("first");
    assert_eq!(after(&ground, Strict, "a", "1").decision, Decision::Allow);
}

#[test]
fn ids_that_cannot_be_are_refused() {
    let ground = Ground::new();
    for id in ["", "a\nb", &"x".repeat(300)] {
        let refused = ground.at(Strict, |worktree| {
            git_checkpoint::testing::ops::guard::before_tool(worktree, &super::who(id, "")).expect_err("no id")
        });
        assert!(refused.message().contains("session id"), "{refused}");
    }
}
