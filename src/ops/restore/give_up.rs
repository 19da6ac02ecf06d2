//! Takes back what was done of a group that cannot be taken as a whole.

use bstr::{BStr, ByteSlice as _};

use super::{
    apply::{Applied, Applier, Ready},
    look::Side,
};
use crate::{
    error::Result,
    git::{
        checkout::{Outcome, Stop},
        temporary_file::Seen,
    },
    model::{step::Step, verdict::Why},
};

impl Applier<'_> {
    /// Takes back what was `taken` of a group of which one step could not be taken.
    pub(super) fn give_up(
        &mut self,
        ready: &Ready<'_>,
        mut taken: Vec<(&Step, Seen)>,
        (failed, stop): (&Step, Stop),
        applied: &mut Applied,
    ) -> Result<()> {
        let why = match stop {
            Stop::Left(why) => why,
            Stop::Failed(error) => return Err(error),
        };
        while let Some((step, seen)) = taken.pop() {
            match self.take_back(step, &seen) {
                Ok(()) => {}
                // It counts as taken, so that an undo brings it back.
                Err(Stop::Left(why)) => {
                    applied.take(step);
                    if why.kept_as().is_some() {
                        applied.leave(step.path.as_bstr(), why);
                    }
                }
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        let steps = ready.clears.iter().map(|(step, _)| *step).chain(ready.writes.iter().map(|(step, _)| *step));
        for step in steps {
            if !applied.steps.contains(step) {
                let why = if step.path == failed.path { why.clone() } else { Why::InTheWay };
                applied.leave(step.path.as_bstr(), why);
            }
        }
        for directory in ready.room.iter().rev() {
            if let Err(Stop::Failed(error)) = self.site.checkout.make_directory(directory.as_bstr()) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Reverses `step` of a group; `seen` is the file that was deleted, or that was written.
    fn take_back(&mut self, step: &Step, seen: &Seen) -> Outcome<()> {
        let path = step.path.as_bstr();
        let number = self.number(path);
        let Some(before) = step.before else {
            self.site.checkout.delete(path, seen, number)?;
            // Only what the group itself has made can be empty here: a file was in its place.
            let mut directories: Vec<&BStr> = path.find_iter("/").map(|at| path[..at].as_bstr()).collect();
            while let Some(directory) = directories.pop() {
                if !self.site.checkout.remove_directory(directory)? {
                    break;
                }
            }
            return Ok(());
        };
        if step.after.is_some() {
            // It replaced a file that was there before, and needs no room.
            return Err(Stop::Left(Why::InTheWay));
        }
        let bytes = self.site.bytes(path, before, Side::Before)?;
        let put = self.put(step.before, &bytes);
        self.site.checkout.prepare(path, &put, Some(&seen.stat), number)?;
        self.site.checkout.commit(path, None, &put, number).map(drop)
    }
}
