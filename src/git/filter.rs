//! Conversions between worktree and repository: line endings, `ident`, encodings, filter commands (gitattributes(5)).
//!
//! What a save stores follows git: the `.gitattributes` of the worktree, and all settings. What a checkpoint stands for
//! follows from its own tree alone, with git's defaults for all settings: so it stays byte for byte what was saved,
//! whatever `core.autocrlf` or other rules say later. Only filter commands must come from outside, as git requires.
//! What a commit stands for is what git would check out now: its own attribute files, and all settings.

use std::{cell::OnceCell, ffi::OsString, os::unix::ffi::OsStringExt as _, rc::Rc};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    attrs::State as AttributeState,
    filter::plumbing::{Driver, eol, pipeline::convert},
    objs::Find,
    worktree::stack::state::attributes::Source,
};

use super::{
    Repo,
    aside::Blobs,
    attribute_files::AttributeFiles,
    conversions::CONVERTING,
    driver::{Drivers, Way, is_of_the_moment, is_refused},
    rules::{self, Rules},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text::printable,
};

/// The conversions that attributes and settings configure.
pub(crate) struct Filters<'r> {
    repo: &'r Repo,
    rules: Rules,
    /// The same with the attribute files outside the tree, which count where they name Git LFS, whose pointers say themselves
    /// what they stand for; none if they name no filter.
    outside: Option<Rules>,
    drivers: Drivers<'r>,
    /// The user's index, read only if a file with CRLF asks whether it is stored so.
    index: Rc<OnceCell<Option<gix::index::File>>>,
    /// The attribute files of the checkpoint; none: the worktree's count.
    files: Option<AttributeFiles>,
    /// The tree that holds `files`, if it is stored.
    tree_id: Option<ObjectId>,
    /// True if settings and attribute files outside the tree count beside `files`: these are the conversions of a commit.
    follows_settings: bool,
    /// True if a setting that counts may convert line endings.
    has_line_ending_setting: bool,
    /// True if the last conversion failed in its filter, and not in what git does itself.
    has_filter_failed: bool,
    /// Where git writes what it converts for storing.
    blobs: Blobs,
}

impl<'r> Filters<'r> {
    /// Returns the conversions that `rules` and `drivers` make, with all settings. `files` are the attribute files of a commit or
    /// checkpoint; none: those of the worktree count.
    fn new(repo: &'r Repo, rules: Rules, drivers: Vec<Driver>, files: Option<AttributeFiles>) -> Self {
        Self {
            repo,
            rules,
            outside: None,
            drivers: Drivers::new(repo, drivers),
            index: Rc::default(),
            files,
            tree_id: None,
            follows_settings: true,
            has_line_ending_setting: repo.has_line_ending_setting(),
            has_filter_failed: false,
            blobs: Blobs::Stored,
        }
    }

    /// Returns the conversions that git makes in the worktree.
    pub(crate) fn for_worktree(repo: &'r Repo) -> Result<Self> {
        let (options, drivers) = rules::settings(repo)?;
        let none = gix::index::State::new(repo.object_hash());
        let rules = Rules::with_outside(repo, &none, Source::WorktreeThenIdMapping, options)?;
        Ok(Self::new(repo, rules, drivers, None))
    }

    /// The same for a look at the worktree: git stores nothing that it converts, if it has another place for it.
    pub(super) fn for_look(repo: &'r Repo) -> Result<Self> {
        Ok(Self { blobs: Blobs::aside(), ..Self::for_worktree(repo)? })
    }

    /// Returns the conversions that git makes when it checks out a commit whose tree has the attribute files `files`.
    fn of_commit(repo: &'r Repo, files: AttributeFiles) -> Result<Self> {
        let (options, drivers) = rules::settings_requiring_filters(repo)?;
        let rules = Rules::with_outside(repo, &files.to_index(repo.object_hash()), Source::IdMapping, options)?;
        Ok(Self::new(repo, rules, drivers, Some(files)))
    }

    /// Returns the conversions of the checkpoint whose tree has the attribute files `files`.
    pub(crate) fn of_checkpoint(repo: &'r Repo, files: AttributeFiles) -> Result<Self> {
        let index = files.to_index(repo.object_hash());
        let (mut options, drivers) = rules::settings_requiring_filters(repo)?;
        options.eol_config = eol::Configuration::default();
        let outside = if repo.outside_attributes_name_filters()? {
            Some(Rules::with_outside(repo, &index, Source::IdMapping, options.clone())?)
        } else {
            None
        };
        let rules = Rules::of_files(repo, &index, options)?;
        let filters = Self::new(repo, rules, drivers, Some(files));
        Ok(Self { outside, follows_settings: false, has_line_ending_setting: false, ..filters })
    }

