//! The commands themselves: wrong arguments, other places, lost and damaged files.

use super::{
    desk::{Desk, changed, parts},
    moved::{tell, write},
};
use crate::support::{processes::described, program};

/// Runs the program, which must fail with `code` and change nothing; returns what it said.
fn fails(desk: &Desk, arguments: &[&str], code: i32) -> String {
    let kept = (desk.refs("shadow"), desk.refs("pending"), files(desk));
    let output = desk.ours(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", described(&output));
    assert_eq!((desk.refs("shadow"), desk.refs("pending"), files(desk)), kept, "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder(desk: &Desk) -> std::path::PathBuf {
    desk.world.repo().join(".git/checkpoint/sessions")
}

fn files(desk: &Desk) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(folder(desk)) else { return Vec::new() };
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("readable"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("ours")))
        .collect();
    files.sort();
    files
}

#[test]
fn wrong_arguments() {
    let desk = Desk::new();
    for action in ["start", "prompt", "stop", "end", "show", "adopt", "forget"] {
        for id in ["", "a\nb", "a\u{1b}[2J", " a", &"a".repeat(201)] {
            let said = fails(&desk, &["session", action, id], 128);
            assert!(said.contains("invalid session id") && !said.contains('\u{1b}'), "{action} {id:?}: {said}");
        }
    }
    for action in ["stop", "end", "show", "adopt", "forget"] {
        let said = fails(&desk, &["session", action, "nobody"], 1);
        assert!(said.contains("no session 'nobody'"), "{action}: {said}");
    }
    for arguments in [
        &["session"][..],
        &["session", "begin"],
        &["session", "prompt"],
        &["session", "prompt", "a", "-m", "x", "--message-file", "-"],
        &["session", "prompt", "a", "--on-multisession", "perhaps"],
    ] {
        fails(&desk, arguments, 129);
    }
    let said = fails(&desk, &["session"], 129);
    assert!(said.contains("checkpoint session") && !said.contains("completions"), "{said}");
    for arguments in [
        &["session", "prompt", "a", "--message-file", "/nowhere"][..],
        &["session", "start", "a", "--worktree", "/nowhere"],
    ] {
        fails(&desk, arguments, 128);
    }
    desk.sh("mkdir sub; git init -q ../other; git -C ../other commit -q --allow-empty -m other");
    for elsewhere in ["sub", "../other"] {
        let said = fails(&desk, &["session", "start", "a", "--worktree", elsewhere], 128);
        assert!(said.contains("names no worktree of this repository"), "{said}");
    }
    desk.finish();
}

#[test]
fn ids_are_only_names() {
    let desk = Desk::new();
    for id in ["../../../etc/passwd", "-x", "refs/heads/main", "täglich", "a b", "x.lock", "a..b", "%41"] {
        desk.json(&["session", "start", "--", id]);
        desk.json(&["session", "prompt", "--", id]);
        desk.write("g", format!("{id}\n"));
        desk.json(&["session", "stop", "--", id]);
        assert_eq!(desk.json(&["session", "show", "--", id])["session"]["id"], id);
    }
    assert_eq!(desk.sessions().len(), 8);
    desk.commit_all();
    assert_eq!(desk.records("HEAD").len(), 1);
    desk.finish();
}

