//! Objects of ours that are gone: an agent's lines never become a person's for that, and the user hears of it.

use std::process::Output;

use crate::support::{World, processes::described};

fn remove(world: &World, rev: &str) -> String {
    let id = world.git(&["rev-parse", "--verify", rev]).trim().to_owned();
    let path = world.repo().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(path).unwrap_or_else(|error| panic!("'{rev}' is loose: {error}"));
    id
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A turn of `s` that adds lines to `path`.
fn turn(world: &World, path: &str) {
    world.prompt("s");
    world.before("s", path, &[path]);
    world.add(path, &format!("of s in {path}"));
    world.add(path, "of s again");
    world.after("s", path, &[path]);
    world.stop("s");
}

/// Two commits with a record each: of `g` and of `h`.
fn recorded() -> World {
    let world = World::with_lines();
    for path in ["g", "h"] {
        turn(&world, path);
        world.commit();
    }
    assert_eq!(world.owners(), ["h agent 2"]);
    world
}

const HISTORY: &str = "refs/checkpoints/history";

/// What of the records is gone, how many owners of the first commit's lines stay known, and whose those of the second are after the
/// repair.
#[rstest::rstest]
#[case::newest("", "unknown", "unknown")]
#[case::its_tree("^{tree}", "unknown", "unknown")]
#[case::earlier("~1", "agent", "agent")]
fn records_that_are_gone_make_nobody_a_person(#[case] lost: &str, #[case] now: &str, #[case] mended: &str) {
    let world = recorded();
    let id = remove(&world, &format!("{HISTORY}{lost}"));
    let blame = |path: &str| {
        let blamed = world.checkpoint(&["blame", "--json", path]);
        assert!(blamed.status.success(), "{}", described(&blamed));
        assert_eq!(said(&blamed).contains("the records"), now == "unknown", "{}", described(&blamed));
        let blamed: serde_json::Value = serde_json::from_slice(&blamed.stdout).expect("JSON");
        blamed["lines"][1]["owner"].as_str().expect("an owner").to_owned()
    };
    assert_eq!((blame("g"), blame("h")), (now.to_owned(), now.to_owned()));
    assert_eq!(world.owners(), [format!("h {now} 2")]);
    world.add("f", "unsaved");
    let worktree = world.json(&["attribution", "--worktree", "--json"]);
    let unsaved = if now == "unknown" { "unknown" } else { "human" };
    assert_eq!(worktree["files"][0]["owners"][0]["owner"], unsaved, "{worktree}");
    world.git(&["checkout", "-q", "f"]);
    for command in [&["explain", "HEAD"][..], &["why", "g:2"]] {
        let output = world.checkpoint(command);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {}", described(&output));
    }
    let found = world.checkpoint(&["doctor"]);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.status.code() == Some(1) && text.contains(&id) && text.contains("--fix"), "{}", described(&found));
    assert!(!text.contains("there are none here"), "{text}");
    let fixed = world.checkpoint(&["doctor", "--fix"]);
    assert!(String::from_utf8_lossy(&fixed.stdout).contains(HISTORY), "{}", described(&fixed));
    world.git(&["fsck", "--connectivity-only"]);
    assert_eq!(world.owners(), [format!("h {mended} 2")], "{}", described(&fixed));
    let blame = world.json(&["blame", "--json", "g"]);
    assert_eq!(blame["lines"][1]["owner"], "agent", "the first record is here again: {blame}");
}

#[test]
fn a_commit_without_readable_records_says_so_and_is_recorded_after_the_repair() {
    let world = recorded();
    remove(&world, HISTORY);
    turn(&world, "f");
    world.git(&["add", "-A"]);
    let commit = world.try_git(&["commit", "-qm", "a third"]);
    assert!(commit.status.success(), "{}", described(&commit));
    let text = said(&commit);
    assert!(text.contains("may be unknown") && text.contains("doctor"), "{text}");
    assert_eq!(text.matches("warning").count(), 1, "{text}");
    assert_eq!(world.owners(), ["f unknown 2"]);
    world.checkpoint(&["doctor", "--fix"]);
    world.checkpoint(&["save"]);
    assert_eq!(world.owners(), ["f agent 2"]);
}

