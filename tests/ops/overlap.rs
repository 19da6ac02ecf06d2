//! What two worktrees have both changed: each kind of conflict, what cannot be known, and that the answer is git's.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::support::{World, dice::Dice};

/// A repository with a second worktree in `../side`, and files with ten lines each.
fn world() -> World {
    let world = World::with_commit();
    let lines: String = (0..10).map(|n| format!("{n}\n")).collect();
    for path in ["a", "b", "d/x", "d/y"] {
        world.write(path, format!("{path}\n{lines}"));
    }
    world.write("bin", b"a\0b");
    world.link("link", "a");
    world.commit_all("lines");
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world
}

/// Returns the overlap with the only other worktree.
fn with_side(world: &World) -> Value {
    world.json(&["overlap", "--json"])["worktrees"][0].clone()
}

/// Returns each path here with its state and kind.
fn states(world: &World) -> Vec<String> {
    let found = with_side(world);
    assert_eq!(found["unknown"], Value::Null);
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let paths = found["paths"].as_array().expect("a list");
    paths
        .iter()
        .map(|it| format!("{} {} {}", word(&it["here"]["path"]), word(&it["state"]), word(&it["kind"])))
        .collect()
}

/// Returns true if `git merge-tree` stops: both sides are committed first.
fn does_git_stop(world: &World) -> bool {
    world.sh("for dir in . ../side; do git -C $dir add -A && git -C $dir commit -q --allow-empty -m all; done");
    let output = world.try_git(&["merge-tree", "--write-tree", "HEAD", "side"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    output.status.code() == Some(1)
}

#[rstest::rstest]
#[case::nothing("", "", &[])]
#[case::other_files("echo x >>a", "echo x >>b", &[])]
#[case::the_same("echo x >>a", "echo x >>a", &[])]
#[case::apart("sed -i s/^1$/x/ a", "sed -i s/^8$/y/ a", &["a clean -"])]
#[case::touching("sed -i s/^4$/x/ a", "sed -i s/^5$/y/ a", &["a touching content"])]
#[case::the_same_line("sed -i s/^4$/x/ a", "sed -i s/^4$/y/ a", &["a conflict content"])]
#[case::partly_the_same("sed -i s/^4$/x/ a", "sed -i 's/^4$/x/;s/^8$/y/' a", &["a clean -"])]
#[case::binary("printf 'a\\0c' >bin", "printf 'a\\0d' >bin", &["bin conflict binary"])]
#[case::mode_and_lines("chmod +x a", "echo x >>a", &["a clean -"])]
#[case::same_mode("chmod +x a", "chmod +x a", &[])]
#[case::added_with_two_modes("echo n >n && chmod +x n", "echo n >n", &["n conflict mode"])]
#[case::deleted("rm a", "echo x >>a", &["a conflict deleted"])]
#[case::both_deleted("rm a", "rm a", &[])]
#[case::both_added("echo x >n", "echo y >n", &["n conflict added"])]
#[case::both_added_the_same("echo x >n", "echo x >n", &[])]
#[case::type_of_it("rm a && ln -s b a", "echo x >>a", &["a conflict type"])]
#[case::links("ln -sf b link", "ln -sf bin link", &["link conflict link"])]
#[case::renamed("mv a z", "echo x >>a", &["z clean -"])]
#[case::renamed_with_a_conflict("mv a z && sed -i s/^4$/x/ z", "sed -i s/^4$/y/ a", &["z conflict content"])]
#[case::renamed_apart("mv a z", "mv a q", &["z conflict renamed"])]
#[case::renamed_alike("mv a z", "mv a z", &[])]
#[case::renamed_and_deleted("mv a z", "rm a", &["z conflict renamed"])]
#[case::renamed_to_a_new_file("mv a z", "echo other >z", &["z conflict renamed"])]
#[case::directory("rm -r d && echo x >d", "echo x >d/new", &["d conflict directory"])]
#[case::new_directory("echo x >n", "mkdir n && echo x >n/x", &["n conflict directory"])]
#[case::directory_renamed("git mv d e", "echo x >d/new", &["e/x conflict moved"])]
#[case::committed("echo x >>a && git commit -qam here", "echo y >>a && git commit -qam there", &["a conflict content"])]
#[case::submodule(
    "git init -q s && git -C s commit -q --allow-empty -m one",
    "git init -q s && git -C s commit -q --allow-empty -m two",
    &["s conflict added"]
)]
#[case::no_newline("printf 9 >>a", "printf 8 >>a", &["a conflict content"])]
#[case::untracked("echo x >n", "mkdir n.d && echo y >n.d/n", &[])]
fn each_kind(#[case] here: &str, #[case] there: &str, #[case] expected: &[&str]) {
    let world = world();
    world.sh(here);
    world.sh(&format!("cd ../side && {}", if there.is_empty() { "true" } else { there }));
    let before = world.facts();
    assert_eq!(states(&world), expected);
    assert_eq!(world.facts(), before, "it writes nothing");
    let is_clean = world.checkpoint(&["overlap", "--exit-code"]).status.code() == Some(0);
    assert_eq!(is_clean, !does_git_stop(&world), "git says otherwise");
}

