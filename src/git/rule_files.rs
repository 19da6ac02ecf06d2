//! The rules in `.gitignore` and `.gitattributes` of the worktree, and in those files outside of it that git reads, too.
//!
//! Reading a pipe, or a device other than /dev/null, may never end; git waits for it. So we look at what is in the place of such a file
//! before anything reads it, and refuse it. In the worktree, git follows no link to a file with rules: a link has no rules.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
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
        Ok(RuleStack { stack, files: (!is_tree).then(|| RuleFiles::new(self.worktree_root(), ".gitattributes")) })
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
        for path in named.into_iter().chain([self.common_dir().join("info/exclude")]) {
            refuse_endless_outside(&path)?;
        }
        let stack = self.inner.excludes(index, extra, source).context(Kind::User, what)?.detach();
        let is_tree = matches!(source, ignore::Source::IdMapping);
        Ok(RuleStack { stack, files: (!is_tree).then(|| RuleFiles::new(self.worktree_root(), ".gitignore")) })
    }

    /// Looks at all files with ignore rules in the worktree, before git reads them.
    ///
    /// # Errors
    /// If reading one of them might never end.
    pub(crate) fn refuse_endless_ignore_rules(&self) -> Result<()> {
        let mut files = RuleFiles::new(self.worktree_root(), ".gitignore");
        let mut open = vec![self.worktree_root().to_owned()];
        while let Some(directory) = open.pop() {
            if let Ok(inside) = directory.join("x").strip_prefix(self.worktree_root()) {
                files.refuse_endless(inside.as_os_str().as_bytes().as_bstr())?;
            }
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                if entry.file_name() != ".git" && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(entry.path());
                }
            }
        }
        Ok(())
    }

    /// Looks at the attribute files in the worktree that count for `path`, before git reads them.
    ///
    /// # Errors
    /// If reading one of them might never end.
    pub(super) fn refuse_endless_attributes(&self, path: &BStr) -> Result<()> {
        RuleFiles::new(self.worktree_root(), ".gitattributes").refuse_endless(path)
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
    name: &'static str,
    /// The directories in which there is nothing to refuse, with their final `/`.
    fine: HashSet<BString>,
    /// The last one of them.
    last: Option<BString>,
}

impl RuleFiles {
    fn new(root: &Path, name: &'static str) -> Self {
        Self { root: root.to_owned(), name, fine: HashSet::new(), last: None }
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
            if let Ok(inside) = file.to_path()
                && let Some(what) = self.root.join(inside).symlink_metadata().ok().and_then(|found| endless(&found))
            {
                return Err(refusal(&printable(file.as_bstr()), what).about(file));
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
