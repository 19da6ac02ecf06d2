//! Finds the files that lines were moved from in one step: their earlier steps say who wrote these lines, also if the commit does not
//! change these files.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use crate::{
    error::Result,
    git::Repo,
    model::change::{Change, Leaf},
    ops::{
        chain::stashed::Stashes,
        share::{Differing, lost_rows},
    },
};

/// If a checkpoint changes more other files than this, we do not look for moved lines in them.
const MOST_OTHERS: usize = 32;
/// If a checkpoint changes more wanted files than this, we do not look for moved lines in them.
pub(crate) const MOST_CHANGED: usize = 256;

/// How many bytes of files may be read to find moved lines: in all checkpoints of a chain, in all its rows, or for one question about
/// what is unsaved.
pub(crate) const MOST_BYTES: u64 = 2 << 20;

/// Which lines of a change count.
#[derive(Clone, Copy)]
enum Side {
    Lost,
    Gained,
}

/// Returns those of `others`, changes of the same step, that may have lost lines to the files of `changes`. Reads at most `bytes_left`
/// of the files, and counts what it reads. A file that cannot be read is no source: if the replay needs it, that reports the damage.
pub(crate) fn take_sources(repo: &Repo, changes: &[Change], others: Vec<Change>, bytes_left: &mut u64) -> Vec<Change> {
    let others: Vec<Change> = others.into_iter().filter(|other| other.before.is_some()).collect();
    if !are_few(changes, &others) {
        return Vec::new();
    }
    sharing(repo, (changes, Side::Gained), (others, Side::Lost), bytes_left)
}

/// Returns the files that lost lines in a row, in one of the checkpoints with the changes `all`, if files that `wanted` accepts have
/// gained these lines, by [`is_in`], in any of the checkpoints; and those that lost lines to them. The newest checkpoint comes first. Has the
/// limits of [`take_sources`].
pub(crate) fn lost_to(
    repo: &Repo,
    all: &[Vec<Change>],
    wanted: &dyn Fn(&BString) -> bool,
    bytes_left: &mut u64,
) -> BTreeSet<BString> {
    let mut found = BTreeSet::new();
    loop {
        let more = lost_at_once(repo, all, &|path| wanted(path) || found.contains(path), bytes_left);
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    if !found.is_empty() {
        leave_out_stashed(repo, &mut found);
    }
    found
}

/// Returns the first of these files: those that lost lines to files that `wanted` accepts. Files that a stash entry changes are among
/// them.
fn lost_at_once(
    repo: &Repo,
    all: &[Vec<Change>],
    wanted: &dyn Fn(&BString) -> bool,
    bytes_left: &mut u64,
) -> BTreeSet<BString> {
    let (mut versions, mut others): (BTreeMap<&BString, Vec<&Change>>, Vec<&Change>) = (BTreeMap::new(), Vec::new());
    for changes in all {
        let (own, beside): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|change| wanted(&change.path));
        for change in own {
            versions.entry(&change.path).or_default().push(change);
        }
        if beside.len() <= MOST_OTHERS {
            others.extend(beside.into_iter().filter(|other| other.before.is_some()));
        }
    }
    if others.is_empty() || versions.len() > MOST_CHANGED {
        return BTreeSet::new();
    }
    let gained: Vec<Differing> = versions.values().flat_map(|changes| ever_gained(repo, changes, bytes_left)).collect();
    let mut found = BTreeSet::new();
    for other in if gained.is_empty() { Vec::new() } else { others } {
        if !found.contains(&other.path)
            && let Some([before, after]) = differing(repo, other, bytes_left)
            && lost_rows(&before, &after).iter().any(|row| is_in(row, &gained))
        {
            found.insert(other.path.clone());
        }
    }
    found
}

/// Returns true if all `lost` lines were gained elsewhere, or half of them by one file that has gained as much from there.
fn is_in(lost: &Differing, gained: &[Differing]) -> bool {
    lost.is_all_in(gained) || gained.iter().any(|gained| lost.is_half_in(gained))
}

/// Returns the lines that a file has gained in each of `changes`, the newest first. Reads each version once.
fn ever_gained(repo: &Repo, changes: &[&Change], bytes_left: &mut u64) -> Vec<Differing> {
    let mut gained = Vec::new();
    let mut read = |leaf: Option<Leaf>| {
        let size = leaf.map_or(Some(0), |leaf| repo.size_of_object(leaf.id))?;
        *bytes_left = bytes_left.checked_sub(size)?;
        repo.text_of(leaf).ok().flatten()
    };
    let mut newer: Option<(Option<Leaf>, Option<Vec<u8>>)> = None;
    for change in changes {
        let after = match newer.take() {
            Some((leaf, text)) if leaf == change.after => text,
            _ => read(change.after),
        };
        let before = read(change.before);
        if let (Some(before), Some(after)) = (&before, after) {
            gained.extend(Differing::in_one(&after, before));
        }
        newer = Some((change.before, before));
    }
    gained
}

/// Returns those of `lost` that lost so many lines in a row that they are no chance. Has the limits of [`take_sources`].
pub(crate) fn losing_rows(repo: &Repo, lost: Vec<Change>) -> Vec<Change> {
    let mut bytes_left = MOST_BYTES;
    if lost.len() > MOST_OTHERS {
        return Vec::new();
    }
    let mut loses = |change: &Change| {
        let texts = differing(repo, change, &mut bytes_left);
        texts.is_some_and(|[before, after]| !lost_rows(&before, &after).is_empty())
    };
    lost.into_iter().filter(|change| loses(change)).collect()
}

