//! What a file that was exported has, as its header says: refs of ours alone, each once.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::super::{fetch::is_log, shared::is_tag};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        bundle::Header,
        path_text::{printable, shell_word},
        refname,
    },
};

/// What is in a file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The commit with what the file says of itself.
    pub(super) export: Option<ObjectId>,
    /// The logs of records and transcripts.
    pub(super) logs: Vec<(String, ObjectId)>,
    pub(super) notes: Option<ObjectId>,
    /// The ids of checkpoints, and the commits that carry them.
    pub(super) checkpoints: Vec<(ObjectId, ObjectId)>,
    /// Tags, and the commits that carry what they name.
    pub(super) tags: Vec<(String, ObjectId)>,
}

/// How many missing commits an error names.
const MOST_NAMED: usize = 5;

impl Contents {
    /// Returns what `header` says.
    ///
    /// # Errors
    /// [`Kind::Refused`](crate::error::Kind::Refused) with the first ref that we do not export.
    pub(super) fn of(header: &Header) -> Result<Self> {
        let (mut contents, mut names) = (Self::default(), BTreeSet::new());
        for (name, id) in &header.refs {
            let shown = printable(name.as_bytes().as_bstr());
            if !names.insert(name) {
                return Err(Error::refused(format!("it has '{shown}' twice")));
            }
            match name.as_str() {
                refname::EXPORT => contents.export = Some(*id),
                refname::NOTES => contents.notes = Some(*id),
                _ if is_log(name) => contents.logs.push((name.clone(), *id)),
                _ => {
                    if let Some(checkpoint) = refname::shared_id(name).filter(|it| it.kind() == header.format) {
                        contents.checkpoints.push((checkpoint, *id));
                    } else if let Some(tag) = refname::tag_of_ref(name).filter(|tag| is_tag(tag, name)) {
                        contents.tags.push((tag, *id));
                    } else {
                        return Err(Error::refused(format!("it has '{shown}', which no export has"))
                            .with_hint("'git fetch <file> <branch>' gets branches of a bundle"));
                    }
                }
            }
        }
        if contents.export.is_none() {
            return Err(Error::refused("it is a bundle that 'git checkpoint export' has not written")
                .with_hint("'git bundle list-heads <file>' shows what it has; 'git fetch <file> <ref>' gets it"));
        }
        let carriers: BTreeSet<ObjectId> = contents.checkpoints.iter().map(|(_, commit)| *commit).collect();
        if let Some((tag, _)) = contents.tags.iter().find(|(_, commit)| !carriers.contains(commit)) {
            return Err(Error::refused(format!("its tag '{}' names no checkpoint in it", shown(tag))));
        }
        // A record never names what is not there.
        contents.logs.sort_by_key(|(name, _)| (name == refname::HISTORY, name.clone()));
        Ok(contents)
    }
}

fn shown(text: &str) -> String {
    printable(text.as_bytes().as_bstr())
}

/// Refuses a file whose prerequisites are not here, and says where they may be.
pub(super) fn refuse_without(repo: &Repo, prerequisites: &[(ObjectId, BString)]) -> Result<()> {
    let missing: Vec<&(ObjectId, BString)> =
        prerequisites.iter().filter(|(id, _)| !repo.is_commit(*id).unwrap_or(false)).collect();
    let Some((first, _)) = missing.first() else { return Ok(()) };
    let named = missing.iter().take(MOST_NAMED).map(|(id, about)| {
        let about: String = printable(about.as_bstr()).chars().take(80).collect();
        format!("{} ({about})", id.to_hex_with_len(12))
    });
    let mut named: Vec<String> = named.collect();
    named.extend((missing.len() > MOST_NAMED).then(|| format!("and {} more", missing.len() - MOST_NAMED)));
    let what = if missing.len() == 1 { "a commit that is" } else { "commits that are" };
    let error = Error::refused(format!("it needs {what} not here: {}", named.join(", ")));
    let full = "or export it again with '--full', which takes the history along";
    Err(error.with_hint(match repo.remote_names().unwrap_or_default().as_slice() {
        _ if repo.is_shallow() => {
            format!("this clone is shallow: 'git fetch --unshallow' gets the history; {full}")
        }
        [] => format!("get it from the repository that the file is from, with 'git fetch <path> {first}'; {full}"),
        remotes => {
            let remote = remotes.iter().find(|it| *it == "origin").unwrap_or(&remotes[0]);
            let remote = shell_word(remote);
            format!("a branch that was pushed has it after 'git fetch {remote}', and 'git fetch {remote} {first}' asks for it; {full}")
        }
    }))
}
