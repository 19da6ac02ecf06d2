//! `ci check`: which policies the commits of a range break, and where.
//!
//! The attribution is that of `attribution <range>`. Where a record is missing, no answer is given: its lines may be anyone's.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    notes::{listed, notes},
    policies::Policies,
    unlined::Unlined,
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        attribution::{
            kind::Kind,
            summary::{Figures, exceeds},
        },
        id_text, path_text,
        refname::FETCH,
    },
    ops::{
        Context,
        attribution::{self, Attribution, FileLines, Options, Target},
    },
};

/// What `ci check --format json` prints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Checked {
    version: u32,
    /// The range, as git takes it.
    pub(crate) range: String,
    /// True if no policy is broken.
    pub(crate) passed: bool,
    /// How many commits it has.
    pub(crate) commits: usize,
    /// The figures of all commits together.
    pub(crate) summary: Figures,
    /// What breaks a policy.
    pub(crate) breaches: Vec<Breach>,
    /// What is to be known beside.
    pub(crate) notes: Vec<String>,
}

/// What breaks a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Breach {
    /// The name of its setting, without the table.
    pub(crate) policy: &'static str,
    /// The commit; of a share of all lines, the one that has most of them.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
    /// A file with such lines: the one with most of them.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) path: Option<BString>,
    /// The first of these lines.
    pub(crate) line: Option<u32>,
    /// What is wrong.
    pub(crate) message: String,
}

/// Checks the commits of `range` against `policies`.
///
/// # Errors
/// If a policy makes no sense, or if records are missing.
pub(crate) fn check(context: &Context, range: &str, policies: &Policies) -> Result<Checked> {
    let repo = &context.repo;
    policies.validate(repo)?;
    let options =
        Options { target: Target::Revision(range.to_owned()), check: true, by_commit: true, ..Options::default() };
    let found = attribution::attribution(context, &options)?;
    refuse_without_records(&found)?;
    let mut breaches = shares(&found, policies);
    breaches.extend(trailers(repo, &found, policies)?);
    breaches.extend(human_paths(repo, &found, policies)?);
    let notes = notes(repo, range, &found, policies)?;
    Ok(Checked {
        version: 1,
        range: range.to_owned(),
        passed: breaches.is_empty(),
        commits: found.commits.len(),
        summary: found.summary,
        breaches,
        notes,
    })
}

fn refuse_without_records(found: &Attribution) -> Result<()> {
    if found.commits.is_empty() {
        return Ok(());
    }
    if found.lacks_records {
        let why = "there are no records in this repository, so that who wrote the lines cannot be known";
        return Err(Error::user(why)
            .with_hint("'git checkpoint fetch' gets the records of 'origin'; a clone does not have them"));
    }
    let Some(first) = found.commits.iter().find(|commit| !commit.missing.is_empty()) else { return Ok(()) };
    let names: Vec<String> = found.missing_records.iter().map(ToString::to_string).collect();
    let why = format!("commits name records that are not here, or cannot be read: {}", listed(&names));
    Err(Error::user(why).with_hint(format!(
        "{FETCH}; else the author of '{}' has to send them with 'git checkpoint push'",
        first.commit
    )))
}

/// Returns the breaches of the shares that the range may have.
fn shares(found: &Attribution, policies: &Policies) -> Vec<Breach> {
    let figures = &found.summary;
    let agents: fn(&Figures) -> u32 = |figures| figures.agent_lines + figures.mixed;
    let unknown: fn(&Figures) -> u32 = |figures| figures.unknown;
    let checked = [
        (
            "max-agent-percentage",
            "agent",
            figures.agent_percentage.unwrap_or_default(),
            policies.max_agent,
            agents,
            [Kind::Agent, Kind::Mixed],
        ),
        (
            "max-unknown-percentage",
            "unknown",
            figures.percentage(found.checked_unknown),
            policies.max_unknown,
            unknown,
            [Kind::Unknown, Kind::Unknown],
        ),
    ];
    let mut breaches = Vec::new();
    for (policy, what, percent, limit, count, kinds) in checked {
        let most = found.commits.iter().rev().max_by_key(|commit| count(&commit.summary));
        let Some(commit) = most.filter(|_| exceeds(percent, limit)) else { continue };
        let file = commit.files.iter().rev().max_by_key(|file| count(&file.figures));
        breaches.push(Breach {
            policy,
            commit: commit.commit,
            path: file.map(|file| file.path.clone()),
            line: file.and_then(|file| first_line(file, kinds)),
            message: format!("{percent:.1} % {what} lines, of at most {limit} %"),
        });
    }
    breaches
}