#[test]
fn lines_count_from_one_on_both_sides() {
    let world = world();
    world.sh("sed -i 's/^2$/x\\nx2/;s/^6$/six/' a && sed -i 's/^2$/y/;s/^5$/five/' ../side/a");
    let found = with_side(&world);
    assert_eq!(
        found["paths"][0]["lines"],
        json!([
            { "state": "conflict", "here": { "start": 4, "lines": 2 }, "there": { "start": 4, "lines": 1 } },
            { "state": "touching", "here": { "start": 8, "lines": 2 }, "there": { "start": 7, "lines": 2 } }
        ])
    );
}

#[test]
fn what_cannot_be_known_is_unknown() {
    let world = world();
    world.sh("echo x >>a && echo y >>../side/a && mv ../side ../away");
    let unknown = |world: &World| {
        let found = with_side(world);
        assert_eq!(found["paths"], json!([]));
        assert_eq!(world.checkpoint(&["overlap", "--exit-code"]).status.code(), Some(1));
        assert!(world.done(&["overlap"]).contains(" is not known: "));
        found["unknown"].as_str().expect("a reason").to_owned()
    };
    assert!(unknown(&world).contains("is gone"));
    world.sh("mv ../away ../side && git -C ../side checkout -q --orphan new");
    assert!(unknown(&world).contains("no commit yet"));
    world.sh("git -C ../side commit -q -m orphan");
    assert!(unknown(&world).contains("no commit in common"));
    world.sh("git -C ../side checkout -q side");
    world.sh("echo y >>../side/a");
    assert_eq!(states(&world), ["a conflict content"]);
    // A repository of its own in the place of the worktree.
    world.sh("rm ../side/.git && git init -q ../side");
    assert!(unknown(&world).contains("no longer the worktree"));
}

