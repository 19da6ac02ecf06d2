//! Which paths two sides have both changed since they parted, and what there is to say of each without reading its content.
//!
//! The rows are those of git's merge (merge-ort.c), which decides by path, type and mode first and then by lines.

use std::collections::{BTreeMap, HashSet};

use bstr::{BStr, BString, ByteSlice as _};
use serde::Serialize;

use super::change::{Change, Leaf, Mode, Status};

/// Why git cannot merge two changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Both have changed the same lines, or lines next to each other.
    Content,
    /// Both have changed a file that git does not merge line by line: it is no text, or its attributes say so.
    Binary,
    /// Both have changed the executable bit, one way or the other.
    Mode,
    /// One has deleted what the other one changed.
    Deleted,
    /// Both have renamed the file, or one has renamed what the other one deleted, or both have given the same name.
    Renamed,
    /// Both have added the file.
    Added,
    /// One has made another type of it: a file, a symbolic link, a submodule.
    Type,
    /// Both have made the symbolic link point elsewhere.
    Link,
    /// Both have moved the submodule to another commit.
    Submodule,
    /// One has a file where the other one has a directory.
    Directory,
    /// One has added a file to a directory that the other one has renamed.
    Moved,
}

/// What two changes of a path mean together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    /// Nothing: both have done the same.
    Same,
    /// Git cannot merge them.
    Conflict(Kind),
    /// The content decides.
    Content {
        /// What both began with; none if both have added the file.
        base: Option<Leaf>,
        /// What the one side has.
        here: Leaf,
        /// What the other side has.
        there: Leaf,
    },
}

/// Two changes that concern each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair<'c> {
    pub(crate) here: &'c Change,
    pub(crate) there: &'c Change,
    pub(crate) together: Together,
}

/// The changes of one side, by where they come from and where they lead to.
struct Side<'c> {
    from: BTreeMap<&'c BString, &'c Change>,
    to: BTreeMap<&'c BString, &'c Change>,
}

impl<'c> Side<'c> {
    fn new(changes: &'c [Change]) -> Self {
        let from = changes.iter().filter(|change| change.before.is_some());
        let to = changes.iter().filter(|change| change.after.is_some());
        Self {
            from: from.map(|change| (change.old_path.as_ref().unwrap_or(&change.path), change)).collect(),
            to: to.map(|change| (&change.path, change)).collect(),
        }
    }

    /// Returns the first change that leads to a path below `directory`.
    fn below(&self, directory: &BString) -> Option<&'c Change> {
        let mut prefix = directory.clone();
        prefix.push(b'/');
        let (path, change) = self.to.range::<BString, _>(&prefix..).next()?;
        path.starts_with(&prefix).then_some(*change)
    }
}

/// Pairs, each once.
#[derive(Default)]
pub(crate) struct Pairs<'c> {
    all: Vec<Pair<'c>>,
    /// The places of the two changes in memory.
    known: HashSet<(*const Change, *const Change)>,
}

impl<'c> Pairs<'c> {
    /// Adds the changes `here` and `there`, unless they are known to be a pair, or are the same change.
    pub(crate) fn add(&mut self, here: &'c Change, there: &'c Change, together: Together) {
        if together != Together::Same && self.known.insert((&raw const *here, &raw const *there)) {
            self.all.push(Pair { here, there, together });
        }
    }

    /// Returns them, sorted by the path here.
    pub(crate) fn sorted(mut self) -> Vec<Pair<'c>> {
        self.all.sort_by(|one, other| one.here.path.cmp(&other.here.path));
        self.all
    }
}

/// Returns the pairs of changes of `here` and `there` that are not the same change. Both are the changes since the same tree, with
/// renames.
pub(crate) fn pairs<'c>(here: &'c [Change], there: &'c [Change]) -> Pairs<'c> {
    let (ours, theirs) = (Side::new(here), Side::new(there));
    let mut pairs = Pairs::default();
    let mut add = |here, there, together| pairs.add(here, there, together);
    for (path, one) in &ours.from {
        if let Some(other) = theirs.from.get(path) {
            add(one, other, of_one_source(one, other));
        }
    }
    for (path, one) in &ours.to {
        if let Some(other) = theirs.to.get(path).filter(|other| source(one).is_none() || source(one) != source(other)) {
            add(one, other, of_one_target(one, other));
        }
        if let Some(other) = is_new(one).then(|| theirs.below(path)).flatten() {
            add(one, other, Together::Conflict(Kind::Directory));
        }
    }
    for (path, other) in &theirs.to {
        if let Some(one) = is_new(other).then(|| ours.below(path)).flatten() {
            add(one, other, Together::Conflict(Kind::Directory));
        }
    }
    pairs
}

