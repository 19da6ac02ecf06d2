//! Whatever happens to a worktree, a restore brings back every byte and mode of what was saved; and what changes under way
//! is not overwritten.

use std::{collections::BTreeMap, fs, path::PathBuf};

use bstr::BString;
use git_checkpoint::{Context, RestoreOptions, restore};
use proptest::prelude::*;

use crate::support::stage::{Meddler, Node, Stage, picture};

#[derive(Clone, Debug)]
enum Act {
    Write(usize, usize),
    Link(usize, usize),
    Remove(usize),
    Executable(usize, bool),
    Directory(usize),
    Attributes(usize),
    Setting(usize),
    /// Wait until the times of the files show any further change.
    Settle,
    Save,
    Restore(usize),
    Undo,
}

const PATHS: [&str; 9] = ["a", "b", "a/x", "a/y", "a/x/z", "b/w", "c d", "é", "f"];
const CONTENTS: [&[u8]; 7] = [b"", b"one\n", b"two\n", b"one\r\n", b"one\r\ntwo\n", b"\0\xff\r\n", b"$Id$\n"];
const ATTRIBUTES: [&str; 5] =
    ["", "* text=auto eol=crlf\n", "* text\n", "*[a-f] ident\n", "* text=auto\nb -text\na/* filter=rot\n"];
const SETTINGS: [(&str, &str); 6] = [
    ("core.autocrlf", "true"),
    ("core.autocrlf", "input"),
    ("core.autocrlf", "false"),
    ("core.eol", "crlf"),
    ("core.eol", "lf"),
    ("filter.rot.smudge", "false"),
];

fn act() -> impl Strategy<Value = Act> {
    let path = 0..PATHS.len();
    prop_oneof![
        6 => (path.clone(), 0..CONTENTS.len()).prop_map(|(path, content)| Act::Write(path, content)),
        2 => (path.clone(), path.clone()).prop_map(|(path, target)| Act::Link(path, target)),
        3 => path.clone().prop_map(Act::Remove),
        2 => (path.clone(), any::<bool>()).prop_map(|(path, on)| Act::Executable(path, on)),
        1 => path.prop_map(Act::Directory),
        2 => (0..ATTRIBUTES.len()).prop_map(Act::Attributes),
        1 => (0..SETTINGS.len()).prop_map(Act::Setting),
        2 => Just(Act::Settle),
        4 => Just(Act::Save),
        3 => any::<usize>().prop_map(Act::Restore),
        1 => Just(Act::Undo),
    ]
}

/// Removes what is at `path`, and any file or link in the place of a directory on the way to it.
fn make_room(stage: &Stage, path: &str) {
    let root = stage.repo();
    for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
        let part: PathBuf = root.join(&path[..at]);
        let Ok(metadata) = fs::symlink_metadata(&part) else { continue };
        if !metadata.is_dir() {
            fs::remove_file(&part).expect("removable");
        } else if at == path.len() {
            fs::remove_dir_all(&part).expect("removable");
        }
    }
}

fn is_below_link(stage: &Stage, path: &str) -> bool {
    let is_dir =
        |at: usize| fs::symlink_metadata(stage.repo().join(&path[..at])).is_ok_and(|metadata| metadata.is_dir());
    !path.match_indices('/').all(|(at, _)| is_dir(at))
}

/// Files and links only: directories that became empty may stay or go.
fn files(stage: &Stage) -> BTreeMap<BString, Node> {
    stage.disk().into_iter().filter(|(_, node)| *node != Node::Directory).collect()
}

