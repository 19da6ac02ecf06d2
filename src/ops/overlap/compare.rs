//! What two worktrees have both changed since a commit, by a three-way merge of what they have now.

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    found::{OfSide, PathOverlap},
    hidden,
    sides::{Now, why},
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        line_edits::is_binary,
        merge_attributes::{MergeAttributes, Way},
    },
    model::{
        both_changed::{Kind, Pair, Together, into_renamed, pairs},
        change::{Change, Leaf, Status},
        histogram::{Numbers, Unclear},
        three_way::{Meeting, Place, meet},
    },
};

/// How much is read for one other worktree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Larger files are not read.
    file: u64,
    /// Nor are further files once so many bytes were read.
    all: u64,
}

impl Limits {
    /// For `git checkpoint overlap`.
    pub(super) const USUAL: Self = Self { file: 16 << 20, all: 256 << 20 };
    /// For commands that mention overlaps beside other things, and for hooks.
    pub(super) const QUICK: Self = Self { file: 128 << 10, all: 1 << 20 };
}

/// Returns the paths that both have changed since the commit `base`, of those that the pathspecs match.
///
/// # Errors
/// If a tree cannot be read. A file that cannot be read is unknown.
pub(super) fn compare(
    (here, there): (Now<'_>, Now<'_>),
    base: ObjectId,
    pathspecs: &[BString],
    limits: Limits,
) -> Result<Vec<PathOverlap>> {
    let base_tree = here.repo.tree_of_commit(base)?;
    let (mut ours, mut theirs) = (changes(here, base_tree)?, changes(there, base_tree)?);
    if !ours.is_empty() && !theirs.is_empty() {
        ours = here.repo.detect_renames_to_merge(ours)?;
        theirs = there.repo.detect_renames_to_merge(theirs)?;
    }
    let mut found = pairs(&ours, &theirs);
    for (new, rename) in into_renamed(&theirs, &ours, &mut |directory| is_gone(here, directory)) {
        found.add(rename, new, Together::Conflict(Kind::Moved));
    }
    for (new, rename) in into_renamed(&ours, &theirs, &mut |directory| is_gone(there, directory)) {
        found.add(new, rename, Together::Conflict(Kind::Moved));
    }
    let mut pathspec = here.repo.pathspec(pathspecs)?;
    let mut is_asked_for =
        |one: &BString, other: &BString| [one, other].iter().any(|it| pathspec.matches(it.as_bstr()));
    let mut content = Content::new(here.repo, there.repo, limits);
    let pairs = found.sorted().into_iter().filter(|pair| is_asked_for(&pair.here.path, &pair.there.path));
    let mut paths: Vec<PathOverlap> = pairs.map(|pair| content.of_pair(&pair)).collect();
    hidden::mark(&mut paths, (here, &ours), (there, &theirs), base_tree)?;
    paths.retain(|it| is_asked_for(&it.here.path, &it.there.path));
    Ok(paths)
}

