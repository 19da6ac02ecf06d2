//! Where decisions are kept: in the ref of reviews, for each file under the id that a blob with its path would have.

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{Context, Worktree, enter::Purpose, retried::retried};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target, id_of},
        notes::Notes,
    },
    model::{
        change::Change,
        note::REVIEWED,
        refname,
        review::{Decision, Verdict, added_to, read},
    },
    state::failpoint,
};

/// The most bytes of decisions about a file that are read.
const MOST_BYTES: u64 = 16 << 20;

/// Reads what was decided. Nothing was where it cannot be read.
pub(crate) struct Reader<'r> {
    repo: &'r Repo,
    notes: Option<Notes<'r>>,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Result<Self> {
        match repo.notes_of(refname::REVIEWS) {
            Err(error) if error.kind() == Kind::Corrupt => {
                tracing::warn!(%error, "what was reviewed cannot be read");
                Ok(Self { repo, notes: None })
            }
            notes => Ok(Self { repo, notes: Some(notes?) }),
        }
    }

    /// Returns the decisions about the file of `change`, also under the name that it had before.
    pub(crate) fn of(&self, change: &Change) -> Result<Vec<Decision>> {
        let mut found = Vec::new();
        for path in change.old_path.iter().chain([&change.path]) {
            found.extend(self.of_path(path.as_bstr())?);
        }
        Ok(found)
    }

    /// Returns the decisions about the file at `path`.
    pub(crate) fn of_path(&self, path: &BStr) -> Result<Vec<Decision>> {
        let Some(notes) = &self.notes else { return Ok(Vec::new()) };
        Ok(read(&text_of(self.repo, notes, path)?))
    }
}

/// Returns the decisions to reject work of `session`, the latest last; none if they cannot be read.
pub(crate) fn rejected(context: &Context, session: &str) -> Result<Vec<Decision>> {
    let Some(notes) = Reader::new(&context.repo)?.notes else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (_, blob) in notes.all() {
        if context.repo.object_size(blob)?.is_some_and(|size| size <= MOST_BYTES) {
            found.extend(read(&context.repo.read_blob(blob)?));
        }
    }
    let is_its = |it: &Decision| it.sessions.iter().any(|part| part.session == session);
    found.retain(|it| it.verdict == Verdict::Reject && is_its(it));
    found.sort_by_key(|it| it.seconds);
    Ok(found)
}

fn text_of(repo: &Repo, notes: &Notes<'_>, path: &BStr) -> Result<Vec<u8>> {
    let Some(blob) = notes.blob(&place(repo, path)?) else { return Ok(Vec::new()) };
    let is_sound = repo.object_size(blob)?.is_some_and(|size| size <= MOST_BYTES);
    if is_sound { repo.read_blob(blob) } else { Ok(Vec::new()) }
}

fn place(repo: &Repo, path: &BStr) -> Result<ObjectId> {
    id_of(ObjectKind::Blob, path, repo.object_hash())
}

/// Adds `decisions`, each about the file at a path, to those that are stored.
///
/// # Errors
/// If they cannot be stored: none of them is then.
pub(crate) fn add(context: &Context, decisions: &[(BString, Vec<Decision>)]) -> Result<()> {
    if decisions.is_empty() {
        return Ok(());
    }
    let repo = &context.repo;
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    retried(|| {
        let mut notes = repo.notes_of(refname::REVIEWS)?;
        let mut objects = NewObjects::new(repo, Target::Loose);
        let mut edits = Vec::new();
        for (path, new) in decisions {
            let text = added_to(&text_of(repo, &notes, path.as_bstr())?, new);
            edits.push((place(repo, path.as_bstr())?, Some(objects.add(ObjectKind::Blob, &text)?)));
        }
        notes.edit(&edits, (repo.identity(), repo.now()), REVIEWED, &mut objects)?;
        let written = objects.write_together()?;
        failpoint::hit("review:before-refs");
        repo.update_refs(&Vec::from_iter(notes.update()))?;
        failpoint::hit("review:after-refs");
        written.check_and_release()
    })
}
