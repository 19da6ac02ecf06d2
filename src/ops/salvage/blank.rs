//! Sets aside the files of refs that have no id: a power cut may empty them. What the refs led to last goes into the archive.

use gix::ObjectId;

use super::{copies::Copier, head::refuse_without_head, known::Known};
use crate::{
    error::Result,
    git::Repo,
    model::{
        event::Event,
        refname::{self, Base, ShadowName},
        set_aside::SetAside,
    },
    ops::{
        Context, Worktree,
        chain::archive::count,
        holding::{hold, hold_if_last},
        known_base::known_base,
    },
    state,
};

/// A ref whose file was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blank {
    pub(crate) name: String,
    /// The ref that holds what it led to last; none if that is not known.
    pub(crate) held: Option<String>,
    /// Where the file is now.
    pub(crate) file: String,
}

/// Sets aside what the next checkpoint of this worktree would stop at.
pub(super) fn set_blank_aside(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    let mut bases = vec![Base::of_head(repo.head()?.id)];
    bases.extend(known_base(worktree).filter(|base| *base != bases[0]));
    let names = bases.into_iter().map(|base| ShadowName::of_worktree(base, repo.worktree_id()));
    let mut prefixes: Vec<String> = names.flat_map(|name| [name.to_ref(), name.sessions()]).collect();
    prefixes.extend([refname::verified_ref(repo.worktree_id()), refname::PENDING.to_owned()]);
    let log = [refname::operations_ref(repo.worktree_id()), refname::older_operations_ref(repo.worktree_id())];
    prefixes.extend(log);
    for name in prefixes.iter().flat_map(|prefix| repo.refs_without_id(prefix)) {
        set_aside(worktree, &name)?;
    }
    Ok(())
}

/// Sets aside all such files of this worktree, and those that belong to none.
pub(crate) fn set_all_blank_aside(worktree: &Worktree<'_>) -> Result<Vec<Blank>> {
    let repo = &worktree.repo;
    let is_of_another = |name: &str| {
        // The log of records would begin anew, and so would the notes.
        let is_log = refname::is_notes(name) || name == refname::HISTORY || name.starts_with(refname::TRANSCRIPTS);
        let is_mark = name.starts_with(refname::VERIFIED) && name != refname::verified_ref(repo.worktree_id());
        is_log || is_mark || ShadowName::from_ref(name).is_some_and(|shadow| shadow.worktree != repo.worktree_id())
    };
    let names = repo.refs_without_id(refname::PREFIX).into_iter().filter(|name| !is_of_another(name));
    let done = names.map(|name| set_aside(worktree, &name)).collect::<Result<Vec<_>>>()?;
    Ok(done.into_iter().flatten().collect())
}

fn set_aside(worktree: &Worktree<'_>, name: &str) -> Result<Option<Blank>> {
    let repo = &worktree.repo;
    refuse_without_head(repo)?;
    let shadow = ShadowName::from_ref(name);
    let held = if let Some(shadow) = &shadow {
        last_of(worktree, shadow)?.map(|id| Ok((id, hold(repo, id)?))).transpose()?
    } else if name == refname::verified_ref(repo.worktree_id()) {
        let last = Known::read(worktree).verified.filter(|id| repo.can_read(*id));
        let held = last.map(|id| Ok((id, hold_if_last(repo, id, name)?))).transpose()?;
        held.and_then(|(id, held)| Some((id, held?)))
    } else if name.starts_with(refname::ARCHIVE) {
        by_name(repo, name)?.map(|id| Ok((id, hold(repo, id)?))).transpose()?
    } else {
        None
    };
    let directory = state::ensure_directory(repo.common_dir())?.join("damaged");
    let Some(file) = repo.put_ref_away(name, &directory)? else { return Ok(None) };
    let (tip, held) = held.unzip();
    if let (Some(_), Some(tip)) = (shadow, tip) {
        let (archive, checkpoints) = (held.clone(), count(repo, tip));
        let shadow = name.to_owned();
        worktree.note_broken(SetAside { shadow, tip, archive, last: Some(tip), checkpoints, unreadable: Vec::new() });
    }
    let file = file.display().to_string();
    worktree.emit(&Event::Recovered { r#ref: name.to_owned(), archive: held.clone(), file: Some(file.clone()) });
    Ok(Some(Blank { name: name.to_owned(), held, file }))
}

/// Returns the newest checkpoint of `shadow` that is known, or what can be read of it.
fn last_of(context: &Context, shadow: &ShadowName) -> Result<Option<ObjectId>> {
    let Some(id) = Known::read(context).newest(shadow) else { return Ok(None) };
    let mut copier = Copier::new(context);
    let replacement = copier.replacement_of(id, Some(shadow))?;
    let (_, _, written) = copier.write()?;
    written.check_and_release()?;
    Ok(replacement.id)
}

/// Returns the commit whose id the archive ref `name` abbreviates.
fn by_name(repo: &Repo, name: &str) -> Result<Option<ObjectId>> {
    let rest = name.strip_prefix(refname::ARCHIVE).unwrap_or_default();
    let Some(short) = rest.split('-').nth(1) else { return Ok(None) };
    let found = repo.try_git(&["rev-parse", "--verify", "-q", &format!("{short}^{{commit}}")], None)?;
    Ok(found.status.success().then(|| ObjectId::from_hex(found.stdout.trim_ascii()).ok()).flatten())
}
