//! Lists the checkpoints that were fetched from remotes, or imported from files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gix::ObjectId;
use serde::Serialize;

use crate::{
    error::{Kind, Result},
    git::{Repo, notes::Notes},
    model::{
        id_text, moment,
        refname::{self, FETCHED, NOTES},
        shared,
    },
    ops::Context,
};

/// A checkpoint of another clone. Serializes to the line of `list --fetched --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedEntry {
    version: u32,
    /// What names it here.
    pub(crate) name: String,
    /// The remote that it was fetched from, or what the import is called.
    pub(crate) remote: String,
    /// True if it was imported from a file.
    pub(crate) imported: bool,
    /// Its id in the clone that has taken it.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The commit that carries it here.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
    /// The commit that it stands on, or `unborn`.
    pub(crate) base: Option<String>,
    /// The agent whose work it is.
    pub(crate) agent: Option<String>,
    /// The agent's model.
    pub(crate) model: Option<String>,
    /// The first line of its message.
    pub(crate) subject: String,
    /// When it was taken, in ISO 8601.
    pub(crate) time: String,
    /// The same in seconds since 1970, with the offset from UTC.
    #[serde(skip)]
    pub(crate) moment: (i64, i32),
    /// Its tags there.
    pub(crate) tags: Vec<String>,
    /// Its note there.
    pub(crate) note: Option<String>,
    /// Who has written that; none if it was imported.
    pub(crate) note_author: Option<String>,
}

/// Returns them, the latest first. What cannot be read is left out: `doctor` names it.
pub(crate) fn entries(context: &Context) -> Result<Vec<FetchedEntry>> {
    let repo = &context.repo;
    let (mut carriers, mut tags, mut notes) = (Vec::new(), BTreeMap::<_, Vec<String>>::new(), HashMap::new());
    let mut alone = HashMap::new();
    for (name, commit) in repo.sound_refs(FETCHED)? {
        let Some((remote, there)) = refname::fetched_ref(&name) else { continue };
        if let Some(id) = refname::shared_id(&there) {
            carriers.push((remote, id, commit));
        } else if let Some(tag) = refname::tag_of_ref(&there) {
            tags.entry((remote, commit)).or_default().push(tag);
        } else if let Some(id) = refname::shared_note_id(&there) {
            alone.insert((remote, id), commit);
        } else if there == NOTES {
            match Notes::at(repo, Some(commit)) {
                Err(error) if error.kind() == Kind::Corrupt => {
                    tracing::warn!(name, %error, "fetched notes are damaged");
                }
                read => drop(notes.insert(remote, read?)),
            }
        }
    }
    let mut entries = Vec::new();
    for (remote, id, commit) in carriers {
        context.check_interrupt()?;
        let Some(mut entry) = entry(repo, &remote, id, commit)? else { continue };
        entry.tags = tags.get(&(remote.clone(), commit)).cloned().unwrap_or_default();
        entry.note = notes.get(&remote).and_then(|notes| notes.text(&id).ok().flatten());
        if let Some(commit) = alone.get(&(remote, id)) {
            (entry.note, entry.note_author) = note_in(repo, *commit, id)?;
        }
        entries.push(entry);
    }
    entries.sort_by(|one, other| (other.moment.0, &one.name).cmp(&(one.moment.0, &other.name)));
    Ok(entries)
}

/// Returns the note for `id` that the commit `commit` has, and the name of its author; nothing of one that cannot be read.
fn note_in(repo: &Repo, commit: ObjectId, id: ObjectId) -> Result<(Option<String>, Option<String>)> {
    let read = || -> Result<_> {
        let notes = Notes::at(repo, Some(commit))?;
        let author = notes.writers(&BTreeSet::from([id]))?.remove(&id).map(|it| it.who.name.to_string());
        Ok((notes.text(&id)?, author))
    };
    match read() {
        Err(error) if error.kind() == Kind::Corrupt => {
            tracing::warn!(%commit, %error, "a fetched note is damaged");
            Ok((None, None))
        }
        read => read,
    }
}

fn entry(repo: &Repo, remote: &str, id: ObjectId, commit: ObjectId) -> Result<Option<FetchedEntry>> {
    if !repo.can_read(commit) || !repo.is_commit(commit)? {
        return Ok(None);
    }
    let message = repo.message_of(commit)?;
    let moment = repo.with_commit(commit, |commit| {
        let time = commit.committer().ok().and_then(|who| who.time().ok()).unwrap_or_default();
        (time.seconds, time.offset)
    })?;
    let about = shared::about(&message);
    let called = refname::called(remote).to_owned();
    Ok(Some(FetchedEntry {
        version: 1,
        name: format!("{called}/{id}"),
        imported: refname::import_name(remote).is_some(),
        remote: called,
        id,
        commit,
        base: about.base,
        agent: about.agent,
        model: about.model,
        subject: about.subject,
        time: moment::iso(moment.0, moment.1),
        moment,
        tags: Vec::new(),
        note: None,
        note_author: None,
    }))
}
