//! A checkpoint as a value, and its message form.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{contributor::Contributor, refname::Base, session::is_valid_id, trailer};

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

/// Returns the commit message of a checkpoint.
pub fn message(
    subject: &str,
    body: &str,
    origin: &Origin,
    base: Base,
    worktree: &bstr::BStr,
    after: Option<ObjectId>,
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
    trailer::compose(subject, body, &trailers)
}

impl Checkpoint {
    /// Returns the commit before it in time, of whichever shadow: the difference is what its contributor did.
    pub(crate) fn before_id(&self) -> ObjectId {
        self.after.unwrap_or(self.parent_id)
    }

    /// Parses the commit `id` as a checkpoint; none if it is not one.
    ///
    /// A checkpoint's message names contributor, base and worktree, and the commit has a parent.
    pub(crate) fn from_commit(id: ObjectId, commit: &gix::objs::CommitRef<'_>) -> Option<Self> {
        let text = commit.message.to_str_lossy();
        let (subject, body, trailers) = trailer::parse(&text);
        let value = |key: &str| trailers.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        let id_of = |key: &str| value(key).and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
        let (carried, mut after) = (id_of(CARRIED), id_of(AFTER));
        // The parents: the previous checkpoint, the side commit, the chain that is carried forward, and the previous
        // checkpoint in time.
        let mut parents: Vec<ObjectId> = commit.parents().collect();
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
        let time = commit.committer().ok()?.time().ok()?;
        let (contributor, session) = (Contributor::from_word(&value(CONTRIBUTOR)?)?, value(SESSION));
        // Ids name files and are shown: what is no id comes from elsewhere and says nothing.
        let is_valid = session.as_deref().is_none_or(is_valid_id);
        Some(Self {
            id,
            tree_id: commit.tree(),
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
            offset: time.offset,
        })
    }
}
