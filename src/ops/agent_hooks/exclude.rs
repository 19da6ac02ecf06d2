//! Keeps the files that we write into the worktree out of git's sight, and so out of checkpoints: lists them in
//! `info/exclude`. That file is in the common directory, so that it holds for all worktrees.
//!
//! The project's files are to be committed, and those that git tracks are in commits already: they are not listed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};

use super::{file, target::Target};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{ignore::Excludes, registrations::Place, worktrees::inside},
    model::{
        exclude_file::{self, Rest},
        path_text,
    },
    ops::Context,
    state::installed::Installed,
};

/// Whether a file is to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exclusion {
    /// It is for others too, lies elsewhere, or git ignores it.
    Needless,
    /// Git tracks it, and would go on to do so.
    Tracked,
    /// No line can name it.
    Unnamable,
    /// This line names it.
    Line(BString),
}

impl Exclusion {
    /// Returns true if the file is to be listed.
    pub(super) fn has_line(&self) -> bool {
        matches!(self, Self::Line(_))
    }

    /// Returns what to say of it.
    pub(super) fn note(&self) -> Option<&'static str> {
        match self {
            Self::Needless => None,
            Self::Tracked => Some("git tracks it, so that it may get committed"),
            Self::Unnamable => Some("git does not ignore it, so that it may get committed"),
            Self::Line(_) => Some("a line in 'info/exclude' keeps it out of commits and checkpoints"),
        }
    }
}

/// What is known of a file that we write.
#[derive(Clone, Copy, Debug)]
struct Facts {
    is_of_project: bool,
    is_tracked: bool,
    is_ignored: bool,
}

/// Decides whether the file `path` is to be listed; none is one outside of the worktree.
fn decide(path: Option<&BString>, facts: Facts) -> Exclusion {
    match path {
        Some(_) if !facts.is_of_project && facts.is_tracked => Exclusion::Tracked,
        Some(path) if !facts.is_of_project && !facts.is_ignored => {
            exclude_file::line_for(path.as_bstr()).map_or(Exclusion::Unnamable, Exclusion::Line)
        }
        _ => Exclusion::Needless,
    }
}

/// Finds out whether the file of `target`, which is at `path`, is to be listed.
pub(super) fn find(context: &Context, target: &Target, path: &Path) -> Result<Exclusion> {
    let inside = inside(&root_of(context, target), path);
    let mut facts = Facts { is_of_project: target.scope == "project", is_tracked: false, is_ignored: false };
    if let Some(inside) = inside.as_ref().filter(|_| !facts.is_of_project) {
        let index = context.repo.user_index()?;
        facts.is_tracked = index.is_some_and(|index| index.entry_by_path(inside.as_bstr()).is_some());
        facts.is_ignored = is_ignored(context, inside)?;
    }
    Ok(decide(inside.as_ref(), facts))
}

fn is_ignored(context: &Context, inside: &BString) -> Result<bool> {
    Excludes::for_worktree(&context.repo, &[])?.is_ignored(inside.as_bstr(), false)
}

/// Lists `folders`, relative to the root of this worktree; `all` says whether they are at the root of each worktree. Nothing of ours
/// is in them yet. The caller has the lock of the file.
///
/// # Errors
/// [`Kind::Refused`] if git tracks files in one of them, if a rule shows it all the same, or if it is new to the list and there
/// already: no checkpoint would have what is in it.
pub(super) fn add_folders(context: &Context, folders: &[BString], all: bool) -> Result<()> {
    let settings = "the settings 'round.scratch' and 'round.archive' say what these folders are called";
    let refuse_with = |folder: &BString, why: &str, hint: &str| {
        let shown = path_text::printable(folder.as_bstr());
        Err(Error::refused(format!("'{shown}' cannot be a folder of a round: {why}")).with_hint(hint))
    };
    let refuse = |folder: &BString, why: &str| refuse_with(folder, why, settings);
    let place = place(context)?;
    let old = file::read_bytes(&place)?;
    let mut lines = Vec::new();
    for folder in folders {
        let Some(line) = exclude_file::line_for_folder(folder.as_bstr()) else {
            return refuse(folder, "no line of 'info/exclude' can name it");
        };
        if is_tracked(context, folder)? {
            return refuse(folder, "git tracks files in it");
        }
        let is_new = exclude_file::with_folders(old.as_deref(), std::slice::from_ref(&line)).is_some();
        if is_new && !is_folder_ignored(context, folder)? && is_any_there(context, folder, all)? {
            let shown = path_text::printable(line.as_bstr());
            let hint = format!("a line '{shown}' in '.gitignore' accepts that; {settings}");
            return refuse_with(folder, "it is there already, and no checkpoint would have it", &hint);
        }
        lines.push(line);
    }
    if let Some(new) = exclude_file::with_folders(old.as_deref(), &lines) {
        file::write(&place, old.as_deref(), &new, false)?;
    }
    for folder in folders {
        if !is_folder_ignored(context, folder)? {
            return refuse(folder, "a rule in '.gitignore' shows it to git");
        }
    }
    Ok(())
}

