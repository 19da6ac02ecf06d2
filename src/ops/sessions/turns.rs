//! The turns of a session, as people go back to them: by what was asked, and by the files that changed.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use serde::Serialize;

use super::super::{
    Context,
    chain::{
        changes,
        timeline::{Timeline, all_tips},
    },
    lookup::turn_of,
};
use crate::{
    error::{Kind, Result},
    model::path_text,
};

/// A turn of a session, and what it has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownTurn {
    /// Its number in the session, from 1.
    pub turn: u32,
    /// What names its state in other commands: `<session>@<turn>`; none if it has no checkpoint.
    pub name: Option<String>,
    /// How many checkpoints it has, also those in the archive.
    pub checkpoints: usize,
    /// The paths that those changed.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub files: Vec<BString>,
}

/// Returns those turns of the session `id` that have checkpoints, and those numbered in `prompts`, oldest first.
///
/// A checkpoint whose files cannot be listed because objects are lost counts without files.
pub(super) fn turns(context: &Context, id: &str, prompts: impl Iterator<Item = u32>) -> Result<Vec<ShownTurn>> {
    let repo = &context.repo;
    let mut found: BTreeMap<u32, (usize, BTreeSet<BString>)> =
        prompts.map(|turn| (turn, (0, BTreeSet::new()))).collect();
    for (checkpoint, _) in Timeline::new(repo, &all_tips(repo, None)?)? {
        let Some((_, turn)) = turn_of(&checkpoint).filter(|(session, _)| *session == id) else { continue };
        let (count, files) = found.entry(turn).or_default();
        *count += 1;
        match changes(repo, &checkpoint) {
            Ok(changed) => files.extend(changed.into_iter().map(|change| change.path)),
            Err(error) if error.kind() == Kind::Corrupt => {}
            Err(error) => return Err(error),
        }
    }
    let shown = |(turn, (checkpoints, files)): (u32, (usize, BTreeSet<BString>))| ShownTurn {
        turn,
        name: (checkpoints > 0).then(|| format!("{id}@{turn}")),
        checkpoints,
        files: files.into_iter().collect(),
    };
    Ok(found.into_iter().map(shown).collect())
}
