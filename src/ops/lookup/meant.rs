//! What a person probably meant by a name that no checkpoint has.

use super::super::{Context, session_info};
use crate::model::{refname, similar};

/// Returns the name of a checkpoint, or of a session with the turns in `text`, that `text` was probably meant to be.
pub(super) fn meant(context: &Context, text: &str) -> Option<String> {
    let refs = context.repo.sound_refs(refname::TAGS).unwrap_or_default();
    let tags: Vec<String> = refs.iter().filter_map(|(name, _)| refname::tag_of_ref(name)).collect();
    let names = ["verified", "base"].into_iter().chain(tags.iter().map(String::as_str));
    similar::most_similar(text, names).map(str::to_owned).or_else(|| session_info::meant(context, text))
}
