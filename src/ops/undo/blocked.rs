//! What is in the way of taking an operation back: the only question that is asked before one is taken back, or named in a hint.

use std::cell::OnceCell;

use crate::{
    error::Result,
    model::{obstacle::Obstacle, refname::ShadowName, way_back::Hindrance},
    ops::{
        Context,
        operations::{Log, Picked, back_over, causes, title_of},
        restore::{Look, causes_of_left, look_at_worktree, refuse_open_turns},
    },
    state::sessions,
};

/// What is in the way of one operation.
pub(super) struct Blocked {
    /// The latest last.
    pub(super) hindrances: Vec<Hindrance>,
    /// The same in words.
    pub(super) causes: String,
}

impl Blocked {
    /// Something is in the way that nothing takes away.
    pub(super) fn for_ever(causes: String) -> Self {
        Self::by(Hindrance::Final, causes)
    }

    fn by(hindrance: Hindrance, causes: String) -> Self {
        Self { hindrances: vec![hindrance], causes }
    }
}

/// How much of the files must become what they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// All of them if refs go back together with files. Of a restore, each path goes back that can.
    AsUndone,
    /// All of them.
    All,
}

/// The worktree and its log, in which one question is asked for several operations.
pub(super) struct Scene<'c> {
    pub(super) context: &'c Context,
    pub(super) log: &'c Log,
    /// The files are looked at once, and only if they matter.
    look: OnceCell<Look<'c>>,
}

impl<'c> Scene<'c> {
    pub(super) fn new(context: &'c Context, log: &'c Log) -> Self {
        Self { context, log, look: OnceCell::new() }
    }

    /// Returns what is in the way of taking `picked` back; with `all`, edits since are not.
    ///
    /// # Errors
    /// [`Kind::Refused`](crate::error::Kind::Refused) if refs are to move that an open turn counts from: its end helps.
    pub(super) fn blocked(&self, picked: &Picked, (files, all): (Files, bool)) -> Result<Option<Blocked>> {
        let Some(entry) = &picked.entry else { return Ok(None) };
        if let Some(file) = self.context.repo.session_file_of(entry)? {
            let is_same = sessions::bytes(self.context.repo.common_dir(), &file.id)? == file.after;
            let why = || format!("the session '{}' went on since", file.id);
            return Ok((!is_same).then(|| Blocked::for_ever(why())));
        }
        // Refs and files go back together, or nothing does.
        let is_whole = picked.journal.is_some() && picked.is_of_more;
        if picked.journal.is_none() || is_whole {
            let back = back_over(self.context, self.log, (entry, picked.latest), is_whole, &|_, _| true)?;
            if !back.obstacles.is_empty() {
                return Ok(Some(self.by_obstacles(&back.obstacles)));
            }
            let is_live = |name: &str| {
                ShadowName::from_ref(name).is_some_and(|shadow| shadow.worktree == self.context.repo.worktree_id())
            };
            if is_whole || back.moves.iter().any(|moved| is_live(&moved.name)) {
                // Otherwise what a person has changed since the last checkpoint would count as the session's.
                refuse_open_turns(
                    self.context,
                    &format!("cannot take back {}", title_of(&self.context.repo, self.log, entry)),
                )?;
            }
        }
        if picked.journal.is_none() || (files == Files::AsUndone && !is_whole) {
            return Ok(None);
        }
        let restored = self.look()?.preview(picked, all)?;
        Ok(causes_of_left(&restored).map(|(causes, is_edited)| {
            Blocked::by(if is_edited && !all { Hindrance::Edited } else { Hindrance::Final }, causes)
        }))
    }

    fn by_obstacles(&self, obstacles: &[Obstacle]) -> Blocked {
        let mut aged: Vec<(usize, Hindrance)> = obstacles.iter().map(|it| self.hindrance(it)).collect();
        aged.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
        let hindrances = aged.into_iter().map(|(_, hindrance)| hindrance).collect();
        Blocked { hindrances, causes: causes(&self.context.repo, self.log, obstacles) }
    }

    /// Returns what `obstacle` is, and how many operations are later than the one that it is about.
    fn hindrance(&self, obstacle: &Obstacle) -> (usize, Hindrance) {
        let by = match obstacle {
            Obstacle::Moved { by: Some(by), .. } => *by,
            Obstacle::Elsewhere { base } => return (usize::MAX, Hindrance::Elsewhere(*base)),
            Obstacle::Moved { .. } | Obstacle::Missing { .. } => return (usize::MAX, Hindrance::Final),
        };
        match self.log.entries.iter().enumerate().find(|(_, entry)| entry.id == by) {
            Some((age, entry)) if entry.operation.is_undoable() => (age, Hindrance::Later(by)),
            Some((age, _)) => (age, Hindrance::Saved),
            None => (usize::MAX, Hindrance::Final),
        }
    }

    fn look(&self) -> Result<&Look<'c>> {
        if let Some(look) = self.look.get() {
            return Ok(look);
        }
        let look = look_at_worktree(self.context)?;
        Ok(self.look.get_or_init(|| look))
    }
}
