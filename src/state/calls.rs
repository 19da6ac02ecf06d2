//! `calls.toml` in a worktree's git directory: which tools are being used here right now, and what was told last.
//!
//! Whoever reads or writes it holds the worktree's lock. It is a hint: what is lost makes a change look like somebody
//! else's, never disappear, so that a damaged file is an empty one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, read_text, replace_file};
use crate::error::Result;

/// The use of a tool, from before until after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Call {
    /// The session.
    pub session: String,
    /// The helper of the agent that uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What the event before it and the one after it have in common; nothing can be told from it.
    pub key: String,
    /// When it began, in Unix seconds.
    pub started: i64,
    /// Digests of the only paths that it may change; none: it may change anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// True if it goes on after the agent was told that it is done.
    #[serde(default)]
    pub is_background: bool,
}

/// What the tools of one turn were, as far as was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Account {
    /// The session.
    pub session: String,
    /// The helper of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// True if one of them could change anything.
    pub used_anything: bool,
}

/// An event that was handled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Handled {
    /// The session.
    pub session: String,
    /// What two reports of the same event have in common.
    pub key: String,
    /// When, in Unix seconds.
    pub seconds: i64,
}

/// What is known of the tools in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Calls {
    /// When the whole worktree was last looked at before or after a tool, in Unix milliseconds.
    pub scanned: i64,
    /// Sessions whose user was asked whether to join others.
    pub asked: Vec<String>,
    /// The tools in use.
    pub open: Vec<Call>,
    /// The turns under way whose tools were told of.
    pub accounts: Vec<Account>,
    /// The last events, oldest first.
    pub handled: Vec<Handled>,
}

/// More is in the file only if it is damaged.
const LONGEST: u64 = 1 << 20;

/// How many of each are kept.
const MOST: usize = 64;

impl Calls {
    /// Returns what is known in the worktree of `git_dir`.
    pub fn read(git_dir: &Path) -> Self {
        Self::try_read(git_dir).unwrap_or_default()
    }

    /// The same, for who writes it again: what is damaged is nothing, what cannot be read is an error.
    fn try_read(git_dir: &Path) -> Result<Self> {
        let path = directory(git_dir).join("calls.toml");
        let text = read_text(&path, LONGEST)?;
        Ok(text.and_then(|text| toml::from_str(&text).ok()).unwrap_or_default())
    }

    /// Changes what is known in the worktree of `git_dir`.
    pub fn edit<T>(git_dir: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T> {
        let before = Self::try_read(git_dir)?;
        let mut calls = before.clone();
        let result = change(&mut calls);
        calls.forget_oldest();
        if calls != before {
            let text = toml::to_string(&calls).expect("plain values have a TOML form");
            replace_file(&ensure_directory(git_dir)?.join("calls.toml"), text.as_bytes())?;
        }
        Ok(result)
    }

    /// Forgets the tool calls of `session`: its turn has ended.
    pub fn end_turn(&mut self, session: &str) {
        self.open.retain(|call| call.session != session);
        self.accounts.retain(|account| account.session != session);
    }

    /// Returns the account of what `session` (or its helper) uses, which is begun if need be.
    pub fn account(&mut self, session: &str, agent_id: Option<&str>) -> &mut Account {
        let is_it = |it: &Account| it.session == session && it.agent_id.as_deref() == agent_id;
        let at = self.accounts.iter().position(is_it).unwrap_or_else(|| {
            let (session, agent_id) = (session.to_owned(), agent_id.map(str::to_owned));
            self.accounts.push(Account { session, agent_id, used_anything: false });
            self.accounts.len() - 1
        });
        &mut self.accounts[at]
    }

    fn forget_oldest(&mut self) {
        fn cut<T>(list: &mut Vec<T>, most: usize) {
            list.drain(..list.len().saturating_sub(most));
        }
        cut(&mut self.asked, MOST);
        cut(&mut self.open, 4 * MOST);
        cut(&mut self.accounts, 4 * MOST);
        cut(&mut self.handled, MOST);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn handled(seconds: i64) -> Handled {
        Handled { session: "s".into(), key: "k".into(), seconds }
    }

    #[test]
    fn calls_are_kept_until_the_turn_ends() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(Calls::read(dir.path()), Calls::default());
        let call = |session: &str, paths| Call {
            session: session.into(),
            agent_id: Some("a\n\"".into()),
            key: "k".into(),
            started: 5,
            paths,
            is_background: false,
        };
        Calls::edit(dir.path(), |calls| {
            calls.open = vec![call("s", None), call("t", Some(vec!["p".into()]))];
            calls.account("s", None).used_anything = true;
            calls.account("s", Some("a"));
            calls.account("t", None);
        })
        .expect("it can be written");
        Calls::edit(dir.path(), |calls| calls.end_turn("s")).expect("it can be written");
        let calls = Calls::read(dir.path());
        assert_eq!(calls.open, [call("t", Some(vec!["p".into()]))]);
        assert_eq!(calls.accounts.len(), 1);
        fs::write(directory(dir.path()).join("calls.toml"), "\0").expect("it is ours");
        assert_eq!(Calls::read(dir.path()), Calls::default());
    }

    #[test]
    fn the_file_does_not_grow() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Calls::edit(dir.path(), |calls| calls.handled = (0..1000).map(handled).collect()).expect("it can be written");
        let calls = Calls::read(dir.path());
        assert_eq!((calls.handled.len(), calls.handled.last()), (MOST, Some(&handled(999))));
    }
}
