//! Restores in unusual company: forged data, failing filters, pruned history, names that differ only in case.

use std::fs;

use git_checkpoint::{
    Context, Kind, Origin, RestoreOptions, UndoOptions, restore,
    testing::ops::{prune, reset},
    undo,
};
use gix::ObjectId;

use crate::support::{
    World,
    stage::{Meddler, Stage, picture},
};

fn session(id: &str) -> Origin {
    Origin { session: Some(id.into()), ..Origin::default() }
}

fn reopened(stage: &Stage) -> Context {
    Context::open(&stage.repo()).expect("opens")
}

/// Sets all checkpoints aside.
fn set_aside(stage: &Stage) {
    reset::reset(&reopened(stage), &reset::Options { force: true, ..reset::Options::default() }).expect("set aside");
}

/// Drops everything from the archive that may be dropped, and collects it with git.
fn prune_all(stage: &Stage) {
    prune::prune(&reopened(stage), &prune::Options { keep: Some(0), ..prune::Options::default() }).expect("pruned");
    stage.git(&["gc", "-q", "--prune=now"]);
}

fn to(target: ObjectId) -> RestoreOptions {
    RestoreOptions { target: target.to_string(), ..RestoreOptions::default() }
}

#[test]
fn a_pruned_target_of_an_earlier_restore_is_no_obstacle() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let pruned = stage.save_as(&session("s"));
    set_aside(&stage);
    stage.write("f", "two\n");
    stage.save_as(&session("s"));
    stage.restore(pruned);
    stage.write("g", "one\n");
    let kept = stage.save_as(&session("s"));
    stage.write("g", "two\n");
    stage.save_as(&session("s"));
    stage.restore(kept);
    // A prune keeps what says whose the lines of the worktree are.
    stage.write("f", "three\n");
    stage.write("g", "three\n");
    // The operation log holds what a prune has dropped, so that an undo can bring it back.
    prune_all(&stage);
    stage.git(&["update-ref", "-d", "refs/checkpoints/operations/main"]);
    stage.git(&["gc", "-q", "--prune=now"]);
    let found = stage.command("git").args(["cat-file", "-e", &pruned.to_string()]).output().expect("git runs");
    assert!(!found.status.success(), "it is gone");
    stage.write("g", "one\n");
    stage.save_as(&session("s"));
    let restored = restore(&reopened(&stage), &to(kept)).expect("restored");
    assert_eq!(picture(&restored), ["+f"]);
}

#[test]
fn prune_keeps_the_checkpoint_that_undo_needs() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save();
    stage.write("f", "two\n");
    stage.restore(a);
    set_aside(&stage);
    prune_all(&stage);
    undo(&reopened(&stage), &UndoOptions::default()).expect("undone");
    assert_eq!(stage.read("f"), "two\n");
}

#[test]
fn a_swap_that_fails_half_way_brings_back_what_made_room() {
    let stage = Stage::with(|world| {
        for way in ["clean", "smudge"] {
            world.git(&["config", &format!("filter.broken.{way}"), "tr a-z n-za-m"]);
        }
    });
    stage.write(".gitattributes", "d/x filter=broken\n");
    stage.write("d/a", "then\n");
    stage.write("d/x", "then\n");
    let a = stage.save();
    stage.remove("d");
    stage.write("d", "a file now\n");
    stage.chmod("d", 0o640);
    for (key, value) in [("smudge", "false"), ("required", "true")] {
        stage.git(&["config", &format!("filter.broken.{key}"), value]);
    }
    let before = stage.disk();
    let restored = restore(&reopened(&stage), &to(a)).expect("restored");
    assert_eq!(
        picture(&restored),
        ["!d: in the way", "!d/a: in the way", "!d/x: its filter failed, or is not configured"]
    );
    assert_eq!(stage.disk(), before);
}

/// On a file system that ignores case, the new name already exists; a hard link simulates that.
#[test]
fn a_name_in_another_case_still_is_to_be_written() {
    let stage = Stage::with(|world| drop(world.git(&["config", "core.ignoreCase", "true"])));
    stage.write("readme", "one\n");
    let a = stage.save();
    stage.remove("readme");
    stage.write("README", "one\n");
    let root = stage.repo();
    let mut context = reopened(&stage);
    context.subscribe(Box::new(Meddler(Box::new(move || {
        drop(fs::hard_link(root.join("README"), root.join("readme")));
    }))));
    let restored = restore(&context, &to(a)).expect("restored");
    assert_eq!(picture(&restored), ["!README: in the way", "!readme: changed under way"]);
    assert_eq!(stage.read("README"), "one\n");
}

