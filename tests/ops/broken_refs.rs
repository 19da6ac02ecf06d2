//! Refs of ours whose objects or ids are gone: what they led to is found again.

use std::fs;

use super::broken::{refs, shadow, text};
use crate::support::{World, processes::described};

/// A commit with `f`, then three checkpoints.
fn world() -> World {
    let world = World::with_commit();
    world.write("f", "precious\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "precious"]);
    for content in ["11\n", "12\n", "13\n"] {
        world.write("f", content);
        world.done(if content == "11\n" { &["save", "--verify"] } else { &["save"] });
    }
    world
}

/// Packs everything, and takes the pack away; returns what brings it back.
fn lose_pack(world: &World) -> impl Fn() + use<> {
    world.git(&["gc", "-q"]);
    let directory = world.repo().join(".git/objects/pack");
    let aside = world.repo().join(".git/aside");
    fs::rename(&directory, &aside).expect("it is there");
    fs::create_dir(&directory).expect("its place is free");
    move || {
        for file in fs::read_dir(&aside).expect("it is there") {
            let file = file.expect("it can be listed");
            fs::rename(file.path(), directory.join(file.file_name())).expect("the place is free");
        }
    }
}

/// Returns the id of HEAD's commit, with the file that has it as an object of its own.
fn keep_head(world: &World) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let objects = world.git(&["rev-list", "--objects", "--no-object-names", "HEAD"]);
    let path = |id: &str| world.repo().join(".git/objects").join(&id[..2]).join(&id[2..]);
    objects.lines().map(path).map(|path| (path.clone(), fs::read(&path).expect("it is loose"))).collect()
}

#[test]
fn where_the_commit_of_head_is_gone_nothing_is_set_aside() {
    let world = world();
    let (before, tip) = (shadow(&world), world.git(&["rev-parse", &shadow(&world)]));
    let bring_back = lose_pack(&world);
    world.write("f", "z\n");
    for command in [&["save"][..], &["reset"], &["session", "prompt", "s", "-m", "p"]] {
        let refused = world.checkpoint(command);
        assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
        assert!(text(&refused).contains("nothing is set aside"), "{}", described(&refused));
    }
    let doctor = world.checkpoint(&["doctor", "--fix"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", described(&doctor));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("git index-pack"), "{}", described(&doctor));
    bring_back();
    assert_eq!(world.git(&["rev-parse", &before]), tip);
    world.done(&["save"]);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}~1:f", shadow(&world))]), "13\n");
    assert_eq!(refs(&world, "archive"), Vec::<String>::new());
}

#[rstest::rstest]
#[case::a_save(&["save"])]
#[case::the_doctor(&["doctor", "--fix"])]
fn a_chain_of_which_nothing_can_be_read_comes_back(#[case] command: &[&str]) {
    let world = world();
    let tip = world.git(&["rev-parse", &shadow(&world)]);
    let head = keep_head(&world);
    let bring_back = lose_pack(&world);
    for (path, content) in head {
        fs::create_dir_all(path.parent().expect("it is below another")).expect("it can be made");
        fs::write(path, content).expect("it can be written");
    }
    world.write("f", "z\n");
    let saved = world.checkpoint(&["save"]);
    assert!(saved.status.success() && text(&saved).contains(tip.trim()), "{}", described(&saved));
    let doctor = world.checkpoint(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains(tip.trim()), "{}", described(&doctor));
    bring_back();
    let doctor = world.checkpoint(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", described(&doctor));
    world.write("f", "zz\n");
    world.done(command);
    let tips = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive/"]);
    assert_eq!(tips.matches(tip.trim()).count(), 1, "{tips}");
    world.assert_sound("at the end");
    let doctor = world.checkpoint(&["doctor"]);
    assert!(!String::from_utf8_lossy(&doctor.stdout).contains(tip.trim()), "{}", described(&doctor));
    world.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:f", tip.trim())]), "13\n");
}

/// How a power cut leaves a file.
fn blank(world: &World, name: &str, content: &[u8]) {
    fs::write(world.repo().join(".git").join(name), content).expect("it is loose");
}

#[rstest::rstest]
fn a_shadow_without_an_id_is_set_aside(
    #[values(&b""[..], &[0; 41])] content: &[u8],
    #[values(&["save"][..], &["doctor", "--fix"], &["session", "prompt", "s", "-m", "p"], &["reset"])]
    command: &[&str],
) {
    let world = world();
    let (name, tip) = (shadow(&world), world.git(&["rev-parse", &shadow(&world)]).trim().to_owned());
    blank(&world, &name, content);
    let doctor = world.checkpoint(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.status.code() == Some(1) && said.contains("doctor --fix"), "{said}");
    world.write("f", "after\n");
    let output = world.checkpoint(command);
    assert!(output.status.success() && text(&output).contains(&name), "{}", described(&output));
    world.done(&["save"]);
    let tips = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive/"]);
    assert!(tips.contains(&tip), "{tips}");
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:f", shadow(&world))]), "after\n");
    world.assert_sound("at the end");
    world.done(&["doctor"]);
}

#[rstest::rstest]
#[case::a_save(&["save", "--verify"])]
#[case::a_mark(&["verify"])]
#[case::no_mark(&["verify", "--reset"])]
fn a_checkpoint_that_only_the_verified_mark_leads_to_is_archived(#[case] command: &[&str]) {
    let world = world();
    let verified = world.git(&["rev-parse", "refs/checkpoints/verified/main"]).trim().to_owned();
    world.git(&["update-ref", "-d", &shadow(&world)]);
    world.write("f", "after\n");
    world.done(&["save"]);
    world.done(command);
    let tips = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive/"]);
    assert_eq!(tips.trim(), verified);
}

#[rstest::rstest]
#[case::with_another_change(true)]
#[case::alone(false)]
fn the_first_save_stores_what_the_index_names_and_no_object_has(#[case] is_changed: bool) {
    let world = World::with_commit();
    world.write("precious", "precious\n");
    // A file as young as the index would be read in any case.
    world.sh("touch -d '1 hour ago' precious");
    world.settle();
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "precious"]);
    world.git(&["update-index", "-q", "--really-refresh"]);
    world.git(&["read-tree", "HEAD"]);
    world.git(&["update-index", "-q", "--refresh"]);
    super::broken::lose(&world, "HEAD:precious", super::broken::Loss::Gone);
    if is_changed {
        world.write("new", "new\n");
    }
    world.done(&["save"]);
    world.write("precious", "agent\n");
    world.done(&["save"]);
    world.done(&["restore", if is_changed { "@{1}" } else { "base" }, "precious"]);
    assert_eq!(fs::read_to_string(world.repo().join("precious")).expect("it is there"), "precious\n");
}

