//! Pathspecs (gitglossary(7)): they limit the paths of an operation.
//!
//! Operations take them relative to the worktree's root; `cli` converts what the user typed.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{pathspec::Defaults, worktree::stack::state::attributes::Source};

use super::{Repo, rule_files::RuleStack};
use crate::error::{Context as _, Kind, Result};

fn parse(text: &BStr, defaults: Defaults) -> Result<gix::pathspec::Pattern> {
    gix::pathspec::parse(text, defaults).context(Kind::User, || format!("invalid pathspec '{text}'"))
}

/// Parsed pathspecs; without any, all paths match.
pub(crate) struct Pathspec<'r> {
    repo: &'r Repo,
    search: gix::pathspec::Search,
    attributes: Option<RuleStack>,
    texts: Vec<BString>,
    /// Of each, whether it has matched a path; those that leave paths out need not.
    has_matched: Vec<bool>,
}

impl Repo {
    /// Converts `texts`, as typed in the directory `prefix` of the worktree (with or without final `/`), to pathspecs
    /// relative to the root.
    ///
    /// # Errors
    /// If one is malformed or leaves the worktree.
    pub fn root_pathspecs(&self, texts: &[BString], prefix: &BStr) -> Result<Vec<BString>> {
        let prefix = prefix.trim_end_with(|c| c == '/');
        let prefix = gix::path::from_bstr(prefix.as_bstr())
            .context(Kind::User, || format!("'{}' is no path", prefix.as_bstr()))?;
        texts
            .iter()
            .map(|text| {
                // `GIT_LITERAL_PATHSPECS` and the like: the result spells out what they ask for.
                let what = || format!("invalid pathspec '{text}'");
                let defaults = self.inner.pathspec_defaults().context(Kind::User, what)?;
                let mut pattern = parse(text.as_bstr(), defaults)?;
                pattern
                    .normalize(&prefix, &self.root)
                    .context(Kind::User, || format!("pathspec '{text}' is outside the worktree"))?;
                let spec = pattern.to_bstring();
                // Only a path that begins with a colon needs the empty magic; elsewhere it would puzzle users in
                // messages.
                let plain = spec.strip_prefix(b":()").filter(|path| !path.is_empty() && !path.starts_with(b":"));
                Ok(plain.map_or_else(|| spec.clone(), BString::from))
            })
            .collect()
    }

    /// Parses `texts`, which are relative to the root.
    pub(crate) fn pathspec(&self, texts: &[BString]) -> Result<Pathspec<'_>> {
        let patterns =
            texts.iter().map(|text| parse(text.as_bstr(), Defaults::default())).collect::<Result<Vec<_>>>()?;
        let what = || "cannot use the pathspecs".to_owned();
        let attributes = if patterns.iter().any(|pattern| !pattern.attributes.is_empty()) {
            let empty = gix::index::State::new(self.object_hash());
            Some(self.attribute_rules(&empty, Source::WorktreeThenIdMapping)?)
        } else {
            None
        };
        let has_matched = patterns.iter().map(gix::pathspec::Pattern::is_excluded).collect();
        let search =
            gix::pathspec::Search::from_specs(patterns, None::<&Path>, &self.root).context(Kind::User, what)?;
        Ok(Pathspec { repo: self, search, attributes, texts: texts.to_owned(), has_matched })
    }
}

impl Pathspec<'_> {
    /// Returns true if there is no pathspec, so that every path matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns true if the pathspecs match the file `path`.
    pub(crate) fn matches(&mut self, path: &BStr) -> bool {
        if self.texts.is_empty() {
            return true;
        }
        let (attributes, repo) = (&mut self.attributes, self.repo);
        let found =
            self.search.pattern_matching_relative_path(path, Some(false), &mut |path, case, is_dir, outcome| {
                let mode = if is_dir { gix::index::entry::Mode::DIR } else { gix::index::entry::Mode::FILE };
                attributes.as_mut().is_some_and(|rules| {
                    rules.stack.set_case(case);
                    let found = rules.at_entry(path, Some(mode), &repo.inner.objects);
                    found.is_ok_and(|platform| platform.is_ok_and(|it| it.matching_attributes(outcome)))
                })
            });
        match found {
            Some(found) => {
                if let Some(has_matched) = self.has_matched.get_mut(found.sequence_number) {
                    *has_matched = true;
                }
                !found.is_excluded()
            }
            None => false,
        }
    }

    /// Returns the pathspecs that have not matched any path yet, as they were given. One that excludes paths need not match any.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = &BString> {
        let all = self.texts.iter().zip(&self.has_matched);
        all.filter(|(text, has_matched)| !**has_matched && !self.excludes(text.as_bstr())).map(|(text, _)| text)
    }

    fn excludes(&self, text: &BStr) -> bool {
        let defaults = self.repo.inner.pathspec_defaults().unwrap_or_default();
        parse(text, defaults).is_ok_and(|pattern| pattern.is_excluded())
    }
}
