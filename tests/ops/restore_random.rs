//! Restores among ignored, staged and committed files: what a restore overwrites or deletes is in a checkpoint.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use bstr::{BString, ByteSlice as _};
use git_checkpoint::{RestoreOptions, Restored, UndoOptions, restore, undo};
use gix::ObjectId;
use proptest::prelude::*;

use crate::support::stage::Stage;

#[derive(Clone, Debug)]
enum Act {
    /// Writes bytes that were never written before.
    Write(usize),
    Remove(usize),
    Move(usize, usize),
    Rules(usize),
    Stage(usize),
    Unstage(usize),
    Commit,
    Save,
    SavePath(usize),
    Restore(usize, bool),
    RestorePath(usize, usize),
    Undo,
    Other(usize),
}

const PATHS: [&str; 9] = ["a", "a/x", "a/y", "b.log", "b.log/z", "c/d/e", "c/d", "c/k.log", "g"];
const RULES: [&str; 7] = ["", "*.log\n", "/a\n", "c/\n", "c/d\n", "*\n!.gitignore\n", "a/*\n!a/y\n"];

/// What else moves files or checkpoints, and may fail.
const OTHERS: [&str; 9] = [
    "git reset -q --hard",
    "git reset -q --soft HEAD~1",
    "git stash push -q",
    "git stash push -q -u",
    "git stash pop -q",
    "git checkout -q -B other HEAD~1",
    "git gc -q --prune=now",
    "git checkpoint reset",
    "git checkpoint doctor --fix",
];

fn act() -> impl Strategy<Value = Act> {
    let path = || 0..PATHS.len();
    prop_oneof![
        8 => path().prop_map(Act::Write),
        3 => path().prop_map(Act::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Act::Move(from, to)),
        3 => (0..RULES.len()).prop_map(Act::Rules),
        2 => path().prop_map(Act::Stage),
        1 => path().prop_map(Act::Unstage),
        1 => Just(Act::Commit),
        4 => Just(Act::Save),
        1 => path().prop_map(Act::SavePath),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(at, staged)| Act::Restore(at, staged)),
        1 => (any::<usize>(), path()).prop_map(|(at, path)| Act::RestorePath(at, path)),
        1 => Just(Act::Undo),
        2 => (0..OTHERS.len()).prop_map(Act::Other),
    ]
}

/// The files of a worktree, by the ids that their bytes have as blobs.
type Files = BTreeMap<BString, String>;

struct RandomWork {
    stage: Stage,
    saves: Vec<ObjectId>,
    /// The blobs of all saves.
    saved: BTreeSet<String>,
    written: usize,
}

impl RandomWork {
    fn new() -> Self {
        let stage = Stage::with(|world| drop(world.done(&["enable"])));
        let saves = vec![stage.save()];
        Self { stage, saves, saved: BTreeSet::new(), written: 0 }
    }

    /// Runs `script`, which may fail.
    fn shell(&self, script: &str) {
        let mut command = self.stage.world.command("sh");
        command.args(["-c", script]).output().expect("sh runs");
    }

    fn files(&self) -> Files {
        let paths = String::from_utf8(
            self.stage
                .world
                .command("find")
                .args([".", "-path", "./.git", "-prune", "-o", "-type", "f", "-print"])
                .output()
                .expect("find runs")
                .stdout,
        )
        .expect("plain paths");
        let mut names: Vec<_> = paths.lines().collect();
        names.sort_unstable();
        let ids = self.stage.git(&[&["hash-object", "--no-filters", "--"], &names[..]].concat());
        names.iter().map(|name| name.trim_start_matches("./").into()).zip(ids.lines().map(str::to_owned)).collect()
    }