    /// Returns the conversions of the stored checkpoint with the tree `tree_id`, or of the commit if `is_commit`; for `paths`
    /// only.
    pub(crate) fn for_tree(repo: &'r Repo, tree_id: ObjectId, is_commit: bool, paths: &[BString]) -> Result<Self> {
        let files = AttributeFiles::of_tree(repo, tree_id, paths)?;
        let filters = if is_commit { Self::of_commit(repo, files)? } else { Self::of_checkpoint(repo, files)? };
        Ok(Self { tree_id: Some(tree_id), ..filters })
    }

    /// Returns the rules for `path`: attribute files outside the tree count only where Git LFS follows from them.
    fn rules_for(&mut self, path: &BStr) -> Result<(&mut Rules, Objects<'_>)> {
        let objects = Objects { files: self.files.as_ref(), repo: self.repo };
        let is_outside = match &mut self.outside {
            None => false,
            Some(outside) => filter_of(&outside.states(path, ["filter"], &objects)?).is_some_and(|name| name == LFS),
        };
        let rules = match &mut self.outside {
            Some(outside) if is_outside => outside,
            _ => &mut self.rules,
        };
        Ok((rules, objects))
    }

    /// Returns `bytes` of the file `path` as git would store them; none if they stay as they are.
    ///
    /// # Errors
    /// If a required filter command fails, or the work is to end.
    pub(crate) fn to_git(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.refuse_endless(path)?;
        let done = match self.to_git_by_gix(path, bytes) {
            Err(error) if self.may_git_know_better(&error) => match self.to_git_by_git(path, bytes) {
                // Git could not run the filter either, and continues without an optional one.
                Ok(None) if self.has_filter_failed => {
                    self.drivers.forgive(error);
                    Ok(None)
                }
                Ok(converted) => Ok(converted),
                Err(_) => Err(error),
            },
            done => done,
        };
        self.unless_interrupted(path, done)
    }

    /// Looks at the attribute files in the worktree that count for `path`, if those do, before we or git read them.
    ///
    /// # Errors
    /// If reading one of them might never end.
    pub(super) fn refuse_endless(&mut self, path: &BStr) -> Result<()> {
        self.rules.attributes.refuse_endless(path)
    }

    /// Returns why an optional filter has failed since the last call: git continues without it.
    pub(super) fn take_forgiven(&mut self) -> Option<Error> {
        self.drivers.take_forgiven()
    }

    /// Git has all encodings of iconv(1), and finds commands in a directory of its own.
    fn may_git_know_better(&self, error: &Error) -> bool {
        !is_of_the_moment(error) && !is_refused(error) && !self.repo.interrupt.is_raised()
    }

    /// Returns `done`, or an error that names the filter of `path` if the work is to end: that has ended the filter, too.
    fn unless_interrupted<T>(&mut self, path: &BStr, done: Result<T>) -> Result<T> {
        if !self.repo.interrupt.is_raised() {
            return done;
        }
        if let Ok(Some(name)) = self.filter_name(path) {
            self.drivers.note_interrupt(name.as_bstr(), &format!("converted '{}'", printable(path)));
        }
        self.repo.check_interrupt().and(done)
    }

    fn to_git_by_git(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let line = self.git_line(&["hash-object", "-w", "--stdin"], path, b"")?;
        let converted = self.repo.made_by_git(&line, bytes, &self.blobs)?;
        Ok((converted != bytes).then_some(converted))
    }

    fn to_worktree_by_git(&mut self, path: &BStr, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.files.is_some() && self.tree_id.is_none() {
            return Err(Error::internal("the attributes are not stored yet"));
        }
        let id = self.repo.run_git(&["hash-object", "-w", "--stdin"], Some(blob))?;
        let line = self.git_line(&["cat-file", "--filters"], path, id.trim())?;
        let converted = self.repo.run_filtering_git(&line, b"", None)?;
        Ok((converted != blob).then(|| converted.into()))
    }

