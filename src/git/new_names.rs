//! Where files have gone: the names that they have now.
//!
//! Every question after the new name of a file is asked here. It differs in which files are sought, and in which may be one of them.

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::Repo;
use crate::{
    error::Result,
    model::change::{Change, Leaf, Mode},
};

/// A file whose new name is sought: the name, and the content that it had there.
#[derive(Clone, Debug)]
pub(crate) struct Old {
    path: BString,
    leaf: Leaf,
}

impl Old {
    /// Returns the file as it was before `change`; none if that made it.
    pub(crate) fn before(change: &Change) -> Option<Self> {
        Some(Self { path: change.path.clone(), leaf: change.before? })
    }

    /// Returns the file as `change` left it; none if that deleted it.
    pub(crate) fn after(change: &Change) -> Option<Self> {
        Some(Self { path: change.path.clone(), leaf: change.after? })
    }

    /// Returns the file `path` with the content and mode of `leaf`.
    pub(crate) fn new(path: BString, leaf: Leaf) -> Self {
        Self { path, leaf }
    }

    /// Returns the regular file `path` with the content `id`.
    pub(crate) fn of_blob(path: BString, id: ObjectId) -> Self {
        Self { path, leaf: Leaf { id, mode: Mode::File } }
    }
}

/// How a file is recognized under its new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// As git recognizes renamed files: by equal content, else by similar content.
    Git,
    /// By its whole content. All empty files are alike, so none is recognized. The executable bit does not count.
    Whole,
}

