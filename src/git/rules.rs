//! What decides how a file is converted: the attributes of one set of files, and settings.

use bstr::BStr;
use gix::{
    attrs::{Search, search::MetadataCollection},
    filter::plumbing::{
        Driver, Pipeline,
        pipeline::{CrlfRoundTripCheck, Options},
    },
    objs::Find,
    worktree::{
        Stack,
        stack::{
            State,
            state::{Attributes, attributes::Source},
        },
    },
};

use super::{Repo, rule_files::RuleStack};
use crate::error::{Context as _, Kind, Result};

/// The attributes from one set of files, and what carries them out: its memory of names belongs to this set.
pub(super) struct Rules {
    pub(super) attributes: RuleStack,
    pub(super) pipeline: Pipeline,
}

impl Rules {
    /// Returns the rules of `attributes`; drivers of filters are not theirs to run.
    fn new(repo: &Repo, attributes: RuleStack, options: Options) -> Self {
        let context = gix::command::Context::default();
        Self { attributes, pipeline: Pipeline::new(context, repo.object_hash(), options) }
    }

    /// Returns the rules of the attribute files in `index`, or first of those in the worktree, as `source` says, with the
    /// attribute files outside the worktree.
    pub(super) fn with_outside(
        repo: &Repo,
        index: &gix::index::State,
        source: Source,
        options: Options,
    ) -> Result<Self> {
        Ok(Self::new(repo, repo.attribute_rules(index, source)?, options))
    }

    /// Returns the rules of the attribute files in `index` alone.
    pub(super) fn of_files(repo: &Repo, index: &gix::index::State, options: Options) -> Result<Self> {
        let (mut buffer, mut collection) = (Vec::new(), MetadataCollection::default());
        let builtin = Search::new_globals(std::iter::empty::<std::path::PathBuf>(), &mut buffer, &mut collection)
            .context(Kind::Internal, || "cannot read the git attributes".into())?;
        let state = State::AttributesStack(Attributes::new(builtin, None, Source::IdMapping, collection));
        // Whatever `core.ignoreCase` says on this machine.
        let case = gix::glob::pattern::Case::Sensitive;
        let mappings = state.id_mappings_from_index(index, index.path_backing(), case);
        let stack = Stack::new(repo.worktree_root(), state, case, buffer, mappings);
        Ok(Self::new(repo, RuleStack::of_tree(stack), options))
    }

    /// Returns the states of the attributes `names` that `path` has.
    pub(super) fn states<'n>(
        &mut self,
        path: &BStr,
        names: impl IntoIterator<Item = &'n str>,
        objects: &dyn Find,
    ) -> Result<Vec<gix::attrs::State>> {
        let what = || format!("cannot read the attributes of '{path}'");
        let mut outcome = self.attributes.stack.selected_attribute_matches(names);
        let platform = self.attributes.at_entry(path, None, objects)?.context(Kind::Internal, what)?;
        platform.matching_attributes(&mut outcome);
        Ok(outcome.iter_selected().map(|found| found.assignment.state.to_owned()).collect())
    }
}

/// Returns the settings for conversions, and the drivers of filters.
pub(super) fn settings(repo: &Repo) -> Result<(Options, Vec<Driver>)> {
    let mut options = gix::filter::Pipeline::options(&repo.inner)
        .context(Kind::User, || "cannot read the settings of filters".into())?;
    // A checkpoint must not fail because a commit would be warned about; raw bytes are kept where it matters.
    options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
    let drivers = std::mem::take(&mut options.drivers);
    Ok((options, drivers))
}

/// Returns the settings for conversions, and the drivers, which are all required: if an optional one fails, git takes what
/// the filter was given for what it returns, which are other bytes than were stored.
pub(super) fn settings_requiring_filters(repo: &Repo) -> Result<(Options, Vec<Driver>)> {
    let (options, mut drivers) = settings(repo)?;
    for driver in &mut drivers {
        driver.required = true;
    }
    Ok((options, drivers))
}
