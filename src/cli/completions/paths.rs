//! Names of files that the shell cannot know: those of a checkpoint, and those of another directory than the shell's own.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{super::call::normalize, candidates::context, line::Line};
use crate::{git::Repo, ops::lookup};

/// Returns the names that begin with `typed`, those of directories with a final slash; none if the shell knows them.
pub(super) fn candidates(typed: &str, line: &Line) -> Option<Vec<String>> {
    if let Some(name) = line.checkpoint()
        && let Some(context) = context()
        && let Ok(id) = lookup::resolve(&context, name)
    {
        return Some(in_commit(&context.repo, id, typed).unwrap_or_default());
    }
    line.is_elsewhere().then(|| in_directory(typed))
}

/// Returns what is typed before the last name, and the beginning of that name.
fn split(typed: &str) -> (&str, &str) {
    typed.split_at(typed.rfind('/').map_or(0, |at| at + 1))
}

/// Returns the path of `directory`, as typed in `prefix`, from the root of the worktree; none if that is no place inside it.
fn from_root(directory: &str, prefix: &BString) -> Option<BString> {
    let typed = match directory.strip_prefix(":/") {
        Some(rest) => rest.into(),
        None if directory.starts_with('/') || directory.starts_with(':') => return None,
        None => [prefix.as_slice(), directory.as_bytes()].concat(),
    };
    normalize(&typed)
}

fn in_commit(repo: &Repo, id: ObjectId, typed: &str) -> Option<Vec<String>> {
    let (directory, beginning) = split(typed);
    let path = from_root(directory, &repo.prefix(Path::new(".")))?;
    let root = repo.tree_of_commit(id).ok()?;
    let tree = if path.is_empty() { root } else { repo.find_entry(root, path.as_bstr()).ok()??.1 };
    let entries = repo.tree_entries(tree).ok()?.into_iter();
    let named = entries.filter_map(|(name, is_tree, _)| Some((name.to_str().ok()?.to_owned(), is_tree)));
    Some(chosen(directory, beginning, named))
}

fn in_directory(typed: &str) -> Vec<String> {
    let (directory, beginning) = split(typed);
    let place = if directory.is_empty() { "." } else { directory };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir())));
    let mut found = chosen(directory, beginning, named.filter(|(name, _)| name != ".git"));
    found.sort_unstable();
    found
}

fn chosen(directory: &str, beginning: &str, named: impl Iterator<Item = (String, bool)>) -> Vec<String> {
    // Hidden files are offered to those who ask for them, as shells do.
    let is_meant = |name: &str| name.starts_with(beginning) && (!name.starts_with('.') || beginning.starts_with('.'));
    let named = named.filter(|(name, _)| is_meant(name));
    named.map(|(name, is_directory)| format!("{directory}{name}{}", if is_directory { "/" } else { "" })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::here("", "src/", Some("src"))]
    #[case::below("a/", "src/", Some("src/a"))]
    #[case::above("../b/", "src/", Some("b"))]
    #[case::root(":/b/", "src/", Some("b"))]
    #[case::outside("../../", "src/", None)]
    #[case::absolute("/b/", "src/", None)]
    #[case::magic(":(top)b/", "src/", None)]
    fn directories_from_the_root(#[case] typed: &str, #[case] prefix: &str, #[case] expected: Option<&str>) {
        assert_eq!(from_root(typed, &prefix.into()), expected.map(BString::from));
    }

    #[test]
    fn directories_end_with_a_slash_and_hidden_files_are_asked_for() {
        let named =
            || [("src", true), ("setup", false), (".s", false), ("x", false)].map(|(name, is)| (name.to_owned(), is));
        assert_eq!(chosen("a/", "s", named().into_iter()), ["a/src/", "a/setup"]);
        assert_eq!(chosen("", ".", named().into_iter()), [".s"]);
    }
}