#[test]
fn a_life_of_a_session() {
    let desk = Desk::new();
    let started = desk.json(&["session", "start", "--agent", "tester", "--model", "some-model"]);
    let id = started["session"]["id"].as_str().expect("a new id");
    assert_eq!(started["session"]["phase"], "idle");
    assert_eq!(started["resumed"], false);
    desk.prompt(id);
    assert_eq!(desk.sessions()[id]["phase"], "active");
    desk.work(id, &[("g", "a\n")]);
    let listed = &desk.sessions()[id];
    assert_eq!((&listed["checkpoints"], &listed["files"]), (&1.into(), &serde_json::json!(["g"])));
    desk.stop(id);
    desk.json(&["session", "end", id]);
    // Not while it has uncommitted work.
    assert_eq!(desk.ours(&["session", "list"]).status.code(), Some(0));
    desk.commit_all();
    assert_eq!(desk.ours(&["session", "list"]).status.code(), Some(1));
    let shown = desk.json(&["session", "show", id]);
    assert_eq!((&shown["session"]["phase"], shown["prompts"].as_array().map(Vec::len)), (&"ended".into(), Some(1)));
    let turn = serde_json::json!([{ "turn": 1, "name": format!("{id}@1"), "checkpoints": 1, "files": ["g"] }]);
    assert_eq!(shown["turns"], turn);
    // Without a name, it is the last one here.
    assert_eq!(desk.json(&["prompts"]), shown);
    let resumed = desk.json(&["session", "start", id]);
    assert_eq!((&resumed["resumed"], &resumed["session"]["phase"]), (&true.into(), &"idle".into()));
    desk.prompt(id);
    fails(&desk, &["session", "forget", id], 1);
    desk.stop(id);
    desk.json(&["session", "forget", id]);
    let last_turn = (format!("{id}.turns"), b"2\n".to_vec());
    assert_eq!(
        (files(&desk), desk.refs("pending")),
        (vec![last_turn], Vec::new()),
        "only the number of its last turn stays"
    );
    fails(&desk, &["session", "forget", id], 1);
    assert_eq!(desk.recorded("HEAD")[0].0, "g");
    desk.finish();
}

#[test]
fn stop_and_end_may_come_twice() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    for action in ["stop", "end", "end", "stop"] {
        assert!(desk.json(&["session", action, "a"])["checkpoint"].is_null());
    }
    assert_eq!((desk.chain(), &desk.sessions()["a"]["phase"]), (vec!["a".into()], &"ended".into()));
    desk.finish();
}

#[test]
fn in_a_subdirectory() {
    let desk = Desk::new();
    desk.write("below/one", "1\n");
    desk.commit_all();
    desk.go("repo/below");
    desk.prompt("a");
    desk.work("a", &[("two", "2\n"), ("../g", "a\n")]);
    desk.stop("a");
    desk.go("repo");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("below/two", "a"), ("g", "a")]));
    desk.finish();
}

/// Whether git still has it registered or not.
#[test]
fn a_worktree_that_is_gone_is_named() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.json(&["session", "start", "a", "--worktree", "../linked"]);
    desk.world.sh("rm -r ../linked");
    for _ in 0..2 {
        assert_eq!(desk.sessions()["a"]["worktree_gone"], true);
        let text = desk.world.done(&["session", "list"]);
        assert!(text.contains("in linked (gone),"), "{text}");
        desk.git(&["worktree", "prune"]);
    }
}

#[test]
fn in_a_linked_worktree() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.json(&["session", "start", "a", "--worktree", "../linked"]);
    let listed = &desk.sessions()["a"];
    assert_eq!((&listed["worktree"], &listed["worktree_gone"]), (&"linked".into(), &false.into()));
    assert!(listed["worktree_path"].as_str().is_some_and(|path| path.ends_with("/linked")), "{listed}");
    desk.go("linked");
    desk.prompt("a");
    desk.work("a", &[("g", "a\n")]);
    desk.go("repo");
    fails(&desk, &["session", "adopt", "a"], 1);
    assert_eq!(desk.shadow(), None);
    // Elsewhere it has no turn: what is saved there in its name does not use its flag or its baseline.
    desk.write("h", "h\n");
    desk.json(&["save", "--session", "a"]);
    desk.go("linked");
    desk.stop("a");
    desk.go("repo");
    desk.json(&["session", "adopt", "a"]);
    assert_eq!(desk.sessions()["a"]["worktree"], "main");
    desk.finish();
}

