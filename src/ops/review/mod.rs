//! `review`: a person decides hunk by hunk what of an agent's work stays.

mod changed;
mod decide;
mod hunks;
mod outcome;
mod own;
mod queue;
mod reject;
mod waiting;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

pub(crate) use self::{
    changed::note_changed,
    decide::decide,
    hunks::{File, Hunk, Item, What},
    outcome::{Choice, Decided},
    queue::take_out_queued,
    waiting::{notes, take_left, tell},
};
use super::{
    Context,
    attribution::{self, Who},
    reviews, session_info,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{
        attribution::kind::Kind as Contribution,
        path_text,
        review::State,
        selector::{Selector, TurnName},
    },
};
use own::Own;

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

    /// Returns true if lines of `who` are its own: of an agent alone, and of this session and turn.
    fn has(&self, who: &Who) -> bool {
        let is_of_turn = self.turn.is_none_or(|turn| who.turn.is_none_or(|of| of == turn));
        who.owner == Contribution::Agent && who.session == self.session && is_of_turn
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
/// Of a session, only pieces are returned that are its own alone.
///
/// # Errors
/// If they cannot be read, or one of `pathspecs` names nothing; [`Kind::Refused`] for uncommitted work while git merges.
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
        refuse_unmatched(&context.repo, &review, pathspecs)?;
        return Ok(review);
    }
    if context.repo.is_merging() {
        return Err(Error::refused("a merge is not committed yet: what it brings is not work to be reviewed")
            .with_hint("commit the merge, or take it back by 'git merge --abort'"));
    }
    let changed = attribution::changed(context, pathspecs)?;
    let own = review.scope.session.as_ref().map(|session| Own::read(context, session, review.scope.turn, changed.head));
    let own = own.transpose()?;
    for file in changed.files {
        context.check_interrupt()?;
        let mut file = File::of(file, None);
        file.decide(&decided.of(&file.change)?);
        review.files.push(file);
    }
    (review.head, review.repo) = (changed.head, changed.repo);
    refuse_unmatched(&context.repo, &review, pathspecs)?;
    if let Some(own) = own {
        for file in &mut review.files {
            let is_its = |item: &Item| match item.owners.as_slice() {
                [] => own.has(file, item),
                owners => Ok(owners.iter().all(|who| review.scope.has(who))),
            };
            let are_its = file.items.iter().map(is_its).collect::<Result<Vec<bool>>>()?;
            file.limit(&are_its);
        }
        review.files.retain(|file| !file.hunks.is_empty());
    }
    Ok(review)
}

/// Makes sure that each of `pathspecs` names a file of `review`, which has not been limited to a session, or another file here.
fn refuse_unmatched(repo: &Repo, review: &Review, pathspecs: &[BString]) -> Result<()> {
    if pathspecs.is_empty() {
        return Ok(());
    }
    let mut search = repo.pathspec(pathspecs)?;
    for change in review.files.iter().map(|file| &file.change) {
        for path in change.old_path.iter().chain([&change.path]) {
            search.matches(path.as_bstr());
        }
    }
    if search.unmatched().next().is_some() {
        for path in repo.known_paths()? {
            search.matches(path.as_bstr());
        }
    }
    let Some(text) = search.unmatched().next() else { return Ok(()) };
    // Git turns a '.' in the root of the worktree into this.
    let text = if text == ":" { ".".into() } else { path_text::printable(text.as_bstr()) };
    Err(Error::user(format!("pathspec '{text}' did not match any file")))
}
