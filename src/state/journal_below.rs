//! How a journal stores what is done in repositories inside the worktree, and its ids.

use gix::ObjectId;
use serde::{Deserialize, Serialize};

use crate::model::{
    path_text::StoredPath,
    session::is_valid_id,
    step_below::{ActionBelow, StepBelow},
};

/// One thing to do in a repository inside the worktree, as it is stored.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredBelow {
    #[serde(flatten)]
    path: StoredPath,
    nonce: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restore: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    take_back: Option<String>,
    #[serde(default)]
    staged: bool,
    #[serde(default)]
    begun: bool,
    #[serde(default)]
    all: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default)]
    only_submodules: bool,
}

/// Returns `step` as it is stored.
pub(super) fn store_below(step: &StepBelow) -> StoredBelow {
    let (restore, take_back, staged, begun) = match &step.action {
        ActionBelow::Restore { checkpoint, staged } => (Some(checkpoint.to_string()), None, *staged, false),
        ActionBelow::TakeBack { nonce, has_begun } => (None, Some(nonce.clone()), false, *has_begun),
    };
    let (path, nonce, all, session) = ((&step.path).into(), step.nonce.clone(), step.all, step.session.clone());
    StoredBelow { path, nonce, restore, take_back, staged, begun, all, session, only_submodules: step.only_submodules }
}

/// Returns what is stored, or what is wrong with it.
pub(super) fn parse_below(stored: &StoredBelow) -> Result<StepBelow, String> {
    let nonce = |nonce: &String| check_nonce(nonce).map(|()| nonce.clone());
    let action = match (&stored.restore, &stored.take_back) {
        (Some(id), None) => ActionBelow::Restore { checkpoint: parse_id(id)?, staged: stored.staged },
        (None, Some(of)) => ActionBelow::TakeBack { nonce: nonce(of)?, has_begun: stored.begun },
        _ => return Err("it does not say what to do in a submodule".into()),
    };
    let session = stored.session.clone();
    if let Some(session) = session.as_deref().filter(|session| !is_valid_id(session)) {
        return Err(format!("'{}' is not the id of a session", session.escape_debug()));
    }
    let (path, nonce, all) = (stored.path.decode()?, nonce(&stored.nonce)?, stored.all);
    Ok(StepBelow { path, nonce, action, all, session, only_submodules: stored.only_submodules })
}

/// Makes sure that `nonce` can be part of a file's name.
pub(super) fn check_nonce(nonce: &str) -> Result<(), String> {
    if super::temporary::is_nonce(nonce) { Ok(()) } else { Err(format!("'{}' is not a nonce", nonce.escape_debug())) }
}

/// Returns the id that `text` is.
pub(super) fn parse_id(text: &str) -> Result<ObjectId, String> {
    ObjectId::from_hex(text.as_bytes()).map_err(|_| format!("'{text}' is not an object id"))
}
