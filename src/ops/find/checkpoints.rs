//! Searches checkpoints, live and archived, of all worktrees: notes, messages, paths, changed lines.

use bstr::ByteSlice as _;

use super::{
    content,
    hit::{Hit, Kind},
    options::{Options, Search},
};
use crate::{
    error::{Error, Result},
    git::pathspec::Pathspec,
    model::{contributor::Contributor, hit::Field, path_text},
    ops::{
        Context,
        chain::changes,
        history::{self, Entry, ListOptions},
    },
};

/// Adds the checkpoints that match to `found`. Returns the errors of broken chains.
pub(super) fn search(
    context: &Context,
    options: &Options,
    search: &Search,
    found: &mut Vec<Hit>,
) -> Result<Vec<Error>> {
    let list = ListOptions {
        session: options.session.clone(),
        agent: options.agent.clone(),
        paths: options.paths.clone(),
        since: options.since,
        until: options.until,
        all: true,
        all_worktrees: true,
        with_paths: search.wants(Field::Path),
        ..ListOptions::default()
    };
    let mut pathspec = context.repo.pathspec(&options.paths)?;
    history::list(context, &list, &mut |entry| {
        context.check_interrupt()?;
        let contributor =
            if entry.restored.is_some() { Contributor::Human } else { entry.checkpoint.origin.contributor };
        if options.owner.is_none_or(|owner| owner == contributor) {
            found.extend(hit(context, &entry, search, &mut pathspec)?);
        }
        Ok(true)
    })
}

fn hit(context: &Context, entry: &Entry, search: &Search, pathspec: &mut Pathspec<'_>) -> Result<Option<Hit>> {
    let (checkpoint, query) = (&entry.checkpoint, &search.query);
    let of_agent = entry.restored.is_none().then_some(&checkpoint.origin);
    let hit = |field, excerpt, path: Option<&[u8]>| Hit {
        kind: Kind::Checkpoint,
        id: checkpoint.id.to_string(),
        field,
        session: of_agent.and_then(|origin| origin.session.clone()),
        turn: of_agent.and_then(|origin| origin.turn),
        agent: of_agent.and_then(|origin| origin.agent.clone()),
        archived: entry.archived,
        path: path.map(|path| path_text::escape(path.as_bstr())),
        ..Hit::new((checkpoint.seconds, checkpoint.offset), excerpt)
    };
    if let Some(note) = entry.note.as_ref().filter(|_| search.wants(Field::Note))
        && let Some(excerpt) = query.find(note.as_bytes())
    {
        return Ok(Some(hit(Field::Note, excerpt, None)));
    }
    if search.wants(Field::Subject) {
        let texts = [&entry.called, &checkpoint.subject, &checkpoint.body];
        if let Some(excerpt) = texts.iter().find_map(|text| query.find(text.as_bytes())) {
            return Ok(Some(hit(Field::Subject, excerpt, None)));
        }
    }
    if search.content.is_some() {
        let changes = changes(&context.repo, checkpoint)?;
        if let Some((path, excerpt)) = content::find(&context.repo, changes, search, pathspec)? {
            return Ok(Some(hit(Field::Content, excerpt, Some(&path))));
        }
    }
    let found = entry.paths.iter().flatten().find_map(|path| Some((path, query.find(path)?)));
    Ok(found.map(|(path, excerpt)| hit(Field::Path, excerpt, Some(path))))
}
