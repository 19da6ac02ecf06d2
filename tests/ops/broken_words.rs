//! Messages about damage: they name the damaged thing and the next step.

use super::broken::{Loss, lose, refs, shadow, text, world};
use crate::support::{World, processes::described, program};

#[rstest::rstest]
#[case::a_difference(&["diff", "verified"], "live:q", Loss::Gone)]
#[case::a_difference_of_lines(&["diff", "verified", "@"], "live:q/r/three", Loss::Torn)]
#[case::a_patch(&["show", "-p"], "live:q/r/three", Loss::Empty)]
#[case::an_attribution(&["attribution", "--worktree"], "live:q", Loss::Torn)]
#[case::a_commit(&["diff", "@", "base"], "live", Loss::Gone)]
fn an_error_names_the_doctor(#[case] command: &[&str], #[case] object: &str, #[case] loss: Loss) {
    let world = world();
    // A save reads files anew that are as young as the last one, and no longer needs what was lost of them.
    world.settle();
    world.done(&["save"]);
    lose(&world, object, loss);
    let failed = world.checkpoint(command);
    assert_eq!(failed.status.code(), Some(128), "{}", described(&failed));
    let said = text(&failed);
    assert!(said.contains("'git checkpoint doctor'") && !said.contains("partial clone"), "{said}");
    assert!(!said.contains("refetch"), "{said}");
}

/// The save that a restore begins with finds what the last checkpoint lacks, and writes it again from the files, so the restore
/// goes on, and can be undone.
#[rstest::rstest]
fn a_restore_mends_the_last_checkpoint_first(#[values(Loss::Gone, Loss::Torn)] loss: Loss) {
    let world = world();
    world.settle();
    world.done(&["save"]);
    let before = world.disk();
    lose(&world, "live:q", loss);
    let restored = world.checkpoint(&["restore", "--all", "verified"]);
    assert!(restored.status.success(), "{}", described(&restored));
    assert!(!text(&restored).contains(" is broken ("), "{}", described(&restored));
    assert!(!world.exists("q/r/three"));
    world.done(&["undo"]);
    assert_eq!(world.disk(), before);
    world.assert_sound("after the undo");
}

#[rstest::rstest]
#[case::by_its_remote("remote.origin.promisor", "true")]
#[case::by_its_extension("extensions.partialClone", "origin")]
fn in_a_partial_clone_an_error_names_fetch(#[case] key: &str, #[case] value: &str) {
    let world = world();
    lose(&world, "live:q/r/three", Loss::Gone);
    world.git(&["config", "core.repositoryFormatVersion", "1"]);
    world.git(&["config", key, value]);
    let failed = world.checkpoint(&["diff", "verified", "@"]);
    assert!(text(&failed).contains("git fetch --refetch --no-filter"), "{}", described(&failed));
}

#[rstest::rstest]
#[case::its_tree("live^{tree}", Loss::Empty)]
#[case::a_directory("live:q", Loss::Gone)]
#[case::a_tree_before("live^^{tree}", Loss::Torn)]
#[case::the_side("live^2", Loss::Empty)]
#[case::the_manifest("live^2:manifest.toml", Loss::Gone)]
fn status_shows_what_can_be_read(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    lose(&world, object, loss);
    let status = world.json(&["status", "--json"]);
    assert_eq!(status["shadow"]["checkpoints"], 3, "{status}");
    assert!(status["broken"].is_string(), "{status}");
    let said = world.done(&["status"]);
    assert!(said.contains("3 checkpoints, the latest") && said.contains("doctor --fix"), "{said}");
}

#[rstest::rstest]
fn errors_about_an_unreadable_checkpoint_name_the_damage(#[values(Loss::Gone, Loss::Empty)] loss: Loss) {
    let world = world();
    let id = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    world.done(&["verify", &id]);
    lose(&world, "live", loss);
    for command in
        [&["show"][..], &["show", &id], &["show", "verified"], &["verify", "--show"], &["verify", &id], &["verify"]]
    {
        let failed = world.checkpoint(command);
        let said = text(&failed);
        assert_eq!(failed.status.code(), Some(128), "{command:?}: {}", described(&failed));
        assert!(said.contains("cannot be read") && said.contains("doctor"), "{command:?}: {said}");
        assert!(!said.contains("not a checkpoint"), "{command:?}: {said}");
    }
}

#[rstest::rstest]
#[case::its_tree("live^{tree}", "by")]
#[case::the_side("live^2", "q/r/three")]
fn show_says_what_can_be_read(#[case] object: &str, #[case] word: &str) {
    let world = world();
    lose(&world, object, Loss::Gone);
    let shown = world.checkpoint(&["show"]);
    assert!(shown.status.success(), "{}", described(&shown));
    let said = String::from_utf8_lossy(&shown.stdout).to_lowercase();
    assert!(said.contains(word) && text(&shown).contains("doctor"), "{}", described(&shown));
    assert_eq!(refs(&world, "archive"), Vec::<String>::new());
}

#[test]
fn a_ref_that_makes_no_sense_stops_neither_status_nor_doctor() {
    let world = world();
    std::fs::write(world.repo().join(".git").join(shadow(&world)), "").expect("it is loose");
    let status = world.json(&["status", "--json"]);
    assert!(status["broken"].is_string() && status["shadow"].is_null(), "{status}");
    assert_eq!(status["verified"].as_str().map(str::len), Some(40), "{status}");
    let doctor = world.checkpoint(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", described(&doctor));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("doctor --fix"), "{}", described(&doctor));
    world.done(&["doctor", "--fix"]);
}

/// Runs what `text` says after `before`, up to the quote before `after`, in a shell.
fn run_shown(world: &World, text: &str, before: &str, after: &str) {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before}: {text}"));
    let (command, _) = rest.split_once(after).unwrap_or_else(|| panic!("{after}: {text}"));
    let command = format!("{}{command}", before.trim_start_matches('\''));
    let output = world.command("sh").args(["-c", &command]).output().expect("sh runs");
    assert!(output.status.success(), "{command}: {}", described(&output));
}

#[test]
fn commands_to_copy_do_what_they_say() {
    let world = World::with_commit();
    let refs = world.repo().join(".git/refs/heads");
    std::fs::write(refs.join("noise"), "noise\n").expect("written");
    let odd = refs.join("a;touch${IFS}pwned");
    std::fs::write(&odd, "1234567890123456789012345678901234567890\n").expect("written");
    let doctor = |world: &World| String::from_utf8_lossy(&world.checkpoint(&["doctor"]).stdout).into_owned();
    let said = doctor(&world);
    run_shown(&world, &said, "'rm ", "' gives it up");
    run_shown(&world, &said, "'git update-ref -d ", "' gives it up");
    assert!(!refs.join("noise").exists() && !odd.exists() && !world.repo().join("pwned").exists());
    assert!(!doctor(&world).contains("refs/heads"));
}

#[test]
fn files_to_move_away_are_named_for_a_shell() {
    let world = World::new();
    let name = "it's a $(touch pwned) place";
    let repo = world.root().join(name);
    world.git(&["init", "-q", repo.to_str().expect("UTF-8")]);
    let file = repo.join(".checkpoint.toml");
    std::fs::write(&file, "noise\n").expect("written");
    let at = |arguments: &[&str]| {
        let mut command = world.command(program());
        text(&command.args(arguments).current_dir(&repo).output().expect("it runs"))
    };
    run_shown(&world, &at(&["save"]), "'mv ", "'\n");
    assert!(!file.exists() && !world.repo().join("pwned").exists());
}
