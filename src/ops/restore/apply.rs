//! Takes the steps of a plan, one group after the other; each step only if its path is unchanged since the plan was made.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::objs::Kind as ObjectKind;
use rustix::fs::Stat;

use super::{
    look::{Found, Side, Site, is_dir},
    planned::Planned,
};
use crate::{
    error::{Error, Result},
    git::{
        checkout::{Outcome, Stop},
        checkout_write::Put,
        new_objects::id_of,
        temporary_file::Seen,
    },
    model::{
        change::Mode,
        plan::{self, Group, is_below},
        step::{Content, Step},
        verdict::{Left, Why},
    },
    state::failpoint,
};

/// The result of a plan.
#[derive(Debug, Default)]
pub(super) struct Applied {
    pub(super) written: Vec<BString>,
    pub(super) deleted: Vec<BString>,
    pub(super) kept: Vec<Left>,
    pub(super) conflicts: Vec<Left>,
    /// The steps that were taken.
    pub(super) steps: Vec<Step>,
    /// The empty directories that were created.
    pub(super) directories: Vec<BString>,
    /// The empty directories that were removed.
    pub(super) removed: Vec<BString>,
}

impl Applied {
    /// Returns true if nothing has changed.
    pub(super) fn is_idle(&self) -> bool {
        self.steps.is_empty() && self.directories.is_empty() && self.removed.is_empty()
    }

    pub(super) fn leave(&mut self, path: &BStr, why: Why) {
        let left = Left { path: path.to_owned(), why };
        // The plan keeps paths in nested repositories. If such a repository was created since the plan was made, its paths are
        // kept as well.
        if left.why == Why::InNested { self.kept.push(left) } else { self.conflicts.push(left) }
    }

    pub(super) fn take(&mut self, step: &Step) {
        let list = if step.after.is_some() { &mut self.written } else { &mut self.deleted };
        list.push(step.path.clone());
        self.steps.push(step.clone());
    }
}

/// The steps of a group that may be taken.
#[derive(Default)]
pub(super) struct Ready<'p> {
    pub(super) clears: Vec<(&'p Step, Seen)>,
    pub(super) writes: Vec<(&'p Step, Option<Seen>)>,
    /// Directories in the place of the first write, deepest first, to be removed once they are empty.
    pub(super) room: Vec<BString>,
    /// Steps that found nothing left to do.
    done: Vec<&'p Step>,
}

/// Carries out a plan.
pub(super) struct Applier<'a> {
    pub(super) site: Site<'a>,
    /// The number of each path's temporary file.
    numbers: HashMap<BString, usize>,
    pub(super) is_resumed: bool,
}

impl<'a> Applier<'a> {
    /// Returns an applier for plans with these `steps` in the worktree of `site`.
    pub(super) fn new(site: Site<'a>, steps: &[Step]) -> Self {
        let numbers = steps.iter().map(|step| step.path.clone()).zip(0..).collect();
        Self { site, numbers, is_resumed: false }
    }

    /// With `is_resumed`, counts steps that find nothing left to do as taken: this restore took them before it was interrupted.
    pub(super) fn resumed(mut self, is_resumed: bool) -> Self {
        self.is_resumed = is_resumed;
        self
    }

    /// Returns what [`run`](Self::run) would do, as far as that is known without doing it.
    pub(super) fn preview(&mut self, planned: &Planned) -> Result<Applied> {
        let mut applied = Applied::default();
        for group in &planned.plan.groups {
            if let Some(ready) = self.check(group, &mut applied)? {
                ready.clears.iter().for_each(|(step, _)| applied.take(step));
                ready.writes.iter().for_each(|(step, _)| applied.take(step));
            }
        }
        self.preview_directories(planned, &mut applied);
        Ok(applied)
    }