/// Sees to it that git goes on to ignore `folder`, relative to the root of this worktree, in which only files of ours are. The caller
/// has the lock of the file.
///
/// # Errors
/// [`Kind::Refused`] if git tracks files in it, or a rule shows it all the same.
pub(super) fn keep_folder(context: &Context, folder: &BString) -> Result<()> {
    let full = context.repo.worktree_root().join(folder.to_path_lossy());
    let (shown, word) = (full.display(), path_text::shell_word(&full.display().to_string()));
    if is_tracked(context, folder)? {
        return Err(Error::refused(format!("git tracks files in '{shown}', the folder for experiments")).with_hint(
            format!("'git -C {word} rm -r --cached .' takes them out of git's index, and leaves the files there"),
        ));
    }
    if is_folder_ignored(context, folder)? {
        return Ok(());
    }
    let place = place(context)?;
    let old = file::read_bytes(&place)?;
    let lines: Vec<_> = exclude_file::line_for_folder(folder.as_bstr()).into_iter().collect();
    if let Some(new) = exclude_file::with_folders(old.as_deref(), &lines) {
        file::write(&place, old.as_deref(), &new, false)?;
    }
    if is_folder_ignored(context, folder)? {
        return Ok(());
    }
    Err(Error::refused(format!("a rule in '.gitignore' shows '{shown}', the folder for experiments, to git"))
        .with_hint("take that rule out, or move away what is in the folder: it would be committed"))
}

/// Returns true if git ignores the folder `path` of this worktree.
fn is_folder_ignored(context: &Context, path: &BString) -> Result<bool> {
    Excludes::for_worktree(&context.repo, &[])?.is_ignored(path.as_bstr(), true)
}

/// Returns true if git tracks files in the folder `path` of this worktree, or a file of this name.
fn is_tracked(context: &Context, path: &BString) -> Result<bool> {
    let below = [path.as_slice(), b"/"].concat();
    let Some(index) = context.repo.user_index()? else { return Ok(false) };
    let is_it = |entry: &gix::index::Entry| {
        let name = entry.path(&index);
        name == path.as_bstr() || name.starts_with(&below)
    };
    Ok(index.entries().iter().any(is_it))
}

/// Returns true if something is at `path` in this worktree, or, if `all`, in any one of this repository.
fn is_any_there(context: &Context, path: &BString, all: bool) -> Result<bool> {
    let is_there = |root: &Path| fs::symlink_metadata(root.join(path.to_path_lossy())).is_ok();
    if is_there(context.repo.worktree_root()) {
        return Ok(true);
    }
    let others = if all { context.repo.registrations()? } else { Vec::new() };
    Ok(others.iter().any(|it| it.place == Place::Worktree && is_there(&it.path)))
}

/// Lists the file `path` as `exclusion` says; returns what to say if that does not hide it.
pub(super) fn add(
    context: &Context,
    target: &Target,
    path: &Path,
    exclusion: &Exclusion,
) -> Result<Option<&'static str>> {
    let Exclusion::Line(line) = exclusion else { return Ok(None) };
    let place = place(context)?;
    let directory = place.parent().expect("it is in a directory");
    let old = file::read_bytes(&place)?;
    if let Some(new) = exclude_file::with(old.as_deref(), directory.exists(), line.as_bstr()) {
        file::write(&place, old.as_deref(), &new, false)?;
    }
    // A rule in a file `.gitignore` counts more.
    let is_hidden = match inside(&root_of(context, target), path) {
        Some(inside) => is_ignored(context, &inside)?,
        None => true,
    };
    Ok((!is_hidden).then_some("a rule in '.gitignore' shows it to git, so that it may get committed"))
}

