//! Agents whose hooks another worktree of the repository has, and this one lacks.

use std::collections::BTreeSet;

use bstr::BString;
use serde::Serialize;

use super::noted::Noted;
use crate::model::path_text;

/// An agent that calls us in another worktree only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Elsewhere {
    /// The agent's name.
    pub agent: String,
    /// Whom the file is for: `project` or `local`.
    pub scope: String,
    /// The worktree that has it: `main`, or git's id of a linked one.
    #[serde(serialize_with = "path_text::serialize")]
    pub worktree: BString,
}

/// Returns the agents of `there`, files that call us in other worktrees, that do not call us `here`; each once, of the main
/// worktree if that has it. The user's files hold in all worktrees.
pub(super) fn decide(mut there: Vec<(BString, Noted)>, here: &BTreeSet<&str>) -> Vec<Elsewhere> {
    let key = |(worktree, noted): &(BString, Noted)| (noted.agent.clone(), worktree != "main", worktree.clone());
    there.retain(|(_, noted)| noted.scope != "user" && !here.contains(noted.agent.as_str()));
    there.sort_by_key(key);
    there.dedup_by(|one, two| one.1.agent == two.1.agent);
    let elsewhere =
        |(worktree, noted): (BString, Noted)| Elsewhere { agent: noted.agent, scope: noted.scope, worktree };
    there.into_iter().map(elsewhere).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nowhere(&[], &[], &[])]
    #[case::main(&[("main", "x", "local")], &[], &["x local main"])]
    #[case::here_too(&[("main", "x", "local")], &["x"], &[])]
    #[case::of_the_user(&[("main", "x", "user")], &[], &[])]
    #[case::another_agent_here(&[("main", "x", "local")], &["y"], &["x local main"])]
    #[case::main_comes_first(&[("a", "x", "local"), ("main", "x", "project"), ("b", "x", "local")], &[], &["x project main"])]
    #[case::linked(&[("b", "x", "local"), ("a", "x", "local")], &[], &["x local a"])]
    #[case::two(&[("a", "y", "local"), ("main", "x", "local")], &[], &["x local main", "y local a"])]
    fn agents_that_call_us_in_other_worktrees_only(
        #[case] there: &[(&str, &str, &str)],
        #[case] here: &[&str],
        #[case] expected: &[&str],
    ) {
        let noted = |(worktree, agent, scope): &(&str, &str, &str)| {
            let noted = Noted { agent: (*agent).into(), scope: (*scope).into(), root: "/w".into(), name: "f".into() };
            (BString::from(*worktree), noted)
        };
        let found = decide(there.iter().map(noted).collect(), &here.iter().copied().collect());
        let text = |it: &Elsewhere| format!("{} {} {}", it.agent, it.scope, it.worktree);
        assert_eq!(found.iter().map(text).collect::<Vec<_>>(), expected);
    }
}
