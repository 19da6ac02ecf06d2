//! A checkpoint as a value, and its message form.

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    date::Time,
    objs::{CommitRef, CommitRefIter, commit::ref_iter::Token},
};

use super::{contributor::Contributor, refname::Base, secret::Secret, session::is_valid_id, trailer};

/// The metadata of a checkpoint, stored as trailers of its commit message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Who made the change.
    pub contributor: Contributor,
    /// The agent's session.
    pub session: Option<String>,
    /// The agent's name, for example `claude-code`.
    pub agent: Option<String>,
    /// The model the agent used.
    pub model: Option<String>,
    /// The turn of the session, counted from 1.
    pub turn: Option<u32>,
    /// The subagent of the agent that made the change, if it was not the agent itself.
    pub agent_id: Option<String>,
    /// The tool that made the change.
    pub tool: Option<String>,
    /// A note of the user.
    pub note: Option<String>,
    /// The tip of another chain whose work this checkpoint carries forward.
    pub carried: Option<ObjectId>,
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            contributor: Contributor::Human,
            session: None,
            agent: None,
            model: None,
            turn: None,
            agent_id: None,
            tool: None,
            note: None,
            carried: None,
        }
    }
}

impl Origin {
    /// Returns true if it is, or may be, the work of a session.
    pub(crate) fn may_be_of_session(&self) -> bool {
        self.session.is_some() || self.contributor == Contributor::Unknown
    }
}

/// The whole worktree at one moment, as read from its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The commit.
    pub id: ObjectId,
    /// The worktree's content, as `git add -A` would store it.
    pub tree_id: ObjectId,
    /// The previous checkpoint, or the base commit for the first of a shadow.
    pub parent_id: ObjectId,
    /// The checkpoint of another shadow of the same worktree and base that was the latest when it was taken.
    pub after: Option<ObjectId>,
    /// The side commit: staged tree, raw bytes, manifest.
    pub side_id: Option<ObjectId>,
    /// The base commit of the shadow.
    pub base: Base,
    /// The worktree it was taken in: `main` or git's id of the linked one.
    pub worktree: BString,
    /// Who made it, and where.
    pub origin: Origin,
    /// The first line of the message.
    pub subject: String,
    /// The message between subject and trailers.
    pub body: String,
    /// When it was taken, in Unix seconds.
    pub seconds: i64,
    /// The microseconds since then; 0 if they are not known.
    pub micros: u32,
    /// The offset from UTC of the place where it was taken, in seconds.
    pub offset: i32,
}

const CONTRIBUTOR: &str = "Checkpoint-Contributor";
const SESSION: &str = "Checkpoint-Session";
const AGENT: &str = "Checkpoint-Agent";
const MODEL: &str = "Checkpoint-Model";
const TURN: &str = "Checkpoint-Turn";
const AGENT_ID: &str = "Checkpoint-Agent-Id";
const TOOL: &str = "Checkpoint-Tool";
const NOTE: &str = "Checkpoint-Note";
const CARRIED: &str = "Checkpoint-Carried";
const AFTER: &str = "Checkpoint-After";
const BASE: &str = "Checkpoint-Base";
const WORKTREE: &str = "Checkpoint-Worktree";
const MICROSECONDS: &str = "Checkpoint-Microseconds";

/// Returns the commit message of a checkpoint.
pub fn message(
    subject: &str,
    body: &str,
    origin: &Origin,
    base: Base,
    worktree: &bstr::BStr,
    after: Option<ObjectId>,
    micros: u32,
) -> String {
    let mut trailers = vec![(CONTRIBUTOR, origin.contributor.as_str().to_owned())];
    let optional = [
        (SESSION, origin.session.clone()),
        (AGENT, origin.agent.clone()),
        (MODEL, origin.model.clone()),
        (TURN, origin.turn.map(|turn| turn.to_string())),
        (AGENT_ID, origin.agent_id.clone()),
        (TOOL, origin.tool.clone()),
        (NOTE, origin.note.clone()),
        (CARRIED, origin.carried.map(|id| id.to_string())),
        (AFTER, after.map(|id| id.to_string())),
    ];
    trailers.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
    trailers.push((BASE, base.to_string()));
    trailers.push((WORKTREE, super::refname::encode_component(worktree)));
    trailers.extend((micros > 0).then(|| (MICROSECONDS, micros.to_string())));
    trailer::compose(subject, body, &trailers)
}

/// The other checkpoints that the message of a checkpoint names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// As in [`Origin::carried`].
    pub(crate) carried: Option<ObjectId>,
    /// As in [`Checkpoint::after`].
    pub(crate) after: Option<ObjectId>,
    /// As in [`Origin::tool`]: the tool of what a restore has put back names a checkpoint.
    pub(crate) tool: Option<String>,
}

