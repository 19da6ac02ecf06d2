//! The `diff` attribute (gitattributes(5)) of a path: text, binary, or judge by the content.

use std::collections::HashMap;

use bstr::{BStr, BString};
use gix::{
    attrs::{StateRef, search::Outcome},
    worktree::stack::state::attributes::Source,
};

use super::{Repo, rule_files::RuleStack};
use crate::error::{Context as _, Kind, Result};

/// One attribute of paths, by the `.gitattributes` of the worktree.
pub(super) struct Attribute<'r> {
    pub(super) repo: &'r Repo,
    stack: RuleStack,
    outcome: Outcome,
}

impl<'r> Attribute<'r> {
    pub(super) fn new(repo: &'r Repo, name: &str) -> Result<Self> {
        let files = gix::index::State::new(repo.object_hash());
        let stack = repo.attribute_rules(&files, Source::WorktreeThenIdMapping)?;
        let outcome = stack.stack.selected_attribute_matches([name]);
        Ok(Self { repo, stack, outcome })
    }

    /// Looks it up for `path`.
    pub(super) fn look_up(&mut self, path: &BStr) -> Result<Option<StateRef<'_>>> {
        let what = || format!("cannot read the git attributes of '{path}'");
        let platform = self.stack.at_entry(path, None, &self.repo.inner.objects)?.context(Kind::Internal, what)?;
        self.outcome.reset();
        platform.matching_attributes(&mut self.outcome);
        Ok(self.outcome.iter_selected().next().map(|found| found.assignment.state))
    }
}

/// The `diff` attribute of paths, by the `.gitattributes` of the worktree as `git diff` reads them.
pub(crate) struct DiffAttributes<'r> {
    attribute: Attribute<'r>,
    /// The values of `diff.<driver>.binary`.
    drivers: HashMap<BString, Option<bool>>,
}

impl<'r> DiffAttributes<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Result<Self> {
        Ok(Self { attribute: Attribute::new(repo, "diff")?, drivers: HashMap::new() })
    }

    /// Returns true if nothing says how `path` is compared.
    pub(crate) fn is_unspecified(&mut self, path: &BStr) -> Result<bool> {
        Ok(matches!(self.attribute.look_up(path)?, Some(StateRef::Unspecified) | None))
    }

    /// Returns whether `path` is declared binary (true) or text (false); none if its content decides.
    pub(crate) fn is_binary(&mut self, path: &BStr) -> Result<Option<bool>> {
        let driver = match self.attribute.look_up(path)? {
            Some(StateRef::Set) => return Ok(Some(false)),
            Some(StateRef::Unset) => return Ok(Some(true)),
            Some(StateRef::Value(driver)) => driver.as_bstr().to_owned(),
            Some(StateRef::Unspecified) | None => return Ok(None),
        };
        let repo = self.attribute.repo;
        Ok(*self.drivers.entry(driver).or_insert_with_key(|driver| repo.config_bool(&format!("diff.{driver}.binary"))))
    }
}