#[test]
fn an_active_session_is_adopted_only_by_force() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.write("h", "by hand\n");
    desk.prompt("a");
    assert_eq!(desk.refs("pending").len(), 1);
    desk.go("linked");
    fails(&desk, &["session", "adopt", "a"], 1);
    let adopted = desk.json(&["session", "adopt", "a", "--force"]);
    assert_eq!(adopted["session"]["phase"], "idle");
    assert_eq!((desk.refs("pending").len(), &desk.sessions()["a"]["worktree"]), (0, &"linked".into()));
    desk.turn("a", &[("g", "a\n")]);
    assert_eq!(desk.chain(), ["a"]);
    desk.finish();
}

#[test]
fn adopt_saves_the_sessions_unsaved_work_in_the_other_worktree() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.write("h", "by hand\n");
    desk.prompt("a");
    desk.write("g", "a\n");
    desk.go("linked");
    let adopted = desk.json(&["session", "adopt", "a", "--force"]);
    assert!(adopted["elsewhere"]["checkpoint"].is_string() && adopted["unsaved"].is_null(), "{adopted}");
    assert_eq!((&adopted["session"]["phase"], &desk.sessions()["a"]["worktree"]), (&"idle".into(), &"linked".into()));
    desk.go("repo");
    assert_eq!(desk.chain(), ["human", "a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "")]));
    desk.finish();
}

#[test]
fn adopt_names_the_other_worktree_if_its_work_cannot_be_saved() {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.prompt("a");
    desk.write("g", "a\n");
    let there = desk.world.repo().display().to_string();
    let lock = std::fs::File::open(desk.world.repo().join(".git/checkpoint/lock")).expect("it is there");
    lock.lock().expect("no process has it");
    desk.go("linked");
    let adopted = desk.json(&["session", "adopt", "a", "--force"]);
    assert_eq!((&adopted["elsewhere"], &adopted["unsaved"]), (&serde_json::Value::Null, &there.into()));
    drop(lock);
    desk.finish();
}

#[test]
fn a_turn_begun_elsewhere_is_saved_and_closed_when_the_next_begins_here() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.write("h", "by hand\n");
    desk.prompt("a");
    desk.write("g", "a\n");
    let there = desk.world.repo().display().to_string();
    desk.go("linked");
    let prompted = desk.prompted("a");
    assert_eq!((&prompted["reason"], &prompted["elsewhere"]["worktree"]), (&"no-shadow".into(), &there.into()));
    assert!(prompted["elsewhere"]["checkpoint"].is_string(), "{prompted}");
    desk.work("a", &[("h", "a\n")]);
    desk.stop("a");
    assert_eq!(desk.chain(), ["a"]);
    desk.go("repo");
    assert_eq!((desk.chain(), desk.saved("g")), (vec!["human".into(), "a".into()], Some("a\n".into())));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "")]));
    desk.finish();
}

#[test]
fn a_turn_moves_from_the_main_worktree_to_a_linked_one_named_main() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../main", "-b", "side"]);
    desk.prompt("a");
    desk.write("g", "a\n");
    desk.go("main");
    let prompted = desk.prompted("a");
    assert!(prompted["elsewhere"]["checkpoint"].is_string(), "{prompted}");
    desk.go("repo");
    assert_eq!(desk.saved("g"), Some("a\n".into()));
    desk.finish();
}

#[test]
fn a_turn_elsewhere_that_cannot_be_saved_holds_a_prompt_up() {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.prompt("a");
    desk.write("g", "a\n");
    let lock = std::fs::File::open(desk.world.repo().join(".git/checkpoint/lock")).expect("it is there");
    lock.lock().expect("no process has it");
    desk.go("linked");
    let said = fails(&desk, &["session", "prompt", "a"], 1);
    assert!(said.contains("cannot be ended") && said.contains("'git checkpoint session adopt --force a'"), "{said}");
    drop(lock);
    assert_eq!(desk.prompt("a"), "no-shadow");
    desk.stop("a");
    desk.go("repo");
    assert_eq!(desk.chain(), ["a"]);
    desk.finish();
}

