//! Finds out which checkpoints there were where the commit that names them is gone.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use crate::{
    git::{Repo, stat_cache::StatCache},
    model::{
        checkpoint::Checkpoint,
        refname::{self, ShadowName},
    },
    ops::{Context, chain::cache_path},
    state::{events, journal::Journal},
};

/// What refs, the log of events and our other files say about checkpoints.
pub(super) struct Known<'c> {
    repo: &'c Repo,
    /// The checkpoint that each came after, by the log of events.
    before: HashMap<ObjectId, ObjectId>,
    /// The checkpoints that something names.
    all: HashSet<ObjectId>,
    /// The checkpoint that was marked as verified last, by the log of events.
    pub(super) verified: Option<ObjectId>,
}

impl<'c> Known<'c> {
    /// Reads what there is. Any of it may be missing or damaged.
    pub(super) fn read(context: &'c Context) -> Self {
        let repo = &context.repo;
        let mut known = Self { repo, before: HashMap::new(), all: HashSet::new(), verified: None };
        known.read_events();
        let verified = repo.find_ref(&refname::verified_ref(repo.worktree_id())).ok().flatten();
        let tags = repo.refs_below(refname::TAGS).unwrap_or_default().into_iter().map(|(_, id)| id);
        known.all.extend(verified.into_iter().chain(tags));
        let cache = cache_path(repo).ok().and_then(|path| StatCache::load(&path, repo.object_hash()));
        known.all.extend(cache.and_then(|cache| cache.anchor));
        let turns = context.turns().entries.into_iter().filter_map(|entry| entry.turn);
        known.all.extend(turns.filter_map(|turn| turn.shadow_tip));
        let journal = Journal::read(repo.git_dir()).ok().flatten();
        known.all.extend(journal.into_iter().flat_map(|journal| [journal.target, journal.pre_restore]));
        known
    }

    fn read_events(&mut self) {
        let worktree = self.repo.worktree_id().to_string();
        let id = |value: &serde_json::Value| ObjectId::from_hex(value.as_str()?.as_bytes()).ok();
        let mut note = |line: &[u8]| {
            let Ok(event) = serde_json::from_slice::<serde_json::Value>(line) else { return Ok(true) };
            if event["worktree"] != worktree.as_str() {
                return Ok(true);
            }
            if event["event"] == "checkpoint"
                && let Some(to) = id(&event["to"])
            {
                self.all.insert(to);
                self.before.extend(id(&event["from"]).map(|from| (to, from)));
                if event["verified"] == true {
                    self.verified = Some(to);
                }
            }
            if event["event"] == "verify" {
                self.verified = id(&event["id"]);
            }
            Ok(true)
        };
        if let Ok(mut reader) = events::Reader::open(self.repo.common_dir()) {
            drop(reader.read(&mut note));
        }
    }

    /// Returns the checkpoint that came before `id`, or if no event names it, the newest that is known of the shadow `name` and
    /// was not `visited`.
    pub(super) fn before(
        &self,
        id: ObjectId,
        name: Option<&ShadowName>,
        visited: &HashSet<ObjectId>,
    ) -> Option<ObjectId> {
        let base = name.and_then(|name| name.base.commit_id());
        if let Some(before) = self.before.get(&id) {
            return (base != Some(*before)).then_some(*before);
        }
        self.newest_unless(name?, visited)
    }

    /// Returns the newest checkpoint that is known of the shadow `name`.
    pub(super) fn newest(&self, name: &ShadowName) -> Option<ObjectId> {
        self.newest_unless(name, &HashSet::new())
    }

    fn newest_unless(&self, name: &ShadowName, visited: &HashSet<ObjectId>) -> Option<ObjectId> {
        let is_of_shadow = |checkpoint: &Checkpoint| {
            let is_own = name.session.is_none() || checkpoint.origin.session == name.session;
            checkpoint.base == name.base && checkpoint.worktree == name.worktree && is_own
        };
        let unvisited = self.all.iter().filter(|id| !visited.contains(*id));
        let readable = unvisited.filter_map(|id| self.repo.find_checkpoint(*id).ok().flatten()).filter(is_of_shadow);
        readable.max_by_key(|checkpoint| (checkpoint.seconds, self.distance(checkpoint.id))).map(|it| it.id)
    }

    /// Returns how many checkpoints came before `id`, by the log of events. It orders those of one second.
    fn distance(&self, id: ObjectId) -> usize {
        let mut seen = HashSet::from([id]);
        std::iter::successors(self.before.get(&id), |id| self.before.get(*id))
            .take_while(|id| seen.insert(**id))
            .count()
    }
}
