//! What a worktree has that no tree shows: files that saves skip, nested repositories without a commit, and files whose filter failed.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    found::{OfSide, PathOverlap},
    sides::Now,
};
use crate::{
    error::Result,
    model::{
        change::{Change, Status},
        three_way::Meeting,
    },
};

/// By the path, why it is not known what it has.
type Hidden = BTreeMap<BString, String>;
/// By the path, what happened to it.
type Touched = BTreeMap<BString, Status>;

/// Marks what is hidden on one side, and was changed or is hidden on the other one: how that meets is unknown. Adds what is not among
/// `paths`, which are sorted by the path here. Each side comes with its changes since the tree `base_tree`.
pub(super) fn mark(
    paths: &mut Vec<PathOverlap>,
    (here, ours): (Now<'_>, &[Change]),
    (there, theirs): (Now<'_>, &[Change]),
    base_tree: ObjectId,
) -> Result<()> {
    let (hidden_here, hidden_there) = (hidden(here, "here"), hidden(there, "there"));
    if hidden_here.is_empty() && hidden_there.is_empty() {
        return Ok(());
    }
    for path in paths.iter_mut() {
        let of = |hidden: &Hidden, side: &OfSide| {
            let mut names = [Some(&side.path), side.old_path.as_ref()].into_iter().flatten();
            names.find_map(|name| at_or_above(hidden, name).map(|(_, why)| why.clone()))
        };
        if let Some(why) = of(&hidden_here, &path.here).or_else(|| of(&hidden_there, &path.there)) {
            path.hide(why);
        }
    }
    let status = |path: &BString| {
        let was_there = here.repo.find_entry(base_tree, path.as_bstr())?.is_some();
        Ok(if was_there { Status::Modified } else { Status::Added })
    };
    let touched = |changes: &[Change], hidden: &Hidden| -> Result<Touched> {
        let mut touched = Touched::new();
        for change in changes {
            touched.extend(change.old_path.clone().map(|path| (path, Status::Deleted)));
            touched.insert(change.path.clone(), change.status);
        }
        for path in hidden.keys() {
            touched.insert(path.clone(), status(path)?);
        }
        Ok(touched)
    };
    let (touched_here, touched_there) = (touched(ours, &hidden_here)?, touched(theirs, &hidden_there)?);
    let mut added = Vec::new();
    for (path, why) in &hidden_here {
        if let Some((other, of_other)) = meeting(&touched_there, path) {
            added.push(unknown((path, touched_here[path]), (other, *of_other), why));
        }
    }
    for (path, why) in &hidden_there {
        if let Some((other, of_other)) = meeting(&touched_here, path) {
            added.push(unknown((other, *of_other), (path, touched_there[path]), why));
        }
    }
    for new in added {
        let is_it = |it: &PathOverlap| it.here.path == new.here.path && it.there.path == new.there.path;
        if !paths.iter().any(is_it) {
            paths.push(new);
        }
    }
    paths.sort_by(|one, other| one.here.path.cmp(&other.here.path));
    Ok(())
}

/// Returns what is hidden in the worktree `now`.
fn hidden(now: Now<'_>, side: &str) -> Hidden {
    let skipped = now.manifest.skipped.iter();
    let skipped = skipped.map(|it| (it.path.clone(), format!("saves skip it {side}: {}", it.reason.as_str())));
    let unfiltered = now.manifest.unfiltered.iter();
    let unfiltered = unfiltered.map(|it| (it.path.clone(), format!("the filter '{}' failed {side}", it.filter)));
    // With a commit, that is what a save takes, and git merges.
    let nested = now.manifest.nested.iter().filter(|it| it.head.is_none());
    let left_out =
        nested.map(|it| (it.path.clone(), format!("saves leave it out {side}: a nested repository without a commit")));
    unfiltered.chain(skipped).chain(left_out).collect()
}

fn unknown(here: (&BString, Status), there: (&BString, Status), why: &str) -> PathOverlap {
    let side = |(path, status): (&BString, Status)| OfSide {
        path: path.clone(),
        old_path: None,
        status,
        sessions: Vec::new(),
    };
    PathOverlap {
        state: Meeting::Unknown,
        kind: None,
        unknown: Some(why.to_owned()),
        lines: Vec::new(),
        here: side(here),
        there: side(there),
    }
}

/// Returns the entry of `all` for `path`, or for a directory that it is in.
fn at_or_above<'a, T>(all: &'a BTreeMap<BString, T>, path: &BString) -> Option<(&'a BString, &'a T)> {
    let ends = std::iter::once(path.len()).chain(path.rfind_iter("/"));
    ends.into_iter().find_map(|end| all.get_key_value(path[..end].as_bstr()))
}

/// Returns the entry of `all` that is at `path`, or that is in it or above it as a directory.
fn meeting<'a, T>(all: &'a BTreeMap<BString, T>, path: &BString) -> Option<(&'a BString, &'a T)> {
    at_or_above(all, path).or_else(|| {
        let prefix = BString::from([path.as_slice(), b"/"].concat());
        all.range::<BString, _>(&prefix..).next().filter(|(it, _)| it.starts_with(&prefix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::it("a/b", Some("a/b"))]
    #[case::below("a/b/c/d", Some("a/b"))]
    #[case::above("a", Some("a/b"))]
    #[case::beside("a/bc", None)]
    #[case::begins_alike("a/", None)]
    #[case::elsewhere("c", None)]
    fn paths_meet(#[case] path: &str, #[case] expected: Option<&str>) {
        let all = BTreeMap::from([(BString::from("a/b"), 1), (BString::from("b"), 2)]);
        assert_eq!(meeting(&all, &path.into()).map(|(it, _)| it.to_string()).as_deref(), expected);
    }
}
