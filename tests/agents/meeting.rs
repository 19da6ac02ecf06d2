//! Sessions of Claude Code that meet, case by case, where git alone is used, and where jj shares the repository.

use super::guard::{CONCURRENT, TEMPORARY, allowed, denied, hook, world};
use crate::support::{World, jj};

const CHANGE_OF_A: &str = "Claude Code Session\n\nwhat the user asked for\n\nClaude-Session-Id: session-a";
const WORKSPACE_OF_A: &str = "[Claude Workspace] Temporary workspace for session session-a";

/// Returns a world for each policy that denies, also with jj, where there is one.
fn worlds() -> Vec<(World, bool)> {
    let mut worlds: Vec<_> = ["refuse", "strict"].map(|policy| (world(policy), false)).into();
    if jj::is_there(&worlds[0].0) {
        for policy in ["refuse", "strict"] {
            let world = world(policy);
            world.colocate();
            world.jj(&["describe", "-m", "user work"]);
            worlds.push((world, true));
        }
    }
    worlds
}

/// Makes the worktree stand on a commit, or change, with `message`.
fn go_on(world: &World, is_jj: bool, message: &str) {
    if is_jj {
        world.jj(&["new", "-m", message]);
    } else {
        world.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }
}

fn turn(world: &World, session: &str, file: &str) {
    allowed(world, "UserPromptSubmit", session, "");
    call(world, session, "1", file);
    allowed(world, "Stop", session, "");
}

fn call(world: &World, session: &str, call: &str, file: &str) {
    allowed(world, "PreToolUse", session, call);
    world.add(file, session);
    allowed(world, "PostToolUse", session, call);
}

#[test]
fn concurrent_session_on_temp_workspace() {
    for (world, is_jj) in worlds() {
        allowed(&world, "UserPromptSubmit", "session-a", "");
        allowed(&world, "PreToolUse", "session-a", "1");
        go_on(&world, is_jj, WORKSPACE_OF_A);
        let text = denied(&world, "session-b", TEMPORARY);
        assert_eq!(text.contains("`jj abandon "), is_jj, "{text}");
        assert_eq!(text.contains("`jj edit <your-work>`"), is_jj, "{text}");
        assert_eq!(text.contains("`git switch <your-branch>`"), !is_jj, "{text}");
        allowed(&world, "PreToolUse", "session-a", "2");
    }
}

#[test]
fn concurrent_session_on_claude_change() {
    for (world, is_jj) in worlds() {
        allowed(&world, "UserPromptSubmit", "session-a", "");
        go_on(&world, is_jj, CHANGE_OF_A);
        let text = denied(&world, "session-b", CONCURRENT);
        let change = if is_jj { world.change("@") } else { world.git(&["rev-parse", "HEAD"]) };
        let fields =
            format!("Current change: {}\nThis session:   session-b\nOther session:  session-a\n", &change[..12]);
        assert!(text.ends_with(&fields), "{text}");
    }
}

#[test]
fn poisoned_original_working_copy() {
    for (world, is_jj) in worlds() {
        allowed(&world, "UserPromptSubmit", "session-b", "");
        allowed(&world, "PreToolUse", "session-b", "1");
        world.add("f", "what the tool did");
        if is_jj {
            world.jj(&["describe", "-m", CHANGE_OF_A]);
        } else {
            world.git(&["commit", "-q", "--amend", "-m", CHANGE_OF_A]);
        }
        let (chain, archived) = (world.chain(), world.git(&["for-each-ref", "refs/checkpoints/archive/"]));
        world.add("g", "and then");
        let (code, text) = hook(&world, "PostToolUse", "session-b", "1");
        assert_eq!(code, 2, "{text}");
        let start = format!("Error: {CONCURRENT}\n\nThe stored original working copy ");
        assert!(text.starts_with(&start) && text.contains("\nOther session:  session-a\n"), "{text}");
        assert_eq!(
            world.chain(),
            [&chain[..], &["unknown f g".to_owned()]].concat(),
            "nothing is saved as the session's"
        );
        let kept = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive/"]);
        assert_ne!(kept, archived, "but it is kept");
        let kept = kept.lines().last().expect("it was kept");
        assert!(world.git(&["cat-file", "blob", &format!("{kept}:f")]).ends_with("what the tool did\n"));
        // What is still there is not what the next one finds as a person's.
        world.add("h", "of a person");
        allowed(&world, "UserPromptSubmit", "session-a", "");
        call(&world, "session-a", "1", "f");
        assert_eq!(world.chain()[chain.len() + 1..], ["human h", "session-a f"]);
        world.assert_sound("after it");
    }
}

#[test]
fn sequential_sessions() {
    for (world, _) in worlds() {
        turn(&world, "session-a", "f");
        turn(&world, "session-b", "g");
        assert_eq!(world.chain(), ["session-a f", "session-b g"]);
        world.finish();
    }
}

#[test]
fn same_session_continuation() {
    for (world, is_jj) in worlds() {
        allowed(&world, "UserPromptSubmit", "session-a", "");
        call(&world, "session-a", "1", "f");
        go_on(&world, is_jj, WORKSPACE_OF_A);
        call(&world, "session-a", "2", "f");
        // Two at once.
        allowed(&world, "PreToolUse", "session-a", "3");
        allowed(&world, "PreToolUse", "session-a", "4");
        allowed(&world, "PostToolUse", "session-a", "4");
        allowed(&world, "PostToolUse", "session-a", "3");
        allowed(&world, "Stop", "session-a", "");
    }
}

#[test]
fn session_with_own_claude_change() {
    for (world, is_jj) in worlds() {
        for _ in 0..2 {
            turn(&world, "session-a", "f");
            go_on(&world, is_jj, CHANGE_OF_A);
            turn(&world, "session-a", "f");
        }
    }
}

#[test]
fn user_manually_adds_the_trailer() {
    for (world, is_jj) in worlds() {
        go_on(&world, is_jj, "mine\n\nClaude-Session-Id: made-up");
        if world.git(&["config", "checkpoint.concurrency"]).trim() == "strict" {
            denied(&world, "session-b", CONCURRENT);
        } else {
            // There is no live session of that name.
            allowed(&world, "PreToolUse", "session-b", "1");
        }
    }
}

#[test]
fn user_goes_elsewhere_mid_session() {
    for (world, is_jj) in worlds() {
        turn(&world, "session-a", "f");
        let tip = world.shadows().remove(0);
        allowed(&world, "UserPromptSubmit", "session-b", "");
        if is_jj {
            world.jj(&["new", "-m", WORKSPACE_OF_A]);
        } else {
            world.git(&["checkout", "-qf", "--detach", &tip]);
        }
        denied(&world, "session-b", TEMPORARY);
        if is_jj {
            world.jj(&["edit", "@-"]);
        } else {
            world.git(&["checkout", "-qf", "main"]);
        }
        allowed(&world, "PreToolUse", "session-b", "1");
    }
}

#[test]
fn several_commits_of_one_session() {
    for (world, is_jj) in worlds() {
        for _ in 0..3 {
            go_on(&world, is_jj, CHANGE_OF_A);
        }
        allowed(&world, "PreToolUse", "session-a", "1");
        allowed(&world, "PostToolUse", "session-a", "1");
        allowed(&world, "UserPromptSubmit", "session-a", "");
        denied(&world, "session-b", CONCURRENT);
    }
}

#[test]
fn sessions_that_are_over_leave_no_mess() {
    for (world, _) in worlds() {
        turn(&world, "session-a", "f");
        world.commit();
        allowed(&world, "SessionEnd", "session-a", "");
        turn(&world, "session-b", "g");
    }
}
