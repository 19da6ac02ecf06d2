//! The directories that a container must have for a worktree, in the forms in which containers are given them.
//!
//! Each has the same path inside as outside: a worktree and its repository name each other by absolute paths.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::path_text;

/// A directory that a container must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Mount {
    /// Its path, absolute, without symbolic links.
    #[serde(flatten, serialize_with = "path_text::serialize_path_fields")]
    pub(crate) path: PathBuf,
    /// True if git only reads in it.
    pub(crate) read_only: bool,
}

impl Mount {
    /// Returns the directory `path`, in which git writes.
    pub(crate) fn writable(path: PathBuf) -> Self {
        Self { path, read_only: false }
    }

    /// Returns true if a container that has this one has `other`, too.
    fn has(&self, other: &Self) -> bool {
        other.path.starts_with(&self.path) && (other.read_only || !self.read_only)
    }
}

/// Returns what is left of `mounts` without those that are in another one: by path, each once.
pub(crate) fn needed(mut mounts: Vec<Mount>) -> Vec<Mount> {
    mounts.sort();
    let mut needed: Vec<Mount> = Vec::new();
    for mount in mounts {
        // By path, those that it may be in come before it.
        if !needed.iter().any(|earlier| earlier.has(&mount)) {
            needed.push(mount);
        }
    }
    needed
}

/// Returns `path` as text that means nothing else in these forms: without control characters, and without a variable of a
/// `devcontainer.json`. None if it is no such text.
fn text(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| !text.contains(char::is_control) && !text.contains("${"))
}

/// Returns `mount` as the value of `docker run --mount`, which is one record of comma-separated values. None if its path is no
/// plain text.
pub(crate) fn value(mount: &Mount) -> Option<String> {
    let path = text(&mount.path)?;
    let mut fields = vec!["type=bind".to_owned(), format!("source={path}"), format!("target={path}")];
    if mount.read_only {
        fields.push("readonly".to_owned());
    }
    let quoted = |field: String| {
        // RFC 4180.
        let is_plain = !field.contains([',', '"']);
        if is_plain { field } else { format!("\"{}\"", field.replace('"', "\"\"")) }
    };
    Some(fields.into_iter().map(quoted).collect::<Vec<_>>().join(","))
}

/// Returns the options of `docker run` for `mounts`, and for a program that starts in `folder`, as words. None if a path is no plain
/// text.
pub(crate) fn docker(mounts: &[Mount], folder: &Path) -> Option<Vec<[String; 2]>> {
    let folder = ["--workdir".to_owned(), text(folder)?.to_owned()];
    let options = mounts.iter().map(|mount| Some(["--mount".to_owned(), value(mount)?]));
    options.chain([Some(folder)]).collect()
}

/// Returns the properties of a `devcontainer.json` for `mounts`, where the tool opens `folder`, which one of them has. None if a
/// path is no plain text.
pub(crate) fn devcontainer(mounts: &[Mount], folder: &Path) -> Option<serde_json::Value> {
    let opened = mounts.iter().position(|mount| folder.starts_with(&mount.path))?;
    let values = mounts.iter().map(value).collect::<Option<Vec<_>>>()?;
    let others: Vec<_> = values.iter().enumerate().filter(|(at, _)| *at != opened).map(|(_, value)| value).collect();
    Some(serde_json::json!({
        "workspaceMount": values[opened],
        "workspaceFolder": text(folder)?,
        "mounts": others,
    }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn mounts(paths: &[&str]) -> Vec<Mount> {
        let read = |path: &&str| Mount { path: path.trim_end_matches('?').into(), read_only: path.ends_with('?') };
        paths.iter().map(read).collect()
    }

    #[rstest]
    #[case::beside(&["/b", "/a"], &["/a", "/b"])]
    #[case::inside(&["/a/.git", "/a"], &["/a"])]
    #[case::not_by_letters(&["/a", "/ab"], &["/a", "/ab"])]
    #[case::twice(&["/a", "/a", "/a?"], &["/a"])]
    #[case::written_in_one_that_is_read(&["/a?", "/a/b"], &["/a?", "/a/b"])]
    #[case::read_in_one_that_is_written(&["/a", "/a/b?"], &["/a"])]
    fn those_in_others_are_left_out(#[case] given: &[&str], #[case] expected: &[&str]) {
        assert_eq!(needed(mounts(given)), mounts(expected));
    }

    #[rstest]
    #[case::plain("/a b", "type=bind,source=/a b,target=/a b")]
    #[case::read_only("/a?", "type=bind,source=/a,target=/a,readonly")]
    #[case::comma("/a,b", "type=bind,\"source=/a,b\",\"target=/a,b\"")]
    #[case::quote("/a\"b", "type=bind,\"source=/a\"\"b\",\"target=/a\"\"b\"")]
    fn a_value_is_one_record(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(value(&mounts(&[path])[0]).as_deref(), Some(expected));
    }

    #[test]
    fn the_opened_folder_is_the_workspace() {
        let found = devcontainer(&mounts(&["/r/.git", "/w"]), Path::new("/w")).expect("UTF-8");
        assert_eq!(found["workspaceMount"], "type=bind,source=/w,target=/w");
        assert_eq!(found["workspaceFolder"], "/w");
        assert_eq!(found["mounts"], serde_json::json!(["type=bind,source=/r/.git,target=/r/.git"]));
    }

    #[rstest]
    #[case::not_utf8(b"/\xff")]
    #[case::line_feed(b"/a\n--privileged")]
    #[case::variable(b"/${localEnv:HOME}")]
    fn a_path_that_may_mean_something_else_has_no_text(#[case] path: &[u8]) {
        use std::os::unix::ffi::OsStrExt as _;
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
        let mounts = [Mount::writable(path.clone())];
        assert_eq!((docker(&mounts, &path), devcontainer(&mounts, &path)), (None, None));
    }
}