    /// Returns the arguments for a git that converts: `arguments`, the option that names `path`, and `last` unless it is empty.
    ///
    /// # Errors
    /// Also if a tree in the making decides: git reads attributes from stored ones only.
    fn git_line(&mut self, arguments: &[&str], path: &BStr, last: &[u8]) -> Result<Vec<OsString>> {
        let mut all: Vec<OsString> = Vec::new();
        if self.files.is_some() {
            if let Some(name) = self.filter_name(path)? {
                // As for our own drivers: git must not pass on what a failing filter was given.
                let mut setting = OsString::from("filter.");
                setting.push(name.to_os_str().context(Kind::Internal, || "the name of a filter".into())?);
                setting.push(".required=true");
                all.extend([OsString::from("-c"), setting]);
            }
            let tree_id = self.tree_id.ok_or_else(|| Error::internal("the attributes are not stored yet"))?;
            if !self.follows_settings {
                let defaults = ["-c", "core.autocrlf=false", "-c", "core.eol=lf"];
                all.extend(defaults.into_iter().map(OsString::from));
            }
            all.push(format!("--attr-source={tree_id}").into());
        }
        all.extend(arguments.iter().map(OsString::from));
        let mut named = OsString::from("--path=");
        named.push(path.to_os_str().context(Kind::Internal, || "a path".into())?);
        all.push(named);
        all.extend((!last.is_empty()).then(|| OsString::from_vec(last.to_vec())));
        Ok(all)
    }

    /// Returns what the filter of `path` makes of `bytes`; none if it has none, or an optional one fails.
    fn by_driver(&mut self, way: Way, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.has_filter_failed = false;
        if self.drivers.is_empty() {
            return Ok(None);
        }
        let Some(name) = self.filter_name(path)? else { return Ok(None) };
        let converted = self.drivers.convert(name.as_bstr(), way, path, bytes);
        self.has_filter_failed = converted.is_err();
        converted
    }

    fn to_git_by_gix(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let what = || format!("cannot convert '{path}' for storing");
        let filtered = self.by_driver(Way::Clean, path, bytes).context(Kind::User, what)?;
        let (repo, index) = (self.repo, Rc::clone(&self.index));
        let (rules, objects) = self.rules_for(path)?;
        let platform = rules.attributes.at_entry(path, None, &objects)?.context(Kind::Internal, what)?;
        let outcome = rules
            .pipeline
            .convert_to_git(
                filtered.as_deref().unwrap_or(bytes),
                &gix::path::from_bstr(path).context(Kind::Internal, what)?,
                &mut |_, attributes| {
                    platform.matching_attributes(attributes);
                },
                &mut |buffer| {
                    let index = index.get_or_init(|| repo.user_index().ok().flatten());
                    let entry = index.as_ref().and_then(|index| index.entry_by_path(path));
                    let Some(entry) = entry else { return Ok(None) };
                    Ok(repo.inner.objects.try_find(&entry.id, buffer)?.map(drop))
                },
            )
            .context(Kind::User, what)?;
        let converted = if outcome.is_changed() { outcome.as_bytes().map(<[u8]>::to_vec) } else { None };
        Ok(converted.or(filtered).filter(|converted| converted != bytes))
    }

    /// Returns the stored `blob` as it belongs into the worktree at `path`; none if it stays as it is.
    ///
    /// # Errors
    /// If a required filter command fails, or the work is to end.
    pub(crate) fn to_worktree(&mut self, path: &BStr, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.is_for_git(path)? {
            // Git before 2.41 cannot read attributes from a tree: then gix converts the file as well as it can.
            if let Ok(converted) = self.to_worktree_by_git(path, blob) {
                return self.unless_interrupted(path, Ok(converted));
            }
        }
        let done = match self.to_worktree_by_gix(path, blob) {
            Err(error) if self.may_git_know_better(&error) => self.to_worktree_by_git(path, blob).map_err(|_| error),
            done => done,
        };
        self.unless_interrupted(path, done)
    }

    /// Returns true if git has to convert the file `path` of a commit, because gix writes other byte order marks and identifiers.
    /// A checkpoint does not need git: a save keeps the bytes themselves where gix does not give them back.
    fn is_for_git(&mut self, path: &BStr) -> Result<bool> {
        if !self.follows_settings || self.files.is_none() {
            return Ok(false);
        }
        let (rules, objects) = self.rules_for(path)?;
        let states = rules.states(path, ["working-tree-encoding", "ident"], &objects)?;
        Ok(states.iter().any(|state| !matches!(state, AttributeState::Unspecified | AttributeState::Unset)))
    }

