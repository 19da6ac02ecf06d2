//! Sessions of Claude Code that meet, case by case, where git alone is used, and where jj shares the repository.

use super::{
    desk::Desk,
    guard::{CONCURRENT, TEMPORARY, allowed, denied, desk, hook},
};
use crate::support::jj;

const CHANGE_OF_A: &str = "Claude Code Session\n\nwhat the user asked for\n\nClaude-Session-Id: session-a";
const WORKSPACE_OF_A: &str = "[Claude Workspace] Temporary workspace for session session-a";

/// Returns a desk for each policy that denies, also with jj, where there is one.
fn desks() -> Vec<(Desk, bool)> {
    let mut desks: Vec<_> = ["refuse", "strict"].map(|policy| (desk(policy), false)).into();
    if jj::is_there(&desks[0].0.world) {
        for policy in ["refuse", "strict"] {
            let desk = desk(policy);
            desk.colocate();
            desk.jj(&["describe", "-m", "user work"]);
            desks.push((desk, true));
        }
    }
    desks
}

/// Makes the worktree stand on a commit, or change, with `message`.
fn go_on(desk: &Desk, is_jj: bool, message: &str) {
    if is_jj {
        desk.jj(&["new", "-m", message]);
    } else {
        desk.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }
}

fn turn(desk: &Desk, session: &str, file: &str) {
    allowed(desk, "UserPromptSubmit", session, "");
    call(desk, session, "1", file);
    allowed(desk, "Stop", session, "");
}

fn call(desk: &Desk, session: &str, call: &str, file: &str) {
    allowed(desk, "PreToolUse", session, call);
    desk.add(file, session);
    allowed(desk, "PostToolUse", session, call);
}

#[test]
fn concurrent_session_on_temp_workspace() {
    for (desk, is_jj) in desks() {
        allowed(&desk, "UserPromptSubmit", "session-a", "");
        allowed(&desk, "PreToolUse", "session-a", "1");
        go_on(&desk, is_jj, WORKSPACE_OF_A);
        let text = denied(&desk, "session-b", TEMPORARY);
        assert_eq!(text.contains("`jj abandon "), is_jj, "{text}");
        assert_eq!(text.contains("`jj edit <your-work>`"), is_jj, "{text}");
        assert_eq!(text.contains("`git switch <your-branch>`"), !is_jj, "{text}");
        allowed(&desk, "PreToolUse", "session-a", "2");
    }
}

#[test]
fn concurrent_session_on_claude_change() {
    for (desk, is_jj) in desks() {
        allowed(&desk, "UserPromptSubmit", "session-a", "");
        go_on(&desk, is_jj, CHANGE_OF_A);
        let text = denied(&desk, "session-b", CONCURRENT);
        let change = if is_jj { desk.change("@") } else { desk.git(&["rev-parse", "HEAD"]) };
        let fields =
            format!("Current change: {}\nThis session:   session-b\nOther session:  session-a\n", &change[..12]);
        assert!(text.ends_with(&fields), "{text}");
    }
}

#[test]
fn poisoned_original_working_copy() {
    for (desk, is_jj) in desks() {
        allowed(&desk, "UserPromptSubmit", "session-b", "");
        allowed(&desk, "PreToolUse", "session-b", "1");
        desk.add("f", "what the tool did");
        if is_jj {
            desk.jj(&["describe", "-m", CHANGE_OF_A]);
        } else {
            desk.git(&["commit", "-q", "--amend", "-m", CHANGE_OF_A]);
        }
        let (chain, archived) = (desk.chain(), desk.git(&["for-each-ref", "refs/checkpoints/archive/"]));
        desk.add("g", "and then");
        let (code, text) = hook(&desk, "PostToolUse", "session-b", "1");
        assert_eq!(code, 2, "{text}");
        let start = format!("Error: {CONCURRENT}\n\nThe stored original working copy ");
        assert!(text.starts_with(&start) && text.contains("\nOther session:  session-a\n"), "{text}");
        assert_eq!(
            desk.chain(),
            [&chain[..], &["unknown f g".to_owned()]].concat(),
            "nothing is saved as the session's"
        );
        let kept = desk.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive/"]);
        assert_ne!(kept, archived, "but it is kept");
        let kept = kept.lines().last().expect("it was kept");
        assert!(desk.git(&["cat-file", "blob", &format!("{kept}:f")]).ends_with("what the tool did\n"));
        // What is still there is not what the next one finds as a person's.
        desk.add("h", "of a person");
        allowed(&desk, "UserPromptSubmit", "session-a", "");
        call(&desk, "session-a", "1", "f");
        assert_eq!(desk.chain()[chain.len() + 1..], ["human h", "session-a f"]);
        desk.assert_sound("after it");
    }
}

