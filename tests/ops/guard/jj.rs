//! Repositories that jj shares, with the real jj: `@` is what counts, and looking at it changes nothing.

use git_checkpoint::testing::model::guard::{Report, Where};

use super::{Code, Concurrency, Decision, Ground, after, before, denied};
use crate::support::{World, jj, program};
use Concurrency::{Refuse, Strict};

const WORKSPACE_OF_A: &str = "[Claude Workspace] Temporary workspace for session a";
const CHANGE_OF_A: &str = "Claude Code Session a\n\nwhat the user asked for\n\nClaude-Session-Id: a";

/// Returns a repository of jj and git, with work of the user's at `@`; none without jj.
fn ground() -> Option<Ground> {
    let world = World::new();
    if !jj::is_there(&world) {
        return None;
    }
    world.commit_base();
    world.colocate();
    world.jj(&["describe", "-m", "user work"]);
    world.write("user", "the user's\n");
    world.jj(&["status"]);
    Some(Ground::on(world))
}

/// Returns the report of a denial, after which nothing may be other than before, jj's operations neither.
fn report(ground: &Ground, policy: Concurrency, session: &str) -> Option<Report> {
    let operations = ground.operations();
    let code = denied(ground, policy, session);
    assert_eq!(ground.operations(), operations, "a look is no operation");
    code?;
    before(ground, policy, session, "").report
}

#[rstest::rstest]
fn concurrent_session_on_temp_workspace(#[values(Refuse, Strict)] policy: Concurrency) {
    let Some(ground) = ground() else { return };
    ground.prompt("a");
    before(&ground, policy, "a", "1");
    ground.jj(&["new", "-m", WORKSPACE_OF_A]);
    let report = report(&ground, policy, "b").expect("it is another's");
    assert_eq!((report.code, report.context), (Code::TemporaryWorkspace, Where::Now));
    let change = ground.change("@");
    assert_eq!((report.change.as_deref(), report.other_session.as_deref()), (Some(change.as_str()), Some("a")));
    let text = report.text("Claude");
    let start = "Error: Temporary workspace detected\n\nThe working copy is ";
    assert!(text.starts_with(start) && text.contains("`jj edit <your-work>`"), "{text}");
    assert!(text.contains(&format!("`jj abandon {}`", &change[..12])), "{text}");
    assert!(text.contains(&format!("\nCurrent change: {}\nThis session:   b\n", &change[..12])), "{text}");
    assert_eq!(before(&ground, policy, "a", "2").decision, Decision::Allow, "it may continue in its own change");
}

#[rstest::rstest]
fn concurrent_session_on_claude_change(#[values(Refuse, Strict)] policy: Concurrency) {
    let Some(ground) = ground() else { return };
    ground.prompt("a");
    ground.jj(&["new", "-m", CHANGE_OF_A]);
    ground.jj(&["new", "-m", "user work again"]);
    assert_eq!(denied(&ground, policy, "b"), None, "what is below does not count");
    ground.jj(&["edit", "@-"]);
    let report = report(&ground, policy, "b").expect("it is another's");
    assert_eq!((report.code, report.other_session.as_deref()), (Code::ConcurrentSession, Some("a")));
    let text = report.text("Claude");
    assert!(text.starts_with("Error: Concurrent Claude session detected\n\nThe working copy is a change "), "{text}");
    assert!(text.ends_with("This session:   b\nOther session:  a\n"), "{text}");
}

#[rstest::rstest]
#[case::of_another_session(CHANGE_OF_A, Code::StartingPointMoved)]
#[case::temporary(WORKSPACE_OF_A, Code::TemporaryWorkspace)]
fn poisoned_original_working_copy(
    #[case] message: &str,
    #[case] code: Code,
    #[values(Refuse, Strict)] policy: Concurrency,
) {
    let Some(ground) = ground() else { return };
    let original = ground.change("@");
    ground.prompt("b");
    before(&ground, policy, "b", "1");
    ground.write("f", "what the tool did\n");
    ground.jj(&["new", "-m", "elsewhere"]);
    ground.jj(&["describe", "-r", &original, "-m", message]);
    let verdict = after(&ground, policy, "b", "1");
    let report = verdict.report.expect("it is another's");
    assert_eq!((verdict.decision, report.code, report.context), (Decision::Deny, code, Where::Original));
    assert_eq!((report.change, report.other_session), (Some(original), Some("a".into())));
    let kept = verdict.kept.expect("it is kept");
    assert_eq!(ground.git(&["cat-file", "blob", &format!("{kept}:f")]), "what the tool did\n");
}

#[rstest::rstest]
fn sequential_sessions(#[values(Refuse, Strict)] policy: Concurrency) {
    let Some(ground) = ground() else { return };
    for session in ["a", "b"] {
        ground.prompt(session);
        assert_eq!(before(&ground, policy, session, "1").decision, Decision::Allow);
        ground.write(session, "what the tool did\n");
        assert_eq!(after(&ground, policy, session, "1").decision, Decision::Allow);
        ground.stop(session);
    }
}

#[rstest::rstest]
fn same_session_continuation(#[values(Refuse, Strict)] policy: Concurrency) {
    let Some(ground) = ground() else { return };
    ground.prompt("a");
    for call in ["1", "2"] {
        assert_eq!(before(&ground, policy, "a", call).decision, Decision::Allow);
        ground.jj(&["new", "-m", WORKSPACE_OF_A]);
        ground.write(call, "what the tool did\n");
        assert_eq!(after(&ground, policy, "a", call).decision, Decision::Allow);
        ground.jj(&["edit", "@-"]);
    }
}

