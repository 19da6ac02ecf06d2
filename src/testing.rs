//! What the integration tests use beside the public surface; only with the feature `failpoints`, and no part of the library.

use std::path::Path;

use crate::{config::settings::Settings, error::Result, ops::Context};

/// Agents' payloads and files.
pub mod agent {
    pub use crate::agent::{dialect, dialects, event, install, read};
}

/// The repository.
pub mod git {
    pub use crate::git::{Repo, line_edits};

    /// What gix does over the wire.
    pub mod wire {
        use bstr::BString;
        use gix::ObjectId;

        use super::Repo;
        use crate::{
            error::Result,
            git::{
                received::Basis,
                wire::{Connection, Opened},
            },
        };

        /// Returns the refs below `prefix` at `url`; else why only git can reach it.
        pub fn list(repo: &Repo, url: &str, prefix: &str) -> Result<Result<Vec<(BString, ObjectId)>, &'static str>> {
            Ok(match Connection::open(repo, url.into())? {
                Opened::Connection(mut connection) => {
                    Ok(connection.list(prefix)?.into_iter().map(|found| (found.name, found.id)).collect())
                }
                Opened::Unsupported(why) => Err(why),
            })
        }

        /// Fetches what the refs below `prefix` at `url` lead to and `haves` do not; returns whether there was a connection.
        pub fn fetch(repo: &Repo, url: &str, prefix: &str, haves: &[ObjectId], limit: Option<u64>) -> Result<bool> {
            let Opened::Connection(mut connection) = Connection::open(repo, url.into())? else { return Ok(false) };
            let wants: Vec<_> = connection.list(prefix)?.into_iter().map(|found| found.id).collect();
            drop(connection.fetch(repo, &wants, Basis::Ours(haves), limit)?.adopt(repo)?);
            Ok(true)
        }
    }
}

/// Values that are stored or compared.
pub mod model {
    pub use crate::model::{attribution, checkpoint, guard, record, refname, session, turns};
}

/// Commands that are not in the library.
pub mod ops {
    pub use crate::ops::{
        Purpose, Worktree, doctor, drop, events, explain, guard, history, operations, prune, purge, reset, rewrite,
        sessions, show, status, undo, verify,
    };

    /// The log of records.
    pub mod records {
        use crate::{
            error::Result,
            git::Repo,
            model::record::{Link, Prompt, RecordId},
            ops::records::Log,
        };

        pub use crate::ops::records::{
            Additions, NewRecord, NewSession, append, find, of_commit, of_parent, transcript,
        };

        /// Returns the attribution of the record `id` as it is stored.
        pub fn attribution(repo: &Repo, id: &RecordId) -> Result<Option<Vec<u8>>> {
            Log::open(repo)?.map_or_else(|| Ok(None), |log| log.attribution(id))
        }

        /// Returns the ids of all records, sorted.
        pub fn all(repo: &Repo) -> Result<Vec<RecordId>> {
            Log::open(repo)?.map_or_else(|| Ok(Vec::new()), |log| log.all())
        }

        /// Returns the commits that have the record `id`, by their ids.
        pub fn links(repo: &Repo, id: &RecordId) -> Result<Vec<Link>> {
            Log::open(repo)?.map_or_else(|| Ok(Vec::new()), |log| log.links(id))
        }

        /// Returns the prompts of the session at `index` of the record `id`.
        pub fn prompts(repo: &Repo, id: &RecordId, index: usize) -> Result<Vec<Prompt>> {
            Log::open(repo)?.map_or_else(|| Ok(Vec::new()), |log| log.prompts(id, index))
        }
    }
}

/// Files of ours.
pub mod state {
    pub use crate::state::journal;
}

/// Returns the repository of `context`.
pub fn repo(context: &Context) -> &git::Repo {
    &context.repo
}

/// Opens the repository that `dir` is in as a command does, which honours `GIT_*`.
pub fn context_from_environment(dir: &Path) -> Result<Context> {
    Ok(Context::new(git::Repo::open_from_environment(dir)?, Settings::default()))
}
