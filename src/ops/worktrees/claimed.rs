//! The directory of a new worktree, which one process alone makes.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use bstr::ByteSlice as _;

use super::{
    super::Context,
    in_use::{self, is_there},
    validate, whereabouts,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        digest,
        registrations::{Place, Registration},
    },
    model::{path_text, worktree_name},
};

/// Returns the directory in which worktrees are made; `main` is the main one.
fn parent_of_new(context: &Context, main: &Registration) -> PathBuf {
    main.path.join(&context.settings.worktree.dir)
}

/// Returns the directory in which worktrees are made; it need not exist. None if git has not noted where the main worktree is.
pub(super) fn directory_of_new(context: &Context) -> Result<Option<PathBuf>> {
    let registered = context.repo.registrations()?;
    let main = registered.first().filter(|main| main.place != Place::Unknown);
    Ok(main.map(|main| parent_of_new(context, main)).map(|it| fs::canonicalize(&it).unwrap_or(it)))
}

/// Makes an empty directory for the branch `branch` where a worktree of it would be made: in `inside`, or where the settings say. It stays.
///
/// # Errors
/// As `worktree add`.
pub(crate) fn claim(context: &Context, branch: &str, inside: Option<&Path>) -> Result<PathBuf> {
    if let Some(inside) = inside {
        return Claimed::numbered(context, inside).map(Claimed::keep);
    }
    let registered = context.repo.registrations()?;
    let main = registered.first().ok_or_else(|| Error::internal("git has no main worktree"))?;
    Claimed::new(context, main, branch).map(Claimed::keep)
}

/// An empty directory that this process alone has made. It is removed when dropped, unless it is kept.
pub(super) struct Claimed(pub(super) PathBuf);

impl Claimed {
    /// Makes the directory of the worktree of `branch`: if something else has its name, one with a mark of the branch.
    pub(super) fn new(context: &Context, main: &Registration, branch: &str) -> Result<Self> {
        let parent = parent_of_new(context, main);
        let what = || format!("cannot make the directory '{}'", parent.display());
        fs::create_dir_all(&parent).context(Kind::User, what)?;
        let parent = fs::canonicalize(&parent).context(Kind::User, what)?;
        let name = worktree_name::of_branch(branch);
        let marked = worktree_name::with_mark(&name, &digest::sha256(&[branch.as_bytes()]));
        let mut last = parent.clone();
        for name in [name, marked] {
            let path = parent.join(directory_name(&context.settings.worktree.name_template, named_after(main), &name)?);
            validate::refuse_outside(context, &path)?;
            // Git has another worktree there, whose directory may be gone.
            if context.repo.registration_at(&path)?.is_some() {
                last = path;
                continue;
            }
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = path,
                Err(error) => {
                    return Err(error)
                        .context(Kind::User, || format!("cannot make the directory '{}'", path.display()));
                }
            }
        }
        let found = context.repo.registration_at(&last)?;
        if found.as_ref().is_some_and(|it| it.place == Place::Unreadable) {
            return Err(validate::Code::Unreadable.error(&last));
        }
        if !is_there(&last) {
            let lock = found.and_then(|it| it.lock);
            if let Some(reason) = lock.as_ref().filter(|reason| whereabouts::is_ours(reason)) {
                return Err(in_use::locked(&last, reason.as_bstr()));
            }
            let unlock = if lock.is_some() {
                format!("'git worktree unlock {}' unlocks it, then ", in_use::word(&last))
            } else {
                String::new()
            };
            return Err(Error::refused(format!("git has another worktree at '{}', which is gone", last.display()))
                .with_hint(format!("{unlock}'git checkpoint worktree prune' forgets those that are gone")));
        }
        Err(Error::refused(format!("'{}' exists already, and is no worktree of '{branch}'", last.display()))
            .with_hint("move it away, or set 'worktree.dir' or 'worktree.name-template'"))
    }

    /// Makes the directory `ctx_1` in `directory`, or `ctx_2` and so on if that is taken.
    pub(super) fn numbered(context: &Context, directory: &Path) -> Result<Self> {
        let what = || format!("cannot make a directory in '{}'", directory.display());
        let parent = fs::canonicalize(directory).context(Kind::User, what)?;
        for number in 1_usize.. {
            let path = parent.join(format!("ctx_{number}"));
            validate::refuse_outside(context, &path)?;
            // Git may have one there that is gone, and may be back.
            if context.repo.registration_at(&path)?.is_some() {
                continue;
            }
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context(Kind::User, what),
            }
        }
        Err(Error::internal(what()))
    }

    /// Returns the directory, which stays.
    pub(super) fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // This fails if the directory has files: another program has put them there.
            drop(fs::remove_dir(&self.0));
        }
    }
}

/// Returns the directory that the repository is called after.
fn named_after(main: &Registration) -> &Path {
    let is_hidden = main.path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    // A bare repository may be `.bare` in a directory that has the name, beside the worktrees.
    main.path.parent().filter(|_| is_hidden && main.place == Place::Bare).unwrap_or(&main.path)
}

/// Returns the name of a worktree's directory by `template`, if the repository is called after the directory `main`.
///
/// # Errors
/// [`Kind::Config`] if the template makes more of it than one name, or one that is hidden, or hard to type.
fn directory_name(template: &str, main: &Path, name: &str) -> Result<String> {
    let own = main.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let own = own.trim_start_matches('.');
    let own = own.strip_suffix(".git").filter(|own| !own.is_empty()).unwrap_or(own);
    // The name may contain braces; the template's are gone by then.
    let parts: Vec<String> = template.split("{name}").map(|part| part.replace("{repo}", own)).collect();
    let full = parts.join(name);
    let mut components = Path::new(&full).components();
    let is_one = matches!(components.next(), Some(Component::Normal(only)) if only == OsStr::new(&full));
    let is_plain = !full.contains(char::is_control) && !full.starts_with(['.', '-']);
    if is_one && is_plain && template.contains("{name}") {
        return Ok(full);
    }
    Err(Error::config(format!(
        "the setting 'worktree.name-template' is '{}', which makes no name of a directory",
        path_text::printable(template.as_bytes().as_bstr())
    ))
    .with_hint("for example '{repo}-wt-{name}'"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("{repo}-wt-{name}", "/home/me/my-repo", Some("my-repo-wt-feature-auth"))]
    #[case("{repo}-wt-{name}", "/srv/my-repo.git", Some("my-repo-wt-feature-auth"))]
    #[case("{name}.{repo}", "/{name}", Some("feature-auth.{name}"))]
    #[case("{repo}-wt-{name}", "/home/me/.dotfiles", Some("dotfiles-wt-feature-auth"))]
    #[case(".{name}", "/r", None)]
    #[case("-{name}", "/r", None)]
    #[case("{name}\n", "/r", None)]
    #[case("{name}\u{1b}[31m", "/r", None)]
    #[case("{repo}", "/r", None)]
    #[case("x/{name}", "/r", None)]
    #[case("../{name}", "/r", None)]
    #[case("{name}/..", "/r", None)]
    #[case("/{name}", "/r", None)]
    #[case("{name}/", "/r", None)]
    fn a_template_makes_one_name(#[case] template: &str, #[case] main: &str, #[case] expected: Option<&str>) {
        let made = directory_name(template, Path::new(main), "feature-auth");
        assert_eq!(made.ok().as_deref(), expected);
    }
}
