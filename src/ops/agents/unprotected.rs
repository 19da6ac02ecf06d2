//! Paths that no checkpoint has, because of a limit or because they are other repositories: a prompt says it once, through the agent.

use bstr::{BString, ByteSlice as _};

use crate::{
    model::path_text,
    ops::{Worktree, save::SkippedPath},
};

/// How many paths are remembered. What is beyond that is counted.
const MOST: usize = 256;
/// How many are named.
const NAMED: usize = 3;

/// Returns a note about those of the `skipped` paths that limits leave out, and of the `repositories`, each with what it is, that were
/// not named before in this worktree. Notes that they are.
pub(super) fn note(
    worktree: &Worktree<'_>,
    skipped: &[SkippedPath],
    repositories: &[(BString, &'static str)],
) -> Option<String> {
    let told = worktree.turns().unprotected;
    let (now, note) = news(&told, &all(skipped, repositories));
    if now != told {
        worktree.edit_turns(|turns| turns.unprotected = now);
    }
    note
}

/// Returns those of the `skipped` paths that limits leave out, and the `repositories`, each with the reason.
fn all(skipped: &[SkippedPath], repositories: &[(BString, &'static str)]) -> Vec<(String, String)> {
    let name = |path: &BString| path_text::printable(path.as_bstr());
    let of_limits = skipped.iter().filter_map(|it| {
        let setting = it.setting?;
        let why = if it.is_too_many() {
            format!("more than {} new files", it.size.saturating_sub(1))
        } else {
            it.reason.to_owned()
        };
        Some((name(&it.path), format!("{why}: {setting}")))
    });
    let repositories = repositories.iter().map(|(path, what)| (name(path), (*what).to_owned()));
    of_limits.chain(repositories).take(MOST).collect()
}

/// Returns the paths of `all`, and a note about those of them that are not among `told`.
fn news(told: &[String], all: &[(String, String)]) -> (Vec<String>, Option<String>) {
    let new: Vec<_> = all.iter().filter(|(name, _)| !told.contains(name)).collect();
    let named = new.iter().take(NAMED).map(|(name, why)| format!("'{name}' ({why})"));
    let mut named = named.collect::<Vec<_>>().join(", ");
    if new.len() > NAMED {
        named.push_str(&format!(" and {} more", new.len() - NAMED));
    }
    let note = (!new.is_empty()).then(|| {
        format!("no checkpoint has {named}: what is lost there cannot be restored; see 'git checkpoint status'")
    });
    (all.iter().map(|(name, _)| name.clone()).collect(), note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::{Reason, Skipped};

    #[rstest::rstest]
    #[case::nothing(&[], &[], &[], None)]
    #[case::no_limit(&[], &[("p", Reason::SpecialFile)], &[], None)]
    #[case::new(&[], &[("d", Reason::TooManyFiles)], &["d"], Some("has 'd' (more than 4 new files: save.max-untracked-files):"))]
    #[case::known(&["d"], &[("d", Reason::TooManyFiles)], &["d"], None)]
    #[case::another(&["d"], &[("d", Reason::TooManyFiles), ("e", Reason::TooLarge)], &["d", "e"], Some("has 'e' (too large: save.max-file-size):"))]
    #[case::gone(&["d"], &[], &[], None)]
    #[case::many(
        &[],
        &[("1", Reason::TooLarge), ("2", Reason::TooLarge), ("3", Reason::TooLarge), ("4", Reason::TooLarge)],
        &["1", "2", "3", "4"],
        Some("'3' (too large: save.max-file-size) and 1 more:")
    )]
    fn each_is_named_once(
        #[case] told: &[&str],
        #[case] skipped: &[(&str, Reason)],
        #[case] now: &[&str],
        #[case] expected: Option<&str>,
    ) {
        let told: Vec<String> = told.iter().chain(&["r"]).map(ToString::to_string).collect();
        let of = |(path, reason): &(&str, Reason)| {
            SkippedPath::from(&Skipped { path: (*path).into(), reason: *reason, size: 5 })
        };
        let (found, note) =
            news(&told, &all(&skipped.iter().map(of).collect::<Vec<_>>(), &[("r".into(), "another repository")]));
        assert_eq!(found, [now, &["r"]].concat());
        assert_eq!(note.is_some(), expected.is_some(), "{note:?}");
        assert!(note.as_deref().unwrap_or_default().contains(expected.unwrap_or_default()), "{note:?}");
    }

    #[test]
    fn a_repository_is_named_with_what_it_is() {
        let (_, note) =
            news(&[], &all(&[], &[("n".into(), "another repository"), ("s".into(), "a submodule with changes")]));
        let named = "no checkpoint has 'n' (another repository), 's' (a submodule with changes): what is lost there";
        assert!(note.as_deref().unwrap_or_default().starts_with(named), "{note:?}");
    }
}
