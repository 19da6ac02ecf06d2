//! Tree differences and renames, held against `git diff-tree`.

use git_checkpoint::{Context, DiffOptions, FileDiff};
use gix::ObjectId;

use crate::support::World;

/// Returns a world with an empty repository.
fn world(object_format: &str) -> World {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main", &format!("--object-format={object_format}"), "."]);
    world
}

/// Runs `script` in the repository, adds everything, and returns a commit of the tree.
fn tree(world: &World, script: &str) -> ObjectId {
    let status = world.command("bash").args(["-euc", script]).status().expect("bash runs");
    assert!(status.success(), "{script}");
    world.git(&["add", "-A"]);
    world.id(&["commit-tree", "-m", "tree", world.git(&["write-tree"]).trim()])
}

/// Returns git's diff of the two trees, as `status [old_path] path` lines.
fn of_git(world: &World, arguments: &[&str], old: ObjectId, new: ObjectId) -> Vec<String> {
    let (old, new) = (old.to_string(), new.to_string());
    let mut all = vec!["-c", "core.quotePath=false", "diff-tree", "-r", "--name-status"];
    all.extend(arguments);
    all.extend([old.as_str(), new.as_str()]);
    // The similarity behind the letter R is not ours to print.
    world
        .git(&all)
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            let letter = fields.next().unwrap_or_default().chars().next().unwrap_or_default();
            std::iter::once(letter.to_string()).chain(fields.map(str::to_owned)).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// Returns the library's diff of them.
fn of_ours(world: &World, renames: bool, old: ObjectId, new: ObjectId) -> Vec<String> {
    let context = Context::open(&world.repo()).expect("a repository");
    let (from, to) = (Some(old.to_string()), Some(new.to_string()));
    let options = DiffOptions { from, to, renames, counts: false, ..DiffOptions::default() };
    let line = |change: &FileDiff| match &change.old_path {
        Some(old_path) => format!("{} {old_path} {}", change.status.letter(), change.path),
        None => format!("{} {}", change.status.letter(), change.path),
    };
    git_checkpoint::diff(&context, &options).expect("both are there").files.iter().map(line).collect()
}

#[rstest::rstest]
#[case::added("", "echo a >a; mkdir -p d/e; echo b >d/e/b")]
#[case::deleted("echo a >a; mkdir -p d/e; echo b >d/e/b", "rm -r a d")]
#[case::modified_deep("mkdir -p d/e; echo b >d/e/b; echo c >d/c", "echo x >d/e/b")]
#[case::executable("echo a >a", "chmod +x a")]
#[case::file_to_link("echo a >a", "ln -sf target a")]
#[case::file_to_directory("echo a >a; echo b >a.c", "rm a; mkdir a; echo a >a/b; echo x >a.c")]
#[case::directory_to_file("mkdir a; echo a >a/b; echo b >a.c", "rm -r a; echo x >a")]
#[case::directory_to_link("mkdir a; echo a >a/b", "rm -r a; ln -s b a")]
#[case::gitlink("git init -q sub; git -C sub commit -q --allow-empty -m x", "git -C sub commit -q --allow-empty -m y")]
#[case::gitlink_to_file("git init -q sub; git -C sub commit -q --allow-empty -m x", "rm -rf sub; echo x >sub")]
#[case::nothing("echo a >a", "true")]
fn differences_are_those_of_git(#[case] before: &str, #[case] after: &str) {
    for object_format in ["sha1", "sha256"] {
        let world = world(object_format);
        let old = tree(&world, before);
        let new = tree(&world, after);
        assert_eq!(of_ours(&world, false, old, new), of_git(&world, &["--no-renames"], old, new));
        assert_eq!(of_ours(&world, false, new, old), of_git(&world, &["--no-renames"], new, old));
    }
}

#[rstest::rstest]
#[case::exact("seq 50 >a", "mv a b")]
#[case::empty_file("touch a", "mv a b")]
#[case::edited("seq 50 >a", "mv a b; sed -i 's/^7$/seven/' b")]
#[case::half("seq 100 >a", "mv a b; sed -i '1,40s/$/ changed a lot, really/' b")]
#[case::too_different("seq 10 >a", "rm a; seq 100 300 >b")]
#[case::into_directory("mkdir x; seq 90 >x/one; seq 200 290 >x/two", "mv x y; sed -i 3d y/one")]
#[case::same_name_wins("mkdir a b; seq 50 >a/f; cp a/f b/g", "mkdir c; mv a/f c/g; mv b/g c/f")]
#[case::one_source_two_targets("seq 50 >a", "cp a b; mv a c")]
#[case::swap("seq 50 >a; seq 100 150 >b", "mv a t; mv b a; mv t b")]
#[case::best_of_several(
    "seq 100 >a; seq 100 | sed 's/5/five/' >b",
    "sed 's/^9$/nine/' a >c; sed 's/^9$/nine/' b >d; rm a b"
)]
#[case::basename("mkdir x; seq 100 >x/f; seq 100 | sed 1d >g", "mkdir y; sed 's/^50$/fifty/' x/f >y/f; rm -r x g")]
#[case::link_is_no_file("seq 50 >a; ln -s somewhere l", "rm a l; ln -s somewhere a2; seq 50 >l2")]
#[case::executable("seq 50 >a", "mv a b; chmod +x b")]
#[case::binary("head -c 20000 /dev/zero | tr '\\0' '\\1' >a; seq 1000 >>a; printf '\\0' >>a", "mv a b; echo more >>b")]
#[case::crlf("seq 50 >a", "sed 's/$/\\r/' a >b; rm a")]
#[case::no_newline_at_end("printf 'a\\nb\\nc\\nd' >a", "printf 'a\\nb\\nc\\nd\\n' >b; rm a")]
fn renames_are_those_of_git(#[case] before: &str, #[case] after: &str) {
    let world = world("sha1");
    let old = tree(&world, before);
    let new = tree(&world, after);
    let ours = of_ours(&world, true, old, new);
    assert_eq!(ours, of_git(&world, &["-M"], old, new));
}

#[test]
fn the_rename_limit_is_honoured() {
    let world = world("sha1");
    let old = tree(&world, "for i in 1 2 3; do seq 100 | sed \"s/^1/$i/\" >a$i; done");
    let new = tree(&world, "for i in 1 2 3; do sed \"s/^50$/fifty/\" a$i >b$i; rm a$i; done");
    world.git(&["config", "diff.renameLimit", "2"]);
    let ours = of_ours(&world, true, old, new);
    assert_eq!(ours, of_git(&world, &["-M"], old, new));
    assert_eq!(ours.len(), 6);
}