    fn to_worktree_by_gix(&mut self, path: &BStr, blob: &[u8]) -> Result<Option<Vec<u8>>> {
        let what = || format!("cannot convert '{path}' for the worktree");
        let converted = {
            let (rules, objects) = self.rules_for(path)?;
            let platform = rules.attributes.at_entry(path, None, &objects)?.context(Kind::Internal, what)?;
            let mut attributes = |_: &BStr, found: &mut gix::attrs::search::Outcome| {
                platform.matching_attributes(found);
            };
            let outcome = rules.pipeline.convert_to_worktree(
                blob,
                path,
                &mut attributes,
                convert::to_worktree::Options::default(),
            );
            let outcome = outcome.context(Kind::User, what)?;
            if outcome.is_changed() { outcome.as_bytes().map(<[u8]>::to_vec) } else { None }
        };
        let smudged =
            self.by_driver(Way::Smudge, path, converted.as_deref().unwrap_or(blob)).context(Kind::User, what)?;
        let converted = smudged.or(converted);
        if converted.is_none() && blob.starts_with(LFS_POINTER) && self.is_content_addressed(path)? {
            return Err(Error::user(format!("Git LFS does not bring back '{path}'")));
        }
        Ok(converted)
    }

    /// Returns the bytes to keep beside the stored ones, if those would not come back as `bytes` by themselves.
    ///
    /// `stored` is what [`to_git`](Self::to_git) made of `bytes`.
    pub(crate) fn needs_raw(&mut self, path: &BStr, bytes: &[u8], stored: Option<&[u8]>) -> Result<bool> {
        // The blob holds the bytes, whatever the filter may do another time; to keep them costs no room.
        if stored.is_none() && self.filter_name(path)?.is_some() {
            return Ok(true);
        }
        if stored.is_some() && self.is_content_addressed(path)? {
            return Ok(false);
        }
        let back = self.to_worktree(path, stored.unwrap_or(bytes))?;
        Ok(back.as_deref().or(stored).is_some_and(|back| back != bytes) || self.may_get_a_filter(path)?)
    }

    /// Returns true if `path` has a filter without a command for the worktree: another time it may have one, and give
    /// other bytes back.
    pub(crate) fn may_get_a_filter(&mut self, path: &BStr) -> Result<bool> {
        let name = self.filter_name(path)?.filter(|name| name != LFS);
        Ok(name.is_some_and(|name| !self.drivers.can(name.as_bstr(), Way::Smudge)))
    }

    /// Returns true if an attribute of `path` may convert its bytes in a way that is not exactly reversed.
    pub(crate) fn applies_to(&mut self, path: &BStr) -> Result<bool> {
        let converts = |state: &AttributeState| match state {
            AttributeState::Unspecified | AttributeState::Unset => false,
            AttributeState::Set => true,
            AttributeState::Value(value) => value.as_ref().as_bstr() != LFS,
        };
        Ok(self.has_line_ending_setting || self.conversion(path)?.1.iter().any(converts))
    }

    /// Returns what decides how `path` is converted: equal values mean equal conversions.
    pub(crate) fn conversion(&mut self, path: &BStr) -> Result<(bool, Vec<AttributeState>)> {
        let has_setting = self.has_line_ending_setting;
        let (rules, objects) = self.rules_for(path)?;
        Ok((has_setting, rules.states(path, CONVERTING, &objects)?))
    }

    /// Returns the name of the filter that converts `path`, if one does.
    pub(crate) fn filter_name(&mut self, path: &BStr) -> Result<Option<BString>> {
        let (rules, objects) = self.rules_for(path)?;
        let states = rules.states(path, ["filter"], &objects)?;
        Ok(filter_of(&states))
    }

    /// Returns true for Git LFS: its pointer names the very bytes, so asking the filter to bring them back would
    /// only copy a large file.
    pub(crate) fn is_content_addressed(&mut self, path: &BStr) -> Result<bool> {
        Ok(self.filter_name(path)?.is_some_and(|name| name == LFS))
    }
}

const LFS: &str = "lfs";

/// How a pointer of Git LFS begins.
pub(super) const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Returns the name of the filter among the states of attributes of a path.
fn filter_of(states: &[AttributeState]) -> Option<BString> {
    states.iter().find_map(|state| state.as_ref().as_bstr().map(ToOwned::to_owned))
}

/// Where attribute files are read from.
struct Objects<'a> {
    files: Option<&'a AttributeFiles>,
    repo: &'a Repo,
}

impl Find for Objects<'_> {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::Result<Option<gix::objs::Data<'a>>> {
        match self.files {
            Some(files) => Ok(Some(files.find(self.repo, id, buffer))),
            None => self.repo.inner.objects.try_find(id, buffer),
        }
    }
}