/// Returns those of `changes` that gained lines which `moved` lost.
pub(crate) fn takers(repo: &Repo, moved: &[Change], changes: Vec<Change>) -> Vec<Change> {
    sharing(repo, (moved, Side::Lost), (changes, Side::Gained), &mut { MOST_BYTES })
}

/// Returns those of `lost` whose lost lines are new in the files of `all`, by [`is_in`], and some of them in a row. Has the limits of
/// [`take_sources`].
///
/// In one checkpoint, fewer lines are evidence. But between two of them, or before one is taken, a file that was thrown away is no
/// source: it may begin as a person's own one does, for example with a licence. And a file that `git stash` took away has lost no
/// lines: they come back.
pub(crate) fn moved_out(repo: &Repo, all: &[Change], lost: Vec<Change>, bytes_left: &mut u64) -> Vec<Change> {
    moved_by(repo, all, lost, bytes_left, is_in)
}

/// Returns those of them that lost no line which is not new in the files of `all`.
pub(crate) fn all_moved_out(repo: &Repo, all: &[Change], lost: Vec<Change>, bytes_left: &mut u64) -> Vec<Change> {
    moved_by(repo, all, lost, bytes_left, Differing::is_all_in)
}

fn moved_by(
    repo: &Repo,
    all: &[Change],
    lost: Vec<Change>,
    bytes_left: &mut u64,
    is_in: impl Fn(&Differing, &[Differing]) -> bool,
) -> Vec<Change> {
    if !are_few(all, &lost) {
        return Vec::new();
    }
    let (mut gained, mut texts) = (Vec::new(), Vec::new());
    for change in all {
        let Some([before, after]) = differing(repo, change, bytes_left) else { continue };
        if let Some(lines) = Differing::in_one(&after, &before) {
            gained.push(lines);
            texts.push(after);
        }
    }
    let mut is_moved = |change: &Change| {
        let Some(lost) = lines_of(repo, change, Side::Lost, bytes_left) else { return false };
        is_in(&lost, &gained) && gained.iter().zip(&texts).any(|(lines, text)| lines.shares_block(text, &lost))
    };
    let mut moved: Vec<Change> = lost.into_iter().filter(|change| is_moved(change)).collect();
    if !moved.is_empty() {
        let mut paths = moved.iter().map(|change| change.path.clone()).collect();
        leave_out_stashed(repo, &mut paths);
        moved.retain(|change| paths.contains(&change.path));
    }
    moved
}

/// Takes those of `paths` out that a stash entry changes.
pub(crate) fn leave_out_stashed(repo: &Repo, paths: &mut BTreeSet<BString>) {
    match stashes(repo) {
        Ok(stashes) => paths.retain(|path| !stashes.touch(path)),
        Err(error) => {
            tracing::warn!(%error, "cannot read the stash: no lines count as moved");
            paths.clear();
        }
    }
}

/// Returns the files of the stash entries, and of what a rebase or a merge has put aside until its end.
fn stashes(repo: &Repo) -> Result<Stashes> {
    let autostashes = repo.autostashes()?.into_iter().map(|(_, id)| id);
    Stashes::of(repo, repo.stash_entries()?.into_iter().chain(autostashes))
}

fn are_few(changes: &[Change], others: &[Change]) -> bool {
    (1..=MOST_OTHERS).contains(&others.len()) && changes.len() <= MOST_CHANGED
}

/// Returns those of `others` whose lines of the one side are among those that `changes` have on the other.
fn sharing(
    repo: &Repo,
    (changes, side): (&[Change], Side),
    (others, other_side): (Vec<Change>, Side),
    bytes_left: &mut u64,
) -> Vec<Change> {
    if others.is_empty() {
        return Vec::new();
    }
    let all: Vec<Differing> = changes.iter().filter_map(|change| lines_of(repo, change, side, bytes_left)).collect();
    let mut is_sharing = |other: &Change| {
        let lines = lines_of(repo, other, other_side, bytes_left);
        lines.is_some_and(|lines| all.iter().any(|it| it.shares_lines(&lines)))
    };
    if all.is_empty() { Vec::new() } else { others.into_iter().filter(|other| is_sharing(other)).collect() }
}

/// Returns the lines that `change` takes out of its file, or adds to it.
fn lines_of(repo: &Repo, change: &Change, side: Side, bytes_left: &mut u64) -> Option<Differing> {
    let [before, after] = differing(repo, change, bytes_left)?;
    match side {
        Side::Lost => Differing::in_one(&before, &after),
        Side::Gained => Differing::in_one(&after, &before),
    }
}

/// Returns both sides of `change`; none if one is no text, cannot be read, or is larger than what may still be read.
pub(super) fn differing(repo: &Repo, change: &Change, bytes_left: &mut u64) -> Option<[Vec<u8>; 2]> {
    let mut size = 0;
    for leaf in [change.before, change.after].into_iter().flatten() {
        size += repo.size_of_object(leaf.id)?;
    }
    *bytes_left = bytes_left.checked_sub(size)?;
    let [before, after] = [change.before, change.after].map(|leaf| repo.text_of(leaf).ok().flatten());
    before.zip(after).map(Into::into)
}