impl Repo {
    /// Returns the renames from files of `old` to files of `now`, the changes since, which are sorted by path: to those that `is_target`
    /// accepts, and to those that have the name of another old file now.
    ///
    /// What may not have been renamed at all competes with that: the file that has the name of an old one now, with other content, and
    /// what was at the path of a target before. A file that still has its name, and at least as much of its old content as
    /// the target has, was not renamed, unless another old file has come there: the target has a copy, or a part.
    pub(crate) fn new_names(
        &self,
        old: &[Old],
        now: &[Change],
        by: By,
        is_target: impl Fn(&Change) -> bool,
    ) -> Result<Vec<Change>> {
        let there: HashMap<&BString, Leaf> = if old.is_empty() {
            HashMap::new()
        } else {
            now.iter().filter_map(|it| Some((&it.path, it.after?))).collect()
        };
        let is_unchanged = |old: &&Old| there.get(&old.path).is_some_and(|leaf| leaf.id == old.leaf.id);
        let (unchanged, old): (Vec<&Old>, Vec<&Old>) = old.iter().partition(is_unchanged);
        let names: HashSet<&BString> = old.iter().map(|old| &old.path).collect();
        let kept: HashSet<&BString> = unchanged.iter().map(|old| &old.path).collect();
        let (mut ends, mut sources, mut has_target) = (Vec::new(), Vec::new(), false);
        for change in now.iter().filter(|change| change.after.is_some() && !kept.contains(&change.path)) {
            let (has_old_name, is_target) = (names.contains(&change.path), is_target(change));
            if !has_old_name && is_target {
                sources.extend(change.before.filter(|_| change.old_path.is_none()).map(|leaf| (&change.path, leaf)));
            } else if !has_old_name {
                continue;
            }
            has_target |= is_target;
            ends.extend(Change::between(change.path.clone(), None, change.after));
        }
        if !has_target || old.is_empty() {
            return Ok(Vec::new());
        }
        // Of equal files, those that may not have been renamed come first.
        let first_old = sources.len();
        sources.extend(old.iter().map(|old| (&old.path, old.leaf)));
        for (at, (path, leaf)) in sources.into_iter().enumerate() {
            // Several files may have one path. Its last component counts when two files are equally similar.
            ends.extend(Change::between(format!("{at}/{path}").into(), Some(leaf), None));
        }
        let renamed = |change: Change| {
            let at = change.old_path.as_ref()?.split_once_str("/")?.0.to_str().ok()?.parse::<usize>().ok()?;
            let old = old.get(at.checked_sub(first_old)?).filter(|old| old.path != change.path)?;
            Some(Change { old_path: Some(old.path.clone()), ..change })
        };
        if by == By::Whole {
            return Ok(self.equal_renames(ends).into_iter().filter_map(renamed).collect());
        }
        let mut found: Vec<Change> = self.detect_renames(ends)?.into_iter().filter_map(renamed).collect();
        let come: HashSet<&BString> = found.iter().map(|change| &change.path).collect();
        let mut copies = HashSet::new();
        for Change { path, old_path, before, after, .. } in &found {
            let stays = old_path.as_ref().filter(|name| !come.contains(name));
            let stays = stays.and_then(|name| there.get(name));
            if let (Some(stays), Some(before), Some(after)) = (stays, before, after) {
                let kept = self.part_of(*before, *stays)?;
                copies.extend((kept > 0 && kept >= self.part_of(*before, *after)?).then(|| path.clone()));
            }
        }
        found.retain(|change| !copies.contains(&change.path));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use gix::objs::Kind;
    use rstest::rstest;

    use super::{
        super::new_objects::{NewObjects, Target},
        *,
    };

    const ALL: fn(&Change) -> bool = |_| true;
    const NEW: fn(&Change) -> bool = |change| change.before.is_none();

    /// Asks for the new names of `old`, each a name and its text, where `now` is all that has changed: each a name, its text before, and
    /// its text now. Each letter of a text is a line; without a text, there is no file.
    #[rstest]
    #[case::renamed("n abcd", "m - abcd", By::Git, NEW, "n>m")]
    #[case::edited("n abcd", "m - abcx", By::Git, NEW, "n>m")]
    #[case::edited_and_whole_is_asked("n abcd", "m - abcx", By::Whole, NEW, "")]
    #[case::made_executable("n abcd", "m* - abcd", By::Whole, NEW, "n>m")]
    #[case::empty("n ", "m - ", By::Git, NEW, "n>m")]
    #[case::empty_and_whole_is_asked("n ", "m - ", By::Whole, NEW, "")]
    #[case::another_file_has_the_name("n abcd", "m - abcd, n - wxyz", By::Git, NEW, "n>m")]
    #[case::it_has_only_changed("n abcd", "m - abyy, n - abcx", By::Git, NEW, "")]
    #[case::onto_another_file("n abcd", "m wxyz abcd", By::Git, ALL, "n>m")]
    #[case::onto_another_file_and_new_ones_are_asked("n abcd", "m wxyz abcd", By::Git, NEW, "")]
    #[case::the_other_file_has_only_changed("n abcd", "m abce abcf", By::Git, ALL, "")]
    #[case::the_other_file_had_the_same("n abcd", "m abcd wxyz, o - abcd", By::Git, ALL, "")]
    #[case::by_turns("n abcd, p wxyz", "n - wxyz, m - abcd", By::Git, NEW, "n>m p>n")]
    #[case::two_versions("n abcd, n wxyz", "m - wxyz, o - abcd", By::Git, NEW, "n>m n>o")]
    #[case::exchanged("n abcd, p wxyz", "n - wxyz, p - abcd", By::Git, ALL, "p>n n>p")]
    #[case::by_turns_and_similar("n abcdefgh, p abcdewxyz", "m - abcdefgh, n - abcdewxyz", By::Git, NEW, "n>m p>n")]
    #[case::copied("n abcd", "m - abcd, n* - abcd", By::Git, NEW, "")]
    #[case::copied_and_edited("n abcd", "m - abcd, n - abcx", By::Git, NEW, "n>m")]
    #[case::copied_and_both_edited("n abcdef", "m - abcdex, n - abcxyz", By::Git, NEW, "n>m")]
    #[case::split("n abcdefg", "m - abcd, n - efg", By::Git, NEW, "n>m")]
    #[case::copied_and_gone_on("n abcd", "m - abcd, n - abcdxy", By::Git, NEW, "")]
    #[case::moved_below_the_same_head("n abcdefgh", "m - abcdefgh, n - abx", By::Git, NEW, "n>m")]
    #[case::two_equal_files("n abcd, p abcd", "m - abcd, d/p - abcd", By::Whole, NEW, "p>d/p n>m")]
    fn new_names(
        #[case] old: &str,
        #[case] now: &str,
        #[case] by: By,
        #[case] is_target: fn(&Change) -> bool,
        #[case] expected: &str,
    ) {
        let directory = tempfile::tempdir().expect("writable");
        gix::init(directory.path()).expect("writable");
        let repo = Repo::open(directory.path()).expect("it is there");
        let mut objects = NewObjects::new(&repo, Target::Loose);
        let mut leaf = |text: &str, mode: Mode| {
            let lines: String = text.chars().map(|letter| format!("a line of the letter {letter}\n")).collect();
            Leaf { id: objects.add(Kind::Blob, lines.as_bytes()).expect("writable"), mode }
        };
        let words = |file: &str| file.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let files = |files: &str| files.split(", ").map(words).collect::<Vec<_>>();
        let old: Vec<Old> =
            files(old).iter().map(|it| Old::new(it[0].as_str().into(), leaf(&it[1], Mode::File))).collect();
        let mut changes = Vec::new();
        for it in files(now) {
            let (path, mode) = match it[0].strip_suffix('*') {
                Some(path) => (path, Mode::Executable),
                None => (it[0].as_str(), Mode::File),
            };
            let mut side = |text: &str| (text != "-").then(|| leaf(text, mode));
            changes.extend(Change::between(path.into(), side(&it[1]), side(&it[2])));
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        drop(objects.write().expect("writable"));
        let found = repo.new_names(&old, &changes, by, is_target).expect("sound");
        let found: Vec<String> =
            found.iter().map(|it| format!("{}>{}", it.old_path.as_ref().expect("a rename"), it.path)).collect();
        assert_eq!(found.join(" "), expected);
    }
}