/// `status` and `worktree list` look at the last checkpoint of the other worktree, which is gone, unreadable or without overlap in the
/// other cases.
#[rstest::rstest]
#[case::not_saved("true", None)]
#[case::saved("git -C ../side checkpoint save -q", Some("2 paths, 1 in conflict"))]
#[case::committed("git -C ../side commit -qam side", Some("2 paths, 1 in conflict"))]
#[case::gone("git -C ../side checkpoint save -q; rm -r ../side", None)]
#[case::another_repository("rm ../side/.git; git init -q ../side", Some("unknown"))]
fn numbers_are_shown(#[case] script: &str, #[case] expected: Option<&str>) {
    let world = world();
    world.sh("sed -i s/^4$/x/ a; sed -i s/^1$/x/ b; cd ../side; sed -i s/^4$/y/ a; sed -i s/^8$/y/ b");
    world.sh(script);
    let before = world.facts();
    let (status, list) = (world.done(&["status"]), world.done(&["worktree", "list"]));
    let (found, listed) = (world.json(&["status", "--json"]), world.json(&["worktree", "list", "--json"]));
    assert_eq!(world.facts(), before, "they write nothing");
    let (found, listed) = (&found["overlaps"], &listed["worktrees"][1]["overlap"]);
    match expected {
        None => {
            assert!(!status.contains("verlap") && !list.contains("overlap"), "{status}{list}");
            assert_eq!((found, listed), (&json!([]), &Value::Null));
        }
        Some("unknown") => {
            assert!(status.contains("Overlap with the worktree 'side' is not known: "), "{status}");
            assert!(list.contains("overlap with this worktree unknown"), "{list}");
            assert!(found[0]["unknown"].is_string() && found[0] == *listed, "{found}");
        }
        Some(numbers) => {
            assert!(status.contains(&format!("Overlaps with the worktree 'side': {numbers}\n")), "{status}");
            assert!(list.contains(&format!("overlaps with this worktree: {numbers}")), "{list}");
            assert_eq!(
                (&found[0], listed),
                (&json!({ "worktree": "side", "paths": 2, "conflicts": 1, "touching": 0, "unknown": null }), &found[0])
            );
        }
    }
}

#[test]
fn a_missing_object_is_unknown() {
    let world = world();
    world.sh("echo x >>a && echo y >>../side/a && git -C ../side checkpoint save");
    let blob = world.git(&["rev-parse", "HEAD:a"]);
    let (folder, name) = blob.trim().split_at(2);
    fs::remove_file(world.repo().join(".git/objects").join(folder).join(name)).expect("it is loose");
    let found = with_side(&world);
    assert_eq!((&found["unknown"], &found["paths"][0]["state"]), (&Value::Null, &json!("unknown")), "{found}");
    assert_eq!(world.checkpoint(&["overlap", "--exit-code"]).status.code(), Some(1));
    world.sh("for dir in . ../side; do git -C $dir commit -qam changed; done");
    let tree = world.git(&["rev-parse", "HEAD~^{tree}"]);
    let (folder, name) = tree.trim().split_at(2);
    fs::remove_file(world.repo().join(".git/objects").join(folder).join(name)).expect("it is loose");
    assert_ne!(with_side(&world)["unknown"], Value::Null);
}

#[test]
fn a_damaged_shadow_is_no_agreement() {
    let world = world();
    world.sh("echo x >>a && echo y >>../side/a && git -C ../side checkpoint save");
    let shadow = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]);
    let (folder, name) = shadow.trim().split_at(2);
    let path = world.repo().join(".git/objects").join(folder).join(name);
    world.sh(&format!("chmod u+w '{0}' && echo damaged >'{0}'", path.display()));
    let found = with_side(&world);
    let is_conflict = found["paths"][0]["state"] == "conflict" && found["sessions_unknown"] != Value::Null;
    assert!(found["unknown"] != Value::Null || is_conflict, "{found}");
}

