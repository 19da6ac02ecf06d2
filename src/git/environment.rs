//! What git reads from its environment and gix does not.

#![expect(clippy::disallowed_methods, reason = "this file is git's door to the environment")]

use std::path::Path;

use bstr::{BString, ByteSlice as _, ByteVec as _};

use crate::error::{Error, Result};

/// The rules of a time zone are some kilobytes; what is larger is none, such as a device.
const MAX_ZONE_BYTES: u64 = 1 << 20;

/// Which of git's variables count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heeded {
    /// None.
    Nothing,
    /// The user's name and the dates: the others are about the repository that this one is inside of.
    Identity,
    /// All.
    All,
}

/// Extensions of `core.repositoryFormatVersion = 1` that we support (or that make no difference to us).
const EXTENSIONS: [&str; 9] = [
    "noop",
    "noop-v1",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "compatobjectformat",
    "refstorage",
    "relativeworktrees",
];

/// Refuses a repository that git itself would refuse: gix opens repositories with unknown extensions.
pub(super) fn refuse_unknown_extensions(repo: &gix::Repository) -> Result<()> {
    let snapshot = repo.config_snapshot();
    if snapshot.integer("core.repositoryFormatVersion").unwrap_or(0) == 0 {
        return Ok(());
    }
    for section in snapshot.plumbing().sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.to_ascii_lowercase();
            if !EXTENSIONS.contains(&name.as_str()) {
                return Err(Error::user(format!("unknown repository extension found: '{name}'"))
                    .with_hint("a newer git-checkpoint may know it"));
            }
            let known: &[&str] = match name.as_str() {
                "objectformat" => &["sha1", "sha256"],
                "refstorage" => &["files", "reftable"],
                _ => continue,
            };
            if let Some(value) = section.values(&name).iter().find(|value| known.iter().all(|known| *value != known)) {
                return Err(Error::user(format!("invalid value for 'extensions.{name}': '{value}'"))
                    .with_hint("a newer git-checkpoint may know it"));
            }
        }
    }
    Ok(())
}

/// Refuses redirected object directories: gix ignores the redirection, so objects would go to the wrong place.
///
/// A variable that names `objects_dir` itself redirects nothing.
pub(super) fn refuse_redirected_objects(objects_dir: Option<&std::path::Path>) -> Result<()> {
    let real = |path: &std::path::Path| std::fs::canonicalize(path).ok();
    let own = || objects_dir.and_then(real);
    for name in ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_COMMON_DIR"] {
        let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else { continue };
        let is_own = name == "GIT_OBJECT_DIRECTORY" && own().is_some_and(|own| real(value.as_ref()) == Some(own));
        if !is_own {
            return Err(Error::user(format!("'{name}' is set, and checkpoints cannot honour it"))
                .with_hint(format!("run it without: 'env -u {name} git checkpoint ...'")));
        }
    }
    Ok(())
}

/// Returns the environment variable `name`, if it is set and not empty.
#[expect(clippy::disallowed_methods, reason = "this is git's environment")]
pub(super) fn variable(name: &str) -> Option<BString> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Vec::from_os_string(value).ok().map(BString::from)
}

/// Returns the time zone that `TZ` names, else the one of this machine.
///
/// One file suffices, unless `TZ` has rules. The library would search the whole zone database for its name, which costs more than
/// the rest of a small save.
pub(super) fn local_zone() -> jiff::tz::TimeZone {
    let name = variable("TZ");
    let name = name.as_ref().map(|name| name.strip_prefix(b":").unwrap_or(name).to_path_lossy());
    // An absolute name replaces the directory.
    let file = name.as_ref().map_or("/etc/localtime".into(), |name| Path::new("/usr/share/zoneinfo").join(name));
    let is_small = |file: &std::fs::Metadata| file.is_file() && file.len() <= MAX_ZONE_BYTES;
    let data = file.metadata().ok().filter(is_small).and_then(|_| std::fs::read(file).ok());
    let zone = data.and_then(|data| jiff::tz::TimeZone::tzif("local", &data).ok());
    let is_path = name.is_some_and(|name| name.is_absolute());
    // As git does for a path without a zone, and the library might read a device to its end.
    zone.unwrap_or_else(|| if is_path { jiff::tz::TimeZone::UTC } else { jiff::tz::TimeZone::system() })
}

/// Returns true if the environment variable `name` is set, also to nothing.
pub(super) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Returns true if the environment variable `name` is set, but empty.
pub(super) fn is_empty(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value.is_empty())
}

/// Returns the user's file `name` that git reads if no setting names another one.
pub(super) fn user_file(name: &str) -> Option<std::path::PathBuf> {
    let directory = std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(std::path::PathBuf::from);
    let directory = directory.or_else(|| Some(gix::path::env::home_dir()?.join(".config")))?;
    Some(directory.join("git").join(name))
}

/// Returns the user's home directory.
pub(crate) fn home() -> Option<std::path::PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Returns the settings of `git -c key=value`, as `key=value`.
pub(super) fn config_parameters() -> Result<Vec<BString>> {
    let Some(text) = std::env::var_os("GIT_CONFIG_PARAMETERS") else { return Ok(Vec::new()) };
    parse_parameters(&Vec::from_os_string(text).unwrap_or_default())
        .ok_or_else(|| Error::user("'GIT_CONFIG_PARAMETERS' is malformed"))
}

/// Parses `'key'='value'` (git 2.31 and later) and `'key=value'` (before), separated by blanks.
pub(super) fn parse_parameters(mut rest: &[u8]) -> Option<Vec<BString>> {
    let mut out = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(out);
        }
        let (mut parameter, after) = unquote(rest)?;
        rest = after;
        if let Some(after) = rest.strip_prefix(b"=") {
            rest = after;
            parameter.push(b'=');
            if !rest.is_empty() && !rest[0].is_ascii_whitespace() {
                let (value, after) = unquote(rest)?;
                parameter.extend_from_slice(&value);
                rest = after;
            }
        }
        out.push(parameter);
    }
}

/// Takes one shell-quoted word as git's `sq_quote` writes it: `'it'\''s'`.
fn unquote(text: &[u8]) -> Option<(BString, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut out = BString::default();
    loop {
        let end = rest.find_byte(b'\'')?;
        out.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        let escaped =
            rest.strip_prefix(b"\\").and_then(|rest| Some((*rest.first()?, rest.get(1..)?.strip_prefix(b"'")?)));
        let Some((byte, after)) = escaped else { return Some((out, rest)) };
        out.push(byte);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::old("'a.b=c d'", &["a.b=c d"])]
    #[case::new("'a.b'='c'", &["a.b=c"])]
    #[case::two("'a.b'='c' 'd.e'='f'", &["a.b=c", "d.e=f"])]
    #[case::quote(r"'a.b'='it'\''s'", &["a.b=it's"])]
    #[case::empty_value("'a.b'=", &["a.b="])]
    #[case::none("", &[])]
    fn parameters_of_git_c(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(parse_parameters(text.as_bytes()).expect("well formed"), expected);
    }

    #[rstest::rstest]
    #[case::open_quote("'a.b=c")]
    #[case::bare_word("a.b=c")]
    fn malformed_parameters(#[case] text: &str) {
        assert_eq!(parse_parameters(text.as_bytes()), None);
    }
}
