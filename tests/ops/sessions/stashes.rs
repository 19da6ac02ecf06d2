//! Work that is stashed, and comes back: to where it was, to another base, to another worktree.

use super::{
    desk::{Desk, changed, numbered, parts, words},
    moved::{blamed, expected, tell, write},
};
use crate::support::template::Template;

/// Session `a` changes `f` and makes `new`; both are stashed.
static STASHED: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("new", "a 1\na 2\n")]);
    desk.git(&["stash", "-q", "-u"]);
});

fn stashed() -> Desk {
    Desk::after(&STASHED)
}

#[test]
fn a_question_between_stash_and_pop_costs_nothing() {
    let desk = stashed();
    assert_eq!(desk.question("b"), "clean");
    desk.git(&["stash", "pop", "-q"]);
    assert_eq!(desk.question("c"), "overlap");
    assert_eq!(desk.chain(), ["a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    desk.finish();
}

#[test]
fn new_work_on_the_same_file_never_contains_the_stashed_one() {
    let desk = stashed();
    assert_eq!(desk.turn("b", &[("f", &changed(&[(9, "b")]))]), "clean");
    assert_eq!((desk.chain(), desk.saved("f")), (vec!["b".into()], Some(changed(&[(9, "b")]))));
    assert_eq!(desk.saved("new"), None);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "b")]));
    desk.finish();
}

/// Case 6: session `b` works on another file meanwhile.
static OTHER_WORK: Template = Template::new(|world| {
    STASHED.make(world);
    let desk = Desk::later_on(world);
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "clean");
    assert_eq!(desk.chain(), ["b"]);
});

fn other_work() -> Desk {
    Desk::after(&OTHER_WORK)
}

#[test]
fn popped_and_committed_at_once() {
    let desk = other_work();
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    // Nothing waits any more.
    assert!(desk.refs("archive").iter().all(|name| name.ends_with("-condensed")), "{:?}", desk.refs("archive"));
    desk.write("f", changed(&[(3, "a"), (17, "by hand")]));
    desk.commit_all();
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (Vec::new(), 0));
    desk.finish();
}

#[test]
fn popped_and_then_a_prompt() {
    let desk = other_work();
    desk.git(&["stash", "pop", "-q"]);
    let prompted = desk.prompted("c");
    assert_eq!((&prompted["reason"], &prompted["taken_up"]), (&"overlap".into(), &serde_json::json!(["a"])));
    // The next look at the worktree reads no file again: what the last one stored is held by the shadow.
    let tip = desk.git(&["rev-parse", &desk.shadow().expect("there is one")]);
    let tip = gix::ObjectId::from_hex(tip.as_bytes()).expect("an id");
    let cache = std::fs::read(desk.world.repo().join(".git/checkpoint/index")).expect("it was written");
    assert!(cache.windows(tip.as_slice().len()).any(|bytes| bytes == tip.as_slice()));
    desk.work("c", &[("h", "c\n")]);
    desk.stop("c");
    assert_eq!(desk.chain(), ["b", "a*", "c"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("h", "c"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

/// By hand, while the turn of another session is open whose agent reports no tools.
#[test]
fn popped_and_committed_in_a_turn_of_another_session() {
    let desk = other_work();
    desk.prompt("c");
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("new", "a")]));
    desk.stop("c");
    desk.finish();
}

#[test]
fn popped_and_changed_again_by_the_same_session() {
    let desk = other_work();
    desk.git(&["stash", "pop", "-q"]);
    desk.turn("a", &[("f", &changed(&[(3, "a"), (9, "a again")]))]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("new", "a")]));
    desk.finish();
}

