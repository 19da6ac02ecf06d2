//! How paths and ids are printed for people: as git prints them.

use crate::support::{World, program};

/// Files in several directories, all of them new.
fn world() -> World {
    let world = World::with_commit();
    for path in ["top", "d/in d", "d/e/q", "d/ef/r", "x/y"] {
        world.write(path, "new\n");
    }
    world
}

/// Returns what `program` with `arguments` prints in the folder `folder`.
fn printed(world: &World, folder: &str, program: &str, arguments: &[&str]) -> String {
    let output = world.command(program).args(arguments).current_dir(world.repo().join(folder)).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", crate::support::processes::described(&output));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[rstest::rstest]
#[case::root("", "true")]
#[case::folder("d", "true")]
#[case::below("d/e", "true")]
#[case::beside("x", "yes")]
#[case::from_the_root("d/e", "false")]
fn paths_are_as_git_status_prints_them(#[case] folder: &str, #[case] is_relative: &str) {
    let world = world();
    world.git(&["config", "status.relativePaths", is_relative]);
    let listed = |text: &str| {
        let mut paths: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect();
        paths.sort();
        paths
    };
    let of_git = listed(&printed(&world, folder, "git", &["status", "--untracked-files=all"]));
    assert_eq!(of_git.len(), 5, "{of_git:?}");
    assert_eq!(listed(&printed(&world, folder, program(), &["status"])), of_git);

    // What scripts read is from the root.
    let json = printed(&world, folder, program(), &["status", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["unsaved"], serde_json::json!(["d/e/q", "d/ef/r", "d/in d", "top", "x/y"]));

    let restored = |arguments: &[&str]| {
        let text = printed(&world, folder, program(), arguments);
        let mut paths: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("deleted  ")).map(str::to_owned).collect();
        paths.sort();
        (paths, text)
    };
    printed(&world, folder, program(), &["save"]);
    assert_eq!(restored(&["restore", "base", "--all"]).0, of_git);
    let (_, text) = restored(&["undo"]);
    assert!(of_git.iter().all(|path| text.lines().any(|line| line == format!("written  {path}"))), "{text}");
    let letters = printed(&world, "", program(), &["restore", "base", "--all", "-z"]);
    assert!(letters.contains("D\0d/e/q\0"), "{letters:?}");
}

#[test]
fn what_a_save_leaves_out_is_named_as_seen_from_here() {
    let world = world();
    world.git(&["config", "checkpoint.save.max-file-size", "10"]);
    world.write("d/large", "0123456789 and more\n");
    let output = world.command(program()).arg("save").current_dir(world.repo().join("d/e")).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("skipped ../large (too large"), "{stderr}");
}

/// Of so many objects, some begin with the same four digits.
#[rstest::rstest]
#[case::loose("git -c fastimport.unpackLimit=9999 fast-import --quiet < .git/others")]
#[case::packed("git -c fastimport.unpackLimit=1 fast-import --quiet < .git/others")]
#[case::borrowed(
    "git init -q --bare .git/lender && git -C .git/lender fast-import --quiet < .git/others &&
     echo \"$PWD/.git/lender/objects\" > .git/objects/info/alternates"
)]
fn ids_have_the_digits_that_tell_them_from_others(#[case] store: &str) {
    let world = world();
    world.git(&["config", "core.abbrev", "4"]);
    world.sh("for i in $(seq 4000); do printf 'blob\\ndata <<END\\nother %s\\nEND\\n' $i; done > .git/others");
    world.sh(store);
    for number in 0..200 {
        world.write(&format!("many/{number}"), format!("{number}\n"));
    }
    world.done(&["save"]);
    let id = world.json(&["list", "--json"])["id"].as_str().expect("an id").to_owned();
    let of_git = world.git(&["diff", "HEAD", &id, "--", "many"]);
    let is_longer =
        |line: &str| line.split_once("..").is_some_and(|(_, new)| line.starts_with("index ") && new.len() > 4);
    assert!(of_git.lines().any(is_longer), "no two of them begin alike");
    assert_eq!(world.done(&["diff", "base", "-p", "--", "many"]), of_git);
}