#[test]
fn a_turn_in_a_worktree_that_is_gone_holds_nothing_up() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.go("linked");
    desk.prompt("a");
    desk.go("repo");
    desk.sh("rm -r ../linked");
    assert!(desk.prompted("a")["elsewhere"].is_null());
    desk.stop("a");
    desk.finish();
}

#[test]
fn in_an_unborn_repository() {
    let desk = Desk::unborn();
    desk.json(&["session", "start", "a"]);
    assert_eq!(desk.sessions()["a"]["base"], "unborn");
    assert_eq!(desk.turn("a", &[("one", "1\n")]), "no-shadow");
    assert_eq!(desk.turn("b", &[("one", "1\n2\n")]), "overlap");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("one", "a+b")]));
    desk.finish();
}

#[test]
fn outside_a_repository() {
    let desk = Desk::new();
    desk.sh("mkdir ../elsewhere");
    desk.go("elsewhere");
    let run = |arguments: &[&str]| {
        let mut command = desk.world.command(program());
        command.args(arguments).current_dir(desk.world.root().join("elsewhere")).output().expect("it runs")
    };
    for action in ["start", "prompt", "stop", "end", "show"] {
        assert_eq!(run(&["session", action, "a"]).status.code(), Some(128), "{action}");
    }
    desk.go("repo");
}

#[test]
fn a_lost_file_is_rebuilt_from_the_checkpoints() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.turn("a", &[("f", &changed(&[(3, "a"), (4, "a")]))]);
    std::fs::remove_dir_all(folder(&desk)).expect("ours");
    let listed = &desk.sessions()["a"];
    assert_eq!((&listed["turn"], &listed["agent"], &listed["checkpoints"]), (&2.into(), &"tester".into(), &2.into()));
    assert_eq!(desk.turn("a", &[("f", &changed(&[(3, "a"), (4, "a"), (5, "a")]))]), "overlap");
    assert_eq!(desk.sessions()["a"]["turn"], 3);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn a_lost_file_does_not_lose_the_record() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    std::fs::remove_dir_all(folder(&desk)).expect("ours");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn a_damaged_file_is_set_aside() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    std::fs::write(folder(&desk).join("a.toml"), "\u{0}nonsense").expect("ours");
    assert_eq!(desk.turn("a", &[("g", "a\n")]), "overlap");
    assert_eq!(std::fs::read(folder(&desk).join("a.bad")).expect("set aside"), b"\0nonsense");
    assert_eq!(desk.sessions()["a"]["turn"], 2);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "a")]));
    desk.finish();
}

#[test]
fn a_damaged_session_file_stops_no_other_session() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    std::fs::write(folder(&desk).join("a.toml"), vec![0xff; 100]).expect("ours");
    std::fs::create_dir(folder(&desk).join("c.toml")).expect("ours");
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "overlap");
    desk.sessions();
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    desk.finish();
}

#[test]
fn many_ended_sessions_are_not_looked_at() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.json(&["session", "end", "a"]);
    let text = std::fs::read_to_string(folder(&desk).join("a.toml")).expect("ours");
    for number in 0..300 {
        let other = text.replace("id = \"a\"", &format!("id = \"old-{number}\""));
        std::fs::write(folder(&desk).join(format!("old-{number}.toml")), other).expect("ours");
    }
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "overlap");
    assert_eq!(desk.sessions().len(), 302);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    desk.finish();
}

