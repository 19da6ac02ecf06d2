//! Paths that no checkpoint has because of a limit: a prompt says it once, through the agent.

use bstr::ByteSlice as _;

use crate::{
    model::path_text,
    ops::{Worktree, save::SkippedPath},
};

/// How many paths are remembered. What is beyond that is counted.
const MOST: usize = 256;
/// How many are named.
const NAMED: usize = 3;

/// Returns a note about those of the `skipped` paths that limits leave out and that were not named before in this worktree. Notes
/// that they are.
pub(super) fn note(worktree: &Worktree<'_>, skipped: &[SkippedPath]) -> Option<String> {
    let told = worktree.turns().unprotected;
    let (now, note) = news(&told, skipped);
    if now != told {
        worktree.edit_turns(|turns| turns.unprotected = now);
    }
    note
}

/// Returns the paths that limits leave out, and a note about those of them that are not among `told`.
fn news(told: &[String], skipped: &[SkippedPath]) -> (Vec<String>, Option<String>) {
    let of_limits = skipped.iter().filter_map(|skipped| Some((skipped, skipped.setting?)));
    let of_limits = of_limits.map(|(it, setting)| (path_text::printable(it.path.as_bstr()), it, setting)).take(MOST);
    let of_limits: Vec<_> = of_limits.collect();
    let new: Vec<_> = of_limits.iter().filter(|(name, ..)| !told.contains(name)).collect();
    let named = new.iter().take(NAMED).map(|(name, it, setting)| {
        let why = if it.is_too_many() {
            format!("more than {} new files", it.size.saturating_sub(1))
        } else {
            it.reason.to_owned()
        };
        format!("'{name}' ({why}: {setting})")
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if new.len() > NAMED {
        named.push_str(&format!(" and {} more", new.len() - NAMED));
    }
    let note = (!new.is_empty()).then(|| {
        format!("no checkpoint has {named}: what is lost there cannot be restored; see 'git checkpoint status'")
    });
    (of_limits.into_iter().map(|(name, ..)| name).collect(), note)
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
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        let of = |(path, reason): &(&str, Reason)| {
            SkippedPath::from(&Skipped { path: (*path).into(), reason: *reason, size: 5 })
        };
        let (found, note) = news(&told, &skipped.iter().map(of).collect::<Vec<_>>());
        assert_eq!(found, now);
        assert_eq!(note.is_some(), expected.is_some(), "{note:?}");
        assert!(note.as_deref().unwrap_or_default().contains(expected.unwrap_or_default()), "{note:?}");
    }
}
