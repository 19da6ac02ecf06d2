//! `review`: a person decides hunk by hunk what of an agent's work stays.

mod decide;
mod hunks;
mod outcome;
mod reject;
mod waiting;

use std::collections::BTreeSet;

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

pub(crate) use self::{
    decide::decide,
    hunks::{File, Hunk, Item, What},
    outcome::{Choice, Decided},
    waiting::{notes, take_out_queued, tell},
};
use super::{
    Context,
    attribution::{self, Who},
    lookup, reviews, session_info, sessions,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{
        review::State,
        selector::{Selector, TurnName},
    },
};

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Scope {
    /// The session whose uncommitted work it is.
    pub(crate) session: Option<String>,
    /// The turn of the session.
    pub(crate) turn: Option<u32>,
    /// The commit, or the range of commits, as it was asked for. Without it and without a session: all that is not committed.
    pub(crate) range: Option<String>,
}

impl Scope {
    /// Returns what `name` names: a session, a turn of one, a commit or a range of commits; without a name, all that is not committed.
    ///
    /// # Errors
    /// If it names none of them.
    pub(crate) fn find(context: &Context, name: Option<&str>) -> Result<Self> {
        let Some(text) = name else { return Ok(Self::default()) };
        // An id may have an `@`.
        let found = session_info::find(context, text)?;
        if let Some(session) = found {
            return Ok(Self { session: Some(session), ..Self::default() });
        }
        if let Some(Selector::Turn(TurnName { session, turn, is_before: false })) = Selector::parse(text)
            && let Some(session) = session_info::find(context, &session)?
        {
            return Ok(Self { session: Some(session), turn: Some(turn), range: None });
        }
        match attribution::named(context, text) {
            Ok(_) => Ok(Self { range: Some(text.to_owned()), ..Self::default() }),
            Err(error) if error.kind() == Kind::User => {
                Err(Error::user(format!("no session or commit matches '{text}'"))
                    .with_hint("'git checkpoint session list' lists the sessions"))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if lines of `who` belong to it.
    fn has(&self, who: &Who) -> bool {
        let is_of_turn = self.turn.is_none_or(|turn| who.turn.is_none_or(|of| of == turn));
        self.session.as_ref().is_none_or(|session| who.session.as_ref() == Some(session) && is_of_turn)
    }

    /// Returns the files that it has changed; none: all may be.
    fn touched(&self, context: &Context) -> Result<Option<BTreeSet<BString>>> {
        let Some(session) = &self.session else { return Ok(None) };
        let Some(turn) = self.turn else {
            return Ok(Some(sessions::show(context, Some(session))?.session.files.into_iter().collect()));
        };
        let tree = |end: &str| -> Result<ObjectId> {
            context.repo.tree_of_commit(lookup::resolve(context, &format!("{session}@{turn}{end}"))?)
        };
        let changes = context.repo.diff_trees(tree("^")?, tree("")?)?;
        Ok(Some(changes.into_iter().map(|change| change.path).collect()))
    }
}

/// What there is to decide, and what was decided.
pub(crate) struct Review {
    /// What was asked for.
    pub(crate) scope: Scope,
    /// The files with hunks, by path.
    pub(crate) files: Vec<File>,
    /// The commit that HEAD was at.
    head: Option<ObjectId>,
    /// The repository with the files of the worktree in its memory.
    repo: Repo,
}

/// How many hunks are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Nothing is decided.
    pub(crate) open: usize,
    /// They were rejected, and are there.
    pub(crate) rejected: usize,
    /// They are to be changed.
    pub(crate) commented: usize,
    /// They stay.
    pub(crate) accepted: usize,
}

impl Counts {
    /// Returns how many are in one of these `states`.
    pub(crate) fn of(states: impl IntoIterator<Item = State>) -> Self {
        let mut counts = Self::default();
        for state in states {
            *match state {
                State::Open => &mut counts.open,
                State::Rejected => &mut counts.rejected,
                State::Commented => &mut counts.commented,
                State::Accepted => &mut counts.accepted,
            } += 1;
        }
        counts
    }
}

impl Review {
    /// Returns all hunks, with the numbers of their files.
    pub(crate) fn hunks(&self) -> impl Iterator<Item = (usize, &Hunk)> {
        self.files.iter().enumerate().flat_map(|(at, file)| file.hunks.iter().map(move |hunk| (at, hunk)))
    }

    /// Returns how many hunks are in which state.
    pub(crate) fn counts(&self) -> Counts {
        Counts::of(self.hunks().map(|(at, hunk)| self.files[at].state(hunk)))
    }
}

/// Returns the hunks of what `scope` names in the files that `pathspecs` select, with what was decided about them. Merges are left out.
///
/// # Errors
/// If they cannot be read; [`Kind::Refused`] for uncommitted work while git merges.
pub(crate) fn look(context: &Context, scope: Scope, pathspecs: &[BString]) -> Result<Review> {
    let decided = reviews::Reader::new(&context.repo)?;
    let mut review = Review { scope, files: Vec::new(), head: None, repo: context.repo.with_object_memory() };
    if let Some(range) = &review.scope.range {
        let mut ids = attribution::named(context, range)?;
        ids.reverse();
        for (id, files) in attribution::changed_in(context, &ids, pathspecs)? {
            for file in files {
                let mut file = File::of(file, Some(id));
                file.decide(&decided.of(&file.change)?);
                review.files.push(file);
            }
        }
        return Ok(review);
    }
    if context.repo.is_merging() {
        return Err(Error::refused("a merge is not committed yet: what it brings is not work to be reviewed")
            .with_hint("commit the merge, or take it back by 'git merge --abort'"));
    }
    let touched = review.scope.touched(context)?;
    let changed = attribution::changed(context, pathspecs)?;
    for file in changed.files {
        context.check_interrupt()?;
        let may_be_its = touched.as_ref().is_none_or(|touched| touched.contains(&file.change.path));
        let mut file = File::of(file, None);
        file.decide(&decided.of(&file.change)?);
        let is_its = |item: &Item| match item.owners.as_slice() {
            [] => may_be_its,
            owners => owners.iter().any(|who| review.scope.has(who)),
        };
        file.limit(&is_its);
        if !file.hunks.is_empty() {
            review.files.push(file);
        }
    }
    (review.head, review.repo) = (changed.head, changed.repo);
    Ok(review)
}