#[test]
fn sequential_sessions() {
    for (desk, _) in desks() {
        turn(&desk, "session-a", "f");
        turn(&desk, "session-b", "g");
        assert_eq!(desk.chain(), ["session-a f", "session-b g"]);
        desk.finish();
    }
}

#[test]
fn same_session_continuation() {
    for (desk, is_jj) in desks() {
        allowed(&desk, "UserPromptSubmit", "session-a", "");
        call(&desk, "session-a", "1", "f");
        go_on(&desk, is_jj, WORKSPACE_OF_A);
        call(&desk, "session-a", "2", "f");
        // Two at once.
        allowed(&desk, "PreToolUse", "session-a", "3");
        allowed(&desk, "PreToolUse", "session-a", "4");
        allowed(&desk, "PostToolUse", "session-a", "4");
        allowed(&desk, "PostToolUse", "session-a", "3");
        allowed(&desk, "Stop", "session-a", "");
    }
}

#[test]
fn session_with_own_claude_change() {
    for (desk, is_jj) in desks() {
        for _ in 0..2 {
            turn(&desk, "session-a", "f");
            go_on(&desk, is_jj, CHANGE_OF_A);
            turn(&desk, "session-a", "f");
        }
    }
}

#[test]
fn user_manually_adds_the_trailer() {
    for (desk, is_jj) in desks() {
        go_on(&desk, is_jj, "mine\n\nClaude-Session-Id: made-up");
        if desk.git(&["config", "checkpoint.concurrency"]).trim() == "strict" {
            denied(&desk, "session-b", CONCURRENT);
        } else {
            // There is no live session of that name.
            allowed(&desk, "PreToolUse", "session-b", "1");
        }
    }
}

#[test]
fn user_goes_elsewhere_mid_session() {
    for (desk, is_jj) in desks() {
        turn(&desk, "session-a", "f");
        let tip = desk.shadows().remove(0);
        allowed(&desk, "UserPromptSubmit", "session-b", "");
        if is_jj {
            desk.jj(&["new", "-m", WORKSPACE_OF_A]);
        } else {
            desk.git(&["checkout", "-qf", "--detach", &tip]);
        }
        denied(&desk, "session-b", TEMPORARY);
        if is_jj {
            desk.jj(&["edit", "@-"]);
        } else {
            desk.git(&["checkout", "-qf", "main"]);
        }
        allowed(&desk, "PreToolUse", "session-b", "1");
    }
}

#[test]
fn several_commits_of_one_session() {
    for (desk, is_jj) in desks() {
        for _ in 0..3 {
            go_on(&desk, is_jj, CHANGE_OF_A);
        }
        allowed(&desk, "PreToolUse", "session-a", "1");
        allowed(&desk, "PostToolUse", "session-a", "1");
        allowed(&desk, "UserPromptSubmit", "session-a", "");
        denied(&desk, "session-b", CONCURRENT);
    }
}

#[test]
fn sessions_that_are_over_leave_no_mess() {
    for (desk, _) in desks() {
        turn(&desk, "session-a", "f");
        desk.commit();
        allowed(&desk, "SessionEnd", "session-a", "");
        turn(&desk, "session-b", "g");
    }
}