#[rstest::rstest]
#[case::the_verified_mark("verified/main")]
#[case::a_shadow_of_another_base("shadow/0123456789012345678901234567890123456789/main")]
#[case::a_tag("tags/x")]
#[case::an_archive("archive/1700000000-0123456789ab")]
#[case::what_was_before_a_turn("pending/main@/x")]
fn a_ref_without_an_id_stops_no_other_command(#[case] name: &str) {
    let world = world();
    let name = format!("refs/checkpoints/{name}");
    let path = world.repo().join(".git").join(&name);
    for command in [
        &["list"][..],
        &["list", "--archived"],
        &["status"],
        &["diff"],
        &["prune"],
        &["save"],
        &["verify"],
        &["restore", "@{1}", "f"],
        &["session", "prompt", "s", "-m", "p"],
        &["doctor", "--fix"],
    ] {
        fs::create_dir_all(path.parent().expect("it is below another")).expect("it can be made");
        fs::write(&path, "").expect("it can be written");
        let output = world.checkpoint(command);
        assert!(output.status.success(), "{command:?}: {}", described(&output));
    }
    assert!(!path.exists());
    world.done(&["doctor"]);
}

#[test]
fn a_log_of_records_without_an_id_stops_no_other_command() {
    let world = world();
    blank(&world, "refs/checkpoints/history", b"");
    for command in [&["session", "prompt", "s", "-m", "p"][..], &["explain"], &["attribution", "HEAD"]] {
        let output = world.checkpoint(command);
        assert!(!text(&output).contains("cannot read 'refs/checkpoints/history'"), "{}", described(&output));
    }
    let doctor = world.checkpoint(&["doctor", "--fix"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", described(&doctor));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("dangling"), "{}", described(&doctor));
}

#[rstest::rstest]
#[case::empty(0)]
#[case::cut(60)]
fn the_doctor_names_an_index_that_cannot_be_read(#[case] length: usize) {
    let world = world();
    let path = world.repo().join(".git/index");
    let content = fs::read(&path).expect("it is there");
    fs::write(&path, &content[..length]).expect("it can be written");
    assert_eq!(world.checkpoint(&["save"]).status.code(), Some(128));
    let doctor = world.checkpoint(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.status.code() == Some(1) && said.contains("git reset"), "{}", described(&doctor));
    fs::rename(&path, path.with_extension("bad")).expect("it is there");
    world.git(&["reset", "-q"]);
    world.write("f", "after\n");
    world.done(&["save"]);
}