/// Returns how the changes of each of `pairs` meet, of which only `repo` is read.
pub(super) fn of_pairs(repo: &Repo, pairs: &[Pair<'_>], limits: Limits) -> Vec<PathOverlap> {
    let mut content = Content::new(repo, repo, limits);
    pairs.iter().map(|pair| content.of_pair(pair)).collect()
}

/// Returns true if there is nothing at `directory`; what cannot be read was compared before.
fn is_gone(now: Now<'_>, directory: &BStr) -> bool {
    now.repo.find_entry(now.tree_id, directory).is_ok_and(|entry| entry.is_none())
}

fn changes(now: Now<'_>, base_tree: ObjectId) -> Result<Vec<Change>> {
    now.repo.diff_trees(base_tree, now.tree_id)
}

/// Reads what changed files have.
struct Content<'r> {
    /// The repositories in which the files of each side can be read.
    here: &'r Repo,
    there: &'r Repo,
    /// What each worktree says of how its files are merged, once that was asked for.
    attributes: Option<[MergeAttributes<'r>; 2]>,
    /// True if git shows the base of a conflict in one of both.
    shows_base: bool,
    limits: Limits,
    /// How many bytes may still be read.
    left: u64,
}

impl<'r> Content<'r> {
    fn new(here: &'r Repo, there: &'r Repo, limits: Limits) -> Self {
        let shows_base = |repo: &Repo| {
            repo.config_value("merge.conflictStyle").is_some_and(|style| style == b"diff3" || style == b"zdiff3")
        };
        let shows_base = shows_base(here) || shows_base(there);
        Self { here, there, attributes: None, shows_base, limits, left: limits.all }
    }

    /// Returns how the changes of `pair` meet.
    fn of_pair(&mut self, pair: &Pair<'_>) -> PathOverlap {
        let mut overlap = PathOverlap {
            state: Meeting::Clean,
            kind: None,
            unknown: None,
            lines: Vec::new(),
            here: OfSide::new(pair.here),
            there: OfSide::new(pair.there),
        };
        match pair.together {
            Together::Same => {}
            Together::Conflict(kind) => (overlap.state, overlap.kind) = (Meeting::Conflict, Some(kind)),
            Together::Content { base, here, there } => {
                let is_untouched = |leaf: Leaf| base.is_some_and(|base| base.id == leaf.id);
                if here.id == there.id || is_untouched(here) || is_untouched(there) {
                    return overlap;
                }
                match self.places(pair, base, here, there) {
                    Err(error) => overlap.hide(why(&error)),
                    Ok(None) => (overlap.state, overlap.kind) = (Meeting::Conflict, Some(Kind::Binary)),
                    Ok(Some(places)) => {
                        overlap.lines = places;
                        overlap.state = overlap.lines.iter().map(|place| place.state).max().unwrap_or(Meeting::Clean);
                        let kind = if base.is_none() { Kind::Added } else { Kind::Content };
                        overlap.kind = (overlap.state != Meeting::Clean).then_some(kind);
                    }
                }
            }
        }
        overlap
    }

    /// Returns where the texts meet; none if git does not merge the file line by line.
    fn places(&mut self, pair: &Pair<'_>, base: Option<Leaf>, here: Leaf, there: Leaf) -> Result<Option<Vec<Place>>> {
        let renamed = [pair.here, pair.there].into_iter().find(|change| change.status == Status::Renamed);
        let ways = self.ways(renamed.unwrap_or(pair.here).path.as_bstr())?;
        if let Some(Way::Driver(name)) = ways.iter().find(|way| matches!(way, Way::Driver(_))) {
            return Err(Error::corrupt(format!("the merge driver '{name}' decides, which is not run")));
        }
        if ways.contains(&Way::Whole) {
            return Ok(None);
        }
        let base = base.map_or_else(|| Ok(Some(Vec::new())), |leaf| self.text(self.here, leaf))?;
        let texts = (base, self.text(self.here, here)?, self.text(self.there, there)?);
        let (Some(base), Some(here), Some(there)) = texts else { return Ok(None) };
        let is_union = ways.iter().all(|way| *way == Way::Union);
        if is_union {
            return Ok(Some(Vec::new()));
        }
        places(&base, &here, &there, self.shows_base).map(Some).map_err(|unclear| {
            Error::corrupt(match unclear {
                Unclear::Repeated => "its lines repeat too often",
                Unclear::TooMuch => "it has changed too much to be merged here",
            })
        })
    }

    /// Returns how each of both worktrees has the file at `path` merged: git may run in either.
    fn ways(&mut self, path: &BStr) -> Result<[Way; 2]> {
        if self.attributes.is_none() {
            self.attributes = Some([MergeAttributes::new(self.here)?, MergeAttributes::new(self.there)?]);
        }
        let [here, there] = self.attributes.as_mut().expect("they were just made");
        Ok([here.way(path)?, there.way(path)?])
    }

    /// Returns the text of `leaf`; none if it is no text.
    fn text(&mut self, repo: &Repo, leaf: Leaf) -> Result<Option<Vec<u8>>> {
        let size = repo.object_size(leaf.id)?.unwrap_or_default();
        let most = self.limits.file;
        if size > most {
            let most = if most < 1 << 20 { format!("{} KiB", most >> 10) } else { format!("{} MiB", most >> 20) };
            return Err(Error::corrupt(format!("it is larger than {most}")));
        }
        let left = self.left.checked_sub(size);
        self.left = left.ok_or_else(|| Error::corrupt("both have changed too much to merge all of it here"))?;
        repo.read_blob(leaf.id).map(|data| (!is_binary(&data)).then_some(data))
    }
}

/// Returns where two texts meet that were made from `base`.
fn places(base: &[u8], here: &[u8], there: &[u8], shows_base: bool) -> Result<Vec<Place>, Unclear> {
    let mut numbers = Numbers::default();
    let base = numbers.of(base, &[]);
    let [here, there] = [here, there].map(|text| numbers.of(text, &base));
    let (ours, theirs) = (numbers.edits(&base, &here)?, numbers.edits(&base, &there)?);
    Ok(meet(&ours, &theirs, shows_base, &mut |one, other| here.get(one).is_some_and(|it| there.get(other) == Some(it))))
}

#[cfg(test)]
mod tests {
    use std::{fs, process as run};

    use proptest::prelude::*;

    use super::*;

    /// Returns true if `git merge-file` merges the texts without a conflict, as a merge does it; none for a git before 2.44.
    fn is_merged_by_git(base: &[u8], here: &[u8], there: &[u8], style: &str) -> Option<bool> {
        let directory = tempfile::tempdir().expect("writable");
        for (name, text) in [("base", base), ("here", here), ("there", there)] {
            fs::write(directory.path().join(name), text).expect("writable");
        }
        #[expect(clippy::disallowed_methods, reason = "the test compares with git")]
        let mut git = run::Command::new("git");
        git.current_dir(directory.path()).args(["merge-file", "-p", "-q", "--diff-algorithm=histogram", style]);
        let output = git.args(["here", "base", "there"]).output().expect("git runs");
        (output.status.code() != Some(129)).then(|| output.status.success())
    }

    /// A text, edited: lines go, come, change, are swapped, or are copied below themselves.
    #[derive(Clone, Debug)]
    struct Edited {
        steps: Vec<(usize, usize, usize, usize)>,
        is_cut: bool,
    }

    impl Edited {
        fn text(&self, lines: &[&'static str]) -> Vec<u8> {
            let mut lines = lines.to_vec();
            for (what, at, count, word) in &self.steps {
                let at = at % (lines.len() + 1);
                let end = (at + count).min(lines.len());
                match what {
                    0 => drop(lines.drain(at..end)),
                    1 => lines.insert(at, WORDS[*word]),
                    2 if at < end => lines[at] = WORDS[*word],
                    3 if at + 1 < lines.len() => lines.swap(at, at + 1),
                    _ => {
                        let copy = lines[at..end].to_vec();
                        lines.splice(end..end, copy);
                    }
                }
            }
            let mut text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            text.truncate(text.len() - usize::from(self.is_cut && !text.is_empty()));
            text.into_bytes()
        }
    }

    const WORDS: [&str; 7] = ["{", "}", "", "  return x;", "  if (x) {", "  }", "  x = 1;"];

    /// Most lines occur more than once, as in code.
    fn lines() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(&WORDS[..]), 0..30)
    }

    fn edited() -> impl Strategy<Value = Edited> {
        let step = (0..5usize, 0..30usize, 1..5usize, 0..WORDS.len());
        let steps = prop::collection::vec(step, 0..5);
        (steps, prop::bool::weighted(0.2)).prop_map(|(steps, is_cut)| Edited { steps, is_cut })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn texts_meet_where_git_stops(lines in lines(), here in edited(), there in edited(), shows_base: bool) {
            let base = Edited { steps: Vec::new(), is_cut: false }.text(&lines);
            let (here, there) = (here.text(&lines), there.text(&lines));
            let found = places(&base, &here, &there, shows_base).expect("they are short");
            let style = if shows_base { "--diff3" } else { "--quiet" };
            if let Some(is_merged) = is_merged_by_git(&base, &here, &there, style) {
                prop_assert_eq!(found.is_empty(), is_merged, "{:?}", found);
            }
        }
    }

    /// A function copied below itself: the common beginning and end say nothing of what was copied.
    #[test]
    fn a_copied_function_meets_a_change_inside_of_it() {
        let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let base = text(&["{", "  b", "  r", "  x", "}"]);
        let here = text(&["{", "  b", "  a", "  r", "  x", "  r", "  x", "}", "  x", "}"]);
        let there = text(&["{", "  b", "  r", "  x", "}", "  r", "  x", "}"]);
        let found = places(base.as_bytes(), here.as_bytes(), there.as_bytes(), false).expect("they are short");
        assert!(!found.is_empty());
    }
}
