//! Makes a record of a commit that repeats commits of others: git has amended, squashed, rebased or copied them, or files of them, here.
//!
//! Readers find most of these again by their trailers, or by their changes. Of the others, the records that were fetched are evidence
//! of who wrote the lines. Our own log cannot be linked to them, so it gets a record that says who these authors are, and nothing else
//! of them.

use std::{collections::BTreeMap, rc::Rc};

use gix::ObjectId;

use super::{commit::record_of, made::Made, record};
use crate::{
    error::Result,
    git::{Repo, counting::Counting},
    model::{
        checkpoint::Origin,
        head_move::MoveKind,
        record::{Parts, Record, RecordId},
        refname::Base,
    },
    ops::{
        Context,
        provenance::{doubt::lines_of_agents, earlier, replay::Work, step::Step},
        records::{self, Additions, Log, NewSession, evidence},
    },
    state::commit_note::CommitNote,
};

/// Makes the record of the commit `made`, if readers would not find the records of the commits of others that it repeats.
pub(crate) fn record_of_others(context: &Context, made: &Made, note: &CommitNote) -> Result<()> {
    let repo = &context.repo;
    // Most repositories have no records of others. A rebase reports its commits at its end.
    let is_of_rebase = matches!(made.kind, MoveKind::RebaseStep | MoveKind::RebaseResolved);
    if is_of_rebase || records::fetched(repo)?.is_empty() {
        return Ok(());
    }
    let mut ids: Vec<RecordId> = note.reused.iter().filter_map(|id| RecordId::parse(id)).collect();
    let sources = note.squashed.iter().chain(&note.copied).filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok());
    for source in sources.chain(made.amended()) {
        ids.extend(evidence::of_commit(repo, source)?);
    }
    let mut parts = earlier::brought_from_others(repo, made.base.commit_id(), &made.changes(repo)?)?;
    parts.retain(|id, _| !ids.contains(id));
    ids.extend(parts.keys());
    add_record(context, made.commit, &ids, &parts)
}

/// Returns true if a commit of what is staged on `base` would take files of commits of others.
pub(crate) fn takes_of_others(repo: &Repo, base: Base) -> Result<bool> {
    if records::fetched(repo)?.is_empty() {
        return Ok(false);
    }
    let head_tree_id = base.commit_id().map_or(Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let brought = earlier::brought_from_others(repo, base.commit_id(), &repo.staged_changes(head_tree_id)?)?;
    Ok(!brought.is_empty())
}

/// Makes such records of the commits that a rebase has made: `how` and `pairs` are as post-rewrite gets them. An amend has been noticed
/// before, and within a rebase, its commit may be one of several that become one.
pub(crate) fn records_of_rewritten(context: &Context, how: &str, pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
    let repo = &context.repo;
    if how == "amend" || records::fetched(repo)?.is_empty() {
        return Ok(());
    }
    let mut sources: BTreeMap<ObjectId, Vec<RecordId>> = BTreeMap::new();
    for (old, new) in pairs.iter().filter(|(old, new)| old != new) {
        context.check_interrupt()?;
        sources.entry(*new).or_default().extend(evidence::of_commit(repo, *old)?);
    }
    sources.into_iter().try_for_each(|(new, ids)| add_record(context, new, &ids, &Parts::new()))
}

fn add_record(context: &Context, commit: ObjectId, ids: &[RecordId], parts: &Parts) -> Result<()> {
    let repo = &context.repo;
    let Some(log) = Log::open(repo)? else { return Ok(()) };
    let mut is_lost = false;
    // What readers find by its change alone, they no longer find when the commit is changed again.
    let found = if ids.is_empty() { Vec::new() } else { log.of_commit(commit)? };
    for id in ids.iter().filter(|id| !found.contains(id)) {
        is_lost = is_lost || log.remote_of(id)?.is_some();
    }
    // A record of its own has the work of a session here: another one would say that this is a person's.
    if !is_lost || record_of(context, commit)?.is_some() {
        return Ok(());
    }
    let parent = repo.parents_of(commit)?.first().copied();
    // A shallow clone lacks the parent.
    if !parent.map_or(Ok(true), |parent| repo.is_commit(parent))? {
        return Ok(());
    }
    let made = Made { commit, kind: MoveKind::Copy, parent, base: Base::of_head(parent), when: None };
    let committed = repo.detect_renames(made.changes(repo)?)?;
    let Some(brought) = lines_of_agents(repo, &committed, ids, parts)? else { return Ok(()) };
    let authors = brought.authors.clone();
    let mut step = Step::new(Origin::default(), committed.clone());
    step.moved = Some(Rc::new(brought));
    let steps = [step];
    let work = Work::of(repo, &steps, &committed, &mut Counting::usual(repo))?;
    let own = RecordId::of_commit(commit);
    let id = if log.has(&own)? { RecordId::random() } else { own };
    let (mut new, _) =
        record::build(context, &made, id, &committed, (&work, &steps), repo.start_patch_ids(&[commit])?)?;
    // Only the authors: a session of the same name may be here, too.
    new.sessions = vec![NewSession::default(); new.record.sessions.len()];
    let Record { sessions, .. } = &mut new.record;
    for part in sessions {
        let author = authors.iter().find(|author| author.session.as_ref() == Some(&part.id));
        part.agent = author.and_then(|author| author.agent.clone());
        part.model = author.and_then(|author| author.model.clone());
        part.is_partial = false;
    }
    records::append(context, Additions { records: vec![new], links: Vec::new() })
}
