//! `hooks.toml` in the common directory: there once git's hooks were enabled, with what was written where.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Context as _, Kind, Result},
    model::path_text::StoredPath,
};

/// What was written to one file so that git's hooks call us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The hook's name.
    pub(crate) hook: String,
    pub(crate) path: PathBuf,
    /// The id of the script, if the whole file is ours.
    pub(crate) script: Option<String>,
    /// What was added to a file of others.
    pub(crate) added: Option<String>,
    /// True if the file was made for that.
    pub(crate) is_new: bool,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    /// Since when hooks are enabled, in Unix seconds; none in a file of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(default)]
    hook: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    added: Option<String>,
    #[serde(default)]
    new: bool,
    #[serde(flatten)]
    path: StoredPath,
}

fn path(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("hooks.toml")
}

/// Returns what was written; none if hooks are not enabled. A damaged file only shows that they are enabled.
pub(crate) fn read(common_dir: &Path) -> Result<Option<Vec<Written>>> {
    let path = path(common_dir);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context(Kind::Internal, || format!("cannot read '{}'", path.display())),
    };
    let Ok(file) = toml::from_slice::<File>(&text) else { return Ok(Some(Vec::new())) };
    let entries = file.hook.into_iter().filter_map(|entry| {
        use bstr::ByteVec as _;
        let path = Vec::from(entry.path.decode().ok()?).into_path_buf().ok()?;
        Some(Written { hook: entry.name, path, script: entry.script, added: entry.added, is_new: entry.new })
    });
    Ok(Some(entries.collect()))
}

/// Returns since when hooks are enabled at the latest, in Unix seconds; none if they are not.
pub(crate) fn enabled_since(common_dir: &Path) -> Option<i64> {
    let path = path(common_dir);
    let metadata = std::fs::metadata(&path).ok()?;
    let times = [metadata.created(), metadata.modified()].into_iter().flatten();
    let seconds = times.filter_map(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let seconds = seconds.filter_map(|elapsed| i64::try_from(elapsed.as_secs()).ok());
    let noted = std::fs::read(&path).ok().and_then(|text| toml::from_slice::<File>(&text).ok()?.since);
    seconds.chain(noted).min()
}

/// Notes what was written.
pub(crate) fn write(common_dir: &Path, written: &[Written]) -> Result<()> {
    use bstr::ByteVec as _;
    super::ensure_directory(common_dir)?;
    let entry = |written: &Written| Entry {
        name: written.hook.clone(),
        script: written.script.clone(),
        added: written.added.clone(),
        new: written.is_new,
        path: StoredPath::from(&Vec::from_path_lossy(&written.path).into_owned().into()),
    };
    // Enabling them again does not change since when they are enabled.
    let since = enabled_since(common_dir).unwrap_or_else(|| jiff::Timestamp::now().as_second());
    let file = File { version: 1, since: Some(since), hook: written.iter().map(entry).collect() };
    let text = toml::to_string(&file).context(Kind::Internal, || "cannot write down the hooks".into())?;
    super::replace_file_durably(&path(common_dir), text.as_bytes())
}

/// Replaces what `written` notes about one hook in one file by `entry`, and stores it.
pub(crate) fn remember(common_dir: &Path, written: &mut Vec<Written>, entry: Written) -> Result<()> {
    if written.contains(&entry) {
        return Ok(());
    }
    written.retain(|other| (&other.hook, &other.path) != (&entry.hook, &entry.path));
    written.push(entry);
    write(common_dir, written)
}

/// Notes that hooks are not enabled any more.
pub(crate) fn remove(common_dir: &Path) -> Result<()> {
    let path = path(common_dir);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || format!("cannot remove '{}'", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_that_are_written_again_are_enabled_since_the_first_time() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(enabled_since(dir.path()), None);
        write(dir.path(), &[]).expect("written");
        let text = std::fs::read_to_string(path(dir.path())).expect("readable");
        let early: Vec<&str> =
            text.lines().map(|line| if line.starts_with("since") { "since = 5" } else { line }).collect();
        std::fs::write(path(dir.path()), early.join("\n")).expect("written");
        assert_eq!(enabled_since(dir.path()), Some(5), "{text}");
        write(dir.path(), &[]).expect("written");
        assert_eq!(enabled_since(dir.path()), Some(5));
    }

    #[test]
    fn written_hooks_are_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read(dir.path()).expect("readable"), None);
        let one = Written {
            hook: "post-commit".into(),
            path: "/a\nb/'c\"".into(),
            script: Some("1".repeat(40)),
            added: None,
            is_new: false,
        };
        let two = Written { script: None, added: Some("x\n".into()), is_new: true, ..one.clone() };
        write(dir.path(), &[one.clone(), two.clone()]).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Some(vec![one, two]));
        std::fs::write(path(dir.path()), "?").expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Some(Vec::new()));
        remove(dir.path()).expect("removed");
        remove(dir.path()).expect("nothing to do");
    }
}
