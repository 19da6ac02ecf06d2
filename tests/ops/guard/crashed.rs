//! Sessions whose process went away while they had a claim.

use git_checkpoint::testing::model::session::Phase;

use super::{Code, Concurrency, Decision, Ground, after, before, denied, sessions};
use Concurrency::{Refuse, Strict};

/// Returns contributor and session of the chain's checkpoints, oldest first.
fn chain(ground: &Ground) -> String {
    let format = "--format=%(trailers:key=Checkpoint-Contributor,valueonly,separator=)\
        /%(trailers:key=Checkpoint-Session,valueonly,separator=)";
    let tip = ground.shadows().remove(0);
    let text = ground.git(&["log", "--first-parent", "--reverse", format, &format!("HEAD..{tip}")]);
    text.trim().replace('\n', " ")
}

#[rstest::rstest]
fn what_it_may_have_left_is_saved_as_of_an_unknown_author(#[values(Refuse, Strict)] policy: Concurrency) {
    let ground = Ground::new();
    ground.prompt("a");
    before(&ground, policy, "a", "1");
    ground.write("f", "half of it\n");
    ground.kill("a");
    let verdict = before(&ground, policy, "b", "1");
    assert_eq!((verdict.decision, verdict.notes.len()), (Decision::Allow, 1), "{verdict:?}");
    assert!(
        verdict.notes[0].contains("'a' was interrupted") && verdict.notes[0].contains("checkpoint "),
        "{verdict:?}"
    );
    assert_eq!(chain(&ground), "unknown/");
    let tip = ground.shadows().remove(0);
    assert_eq!(ground.git(&["cat-file", "blob", &format!("{tip}:f")]), "half of it\n");
    assert_eq!(before(&ground, policy, "b", "2").notes, Vec::<String>::new(), "the note appears once");
    assert!(!ground.has_claim("a"));
    let shown = sessions::show(&ground.context(policy), Some("a")).expect("it is known").session;
    assert_eq!((shown.state.phase, shown.interrupted), (Phase::Idle, true));
    assert!(ground.done(&["session", "list"]).contains(", interrupted\n"));
    // It may come back.
    ground.prompt("a");
    assert!(!sessions::show(&ground.context(policy), Some("a")).expect("it is known").session.interrupted);
    ground.assert_sound("in the end");
}

#[test]
fn a_prompt_notices_it_first() {
    let ground = Ground::new();
    ground.prompt("a");
    before(&ground, Refuse, "a", "1");
    ground.write("f", "half of it\n");
    ground.kill("a");
    let notes = ground.prompt("b");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(chain(&ground), "unknown/", "not the human's");
    assert_eq!(before(&ground, Refuse, "b", "1").notes, Vec::<String>::new(), "the note appears once");
}

/// A ground where the session `a` died with no tool at work, and a person continued.
fn left_between_tools() -> Ground {
    let ground = Ground::new();
    ground.prompt("a");
    before(&ground, Refuse, "a", "1");
    after(&ground, Refuse, "a", "1");
    // As the event does that asks the guard, once what the call has changed is saved.
    ground.edit("a", |entry| entry.calls.clear());
    ground.kill("a");
    ground.write("f", "a person's\n");
    ground
}

#[test]
fn changes_after_a_session_died_between_tools_are_not_its_own() {
    let ground = left_between_tools();
    assert_eq!(before(&ground, Refuse, "b", "1").notes.len(), 1);
    assert!(ground.shadows().is_empty());
}

#[test]
fn changes_before_a_dead_session_resumes_are_not_its_own() {
    let ground = left_between_tools();
    assert_eq!(ground.prompt("a"), Vec::<String>::new());
    assert_eq!(chain(&ground), "human/");
    ground.assert_sound("in the end");
}

#[test]
fn its_file_may_be_gone_too() {
    let ground = Ground::new();
    before(&ground, Strict, "a", "1");
    ground.write("f", "half of it\n");
    ground.kill("a");
    assert_eq!(before(&ground, Strict, "b", "1").notes.len(), 1);
    assert_eq!(chain(&ground), "unknown/");
}

#[test]
fn it_comes_back_itself() {
    let ground = Ground::new();
    ground.prompt("a");
    before(&ground, Strict, "a", "1");
    ground.write("f", "half of it\n");
    ground.kill("a");
    // The turn that was never stopped is closed, as ever.
    assert_eq!(ground.prompt("a"), Vec::<String>::new());
    assert_eq!(chain(&ground), "unknown/");
    assert_eq!(before(&ground, Strict, "a", "2").decision, Decision::Allow);
}

#[test]
fn a_denied_tool_call_closes_no_dead_session() {
    let ground = Ground::new();
    for session in ["a", "b"] {
        before(&ground, Refuse, session, "1");
    }
    ground.kill("a");
    assert_eq!(denied(&ground, Strict, "c"), Some(Code::ToolCallOpen));
    assert!(ground.has_claim("a"));
}

#[test]
fn a_claim_from_another_host_holds_for_stale_after() {
    let ground = Ground::new();
    before(&ground, Strict, "a", "1");
    ground.edit("a", |entry| entry.process.as_mut().expect("it is known").place.host = "elsewhere".into());
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ToolCallOpen));
    let seen = |minutes_ago: i64| {
        ground.edit("a", |entry| entry.seen = jiff::Timestamp::now().as_second() - 60 * minutes_ago);
    };
    seen(29);
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ToolCallOpen));
    seen(31);
    assert_eq!(before(&ground, Strict, "b", "1").notes.len(), 1);
}

#[test]
fn a_claim_of_a_living_process_holds_without_signs_of_life() {
    let ground = Ground::new();
    before(&ground, Strict, "a", "1");
    ground.edit("a", |entry| entry.seen = 1);
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ToolCallOpen));
}

#[test]
fn damage_is_no_claim() {
    let ground = Ground::new();
    before(&ground, Strict, "a", "1");
    std::fs::write(ground.turns_file(), "\0").expect("it is ours");
    assert_eq!(before(&ground, Strict, "b", "1").notes, Vec::<String>::new());
}
