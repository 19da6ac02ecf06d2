//! The ids that refs of ours pointed to before a broken chain was set aside: the objects may come back.
//!
//! `unreadable/<id>` in the common directory has the id of an object that was missing then, and the ref, a line each. A ref
//! cannot keep such an id: git-gc(1) and git-log(1) stop at refs to missing objects.

use std::{fs, path::PathBuf};

use gix::ObjectId;

use super::survey::{Damage, Survey};
use crate::{
    error::{Context as _, Kind, Result},
    git::{Repo, refs::RefUpdate},
    model::{event::Event, refname},
    ops::{Context, chain::archive::archive_name},
    state::{self, lock::Lock},
};

/// What a ref pointed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) id: ObjectId,
    /// An object that it leads to, or itself: as long as that is missing, nothing has come back.
    missing: ObjectId,
    /// The ref.
    pub(crate) name: String,
}

impl Kept {
    /// Returns true if nothing at all could be read of it, and still cannot.
    pub(crate) fn is_gone(&self, repo: &Repo) -> bool {
        !repo.can_read(self.id)
    }

    /// Returns true if its own commit was missing and can be read now, with all that it leads to.
    pub(crate) fn is_back(&self, repo: &Repo) -> bool {
        self.missing == self.id && is_whole(repo, self).is_ok_and(|damage| damage.lost.is_empty())
    }

    /// Returns the file that keeps it.
    pub(crate) fn path(&self, repo: &Repo) -> PathBuf {
        directory(repo).join(self.id.to_string())
    }
}

fn directory(repo: &Repo) -> PathBuf {
    state::directory(repo.common_dir()).join("unreadable")
}

/// Keeps `id`, to which the ref `name` points, while `missing` is missing.
pub(super) fn keep(repo: &Repo, id: ObjectId, missing: ObjectId, name: &str) -> Result<()> {
    state::ensure_directory(repo.common_dir())?;
    let directory = directory(repo);
    fs::create_dir_all(&directory).context(Kind::Internal, || format!("cannot make '{}'", directory.display()))?;
    state::replace_file_durably(&directory.join(id.to_string()), format!("{missing}\n{name}\n").as_bytes())
}

/// Returns all that is kept.
pub(crate) fn all(repo: &Repo) -> Vec<Kept> {
    let files = fs::read_dir(directory(repo)).into_iter().flatten().flatten();
    let kept = |file: fs::DirEntry| {
        let id = ObjectId::from_hex(file.file_name().to_str()?.as_bytes()).ok()?;
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        let mut lines = text.lines();
        let missing = lines.next().and_then(|line| ObjectId::from_hex(line.as_bytes()).ok()).unwrap_or(id);
        Some(Kept { id, missing, name: lines.next().unwrap_or_default().to_owned() })
    };
    files.filter_map(kept).collect()
}

fn is_whole(repo: &Repo, kept: &Kept) -> Result<Damage> {
    if repo.is_whole(kept.missing)? {
        Survey::new(repo).damage_behind(kept.id)
    } else {
        Ok(Damage { lost: vec![kept.missing], ..Damage::default() })
    }
}

/// Lets the archive lead to what can be read again. Returns each, with its ref in the archive.
pub(crate) fn bring_back(context: &Context, _lock: &Lock) -> Result<Vec<(Kept, String)>> {
    let repo = &context.repo;
    let mut brought = Vec::new();
    for kept in all(repo) {
        match is_whole(repo, &kept).map(|damage| damage.lost.first().copied()) {
            // It may be whole, and cannot be looked at now.
            Err(_) => continue,
            Ok(Some(missing)) if missing == kept.missing => continue,
            Ok(Some(missing)) => {
                keep(repo, kept.id, missing, &kept.name)?;
                continue;
            }
            Ok(None) => {}
        }
        let name = hold(context, kept.id)?;
        drop(fs::remove_file(kept.path(repo)));
        context.emit(&Event::Recovered { r#ref: kept.name.clone(), archive: Some(name.clone()), file: None });
        brought.push((kept, name));
    }
    Ok(brought)
}

/// Returns the ref in the archive that points to `id`, and makes one if there is none.
pub(crate) fn hold(context: &Context, id: ObjectId) -> Result<String> {
    let repo = &context.repo;
    if let Some((name, _)) = repo.sound_refs(refname::ARCHIVE)?.into_iter().find(|(_, tip)| *tip == id) {
        return Ok(name);
    }
    let name = archive_name(repo, id)?;
    repo.update_refs(&[RefUpdate { name: name.clone(), old: None, new: Some(id) }])?;
    Ok(name)
}