/// Returns which of the `new` files of one side are in a directory that the other side has renamed, each with the rename of one of its
/// files. `is_gone` returns true if the other side does not have a directory any more.
pub(crate) fn into_renamed<'c>(
    new: &'c [Change],
    renames: &'c [Change],
    is_gone: &mut dyn FnMut(&BStr) -> bool,
) -> Vec<(&'c Change, &'c Change)> {
    let from = |change: &'c Change| change.old_path.as_ref().map(|path| (path, change));
    let renamed: BTreeMap<&BString, &Change> = renames.iter().filter_map(from).collect();
    if renamed.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for change in new.iter().filter(|change| is_new(change)) {
        let directories = change.path.find_iter("/").map(|at| &change.path[..=at]).collect::<Vec<_>>();
        let moved = directories.into_iter().rev().find_map(|directory| {
            let (old, rename) = renamed.range::<BString, _>(BString::from(directory)..).next()?;
            let is_within = old.starts_with(directory) && !rename.path.starts_with(directory);
            (is_within && is_gone(directory[..directory.len() - 1].as_bstr())).then_some(*rename)
        });
        found.extend(moved.map(|rename| (change, rename)));
    }
    found
}

/// Returns the path that the change began with; of a new one, nothing is known to be common with another.
fn source(change: &Change) -> Option<&BString> {
    change.before.map(|_| change.old_path.as_ref().unwrap_or(&change.path))
}

/// Returns true if there was nothing at the path before.
fn is_new(change: &Change) -> bool {
    matches!(change.status, Status::Added | Status::Renamed)
}

/// Decides about two changes of the same file.
fn of_one_source(here: &Change, there: &Change) -> Together {
    let (Some(one), Some(other)) = (here.after, there.after) else {
        let is_renamed = [here, there].iter().any(|change| change.status == Status::Renamed);
        return match (here.after, there.after) {
            (None, None) => Together::Same,
            _ if is_renamed => Together::Conflict(Kind::Renamed),
            _ => Together::Conflict(Kind::Deleted),
        };
    };
    let both_renamed = here.status == Status::Renamed && there.status == Status::Renamed;
    if both_renamed && here.path != there.path {
        return Together::Conflict(Kind::Renamed);
    }
    if one == other && here.path == there.path {
        return Together::Same;
    }
    of_leaves(here.before, one, other)
}

/// Decides about two files at a path where there was none, or that was another one's.
fn of_one_target(here: &Change, there: &Change) -> Together {
    let (Some(one), Some(other)) = (here.after, there.after) else { return Together::Same };
    if one == other {
        return Together::Same;
    }
    match (here.status, there.status) {
        (Status::Added, Status::Added) => of_leaves(None, one, other),
        _ => Together::Conflict(Kind::Renamed),
    }
}