/// The only checkpoint of the work is gone.
#[rstest::rstest]
#[case::unsaved(false)]
#[case::saved(true)]
fn work_whose_shadow_is_gone_is_of_nobody(#[case] saves: bool) {
    let world = World::with_lines();
    turn(&world, "g");
    let name = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow"]);
    remove(&world, name.trim());
    if saves {
        world.checkpoint(&["save", "-q"]);
    }
    world.git(&["add", "-A"]);
    let commit = world.try_git(&["commit", "-qm", "what is left"]);
    assert!(commit.status.success(), "{}", described(&commit));
    // The save before has warned.
    if !saves {
        assert_eq!(said(&commit).matches("warning").count(), 1, "{}", described(&commit));
    }
    assert_eq!(world.owners(), ["g unknown 2"]);
    world.git(&["config", "checkpoint.attribution.maxUnknownPercentage", "0"]);
    let check = world.checkpoint(&["attribution", "--check"]);
    assert_eq!(check.status.code(), Some(1), "{}", described(&check));
}

/// What is gone of an archived shadow whose work comes back: lines are unknown in the files that it may have changed, and a person's
/// elsewhere.
#[rstest::rstest]
#[case::commit("", false, "unknown")]
#[case::commit_and_a_save("", true, "unknown")]
#[case::tree("^{tree}", false, "unknown")]
#[case::tree_and_a_save("^{tree}", true, "unknown")]
#[case::directory(":d", false, "unknown")]
#[case::directory_and_a_save(":d", true, "unknown")]
#[case::content(":d/x", false, "unknown")]
#[case::content_and_a_save(":d/x", true, "unknown")]
#[case::earlier("~1", false, "unknown")]
#[case::earlier_and_a_save("~1", true, "unknown")]
fn only_where_archived_work_may_be_lines_are_of_nobody(#[case] lost: &str, #[case] saves: bool, #[case] owner: &str) {
    let world = World::with_lines();
    world.sh("mkdir d && echo x >d/x");
    world.commit();
    // Of these two checkpoints, only the second one is lost.
    turn(&world, "d/x");
    turn(&world, "d/x");
    world.sh("cp d/x ../kept && git checkout -q d/x");
    world.done(&["reset", "-q"]);
    let name = archive_with(&world, "d/x");
    remove(&world, &format!("{name}{lost}"));
    world.sh("cp ../kept d/x && echo mine >>d/x && echo mine too >>f && echo mine again >n");
    let before = world.json(&["attribution", "--worktree", "--json"]);
    if saves {
        let saved = world.checkpoint(&["save"]);
        assert_eq!(
            (said(&saved).matches("warning").count(), said(&saved).contains(&name)),
            (1, true),
            "{}",
            said(&saved)
        );
        assert_eq!(
            world.json(&["attribution", "--worktree", "--json"])["files"],
            before["files"],
            "a save finds the same"
        );
    }
    world.git(&["add", "-A"]);
    let commit = world.try_git(&["commit", "-qm", "what is left"]);
    assert!(commit.status.success(), "{}", described(&commit));
    assert_eq!(said(&commit).matches("warning").count(), 1, "{}", described(&commit));
    assert!(said(&commit).contains(&name), "{}", described(&commit));
    assert_eq!(world.owners(), [format!("d/x {owner} 5"), "f human 1".into(), "n human 1".into()]);
    world.checkpoint(&["doctor", "--fix"]);
    world.add("g", "later");
    world.git(&["add", "-A"]);
    assert_eq!(said(&world.try_git(&["commit", "-qm", "later"])), "", "after the repair, nothing is unknown");
    assert_eq!(world.owners(), ["g human 1"]);
}

