//! What becomes of a note when its checkpoint is pruned, dropped or purged, and of a secret in one.

use super::{
    broken::{Loss, lose},
    notes::{expected, notes, stderr},
    tags::world,
};
use crate::support::{World, processes::described};

/// Returns everything that the repository stores.
fn all_objects(world: &World) -> String {
    world.sh("git cat-file --batch-all-objects --batch --unordered")
}

fn authors(world: &World) -> String {
    world
        .done(&["note", "--json"])
        .lines()
        .filter(|line| line.contains(r#""author":"Ann <ann@example.com>""#))
        .collect()
}

#[test]
fn a_drop_takes_the_note_along_and_later_ones_go_on() {
    let (world, ids) = world(3);
    let mut command = world.command(crate::support::program());
    command.env("GIT_COMMITTER_NAME", "Ann").env("GIT_COMMITTER_EMAIL", "ann@example.com");
    assert!(command.args(["note", &ids[2], "-m", "of the last"]).status().expect("it runs").success());
    world.done(&["note", &ids[0], "-m", "of the first"]);
    world.done(&["drop", &ids[0]]);
    let last = world.done(&["list", "--format", "%H", "-n", "1"]).trim().to_owned();
    assert_ne!(last, ids[2], "it is a copy");
    assert_eq!(notes(&world), expected(&[(&last, "of the last")]));
    assert!(!authors(&world).is_empty(), "who wrote it stays");
    world.done(&["undo"]);
    assert_eq!(notes(&world), expected(&[(&ids[0], "of the first"), (&ids[2], "of the last")]));
    world.done(&["redo"]);
    assert_eq!(notes(&world), expected(&[(&last, "of the last")]));
    world.assert_sound("after all");
}

#[rstest::rstest]
#[case::before("drop:before-refs", true)]
#[case::after("drop:after-refs", false)]
fn a_drop_that_was_killed_leaves_notes_where_checkpoints_are(#[case] failpoint: &str, #[case] is_before: bool) {
    let (world, ids) = world(2);
    world.done(&["note", &ids[1], "-m", "of the last"]);
    let output = world.start_with(&["drop", &ids[0]], failpoint).wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{}", described(&output));
    let last = world.done(&["list", "--format", "%H", "-n", "1"]).trim().to_owned();
    assert_eq!(last == ids[1], is_before);
    assert_eq!(notes(&world), expected(&[(&last, "of the last")]));
    world.assert_sound("after a kill");
}

#[test]
fn a_prune_takes_notes_along_that_no_ref_leads_to() {
    let (world, ids) = world(3);
    for id in &ids {
        world.done(&["note", id, "-m", id]);
    }
    world.done(&["tag", "kept", &ids[0]]);
    world.done(&["reset"]);
    let pairs: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
    assert_eq!(notes(&world), expected(&pairs), "reset lets notes be");
    assert_eq!(world.json(&["prune", "--keep", "0", "-n", "--json"])["notes"], 2);
    assert_eq!(notes(&world), expected(&pairs));
    assert_eq!(world.json(&["prune", "--keep", "0", "--json"])["notes"], 2);
    assert_eq!(notes(&world), expected(&pairs[..1]), "the tag leads to it");
    world.done(&["undo"]);
    assert_eq!(notes(&world), expected(&pairs));
    world.assert_sound("after all");
}

/// Also from earlier versions, and from what killed commands have left.
#[test]
fn a_purge_removes_a_text_from_all_notes() {
    let (world, ids) = world(2);
    let secret = "the code is 4711-0815";
    world.done(&["note", &ids[0], "-m", &format!("first, {secret}")]);
    world.done(&["note", &ids[0], "-f", "-m", "first, and no more"]);
    world.done(&["note", &ids[1], "-m", &format!("{secret}, I think")]);
    let child = world.start_with(&["note", &ids[1], "-f", "-m", &format!("lost {secret}")], "note:before-refs");
    drop(child.wait_with_output());
    let plan = world.json(&["purge", "-n", "--json", secret]);
    assert_eq!(plan["notes"], 3, "{plan}");
    world.done(&["purge", "--force", secret]);
    assert_eq!(notes(&world), expected(&[(&ids[0], "first, and no more"), (&ids[1], "[purged], I think")]));
    assert!(!all_objects(&world).contains("4711"));
    world.assert_sound("after a purge");
    assert!(world.git(&["log", "--format=%an", "refs/checkpoints/notes"]).starts_with("C O Mitter"));
}

#[test]
fn notes_follow_checkpoints_that_a_purge_writes_anew() {
    let (world, _) = world(1);
    world.write("secret.txt", "the code is 4711-0815\n");
    world.settle();
    let id = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
    world.done(&["note", &id, "-m", "the code is 4711-0815, too"]);
    world.remove("secret.txt");
    world.done(&["save"]);
    world.done(&["purge", "--force", "the code is 4711-0815"]);
    let copy = world.done(&["list", "--all", "--format", "%H", "-n", "2"]).lines().last().expect("two").to_owned();
    assert_ne!(copy, id);
    assert_eq!(notes(&world), expected(&[(&copy, "[purged], too")]));
    assert!(!all_objects(&world).contains("4711"));
    world.assert_sound("after a purge");
}

#[rstest::rstest]
#[case::whole(None)]
#[case::killed_after_the_drop(Some("purge:after-drop"))]
#[case::killed_before_the_notes(Some("purge:before-notes"))]
fn a_purged_checkpoint_leaves_no_version_of_its_note(#[case] failpoint: Option<&str>) {
    let (world, ids) = world(3);
    world.done(&["note", &ids[1], "-m", "written 4711"]);
    world.done(&["note", &ids[1], "-f", "-m", "changed 4711"]);
    world.done(&["note", &ids[2], "-m", "of another"]);
    let arguments = ["purge", "--force", "--checkpoint", &ids[1]];
    if let Some(failpoint) = failpoint {
        let output = world.start_with(&arguments, failpoint).wait_with_output().expect("it ends");
        assert!(!output.status.success(), "{}", described(&output));
    }
    world.done(&arguments);
    let last = world.done(&["list", "--format", "%H", "-n", "1"]).trim().to_owned();
    assert_eq!(notes(&world), expected(&[(&last, "of another")]));
    assert!(!all_objects(&world).contains("4711"));
    world.assert_sound("after a purge");
}

#[test]
fn a_note_follows_the_copy_of_a_damaged_checkpoint() {
    let (world, ids) = world(2);
    world.done(&["note", &ids[1], "-m", "of the last"]);
    let blob = world.git(&["rev-parse", &format!("{}:f", ids[1])]);
    let blob = blob.trim();
    std::fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).expect("loose");
    world.write("f", "something else\n");
    world.settle();
    world.done(&["doctor", "--fix"]);
    let copy = world.done(&["list", "--archived", "--format", "%H", "-n", "1"]).trim().to_owned();
    assert_ne!(copy, ids[1], "it is a copy");
    assert_eq!(notes(&world), expected(&[(&copy, "of the last")]));
}

/// What has another purpose goes on without notes that cannot be read, and says so; they stay as they are.
#[test]
fn notes_that_cannot_be_read_stop_nothing_else() {
    let (world, ids) = world(3);
    world.done(&["note", &ids[0], "-m", "a"]);
    world.done(&["note", &ids[1], "-m", "b"]);
    let tip = world.git(&["rev-parse", "refs/checkpoints/notes"]);
    lose(&world, &format!("refs/checkpoints/notes:{}", &ids[0][..2]), Loss::Gone);
    let of_note = world.checkpoint(&["undo"]);
    assert_eq!(of_note.status.code(), Some(128), "this one is about a note: {}", described(&of_note));

    world.write("f", "precious\n");
    world.done(&["restore", &ids[0], "f"]);
    assert_ne!(world.read("f"), "precious\n");
    world.done(&["undo"]);
    assert_eq!(world.read("f"), "precious\n");
    let found = world.checkpoint(&["search", "number"]);
    assert!(found.status.success() && stderr(&found).contains("not all can be searched"), "{}", described(&found));
    for (command, is_about_notes) in [
        (&["drop", "-f", &ids[1]][..], true),
        (&["undo"], false),
        (&["reset", "--force"], false),
        (&["prune", "--keep", "0"], true),
        (&["undo"], false),
    ] {
        let output = world.checkpoint(command);
        let warns = stderr(&output).contains("cannot be read, and stay as they are");
        assert_eq!((output.status.code(), warns), (Some(0), is_about_notes), "{command:?} {}", described(&output));
        assert_eq!(world.git(&["rev-parse", "refs/checkpoints/notes"]), tip, "{command:?}");
    }
}