impl Links {
    /// Returns those of `checkpoint`.
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let Origin { carried, tool, .. } = &checkpoint.origin;
        Self { carried: *carried, after: checkpoint.after, tool: tool.clone() }
    }
}

/// Returns the `message` of a checkpoint with `links` in the place of its own. Trailers that are not known stay.
pub(crate) fn relinked(message: &str, links: &Links) -> String {
    let (subject, body, old) = trailer::parse(message);
    let is_link = |key: &str| [TOOL, CARRIED, AFTER].contains(&key);
    let new = [
        (TOOL, links.tool.clone()),
        (CARRIED, links.carried.map(|id| id.to_string())),
        (AFTER, links.after.map(|id| id.to_string())),
    ];
    let value = |key: &str| new.iter().find(|(name, _)| *name == key).and_then(|(_, value)| value.clone());
    let is_new = |key: &str| old.iter().all(|(name, _)| *name != key);
    let mut trailers = Vec::new();
    for (key, text) in &old {
        if *key == BASE {
            let missing = new.iter().filter(|(key, _)| is_new(key));
            trailers.extend(missing.filter_map(|(key, value)| Some((*key, value.clone()?))));
        }
        let value = if is_link(key) { value(key) } else { Some((*text).to_owned()) };
        trailers.extend(value.map(|value| (*key, value)));
    }
    trailer::compose(subject, body, &trailers)
}

/// Returns the `message` of a checkpoint without the text of `secret`. Subject, body and the free texts among the trailers are
/// texts; ids and names are none. Returns none if nothing is replaced.
pub(crate) fn without(secret: &Secret, message: &str) -> Option<String> {
    let (subject, body, old) = trailer::parse(message);
    let new = secret.replace_in_message(subject, body);
    let mut is_changed = new.is_some();
    let mut trailers = Vec::new();
    for (key, text) in old {
        let new = if [NOTE, TOOL].contains(&key) { secret.replace_in(text) } else { None };
        is_changed |= new.is_some();
        trailers.push((key, new.unwrap_or_else(|| text.to_owned())));
    }
    let (subject, body) = new.unwrap_or_else(|| (subject.into(), body.into()));
    is_changed.then(|| trailer::compose(&subject, &body, &trailers))
}

impl Checkpoint {
    /// Returns the commit before it in time, of whichever shadow: the difference is what its contributor did.
    pub(crate) fn before_id(&self) -> ObjectId {
        self.after.unwrap_or(self.parent_id)
    }

    /// Returns when it was taken, to the microsecond if that is known, so that checkpoints can be compared.
    pub(crate) fn taken(&self) -> (i64, u32) {
        (self.seconds, self.micros)
    }

    /// Parses the commit `id` as a checkpoint; none if it is not one.
    ///
    /// A checkpoint's message names contributor, base and worktree, and the commit has a parent.
    pub(crate) fn from_commit(id: ObjectId, commit: &CommitRef<'_>) -> Option<Self> {
        Self::of(id, Parts::of(commit)?)
    }

    /// Parses `data`, the commit `id`, as a checkpoint; none if it is not one.
    ///
    /// # Errors
    /// If it is no well-formed commit.
    pub(crate) fn parse(id: ObjectId, data: &[u8]) -> gix::Result<Option<Self>> {
        match Parts::read(id.kind(), data) {
            Some(parts) => Ok(Self::of(id, parts)),
            None => Ok(Self::from_commit(id, &CommitRef::from_bytes(data, id.kind())?)),
        }
    }

    fn of(id: ObjectId, Parts { tree_id, mut parents, time, message }: Parts<'_>) -> Option<Self> {
        let text = message.to_str_lossy();
        let (subject, body, trailers) = trailer::parse(&text);
        let value = |key: &str| trailers.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        let id_of = |key: &str| value(key).and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
        let (carried, mut after) = (id_of(CARRIED), id_of(AFTER));
        // The parents: the previous checkpoint, the side commit, the chain that is carried forward, and the previous
        // checkpoint in time.
        let mut take_last = |id: Option<ObjectId>| {
            let is_there = id.is_some() && parents.len() > 1 && parents.last() == id.as_ref();
            if is_there {
                parents.pop();
            }
            is_there
        };
        // Ignore an id that is not a parent: git may remove that commit at any time.
        after = after.filter(|id| take_last(Some(*id)));
        take_last(carried);
        let (contributor, session) = (Contributor::from_word(&value(CONTRIBUTOR)?)?, value(SESSION));
        // Ids name files and are shown: what is no id comes from elsewhere and says nothing.
        let is_valid = session.as_deref().is_none_or(is_valid_id);
        Some(Self {
            id,
            tree_id,
            parent_id: *parents.first()?,
            after,
            side_id: parents.get(1).copied(),
            base: Base::parse(&value(BASE)?)?,
            worktree: super::refname::decode_component(&value(WORKTREE)?)?,
            origin: Origin {
                contributor: if is_valid { contributor } else { Contributor::Unknown },
                session: session.filter(|_| is_valid),
                agent: value(AGENT),
                model: value(MODEL),
                turn: value(TURN).and_then(|turn| turn.parse().ok()),
                agent_id: value(AGENT_ID),
                tool: value(TOOL),
                note: value(NOTE),
                carried,
            },
            subject: subject.to_owned(),
            body: body.to_owned(),
            seconds: time.seconds,
            micros: value(MICROSECONDS)
                .and_then(|text| text.parse().ok())
                .filter(|micros| *micros < 1_000_000)
                .unwrap_or(0),
            offset: time.offset,
        })
    }
}