/// Returns the archived shadow that has the file with the lines of the session.
fn archive_with(world: &World, path: &str) -> String {
    let names = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/archive"]);
    let has = |name: &&str| world.git(&["show", &format!("{name}:{path}")]).matches("of s again").count() == 2;
    names.lines().find(has).expect("it is archived").to_owned()
}

/// Nothing shows what it has changed: lines stay a person's, and the warning names the archive.
#[rstest::rstest]
#[case::whole(false)]
#[case::lost(true)]
fn a_lost_archive_of_which_nothing_is_known_makes_no_line_unknown(#[case] is_lost: bool) {
    let world = World::with_lines();
    turn(&world, "g");
    world.done(&["reset", "-q"]);
    world.git(&["checkout", "-q", "."]);
    let name = archive_with_one(&world);
    if is_lost {
        remove(&world, &name);
    }
    world.add("f", "of a person");
    let found = world.json(&["attribution", "--worktree", "--json"]);
    assert_eq!(found["files"][0]["owners"][0]["owner"], "human", "{found}");
    world.done(&["save", "-q"]);
    let saved = world.json(&["attribution", "--worktree", "--json"]);
    assert_eq!(saved["files"], found["files"]);
    world.git(&["add", "-A"]);
    let commit = world.try_git(&["commit", "-qm", "a person's"]);
    assert_eq!(said(&commit).matches("warning").count(), usize::from(is_lost), "{}", described(&commit));
    assert_eq!((said(&commit).contains(&name), said(&commit).contains("doctor")), (is_lost, is_lost));
}

fn archive_with_one(world: &World) -> String {
    let names = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/archive"]);
    assert_eq!(names.lines().count(), 1, "{names}");
    names.trim().to_owned()
}

#[test]
fn after_work_of_a_person_alone_nobody_is_warned() {
    let world = World::with_lines();
    world.add("g", "of a person");
    world.git(&["add", "-A"]);
    let commit = world.try_git(&["commit", "-qm", "a person's"]);
    assert_eq!(said(&commit), "");
}

/// The live shadow leads to the archived one, which has the only checkpoint of the work.
#[rstest::rstest]
#[case::commit("")]
#[case::tree("^{tree}")]
fn what_comes_back_from_a_stash_after_its_shadow_is_gone_is_of_nobody(#[case] lost: &str) {
    let world = World::with_lines();
    turn(&world, "g");
    world.sh("cp g ../kept && git stash -q");
    world.done(&["save", "-q"]);
    remove(&world, &format!("{}{lost}", archive_with_one(&world)));
    world.sh("cp ../kept g && echo mine >>g && git add -A");
    let commit = world.try_git(&["commit", "-qm", "what is left"]);
    assert!(said(&commit).contains("cannot be read"), "{}", described(&commit));
    assert_eq!(world.owners(), ["g unknown 3"]);
}

/// A commit takes work of a live shadow, and lines that only a damaged shadow in the archive has.
#[rstest::rstest]
#[case::commit("", true)]
#[case::tree("^{tree}", true)]
#[case::content(":g", true)]
#[case::earlier("~1", true)]
#[case::without_hooks(":g", false)]
fn beside_work_of_a_live_shadow_lost_lines_are_of_nobody(#[case] lost: &str, #[case] has_hooks: bool) {
    let world = World::with_lines();
    turn(&world, "g");
    turn(&world, "g");
    world.sh("cp g ../kept && git checkout -q g");
    world.done(&["reset", "-q"]);
    let name = archive_with(&world, "g");
    remove(&world, &format!("{name}{lost}"));
    turn(&world, "h");
    world.sh("cp ../kept g && echo mine >>g && echo mine >>f && git add -A");
    if has_hooks {
        let commit = world.try_git(&["commit", "-qm", "both"]);
        assert_eq!(said(&commit).matches("warning").count(), 1, "{}", described(&commit));
        assert!(said(&commit).contains(&name), "{}", described(&commit));
    } else {
        world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "both"]);
        world.checkpoint(&["save", "-q"]);
    }
    assert_eq!(world.owners(), ["f human 1", "g unknown 5", "h agent 2"]);
}

