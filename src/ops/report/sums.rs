//! The figures of a report by session, agent, model, author and directory.

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice as _};
use serde::Serialize;

use crate::{
    git::revision::Header,
    model::{attribution::summary::Figures, path_text},
    ops::attribution::{Attribution, SessionLines},
};

/// Lines of one agent, model, author or directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) name: String,
    /// How many lines it has written or changed.
    pub(crate) lines: u32,
    /// In how many commits, for authors; how many sessions, for agents and models; how many files, for directories.
    pub(crate) count: u32,
    /// The agents' percentage of the lines; none if no author is known.
    pub(crate) agent_percentage: Option<f64>,
}

/// All sums.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Sums {
    /// The sessions, most lines first.
    pub(crate) sessions: Vec<SessionLines>,
    /// The agents.
    pub(crate) agents: Vec<Part>,
    /// The models.
    pub(crate) models: Vec<Part>,
    /// The authors of the commits.
    pub(crate) authors: Vec<Part>,
    /// The directories at the top.
    pub(crate) directories: Vec<Part>,
}

impl Sums {
    /// Sums up `found`, whose commits have the headers `headers`, in the same order.
    pub(super) fn of(found: &Attribution, headers: &[Header]) -> Self {
        let by = |name: fn(&SessionLines) -> Option<&String>| {
            let mut sums: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
            for session in &found.sessions {
                let sum = sums.entry(name(session).map_or("unknown", String::as_str)).or_default();
                *sum = (sum.0 + session.lines + session.mixed, sum.1 + 1);
            }
            let part = |(name, (lines, count)): (&str, (u32, u32))| {
                let agent_percentage = None;
                Part { name: name.to_owned(), lines, count, agent_percentage }
            };
            sorted(sums.into_iter().map(part).collect())
        };
        let (agents, models) = (by(|it| it.agent.as_ref()), by(|it| it.model.as_ref()));
        let commits = found.commits.iter().zip(headers);
        let authors = figures(commits.map(|(commit, header)| (header.author.clone(), commit.summary)));
        let files = found.files.iter().map(|file| (directory(file.path.as_bstr()), file.figures));
        Self { sessions: found.sessions.clone(), agents, models, authors, directories: figures(files) }
    }
}

fn figures(parts: impl Iterator<Item = (String, Figures)>) -> Vec<Part> {
    let mut sums: BTreeMap<String, (Figures, u32)> = BTreeMap::new();
    for (name, figures) in parts {
        let (sum, count) = sums.entry(name).or_default();
        (*sum, *count) = (sum.plus(&figures), *count + 1);
    }
    let part = |(name, (figures, count)): (String, (Figures, u32))| {
        let (lines, agent_percentage) = (figures.total_committed, figures.agent_percentage);
        Part { name, lines, count, agent_percentage }
    };
    sorted(sums.into_iter().map(part).collect())
}

fn sorted(mut parts: Vec<Part>) -> Vec<Part> {
    // By name where the lines are equal: the sort is stable, and the map was in that order.
    parts.sort_by_key(|part| std::cmp::Reverse(part.lines));
    parts
}

/// Returns the directory at the top that `path` is in, with a slash; `./` for a file at the top.
fn directory(path: &BStr) -> String {
    let top = path.split_once_str("/").map_or(&b"."[..], |(top, _)| top);
    format!("{}/", path_text::printable(top.as_bstr()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(b"a", "./")]
    #[case(b"src/ops/a.rs", "src/")]
    #[case(b"a\nb/c", "a\\nb/")]
    fn directories_are_those_at_the_top(#[case] path: &[u8], #[case] expected: &str) {
        assert_eq!(directory(path.as_bstr()), expected);
    }
}
