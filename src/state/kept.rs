//! The ids that refs of ours pointed to before a broken chain was set aside: the objects may come back.
//!
//! `unreadable/<id>` in the common directory has the id of an object that was missing then, and the ref, a line each. A ref
//! cannot keep such an id: git-gc(1) and git-log(1) stop at refs to missing objects.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::ObjectId;

use crate::error::{Context as _, Kind, Result};

/// What a ref pointed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) id: ObjectId,
    /// An object that it leads to, or itself: as long as that is missing, nothing has come back.
    pub(crate) missing: ObjectId,
    /// The ref.
    pub(crate) name: String,
    /// The file.
    pub(crate) path: PathBuf,
}

fn directory(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("unreadable")
}

/// Keeps `id`, to which the ref `name` points, while `missing` is missing.
pub(crate) fn keep(common_dir: &Path, id: ObjectId, missing: ObjectId, name: &str) -> Result<()> {
    super::ensure_directory(common_dir)?;
    let directory = directory(common_dir);
    fs::create_dir_all(&directory).context(Kind::Internal, || format!("cannot make '{}'", directory.display()))?;
    super::replace_file_durably(&directory.join(id.to_string()), format!("{missing}\n{name}\n").as_bytes())
}

/// Returns all that is kept.
pub(crate) fn all(common_dir: &Path) -> Vec<Kept> {
    let files = fs::read_dir(directory(common_dir)).into_iter().flatten().flatten();
    let kept = |file: fs::DirEntry| {
        let id = ObjectId::from_hex(file.file_name().to_str()?.as_bytes()).ok()?;
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        let mut lines = text.lines();
        let missing = lines.next().and_then(|line| ObjectId::from_hex(line.as_bytes()).ok()).unwrap_or(id);
        Some(Kept { id, missing, name: lines.next().unwrap_or_default().to_owned(), path: file.path() })
    };
    files.filter_map(kept).collect()
}