/// Takes out the line for the file of `target`, which is at `path`, unless one of the same name in another worktree, of
/// those `installed`, needs it.
pub(super) fn remove(
    context: &Context,
    target: &Target,
    path: &Path,
    installed: &[Installed],
    dry_run: bool,
) -> Result<()> {
    let root = root_of(context, target);
    let inside = inside(&root, path).or_else(|| (target.scope == "local").then(|| target.name.as_str().into()));
    let line = inside.and_then(|inside| exclude_file::line_for(inside.as_bstr()));
    let Some(line) = line.filter(|_| !dry_run && target.scope != "project") else { return Ok(()) };
    let others: Vec<BString> =
        installed.iter().filter(|entry| !target.is_noted(entry)).filter_map(|it| line_of(context, it)).collect();
    let place = place(context)?;
    let Some(old) = file::read_bytes(&place)?.filter(|_| !others.contains(&line)) else { return Ok(()) };
    match exclude_file::without(&old, line.as_bstr(), |line| others.iter().any(|other| other == line)) {
        Rest::Same => {}
        Rest::Text(rest) => file::write(&place, Some(&old), &rest, false)?,
        Rest::Nothing { with_directory } => file::remove(&place, &old, usize::from(with_directory))?,
    }
    Ok(())
}

/// Returns the line for a file that was noted.
fn line_of(context: &Context, entry: &Installed) -> Option<BString> {
    if entry.scope == "project" {
        return None;
    }
    let depth = Path::new(&entry.name).components().count();
    let root = if entry.scope == "local" { entry.path.ancestors().nth(depth)? } else { context.repo.worktree_root() };
    let real = file::real(&entry.path, None).ok()?;
    let inside = inside(root, &real).or_else(|| (entry.scope == "local").then(|| entry.name.as_str().into()))?;
    exclude_file::line_for(inside.as_bstr())
}

/// Returns the root of the worktree that the file of `target` may be in.
fn root_of(context: &Context, target: &Target) -> PathBuf {
    if target.scope == "user" { context.repo.worktree_root().to_owned() } else { target.root.clone() }
}

/// Returns the file `info/exclude`, wherever links lead.
pub(super) fn place(context: &Context) -> Result<PathBuf> {
    let common = fs::canonicalize(context.repo.common_dir())
        .context(Kind::User, || format!("cannot find '{}'", context.repo.common_dir().display()))?;
    file::real(&common.join("info/exclude"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts { is_of_project: false, is_tracked: false, is_ignored: false };

    #[rstest::rstest]
    #[case::seen(Some("a/b"), FACTS, Exclusion::Line("/a/b".into()))]
    #[case::elsewhere(None, FACTS, Exclusion::Needless)]
    #[case::ignored(Some("a/b"), Facts { is_ignored: true, ..FACTS }, Exclusion::Needless)]
    #[case::tracked(Some("a/b"), Facts { is_tracked: true, ..FACTS }, Exclusion::Tracked)]
    #[case::tracked_although_ignored(Some("a/b"), Facts { is_tracked: true, is_ignored: true, ..FACTS }, Exclusion::Tracked)]
    #[case::of_the_project(Some("a/b"), Facts { is_of_project: true, ..FACTS }, Exclusion::Needless)]
    #[case::of_the_project_and_tracked(Some("a/b"), Facts { is_of_project: true, is_tracked: true, ..FACTS }, Exclusion::Needless)]
    #[case::unnamable(Some("a\nb"), FACTS, Exclusion::Unnamable)]
    fn files_that_git_would_see_are_listed(
        #[case] path: Option<&str>,
        #[case] facts: Facts,
        #[case] expected: Exclusion,
    ) {
        assert_eq!(decide(path.map(BString::from).as_ref(), facts), expected);
    }
}
