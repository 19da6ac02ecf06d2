//! What agents did to a file of a commit without a changed line: they moved it, changed its mode, or made or deleted an empty one.

use std::collections::HashMap;

use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::record::{Record, RecordId},
    ops::{attribution::FileLines, records::Log},
};

/// Reads records, each once.
pub(super) struct Unlined<'r> {
    log: Option<Log<'r>>,
    known: HashMap<RecordId, Option<Record>>,
}

impl<'r> Unlined<'r> {
    pub(super) fn open(repo: &'r Repo) -> Result<Self> {
        Ok(Self { log: Log::open(repo)?, known: HashMap::new() })
    }

    /// Returns what an agent did to `file` of a commit with the records `ids`, in words; none if no agent has touched it so.
    pub(super) fn done(&mut self, ids: &[RecordId], file: &FileLines) -> Option<&'static str> {
        for id in ids {
            let log = self.log.as_ref();
            // A record that cannot be read was refused before.
            let record = self.known.entry(*id).or_insert_with(|| log.and_then(|log| log.find(id).ok().flatten()));
            let mut files = record.iter().flat_map(|record| &record.files);
            let found = files.find(|it| it.path == file.path && it.after == file.blob && !it.sessions.is_empty());
            if let Some(words) = found.and_then(|recorded| in_words(recorded.before, file)) {
                return Some(words);
            }
        }
        None
    }
}

/// Returns what became of a file that had the blob `before`; none if that shows in lines, or in the whole file.
fn in_words(before: Option<ObjectId>, file: &FileLines) -> Option<&'static str> {
    match (before, file.blob) {
        (Some(before), Some(after)) if before == after => {
            Some(if file.old_path.is_some() { "an agent moved it" } else { "an agent changed its mode" })
        }
        _ if file.added + file.deleted > 0 || file.whole.is_some() => None,
        (_, None) => Some("an agent deleted it, empty"),
        (..) => Some("an agent made it, empty"),
    }
}
