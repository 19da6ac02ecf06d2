//! What the tour shows, in order.

/// One step of the tour. Commands are lines for a shell, run in the repository of the tour.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// A new chapter begins.
    Chapter(&'static str),
    /// An explanation: paragraphs, which are folded at the width of the terminal, and tables, whose lines begin with a blank.
    Say(&'static str),
    /// Something happens in the story: `what` describes it, `script` does it.
    Happens { what: &'static str, script: &'static str },
    /// The user runs this command.
    Run(&'static str),
}

use Step::{Chapter, Happens, Run, Say};

/// Makes the repository with the first commit, and an untracked file beside it.
pub(super) const REPOSITORY: &str = "\
git init -q .
git symbolic-ref HEAD refs/heads/main
printf 'def total(prices):\\n    return sum(prices)\\n' >shop.py
git add shop.py
git commit -q -m 'A shop'
echo 'ideas: a discount, a bill' >notes.txt
";

/// The steps of the tour.
pub(super) const STEPS: &[Step] = &[
    Chapter("Save"),
    Say("This repository was made for you in a temporary directory.
It has one commit with shop.py, and notes.txt, which git does
not track."),
    Run("git status --short"),
    Say("A checkpoint holds all of it. HEAD, the index, the stash and
the branches stay as they are."),
    Run("git checkpoint save -m 'before the agent'"),
    Run("git checkpoint list"),
    Chapter("A turn of an agent"),
    Say("Once in a repository, 'enable' installs git's hooks, so that
commits get a record. With '--agent claude-code' (or codex,
gemini, ...) your agent reports its prompts and tools, and
checkpoints are taken by themselves. In this tour, a script
plays the agent."),
    Run("git checkpoint enable"),
    Happens {
        what: "You ask the agent: add a discount. It edits shop.py.",
        script: "\
git checkpoint session prompt demo --agent demo-agent -m 'add a discount'
printf '\\ndef discount(price, percent):\\n    return price - price * percent / 100\\n' >>shop.py
git checkpoint session stop demo
",
    },
    Happens {
        what: "You ask the agent: simplify everything. It breaks shop.py\nand deletes notes.txt.",
        script: "\
git checkpoint session prompt demo -m 'simplify everything'
echo 'total = sum' >shop.py
rm notes.txt
git checkpoint session stop demo
",
    },
    Run("git checkpoint status"),
    Chapter("Rewind by prompt"),
    Say("Git cannot bring notes.txt back: it never had it. The prompts
and the files that each turn changed are listed:"),
    Run("git checkpoint prompts"),
    Say("demo@1 is the state at the end of turn 1 of the session
'demo'. See what turn 2 did, then go back to turn 1:"),
    Run("git checkpoint diff demo@1 demo@2"),
    Run("git checkpoint restore demo@1"),
    Run("cat shop.py notes.txt"),
    Say("A restore first saves what it replaces. 'git checkpoint undo'
would bring turn 2 back."),
    Chapter("Who wrote which line"),
    Happens {
        what: "You type a line of your own at the end of shop.py.",
        script: "\
printf '\\nprint(total([1, 2]))\\n' >>shop.py
",
    },
    Run("git commit -a -m 'A discount'"),
    Say("The commit has the agent's work, so it got a trailer that
names a record: sessions, prompts, and who wrote each line."),
    Run("git log -1 --format=%B"),
    Run("git checkpoint blame shop.py"),
    Say("Lines of commits before 'enable' are unknown: nothing says
whose they are. In a narrow terminal, the words are letters:
A for agent, H for human, ? for unknown."),
    Run("git checkpoint why shop.py:5"),
    Say("This stays true after amend, rebase, squash and cherry-pick:"),
    Run("git commit --amend -m 'Prices can be reduced'"),
    Run("git checkpoint attribution HEAD"),
    Chapter("Two agents"),
    Happens {
        what: "Two agents work at the same time: one rounds prices in\nshop.py, the other writes bill.py.",
        script: "\
git checkpoint session prompt demo -m 'round the prices'
git checkpoint session prompt other --agent other-agent -m 'print a bill'
printf '\\ndef rounded(price):\\n    return round(price, 2)\\n' >>shop.py
git checkpoint save --session demo --agent demo-agent -q --paths shop.py
printf 'from shop import total\\n\\nprint(\"Total:\", total([3, 4]))\\n' >bill.py
git checkpoint save --session other --agent other-agent -q --paths bill.py
git checkpoint session stop demo
git checkpoint session stop other
",
    },
    Run("git checkpoint session list"),
    Say("Each line has the session that wrote it:"),
    Run("git add *.py && git commit -q -m 'A bill'"),
    Run("git checkpoint attribution HEAD"),
    Chapter("In your own repository"),
    Say("  cd <your repository>
  git checkpoint enable --agent <agent>

and work as always. Later:

  git checkpoint status           where you are
  git checkpoint prompts          what was asked, turn by turn
  git checkpoint list             every moment, with its name
  git checkpoint restore @{<n>}   back to any of them
  git checkpoint undo             reverse that
  git checkpoint blame <file>     who wrote each line
  git checkpoint disable          take all hooks out again

'git checkpoint man gitcheckpoint-workflows' shows more.
The repository of this tour is deleted now."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::dialects;

    #[test]
    fn agents_that_are_named_can_be_enabled() {
        let texts =
            STEPS.iter().filter_map(|step| if let Say(text) = step { text.split_once("--agent claude") } else { None });
        let named = texts.filter_map(|(_, rest)| Some(format!("claude{}", rest.split_once("...")?.0)));
        let words = named.flat_map(|text| {
            text.split(|c: char| !c.is_alphanumeric() && c != '-').map(str::to_owned).collect::<Vec<_>>()
        });
        let names: Vec<String> = words.filter(|word| !word.is_empty() && word != "or").collect();
        assert_eq!(names.len(), 3, "{names:?}");
        let is_known = |name: &String| dialects::ALL.iter().any(|dialect| dialect.name == name.as_str());
        assert!(names.iter().all(is_known), "{names:?}");
    }

    #[test]
    fn no_text_is_wider_than_a_narrow_terminal() {
        let texts = STEPS.iter().map(|step| match step {
            Chapter(text) | Say(text) | Run(text) => text,
            Happens { what, .. } => what,
        });
        let wide: Vec<_> = texts.flat_map(|text| text.lines()).filter(|line| line.chars().count() > 62).collect();
        assert!(wide.is_empty(), "{wide:?}");
    }
}
