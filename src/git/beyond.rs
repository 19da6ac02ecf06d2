//! The commits that one line of history has and another one does not.

use std::collections::{BinaryHeap, HashMap, HashSet};

use gix::ObjectId;

use super::Repo;
use crate::error::Result;

/// By its date, a commit may be older than its parents. So this many more commits are read, as git does.
const SLACK: usize = 5;

/// What has been read of a commit.
struct Seen {
    seconds: i64,
    parents: Vec<ObjectId>,
    is_kept: bool,
}

/// A walk back in time from two sets of commits.
#[derive(Default)]
struct Walk {
    seen: HashMap<ObjectId, Seen>,
    /// The commits whose parents are still to be read, the newest on top.
    open: BinaryHeap<(i64, bool, ObjectId)>,
    /// How many of `open` are not kept.
    beyond: usize,
}

impl Walk {
    fn add(&mut self, repo: &Repo, ids: &[ObjectId], is_kept: bool) -> Result<()> {
        for id in ids {
            match self.seen.get_mut(id) {
                Some(seen) if seen.is_kept || !is_kept => continue,
                Some(seen) => seen.is_kept = true,
                None => {
                    // A shallow or damaged repository may lack it.
                    let Some((parents, seconds)) = repo.parents_and_time(*id)? else { continue };
                    self.seen.insert(*id, Seen { seconds, parents, is_kept });
                }
            }
            self.open.push((self.seen[id].seconds, is_kept, *id));
            self.beyond += usize::from(!is_kept);
        }
        Ok(())
    }
}

impl Repo {
    /// Returns the commits that `tips` are or lead to, without those that `kept` are or lead to. The first parents of a tip come
    /// first, then what its merges brought.
    ///
    /// Reads at most `most` commits, the newest ones. If these do not say whether `kept` lead to a commit, leaves it out.
    pub(crate) fn commits_beyond(&self, tips: &[ObjectId], kept: &[ObjectId], most: usize) -> Result<Vec<ObjectId>> {
        let mut walk = Walk::default();
        walk.add(self, kept, true)?;
        walk.add(self, tips, false)?;
        let (mut oldest, mut left_over, mut unsure) = (i64::MAX, SLACK, i64::MIN);
        while let Some((seconds, is_kept, id)) = walk.open.pop() {
            if walk.seen.len() > most {
                // A commit that is kept may lead to all that are not newer.
                let kept = walk.open.iter().filter(|(_, is_kept, _)| *is_kept).map(|(seconds, ..)| *seconds);
                unsure = kept.chain(is_kept.then_some(seconds)).max().unwrap_or(i64::MIN);
                break;
            }
            walk.beyond -= usize::from(!is_kept);
            if is_kept != walk.seen[&id].is_kept {
                continue;
            }
            if !is_kept {
                (oldest, left_over) = (oldest.min(seconds), SLACK);
            } else if walk.beyond == 0 && seconds < oldest {
                let Some(rest) = left_over.checked_sub(1) else { break };
                left_over = rest;
            }
            let parents = walk.seen[&id].parents.clone();
            walk.add(self, &parents, is_kept)?;
        }
        let sure = walk.seen.iter().filter(|(_, seen)| !seen.is_kept && seen.seconds > unsure);
        let mut found: HashSet<ObjectId> = sure.map(|(id, _)| *id).collect();
        let (mut beyond, mut next) = (Vec::with_capacity(found.len()), tips.to_vec());
        next.reverse();
        while let Some(id) = next.pop() {
            if found.remove(&id) {
                beyond.push(id);
                next.extend(walk.seen[&id].parents.iter().rev());
            }
        }
        Ok(beyond)
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, io::Write as _, process as run};

    use bstr::ByteSlice as _;

    use super::*;

    /// Makes a repository of commits, each with the seconds since the one before it and how many commits back its parents are.
    fn import(directory: &std::path::Path, commits: &[(u8, usize, Option<usize>)]) -> Vec<ObjectId> {
        let git = |arguments: &[&str]| {
            #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
            let mut git = run::Command::new("git");
            git.arg("-C").arg(directory).args(arguments).stdout(run::Stdio::piped());
            git
        };
        assert!(git(&["init", "-q"]).status().expect("git runs").success());
        let (mut stream, mut seconds) = (String::new(), 1_700_000_000);
        for (at, (later, first, second)) in commits.iter().enumerate() {
            seconds += u32::from(*later);
            write!(stream, "commit refs/tags/c{at}\nmark :{}\n", at + 1).expect("memory");
            write!(stream, "committer A <a@example.com> {seconds} +0000\ndata 1\nx\n").expect("memory");
            let parents = [Some(*first), second.filter(|second| second != first)].into_iter().flatten();
            let marks: Vec<usize> =
                parents.filter_map(|back| (at + 1).checked_sub(back)).filter(|mark| *mark > 0).collect();
            for (word, mark) in ["from", "merge"].iter().zip(&marks) {
                writeln!(stream, "{word} :{mark}").expect("memory");
            }
        }
        let mut child = git(&["fast-import", "--quiet"]).stdin(run::Stdio::piped()).spawn().expect("git runs");
        child.stdin.take().expect("piped").write_all(stream.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it ends").success());
        let names = (0..commits.len()).map(|at| format!("c{at}"));
        let output = git(&["rev-parse"]).args(names).output().expect("git runs");
        output.stdout.lines().map(|line| ObjectId::from_hex(line).expect("an id")).collect()
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 16, ..Default::default() })]
        #[test]
        fn commits_beyond_others_are_those_that_git_lists(
            commits in proptest::collection::vec((0..3_u8, 1..4_usize, proptest::option::weighted(0.3, 1..8_usize)), 40),
            ends in proptest::collection::vec((0..40_usize, 0..40_usize), 4),
        ) {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let ids = import(directory.path(), &commits);
            let repo = Repo::open(directory.path()).expect("a repository");
            for (tip, kept) in ends {
                let mut found = repo.commits_beyond(&[ids[tip]], &[ids[kept]], 1_000).expect("readable");
                let mut listed = repo.commits_in(&format!("{}..{}", ids[kept], ids[tip])).expect("git runs").expect("a range");
                proptest::prop_assert!(found.first().is_none_or(|first| *first == ids[tip]));
                found.sort();
                listed.sort();
                proptest::prop_assert_eq!(&found, &listed, "{} {}", tip, kept);
                // What a short walk finds is right, too.
                let some = repo.commits_beyond(&[ids[tip]], &[ids[kept]], 8).expect("readable");
                proptest::prop_assert!(some.iter().all(|id| listed.contains(id)), "{} {}", tip, kept);
            }
        }
    }
}
