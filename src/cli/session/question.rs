//! The question before a session joins one that has uncommitted work.

use bstr::BString;

use super::super::{call::Call, date, output::printable, phrase, question};
use crate::{
    error::Result,
    ops::{
        Context,
        sessions::{Other, Question},
    },
};

/// How many files of a session are named before the rest is counted.
const LISTED: usize = 5;

/// Shows whose uncommitted work a session would join, and asks on a terminal; without a terminal, the answer is no.
pub(super) fn ask(asked: &Question, context: &Context, call: &mut Call) -> Result<bool> {
    let text = warning_text(&asked.others, date::now());
    call.out.flush()?;
    call.out.stderr(&text);
    question::ask("Continue? [y/N] ", &|| context.check_interrupt(), &mut call.out)
}

/// Returns the warning as people read it, `now` being the time in Unix seconds.
pub(in crate::cli) fn warning_text(others: &[Other], now: i64) -> String {
    let mut text = "warning: an existing session has uncommitted work on this base\n".to_owned();
    for other in others {
        let agent = printable(other.agent.as_deref().unwrap_or("agent"));
        let idle = phrase::count(usize::try_from((now - other.last_seen).max(0) / 60).unwrap_or(0), "minute");
        text.push_str(&format!("\n  session      {} ({agent}, idle {idle})\n", printable(&other.id)));
        text.push_str(&format!("  checkpoints  {} uncommitted\n", other.checkpoints));
        text.push_str(&format!("  files        {}\n", files(&other.files)));
    }
    text.push_str(
        "\nStarting a new session merges with it:\n\
         \x20 - if files overlap, the work continues on the same shadow\n\
         \x20 - if not, the shadow is reset and the old one archived ('git checkpoint list --archived')\n",
    );
    text
}

fn files(files: &[BString]) -> String {
    let mut named: Vec<String> = files.iter().take(LISTED).map(phrase::quoted).collect();
    if files.len() > LISTED {
        named.push(format!("and {} more", files.len() - LISTED));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_names_at_most_five_files() {
        let other = Other {
            id: "2026-01-31-abc123".into(),
            agent: Some("claude-code".into()),
            last_seen: 0,
            checkpoints: 3,
            files: (1..=7).map(|number| format!("src/{number}.rs").into()).collect(),
        };
        let expected = "warning: an existing session has uncommitted work on this base

  session      2026-01-31-abc123 (claude-code, idle 12 minutes)
  checkpoints  3 uncommitted
  files        src/1.rs, src/2.rs, src/3.rs, src/4.rs, src/5.rs, and 2 more

Starting a new session merges with it:
  - if files overlap, the work continues on the same shadow
  - if not, the shadow is reset and the old one archived ('git checkpoint list --archived')
";
        assert_eq!(warning_text(&[other], 12 * 60 + 5), expected);
    }
}
