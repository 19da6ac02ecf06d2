//! The doctor looks behind refs: a checkpoint is only as whole as what its trees lead to.

use git_checkpoint::testing::ops::doctor::{self, Options, Problem};

use crate::support::World;

fn problems(world: &World) -> Vec<Problem> {
    let found = doctor::doctor(&world.context(), Options::default()).expect("it can look");
    found.problems.into_iter().filter(|problem| problem.code.starts_with("objects")).collect()
}

/// Two checkpoints of two files, the first one archived and tagged elsewhere; what is staged is in no file.
fn world() -> World {
    let world = World::with_commit();
    world.write("a", "a 1\n");
    world.done(&["save"]);
    world.done(&["reset"]);
    world.write("a", "a 2\n");
    world.write("b", "staged\n");
    world.git(&["add", "b"]);
    world.write("b", "b\n");
    world.done(&["save"]);
    world
}

/// Removes the object that git knows as `name`; returns its id.
fn lose(world: &World, name: &str) -> String {
    let id = world.git(&["rev-parse", name]).trim().to_owned();
    std::fs::remove_file(world.repo().join(".git/objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
    id
}

fn shadow(world: &World) -> String {
    world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]).trim().to_owned()
}

fn archived(world: &World) -> String {
    world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/archive/"]).trim().to_owned()
}

#[test]
fn a_sound_repository_has_no_problems() {
    let world = world();
    assert_eq!(problems(&world), []);
    world.git(&["gc", "-q"]);
    assert_eq!(problems(&world), []);
}

#[rstest::rstest]
#[case::a_file("live:a")]
#[case::a_tree("live^{tree}")]
#[case::what_was_staged("live^2:index/b")]
#[case::the_side_commit("live^2")]
#[case::of_the_archive("archived:a")]
fn a_missing_object_is_reported_with_its_ref(#[case] place: &str) {
    let world = world();
    let name = if place.starts_with("live") { shadow(&world) } else { archived(&world) };
    let id = lose(&world, &place.replace("live", &name).replace("archived", &name));
    let problems = problems(&world);
    let of = problems.iter().find(|problem| problem.subject == name).unwrap_or_else(|| panic!("{name}: {problems:?}"));
    assert_eq!(of.code, "objects-missing");
    assert!(of.message.contains(&id), "{id}: {}", of.message);
    let other = if place.starts_with("live") { archived(&world) } else { shadow(&world) };
    assert!(problems.iter().all(|problem| problem.subject != other), "{problems:?}");
}

#[test]
fn many_damaged_refs_are_not_all_named() {
    let world = world();
    for number in 0..50 {
        world.git(&["update-ref", &format!("refs/checkpoints/tags/t{number}"), &shadow(&world)]);
    }
    lose(&world, &format!("{}:a", shadow(&world)));
    let problems = problems(&world);
    assert_eq!(problems.len(), 21, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.subject != archived(&world)));
}

#[test]
fn a_treeless_clone_leads_to_what_it_lacks_of_the_records() {
    let world = World::with_commit();
    world.git(&["config", "uploadpack.allowfilter", "true"]);
    world.done(&["enable"]);
    world.done(&["session", "prompt", "s1", "--agent", "ag", "-m", "go on"]);
    world.write("f", "agent\n");
    world.done(&["session", "stop", "s1"]);
    world.git(&["commit", "-qam", "work"]);
    let url = format!("file://{}", world.repo().display());
    let clone = world.root().join("clone");
    let path = clone.to_str().expect("UTF-8");
    world.git(&["clone", "-q", "--filter=tree:0", &url, path]);
    let history = "refs/checkpoints/history:refs/checkpoints/history";
    world.git(&["-C", path, "fetch", "-q", "origin", history]);
    let tip = world.git(&["-C", path, "rev-parse", "refs/checkpoints/history"]);
    for arguments in [&["doctor"][..], &["doctor", "--fix"]] {
        let output = world.checkpoint(&[&["-C", path], arguments].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("git fetch --refetch --no-filter <remote> refs/checkpoints/history:"), "{said}");
        assert!(!said.contains("--fix'"), "{said}");
        assert_eq!(world.git(&["-C", path, "rev-parse", "refs/checkpoints/history"]), tip);
    }
    world.git(&["-C", path, "fetch", "-q", "--refetch", "--no-filter", "origin", history]);
    let output = world.checkpoint(&["-C", path, "doctor"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn objects_promised_by_a_partial_clone_are_not_missing() {
    let world = world();
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", world.repo().display());
    let clone = world.root().join("clone");
    let path = clone.to_str().expect("UTF-8");
    world.git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &url, path]);
    let context = git_checkpoint::Context::open(&clone).expect("a repository");
    // A checkpoint of all that was never fetched, which no other ref leads to.
    let tree = world.git(&["-C", path, "rev-parse", "HEAD^{tree}"]);
    let commit = world.git(&["-C", path, "commit-tree", "-m", "c", tree.trim()]);
    world.git(&["-C", path, "update-ref", "refs/checkpoints/tags/t", commit.trim()]);
    let found = doctor::doctor(&context, Options::default()).expect("it can look");
    assert!(found.problems.iter().all(|problem| !problem.code.starts_with("objects")), "{:?}", found.problems);
}

/// Sets the time of all packs back to when `git gc` would drop what it finds unreferenced in them.
fn age_packs(world: &World) {
    let script = "find .git/objects/pack -type f -exec touch -d '2 months ago' {} +";
    assert!(world.command("sh").args(["-c", script]).status().expect("sh runs").success());
}

#[test]
fn a_shadow_is_not_collected_by_who_listed_refs_while_it_moved() {
    let world = world();
    let ids = world.git(&["rev-list", "--objects", &shadow(&world), "--not", "--branches"]);
    world.git(&["gc", "-q"]);
    age_packs(&world);
    let before: Vec<String> = archived(&world).lines().map(Into::into).collect();
    world.done(&["reset"]);
    let name = archived(&world).lines().find(|name| !before.iter().any(|it| it == name)).expect("it is new").to_owned();
    let tip = world.git(&["rev-parse", &name]).trim().to_owned();
    // What `git gc` sees that has read the archive before, and live shadows after.
    world.git(&["update-ref", "-d", "refs/checkpoints/verified/main"]);
    world.git(&["update-ref", "-d", &name]);
    world.git(&["gc", "-q"]);
    world.git(&["update-ref", &name, &tip]);
    for line in ids.lines() {
        world.git(&["cat-file", "-e", line.split(' ').next().expect("an id")]);
    }
    assert_eq!(problems(&world), []);
}

/// Git's own empty blob is everywhere, so a save that meets a damaged file of it writes it anew.
#[test]
fn a_damaged_empty_blob_is_written_anew() {
    let world = World::with_commit();
    let id = world.git(&["hash-object", "-w", "/dev/null"]);
    let path = world.repo().join(".git/objects").join(&id[..2]).join(id[2..].trim());
    world.sh(&format!("chmod u+w {0}; echo junk >{0}; : >empty; git checkpoint save -q", path.display()));
    world.git(&["fsck", "--strict"]);
}