#[rstest::rstest]
fn session_with_own_claude_change(#[values(Refuse, Strict)] policy: Concurrency) {
    let Some(ground) = ground() else { return };
    ground.prompt("a");
    // More than one commit may have its name.
    for call in ["1", "2"] {
        ground.jj(&["new", "-m", CHANGE_OF_A]);
        assert_eq!(before(&ground, policy, "a", call).decision, Decision::Allow);
        ground.write(call, "what the tool did\n");
        ground.jj(&["status"]);
        assert_eq!(after(&ground, policy, "a", call).decision, Decision::Allow);
    }
}

#[test]
fn the_user_adds_the_trailer_by_hand() {
    let Some(ground) = ground() else { return };
    ground.jj(&["describe", "-m", "mine\n\nClaude-session-ID: made-up"]);
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ConcurrentSession));
    assert_eq!(denied(&ground, Refuse, "b"), None, "no session of that name lives");
}

#[test]
fn the_user_edits_another_change_during_a_call() {
    let Some(ground) = ground() else { return };
    ground.jj(&["new", "-m", CHANGE_OF_A]);
    ground.jj(&["new", "-m", "user work again"]);
    ground.prompt("b");
    before(&ground, Refuse, "b", "1");
    ground.jj(&["edit", "@-"]);
    assert_eq!(after(&ground, Refuse, "b", "1").report.map(|it| it.code), Some(Code::StartingPointMoved));
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ConcurrentSession), "the next call notices it, too");
    // To ordinary work it may be moved.
    ground.jj(&["edit", "@-"]);
    before(&ground, Strict, "b", "2");
    ground.jj(&["new", "-m", "more"]);
    assert_eq!(after(&ground, Strict, "b", "2").decision, Decision::Allow);
}

#[test]
fn leaving_an_abandoned_change_is_allowed() {
    let Some(ground) = ground() else { return };
    let original = ground.change("@");
    ground.prompt("b");
    before(&ground, Strict, "b", "1");
    ground.jj(&["new", "root()"]);
    ground.jj(&["abandon", &original]);
    assert_eq!(after(&ground, Strict, "b", "1").decision, Decision::Allow);
}

#[test]
fn an_original_of_which_there_are_two() {
    let Some(ground) = ground() else { return };
    ground.prompt("b");
    before(&ground, Refuse, "b", "1");
    let operation = ground.jj(&["op", "log", "--no-graph", "-n", "1", "-T", "id"]);
    ground.jj(&["describe", "-m", "one"]);
    ground.jj(&["--at-op", &operation, "--ignore-working-copy", "describe", "-m", "two"]);
    ground.jj(&["--ignore-working-copy", "log"]);
    let verdict = after(&ground, Refuse, "b", "1");
    assert_eq!(verdict.report.map(|it| it.code), Some(Code::StartingPointDiverged));
}

#[test]
fn where_jj_has_not_followed_gits_head_counts() {
    let Some(ground) = ground() else { return };
    ground.commit("work\n\nClaude-Session-Id: a");
    assert_eq!(denied(&ground, Strict, "b"), Some(Code::ConcurrentSession));
    ground.jj(&["status"]);
    assert_eq!(denied(&ground, Strict, "b"), None, "now it is what '@' stands on");
}

#[test]
fn gits_own_files_stay_as_they_are() {
    let Some(ground) = ground() else { return };
    ground.write("new", "not seen by jj yet\n");
    let (facts, operations) = (ground.facts(), ground.operations());
    ground.prompt("a");
    before(&ground, Strict, "a", "1");
    after(&ground, Strict, "a", "1");
    assert_eq!((ground.facts(), ground.operations()), (facts, operations));
}

#[test]
fn jj_may_be_switched_off() {
    let Some(ground) = ground() else { return };
    ground.jj(&["new", "-m", WORKSPACE_OF_A]);
    let mut context = git_checkpoint::Context::open(&ground.repo()).expect("a repository");
    context.settings.jj = git_checkpoint::settings::Jj::Off;
    let worktree = super::Worktree::enter(&context, super::Purpose::ToolBegins).expect("the lock is free");
    let verdict =
        git_checkpoint::testing::ops::guard::before_tool(&worktree, &super::who("b", "1")).expect("it can tell");
    assert_eq!(verdict.decision, Decision::Allow);
}

/// Runs `status` where nothing but git is on the PATH.
fn notes_without_jj(world: &World) -> serde_json::Value {
    let bin = world.root().join("bin");
    std::fs::create_dir_all(&bin).expect("directories can be made");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file());
    let link = bin.join("git");
    if !link.exists() {
        std::os::unix::fs::symlink(git.expect("there is a git"), link).expect("links can be made");
    }
    let mut command = world.command(program());
    let output = command.env("PATH", bin).args(["status", "--json"]).output().expect("it runs");
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    status["notes"].clone()
}

#[test]
fn without_the_command_gits_checks_remain() {
    let world = World::with_commit();
    assert_eq!(notes_without_jj(&world), serde_json::json!([]));
    std::fs::create_dir(world.repo().join(".jj")).expect("directories can be made");
    let notes = notes_without_jj(&world);
    assert!(notes[0].as_str().is_some_and(|note| note.starts_with("there is no 'jj' command")), "{notes}");
    // With or without the command: this is no repository of jj's.
    let ground = Ground::on(world);
    ground.commit(WORKSPACE_OF_A);
    assert_eq!(denied(&ground, Refuse, "b"), Some(Code::TemporaryWorkspace));
    assert_eq!(denied(&ground, Refuse, "a"), None);
}
