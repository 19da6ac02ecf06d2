//! `git checkpoint attribution`: who wrote the lines of a commit, a range, or the worktree.

mod markdown;
pub(super) mod patch;
mod porcelain;
mod text;
mod title;

use std::{ffi::OsString, path::Path};

use clap::ValueEnum;
use gix::ObjectId;
use serde::Serialize;

pub(super) use markdown::cell;
pub(super) use patch::visible;
pub(super) use text::{letter, style};

use super::{
    Exit,
    call::Call,
    from_root::{self, Form},
    output::printable,
    phrase::FETCH,
};
use crate::{
    config::Policy,
    error::{Error, Result},
    model::{
        attribution::summary::{Figures, exceeds},
        path_text::shell_word,
    },
    ops::{
        Context,
        attribution::{self, Attribution, Options, Target},
        usage::{self, OfRecords},
    },
};

/// Show who wrote the lines: agents, people, or both
///
/// Every line that git counts as added or deleted is counted. Records name its author; without one, it is
/// human if git-checkpoint was in use when the commit was made, and unknown if not.
#[derive(clap::Args, Debug)]
#[command(name = "attribution")]
pub(super) struct AttributionCommand {
    /// A commit or a range of commits (default: HEAD)
    #[arg(value_name = "commit|range")]
    revision: Option<String>,
    /// Only paths that one of these matches, after --
    #[arg(value_name = "pathspec", last = true)]
    paths: Vec<OsString>,
    /// What is not committed yet
    #[arg(long, conflicts_with = "revision")]
    worktree: bool,
    /// Show only a line for each file
    #[arg(long, conflicts_with_all = ["patch", "json", "porcelain", "format"])]
    stat: bool,
    /// Show the changed lines, each added one with its owner
    #[arg(short, long, conflicts_with_all = ["json", "porcelain", "format"])]
    patch: bool,
    /// Print the result as JSON
    #[arg(long, conflicts_with_all = ["porcelain", "format"])]
    json: bool,
    /// Print the result in a form for scripts that stays as it is
    #[arg(long, conflicts_with = "format")]
    porcelain: bool,
    /// Print it as markdown (a table), agent-trace (records) or git-ai (notes)
    #[arg(long, value_name = "format", hide_possible_values = true)]
    format: Option<Format>,
    /// Exit with 1 if the limits of the settings `attribution.*` are exceeded
    #[arg(long)]
    check: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct WithUsage<'a> {
    #[serde(flatten)]
    found: &'a Attribution,
    /// What the sessions of its records have used; none if there are none.
    usage: Option<OfRecords>,
}

/// Foreign formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Markdown,
    AgentTrace,
    GitAi,
}

impl AttributionCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let target = match self.revision.clone() {
            _ if self.worktree => Target::Worktree,
            Some(text) if Path::new(&text).exists() && context.repo.find_commit(&text)?.is_none() => {
                return Err(Error::user(format!("no commit matches '{text}', but a path does"))
                    .with_hint(format!("'git checkpoint attribution -- {}' looks at the path", shell_word(&text))));
            }
            Some(text) => Target::Revision(text),
            None => Target::Head,
        };
        let pathspecs = Call::pathspecs(&context.repo, &self.paths)?;
        let options = Options { target, pathspecs, patch: self.patch, check: self.check, ..Options::default() };
        match self.format {
            Some(Format::AgentTrace) => {
                let records = attribution::agent_trace(&context, &options)?;
                records.iter().try_for_each(|record| call.out.json(record))?;
                return self.checked(&context, &options, call);
            }
            Some(Format::GitAi) => {
                print_notes(&attribution::git_ai(&context, &options)?, call)?;
                return self.checked(&context, &options, call);
            }
            Some(Format::Markdown) | None => {}
        }
        let progress = call.progress("attributing");
        let found = attribution::attribution(&context, &options)?;
        drop(progress);
        for trouble in &found.troubles {
            call.out.warning(&printable(trouble));
        }
        self.print(&found, &context, call)?;
        if found.files.is_empty()
            && !self.json
            && let Some(hint) = from_root::hint(&context, &self.paths, None, Form::Pathspec)
        {
            call.out.hint(&hint);
        }
        if !self.json && !self.porcelain && !found.missing_records.is_empty() && found.troubles.is_empty() {
            // The other forms have no place for that.
            let named = title::missing(&found).filter(|_| self.stat || self.patch);
            call.out.hint(&named.map_or_else(|| FETCH.to_owned(), |missing| format!("{missing}; {FETCH}")));
        } else if !self.json && !self.porcelain && found.summary.unknown > 0 {
            let of_range = found.commits.iter().filter(|it| it.summary.unknown > 0).map(|it| it.commit);
            let commits: Vec<ObjectId> = found.commit.into_iter().chain(of_range).collect();
            call.say_what_lacks(&found.lacking_records);
            call.hint_at_unrecorded(&context, &commits);
        }
        Ok(if self.check { judge(&found, &context.settings.attribution, call) } else { Exit::Done })
    }

    fn print(&self, found: &Attribution, context: &Context, call: &mut Call) -> Result<()> {
        if self.json {
            let usage = usage::of_records(context, found.records.iter().copied())?;
            return call.out.json(&WithUsage { found, usage });
        }
        if self.porcelain {
            return porcelain::print(found, call);
        }
        if self.format == Some(Format::Markdown) {
            return markdown::print(found, call);
        }
        call.start_pager(context)?;
        if self.patch {
            return patch::print(found, call);
        }
        if self.stat { text::print_stat(found, call) } else { text::print(found, call) }
    }

    /// Foreign formats have no totals, so `--check` computes the attribution again.
    fn checked(&self, context: &Context, options: &Options, call: &mut Call) -> Result<Exit> {
        if !self.check {
            return Ok(Exit::Done);
        }
        Ok(judge(&attribution::attribution(context, options)?, &context.settings.attribution, call))
    }
}

