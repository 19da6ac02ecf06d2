//! Takes the steps of a plan, one group after the other, each only if the path still is what the plan saw.

use std::collections::{BTreeSet, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::Stat;

use super::look::{Found, Side, Site, is_dir};
use crate::{
    error::{Error, Result},
    git::checkout::{Outcome, Put, Stop},
    model::{
        change::Mode,
        plan::{self, Content, Group, Plan, Step, is_below},
        verdict::{Left, Why},
    },
    state::failpoint,
};

/// What came of a plan.
#[derive(Debug, Default)]
pub(super) struct Applied {
    pub(super) written: Vec<BString>,
    pub(super) deleted: Vec<BString>,
    pub(super) kept: Vec<Left>,
    pub(super) conflicts: Vec<Left>,
    /// The steps that were taken.
    pub(super) steps: Vec<Step>,
    /// The directories without files that were created.
    pub(super) directories: Vec<BString>,
}

impl Applied {
    /// Returns true if nothing has changed.
    pub(super) fn is_idle(&self) -> bool {
        self.steps.is_empty() && self.directories.is_empty()
    }

    pub(super) fn leave(&mut self, path: &BStr, why: Why) {
        let left = Left { path: path.to_owned(), why };
        // What turns out to be another repository's is not ours, as if the plan had known.
        if left.why == Why::InNested { self.kept.push(left) } else { self.conflicts.push(left) }
    }

    pub(super) fn take(&mut self, step: &Step) {
        let list = if step.after.is_some() { &mut self.written } else { &mut self.deleted };
        list.push(step.path.clone());
        self.steps.push(step.clone());
    }
}

/// A group that may be taken; steps that have nothing left to do are not in it.
#[derive(Default)]
pub(super) struct Ready<'p> {
    pub(super) clears: Vec<(&'p Step, Stat)>,
    pub(super) writes: Vec<(&'p Step, Option<Stat>)>,
    /// Directories in the place of the first write, deepest first, to be removed once they are empty.
    pub(super) room: Vec<BString>,
    /// Steps that found nothing left to do.
    done: Vec<&'p Step>,
}

/// Carries out what a plan says.
pub(super) struct Applier<'a> {
    pub(super) site: Site<'a>,
    /// The number of each path's temporary file.
    numbers: HashMap<BString, usize>,
    is_resumed: bool,
}

impl<'a> Applier<'a> {
    /// Returns what takes `steps` at `site`.
    pub(super) fn new(site: Site<'a>, steps: &[Step]) -> Self {
        let numbers = steps.iter().map(|step| step.path.clone()).zip(0..).collect();
        Self { site, numbers, is_resumed: false }
    }

    /// Takes steps that have nothing left to do for done by the same restore, before it was interrupted.
    pub(super) fn resumed(mut self, is_resumed: bool) -> Self {
        self.is_resumed = is_resumed;
        self
    }

    /// Removes the temporary files that a crash may have left.
    pub(super) fn sweep(&mut self) {
        let mut numbers: Vec<_> = self.numbers.iter().map(|(path, number)| (path.clone(), *number)).collect();
        numbers.sort();
        for (path, number) in numbers {
            self.site.checkout.remove_temporary(path.as_bstr(), number);
        }
    }

    /// Returns what [`run`](Self::run) would do, as far as can be told without doing it.
    pub(super) fn preview(&mut self, plan: &Plan, directories: &[BString]) -> Result<Applied> {
        let mut applied = Applied::default();
        for group in &plan.groups {
            if let Some(ready) = self.check(group, &mut applied)? {
                ready.clears.iter().for_each(|(step, _)| applied.take(step));
                ready.writes.iter().for_each(|(step, _)| applied.take(step));
            }
        }
        for directory in directories {
            if matches!(self.site.checkout.stat(directory.as_bstr()), Ok(None)) {
                applied.directories.push(directory.clone());
            }
        }
        Ok(applied)
    }

    /// Takes the steps of `plan`, then creates `directories`.
    ///
    /// # Errors
    /// If the operating system fails in a way that concerns all paths; what was done until then stays.
    pub(super) fn run(&mut self, plan: &Plan, directories: &[BString]) -> Result<Applied> {
        let mut applied = Applied::default();
        let keep: BTreeSet<&BString> = directories.iter().collect();
        for group in &plan.groups {
            self.site.check_interrupt()?;
            if let Some(ready) = self.check(group, &mut applied)? {
                self.act(&ready, &mut applied)?;
            }
        }
        failpoint::hit("restore:after-steps");
        self.remove_emptied(&applied, &keep)?;
        for directory in directories {
            match self.site.checkout.make_directory(directory.as_bstr()) {
                Ok(true) => applied.directories.push(directory.clone()),
                Ok(false) => {}
                Err(Stop::Left(why)) => applied.leave(directory.as_bstr(), why),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Ok(applied)
    }

    /// Removes those of `directories` that are empty.
    pub(super) fn remove_directories(&mut self, directories: &BTreeSet<BString>) -> Result<()> {
        // A directory sorts after those it is in.
        for directory in directories.iter().rev() {
            if let Err(Stop::Failed(error)) = self.site.checkout.remove_directory(directory.as_bstr()) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes the directories that our own deletions have emptied.
    fn remove_emptied(&mut self, applied: &Applied, keep: &BTreeSet<&BString>) -> Result<()> {
        let mut done: BTreeSet<BString> = BTreeSet::new();
        for path in &applied.deleted {
            let mut path = path.as_bstr();
            while let Some(at) = path.rfind_byte(b'/') {
                path = path[..at].as_bstr();
                if keep.contains(&path.to_owned()) || done.contains(path) {
                    break;
                }
                match self.site.checkout.remove_directory(path) {
                    Ok(true) => done.insert(path.to_owned()),
                    Ok(false) | Err(Stop::Left(_)) => break,
                    Err(Stop::Failed(error)) => return Err(error),
                };
            }
        }
        Ok(())
    }

    /// Looks at all paths of `group`; none if it may not be taken, which is then noted.
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
                    applied.leave(step.path.as_bstr(), if is_cause { why.clone() } else { Why::InTheWay });
                }
                Ok(None)
            }
        }
    }

    fn try_check<'p>(&mut self, group: &'p Group) -> std::result::Result<Ready<'p>, (BString, Stop)> {
        let mut ready = Ready::default();
        let is_swap = !group.writes.is_empty();
        for step in &group.clears {
            let found = self.site.look(step, is_swap);
            if matches!(found, Err(Stop::Left(Why::UnderWay))) && self.is_renamed(step, group) {
                ready.done.push(step);
                continue;
            }
            match found.map_err(|stop| (step.path.clone(), stop))? {
                Found::AsBefore(Some(stat)) => ready.clears.push((step, stat)),
                Found::AsBefore(None) | Found::AsAfter => ready.done.push(step),
            }
        }
        for step in &group.writes {
            let at = |stop| (step.path.clone(), stop);
            // Nothing can be seen below a file that is still to be cleared away, nor through a symbolic link; and where case
            // does not matter, what is seen is that file.
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
                Found::AsBefore(stat) => ready.writes.push((step, stat)),
                Found::AsAfter => ready.done.push(step),
            }
        }
        Ok(ready)
    }

    /// Returns true if `clear` has become a write of `group` already: the same name in another case, for the file system.
    fn is_renamed(&mut self, clear: &Step, group: &Group) -> bool {
        let twin = group.writes.iter().find(|write| plan::is_same_name(&write.path, &clear.path));
        twin.is_some_and(|twin| matches!(self.site.look(twin, false), Ok(Found::AsAfter)))
    }

    fn act(&mut self, ready: &Ready<'_>, applied: &mut Applied) -> Result<()> {
        if let (false, Some((step, _))) = (ready.room.is_empty(), ready.writes.first()) {
            return self.replace_directory(ready, step, applied);
        }
        let mut taken = Vec::new();
        for (step, stat) in &ready.clears {
            match self.delete(step, stat) {
                Ok(()) => taken.push((*step, *stat)),
                Err(stop) => return self.give_up(ready, taken, (step, stop), applied),
            }
        }
        for (step, stat) in &ready.writes {
            match self.write(step, stat.as_ref()) {
                Ok(()) if ready.clears.is_empty() => applied.take(step),
                Ok(()) => match self.site.checkout.stat(step.path.as_bstr()) {
                    Ok(Some(stat)) => taken.push((*step, stat)),
                    _ => applied.take(step),
                },
                Err(stop) => return self.give_up(ready, taken, (step, stop), applied),
            }
            failpoint::hit("restore:after-write");
        }
        for (step, _) in &taken {
            applied.take(step);
        }
        Ok(())
    }

    fn delete(&mut self, step: &Step, stat: &Stat) -> Outcome<()> {
        let number = self.number(step.path.as_bstr());
        self.site.checkout.delete(step.path.as_bstr(), stat, number)?;
        failpoint::hit("restore:after-delete");
        Ok(())
    }

    /// Puts the file of `step` in the place of a directory.
    fn replace_directory(&mut self, ready: &Ready<'_>, step: &Step, applied: &mut Applied) -> Result<()> {
        let path = step.path.as_bstr();
        let number = self.number(path);
        if let Err(stop) = self.prepare(step, None) {
            ready.clears.iter().for_each(|(clear, _)| applied.leave(clear.path.as_bstr(), Why::InTheWay));
            note(Err(stop), step, applied)?;
            return Ok(());
        }
        let mut taken = Vec::new();
        for (clear, stat) in &ready.clears {
            if let Err(stop) = self.delete(clear, stat) {
                self.site.checkout.remove_temporary(path, number);
                return self.give_up(ready, taken, (clear, stop), applied);
            }
            taken.push((*clear, *stat));
        }
        for directory in &ready.room {
            let removed = self.site.checkout.remove_directory(directory.as_bstr());
            if !matches!(removed, Ok(true)) {
                self.site.checkout.remove_temporary(path, number);
                let stop = removed.err().unwrap_or(Stop::Left(Why::InTheWay));
                return self.give_up(ready, taken, (step, stop), applied);
            }
        }
        failpoint::hit("restore:after-room");
        if let Err(stop) = self.site.checkout.commit(path, None, number) {
            return self.give_up(ready, taken, (step, stop), applied);
        }
        for (clear, _) in &taken {
            applied.take(clear);
        }
        applied.take(step);
        failpoint::hit("restore:after-write");
        Ok(())
    }

    pub(super) fn number(&self, path: &BStr) -> usize {
        self.numbers.get(&path.to_owned()).copied().expect("all steps of the plan are numbered")
    }

    fn write(&mut self, step: &Step, existing: Option<&Stat>) -> Outcome<()> {
        if let (true, Some(existing), Some(after)) = (step.is_mode_only(), existing, step.after) {
            let is_executable = after.leaf.mode == Mode::Executable;
            return self.site.checkout.set_executable(step.path.as_bstr(), is_executable, existing);
        }
        self.prepare(step, existing)?;
        let number = self.number(step.path.as_bstr());
        self.site.checkout.commit(step.path.as_bstr(), existing, number)
    }

    /// Writes the temporary file of `step`.
    fn prepare(&mut self, step: &Step, existing: Option<&Stat>) -> Outcome<()> {
        let path = step.path.as_bstr();
        let content = step.after.ok_or_else(|| Error::internal(format!("a deletion of '{path}' is no write")))?;
        let bytes = self.site.bytes(path, content, Side::After)?;
        self.put(path, content, &bytes, existing)?;
        failpoint::hit("restore:after-temporary");
        Ok(())
    }

    /// Writes `bytes`, which are `content` in the worktree, to the temporary file of `path`.
    pub(super) fn put(&mut self, path: &BStr, content: Content, bytes: &[u8], existing: Option<&Stat>) -> Outcome<()> {
        let put = match content.leaf.mode {
            Mode::Link if self.site.has_links => Put::Link(bytes),
            mode => Put::File(bytes, mode == Mode::Executable),
        };
        let number = self.number(path);
        self.site.checkout.prepare(path, &put, existing, number)
    }
}

/// Notes what came of `step`; returns true if it was taken.
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
