//! `worktree validate`: decides whether a path from outside is the root of a worktree of this repository.

use std::{
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use serde::Serialize;

use super::super::Context;
use crate::{
    error::{Error, Result},
    git::registrations::{Place, Registration},
    model::path_text,
};

/// Why a path is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Code {
    /// It is empty, or contains a NUL byte.
    Malformed,
    /// It is relative.
    Relative,
    /// It contains `..`.
    Parent,
    /// Git has no worktree there.
    NotRegistered,
    /// It leads to a worktree, but through a symbolic link.
    Link,
    /// The repository is bare: it has no worktree there.
    Bare,
    /// Git has noted nowhere where the main worktree is.
    Unknown,
    /// The worktree's directory, or the file `.git` in it, is gone.
    Gone,
    /// It cannot be looked at.
    Unreadable,
    /// Another repository, or another worktree, is in its place.
    Taken,
    /// It is outside of the directories that the setting `worktree.roots` allows.
    OutsideRoots,
}

/// The answer. Serializes to what `worktree validate --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Validated {
    /// The version of this shape.
    pub(crate) version: u32,
    /// True if the path is accepted.
    pub(crate) valid: bool,
    /// The path that was asked for.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// `main`, or git's id of the linked worktree; none if the path is not accepted.
    pub(crate) id: Option<String>,
    /// Why it is not accepted; none if it is.
    pub(crate) code: Option<Code>,
}

impl Code {
    /// Returns the error for `path`: what is wrong, and the next step.
    pub(crate) fn error(self, path: &Path) -> Error {
        let (path, is_there) = (path.display(), path.is_dir());
        let refused = |why: String, hint: String| Error::refused(why).with_hint(hint);
        let list = "'git checkpoint worktree list' shows the worktrees of this repository".to_owned();
        match self {
            Self::Malformed => refused("the path of a worktree is empty or contains a NUL byte".into(), list),
            Self::Relative => refused(format!("'{path}' is not absolute"), list),
            Self::Parent => refused(format!("'{path}' contains '..'"), list),
            Self::NotRegistered => refused(format!("'{path}' is not the root of a worktree of this repository"), list),
            Self::Link => refused(
                format!("'{path}' leads to a worktree through a symbolic link"),
                "use its real path; if git has registered another one, 'git worktree repair <path>' corrects that"
                    .into(),
            ),
            Self::Bare => refused(format!("'{path}' is a bare repository and no worktree"), list),
            Self::Unknown => refused(
                format!("git has not noted where the main worktree of '{path}' is"),
                "run the command there, or set 'core.worktree' to its path".into(),
            ),
            Self::Gone if is_there => refused(
                format!("the '.git' of the worktree '{path}' is gone"),
                "if that directory still is the worktree, 'git worktree repair' makes it again".into(),
            ),
            Self::Gone => refused(
                format!("the worktree '{path}' is gone"),
                "'git worktree repair' finds one that was moved, 'git checkpoint worktree prune' forgets those that are gone"
                    .into(),
            ),
            Self::Unreadable => refused(
                format!("the worktree '{path}' cannot be looked at"),
                "its permissions, or those of a directory above it, may be why".into(),
            ),
            Self::Taken => refused(
                format!("'{path}' is no longer the worktree that git has registered there"),
                format!(
                    "'git worktree list' and the file '.git' there say what each takes it for; if it is the same one, and the \
                     repository was moved, 'git worktree repair {}' lets it name this one",
                    path_text::shell_word(&path.to_string())
                ),
            ),
            Self::OutsideRoots => refused(
                format!("'{path}' is outside of the directories of the setting 'worktree.roots'"),
                "'git checkpoint config get worktree.roots' shows them".into(),
            ),
        }
    }
}

/// Decides whether `path` is the root of one of `registered`, below one of `roots` (empty: anywhere). `real` is where it leads
/// when all symbolic links are followed; none if that does not exist.
pub(super) fn decide<'a>(
    path: &Path,
    real: Option<&Path>,
    registered: &'a [Registration],
    roots: &[PathBuf],
) -> Result<&'a Registration, Code> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(Code::Malformed);
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(Code::Parent);
    }
    if !path.is_absolute() {
        return Err(Code::Relative);
    }
    let at = |path: &Path| registered.iter().find(|it| it.path == path);
    // Paths are equal that differ in `/.` and `//` only.
    let is_verbatim = |it: &&Registration| it.path.as_os_str() == path.as_os_str();
    let Some(found) = at(path).filter(is_verbatim) else {
        let is_link = real != Some(path) && real.and_then(at).is_some();
        return Err(if is_link { Code::Link } else { Code::NotRegistered });
    };
    match root(found, real, roots) {
        Ok(root) if root != path => Err(Code::Link),
        decided => decided.map(|_| found),
    }
}

/// Returns the canonical root of `found`, if that is a worktree, and below one of `roots` (empty: anywhere). `real` is where its
/// path leads when all symbolic links are followed; none if that does not exist.
///
/// A link on the way there does no harm: the `.git` at the root and the git directory name each other.
pub(super) fn root<'a>(found: &Registration, real: Option<&'a Path>, roots: &[PathBuf]) -> Result<&'a Path, Code> {
    match (found.place, real) {
        (Place::Bare, _) => Err(Code::Bare),
        (Place::Unknown, _) => Err(Code::Unknown),
        (Place::Other, _) => Err(Code::Taken),
        (Place::Unreadable, _) => Err(Code::Unreadable),
        (Place::Nothing, _) | (Place::Worktree, None) => Err(Code::Gone),
        (Place::Worktree, Some(real)) if roots.is_empty() || roots.iter().any(|root| real.starts_with(root)) => {
            Ok(real)
        }
        (Place::Worktree, Some(_)) => Err(Code::OutsideRoots),
    }
}