/// What a checkpoint is made of.
struct Parts<'c> {
    tree_id: ObjectId,
    parents: Vec<ObjectId>,
    /// When it was committed.
    time: Time,
    message: &'c BStr,
}

impl<'c> Parts<'c> {
    fn of(commit: &CommitRef<'c>) -> Option<Self> {
        let time = commit.committer().ok()?.time().ok()?;
        Some(Self { tree_id: commit.tree(), parents: commit.parents().collect(), time, message: commit.message })
    }

    /// Returns the parts of the commit `data`; none if something is unusual. To parse a whole commit takes twice as long: the
    /// library then makes an error of each header that could be there and is not.
    fn read(hash: gix::hash::Kind, data: &'c [u8]) -> Option<Self> {
        let (mut tree_id, mut parents, mut time, mut message) = (None, Vec::new(), None, None);
        for token in CommitRefIter::from_bytes(data, hash) {
            match token.ok()? {
                Token::Tree { id } => tree_id = Some(id),
                Token::Parent { id } => parents.push(id),
                Token::Committer { signature } => time = Some(signature.time().ok()?),
                Token::Message(text) => message = Some(text),
                Token::Author { .. } | Token::Encoding(_) | Token::ExtraHeader(_) => {}
            }
        }
        Some(Self { tree_id: tree_id?, parents, time: time?, message: message? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("40 digits")
    }

    fn links(carried: Option<char>, after: Option<char>, tool: Option<&str>) -> Links {
        Links { carried: carried.map(id), after: after.map(id), tool: tool.map(ToOwned::to_owned) }
    }

    #[rstest::rstest]
    #[case::as_before(links(Some('a'), Some('b'), Some("restore x")))]
    #[case::others(links(Some('c'), Some('d'), Some("restore y")))]
    #[case::fewer(links(None, None, None))]
    fn a_message_gets_other_links(#[case] new: Links) {
        let origin = |links: &Links| Origin { carried: links.carried, tool: links.tool.clone(), ..Origin::default() };
        let written = |links: &Links| {
            message("subject", "body\n\nmore: of it", &origin(links), Base::Unborn, "main".into(), links.after, 7)
        };
        let old = links(Some('a'), Some('b'), Some("restore x"));
        assert_eq!(relinked(&written(&old), &new), written(&new));
        assert_eq!(relinked(&written(&links(None, None, None)), &new), written(&new));
    }

    #[rstest::rstest]
    #[case::plain("my secret\n\nA: 1\n", "secret", Some("my [purged]\n\nA: 1\n"))]
    #[case::across_subject_and_body("k: one\n\ntwo\n\nA: 1\n", "one\ntwo", Some("k: [purged]\n\n[purged]\n\nA: 1\n"))]
    #[case::with_a_blank_line("k: one\n\ntwo\n\nA: 1\n", "one\n\ntwo", Some("k: [purged]\n\n[purged]\n\nA: 1\n"))]
    #[case::a_prompt_of_which_the_subject_is_the_first_line(
        "use begin\n\nA: 1\n",
        "begin\ntwo",
        Some("use [purged]\n\nA: 1\n")
    )]
    #[case::not_the_end_of_the_line("begin it\n\nA: 1\n", "begin\ntwo", None)]
    #[case::a_name("s\n\nCheckpoint-Session: secret\n", "secret", None)]
    #[case::a_note("s\n\nCheckpoint-Note: secret\n", "secret", Some("s\n\nCheckpoint-Note: [purged]\n"))]
    fn a_text_is_replaced(#[case] message: &str, #[case] text: &str, #[case] expected: Option<&str>) {
        let secret = Secret::new(&[text.into()]).expect("it can be searched for");
        assert_eq!(without(&secret, message).as_deref(), expected);
    }

    #[test]
    fn unknown_trailers_stay() {
        let text = "s\n\nCheckpoint-Contributor: human\nCheckpoint-New: 1\nCheckpoint-Base: unborn\n";
        assert_eq!(relinked(text, &links(None, None, None)), text);
    }
}
