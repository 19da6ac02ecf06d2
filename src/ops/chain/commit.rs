//! Writes the commit of a new checkpoint; the caller moves the refs.

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::Result,
    git::{
        Repo,
        commit::{Identity, Moment, NewCommit},
        new_objects::NewObjects,
    },
    model::{
        change::Change,
        checkpoint::{self, Origin},
        contributor::Contributor,
        path_text,
        refname::{Base, ShadowName},
    },
};

/// The content of a checkpoint's commit.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) name: &'a ShadowName,
    pub(crate) tree_id: ObjectId,
    /// The previous checkpoint of the chain, or the base commit.
    pub(crate) parent_id: ObjectId,
    /// The previous checkpoint in time, if that is in another chain.
    pub(crate) after: Option<ObjectId>,
    pub(crate) side_id: Option<ObjectId>,
    pub(crate) origin: &'a Origin,
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
    pub(crate) time: Moment,
}

impl Draft<'_> {
    /// Adds the commit to `objects` and returns its id.
    pub(crate) fn write(&self, repo: &Repo, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        let mut parents = vec![self.parent_id];
        parents.extend(self.side_id);
        parents.extend(self.origin.carried);
        parents.extend(self.after);
        let (base, worktree) = (self.name.base, self.name.worktree.as_bstr());
        let (after, micros) = (self.after, self.time.micros);
        let message = checkpoint::message(self.subject, self.body, self.origin, base, worktree, after, micros);
        let commit = NewCommit {
            tree_id: self.tree_id,
            parents,
            author: author(repo, self.origin),
            committer: repo.identity(),
            time: self.time,
            message: &message,
        };
        Repo::write_commit(&commit, objects)
    }
}

/// Returns the author of a checkpoint's commit.
pub(crate) fn author(repo: &Repo, origin: &Origin) -> Identity {
    match (origin.contributor, &origin.agent, &origin.session) {
        (Contributor::Agent, agent, session) => {
            Identity::of_agent(agent.as_deref().unwrap_or("agent"), session.as_deref())
        }
        _ => repo.identity(),
    }
}

/// Returns the first parent of a shadow's first checkpoint, which is added to `objects` where HEAD is unborn.
pub(crate) fn base_commit(base: Base, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    match base {
        Base::Commit(id) => Ok(id),
        Base::Unborn => Repo::write_unborn_base(objects),
    }
}

/// Returns the subject and the body: the user's, or a subject made of the changed paths.
pub(crate) fn subject_and_body<'m>(message: Option<&'m str>, changes: &[Change]) -> (String, &'m str) {
    if let Some((subject, body)) =
        message.map(|text| text.trim_start().split_once('\n').unwrap_or((text.trim_start(), "")))
        && !subject.trim().is_empty()
    {
        return (subject.trim().to_owned(), body);
    }
    let name = |change: &Change| path_text::printable(change.path.as_bstr());
    let subject = match changes {
        [] => "no change".to_owned(),
        [one] => name(one),
        [one, two] => format!("{} and {}", name(one), name(two)),
        [one, rest @ ..] => format!("{} and {} more paths", name(one), rest.len()),
    };
    (subject, "")
}
