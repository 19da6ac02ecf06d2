//! What `op restore` and all undos share: how they move refs; and when what is done as a whole or not at all is refused.

use bstr::ByteSlice as _;

use super::restored::Restored;
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
    },
    model::{
        note,
        operation::Move,
        operation_back::Back,
        path_text,
        refname::{self, Settled},
        verdict::{Left, Why},
    },
    ops::{Context, holding::archive_name, session_info, verified_mark},
    state::failpoint,
};

/// Refuses while a turn is under way that says that something works here: it counts from the checkpoints as they are.
pub(crate) fn refuse_open_turns(context: &Context, what: &str) -> Result<()> {
    let open = turns_at_work(context).into_iter().next();
    if context.are_turns_known() && open.is_none() {
        return Ok(());
    }
    let hint = match open {
        Some(open) => format!("'git checkpoint session stop {}' ends it", path_text::shell_word(&open)),
        None => "'git checkpoint session list' shows it".to_owned(),
    };
    Err(Error::refused(format!("{what}: a session has a turn under way")).with_hint(hint))
}

/// Returns the sessions with a turn under way that says that something works here.
pub(crate) fn turns_at_work(context: &Context) -> Vec<String> {
    let is_at_work = |id: &String| {
        session_info::peek(context, id).is_none_or(|it| session_info::is_at_work(context.repo.git_dir(), &it))
    };
    context
        .turns()
        .entries
        .into_iter()
        .filter(|entry| entry.turn.is_some() && is_at_work(&entry.id))
        .map(|entry| entry.id)
        .collect()
}

/// Refuses if the files cannot all become what they were.
pub(super) fn refuse_left(looked: &Restored, what: &str) -> Result<()> {
    causes_of_left(looked).map_or(Ok(()), |(causes, _)| Err(Error::refused(format!("{what}: {causes}"))))
}

/// Returns why not all files could become what they were, and whether that is only because of edits; none if all could.
pub(crate) fn causes_of_left(looked: &Restored) -> Option<(String, bool)> {
    const MOST_NAMED: usize = 5;
    let all = looked.with_submodules();
    let left: Vec<&Left> = all.kept.iter().chain(&all.conflicts).collect();
    let cause = |left: &&Left| format!("'{}' ({})", path_text::escape(left.path.as_bstr()), left.why);
    let below = looked.restored_submodules.iter();
    let refused =
        below.filter_map(|it| Some(format!("'{}' ({})", path_text::escape(it.path.as_bstr()), it.why.as_ref()?)));
    let mut causes: Vec<String> = refused.collect();
    let is_edited = causes.is_empty() && left.iter().all(|left| matches!(left.why, Why::Since | Why::StagedSince));
    causes.extend(left.iter().map(cause));
    if causes.len() > MOST_NAMED {
        let more = causes.split_off(MOST_NAMED).len();
        causes.push(format!("and {more} more"));
    }
    let causes = format!("these paths would stay as they are: {}", causes.join(", "));
    (!looked.is_complete()).then_some((causes, is_edited))
}

impl Back {
    /// Returns true if it changes something.
    pub(super) fn has_work(&self) -> bool {
        !self.moves.is_empty() || self.marker.is_some()
    }

    /// Returns its moves, and first those by which the archive holds what would be left.
    pub(crate) fn with_archive(&self, repo: &Repo) -> Result<Vec<Move>> {
        let name = |id| {
            let name = archive_name(repo, id)?;
            Ok(if self.is_settled { refname::settled_archive_ref(&name, Settled::Undone) } else { name })
        };
        let hold = |id| Ok(Move { name: name(id)?, old: None, new: Some(id) });
        let held = self.left.iter().map(|id| hold(*id)).collect::<Result<Vec<Move>>>()?;
        Ok(held.into_iter().chain(self.moves.iter().cloned()).collect())
    }

    /// Moves the refs, all in one transaction. Returns the moves.
    pub(crate) fn carry_out(&self, context: &Context) -> Result<Vec<Move>> {
        if let Some((now, then)) = self.marker
            && verified_mark::wants_verification(context)? == now
        {
            verified_mark::set_marker(context, then)?;
        }
        let repo = &context.repo;
        let moves = self.with_archive(repo)?;
        repo.note_moves(moves.iter().chain(&self.done).cloned().collect());
        let (of_notes, of_refs): (Vec<&Move>, Vec<&Move>) =
            moves.iter().partition(|moved| note::noted(&moved.name).is_some());
        let update = |moved: &Move| RefUpdate { name: moved.name.clone(), old: moved.old, new: moved.new };
        let mut updates: Vec<RefUpdate> = of_refs.into_iter().map(update).collect();
        let mut objects = NewObjects::new(repo, Target::Loose);
        for name in [refname::NOTES, refname::REVIEWS] {
            let of_ref = |moved: &&&Move| note::noted(&moved.name).is_some_and(|(of, _)| of == name);
            let moves: Vec<&Move> = of_notes.iter().filter(of_ref).copied().collect();
            if moves.is_empty() {
                continue;
            }
            let mut notes = repo.notes_of(name)?;
            let edits: Vec<_> = moves.iter().filter_map(|it| Some((note::noted(&it.name)?.1, it.new))).collect();
            if moves.iter().zip(&edits).any(|(moved, (id, _))| notes.blob(id) != moved.old) {
                return Err(Error::race("another command has changed the note meanwhile"));
            }
            notes.edit(&edits, (repo.identity(), repo.now()), note::RESTORED, &mut objects)?;
            updates.extend(notes.update());
        }
        let written = objects.write()?;
        failpoint::hit("undo:before-refs");
        repo.update_refs(&updates)?;
        failpoint::hit("undo:after-refs");
        written.check_and_release()?;
        Ok(moves)
    }
}
