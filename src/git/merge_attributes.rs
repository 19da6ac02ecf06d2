//! The `merge` attribute (gitattributes(5)) of a path: how git merges the file (ll-merge.c).

use bstr::{BStr, BString};
use gix::attrs::StateRef;

use super::{Repo, diff_attributes::Attribute, environment};
use crate::error::{Error, Result};

/// How git merges a file that both sides have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Line by line.
    Lines,
    /// Line by line, and where both have changed the same lines, git takes both.
    Union,
    /// Not at all, as if it were binary.
    Whole,
    /// By a command of the user.
    Driver(BString),
}

/// The `merge` attribute of paths.
pub(crate) struct MergeAttributes<'r> {
    attribute: Attribute<'r>,
    /// `merge.default`.
    by_default: Option<BString>,
    /// The names of the drivers that git is configured with.
    drivers: Vec<BString>,
}

impl<'r> MergeAttributes<'r> {
    /// Returns what the settings and the worktree say.
    ///
    /// # Errors
    /// If the attributes cannot be read, or if git reads them from a commit.
    pub(crate) fn new(repo: &'r Repo) -> Result<Self> {
        if repo.config_value("attr.tree").is_some() || environment::variable("GIT_ATTR_SOURCE").is_some() {
            return Err(Error::corrupt(
                "git reads the attributes from a commit (attr.tree), and they are not read there",
            ));
        }
        // Git knows a driver by any of its settings.
        let named = |key: &String| key.rsplit_once('.').map(|(name, _)| BString::from(name));
        let drivers = repo.config_pairs("merge").iter().filter_map(|pair| named(&pair.key)).collect();
        let by_default = repo.config_value("merge.default").filter(|name| !name.is_empty());
        Ok(Self { attribute: Attribute::new(repo, "merge")?, by_default, drivers })
    }

    /// Returns how git merges the file at `path`.
    ///
    /// # Errors
    /// If the attributes cannot be read.
    pub(crate) fn way(&mut self, path: &BStr) -> Result<Way> {
        let name = match self.attribute.look_up(path)? {
            Some(StateRef::Set) => return Ok(Way::Lines),
            Some(StateRef::Unset) => return Ok(Way::Whole),
            Some(StateRef::Value(name)) => name.as_bstr().to_owned(),
            Some(StateRef::Unspecified) | None => match &self.by_default {
                Some(name) => name.clone(),
                None => return Ok(Way::Lines),
            },
        };
        // A driver of the user comes before one of git's that has its name.
        Ok(match name.as_slice() {
            _ if self.drivers.contains(&name) => Way::Driver(name),
            b"binary" => Way::Whole,
            b"union" => Way::Union,
            _ => Way::Lines,
        })
    }
}