/// Returns the first line of `file` that is of one of `kinds`.
fn first_line(file: &FileLines, kinds: [Kind; 2]) -> Option<u32> {
    file.owners.iter().find(|lines| kinds.contains(&lines.who.owner)).map(|lines| lines.start)
}

/// Returns the commits with lines of agents that lack a trailer.
fn trailers(repo: &Repo, found: &Attribution, policies: &Policies) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for commit in found.commits.iter().filter(|commit| commit.summary.has_agent()) {
        let message = repo.message_of(commit.commit)?;
        let file = commit.files.iter().rev().max_by_key(|file| {
            let figures = &file.figures;
            (figures.has_agent(), figures.agent_lines + figures.mixed, figures.agent_removed)
        });
        for (policy, keys) in [("disclosure-trailers", &policies.disclosure), ("review-trailers", &policies.review)] {
            if keys.is_empty() || has_trailer(message.as_bytes(), keys) {
                continue;
            }
            breaches.push(Breach {
                policy,
                commit: commit.commit,
                path: file.map(|file| file.path.clone()),
                line: file.and_then(|file| first_line(file, [Kind::Agent, Kind::Mixed])),
                message: format!("the commit has lines of agents, and no trailer '{}'", keys.join("' or '")),
            });
        }
    }
    Ok(breaches)
}

/// Returns true if a line of `message` is a trailer with one of `keys` and a value. It counts at any place: forges join whole messages
/// when they squash a branch.
fn has_trailer(message: &[u8], keys: &[String]) -> bool {
    message.lines().any(|line| {
        let Some((key, value)) = line.split_once_str(":") else { return false };
        keys.iter().any(|wanted| key.eq_ignore_ascii_case(wanted.as_bytes())) && !value.trim().is_empty()
    })
}

/// Returns the files that have to stay without work of agents, and do not. A file that gets such a name later in the range counts with
/// what agents have done to it before.
fn human_paths(repo: &Repo, found: &Attribution, policies: &Policies) -> Result<Vec<Breach>> {
    if policies.human_paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut pathspec = repo.pathspec(&policies.human_paths)?;
    let (mut breaches, mut touched) = (Vec::new(), HashSet::new());
    let mut unlined = Unlined::open(repo)?;
    for commit in found.commits.iter().rev() {
        for file in &commit.files {
            let has_agent = file.figures.has_agent();
            let is_brought = file.old_path.as_ref().is_some_and(|old| touched.contains(old));
            if has_agent || is_brought {
                touched.insert(file.path.clone());
            }
            let mut names = [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
            if !names.any(|path| pathspec.matches(path.as_bstr())) {
                continue;
            }
            let without_lines = if has_agent { None } else { unlined.done(&commit.records, file) };
            if !(has_agent || is_brought || without_lines.is_some()) {
                continue;
            }
            let figures = &file.figures;
            let mut parts = Vec::new();
            for (count, what) in [
                (figures.agent_lines, "written by agents"),
                (figures.mixed, "of both agents and people"),
                (figures.agent_removed, "deleted by agents"),
            ] {
                parts.extend((count > 0).then(|| format!("{count} {what}")));
            }
            let parts = match (parts.is_empty(), has_agent, without_lines) {
                (false, ..) => format!("lines: {}", parts.join(", ")),
                (true, true, _) => "an agent changed it".to_owned(),
                (true, false, Some(words)) => words.to_owned(),
                (true, false, None) => "an agent changed it under its name of before".to_owned(),
            };
            breaches.push(Breach {
                policy: "human-paths",
                commit: commit.commit,
                path: Some(file.path.clone()),
                line: first_line(file, [Kind::Agent, Kind::Mixed]),
                message: format!("this file has to stay without work of agents; {parts}"),
            });
        }
    }
    // The newest commit first, as everywhere.
    breaches.reverse();
    Ok(breaches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::at_the_end("s\n\nAssisted-by: x:y\n", true)]
    #[case::other_capitals("s\n\nASSISTED-BY:x\n", true)]
    #[case::joined_by_a_forge("s (#1)\n\n* a\n\nAssisted-by: x\n\n* b\n", true)]
    #[case::without_a_value("s\n\nAssisted-by:  \n", false)]
    #[case::quoted("s\n\n  Assisted-by: x\n", false)]
    #[case::another("s\n\nReviewed-by: x\n", false)]
    fn trailers_are_found(#[case] message: &str, #[case] expected: bool) {
        assert_eq!(has_trailer(message.as_bytes(), &["Assisted-by".to_owned()]), expected);
    }
}
