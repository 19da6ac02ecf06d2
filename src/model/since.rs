//! Whether all that has changed a path since a checkpoint is the work of one session. Pure: `ops::restore` finds the versions.

use std::rc::Rc;

use gix::ObjectId;

use super::{change::Leaf, checkpoint::Origin, contributor::Contributor, verdict::Why};

/// A version of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The checkpoint that made it; null if no checkpoint has it yet.
    pub(crate) id: ObjectId,
    /// Who made it.
    pub(crate) origin: Rc<Origin>,
    /// The file; none if there is none, or if it is not known byte for byte.
    pub(crate) leaf: Option<Leaf>,
}

/// What has become of a path since the checkpoint that is restored, as versions, the newest first. The oldest one changed the file of
/// a commit. A restore makes no version: it puts one back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past<'p> {
    /// The versions that led to what the worktree has; without those before the target if they lead to it.
    pub(crate) now: &'p [Version],
    /// The file of the target; none if there is none, or if it is not known byte for byte.
    pub(crate) target: Option<Leaf>,
    /// The versions that led to what the target has; empty if `now` leads to the target.
    pub(crate) then: &'p [Version],
    /// What else may have changed it.
    pub(crate) between: Between<'p>,
}

/// What may have changed a path between a target and versions that do not lead to it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Between<'p> {
    /// Nothing: both begin with the same commit, or the target has the path as the commit has it with which the versions begin.
    Nothing,
    /// These versions, of which the last is as the commit has it.
    Versions(&'p [Version]),
    /// It is not known what.
    Unknown,
}

/// Returns why `session` must not take back what has become of a path: who else has changed it, the latest if there are several.
pub(crate) fn changed_by_others(past: Past<'_>, session: &str) -> Option<Why> {
    let Past { now, target, then, between } = past;
    let (now, is_of_target) = without_detours(now, target);
    let is_then = |version: &Version| then.iter().any(|it| it.id == version.id);
    let since = now.iter().take_while(|version| !is_then(version)).count();
    let common = now.get(since);
    let known = now[..since].iter().copied().find_map(|version| why(&version.origin, session));
    // A restore has put back a version from before the target's. If it is someone else's, what was done after it must be the
    // session's own: its checkpoint does not bring back what yet another one had done there.
    let put_back = common.filter(|common| !is_of(&common.origin, session));
    let forward = || then.iter().take_while(|version| put_back.is_some_and(|common| common.id != version.id));
    let known = known.or_else(|| forward().find_map(|version| why(&version.origin, session)));
    known.or_else(|| match between {
        // The path has been as in the target, or in its past, since then: what changed it before that has come to nothing.
        _ if common.is_some() || is_of_target => None,
        Between::Nothing => None,
        Between::Versions(later) => {
            let past = Past { now: later, target, then, between: Between::Nothing };
            changed_by_others(past, session)
        }
        Between::Unknown => {
            let is_own = then.first().is_some_and(|version| is_of(&version.origin, session));
            (!is_own).then_some(Why::Unknown)
        }
    })
}

/// Returns `versions` without those that have come to nothing: if the file became again what an earlier version had, as after an edit
/// that was taken back, nothing is left of the versions in between. If a version has the file `target`, the list ends before it, and the
/// second value is true.
fn without_detours(versions: &[Version], target: Option<Leaf>) -> (Vec<&Version>, bool) {
    let mut left = Vec::new();
    let mut at = 0;
    while let Some(version) = versions.get(at) {
        if version.leaf.is_some() && version.leaf == target {
            return (left, true);
        }
        let same = |earlier: &Version| version.leaf.is_some() && earlier.leaf == version.leaf;
        at = versions.iter().rposition(same).map_or(at, |first| first.max(at));
        left.push(&versions[at]);
        at += 1;
    }
    (left, false)
}

fn is_of(origin: &Origin, session: &str) -> bool {
    origin.session.as_deref() == Some(session)
}