/// Refuses a new place at `path`, whose parent is canonical, where no command would take a worktree.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it is outside of the directories of the setting `worktree.roots`.
pub(super) fn refuse_outside(context: &Context, path: &Path) -> Result<()> {
    let roots = roots(context);
    if roots.is_empty() || roots.iter().any(|root| path.starts_with(root)) {
        return Ok(());
    }
    Err(Code::OutsideRoots.error(path))
}

/// Returns the directories of the setting `worktree.roots`, canonical where they exist.
pub(super) fn roots(context: &Context) -> Vec<PathBuf> {
    let real = |root: &PathBuf| fs::canonicalize(root).unwrap_or_else(|_| root.clone());
    context.settings.worktree.roots.iter().map(real).collect()
}

/// Returns whether `path`, byte by byte, is the root of a worktree of this repository.
pub(crate) fn validate(context: &Context, path: &Path) -> Result<Validated> {
    let registered = context.repo.registrations()?;
    let real = fs::canonicalize(path).ok();
    let decided = decide(path, real.as_deref(), &registered, &roots(context));
    Ok(Validated {
        version: 1,
        valid: decided.is_ok(),
        path: path.as_os_str().as_bytes().into(),
        id: decided.ok().map(|found| path_text::escape(found.id.as_bstr())),
        code: decided.err(),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::git::Head;

    fn registered(path: &str, place: Place) -> Registration {
        Registration {
            id: path.trim_start_matches('/').into(),
            path: path.into(),
            git_dir: "/r/.git".into(),
            place,
            head: Head { id: None, branch: None },
            lock: None,
        }
    }

    #[rstest]
    #[case::its_root("/w", Some("/w"), &[], Ok("w"))]
    #[case::a_final_slash("/w/", Some("/w"), &[], Err(Code::NotRegistered))]
    #[case::a_final_dot("/w/.", Some("/w"), &[], Err(Code::NotRegistered))]
    #[case::two_slashes("//w", Some("/w"), &[], Err(Code::NotRegistered))]
    #[case::below_a_root("/w", Some("/w"), &["/"], Ok("w"))]
    #[case::a_root_itself("/w", Some("/w"), &["/w"], Ok("w"))]
    #[case::outside_roots("/w", Some("/w"), &["/v", "/w2"], Err(Code::OutsideRoots))]
    #[case::empty("", None, &[], Err(Code::Malformed))]
    #[case::nul("/w\0", None, &[], Err(Code::Malformed))]
    #[case::relative("w", Some("/w"), &[], Err(Code::Relative))]
    #[case::parent("/x/../w", Some("/w"), &[], Err(Code::Parent))]
    #[case::subdirectory("/w/sub", Some("/w/sub"), &[], Err(Code::NotRegistered))]
    #[case::line_break("/w\nworktree /v", None, &[], Err(Code::NotRegistered))]
    #[case::a_link_to_it("/link", Some("/w"), &[], Err(Code::Link))]
    #[case::a_link_in_its_place("/w", Some("/elsewhere"), &[], Err(Code::Link))]
    #[case::gone("/gone", None, &[], Err(Code::Gone))]
    #[case::taken("/taken", Some("/taken"), &[], Err(Code::Taken))]
    #[case::bare("/bare.git", Some("/bare.git"), &[], Err(Code::Bare))]
    #[case::unknown("/apart.git", Some("/apart.git"), &[], Err(Code::Unknown))]
    fn a_path_is_decided_on(
        #[case] path: &str,
        #[case] real: Option<&str>,
        #[case] roots: &[&str],
        #[case] expected: Result<&str, Code>,
    ) {
        let all = [
            registered("/apart.git", Place::Unknown),
            registered("/bare.git", Place::Bare),
            registered("/gone", Place::Nothing),
            registered("/taken", Place::Other),
            registered("/w", Place::Worktree),
        ];
        let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        let decided = decide(Path::new(path), real.map(Path::new), &all, &roots);
        assert_eq!(decided.map(|found| found.id.to_string()), expected.map(str::to_owned));
    }
    #[rstest]
    #[case::worktree(Place::Worktree, Some("/w"), &[], Ok("/w"))]
    #[case::behind_a_link(Place::Worktree, Some("/real/w"), &[], Ok("/real/w"))]
    #[case::below_a_root(Place::Worktree, Some("/real/w"), &["/real"], Ok("/real/w"))]
    #[case::leads_out_of_the_roots(Place::Worktree, Some("/real/w"), &["/w"], Err(Code::OutsideRoots))]
    #[case::removed_meanwhile(Place::Worktree, None, &[], Err(Code::Gone))]
    #[case::gone(Place::Nothing, None, &[], Err(Code::Gone))]
    #[case::no_dot_git(Place::Nothing, Some("/w"), &[], Err(Code::Gone))]
    #[case::unreadable(Place::Unreadable, None, &[], Err(Code::Unreadable))]
    #[case::taken(Place::Other, Some("/w"), &[], Err(Code::Taken))]
    #[case::bare(Place::Bare, Some("/w"), &[], Err(Code::Bare))]
    #[case::unknown(Place::Unknown, Some("/w"), &[], Err(Code::Unknown))]
    fn a_registered_worktree_has_a_root(
        #[case] place: Place,
        #[case] real: Option<&str>,
        #[case] roots: &[&str],
        #[case] expected: Result<&str, Code>,
    ) {
        let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        let found = root(&registered("/w", place), real.map(Path::new), &roots);
        assert_eq!(found, expected.map(Path::new));
    }
}