#[test]
fn popped_on_another_base() {
    let desk = other_work();
    desk.git(&["stash", "push", "-q", "-m", "b"]);
    // Upstream changes other lines of the same file.
    desk.write("f", changed(&[(18, "upstream")]));
    desk.commit_all();
    desk.git(&["stash", "pop", "-q", "stash@{1}"]);
    assert_eq!(desk.read("f"), changed(&[(3, "a"), (18, "upstream")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn popped_on_another_base_and_then_a_prompt() {
    let desk = stashed();
    desk.write("f", changed(&[(18, "upstream")]));
    desk.commit_all();
    assert_eq!(desk.trailers("HEAD").len(), 0);
    desk.git(&["stash", "pop", "-q"]);
    desk.turn("b", &[("g", "b\n")]);
    assert_eq!(desk.saved("f"), Some(changed(&[(3, "a"), (18, "upstream")])));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

/// A save takes up what came back, as a prompt does: then its lines are known, however few of them a person leaves.
#[rstest::rstest]
fn what_a_person_leaves_after_the_pop_and_a_save(#[values(false, true)] has_hooks: bool) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &(numbered(1..=20) + &words("a", 1..=8)))]);
    desk.git(&["stash", "-q"]);
    desk.write("g", "upstream\n");
    desk.commit_all();
    if !has_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.git(&["stash", "pop", "-q"]);
    desk.write("h", "of a person\n");
    let saved = desk.json(&["save", "--message", "mine"]);
    assert_eq!((&saved["created"], &saved["contributor"]), (&true.into(), &"human".into()), "{saved}");
    assert_eq!(desk.chain(), ["a*", "human"]);
    desk.write("f", numbered(1..=20) + &words("a", 1..=1) + "human words\n");
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.commit_all();
    if !has_hooks {
        desk.json(&["save"]);
    }
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.finish();
}

#[test]
fn popped_in_another_worktree() {
    let desk = other_work();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.go("linked");
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    desk.go("repo");
    assert_eq!(desk.chain(), ["b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.finish();
}

#[test]
fn the_other_work_committed_before_the_pop() {
    let desk = other_work();
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    assert_eq!(desk.records("HEAD^")[0].sessions.len(), 1);
    desk.finish();
}

#[test]
fn the_same_file_merged_by_the_pop() {
    let desk = stashed();
    desk.turn("b", &[("f", &changed(&[(15, "b")]))]);
    desk.git(&["add", "f"]);
    desk.git(&["stash", "pop", "-q"]);
    assert_eq!(desk.read("f"), changed(&[(3, "a"), (15, "b")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn the_same_file_merged_by_the_pop_and_then_a_prompt() {
    let desk = stashed();
    desk.turn("b", &[("f", &changed(&[(15, "b")]))]);
    desk.git(&["add", "f"]);
    desk.git(&["stash", "pop", "-q"]);
    desk.turn("c", &[("h", "c\n")]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b"), ("h", "c"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn a_stash_that_is_applied_twice() {
    let desk = other_work();
    desk.git(&["stash", "apply", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("new", "a")]));
    desk.git(&["rm", "-q", "new"]);
    desk.git(&["checkout", "-q", "HEAD^", "--", "f"]);
    desk.commit();
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (Vec::new(), 0));
    desk.finish();
}

#[test]
fn a_part_of_the_stash_is_taken() {
    let desk = other_work();
    desk.git(&["checkout", "-q", "stash@{0}", "--", "f"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    // The rest still waits.
    desk.git(&["checkout", "-q", "stash@{0}^3", "--", "new"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("new", "a")]));
    desk.finish();
}

#[test]
fn a_part_of_a_popped_file_and_then_the_rest() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(2, "a"), (3, "a"), (17, "a")]))]);
    desk.git(&["stash", "-q"]);
    desk.turn("b", &[("g", "b\n")]);
    desk.git(&["stash", "pop", "-q"]);
    // Most of it, and not all.
    desk.sh("printf 'y\\nn\\n' | git add -p f");
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn the_next_prompt_names_sessions_whose_work_is_stashed() {
    let desk = stashed();
    assert_eq!(desk.prompted("b")["stashed"], serde_json::json!(["a"]));
    desk.stop("b");
    desk.git(&["stash", "drop", "-q"]);
    assert_eq!(desk.prompted("b")["stashed"], serde_json::json!([]));
    desk.finish();
}

#[test]
fn a_hand_that_writes_the_same_thing_over_an_old_shadow_is_not_an_agent() {
    let desk = other_work();
    desk.git(&["stash", "drop", "-q"]);
    desk.write("f", changed(&[(3, "by hand"), (4, "and more")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", ""), ("g", "b")]));
    desk.finish();
}

#[test]
fn a_pop_with_a_conflict() {
    let desk = stashed();
    desk.turn("b", &[("f", &changed(&[(3, "b")]))]);
    desk.commit_all();
    assert!(!desk.try_git(&["stash", "pop", "-q"]).status.success());
    // The user asks about the conflict.
    desk.question("c");
    desk.write("f", changed(&[(3, "a")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    assert_eq!(desk.recorded("HEAD^"), parts(&[("f", "b")]));
    desk.finish();
}

#[test]
fn a_stash_of_what_is_staged_only() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "g"]);
    desk.git(&["stash", "push", "-q", "--staged"]);
    assert_eq!(desk.turn("b", &[("h", "b\n")]), "overlap");
    assert_eq!(desk.chain(), ["a", "human", "b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("h", "b")]));
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.finish();
}

/// Session `a` creates `new` and changes `f`; `f` is stashed while its turn is open, and `a` continues with `g`.
fn stashed_in_a_turn(steps: &[&str]) -> Desk {
    let desk = Desk::new();
    desk.prompt("a");
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    for step in steps {
        match *step {
            "stash" => drop(desk.git(&["stash", "-q"])),
            "save" => drop(desk.json(&["save", "--session", "a"])),
            "work" => drop(desk.work("a", &[("g", "a\n")])),
            "stop" => drop(desk.stop("a")),
            "prompt" => drop(desk.prompt("a")),
            "prompt b" => drop(desk.prompt("b")),
            "commit" => desk.commit_all(),
            other => panic!("unknown step '{other}'"),
        }
    }
    desk
}

#[rstest::rstest]
#[case::saved_after(&["stash", "save", "work", "stop", "commit"])]
#[case::worked_after(&["stash", "work", "stop", "commit"])]
#[case::committed_in_the_turn(&["stash", "work", "commit", "stop"])]
#[case::another_prompt(&["stash", "prompt", "work", "stop", "commit"])]
#[case::another_session(&["stash", "work", "stop", "prompt b", "commit"])]
fn work_stashed_within_a_turn_is_the_sessions_when_it_is_popped(#[case] steps: &[&str]) {
    let desk = stashed_in_a_turn(steps);
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.trailers("HEAD").len(), 1);
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

/// A person types at the same place before anything is seen of the stash, and keeps both when it is popped.
#[test]
fn stashed_work_is_recognized_though_the_file_was_edited_meanwhile() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "g\nsomething of the agent\n")]);
    desk.git(&["stash", "-q"]);
    desk.write("g", "g\nwords of a person\n");
    desk.turn("a", &[("h", "h\nmore of the agent\n")]);
    desk.commit_all();
    desk.sh("git stash pop -q || true; printf 'g\\nwords of a person\\nsomething of the agent\\n' >g; git add g");
    let told = &desk.json(&["attribution", "--worktree"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&1.into(), &0.into()), "{told}");
    desk.finish();
}

/// The work of two sessions is stashed in their turns, and a commit is made meanwhile.
#[rstest::rstest]
fn work_of_two_open_turns_comes_back_after_a_commit(
    #[values("f", "k")] path: &str,
    #[values("worktree", "session")] storage: &str,
    #[values(false, true)] prompts_again: bool,
) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", storage]);
    tell(&desk, "b", "UserPromptSubmit", r#","prompt":"do it""#);
    write(&desk, "b", path, "t1", "b wrote this sentence.");
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do that""#);
    write(&desk, "a", "n", "t2", "a wrote this sentence.\na wrote another sentence.");
    desk.git(&["stash", "-q", "-u"]);
    tell(&desk, "a", "Stop", "");
    if prompts_again {
        tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do more""#);
    }
    write(&desk, "b", "h", "t3", "b wrote this, too.");
    desk.sh("echo human >u; git add u; git commit -qm u");
    tell(&desk, "a", "Stop", "");
    tell(&desk, "b", "Stop", "");
    desk.git(&["stash", "pop", "-q"]);
    desk.json(&["save"]);
    let owned = ["b wrote this sentence.: b".to_owned()];
    assert_eq!(blamed(&desk, path), owned);
    let new = ["a wrote this sentence.: a", "a wrote another sentence.: a"];
    assert_eq!(blamed(&desk, "n"), new);
    desk.commit_all();
    assert_eq!((blamed(&desk, path), blamed(&desk, "n")), (owned.to_vec(), new.map(String::from).to_vec()));
    desk.finish();
}

/// No checkpoint is taken between the stash and the amend.
#[rstest::rstest]
fn work_of_two_open_turns_comes_back_after_an_amend(#[values("worktree", "session")] storage: &str) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", storage]);
    for session in ["a", "b"] {
        tell(&desk, session, "UserPromptSubmit", r#","prompt":"do it""#);
        write(&desk, session, &format!("n{session}"), session, &format!("{session} wrote this sentence."));
    }
    desk.git(&["stash", "-q", "-u"]);
    desk.git(&["commit", "-q", "--amend", "-m", "other words"]);
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    for session in ["a", "b"] {
        assert_eq!(blamed(&desk, &format!("n{session}")), [format!("{session} wrote this sentence.: {session}")]);
    }
    desk.finish();
}