/// An undo that changes no staged content does not care who stages something meanwhile.
#[test]
fn an_undo_of_files_finishes_though_the_index_changes() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let one = stage.save_as(&session("s"));
    stage.write("f", "two\n");
    stage.save_as(&session("s"));
    stage.restore(one);
    stage.write("g", "new\n");
    let (mut context, repo) = (reopened(&stage), stage.repo());
    context.subscribe(Box::new(Meddler(Box::new(move || {
        let added = std::process::Command::new("git").arg("-C").arg(&repo).args(["add", "g"]).status();
        assert!(added.expect("git runs").success());
    }))));
    undo(&context, &UndoOptions::default()).expect("undone");
    assert_eq!((stage.read("f"), stage.git(&["diff", "--cached", "--name-only"])), ("two\n".into(), "g\n".into()));
}

#[rstest::rstest]
#[case::nul("[[unmerged]]\npath = \"a\\u0000b\"\nstage = 1\nmode = \"100644\"\n")]
#[case::parent("[[unmerged]]\npath = \"../x\"\nstage = 1\nmode = \"100644\"\n")]
#[case::git("[[unmerged]]\npath = \".git/config\"\nstage = 1\nmode = \"100644\"\n")]
#[case::mode("[[unmerged]]\npath = \"x\"\nstage = 1\nmode = \"40000\"\n")]
fn forged_manifests_are_refused(#[case] text: &str) {
    let stage = Stage::new();
    let seed = stage.save().to_string();
    let git = |arguments: &[&str]| stage.git(arguments).trim().to_owned();
    let blob = git(&["rev-parse", "HEAD:f"]);
    stage.write(".git/forged", format!("version = 1\n{text}id = \"{blob}\"\n"));
    let manifest = git(&["hash-object", "-w", "--", ".git/forged"]);
    let side_tree = {
        let mut command = stage.command("git");
        command.env("GIT_INDEX_FILE", ".git/index-of-side");
        let info = format!("100644,{manifest},manifest.toml");
        assert!(command.args(["update-index", "--add", "--cacheinfo", &info]).output().expect("runs").status.success());
        let mut command = stage.command("git");
        let output = command.env("GIT_INDEX_FILE", ".git/index-of-side").arg("write-tree").output().expect("runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let side = git(&["commit-tree", &side_tree, "-m", "side"]);
    let message = git(&["log", "-1", "--format=%B", &seed]);
    let forged = git(&["commit-tree", &format!("{seed}^{{tree}}"), "-p", &seed, "-p", &side, "-m", &message]);
    stage.write("f", "now\n");
    let staged = RestoreOptions { target: forged, staged: true, ..RestoreOptions::default() };
    let error = restore(&stage.context, &staged).map(drop).expect_err("forged");
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    assert_eq!(stage.read("f"), "now\n");
}

#[test]
fn a_foreign_session_prints_no_control_characters() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let a = stage.save_as(&session("s"));
    stage.write("f", "two\n");
    let evil = stage.save_as(&session("evil")).to_string();
    // A save refuses such an id; what others have made may have it, and then has no session.
    let git = |arguments: &[&str]| stage.git(arguments);
    let text = git(&["cat-file", "commit", &evil]).replace("evil", "evil\u{1b}[31m");
    let file = stage.root().join("evil");
    std::fs::write(&file, text).expect("files can be written");
    let forged = git(&["hash-object", "-t", "commit", "-w", &file.display().to_string()]);
    let shadow = git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow"]);
    git(&["update-ref", shadow.trim(), forged.trim(), &evil]);
    let output = stage.checkpoint(&["restore", &a.to_string()]);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!text.contains("evil") && !text.contains('\u{1b}'), "{text:?}");
    let listed = stage.checkpoint(&["list", "--json"]).stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    assert!(listed.contains(&forged.trim()[..8]) && !listed.contains("evil"), "{listed}");
}

/// The next undo would go further back.
#[test]
fn the_hint_after_an_undo_with_a_conflict_works() {
    let world = World::with_commit();
    world.write("a", "1\n");
    world.write("u", "1\n");
    world.done(&["save"]);
    world.done(&["restore", "--all", "base"]);
    world.sh("echo u >.git/info/exclude; echo mine >u");
    let output = world.checkpoint(&["undo"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let hint = said.split('\'').find(|words| words.starts_with("git checkpoint restore --all")).expect("a hint");
    world.sh(&format!("mv u elsewhere; {}", hint.replace("<path>...", "u")));
    assert_eq!(world.sh("cat a u elsewhere"), "1\n1\nmine\n");
}
