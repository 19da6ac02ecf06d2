//! Where the refs go that lead to checkpoints which are replaced or left out.

use std::collections::HashSet;

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::copies::{Copier, Replaced};
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{
        id_text,
        refname::{self, ShadowName},
    },
    ops::holding::archive_name,
};

/// The namespaces whose refs point to checkpoints.
pub(crate) const NAMESPACES: [&str; 5] =
    [refname::SHADOWS, refname::ARCHIVE, refname::VERIFIED, refname::TAGS, refname::PENDING];

/// A ref that goes to another checkpoint, or that is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefMove {
    /// The ref.
    pub r#ref: String,
    /// What it points to.
    #[serde(serialize_with = "id_text::serialize")]
    pub old: ObjectId,
    /// What it will point to; none: it is deleted.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub new: Option<ObjectId>,
    /// Its new name, if it gets one: a ref in the archive has the id of its checkpoint in its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
}

/// Returns where the refs of this repository go; `copier` copies what they lead to.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if something that a ref leads to cannot be read.
pub(crate) fn ref_moves(repo: &Repo, copier: &mut Copier<'_, '_>) -> Result<Vec<RefMove>> {
    let (mut moves, mut taken) = (Vec::new(), HashSet::new());
    let mut refs = repo.refs_below(refname::PREFIX)?;
    refs.retain(|(name, _)| NAMESPACES.iter().any(|prefix| name.starts_with(prefix)));
    for (name, old) in &refs {
        let is_chain = name.starts_with(refname::SHADOWS) || name.starts_with(refname::ARCHIVE);
        let new = match copier.replace(*old).map_err(|error| with_hint(error, name))? {
            Replaced::By(new) if new == *old => continue,
            Replaced::By(new) => Some(new),
            Replaced::LeftOut { in_chain, .. } => Some(in_chain).filter(|id| is_chain && copier.is_checkpoint(*id)),
        };
        let renamed = new.filter(|_| name.starts_with(refname::ARCHIVE)).map(|new| {
            let renamed = refname::renamed_archive(name, new);
            let is_free = |renamed: &String| refs.iter().all(|(name, _)| name != renamed) && !taken.contains(renamed);
            renamed.filter(is_free).map_or_else(|| archive_name(repo, new), Ok)
        });
        let renamed = renamed.transpose()?;
        taken.extend(renamed.clone());
        moves.push(RefMove { r#ref: name.clone(), old: *old, new, renamed });
    }
    Ok(moves)
}

fn with_hint(error: crate::error::Error, name: &str) -> crate::error::Error {
    let hint = format!("'{name}' leads to it; 'git checkpoint doctor --fix' keeps what can be read");
    error.with_hint(hint)
}

/// Returns the updates that carry out `moves`.
pub(crate) fn updates(moves: &[RefMove]) -> Vec<RefUpdate> {
    let mut updates = Vec::new();
    for RefMove { r#ref, old, new, renamed } in moves {
        updates.extend(renamed.iter().map(|name| RefUpdate { name: name.clone(), old: None, new: *new }));
        let new = new.filter(|_| renamed.is_none());
        updates.push(RefUpdate { name: r#ref.clone(), old: Some(*old), new });
    }
    updates
}

/// Returns the worktree that the ref `name` is about; none if its name does not say it.
pub(crate) fn worktree_of(name: &str) -> Option<BString> {
    let verified = || refname::decode_component(name.strip_prefix(refname::VERIFIED)?);
    let pending = || refname::decode_component(name.strip_prefix(refname::PENDING)?.split_once("@/")?.0);
    ShadowName::from_ref(name).map(|shadow| shadow.worktree).or_else(verified).or_else(pending)
}
