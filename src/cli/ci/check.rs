//! `git checkpoint ci check`: policies over the commits of a range.

use std::ffi::OsString;

use clap::ValueEnum;

use super::{
    super::{Exit, attribution::cell, call::Call, output::printable, phrase},
    forges,
    place::{Place, Said, place},
};
use crate::{
    error::Result,
    git::Repo,
    ops::ci::{self, Breach, Checked, Policies},
};

/// Check who wrote the lines of a range against policies
///
/// The settings 'ci.*' have the policies, and options take their place. The exit status is 1 if a policy is broken.
#[derive(clap::Args, Debug)]
pub(super) struct Check {
    /// A range of commits, or one commit
    #[arg(value_name = "range")]
    range: Option<String>,
    /// At most this much of the lines, in percent, may be agents'
    #[arg(long, value_name = "number", value_parser = clap::value_parser!(u64).range(0..=100))]
    max_agent_percentage: Option<u64>,
    /// At most this much of the lines, in percent, may be of unknown authors
    #[arg(long, value_name = "number", value_parser = clap::value_parser!(u64).range(0..=100))]
    max_unknown_percentage: Option<u64>,
    /// A commit with lines of agents needs a trailer with this key, or with another one that is given so
    #[arg(long, value_name = "trailer")]
    disclosure_trailer: Vec<String>,
    /// The same for a review, beside the other trailer
    #[arg(long, value_name = "trailer")]
    review_trailer: Vec<String>,
    /// No line of a file that this matches may be an agent's
    #[arg(long, value_name = "pathspec")]
    human_path: Vec<OsString>,
    /// How to print the result: text, json, markdown, github (annotations) or gitlab (a Code Quality report)
    #[arg(long, value_name = "format", hide_possible_values = true)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    Markdown,
    Github,
    Gitlab,
}

impl Check {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let found = place(&context.repo, self.range.as_deref(), false)?;
        let policies = self.policies(&context.repo, Policies::of(&context.settings.ci))?;
        let checked = {
            let _progress = call.progress("attributing");
            ci::check(&context, &found.range, &policies)?
        };
        match self.format.unwrap_or_default() {
            Format::Text => print(&checked, &found, call)?,
            Format::Json => call.out.json(&Said { source: &found.said_by, result: &checked })?,
            Format::Markdown => markdown(&checked, &found, call)?,
            Format::Github => call.out.text(&forges::github(&checked))?,
            Format::Gitlab => call.out.json(&forges::gitlab(&checked))?,
        }
        if !matches!(self.format, Some(Format::Markdown | Format::Github | Format::Json)) {
            for note in &checked.notes {
                call.out.warning(&printable(note));
            }
        }
        Ok(if checked.passed { Exit::Done } else { Exit::No })
    }

    /// Returns the policies: options take the place of settings.
    fn policies(&self, repo: &Repo, mut policies: Policies) -> Result<Policies> {
        policies.max_agent = self.max_agent_percentage.unwrap_or(policies.max_agent);
        policies.max_unknown = self.max_unknown_percentage.unwrap_or(policies.max_unknown);
        if !self.disclosure_trailer.is_empty() {
            policies.disclosure.clone_from(&self.disclosure_trailer);
        }
        if !self.review_trailer.is_empty() {
            policies.review.clone_from(&self.review_trailer);
        }
        if !self.human_path.is_empty() {
            policies.human_paths = Call::pathspecs(repo, &self.human_path)?;
        }
        Ok(policies)
    }
}

/// Returns the place of `breach` in a line: its commit, and the file with the line.
fn place_of(breach: &Breach, call: &Call) -> String {
    let commit = call.names.id(&breach.commit);
    match (&breach.path, breach.line) {
        (Some(path), Some(line)) => format!("{commit} {}:{line}", phrase::quoted(path)),
        (Some(path), None) => format!("{commit} {}", phrase::quoted(path)),
        _ => commit,
    }
}

/// Returns which commits were looked at, in words.
fn looked_at(checked: &Checked, found: &Place) -> String {
    let (range, commits) = (short(&checked.range), phrase::count(checked.commits, "commit"));
    format!("{commits} in {} ({})", printable(range), printable(&found.said_by))
}

/// Returns a range of two whole ids with shorter ones.
fn short(range: &str) -> String {
    let is_id = |end: &str| end.len() >= 40 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    match range.split_once("..") {
        Some((base, head)) if is_id(base) && is_id(head) => format!("{}..{}", &base[..12], &head[..12]),
        _ => range.to_owned(),
    }
}

/// Returns the shares of the lines in words.
fn shares(checked: &Checked) -> String {
    let figures = &checked.summary;
    let agent = match figures.agent_percentage {
        Some(share) => format!("{share:.1} % agent"),
        None => "authors unknown".to_owned(),
    };
    let unknown = match figures.agent_percentage {
        Some(_) if figures.unknown > 0 => format!(", {:.1} % unknown", figures.percentage(figures.unknown)),
        _ => String::new(),
    };
    format!("{agent}{unknown} of {}", phrase::count(figures.total_committed as usize, "committed line"))
}

fn print(checked: &Checked, found: &Place, call: &mut Call) -> Result<()> {
    call.out.line(&format!("{}: {}", looked_at(checked, found), shares(checked)))?;
    for breach in &checked.breaches {
        let policy = call.out.paint(phrase::OLD, breach.policy);
        let place = place_of(breach, call);
        call.out.line(&format!("{policy}: {place}: {}", printable(&breach.message)))?;
    }
    match checked.breaches.len() {
        0 => call.out.note("no policy is broken"),
        count => call.out.note(&format!("policies are broken in {}", phrase::count(count, "place"))),
    }
}

fn markdown(checked: &Checked, found: &Place, call: &mut Call) -> Result<()> {
    let verdict = if checked.passed { "**No policy is broken**" } else { "**Policies are broken**" };
    call.out.line(&format!("{verdict}: {}, {}", shares(checked), cell(&looked_at(checked, found))))?;
    if !checked.breaches.is_empty() {
        call.out.line("")?;
        call.out.line("| policy | commit | file | |")?;
        call.out.line("|---|---|---|---|")?;
    }
    for breach in &checked.breaches {
        let path = breach.path.as_ref().map(|path| cell(&phrase::quoted(path))).unwrap_or_default();
        let line = breach.line.map(|line| format!(":{line}")).unwrap_or_default();
        let (policy, commit) = (breach.policy, call.names.id(&breach.commit));
        call.out.line(&format!("| {policy} | {commit} | {path}{line} | {} |", cell(&breach.message)))?;
    }
    for note in &checked.notes {
        call.out.line("")?;
        call.out.line(&cell(note))?;
    }
    Ok(())
}
