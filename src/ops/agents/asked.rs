//! What changes while an agent asks the user whether it may run a command: the command cannot have done it.
//!
//! Agents announce a command before they ask, and report the user's answer in no event. But some report how long the command ran:
//! then we know when it began. What was changed before that has an unknown author, because a person may have written it while the
//! agent asked. The times of the files show what it is.

use std::{
    os::unix::fs::MetadataExt as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bstr::{BString, ByteSlice as _};

use super::report::{Report, Tool};
use crate::{
    error::Result,
    ops::{
        Worktree,
        chain::{Shadow, look_at_all},
    },
};

/// How much later than at the command's end the agent may report it. What was changed so shortly before the command counts as
/// its work.
const LATEST_REPORT: Duration = Duration::from_secs(1);

/// Returns the files that were changed after the call `key` was announced, and not since its command began; none if that is not known,
/// or if the command began at once.
pub(super) fn changed_meanwhile(
    worktree: &Worktree<'_>,
    report: &Report,
    tool: &Tool,
    key: &str,
) -> Result<Vec<BString>> {
    let turns = worktree.turns();
    let call = turns.find(&report.session).and_then(|own| own.calls.iter().find(|call| call.key == key));
    let Some((command, ran_for)) = call.and_then(|call| call.command.as_ref()).zip(tool.ran_for) else {
        return Ok(Vec::new());
    };
    let announced = UNIX_EPOCH + Duration::from_millis(u64::try_from(command.began).unwrap_or_default());
    let began = SystemTime::now().checked_sub(ran_for.saturating_add(LATEST_REPORT));
    let Some(began) = began.filter(|began| *began > announced) else { return Ok(Vec::new()) };
    let repo = &worktree.repo;
    let shadow = Shadow::read_for(worktree, Some(&report.session))?;
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    let mut earlier: Vec<BString> = changes.into_iter().map(|change| change.path).collect();
    earlier.retain(|path| {
        let file = path.to_path().ok().and_then(|path| std::fs::symlink_metadata(repo.worktree_root().join(path)).ok());
        let changed = file.map(|file| (u64::try_from(file.ctime()), u32::try_from(file.ctime_nsec())));
        let Some((Ok(seconds), Ok(nanoseconds))) = changed else { return false };
        UNIX_EPOCH + Duration::new(seconds, nanoseconds) < began
    });
    Ok(earlier)
}
