//! The rules in `.gitignore` and `.gitattributes` of the worktree, and in those files outside of it that git reads, too.
//!
//! Reading a pipe, or a device other than /dev/null, may never end; git waits for it. So we look at what is in the place of such a file
//! before anything reads it, and refuse it. In the worktree, git follows no link to a file with rules: a link has no rules.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    index::{State as Index, entry::Mode as IndexMode},
    objs::Find,
    worktree::{
        Stack,
        stack::{
            Platform,
            state::{attributes, ignore},
        },
    },
};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{
    Repo,
    environment::{self, Heeded},
    ordinary::{endless, refusal},
};
use crate::{
    error::{Context as _, Kind, Result},
    model::path_text::printable,
};

/// The rules of the worktree or of a tree.
pub(super) struct RuleStack {
    pub(super) stack: Stack,
    /// The files in the worktree that have rules; none if only those of a tree count.
    files: Option<RuleFiles>,
}

impl RuleStack {
    /// Returns the rules of `stack`, which reads no file of the worktree.
    pub(super) fn of_tree(stack: Stack) -> Self {
        Self { stack, files: None }
    }

    /// Looks at the files in the worktree that have rules for `path`, before anything reads them.
    ///
    /// # Errors
    /// If reading one of them might never end.
    pub(super) fn refuse_endless(&mut self, path: &BStr) -> Result<()> {
        self.files.as_mut().map_or(Ok(()), |files| files.refuse_endless(path))
    }

    /// Returns the rules for `path`; the inner error is that of reading them.
    ///
    /// # Errors
    /// If reading them might never end.
    pub(super) fn at_entry(
        &mut self,
        path: &BStr,
        mode: Option<IndexMode>,
        objects: &dyn Find,
    ) -> Result<io::Result<Platform<'_>>> {
        self.refuse_endless(path)?;
        Ok(self.stack.at_entry(path, mode, objects))
    }
}

impl Repo {
    /// Returns the attributes that the files in `index` have, or first those in the worktree, as `source` says, and those outside the
    /// worktree.
    pub(super) fn attribute_rules(&self, index: &Index, source: attributes::Source) -> Result<RuleStack> {
        let what = || "cannot read the git attributes".into();
        for path in self.attribute_files_outside()? {
            refuse_endless_outside(&path)?;
        }
        let stack = self.inner.attributes_only(index, source).context(Kind::User, what)?.detach();
        let is_tree = matches!(source, attributes::Source::IdMapping);
        Ok(RuleStack { stack, files: (!is_tree).then(|| RuleFiles::new(self, ".gitattributes")) })
    }

    /// The same for ignore rules, with `extra` on top.
    pub(super) fn exclude_rules(
        &self,
        index: &Index,
        extra: Option<gix::ignore::Search>,
        source: ignore::Source,
    ) -> Result<RuleStack> {
        let what = || "cannot read the ignore rules".into();
        let named = self.inner.config_snapshot().trusted_path("core.excludesFile").ok().flatten();
        let named = named.or_else(|| environment::user_file("ignore"));
        for path in named.into_iter().chain([self.common_dir().join("info/exclude")]) {
            refuse_endless_outside(&path)?;
        }
        let stack = self.inner.excludes(index, extra, source).context(Kind::User, what)?.detach();
        let is_tree = matches!(source, ignore::Source::IdMapping);
        Ok(RuleStack { stack, files: (!is_tree).then(|| RuleFiles::new(self, ".gitignore")) })
    }

    /// Looks at the attribute files in the worktree that count for `path`, before git reads them.
    ///
    /// # Errors
    /// If reading one of them might never end.
    pub(super) fn refuse_endless_attributes(&self, path: &BStr) -> Result<()> {
        RuleFiles::new(self, ".gitattributes").refuse_endless(path)
    }

    /// Returns true if a directory of `path` is a symbolic link: then nothing at `path` is in the worktree.
    pub(crate) fn is_behind_link(&self, path: &BStr) -> bool {
        let is_link = |at| {
            let inside = gix::path::from_bstr(path[..at].as_bstr()).ok()?;
            Some(self.worktree_root().join(inside).symlink_metadata().ok()?.is_symlink())
        };
        path.find_iter("/").any(|at| is_link(at) == Some(true))
    }

    /// Returns the paths of all attribute files outside the worktree.
    pub(super) fn attribute_files_outside(&self) -> Result<Vec<PathBuf>> {
        let mut paths =
            self.inner.attribute_global_paths().context(Kind::User, || "cannot find the global attributes".into())?;
        paths.push(self.common_dir().join("info/attributes"));
        Ok(paths)
    }
}

/// The files of one name in the directories of a worktree.
struct RuleFiles {
    root: PathBuf,
    /// True if it is not the worktree that the command runs in: what is refused needs its whole path then.
    is_elsewhere: bool,
    name: &'static str,
    /// The directories in which there is nothing to refuse, with their final `/`.
    fine: HashSet<BString>,
    /// The last one of them.
    last: Option<BString>,
}

impl RuleFiles {
    fn new(repo: &Repo, name: &'static str) -> Self {
        let (root, is_elsewhere) = (repo.worktree_root().to_owned(), repo.heeds != Heeded::All);
        Self { root, is_elsewhere, name, fine: HashSet::new(), last: None }
    }

    fn refuse_endless(&mut self, path: &BStr) -> Result<()> {
        let directory = &path[..path.rfind_byte(b'/').map_or(0, |at| at + 1)];
        if self.last.as_ref().is_some_and(|last| *last == directory) {
            return Ok(());
        }
        // From the root on: what is below one that is refused stays refused, too.
        for end in [0].into_iter().chain(directory.find_iter("/").map(|at| at + 1)) {
            let above = directory[..end].as_bstr();
            if self.fine.contains(above) {
                continue;
            }
            let file = BString::from([above, self.name.as_bytes()].concat());
            if let Ok(path) = file.to_path().map(|inside| self.root.join(inside))
                && let Some(what) = path.symlink_metadata().ok().and_then(|found| endless(&found))
            {
                let named = if self.is_elsewhere { path.display().to_string() } else { printable(file.as_bstr()) };
                return Err(refusal(&named, what).about(file));
            }
            self.fine.insert(above.to_owned());
        }
        self.last = Some(directory.into());
        Ok(())
    }
}

/// Looks at a file with rules outside the worktree. Git follows a link there.
///
/// # Errors
/// If reading it might never end.
pub(super) fn refuse_endless_outside(path: &Path) -> Result<()> {
    match path.metadata().ok().and_then(|found| endless(&found)) {
        Some(what) => Err(refusal(&path.display().to_string(), what)),
        None => Ok(()),
    }
}

/// Returns the content of the attribute file `path` in the worktree: empty for a link, which git does not follow; none if it cannot be
/// read, or is no file.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    // Without NONBLOCK, opening a FIFO would block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Some(Vec::new()),
        Err(_) => return None,
    };
    if endless(&file.metadata().ok()?).is_some() {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