/// Without a directory, nothing of the shadow can be followed: its lines in other files are of nobody, too.
#[test]
fn a_lost_directory_makes_other_files_of_the_shadow_unknown() {
    let world = World::with_lines();
    world.sh("mkdir d && echo x >d/x");
    world.commit();
    turn(&world, "d/x");
    turn(&world, "g");
    world.sh("cp g ../kept && git checkout -q g d");
    world.done(&["reset", "-q"]);
    remove(&world, &format!("{}:d", archive_with_one(&world)));
    world.sh("cp ../kept g && echo mine >>f");
    let found = world.json(&["attribution", "--worktree", "--json"]);
    assert_eq!(found["files"][1]["owners"][0]["owner"], "unknown", "{found}");
    world.git(&["add", "-A"]);
    let commit = world.try_git(&["commit", "-qm", "what is left"]);
    assert_eq!(said(&commit).matches("warning").count(), 1, "{}", described(&commit));
    assert_eq!(world.owners(), ["f human 1", "g unknown 2"]);
}

/// The same, and the next command finds the commit.
#[test]
fn without_hooks_lost_lines_are_of_nobody() {
    let world = World::with_lines();
    turn(&world, "g");
    world.sh("cp g ../kept && git checkout -q g");
    world.done(&["reset", "-q"]);
    remove(&world, &format!("{}:g", archive_with_one(&world)));
    world.sh("cp ../kept g && echo mine >>g && echo mine >>f && git add -A");
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "both"]);
    world.checkpoint(&["save", "-q"]);
    assert_eq!(world.owners(), ["f human 1", "g unknown 3"]);
}

