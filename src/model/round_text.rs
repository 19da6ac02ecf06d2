//! What an agent reads of the branches of a round: a part of its system prompt, and what it reads after a restart.

use std::fmt::Write as _;

/// What there is to tell an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Branches<'a> {
    /// Its own branch.
    pub(crate) own: Option<&'a str>,
    /// Those of others: what the other one is called, and its branch.
    pub(crate) others: Vec<(&'a str, &'a str)>,
    /// The folder with what earlier rounds have left, if there is one.
    pub(crate) archive: Option<&'a str>,
}

impl Branches<'_> {
    /// Returns the part of a system prompt; nothing if there is no branch. It does not say what the reader is called.
    pub(crate) fn prompt(&self) -> String {
        let own = |own: &str| {
            format!("Your work is on branch `{own}`. All changes are auto-committed when your turn ends.\n")
        };
        self.text(self.own.map(own))
    }

    /// Returns what the agent reads after a restart; nothing if there is no branch.
    pub(crate) fn restart(&self) -> String {
        let own = |own: &str| format!("Your earlier work is on branch `{own}`. Take it over with `git merge {own}`.\n");
        self.text(self.own.map(own))
    }

    fn text(&self, own: Option<String>) -> String {
        if own.is_none() && self.others.is_empty() {
            return String::new();
        }
        let mut text = own.unwrap_or_default();
        if !self.others.is_empty() {
            text.push_str("Other agents' branches:\n");
            for (name, branch) in &self.others {
                // Writing to a string does not fail.
                let _ = writeln!(text, "- {name}: `{branch}`");
            }
            text.push_str("Look at them with `git diff <branch>`; take one over with `git merge <branch>`.\n");
        }
        if let Some(archive) = self.archive {
            let _ = writeln!(text, "Check `{archive}/` for experiments from prior rounds.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Branches<'static> {
        Branches {
            own: Some("agents/f028d1c7"),
            others: vec![("agent1", "agents/a1b2c3d4")],
            archive: Some(".scratch_archive"),
        }
    }

    const PROMPT: &str = "\
Your work is on branch `agents/f028d1c7`. All changes are auto-committed when your turn ends.
Other agents' branches:
- agent1: `agents/a1b2c3d4`
Look at them with `git diff <branch>`; take one over with `git merge <branch>`.
Check `.scratch_archive/` for experiments from prior rounds.
";

    #[test]
    fn the_prompt_names_own_and_other_branches() {
        assert_eq!(all().prompt(), PROMPT);
    }

    #[test]
    fn parts_that_do_not_apply_are_left_out() {
        let lines: Vec<&str> = PROMPT.split_inclusive('\n').collect();
        assert_eq!(Branches { archive: None, ..all() }.prompt(), lines[..4].concat());
        assert_eq!(Branches { own: None, ..all() }.prompt(), lines[1..].concat());
        assert_eq!(Branches { others: Vec::new(), ..all() }.prompt(), [lines[0], lines[4]].concat());
    }

    #[test]
    fn without_any_branch_there_is_no_text() {
        let none = Branches { own: None, others: Vec::new(), ..all() };
        assert_eq!((none.prompt(), none.restart()), (String::new(), String::new()));
    }

    #[test]
    fn a_restart_says_how_to_take_the_earlier_work_over() {
        let expected = "\
Your earlier work is on branch `agents/f028d1c7`. Take it over with `git merge agents/f028d1c7`.
Other agents' branches:
- agent1: `agents/a1b2c3d4`
- agent2: `agents/0`
Look at them with `git diff <branch>`; take one over with `git merge <branch>`.
";
        let others = vec![("agent1", "agents/a1b2c3d4"), ("agent2", "agents/0")];
        assert_eq!(Branches { others, archive: None, ..all() }.restart(), expected);
    }
}
