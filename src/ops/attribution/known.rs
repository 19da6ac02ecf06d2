//! What is known about a commit before its lines are compared: its records, and the author of lines that are in none of them.

use std::{collections::HashSet, rc::Rc};

use gix::ObjectId;

use super::{commit::Reader, recorded::Recorded};
use crate::{
    error::{Kind, Result},
    git::commit::is_of_agent,
    model::{attribution::AuthorId, contributor::Contributor, record::RecordId, refname},
    ops::records,
    state,
};

/// What the records say about a commit.
pub(super) struct Known {
    pub(super) records: Vec<Rc<Recorded>>,
    /// Those of them that decide who wrote its lines: a whole one alone, or all.
    pub(super) deciding: Vec<Rc<Recorded>>,
    pub(super) missing: Vec<RecordId>,
    /// True if it has no record because its lines were written before git-checkpoint was in use.
    pub(super) is_earlier: bool,
    /// What is known about lines that no record covers.
    pub(super) otherwise: Otherwise,
}

/// What is known about lines of a commit that none of its records covers.
#[derive(Clone, Copy)]
pub(super) struct Otherwise {
    pub(super) author: AuthorId,
    /// True if no record can be missing that would say that such lines are an agent's. If false, a line that a record calls a person's
    /// may be an agent's, too.
    pub(super) is_complete: bool,
}

impl Reader<'_> {
    /// Returns what the records say about `commit`.
    pub(super) fn known(&mut self, commit: ObjectId) -> Result<Known> {
        let mut found = self.records.of(commit, &mut self.authors)?;
        let deciding = match found.whole(commit) {
            Some(whole) => {
                // No other is needed.
                found.is_complete = true;
                found.missing.clear();
                vec![whole]
            }
            None => found.records.clone(),
        };
        // A missing or damaged record might cover the other lines; so might one that is still to be made. The message of an amended
        // commit names the records of the first one only.
        let is_seen = found.is_linked || !self.unseen.contains(&commit);
        let is_complete = found.is_complete && is_seen;
        let is_earlier = !self.was_written_since_enabled(commit)?;
        // A person may have changed a checkpoint of an agent that is part of a branch, or copied it there.
        // Git counts all lines of the commit with which a shallow clone begins as its own.
        let is_persons = is_complete
            && !is_earlier
            && !self.begins_shallow(commit)?
            && (!found.records.is_empty() || !self.is_of_agent(commit)?);
        let author = self.authors.plain(if is_persons { Contributor::Human } else { Contributor::Unknown });
        let is_earlier = is_complete && is_earlier && found.records.is_empty() && self.enabled_since()?.is_some();
        let otherwise = Otherwise { author, is_complete };
        Ok(Known { records: found.records, deciding, missing: found.missing, is_earlier, otherwise })
    }

    /// Returns true if a shallow clone begins at `commit`: git does not go to its parent, even if that is here.
    fn begins_shallow(&self, commit: ObjectId) -> Result<bool> {
        Ok(self.repo.is_shallow()
            && self.repo.parents_of(commit)?.is_empty()
            && !self.repo.written_parents_of(commit)?.is_empty())
    }

    /// Returns true if this repository recorded agents' work when the lines of `commit` were written. If git has copied or amended
    /// an earlier commit, the date of its author is that of the earlier one.
    fn was_written_since_enabled(&self, commit: ObjectId) -> Result<bool> {
        let made = self.repo.with_commit(commit, |commit| {
            let seconds = |who: Option<gix::actor::SignatureRef<'_>>| who.map_or(0, |who| who.seconds());
            seconds(commit.author().ok()).min(seconds(commit.committer().ok()))
        })?;
        // In most cases the log of records need not be read.
        Ok(self.hooks_since().is_some_and(|since| since <= made)
            || self.enabled_since()?.is_some_and(|since| since <= made))
    }

    /// Returns true if `commit` is a checkpoint of an agent or of an unknown author, or a copy of one, also one that `git am` has made of
    /// its patch: the author is the agent's then.
    fn is_of_agent(&self, commit: ObjectId) -> Result<bool> {
        let by_agent = |commit: &gix::objs::CommitRef<'_>| commit.author().is_ok_and(|who| is_of_agent(who.email));
        if self.repo.with_commit(commit, |commit| by_agent(commit))? {
            return Ok(true);
        }
        let checkpoint = self.repo.find_checkpoint(commit)?;
        Ok(checkpoint.is_some_and(|checkpoint| checkpoint.origin.contributor != Contributor::Human))
    }

    /// Returns since when git's hooks are enabled here, in Unix seconds; none if they are not.
    fn hooks_since(&self) -> Option<i64> {
        *self.hooks_since.get_or_init(|| state::hooks::enabled_since(self.repo.common_dir()))
    }

    /// Returns since when this repository records agents' work, in Unix seconds; none if it never did.
    fn enabled_since(&self) -> Result<Option<i64>> {
        if let Some(since) = self.enabled_since.get() {
            return Ok(*since);
        }
        let mut since = self.hooks_since();
        let mut next = Vec::from_iter(self.repo.find_sound_ref(refname::HISTORY)?);
        if since.is_none() && next.is_empty() {
            // What is known here is what others have recorded.
            next.extend(records::fetched(self.repo)?.into_iter().map(|(_, id)| id));
        }
        let mut seen = HashSet::new();
        while let Some(id) = next.pop() {
            if !seen.insert(id) {
                continue;
            }
            let parents = if_sound(self.repo.parents_of(id))?.unwrap_or_default();
            let mut is_first = true;
            for parent in parents {
                // What is before a damaged commit of the log is unknown.
                if if_sound(self.repo.parents_of(parent))?.is_some() {
                    next.push(parent);
                    is_first = false;
                }
            }
            if is_first && let Some(tree_id) = if_sound(self.repo.tree_of_commit(id))? {
                // The commit of the first record may be older than the log.
                let logged = self.repo.with_commit(id, |commit| commit.committer().ok().map(|who| who.seconds()))?;
                let recorded = if_sound(self.records.seconds_of_first(tree_id))?.flatten();
                since = [since, logged, recorded].into_iter().flatten().min();
            }
        }
        Ok(*self.enabled_since.get_or_init(|| since))
    }
}

/// Returns what was read; none if it is damaged.
fn if_sound<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == Kind::Corrupt => Ok(None),
        read => read.map(Some),
    }
}
