//! Every version of every file that was ever in a checkpoint: where it is afterwards.

use std::collections::{BTreeMap, BTreeSet};

use super::World;

/// What holds versions by itself. What only an operation log or a reflog leads to is lost when that expires.
const HOLDERS: [&str; 3] = ["refs/checkpoints/shadow/*", "refs/checkpoints/archive/*", "refs/heads/*"];

/// Follows the files of checkpoints, except of those that a restore has made.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// By tree: path and content of its files.
    trees: BTreeMap<String, BTreeSet<String>>,
    ever: BTreeSet<String>,
    /// What the user has asked to drop.
    dropped: BTreeSet<String>,
    /// The states in which turns began. The ref of one is deleted when the turn ends, unless a checkpoint of the turn builds on it.
    baselines: BTreeSet<String>,
}

impl Versions {
    /// Notes what there is now, and asserts that what there was before is in a live or archived checkpoint or in a commit.
    /// If the command `drops`, what is missing counts as dropped.
    pub(crate) fn check(&mut self, world: &World, drops: bool, note: &str) {
        let held = self.of(world, &HOLDERS, true);
        let pending = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/pending/"]);
        self.baselines.extend(pending.lines().map(ToOwned::to_owned));
        // The logs hold what was saved since the last look, too.
        let now = self.of(world, &["refs/checkpoints/*"], false);
        self.ever.extend(now);
        if drops {
            self.dropped.extend(self.ever.difference(&held).cloned());
        }
        let lost: Vec<String> =
            self.ever.iter().filter(|it| !held.contains(*it) && !self.dropped.contains(*it)).cloned().collect();
        let texts: Vec<String> = lost.iter().map(|it| described(world, it)).collect();
        assert!(lost.is_empty(), "lost: {texts:?}\n{note}\n{}", world.done(&["op", "log"]));
    }

    /// Returns the versions in the checkpoints that `globs` lead to and, if they are wanted, in the commits.
    fn of(&mut self, world: &World, globs: &[&str], with_commits: bool) -> BTreeSet<String> {
        let value = |key: &str| format!("%(trailers:key=Checkpoint-{key},valueonly,separator=%x2c)");
        let format = format!("--format=%H%x09%T%x09{}%x09{}", value("Contributor"), value("Tool"));
        let globs: Vec<String> = globs.iter().map(|glob| format!("--glob={glob}")).collect();
        let mut arguments = vec!["log", "--no-show-signature", &format];
        arguments.extend(globs.iter().map(String::as_str));
        let mut found = BTreeSet::new();
        for line in world.git(&arguments).lines() {
            let [id, tree, contributor, tool] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let is_exempt = contributor.is_empty() || tool.starts_with("restore ") || self.baselines.contains(id);
            let is_wanted = with_commits || !is_exempt;
            if is_wanted {
                found.extend(self.files(world, tree));
            }
        }
        found
    }

    fn files(&mut self, world: &World, tree: &str) -> BTreeSet<String> {
        let read = || world.git(&["ls-tree", "-r", tree]).lines().map(ToOwned::to_owned).collect();
        self.trees.entry(tree.to_owned()).or_insert_with(read).clone()
    }
}

/// Returns path and content of what `git ls-tree` has printed as `line`.
fn described(world: &World, line: &str) -> String {
    let (entry, path) = line.split_once('\t').expect("a path");
    format!("{path}: {:?}", world.git(&["cat-file", "-p", entry.rsplit(' ').next().expect("an id")]))
}