    /// Takes the steps of what is `planned`, removes the directories that are to go and those that its deletions have emptied, and
    /// then creates those that are to be there.
    ///
    /// # Errors
    /// If the operating system fails in a way that concerns all paths; what was done until then stays.
    pub(super) fn run(&mut self, planned: &Planned) -> Result<Applied> {
        let mut applied = Applied::default();
        self.site.count(planned.plan.groups.len());
        for group in &planned.plan.groups {
            self.site.next_group()?;
            if let Some(ready) = self.check(group, &mut applied)? {
                self.act(&ready, &mut applied)?;
            }
        }
        failpoint::hit("restore:after-steps");
        self.change_directories(planned, &mut applied)?;
        Ok(applied)
    }

    /// Looks at all paths of `group`, and returns its steps if all of them may be taken. If not, returns none, and notes in
    /// `applied` that the steps are left alone. In both cases, notes as taken the steps that a resumed restore took before.
    fn check<'p>(&mut self, group: &'p Group, applied: &mut Applied) -> Result<Option<Ready<'p>>> {
        match self.try_check(group) {
            Ok(ready) => {
                if self.is_resumed {
                    ready.done.iter().for_each(|step| applied.take(step));
                }
                Ok(Some(ready))
            }
            Err((_, Stop::Failed(error))) => Err(error),
            Err((path, Stop::Left(why))) => {
                for step in group.steps() {
                    let is_cause = step.path == path;
                    if self.is_resumed && !is_cause && self.is_done(step, group)? {
                        applied.take(step);
                    } else {
                        applied.leave(step.path.as_bstr(), if is_cause { why.clone() } else { Why::InTheWay });
                    }
                }
                Ok(None)
            }
        }
    }

    fn try_check<'p>(&mut self, group: &'p Group) -> std::result::Result<Ready<'p>, (BString, Stop)> {
        let mut ready = Ready::default();
        for step in &group.clears {
            match self.look_at_clear(step, group).map_err(|stop| (step.path.clone(), stop))? {
                Found::AsBefore(Some(seen)) => ready.clears.push((step, seen)),
                Found::AsBefore(None) | Found::AsAfter => ready.done.push(step),
            }
        }
        for step in &group.writes {
            let at = |stop| (step.path.clone(), stop);
            // A file that a step of `clears` has yet to delete hides the paths below it. If the file system ignores case, it also
            // hides the same name in another case. The deletion comes first, so the write expects nothing at its path.
            let hides = |clear: &Step| {
                is_below(step.path.as_bstr(), clear.path.as_bstr()) || plan::is_same_name(&step.path, &clear.path)
            };
            if ready.clears.iter().any(|(clear, _)| hides(clear)) {
                ready.writes.push((step, None));
                continue;
            }
            let is_directory =
                self.site.checkout.stat(step.path.as_bstr()).map_err(at)?.is_some_and(|stat| is_dir(&stat));
            if is_directory && step.before.is_none() {
                ready.room = self.site.room(step.path.as_bstr(), &group.clears).map_err(at)?;
                ready.writes.push((step, None));
                continue;
            }
            match self.site.look(step, false).map_err(at)? {
                Found::AsBefore(seen) => ready.writes.push((step, seen)),
                Found::AsAfter => ready.done.push(step),
            }
        }
        Ok(ready)
    }

    /// Looks at a deletion of `group`, whose writes may have been made already.
    fn look_at_clear(&mut self, clear: &Step, group: &Group) -> Outcome<Found> {
        let found = self.site.look(clear, !group.writes.is_empty());
        let is_made = match &found {
            Err(Stop::Left(Why::UnderWay)) => self.is_renamed(clear, group),
            // If the group writes this link, the interrupted restore has written it, after it had deleted all files below.
            Err(Stop::Left(Why::BelowLink)) if self.is_resumed => {
                let writes_link = |write: &&Step| write.after.is_some_and(|after| after.leaf.mode == Mode::Link);
                let mut links = group.writes.iter().filter(writes_link);
                links.any(|link| is_below(clear.path.as_bstr(), link.path.as_bstr()))
            }
            _ => false,
        };
        if is_made { Ok(Found::AsAfter) } else { found }
    }

    /// Returns true if the file of `step` is already as the restore wants it, though another step blocks its group.
    fn is_done(&mut self, step: &Step, group: &Group) -> Result<bool> {
        let is_clear = step.after.is_none();
        let found = if is_clear { self.look_at_clear(step, group) } else { self.site.look(step, false) };
        match found {
            Ok(found) => Ok(matches!(found, Found::AsAfter)),
            Err(Stop::Left(_)) => Ok(false),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Returns true if a write of `group` has already replaced `clear`: the file system ignores that their names differ in case.
    fn is_renamed(&mut self, clear: &Step, group: &Group) -> bool {
        let twin = group.writes.iter().find(|write| plan::is_same_name(&write.path, &clear.path));
        twin.is_some_and(|twin| matches!(self.site.look(twin, false), Ok(Found::AsAfter)))
    }

    /// Takes the steps of a group. If a step fails in a group that deletes files, takes the other steps back.
    fn act(&mut self, ready: &Ready<'_>, applied: &mut Applied) -> Result<()> {
        if let (false, Some((step, _))) = (ready.room.is_empty(), ready.writes.first()) {
            return self.replace_directory(ready, step, applied);
        }
        let mut taken = Vec::new();
        for (step, seen) in &ready.clears {
            match self.delete(step, seen) {
                Ok(()) => taken.push((*step, *seen)),
                Err(stop) => return self.give_up(ready, taken, (step, stop), applied),
            }
        }
        for (step, seen) in &ready.writes {
            match self.write(step, seen.as_ref()) {
                Ok(Some((stat, bytes))) if !ready.clears.is_empty() => {
                    taken.push((*step, Seen { stat, id: self.site.id_of(&bytes)? }));
                }
                Ok(_) => applied.take(step),
                Err(stop) => return self.give_up(ready, taken, (step, stop), applied),
            }
            failpoint::hit("restore:after-write");
        }
        for (step, _) in &taken {
            applied.take(step);
        }
        Ok(())
    }

    fn delete(&mut self, step: &Step, seen: &Seen) -> Outcome<()> {
        let number = self.number(step.path.as_bstr());
        self.site.checkout.delete(step.path.as_bstr(), seen, number)?;
        failpoint::hit("restore:after-delete");
        Ok(())
    }

    /// Puts the file of `step` in the place of a directory.
    fn replace_directory(&mut self, ready: &Ready<'_>, step: &Step, applied: &mut Applied) -> Result<()> {
        let path = step.path.as_bstr();
        let number = self.number(path);
        let bytes = match self.prepare(step, None) {
            Ok(bytes) => bytes,
            Err(stop) => {
                ready.clears.iter().for_each(|(clear, _)| applied.leave(clear.path.as_bstr(), Why::InTheWay));
                note(Err(stop), step, applied)?;
                return Ok(());
            }
        };
        let mut taken = Vec::new();
        for (clear, seen) in &ready.clears {
            if let Err(stop) = self.delete(clear, seen) {
                self.discard(step, &bytes, applied)?;
                return self.give_up(ready, taken, (clear, stop), applied);
            }
            taken.push((*clear, *seen));
        }
        for directory in &ready.room {
            let removed = self.site.checkout.remove_directory(directory.as_bstr());
            if !matches!(removed, Ok(true)) {
                self.discard(step, &bytes, applied)?;
                let stop = removed.err().unwrap_or(Stop::Left(Why::InTheWay));
                return self.give_up(ready, taken, (step, stop), applied);
            }
        }
        failpoint::hit("restore:after-room");
        let put = self.put(step.after, &bytes);
        if let Err(stop) = self.site.checkout.commit(path, None, &put, number) {
            return self.give_up(ready, taken, (step, stop), applied);
        }
        for (clear, _) in &taken {
            applied.take(clear);
        }
        applied.take(step);
        failpoint::hit("restore:after-write");
        Ok(())
    }

    /// Discards the temporary file of `step`, which holds `bytes`.
    fn discard(&mut self, step: &Step, bytes: &[u8], applied: &mut Applied) -> Result<()> {
        let (path, number) = (step.path.as_bstr(), self.number(step.path.as_bstr()));
        let discarded = self.site.checkout.settle(path, number, Ok(()), &|held| held.is_exactly(bytes));
        match discarded {
            Ok(()) => Ok(()),
            Err(Stop::Left(why)) => {
                applied.leave(path, why);
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    pub(super) fn number(&self, path: &BStr) -> usize {
        self.numbers.get(&path.to_owned()).copied().expect("all steps of the plan are numbered")
    }

    /// Takes `step`; returns the file that was written and its bytes, none if only a mode was set. A file with several names is not
    /// changed in place: the others keep its mode.
    fn write(&mut self, step: &Step, existing: Option<&Seen>) -> Outcome<Option<(Stat, Vec<u8>)>> {
        let path = step.path.as_bstr();
        let sole = existing.filter(|seen| seen.stat.st_nlink <= 1);
        if let (true, Some(existing), Some(after)) = (step.is_mode_only(), sole, step.after)
            && self.has_its_bytes(path, existing, after)?
        {
            let is_executable = after.leaf.mode == Mode::Executable;
            self.site.checkout.set_executable(path, is_executable, &existing.stat)?;
            return Ok(None);
        }
        let bytes = self.prepare(step, existing.map(|seen| &seen.stat))?;
        let put = self.put(step.after, &bytes);
        let stat = self.site.checkout.commit(path, existing, &put, self.number(path))?;
        Ok(Some((stat, bytes)))
    }

    /// Returns true if `existing` has the bytes that `after` has in the worktree, or if these cannot be made: git may store the same
    /// blob for other bytes if attributes or settings have changed.
    fn has_its_bytes(&mut self, path: &BStr, existing: &Seen, after: Content) -> Result<bool> {
        match self.site.bytes(path, after, Side::After) {
            Ok(bytes) => Ok(id_of(ObjectKind::Blob, &bytes, existing.id.kind())? == existing.id),
            Err(Stop::Left(_)) => Ok(true),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Writes the temporary file of `step`; returns its bytes.
    fn prepare(&mut self, step: &Step, existing: Option<&Stat>) -> Outcome<Vec<u8>> {
        let path = step.path.as_bstr();
        let content = step.after.ok_or_else(|| Error::internal(format!("a deletion of '{path}' is no write")))?;
        let bytes = self.site.bytes(path, content, Side::After)?;
        let put = self.put(step.after, &bytes);
        self.site.checkout.prepare(path, &put, existing, self.number(path))?;
        failpoint::hit("restore:after-temporary");
        Ok(bytes)
    }

    /// Returns `bytes`, the form of `content` in the worktree, as the kind of file to write: a symbolic link or a regular file.
    pub(super) fn put<'b>(&self, content: Option<Content>, bytes: &'b [u8]) -> Put<'b> {
        match content.map(|content| content.leaf.mode) {
            Some(Mode::Link) if self.site.has_links => Put::Link(bytes),
            mode => Put::File(bytes, mode == Some(Mode::Executable)),
        }
    }
}

/// Notes the result of `step`; returns true if it was taken.
fn note(done: Outcome<()>, step: &Step, applied: &mut Applied) -> Result<bool> {
    match done {
        Ok(()) => {
            applied.take(step);
            Ok(true)
        }
        Err(Stop::Left(why)) => {
            applied.leave(step.path.as_bstr(), why);
            Ok(false)
        }
        Err(Stop::Failed(error)) => Err(error),
    }
}
