//! The refs that follow the logs of a remote: what was fetched from it, or sent to it. Nothing of them comes into our own log.

use gix::ObjectId;

use super::{
    join::{Differences, join_commits},
    shared::is_commit_damaged,
};
use crate::{
    error::{Context as _, Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        readable::Reader,
        refs::RefUpdate,
        written::Written,
    },
    model::{log_place::Place, refname},
    ops::records::{self, Log},
    state,
};

/// Returns the refs that follow logs of `remote`, also of one that git no longer knows, and what they point to.
pub(super) fn logs_of(repo: &Repo, remote: &str) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = repo.refs_below(refname::FETCHED)?;
    refs.retain(|(name, _)| refname::fetched_log(name).is_some_and(|(of, _)| of == remote));
    Ok(refs)
}

/// Returns true if it cannot be read which records the log has that ends with the commit `tip`, since its commit or a tree is missing
/// or damaged.
pub(crate) fn is_unreadable(repo: &Repo, tip: ObjectId) -> bool {
    let records = records::root_tree(repo, tip).and_then(|tree_id| Log::at(repo, tree_id).all());
    records.is_err_and(|error| error.kind() == Kind::Corrupt)
}

/// Returns true if something that the commit `tip` of a log has is missing or damaged. All of it is read.
///
/// # Errors
/// If something may be whole, and cannot be read now.
pub(crate) fn is_damaged(repo: &Repo, tip: ObjectId) -> Result<bool> {
    if is_unreadable(repo, tip) {
        return Ok(true);
    }
    let tree_id = records::root_tree(repo, tip)?;
    Ok(!Reader::new(repo).is_whole(tree_id, repo.empty_tree_id())?)
}

/// Sets those refs of `remote` aside that cannot be read, and returns their names: they can be fetched again, and git would stop at
/// them.
pub(super) fn set_damaged_aside(repo: &Repo, remote: &str) -> Result<Vec<String>> {
    let mut aside = Vec::new();
    let is_carrier = |name: &str| refname::fetched_carrier(name).is_some_and(|of| of == remote);
    for name in repo.refs_without_id(refname::FETCHED) {
        if is_carrier(&name) || refname::fetched_log(&name).is_some_and(|(of, _)| of == remote) {
            aside.extend(set_aside(repo, &name, None)?.then_some(name));
        }
    }
    let mut damaged = logs_of(repo, remote)?;
    damaged.retain(|(_, id)| is_unreadable(repo, *id));
    for below in
        [refname::SHARED, refname::SHARED_NOTES, refname::TAGS].map(|there| refname::tracking_ref(remote, there))
    {
        for (name, id) in repo.refs_below(&below)? {
            if is_carrier(&name) && is_commit_damaged(repo, id)? {
                damaged.push((name, id));
            }
        }
    }
    for (name, id) in damaged {
        set_aside(repo, &name, Some(id))?;
        aside.push(name);
    }
    Ok(aside)
}

/// Sets the ref `name` aside, which follows a log of a remote and leads to `id`; none if its file has no id. Returns false if it is gone
/// already.
pub(crate) fn set_aside(repo: &Repo, name: &str, id: Option<ObjectId>) -> Result<bool> {
    let directory = state::ensure_directory(repo.common_dir())?.join("damaged");
    let Some(id) = id else { return Ok(repo.put_ref_away(name, &directory)?.is_some()) };
    // The objects may come back.
    let file = directory.join(format!("{}.{id}.bad", name.replace('/', ",")));
    std::fs::create_dir_all(&directory).context(Kind::Internal, || "cannot keep what a ref was".into())?;
    state::replace_file_durably(&file, format!("{id}\n").as_bytes())?;
    repo.update_refs(&[RefUpdate { name: name.to_owned(), old: Some(id), new: None }])?;
    Ok(true)
}

/// A join of several commits of a log.
pub(super) struct Joining<'r> {
    repo: &'r Repo,
    place: Place,
    pub(super) tip: Option<ObjectId>,
    pub(super) differences: Differences,
    written: Vec<Written<'r>>,
}

impl<'r> Joining<'r> {
    /// Begins with the commit `tip`, if there is one.
    pub(super) fn new(repo: &'r Repo, place: Place, tip: Option<ObjectId>) -> Self {
        Self { repo, place, tip, differences: Differences::default(), written: Vec::new() }
    }

    /// Adds the commit `part`, if there is one.
    pub(super) fn add(&mut self, part: Option<ObjectId>) -> Result<()> {
        let (Some(tip), Some(part)) = (self.tip, part) else {
            self.tip = self.tip.or(part);
            return Ok(());
        };
        let mut objects = NewObjects::new(self.repo, Target::Loose);
        let (tip, differences) = join_commits(self.repo, self.place, tip, part, &mut objects)?;
        self.differences.add(differences);
        self.written.push(objects.write_together()?);
        self.tip = Some(tip);
        Ok(())
    }

    /// Adds the commit `part`, what a ref follows. Returns false if it cannot be read as a whole: then it counts as nothing.
    pub(super) fn add_tracked(&mut self, part: Option<ObjectId>) -> Result<bool> {
        match self.add(part) {
            Err(error) if error.kind() == Kind::Corrupt => Ok(false),
            added => added.map(|()| true),
        }
    }

    /// Ends the protection of the new objects, once a ref leads to them.
    pub(super) fn release(self) -> Result<()> {
        Written::check_and_release_all(self.written)
    }
}
