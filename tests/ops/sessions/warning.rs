//! The warning before a session joins another one's uncommitted work.

use super::desk::{Desk, changed};
use crate::support::{processes::described, program};

fn waiting(is_on: bool) -> Desk {
    let desk = Desk::new();
    if is_on {
        desk.git(&["config", "checkpoint.enable-multisession-warning", "true"]);
    }
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("new\n1", "a\n")]);
    desk.turn("a", &[("g", "a\n")]);
    desk
}

/// All that may not change.
fn state(desk: &Desk) -> (String, Vec<String>) {
    let refs = desk.git(&["for-each-ref"]);
    (refs, desk.sessions().keys().cloned().collect())
}

#[test]
fn it_is_off_by_default() {
    let desk = waiting(false);
    for action in ["start", "prompt"] {
        let output = desk.ours(&["session", action, "b"]);
        assert!(output.status.success() && !described(&output).contains("warning"), "{}", described(&output));
    }
    desk.finish();
}

#[test]
fn without_a_terminal_it_cancels_and_changes_nothing() {
    let desk = waiting(true);
    let before = state(&desk);
    for arguments in [
        &["session", "start", "b"][..],
        &["session", "prompt", "b"],
        &["session", "prompt", "b", "--json"],
        &["session", "prompt", "b", "--on-multisession=cancel"],
        &["session", "start", "b", "--on-multisession=cancel"],
    ] {
        let output = desk.ours(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", described(&output));
        assert_eq!(state(&desk), before, "{arguments:?}");
    }
    let said = String::from_utf8_lossy(&desk.ours(&["session", "start", "b"]).stderr).into_owned();
    let expected = "warning: an existing session has uncommitted work on this base

  session      a (tester, idle 0 minutes)
  checkpoints  2 uncommitted
  files        f, g, \"new\\n1\"

Starting a new session merges with it:
  - if files overlap, the work continues on the same shadow
  - if not, the shadow is reset and the old one archived ('git checkpoint list --archived')
";
    assert!(said.starts_with(expected), "{said}");
    desk.finish();
}

#[test]
fn the_answer_continue_prevents_the_question() {
    let desk = waiting(true);
    desk.json(&["session", "prompt", "b", "--on-multisession=continue"]);
    desk.work("b", &[("h", "b\n")]);
    desk.stop("b");
    // It has work there itself now.
    desk.json(&["session", "prompt", "b"]);
    desk.stop("b");
    desk.finish();
}

#[test]
fn no_warning_without_another_sessions_work() {
    let desk = waiting(true);
    desk.json(&["session", "start", "a"]);
    desk.commit_all();
    desk.json(&["session", "prompt", "b"]);
    desk.stop("b");
    desk.write("g", "by hand\n");
    desk.json(&["save"]);
    desk.json(&["session", "prompt", "c"]);
    desk.stop("c");
    desk.finish();
}

#[test]
fn another_base_or_worktree_is_no_matter() {
    let desk = waiting(true);
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.go("linked");
    desk.json(&["session", "prompt", "b"]);
    desk.stop("b");
    desk.finish();
}

#[test]
fn on_a_terminal_it_asks() {
    let desk = waiting(true);
    if !desk.try_git(&["-c", "alias.x=!command -v script && command -v setsid", "x"]).status.success() {
        return;
    }
    let before = state(&desk);
    let program = program();
    let ask = |answer: &str| {
        let script = format!("printf '{answer}' | script -qec '{program} session start b' /dev/null");
        desk.try_git(&["-c", &format!("alias.x=!{script}"), "x"])
    };
    for answer in ["\\n", "n\\n", "cancel\\n", "nonsense\\n", "\\004"] {
        let output = ask(answer);
        assert_eq!(output.status.code(), Some(1), "{answer}: {}", described(&output));
        assert_eq!(state(&desk), before, "{answer}");
    }
    let output = ask("continue\\n");
    assert!(output.status.success(), "{}", described(&output));
    assert!(desk.sessions().contains_key("b"));
    // The user has answered for this session, not for another one.
    assert_eq!(desk.prompted("b")["session"]["id"], "b");
    desk.stop("b");
    let output = desk.ours(&["session", "prompt", "b", "--on-multisession=cancel"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let output = desk.ours(&["session", "prompt", "c"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    desk.finish();
}

#[test]
fn an_answer_at_the_start_holds_at_the_prompt() {
    let desk = waiting(true);
    desk.json(&["session", "start", "b", "--on-multisession=continue"]);
    desk.json(&["session", "prompt", "b"]);
    desk.stop("b");
    desk.finish();
}

#[test]
fn an_answer_at_a_prompt_holds_at_the_next_one() {
    let desk = waiting(true);
    desk.json(&["session", "prompt", "b", "--on-multisession=continue"]);
    desk.stop("b");
    // Its turn changed nothing: it is still no session with work of its own here.
    desk.json(&["session", "prompt", "b"]);
    desk.stop("b");
    let output = desk.ours(&["session", "prompt", "c"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    desk.finish();
}