fn why(origin: &Origin, session: &str) -> Option<Why> {
    match (&origin.session, origin.contributor) {
        _ if is_of(origin, session) => None,
        (Some(other), _) => Some(Why::Session(other.clone())),
        (None, Contributor::Human) => Some(Why::Human),
        (None, Contributor::Agent) => Some(Why::Agent),
        (None, Contributor::Unknown) => Some(Why::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::change::Mode;

    /// Reads versions, each a digit for the checkpoint and a letter for who made it: `s` the session whose checkpoint is restored,
    /// `o` another one, `h` a human, `a` an agent without session, `u` unknown. `0` is not saved yet. The file follows, if it is known.
    fn versions(text: &str) -> Vec<Version> {
        let read = |word: &str| {
            let (contributor, session) = match &word[1..2] {
                "s" => (Contributor::Agent, Some("s")),
                "o" => (Contributor::Agent, Some("o")),
                "h" => (Contributor::Human, None),
                "a" => (Contributor::Agent, None),
                _ => (Contributor::Unknown, None),
            };
            let session = session.map(ToOwned::to_owned);
            let id = ObjectId::from_hex(word[..1].repeat(40).as_bytes()).expect("hexadecimal");
            let origin = Rc::new(Origin { contributor, session, ..Origin::default() });
            Version { id, origin, leaf: leaf(&word[2..]) }
        };
        text.split_whitespace().map(read).collect()
    }

    fn leaf(digit: &str) -> Option<Leaf> {
        let id = ObjectId::from_hex(digit.repeat(40).as_bytes()).ok()?;
        Some(Leaf { id, mode: Mode::File })
    }

    fn found(now: &str, then: &str, between: Option<&str>) -> String {
        let (now, then, later) =
            (versions(now), versions(then), versions(between.unwrap_or_default().trim_matches('?')));
        let between = match between {
            None => Between::Nothing,
            Some("?") => Between::Unknown,
            Some(_) => Between::Versions(&later),
        };
        let why = changed_by_others(Past { now: &now, target: leaf("f"), then: &then, between }, "s");
        why.map_or_else(|| "own".into(), |why| why.to_string())
    }

    const HUMAN: &str = "changed by a human since";
    const OTHER: &str = "changed by session 'o'";
    const UNKNOWN: &str = "changed since, by whom is not known";

    #[rstest::rstest]
    #[case::as_the_commit_has_it("", "", "own")]
    #[case::own("2s", "", "own")]
    #[case::own_twice("3s 2s", "1s", "own")]
    #[case::of_a_human("2h", "", HUMAN)]
    #[case::a_human_in_between("3s 2h 1s", "", HUMAN)]
    #[case::a_human_first("2s 1h", "", HUMAN)]
    #[case::a_human_last("0h 2s", "", HUMAN)]
    #[case::another_session_in_between("3s 2o 1s", "", OTHER)]
    #[case::the_latest_of_others("4s 3h 2o 1s", "", HUMAN)]
    #[case::an_agent_without_session("2s 1a", "", "changed by another agent since")]
    #[case::unknown("2s 1u", "", UNKNOWN)]
    #[case::unknown_and_not_saved("0u", "", UNKNOWN)]
    #[case::before_the_target("3s 2s 1h", "2s 1h", "own")]
    #[case::a_human_before_the_target_and_since("4h 3s 2s 1h", "2s 1h", HUMAN)]
    #[case::back_to_an_own_version("1s", "3s 2h 1s", "own")]
    #[case::back_to_the_commit("", "3s 2h 1s", "own")]
    #[case::back_to_a_version_of_a_human("2h 1s", "3s 2h 1s", "own")]
    #[case::back_to_a_version_of_a_human_and_changed("4h 2h 1s", "3s 2h 1s", HUMAN)]
    #[case::back_to_before_the_session("1h", "2s 1h", "own")]
    #[case::back_to_before_another_session("1h", "3s 2o 1h", OTHER)]
    #[case::back_in_a_path_of_another_session("1o", "2o 1o", OTHER)]
    #[case::back_to_the_targets_own_version("2h 1s", "2h 1s", "own")]
    #[case::on_top_of_the_targets_own_version("3s 2h", "2h", "own")]
    #[case::on_top_of_what_was_put_back("4s 1s", "3s 2h 1s", "own")]
    #[case::another_version_of_the_same_commit("4s", "3h 2s", "own")]
    #[case::away_and_back("5s2 4h1 3h 2s1", "", "own")]
    #[case::away_and_not_back("5s2 3h 2s1", "", HUMAN)]
    #[case::back_with_more("5s2 4h3 3h 2s1", "", HUMAN)]
    #[case::back_to_what_the_target_has("5s2 4hf 3h", "", "own")]
    #[case::there_and_back_twice("6s2 5h1 4o3 3h1 2s1", "", "own")]
    #[case::back_to_a_humans_version("5s2 4s1 3s3 2h1", "", HUMAN)]
    #[case::back_to_a_version_before_the_target("5s4 4h1", "3s2 2s1", HUMAN)]
    #[case::deleted_twice("3h 2s1 1s", "", HUMAN)]
    #[case::a_person_took_it_away_and_brought_it_back("5s4 4hf", "3sf", "own")]
    #[case::a_person_brought_it_back_and_changed_it("5s4 4h3 3hf", "3sf", HUMAN)]
    #[case::away_and_back_and_a_humans_change("6s5 5h4 4s3 3h1 2s1", "", HUMAN)]
    fn versions_from_one_commit(#[case] now: &str, #[case] then: &str, #[case] expected: &str) {
        assert_eq!(found(now, then, None), expected);
    }

    #[rstest::rstest]
    #[case::nobody_knows("", "1h", "?", UNKNOWN)]
    #[case::own_that_went("", "2s 1h", "?", "own")]
    #[case::own_since("3s", "1h", "?", UNKNOWN)]
    #[case::a_human_since("3h", "1s", "?", HUMAN)]
    #[case::the_session_took_it_back("", "1h", "2s 1h", "own")]
    #[case::a_human_took_it_back("", "1s", "2h 1s", HUMAN)]
    #[case::both_did("", "1s", "3s 2h 1s", HUMAN)]
    #[case::the_worktree_leads_to_it("2s 1h", "1h", "?", "own")]
    #[case::as_the_commit_has_it("3s", "1h", "1h", "own")]
    #[case::as_the_target_since("4s2 3hf", "1h", "?", "own")]
    #[case::not_as_the_target_since("4s2 3h1", "1s", "?", HUMAN)]
    #[case::a_human_took_it_back_and_away("", "1s", "4h1 3hf 2h", HUMAN)]
    fn versions_from_different_commits(
        #[case] now: &str,
        #[case] then: &str,
        #[case] between: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(found(now, then, Some(between)), expected);
    }
}