#[test]
fn three_worktrees_and_their_names() {
    let world = world();
    world.git(&["worktree", "add", "-q", "--detach", "../at/tail"]);
    world.sh("echo x >>a && echo y >>../side/a && echo z >>../at/tail/a");
    let names = |arguments: &[&str]| {
        let found = world.json(&[&["overlap", "--json"], arguments].concat());
        let names = found["worktrees"].as_array().expect("a list").iter();
        names.map(|it| it["worktree"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["tail", "side"], "by their paths");
    for name in ["tail", "../at/tail", &world.root().join("at/tail").display().to_string()] {
        assert_eq!(names(&["--with", name]), ["tail"], "{name}");
    }
    assert_eq!(names(&["--with", "side"]), ["side"]);
    for name in ["nowhere", "main", ".", "", "no\nname"] {
        assert_eq!(world.checkpoint(&["overlap", "--with", name]).status.code(), Some(128), "{name}");
    }
    assert_eq!(
        world.done(&["-C", "../side", "overlap", "--with", "main", "b"]),
        "No overlap with the main worktree (branch main)\n"
    );
}

#[test]
fn without_another_worktree_there_is_nothing_to_say() {
    let world = World::with_commit();
    world.write("f", "changed\n");
    assert_eq!(world.json(&["overlap", "--json"])["worktrees"], json!([]));
    assert_eq!(world.checkpoint(&["overlap", "--exit-code"]).status.code(), Some(0));
}

#[test]
fn hostile_names_are_shown_escaped() {
    let world = World::with_commit();
    let path = "e\u{1b}[31m\n\u{202e}x";
    world.write(path, "1\n2\n3\n");
    world.commit_all("base");
    let side = world.root().join("s\u{1b}\nide");
    world.git(&["worktree", "add", "-q", "-b", "side", side.to_str().expect("it is text")]);
    world.write(path, "1\nhere\n3\n");
    fs::write(side.join(path), "1\nthere\n3\n").expect("a file can be written");
    let text = world.done(&["overlap"]);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
    let found = with_side(&world);
    assert_eq!(found["paths"][0]["here"]["path"], path);
}

#[test]
fn sessions_and_prompts_come_from_checkpoints_and_records() {
    let world = world();
    world.done(&["enable"]);
    let there = |arguments: &[&str]| world.done(&[&["-C", "../side"], arguments].concat());
    there(&["session", "start", "s1", "--agent", "claude-code"]);
    there(&["session", "prompt", "s1", "-m", "count\nup"]);
    world.sh("sed -i s/^4$/four/ ../side/a");
    there(&["save", "--session", "s1"]);
    world.sh("sed -i s/^4$/vier/ a");
    let sessions = |world: &World| with_side(world)["paths"][0]["there"]["sessions"].clone();
    let expected = json!([{ "id": "s1", "agent": "claude-code", "turn": 1, "prompt": "count" }]);
    assert_eq!(sessions(&world), expected);
    assert!(world.done(&["overlap"]).contains("there: s1, claude-code, turn 1, 'count'"));
    there(&["session", "stop", "s1"]);
    world.git(&["-C", "../side", "commit", "-q", "-a", "-m", "there"]);
    assert_eq!(sessions(&world), expected);
    assert_eq!(with_side(&world)["paths"][0]["here"]["sessions"], json!([]));
}

/// Writes random lines, moves and removes files, in the worktree `root`.
fn play(root: &Path, dice: &mut Dice, is_repetitive: bool) {
    const PATHS: [&str; 6] = ["a", "b", "d/x", "d/y", "n", "d/n"];
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for path in PATHS {
        files.extend(fs::read_to_string(root.join(path)).ok().map(|text| (path, text)));
    }
    for _ in 0..3 + dice.roll(4) {
        let path = PATHS[dice.roll(PATHS.len())];
        let full = root.join(path);
        match dice.roll(10) {
            0 => drop(fs::remove_file(&full)),
            1 => {
                let to = ["z", "d/z", "y"][dice.roll(3)];
                drop(fs::create_dir_all(root.join("d")));
                drop(fs::rename(&full, root.join(to)));
            }
            _ => {
                let Ok(text) = fs::read_to_string(&full) else {
                    drop(fs::create_dir_all(full.parent().expect("it has one")));
                    fs::write(&full, format!("new {path}\n{}\n", dice.roll(2))).expect("a file can be written");
                    continue;
                };
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                let at = dice.roll(lines.len().max(1));
                if is_repetitive && at < lines.len() {
                    let end = (at + 1 + dice.roll(4)).min(lines.len());
                    match dice.roll(3) {
                        0 => {
                            let copy = lines[at..end].to_vec();
                            lines.splice(end..end, copy);
                        }
                        1 => drop(lines.drain(at..end)),
                        _ => lines[at] = WORDS[dice.roll(WORDS.len())].into(),
                    }
                    fs::write(&full, lines.iter().map(|line| format!("{line}\n")).collect::<String>())
                        .expect("written");
                    continue;
                }
                match dice.roll(3) {
                    0 => lines.insert(at.min(lines.len()), format!("added to {path} {}", dice.roll(3))),
                    1 if at < lines.len() => drop(lines.remove(at)),
                    _ if at < lines.len() => lines[at] = format!("{} changed in {path} {}", lines[at], dice.roll(3)),
                    _ => {}
                }
                fs::write(&full, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).expect("written");
            }
        }
    }
}

/// The same files, of lines that occur more than once, as in code.
fn make_repetitive(world: &World) {
    for (at, path) in ["a", "b", "d/x", "d/y"].into_iter().enumerate() {
        let text: String = (0..24).map(|n| format!("{}\n", WORDS[(n * n + at * 3) % WORDS.len()])).collect();
        world.write(path, format!("{path}\n{text}"));
    }
    world.sh("git commit -qam lines && git -C ../side reset -q --hard main");
}

const WORDS: [&str; 7] = ["{", "}", "", "  return x;", "  if (x) {", "  }", "  x = 1;"];

#[rstest::rstest]
fn the_answer_is_that_of_git(#[values(1, 2, 3, 4)] seed: u64, #[values(false, true)] is_repetitive: bool) {
    let mut dice = Dice(seed * 7919);
    let world = world();
    if is_repetitive {
        make_repetitive(&world);
    }
    let (mut stopped, mut overlapping) = (0, 0);
    for round in 0..30 {
        play(&world.repo(), &mut dice, is_repetitive);
        play(&world.root().join("side"), &mut dice, is_repetitive);
        let found = with_side(&world);
        assert_eq!(found["unknown"], Value::Null);
        let stops = world.checkpoint(&["overlap", "--exit-code"]).status.code() == Some(1);
        let git_stops = does_git_stop(&world);
        let diff = || world.sh("git diff -M HEAD~ HEAD; git diff -M side~ side; git merge-tree HEAD side");
        assert_eq!(stops, git_stops, "seed {seed}, round {round}: {found:#}\n{}", diff());
        stopped += usize::from(stops);
        overlapping += usize::from(found["paths"] != json!([]));
        world.sh("git reset -q --hard :/^lines && git -C ../side reset -q --hard :/^lines && git clean -qfd && git -C ../side clean -qfd");
    }
    assert!(stopped > 3 && stopped < 30 && overlapping > stopped, "{stopped} of {overlapping}");
}

/// A path that is nowhere is a mistake, such as the name of a worktree; one of either side, of both or of the commit before is none.
#[test]
fn a_path_that_matches_nothing_is_refused() {
    let world = world();
    world.sh("echo here >here; echo x >>a; cd ../side; echo there >there; echo y >>a; rm b");
    for (path, hint) in [("nowhere", None), ("side", Some("'--with side' names a worktree")), ("*.none", None)] {
        let output = world.checkpoint(&["overlap", path]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(128), "{said}");
        assert!(said.contains(&format!("pathspec '{path}' did not match any file of the worktrees")), "{said}");
        assert_eq!(said.contains("hint"), hint.is_some(), "{said}");
        assert!(hint.is_none_or(|hint| said.contains(hint)), "{said}");
    }
    for path in ["here", "there", "a", "b", "d", "d/*", ".", "*"] {
        world.done(&["overlap", path]);
        // What is left out need not be there.
        world.done(&["overlap", path, ":!*.lock"]);
    }
    world.sh("rm here a; cd ../side; rm a");
    world.done(&["overlap", "a"]);
}