/// Git gives the new worktree the name of the removed one.
#[test]
fn a_worktree_made_again_inherits_nothing() {
    let world = World::with_lines();
    let again = |script: &str| {
        world.sh(&format!("git worktree add -q --detach ../w2 && cd ../w2 && {script}"));
    };
    again("echo old >>g && git checkpoint save -q && git checkpoint verify -q && git checkpoint restore -q --all base");
    world.git(&["worktree", "remove", "--force", "../w2"]);
    again("git checkpoint undo >../said 2>&1 || true");
    let text = |path: &str| std::fs::read_to_string(world.root().join(path)).expect("readable");
    assert_eq!(text("w2/g"), "g\n", "{}", text("said"));
    assert!(text("said").contains("undo"), "{}", text("said"));
    // The log is not that of the new one, and can be shown.
    assert!(!world.sh("cd ../w2 && git checkpoint op log").contains("restore"));
    let aside = world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/operations/w2@/"]);
    assert!(aside.starts_with("refs/checkpoints/operations/w2@/removed-") && aside.lines().count() == 1, "{aside}");
    let shown = world.git(&["log", "--first-parent", "--format=%s", aside.trim()]);
    assert!(shown.contains("restore"), "{shown}");
    // It stays for a time.
    world.git(&["update-ref", "refs/checkpoints/operations/w2@/removed-17", aside.trim()]);
    world.done(&["prune", "-q"]);
    assert_eq!(world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/operations/w2@/"]), aside);
    // Nothing is lost, and what is new here has its own log.
    let held =
        world.sh("git log -m -p --format= $(git for-each-ref --format='%(refname)' refs/checkpoints/archive) -- g");
    assert!(held.contains("+old"), "{held}");
    world.sh("cd ../w2 && echo new >>g && git checkpoint save -q && git checkpoint restore -q --all base");
    world.sh("cd ../w2 && git checkpoint undo -q");
    assert_eq!(text("w2/g"), "g\nnew\n");
    world.assert_sound("in the end");
}

/// Only what git made after the last operation is another worktree.
#[rstest::rstest]
#[case::base("rm checkpoint/base")]
#[case::base_and_the_cache("rm checkpoint/base checkpoint/index")]
#[case::all_files("rm -r checkpoint && touch -t 199001010000 commondir")]
fn a_worktree_that_has_lost_files_keeps_its_log(#[case] lost: &str) {
    let world = World::with_lines();
    world.sh("git worktree add -q --detach ../w2");
    world.sh("cd ../w2 && echo old >>g && git checkpoint save -q && git checkpoint restore -q --all base");
    let log = world.sh("cd ../w2 && git checkpoint op log");
    let refs = || world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints"]);
    let before = refs();
    world.sh(&format!("cd .git/worktrees/w2 && {lost}"));
    world.sh("cd ../w2 && git checkpoint undo -n");
    assert_eq!((refs(), world.sh("cd ../w2 && git checkpoint op log")), (before, log));
    world.sh("cd ../w2 && git checkpoint undo -q");
    assert_eq!(std::fs::read_to_string(world.root().join("w2/g")).expect("readable"), "g\nold\n");
    world.assert_sound("in the end");
}

#[rstest::rstest]
#[case::file("rm -rf .git/refs/checkpoints/operations && echo >.git/refs/checkpoints/operations")]
#[case::read_only("chmod a-w .git/refs/checkpoints/operations")]
fn a_log_whose_directory_cannot_be_written_leads_to_the_doctor(#[case] script: &str) {
    let world = World::with_lines();
    world.add("g", "of a person");
    world.done(&["save", "-q"]);
    world.sh(script);
    if script.contains("chmod") && world.sh("test ! -w .git/refs/checkpoints/operations || echo root").contains("root")
    {
        // Nothing is read-only for root.
        return;
    }
    let restored = world.checkpoint(&["restore", "--all", "base"]);
    assert!(!restored.status.success() && said(&restored).contains("doctor"), "{}", described(&restored));
    let found = world.checkpoint(&["doctor"]);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(
        found.status.code() == Some(1) && text.contains(".git/refs/checkpoints/operations"),
        "{}",
        described(&found)
    );
    world.sh("chmod -R u+w .git/refs/checkpoints");
}

#[test]
fn an_operation_log_that_cannot_be_written_leads_to_the_doctor() {
    let world = World::with_lines();
    let script = "printf 'ref: refs/heads/main\\n' >.git/refs/checkpoints/operations/main";
    world.sh(&format!(
        "rm -f .git/refs/checkpoints/operations/main && mkdir -p .git/refs/checkpoints/operations && {script}"
    ));
    world.add("g", "of a person");
    world.done(&["save", "-q"]);
    let restored = world.checkpoint(&["restore", "--all", "base"]);
    assert!(!restored.status.success() && said(&restored).contains("doctor"), "{}", described(&restored));
}

/// The only thing that says what a restore did to files is gone.
#[test]
fn an_operation_of_which_the_files_are_lost_is_not_undone_by_half() {
    let world = World::with_lines();
    world.add("f", "one");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "--all", "base"]);
    world.add("g", "two");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "--all", "base"]);
    remove(&world, "refs/checkpoints/operations/main^{tree}");
    world.checkpoint(&["doctor", "--fix"]);
    let state = || world.sh("cat f g && git for-each-ref refs/checkpoints");
    let before = state();
    for command in [&["undo"][..], &["undo", "-n"], &["op", "undo", "@{0}"], &["undo"]] {
        let refused = world.checkpoint(command);
        assert_eq!(refused.status.code(), Some(1), "{command:?}: {}", described(&refused));
        assert!(said(&refused).contains("cannot be undone"), "{command:?}: {}", described(&refused));
        assert_eq!(state(), before, "{command:?}");
    }
    let log = world.json(&["op", "log", "--json"]);
    assert_eq!(log["operations"][0]["undoable"], false, "{log}");
    // The one before it is whole.
    let said = said(&world.checkpoint(&["undo"]));
    world.sh(said.split('\'').find(|part| part.starts_with("git checkpoint op undo ")).expect("a hint"));
    assert!(world.sh("cat f").contains("one") && !world.sh("cat g").contains("two"));
}
