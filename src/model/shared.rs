//! A checkpoint that travels alone: the message of the commit that carries it.
//!
//! It is no checkpoint where it arrives: what it says of agents and sessions is of another clone, and names them for people only.

use gix::ObjectId;

use super::{checkpoint::Checkpoint, trailer};

const ID: &str = "Checkpoint-Shared";
const BASE: &str = "Checkpoint-Base";
const AGENT: &str = "Checkpoint-Agent";
const MODEL: &str = "Checkpoint-Model";

/// Returns the message for `checkpoint`.
pub(crate) fn message(checkpoint: &Checkpoint) -> String {
    let origin = &checkpoint.origin;
    let mut trailers = vec![(ID, checkpoint.id.to_string()), (BASE, checkpoint.base.to_string())];
    trailers.extend(origin.agent.clone().map(|agent| (AGENT, agent)));
    trailers.extend(origin.model.clone().map(|model| (MODEL, model)));
    trailer::compose(&checkpoint.subject, &checkpoint.body, &trailers)
}

/// Returns the checkpoint that a commit with this `message` carries; none if it is not one of ours.
pub(crate) fn id_in(message: &str) -> Option<ObjectId> {
    let (_, _, trailers) = trailer::parse(message);
    let (first, rest) = trailers.split_first()?;
    let is_known = |(key, _): &(&str, &str)| [BASE, AGENT, MODEL].contains(key);
    let id = (first.0 == ID).then(|| ObjectId::from_hex(first.1.as_bytes()).ok())??;
    rest.iter().all(is_known).then_some(id)
}

/// What the message of a commit says of the checkpoint that it carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) subject: String,
    pub(crate) base: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
}

/// Returns what `message` says.
pub(crate) fn about(message: &str) -> About {
    let (subject, _, trailers) = trailer::parse(message);
    let value = |key: &str| trailers.iter().find(|(known, _)| *known == key).map(|(_, value)| (*value).to_owned());
    About { subject: subject.to_owned(), base: value(BASE), agent: value(AGENT), model: value(MODEL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[rstest::rstest]
    #[case::plain("s\n\nCheckpoint-Shared: ID\nCheckpoint-Base: unborn\n", true)]
    #[case::with_a_body("s\n\nbody: of it\n\nCheckpoint-Shared: ID\nCheckpoint-Base: ID\nCheckpoint-Agent: a\n", true)]
    #[case::a_checkpoint("s\n\nCheckpoint-Shared: ID\nCheckpoint-Contributor: agent\nCheckpoint-Base: ID\n", false)]
    #[case::a_record("s\n\nCheckpoint-Shared: ID\nCheckpoint: 0123456789abcdef\n", false)]
    #[case::none("s\n", false)]
    #[case::no_id("s\n\nCheckpoint-Shared: x\n", false)]
    fn messages_of_ours(#[case] message: &str, #[case] expected: bool) {
        let id = ObjectId::from_hex(ID.as_bytes()).expect("an id");
        assert_eq!(id_in(&message.replace("ID", ID)), expected.then_some(id));
    }
}
