//! The trailers that say which agents have a part in a commit: `Assisted-by: <agent>:<model>`, as the setting `commit.disclosure` asks.
//!
//! They are measured: an agent is named if lines of it are staged, or if it has deleted some, as the record of the commit will say. It is
//! no co-author and signs nothing off.

use std::{collections::BTreeSet, path::Path};

use bstr::BString;
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::{
        attribution::{Author, text::Attribution},
        contributor::Contributor,
        record::{RecordId, ids_in_message},
        refname::Base,
    },
    ops::{Context, condense, records::evidence, session_info},
    state::sessions::Found,
};

use super::message_file::read_message;

/// More characters of a name are cut off.
const LONGEST_NAME: usize = 80;

/// What is known of the commit whose message is prepared.
pub(super) struct Prepared<'p> {
    /// What it is made on, or what it amends.
    pub(super) base: Base,
    /// The commit that it amends.
    pub(super) amended: Option<ObjectId>,
    /// Its records.
    pub(super) ids: &'p [RecordId],
    /// The one of them that is made after the commit.
    pub(super) reserved: Option<RecordId>,
    /// The records that the message has named before.
    pub(super) named: Vec<RecordId>,
}

/// Returns the records that the message names; none if no disclosure is wanted.
pub(super) fn named(context: &Context, message_file: &Path) -> Result<Vec<RecordId>> {
    let is_wanted = context.settings.commit.disclosure.key().is_some();
    if is_wanted { read_message(message_file).map(|text| ids_in_message(&text)) } else { Ok(Vec::new()) }
}

/// Returns the trailers that the message lacks. Takes out those of agents that have no part in the commit any longer.
pub(super) fn lines(context: &Context, message_file: &Path, prepared: &Prepared<'_>) -> Result<Vec<String>> {
    let repo = &context.repo;
    let Some(key) = context.settings.commit.disclosure.key() else { return Ok(Vec::new()) };
    let joined = repo.joined_commits();
    let mut authors = Vec::new();
    for id in prepared.ids {
        if Some(*id) == prepared.reserved {
            authors.extend(condense::authors_of_staged(context, prepared.base)?);
        } else {
            authors.extend(authors_of(repo, id)?);
        }
    }
    if let (Base::Commit(head), false) = (prepared.base, joined.is_empty()) {
        for commit in joined.iter().chain([&head]) {
            for id in evidence::of_commit(repo, *commit)? {
                authors.extend(authors_of(repo, &id)?);
            }
        }
    }
    let values = values(context, &authors)?;
    let mut former = prepared.named.clone();
    if let Some(amended) = prepared.amended {
        former.extend(evidence::of_commit(repo, amended)?);
    }
    let mut stale = BTreeSet::new();
    for id in former {
        stale.extend(self::values(context, &authors_of(repo, &id)?)?);
    }
    stale.retain(|value| !values.contains(value));
    if !stale.is_empty() {
        repo.remove_lines(message_file, |line| {
            crate::git::message::disclosed(line).is_some_and(|it| stale.iter().any(|value| value.as_bytes() == it))
        })?;
    }
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let said = repo.disclosures(message_file)?;
    let is_said = |value: &String| said.iter().any(|said| is_about(said, value));
    Ok(values.iter().filter(|value| !is_said(value)).map(|value| format!("{key}: {value}")).collect())
}

/// Returns true if `said` names the agent and model `value`, perhaps with tools behind them.
fn is_about(said: &BString, value: &str) -> bool {
    said.strip_prefix(value.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b" "))
}

/// Returns the authors of the record `id`.
fn authors_of(repo: &Repo, id: &RecordId) -> Result<Vec<Author>> {
    let text = evidence::attribution(repo, id)?.unwrap_or_default();
    // A damaged record says nothing.
    Ok(Attribution::from_text(&text).map(|it| it.sorted().authors).unwrap_or_default())
}

/// Returns the agents among `authors` as the trailers name them.
fn values(context: &Context, authors: &[Author]) -> Result<BTreeSet<String>> {
    let (mut values, mut without_model) = (BTreeSet::new(), BTreeSet::new());
    for author in authors.iter().filter(|author| author.contributor == Contributor::Agent) {
        let known = match &author.session {
            Some(id) if author.model.is_none() || author.agent.is_none() => match session_info::load(context, id)? {
                Found::Session(session) => Some(session),
                Found::Absent | Found::Damaged(_) => None,
            },
            _ => None,
        };
        let agent = author.agent.clone().or_else(|| known.as_ref()?.agent.clone());
        let model = author.model.clone().or_else(|| known.as_ref()?.model.clone());
        let agent =
            Some(word(&agent.unwrap_or_default())).filter(|it| !it.is_empty()).unwrap_or_else(|| "agent".into());
        match model.map(|model| word(&model)).filter(|model| !model.is_empty()) {
            Some(model) => drop(values.insert(format!("{agent}:{model}"))),
            None => drop(without_model.insert(agent)),
        }
    }
    let has_model = |agent: &String| values.iter().any(|value| value.starts_with(&format!("{agent}:")));
    without_model.retain(|agent| !has_model(agent));
    values.extend(without_model);
    Ok(values)
}

/// Returns `name` as one word: an agent's payload may have anything in it, and a trailer must neither be forged nor name an address.
fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/+-".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect();
    let word = plain.split_whitespace().collect::<Vec<_>>().join("-");
    word.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("claude-opus-4.5", "claude-opus-4.5")]
    #[case("Claude Opus 4", "Claude-Opus-4")]
    #[case("us.anthropic/claude:v1", "us.anthropic/claude-v1")]
    #[case("x\nSigned-off-by: A <a@b>", "x-Signed-off-by-A-a-b")]
    #[case(" \u{1b}[31m ", "31m")]
    fn names_are_one_word(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(word(name), expected);
        assert!(word(&"a b".repeat(200)).len() <= LONGEST_NAME);
    }

    #[rstest::rstest]
    #[case("a:m", true)]
    #[case("a:m [tool]", true)]
    #[case("a:m2", false)]
    #[case("a", false)]
    fn what_is_said_already(#[case] said: &str, #[case] expected: bool) {
        assert_eq!(is_about(&said.into(), "a:m"), expected);
    }
}
