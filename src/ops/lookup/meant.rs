//! What a person probably meant by a name that no checkpoint has.

use super::super::{Context, session_info};
use crate::model::{likely, refname};

/// Returns the name of a checkpoint, of a branch, or of a session that `text` was probably meant to be.
pub(super) fn meant(context: &Context, text: &str) -> Option<String> {
    const BRANCHES: &str = "refs/heads/";
    let (tags, branches) = (tags(context), context.repo.sound_refs(BRANCHES).unwrap_or_default());
    let branches = branches.iter().filter_map(|(name, _)| name.strip_prefix(BRANCHES));
    let names = ["verified", "base", "HEAD"].into_iter().chain(tags.iter().map(String::as_str)).chain(branches);
    likely::most_similar(text, names).map(str::to_owned).or_else(|| session_info::meant(context, text))
}

/// Returns the tag that `text` was probably meant to be.
pub(crate) fn meant_tag(context: &Context, text: &str) -> Option<String> {
    likely::most_similar(text, tags(context).iter().map(String::as_str)).map(str::to_owned)
}

fn tags(context: &Context) -> Vec<String> {
    let refs = context.repo.sound_refs(refname::TAGS).unwrap_or_default();
    refs.iter().filter_map(|(name, _)| refname::tag_of_ref(name)).collect()
}
