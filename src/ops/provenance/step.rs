//! A step of the replay: what one checkpoint changed.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use bstr::BString;
use gix::ObjectId;

use super::super::share::share;
use crate::{
    error::Result,
    git::Repo,
    model::{
        attribution::{Author, FileOwnership, text::Attribution},
        change::{Change, Leaf, Mode},
        checkpoint::Origin,
        contributor::Contributor,
    },
};

/// What one checkpoint changed in some files.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) origin: Origin,
    /// Sorted by path.
    pub(crate) changes: Vec<Change>,
    /// The owners of lines that git brought from elsewhere.
    pub(crate) moved: Option<Rc<Attribution>>,
    /// When the checkpoint was taken, in Unix seconds, and the commit before it; none if no checkpoint has the changes.
    pub(crate) taken: Option<(i64, ObjectId)>,
    /// True if a person has restored what the step left: it says whose lines came back, but not who has changed the file.
    pub(crate) is_put_back: bool,
    /// The commit from which a restore has put the files here; none if it was a checkpoint, and for what no restore has done.
    pub(crate) from: Option<ObjectId>,
}

impl Step {
    /// Returns a step with `changes`, without lines from elsewhere.
    pub(crate) fn new(origin: Origin, changes: Vec<Change>) -> Self {
        Self { origin, changes, moved: None, taken: None, is_put_back: false, from: None }
    }

    /// Returns true if the step changes the file at `path`, or gives it another name.
    pub(crate) fn touches(&self, path: &BString) -> bool {
        self.names().any(|name| name == path)
    }

    /// Returns how the step changes the file at `path`.
    pub(super) fn at(&self, path: &BString) -> Option<&Change> {
        self.changes.binary_search_by(|it| it.path.cmp(path)).ok().map(|at| &self.changes[at])
    }

    /// Returns the paths of the files that the step changes, and the earlier names of those that it renames.
    pub(super) fn names(&self) -> impl Iterator<Item = &BString> {
        self.changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]).flatten()
    }

    /// Returns true if the file is the same after this step as after `change`.
    pub(super) fn leaves(&self, change: &Change) -> bool {
        match self.at(&change.path) {
            Some(own) => own.after == change.after,
            None => change.after.is_none() && self.touches(&change.path),
        }
    }

    /// Returns the owners of the lines that git brought into a changed file from elsewhere.
    pub(super) fn brought(&self, change: &Change) -> Option<&FileOwnership> {
        let id = change.after.map(|leaf| leaf.id);
        let files = &self.moved.as_ref()?.files;
        let file = files.iter().find(|file| file.ownership.path == change.path && file.blob == id)?;
        Some(&file.ownership)
    }

    /// Returns the step with which a restore takes files back to the content that `restored`, the steps of its source, begin
    /// with. The authors of these steps had not seen what `earlier`, the steps before the restore, left: the lines between the
    /// two are not theirs. Files that `earlier` deleted are not in the step.
    pub(super) fn back_to_begin(earlier: &[Self], restored: &[Self]) -> Option<Self> {
        let (mut seen, mut begin) = (HashSet::new(), Vec::new());
        for step in restored {
            for change in &step.changes {
                let known = change.old_path.as_ref().unwrap_or(&change.path);
                begin.extend(change.before.filter(|_| seen.insert(known)).map(|before| (known, before)));
            }
            seen.extend(step.names());
        }
        let mut left: HashMap<&BString, Option<Leaf>> = HashMap::new();
        for step in if begin.is_empty() { &[] } else { earlier } {
            left.extend(step.changes.iter().filter_map(|change| Some((change.old_path.as_ref()?, None))));
            left.extend(step.changes.iter().map(|change| (&change.path, change.after)));
        }
        let back = |(path, before): (&BString, Leaf)| {
            let left = left.get(path).copied().flatten()?;
            Change::between(path.clone(), Some(left), Some(before))
        };
        let mut back: Vec<Change> = begin.into_iter().filter_map(back).collect();
        back.sort_by(|one, other| one.path.cmp(&other.path));
        (!back.is_empty()).then(|| Self::new(Origin::default(), back))
    }
}

/// Returns the step of a session that left the file as the commit has it.
pub(crate) fn left_by<'s>(steps: &'s [Step], change: &Change) -> Option<&'s Step> {
    let last = steps.iter().rev().find(|step| step.leaves(change))?;
    // If git brought lines into the file, they have authors of their own, and the file as a whole has none.
    let is_own = last.origin.contributor == Contributor::Agent && last.brought(change).is_none();
    (is_own && last.origin.session.is_some()).then_some(last)
}

/// Returns the first of `steps` after which a file has the work `own`, which `head` does not have; if that work is its deletion, the
/// first that deletes the file or gives it another name.
pub(crate) fn first_with<'s>(
    repo: &Repo,
    steps: &'s [Step],
    own: &Change,
    head: Option<Leaf>,
) -> Result<Option<&'s Step>> {
    if own.after.is_none() {
        let is_gone = |step: &&Step| step.touches(&own.path) && step.at(&own.path).is_none_or(|it| it.after.is_none());
        return Ok(steps.iter().find(is_gone));
    }
    for step in steps {
        let left = step.at(&own.path).and_then(|change| change.after);
        if left.is_some() && share(repo, own, head, left)?.is_half() {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// Returns true if this repository has all content that `steps` left.
pub(crate) fn are_here(repo: &Repo, steps: &[Step]) -> bool {
    let mut left = steps.iter().flat_map(|step| step.changes.iter().filter_map(|change| change.after));
    left.all(|leaf| leaf.mode == Mode::Gitlink || repo.has_object(leaf.id))
}

/// Returns the author whose lines a step of `origin` adds.
pub(super) fn author_of(origin: &Origin) -> Author {
    let Origin { contributor, session, turn, agent, model, agent_id, .. } = origin.clone();
    match contributor {
        Contributor::Agent => Author { contributor, session, turn, agent, model, agent_id },
        other => Author::plain(other),
    }
}
