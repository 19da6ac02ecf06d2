//! `push --checkpoint`: the tags of a checkpoint go along, as refs that lead to the very commit that carries it there.
//!
//! A tag never moves there: one that names something else stays, and the user hears of it. If the remote does not have the commit as it
//! lists it, nothing is sent.

use gix::ObjectId;
use serde::Serialize;

use super::shared::is_tag;
use crate::{
    error::{Error, Result},
    git::{Repo, exact_address::ExactAddress, transfer::Outcome},
    model::{checkpoint::Checkpoint, refname},
    ops::tags,
};

/// A tag of a checkpoint that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SharedTag {
    /// Its name.
    pub(crate) tag: String,
    /// The ref that it is there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// What became of it.
    #[serde(flatten)]
    pub(crate) fate: TagFate,
}

/// What became of a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(crate) enum TagFate {
    /// It was sent.
    Sent,
    /// It was there already.
    Same,
    /// The remote has one of this name that leads to something else, and that stays.
    Kept,
    /// It could not be sent.
    Refused {
        /// Why.
        why: String,
    },
}

/// Returns the tags of `checkpoint`, as far as others could read them.
pub(super) fn tags_of(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<String>> {
    let mut tags = tags::all(repo)?;
    // Git may have made others.
    tags.retain(|(tag, id)| *id == checkpoint.id && is_tag(tag, &refname::tag_ref(tag)));
    tags.sort();
    Ok(tags.into_iter().map(|(tag, _)| tag).collect())
}

/// Returns what becomes of each of `tags` if the remote has the refs `listed`, and the checkpoint in the commit `carrier`.
pub(super) fn plan(tags: &[String], listed: &[(String, ObjectId)], carrier: ObjectId) -> Vec<SharedTag> {
    let plan = |tag: &String| {
        let name = refname::tag_ref(tag);
        let fate = match listed.iter().find(|(known, _)| *known == name) {
            None => TagFate::Sent,
            Some((_, id)) if *id == carrier => TagFate::Same,
            Some(_) => TagFate::Kept,
        };
        SharedTag { tag: tag.clone(), name, fate }
    };
    tags.iter().map(plan).collect()
}

/// How often a remote is asked which tags it has, if others make some meanwhile.
const ATTEMPTS: usize = 3;

/// Sends `tags`, those of the checkpoint that the ref `shared` of the remote has in the commit `carrier`. The remote has `listed` its refs.
/// Adds what the server's hooks print to `said`.
pub(super) fn send(
    repo: &Repo,
    address: &ExactAddress,
    tags: &[String],
    (shared, carrier): (&str, ObjectId),
    listed: &[(String, ObjectId)],
    said: &mut Vec<String>,
) -> Result<Vec<SharedTag>> {
    let mut planned = plan(tags, listed, carrier);
    for attempt in 1.. {
        let new: Vec<String> = planned.iter().filter(|it| it.fate == TagFate::Sent).map(|it| it.name.clone()).collect();
        if new.is_empty() {
            break;
        }
        let report = match address.push_names(repo, carrier, &new, shared) {
            Err(error) if is_not_atomic(&error) => {
                return Ok(refused(tags, "the other side does not support --atomic"));
            }
            report => report?,
        };
        let mut refused = None;
        for it in report.refs.iter().filter(|it| new.contains(&it.name)) {
            if let Outcome::Refused(why) = &it.outcome {
                refused = Some(format!("{why}\n{}", report.errors).trim_end().to_owned());
            }
        }
        said.extend(report.said);
        let Some(why) = refused else { break };
        // All of them go, or none.
        let now = plan(tags, &address.list(repo, refname::TAGS)?, carrier);
        let is_same = now == planned;
        planned = now;
        if is_same || attempt == ATTEMPTS {
            for it in planned.iter_mut().filter(|it| it.fate == TagFate::Sent) {
                it.fate = TagFate::Refused { why: why.clone() };
            }
            break;
        }
    }
    Ok(planned)
}

/// Returns that none of `tags` could be sent, because of `why`.
pub(super) fn refused(tags: &[String], why: &str) -> Vec<SharedTag> {
    let fate = TagFate::Refused { why: why.to_owned() };
    let refused = |tag: &String| SharedTag { tag: tag.clone(), name: refname::tag_ref(tag), fate: fate.clone() };
    tags.iter().map(refused).collect()
}

/// Returns true if `error` says that the other side cannot take all refs or none.
pub(super) fn is_not_atomic(error: &Error) -> bool {
    error.causes().iter().any(|it| it.contains("not support --atomic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_only_where_none_of_its_name_is() {
        let id = |digit: char| ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("an id");
        let tags = ["new", "same", "other/one"].map(str::to_owned);
        let listed = [("same", '1'), ("other/one", '2')].map(|(tag, digit)| (refname::tag_ref(tag), id(digit)));
        let fates: Vec<TagFate> = plan(&tags, &listed, id('1')).into_iter().map(|it| it.fate).collect();
        assert_eq!(fates, [TagFate::Sent, TagFate::Same, TagFate::Kept]);
    }
}