#[test]
fn a_prompt_names_the_files_that_it_could_not_save() {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.save.max-file-size", "1k"]);
    desk.write("large", "large\n".repeat(1000));
    let output = desk.ours(&["session", "prompt", "a", "-m", "do it"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "warning: skipped large (too large, 5.8 KiB)\n", "{}", described(&output));
    let told = desk.json(&["session", "prompt", "a", "-m", "again"]);
    assert_eq!(told["skipped"][0]["path"], "large", "{told}");
}

#[test]
fn a_filter_that_fails_stops_no_prompt_and_its_files_are_named() {
    let desk = Desk::new();
    desk.git(&["config", "filter.rot.clean", "false"]);
    desk.git(&["config", "filter.rot.required", "true"]);
    desk.write(".gitattributes", "f filter=rot\n*.rot filter=rot\n");
    desk.write("new.rot", "of a person\n");
    desk.write("f", changed(&[(3, "human")]));
    let output = desk.ours(&["session", "prompt", "a", "-m", "do it"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    let expected =
        "warning: filter 'rot' failed: 'clean' failed (exit status: 1); saved 2 files unfiltered: 'f', 'new.rot'\n";
    assert_eq!(said, expected, "{}", described(&output));
    let told = desk.json(&["session", "prompt", "a", "-m", "again"]);
    assert_eq!(told["unfiltered"][0]["path"], "f", "{told}");
    assert_eq!(told["session"]["phase"], "active", "{told}");
    desk.write("g", "a\n");
    desk.json(&["session", "stop", "a"]);
    assert_eq!(desk.git(&["cat-file", "blob", &format!("{}^:new.rot", desk.refs("shadow")[0])]), "of a person");
    desk.finish();
}

/// The end of a turn takes a checkpoint as any other, and names the files that it lacks.
#[rstest::rstest]
fn the_end_of_a_turn_names_the_files_that_it_could_not_save(
    #[values("stop", "end")] what: &str,
    #[values(false, true)] has_more: bool,
) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.save.max-file-size", "1k"]);
    let work = || {
        desk.prompt("a");
        desk.write("large", "large\n".repeat(1000));
        if has_more {
            desk.write("f", changed(&[(3, "a")]));
        }
    };
    work();
    let output = desk.ours(&["session", what, "a"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("warning: skipped large (too large, 5.8 KiB)\n"), "{}", described(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).contains("saved "), has_more, "{}", described(&output));
    work();
    let told = desk.json(&["session", what, "a"]);
    assert_eq!(told["skipped"][0]["path"], "large", "{told}");
}

#[test]
fn the_state_before_a_turn_is_kept_if_only_skipped_files_changed() {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.save.max-file-size", "1k"]);
    desk.write("f", changed(&[(3, "human")]));
    for (large, archived) in [("large\n", 1), ("large\n", 1), ("larger\n", 1)] {
        desk.prompt("a");
        desk.write("large", large.repeat(1000));
        desk.stop("a");
        assert_eq!(desk.refs("archive").len(), archived, "{large}");
    }
    assert!(desk.world.held().contains(changed(&[(3, "human")]).as_bytes()));
}

/// A commit of a person in the middle of a turn carries the turn's work to the new base: the next checkpoint builds on it there.
#[test]
fn a_reset_is_refused_in_a_turn_also_after_a_commit() {
    let desk = Desk::new();
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    write(&desk, "a", "f", "t", "of the agent");
    assert!(fails(&desk, &["reset"], 1).contains("'a' has a turn under way"));
    desk.write("h", "human\n");
    desk.git(&["add", "h"]);
    desk.commit();
    let said = fails(&desk, &["reset"], 1);
    assert!(said.contains("'a' has a turn under way"), "{said}");
    desk.stop("a");
    desk.json(&["reset"]);
    desk.finish();
}

#[test]
fn a_list_without_open_sessions_says_so() {
    let desk = Desk::new();
    let said = fails(&desk, &["session", "list"], 1);
    assert!(said.contains("no session in this repository yet"), "{said}");
    desk.question("a");
    desk.json(&["session", "end", "a"]);
    let said = fails(&desk, &["session", "list"], 1);
    assert!(said.contains("no session is open") && said.contains("--all"), "{said}");
    desk.finish();
}