#[rstest::rstest]
#[case::by_itself("auto")]
#[case::short("5")]
#[case::long("12")]
#[case::whole("no")]
fn ids_are_as_long_as_git_makes_them(#[case] abbrev: &str) {
    let world = world();
    world.git(&["config", "core.abbrev", abbrev]);
    let saved = world.done(&["save", "-m", "new files"]);
    let id = world.json(&["list", "--json"])["id"].as_str().expect("an id").to_owned();
    let of_git = |revision: &str| world.git(&["rev-parse", "--short", revision]).trim().to_owned();
    let (checkpoint, base) = (of_git(&id), of_git("HEAD"));
    assert_eq!(saved, format!("saved {checkpoint} (5 paths)\n"));
    let list = world.done(&["list"]);
    assert!(list.split_whitespace().any(|word| word == checkpoint), "{list}");
    let status = world.done(&["status"]);
    assert!(status.contains(&format!("base {base}\n")), "{status}");
    assert_eq!(world.done(&["diff", "base", "-p", "--", "top"]), world.git(&["diff", "HEAD", &id, "--", "top"]));
    assert!(world.done(&["show", &checkpoint]).starts_with(&format!("checkpoint {id}")));

    // What is stored is the same under all settings.
    world.write("top", "again\n");
    world.done(&["restore", &checkpoint, "--all"]);
    let subjects = world.sh("git log --format=%s $(git for-each-ref --format='%(refname)' refs/checkpoints/)");
    let expected = [format!("restore {}", &id[..10]), format!("before restore of {}", &id[..10])];
    assert!(expected.iter().all(|line| subjects.lines().any(|subject| subject == line)), "{subjects}");
}

/// Messages name paths as git does.
#[test]
fn messages_have_relative_paths_too() {
    let world = World::with_commit();
    let said = |folder: &str, arguments: &[&str]| {
        let output = world.command(program()).args(arguments).current_dir(world.repo().join(folder)).output();
        let output = output.expect("it starts");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    world.write("src/y", "a secret text\n");
    let text = said("src", &["save", "-q"]);
    assert_eq!(text, "");
    let text = said("src", &["purge", "-n", "secret text"]);
    assert!(text.contains("  y\n") && text.contains("still has the text in 'y'"), "{text}");
    assert!(!text.contains("src/y"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&said("src", &["purge", "-n", "--json", "secret text"])).expect("JSON");
    assert!(json["refused"].as_str().is_some_and(|why| why.contains("'src/y'")), "{json}");
    let text = said("src", &["restore", "base", "nothere"]);
    assert!(text.contains("pathspec 'nothere' did not match"), "{text}");
    let text = said("src", &["save", "--paths", "nothere"]);
    assert!(text.contains("pathspec 'nothere' did not match"), "{text}");
    let text = said("", &["restore", "base", "src/nothere"]);
    assert!(text.contains("pathspec 'src/nothere' did not match"), "{text}");
    // A session's line that only one checkpoint has, in the worktree still.
    world.write("src/z", "a\n");
    said("src", &["save", "-q"]);
    world.write("src/z", "a\nb of the agent\n");
    said("src", &["save", "-q", "--session", "s", "--agent", "mine"]);
    let text = said("src", &["drop", "-f", "@{0}"]);
    assert!(text.contains(" 'z' "), "{text}");
}

/// A word after `save` that is a path is meant as one.
#[test]
fn a_path_after_save_is_hinted_at_as_a_path() {
    let world = world();
    let said = |arguments: &[&str]| crate::support::processes::described(&world.checkpoint(arguments));
    for arguments in [["save", "top"].as_slice(), &["save", "--", "top"]] {
        let said = said(arguments);
        assert!(said.contains("hint: paths follow --paths: 'git checkpoint save --paths top'\n"), "{said}");
    }
    assert!(said(&["save", "top", "d"]).contains("'git checkpoint save --paths top d'\n"));
    assert!(said(&["save", "top", "words"]).contains("'git checkpoint save -m 'top words''\n"));
}