fn play(acts: &[Act]) {
    let stage = Stage::new();
    let mut saves = vec![(stage.save(), files(&stage))];
    let mut before_restore = None;
    for act in acts {
        match act {
            Act::Write(path, content) => {
                make_room(&stage, PATHS[*path]);
                stage.write(PATHS[*path], CONTENTS[*content]);
            }
            Act::Link(path, target) => {
                make_room(&stage, PATHS[*path]);
                stage.link(PATHS[*path], PATHS[*target]);
            }
            Act::Remove(path) if stage.exists(PATHS[*path]) && !is_below_link(&stage, PATHS[*path]) => {
                stage.remove(PATHS[*path]);
            }
            Act::Executable(path, on)
                if matches!(stage.disk().get(&BString::from(PATHS[*path])), Some(Node::File { .. })) =>
            {
                stage.chmod(PATHS[*path], if *on { 0o755 } else { 0o644 });
            }
            Act::Directory(path) => {
                make_room(&stage, PATHS[*path]);
                fs::create_dir_all(stage.repo().join(PATHS[*path])).expect("made");
            }
            Act::Attributes(at) => {
                // The files stay as they are, and so must what is restored.
                match ATTRIBUTES[*at] {
                    "" => drop(fs::remove_file(stage.repo().join(".gitattributes"))),
                    text => stage.write(".gitattributes", text),
                }
            }
            Act::Setting(at) => {
                let (name, value) = SETTINGS[*at];
                stage.git(&["config", name, value]);
                continue;
            }
            Act::Settle => stage.settle(),
            Act::Save => saves.push((stage.save(), files(&stage))),
            Act::Restore(at) => {
                let (id, expected) = &saves[at % saves.len()];
                let now = files(&stage);
                let restored = stage.restore(*id);
                assert!(restored.conflicts.is_empty() && restored.kept.is_empty(), "{restored:?}");
                assert_eq!(&files(&stage), expected);
                before_restore = Some(now).filter(|_| !picture(&restored).is_empty());
                continue;
            }
            Act::Undo => {
                let Some(expected) = before_restore.take() else { continue };
                let undone = stage.undo();
                assert!(undone.conflicts.is_empty() && undone.kept.is_empty(), "{undone:?}");
                assert_eq!(files(&stage), expected);
                continue;
            }
            _ => continue,
        }
        if !matches!(act, Act::Save) {
            before_restore = None;
        }
    }
    stage.untouchables();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_and_mode_comes_back(acts in proptest::collection::vec(act(), 1..30)) {
        play(&acts);
    }
}

#[test]
fn files_that_change_during_a_restore_are_not_overwritten() {
    let stage = Stage::new();
    for path in ["edited", "deleted", "gone", "doomed", "linked/x", "quiet"] {
        stage.write(path, "then\n");
    }
    let a = stage.save();
    for path in ["edited", "deleted", "linked/x", "quiet"] {
        stage.write(path, "now\n");
    }
    stage.remove("gone");
    stage.write("made", "now\n");
    let root = stage.repo();
    let outside = stage.root().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("x"), "now\n").expect("written");
    let mut context = Context::open(&root).expect("opens");
    let behind = outside.clone();
    context.subscribe(Box::new(Meddler(Box::new(move || {
        if root.join("linked").is_symlink() {
            return;
        }
        // The same size and time: only the content differs.
        fs::write(root.join("edited"), "NOW\n").expect("written");
        fs::write(root.join("made"), "NOW\n").expect("written");
        fs::remove_file(root.join("deleted")).expect("removed");
        fs::write(root.join("gone"), "another\n").expect("written");
        fs::remove_dir_all(root.join("linked")).expect("removed");
        std::os::unix::fs::symlink(&behind, root.join("linked")).expect("linked");
    }))));
    let restored =
        restore(&context, &RestoreOptions { target: a.to_string(), ..RestoreOptions::default() }).expect("restored");
    let expected = [
        "+quiet",
        "!deleted: changed under way",
        "!edited: changed under way",
        "!gone: in the way",
        "!linked/x: below a symbolic link",
        "!made: changed under way",
    ];
    assert_eq!(picture(&restored), expected);
    assert_eq!((stage.read("edited"), stage.read("made")), ("NOW\n".into(), "NOW\n".into()));
    assert_eq!((stage.read("gone"), stage.exists("deleted")), ("another\n".into(), false));
    assert_eq!(fs::read(outside.join("x")).expect("there"), b"now\n");
}
