//! Paths that no checkpoint has, because of a limit or because they are other repositories: a prompt says it once, through the agent.

use bstr::{BString, ByteSlice as _};

use crate::{
    model::path_text,
    ops::{Worktree, inside::Unprotected, save::SkippedPath},
};

/// How many paths are remembered. What is beyond that is counted.
const MOST: usize = 256;
/// How many are named.
const NAMED: usize = 3;

/// Returns a note about those of the `skipped` paths that limits leave out, and of the `repositories`, that were not named before
/// in this worktree. Notes that they are.
pub(super) fn note(worktree: &Worktree<'_>, skipped: &[SkippedPath], repositories: &Unprotected) -> Option<String> {
    let noted = worktree.turns().unprotected;
    let unknown: Vec<String> = repositories.unknown.iter().map(named).collect();
    let (now, note) = news(&noted, &all(skipped, &repositories.found), &unknown);
    if now != noted {
        worktree.edit_turns(|turns| turns.unprotected = now);
    }
    note
}

/// Returns those of the `skipped` paths that limits leave out, and the `repositories`, each with the reason.
fn all(skipped: &[SkippedPath], repositories: &[(BString, &'static str)]) -> Vec<(String, String)> {
    let of_limits = skipped.iter().filter_map(|it| {
        let setting = it.setting?;
        let why = if it.is_too_many() {
            format!("more than {} new files", it.size.saturating_sub(1))
        } else {
            it.reason.to_owned()
        };
        Some((named(&it.path), format!("{why}: {setting}")))
    });
    let repositories = repositories.iter().map(|(path, what)| (named(path), (*what).to_owned()));
    of_limits.chain(repositories).take(MOST).collect()
}

fn named(path: &BString) -> String {
    path_text::printable(path.as_bstr())
}

/// Returns the paths to remember, and a note about the paths of `all` that are not `noted` yet. To remember are all of these, and
/// those of the `noted` ones that were not looked into: it is `unknown` whether a checkpoint has them now.
fn news(noted: &[String], all: &[(String, String)], unknown: &[String]) -> (Vec<String>, Option<String>) {
    let new: Vec<_> = all.iter().filter(|(name, _)| !noted.contains(name)).collect();
    let texts = new.iter().take(NAMED).map(|(name, why)| format!("'{name}' ({why})"));
    let mut text = texts.collect::<Vec<_>>().join(", ");
    if new.len() > NAMED {
        text.push_str(&format!(" and {} more", new.len() - NAMED));
    }
    let note = (!new.is_empty()).then(|| {
        format!("no checkpoint has {text}: what is lost there cannot be restored; see 'git checkpoint status'")
    });
    let now: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let still = noted.iter().filter(|name| unknown.contains(name) && !now.contains(name)).cloned().collect();
    ([now, still].concat(), note)
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
        #[case] noted: &[&str],
        #[case] skipped: &[(&str, Reason)],
        #[case] now: &[&str],
        #[case] expected: Option<&str>,
    ) {
        let noted: Vec<String> = noted.iter().chain(&["r"]).map(ToString::to_string).collect();
        let of = |(path, reason): &(&str, Reason)| {
            SkippedPath::from(&Skipped { path: (*path).into(), reason: *reason, size: 5 })
        };
        let (found, note) =
            news(&noted, &all(&skipped.iter().map(of).collect::<Vec<_>>(), &[("r".into(), "another repository")]), &[]);
        assert_eq!(found, [now, &["r"]].concat());
        assert_eq!(note.is_some(), expected.is_some(), "{note:?}");
        assert!(note.as_deref().unwrap_or_default().contains(expected.unwrap_or_default()), "{note:?}");
    }

    #[test]
    fn a_repository_is_named_with_what_it_is() {
        let (_, note) =
            news(&[], &all(&[], &[("n".into(), "another repository"), ("s".into(), "a submodule with changes")]), &[]);
        let named = "no checkpoint has 'n' (another repository), 's' (a submodule with changes): what is lost there";
        assert!(note.as_deref().unwrap_or_default().starts_with(named), "{note:?}");
    }

    #[rstest::rstest]
    #[case::looked_into(&["r", "d"], &[], &[])]
    #[case::not_looked_into(&["r", "d"], &["r", "q"], &["r"])]
    #[case::not_noted_yet(&[], &["r"], &[])]
    fn a_repository_that_is_not_looked_into_stays_noted(
        #[case] noted: &[&str],
        #[case] unknown: &[&str],
        #[case] now: &[&str],
    ) {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(news(&owned(noted), &[], &owned(unknown)), (owned(now), None));
    }
}