/// Decides about what each side has of `base`; none if there was nothing.
fn of_leaves(base: Option<Leaf>, here: Leaf, there: Leaf) -> Together {
    if !here.mode.same_type(there.mode) {
        return Together::Conflict(Kind::Type);
    }
    let is_kept = |leaf: Leaf| base.is_some_and(|base| base.id == leaf.id && base.mode.same_type(leaf.mode));
    if here.mode != there.mode && base.is_none_or(|base| base.mode != here.mode && base.mode != there.mode) {
        return Together::Conflict(Kind::Mode);
    }
    match here.mode {
        Mode::File | Mode::Executable => {
            Together::Content { base: base.filter(|base| base.mode.same_type(here.mode)), here, there }
        }
        // One of both has only renamed it.
        Mode::Link | Mode::Gitlink if is_kept(here) || is_kept(there) => Together::Content { base, here, there },
        Mode::Link => Together::Conflict(if base.is_none() { Kind::Added } else { Kind::Link }),
        Mode::Gitlink => Together::Conflict(if base.is_none() { Kind::Added } else { Kind::Submodule }),
    }
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;

    /// `<letter of the content><mode>`: `-` nothing, `f` file, `x` executable, `l` link, `m` submodule.
    fn leaf(text: &str) -> Option<Leaf> {
        let (content, mode) = text.split_at_checked(1)?;
        let mode = match mode {
            "f" => Mode::File,
            "x" => Mode::Executable,
            "l" => Mode::Link,
            "m" => Mode::Gitlink,
            _ => return None,
        };
        Some(Leaf { id: ObjectId::from_bytes_or_panic(&[content.as_bytes()[0]; 20]), mode })
    }

    /// `<path> <before> <after>`, or `<old path>><path> <before> <after>`.
    fn changes(texts: &[&str]) -> Vec<Change> {
        let change = |text: &&str| {
            let words: Vec<&str> = text.split(' ').collect();
            let (old, path) = words[0].split_once('>').map_or((None, words[0]), |(old, path)| (Some(old), path));
            let change = Change::between(path.into(), leaf(words[1]), leaf(words[2]));
            match old {
                None => change.expect("it changes something"),
                Some(old) => Change {
                    path: path.into(),
                    old_path: Some(old.into()),
                    status: Status::Renamed,
                    before: leaf(words[1]),
                    after: leaf(words[2]),
                },
            }
        };
        texts.iter().map(change).collect()
    }

    fn words(here: &[&str], there: &[&str]) -> Vec<String> {
        let (here, there) = (changes(here), changes(there));
        let word = |pair: &Pair| match pair.together {
            Together::Same => unreachable!("it is left out"),
            Together::Conflict(kind) => format!("{} {} {kind:?}", pair.here.path, pair.there.path),
            Together::Content { base, .. } => {
                format!("{} {} lines{}", pair.here.path, pair.there.path, if base.is_some() { "" } else { " added" })
            }
        };
        pairs(&here, &there).sorted().iter().map(word).collect()
    }

    #[rstest::rstest]
    #[case::nothing(&[], &["a 1f 2f"], &[])]
    #[case::other_files(&["a 1f 2f"], &["b 1f 2f"], &[])]
    #[case::modified(&["a 1f 2f"], &["a 1f 3f"], &["a a lines"])]
    #[case::the_same(&["a 1f 2f"], &["a 1f 2f"], &[])]
    #[case::both_deleted(&["a 1f -"], &["a 1f -"], &[])]
    #[case::deleted_here(&["a 1f -"], &["a 1f 2f"], &["a a Deleted"])]
    #[case::deleted_there(&["a 1f 2f"], &["a 1f -"], &["a a Deleted"])]
    #[case::mode_and_content(&["a 1f 1x"], &["a 1f 2f"], &["a a lines"])]
    #[case::both_added(&["a - 1f"], &["a - 2f"], &["a a lines added"])]
    #[case::both_added_the_same(&["a - 1f"], &["a - 1f"], &[])]
    #[case::both_added_modes(&["a - 1f"], &["a - 1x"], &["a a Mode"])]
    #[case::both_added_types(&["a - 1f"], &["a - 1l"], &["a a Type"])]
    #[case::type_and_content(&["a 1f 2l"], &["a 1f 3f"], &["a a Type"])]
    #[case::links(&["a 1l 2l"], &["a 1l 3l"], &["a a Link"])]
    #[case::submodules(&["a 1m 2m"], &["a 1m 3m"], &["a a Submodule"])]
    #[case::renamed_and_modified(&["a>b 1f 1f"], &["a 1f 2f"], &["b a lines"])]
    #[case::modified_and_renamed(&["a 1f 2f"], &["a>b 1f 3f"], &["a b lines"])]
    #[case::renamed_alike(&["a>b 1f 1f"], &["a>b 1f 1f"], &[])]
    #[case::renamed_alike_and_modified(&["a>b 1f 2f"], &["a>b 1f 3f"], &["b b lines"])]
    #[case::renamed_apart(&["a>b 1f 1f"], &["a>c 1f 1f"], &["b c Renamed"])]
    #[case::renamed_and_deleted(&["a>b 1f 1f"], &["a 1f -"], &["b a Renamed"])]
    #[case::renamed_and_added(&["a>b 1f 1f"], &["b - 2f"], &["b b Renamed"])]
    #[case::two_to_one(&["a>c 1f 1f"], &["b>c 2f 2f"], &["c c Renamed"])]
    #[case::link_renamed(&["a>b 1l 1l"], &["a 1l 2l"], &["b a lines"])]
    #[case::file_and_directory(&["a - 1f"], &["a/b - 2f", "c - 1f"], &["a a/b Directory"])]
    #[case::directory_and_file(&["a/b - 2f"], &["a - 1f"], &["a/b a Directory"])]
    #[case::both_added_an_empty_one(&["a - 0f"], &["a - 2f"], &["a a lines added"])]
    #[case::beginnings_alike(&["a - 1f"], &["a.b - 2f", "ab/c - 1f"], &[])]
    fn the_table(#[case] here: &[&str], #[case] there: &[&str], #[case] expected: &[&str]) {
        assert_eq!(words(here, there), expected);
    }

    #[rstest::rstest]
    #[case::added(&["d/new - 1f"], &["d/a>e/a 1f 1f"], &["d"], &["d/new e/a"])]
    #[case::added_further_below(&["d/s/new - 1f"], &["d/a>e/a 1f 1f"], &["d"], &["d/s/new e/a"])]
    #[case::still_there(&["d/new - 1f"], &["d/a>e/a 1f 1f"], &[], &[])]
    #[case::within(&["d/new - 1f"], &["d/a>d/b 1f 1f"], &["d"], &[])]
    #[case::another(&["dd/new - 1f", "new - 2f"], &["d/a>e/a 1f 1f"], &["d"], &[])]
    #[case::modified(&["d/old 1f 2f"], &["d/a>e/a 1f 1f"], &["d"], &[])]
    fn files_in_renamed_directories(
        #[case] new: &[&str],
        #[case] renames: &[&str],
        #[case] gone: &[&str],
        #[case] expected: &[&str],
    ) {
        let (new, renames) = (changes(new), changes(renames));
        let mut is_gone = |directory: &BStr| gone.iter().any(|name| directory == *name);
        let found = into_renamed(&new, &renames, &mut is_gone);
        let words: Vec<String> = found.iter().map(|(new, rename)| format!("{} {}", new.path, rename.path)).collect();
        assert_eq!(words, expected);
    }
}