    /// Returns all that checkpoints and commits hold.
    fn held(&self) -> BTreeSet<String> {
        let listed = self.stage.git(&["rev-list", "--objects", "--all"]);
        listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    /// Does what `change` does, after which no bytes may be lost.
    fn check(&self, change: impl FnOnce() -> Option<Restored>) {
        let before = self.files();
        let Some(restored) = change() else { return };
        let (after, held) = (self.files(), self.held());
        for (path, id) in &before {
            assert!(after.get(path) == Some(id) || held.contains(id), "lost: {path}\n{restored:?}");
        }
    }

    /// After a restore of everything, each file of the checkpoint is there unless the restore names it.
    fn check_exact(&self, restored: &Restored) {
        let files = self.files();
        let listed = self.stage.git(&["ls-tree", "-r", &restored.target.to_string()]);
        let named: BTreeSet<&BString> =
            restored.kept.iter().chain(&restored.conflicts).map(|left| &left.path).collect();
        for line in listed.lines() {
            let (what, path) = line.split_once('\t').expect("a tab");
            let path = BString::from(path);
            let is_named = named.iter().any(|named| path.starts_with_str(named.as_bytes()));
            assert!(is_named || files.get(&path).map(String::as_str) == what.split(' ').nth(2), "{path}\n{restored:?}");
        }
    }

    fn act(&mut self, act: &Act) {
        let make_room = |path: &str| {
            let parents = path.match_indices('/').map(|(slash, _)| &path[..slash]);
            parents
                .map(|parent| format!("test -d {parent} || {{ rm -f {parent}; mkdir {parent}; }}; "))
                .collect::<String>()
        };
        match *act {
            Act::Write(at) => {
                self.written += 1;
                let (path, number) = (PATHS[at], self.written);
                self.shell(&format!("{}rm -rf {path}; echo {number} >{path}", make_room(path)));
            }
            Act::Remove(at) => self.shell(&format!("rm -rf {}", PATHS[at])),
            Act::Move(from, to) => {
                let (from, to) = (PATHS[from], PATHS[to]);
                self.shell(&format!("test -e {from} || exit; mv {from} t; {}rm -rf {to}; mv t {to}", make_room(to)));
            }
            Act::Rules(at) => match RULES[at] {
                "" => drop(fs::remove_file(self.stage.repo().join(".gitignore"))),
                rules => self.stage.write(".gitignore", rules),
            },
            Act::Stage(at) => self.shell(&format!("git add -A -f {}", PATHS[at])),
            Act::Unstage(at) => self.shell(&format!("git rm -rfq --cached {}", PATHS[at])),
            Act::Commit => self.shell("git commit -qm more"),
            Act::Save => {
                let id = self.stage.save();
                let listed = self.stage.git(&["ls-tree", "-r", &id.to_string()]);
                let blobs = listed.lines().filter_map(|line| line.split([' ', '\t']).nth(2));
                self.saved.extend(blobs.map(str::to_owned));
                self.saves.push(id);
            }
            Act::SavePath(at) => self.shell(&format!("git checkpoint save -- {}", PATHS[at])),
            Act::Restore(at, staged) => {
                let target = self.saves[at % self.saves.len()].to_string();
                self.check(|| {
                    let options = RestoreOptions { target, staged, all: true, ..RestoreOptions::default() };
                    let restored = restore(&self.stage.context, &options).expect("restored");
                    self.check_exact(&restored);
                    Some(restored)
                });
            }
            Act::RestorePath(at, path) => {
                let target = self.saves[at % self.saves.len()].to_string();
                let pathspecs = vec![PATHS[path].into()];
                let options = RestoreOptions { target, pathspecs, ..RestoreOptions::default() };
                self.check(|| restore(&self.stage.context, &options).ok());
            }
            Act::Other(at) => self.shell(OTHERS[at]),
            Act::Undo => self.check(|| undo(&self.stage.context, &UndoOptions::default()).ok()),
        }
    }
}

/// More with `RESTORE_CASES=200`.
fn cases() -> u32 {
    std::env::var("RESTORE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_restore_loses_no_bytes(acts in proptest::collection::vec(act(), 1..25)) {
        let mut play = RandomWork::new();
        for act in &acts {
            play.act(act);
        }
        play.stage.untouchables();
        let held = play.held();
        let lost: Vec<_> = play.saved.difference(&held).collect();
        prop_assert!(lost.is_empty(), "saved, and in no checkpoint any more: {lost:?}");
    }
}
