//! `installed.toml` in the common directory: which files of coding agents were changed here so that they call us.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Context as _, Kind, Result},
    model::path_text::StoredPath,
};

/// A file that was changed, or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    /// The agent's name.
    pub(crate) agent: String,
    /// Whose file it is: `user`, `project` or `local`.
    pub(crate) scope: String,
    /// How the agent calls the file: the end of its path.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// How many of the directories above it were made.
    pub(crate) made: usize,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    #[serde(default)]
    file: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    agent: String,
    scope: String,
    name: String,
    #[serde(default)]
    made: usize,
    #[serde(flatten)]
    path: StoredPath,
}

fn path(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("installed.toml")
}

/// Returns what was changed; what makes no sense is left out.
pub(crate) fn read(common_dir: &Path) -> Result<Vec<Installed>> {
    use bstr::ByteVec as _;
    let path = path(common_dir);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context(Kind::Internal, || format!("cannot read '{}'", path.display())),
    };
    let Ok(file) = toml::from_slice::<File>(&text) else { return Ok(Vec::new()) };
    let entries = file.file.into_iter().filter_map(|entry| {
        let path = Vec::from(entry.path.decode().ok()?).into_path_buf().ok()?;
        let is_sound = path.is_absolute() && path.ends_with(&entry.name) && !entry.name.is_empty();
        let Entry { agent, scope, name, made, .. } = entry;
        is_sound.then_some(Installed { agent, scope, name, path, made })
    });
    Ok(entries.collect())
}

/// Notes what was changed.
pub(crate) fn write(common_dir: &Path, installed: &[Installed]) -> Result<()> {
    use bstr::ByteVec as _;
    super::ensure_directory(common_dir)?;
    if installed.is_empty() {
        let path = path(common_dir);
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context(Kind::Internal, || format!("cannot remove '{}'", path.display()))
            }
            _ => Ok(()),
        };
    }
    let entry = |it: &Installed| Entry {
        agent: it.agent.clone(),
        scope: it.scope.clone(),
        name: it.name.clone(),
        made: it.made,
        path: StoredPath::from(&Vec::from_path_lossy(&it.path).into_owned().into()),
    };
    let file = File { version: 1, file: installed.iter().map(entry).collect() };
    let text = toml::to_string(&file).context(Kind::Internal, || "cannot write down the files of agents".into())?;
    super::replace_file_durably(&path(common_dir), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_installation_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read(dir.path()).expect("readable"), []);
        let one = Installed {
            agent: "codex".into(),
            scope: "user".into(),
            name: ".codex/hooks.json".into(),
            path: "/h\n'o\"me/.codex/hooks.json".into(),
            made: 1,
        };
        write(dir.path(), std::slice::from_ref(&one)).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), std::slice::from_ref(&one));
        for (path, name) in [("codex/hooks.json", "hooks.json"), ("/x", "y"), ("/x/y", "")] {
            write(dir.path(), &[Installed { path: path.into(), name: name.into(), ..one.clone() }]).expect("written");
            assert_eq!(read(dir.path()).expect("readable"), [], "{path}");
        }
        std::fs::write(path(dir.path()), "?").expect("written");
        assert_eq!(read(dir.path()).expect("readable"), []);
        write(dir.path(), &[]).expect("removed");
        write(dir.path(), &[]).expect("nothing to do");
        assert!(!path(dir.path()).exists());
    }
}