fn print_notes(notes: &[(gix::ObjectId, String)], call: &mut Call) -> Result<()> {
    for (commit, note) in notes {
        // One commit's note is printed as git-notes(1) takes it.
        if notes.len() > 1 {
            call.out.line(&format!("commit {commit}"))?;
        }
        call.out.text(note)?;
    }
    Ok(())
}

/// The word for lines of unknown authors.
const UNKNOWN: &str = "unknown";

/// Says which limits of `policy` are exceeded.
fn judge(found: &Attribution, policy: &Policy, call: &mut Call) -> Exit {
    if found.is_unchecked {
        call.out.warning("no record is here: commits without a trailer are not checked");
        call.out.hint(FETCH);
    }
    let exceeded = excess(&found.summary, found.checked_unknown, policy);
    for (what, percent, limit) in &exceeded {
        call.out.error("error", &Error::refused(format!("{percent:.1} % {what} lines, of at most {limit} %")));
    }
    if found.lacks_records && found.missing_records.is_empty() && exceeded.iter().any(|(what, ..)| *what == UNKNOWN) {
        call.out.hint(&format!(
            "there are no records in this repository; {FETCH}, and \
             'git checkpoint config set attribution.max-unknown-percentage 100' lets unknown lines pass"
        ));
    }
    if exceeded.is_empty() { Exit::Done } else { Exit::No }
}

/// Returns the limits that are exceeded: the kind of lines, their percentage, and the limit. Of the lines of unknown authors,
/// `unknown` count; the others were committed before git-checkpoint was in use.
fn excess(figures: &Figures, unknown: u32, policy: &Policy) -> Vec<(&'static str, f64, u64)> {
    let found = [
        ("agent", figures.agent_percentage.unwrap_or_default(), policy.max_agent_percentage),
        (UNKNOWN, figures.percentage(unknown), policy.max_unknown_percentage),
    ];
    found.into_iter().filter(|(_, percent, limit)| exceeds(*percent, *limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::all_allowed(100, 100, 1, &[])]
    #[case::just_so(75, 25, 1, &[])]
    #[case::too_much(74, 100, 1, &["agent"])]
    #[case::both(0, 0, 1, &["agent", "unknown"])]
    #[case::none_is_unknown_but_of_before(75, 0, 0, &[])]
    fn limits_are_kept(#[case] agent: u64, #[case] unknown: u64, #[case] checked: u32, #[case] expected: &[&str]) {
        let mut figures = Figures::default();
        (figures.unknown, figures.total_committed, figures.agent_percentage) = (1, 4, Some(75.0));
        let policy = Policy { max_agent_percentage: agent, max_unknown_percentage: unknown };
        let found: Vec<&str> = excess(&figures, checked, &policy).into_iter().map(|(what, ..)| what).collect();
        assert_eq!(found, expected);
        assert!(excess(&Figures::default(), 0, &policy).is_empty());
    }
}
