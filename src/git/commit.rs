//! Writes commits without hooks, templates, signatures or settings.

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{Commit, Kind as ObjectKind, WriteTo as _},
};

use super::{
    Repo,
    environment::{self, Heeded},
    new_objects::NewObjects,
};
use crate::{
    error::{Context as _, Kind, Result},
    model::checkpoint::Checkpoint,
};

/// A name and an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: BString,
    pub(crate) email: BString,
}

/// A moment with its offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Unix seconds.
    pub(crate) seconds: i64,
    /// The microseconds since then; 0 if they are not known.
    pub(crate) micros: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

impl Moment {
    /// Returns when `checkpoint` was taken.
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let &Checkpoint { seconds, micros, offset, .. } = checkpoint;
        Self { seconds, micros, offset }
    }
}

/// The content of a new commit.
#[derive(Clone, Debug)]
pub(crate) struct NewCommit<'a> {
    pub(crate) tree_id: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Identity,
    pub(crate) committer: Identity,
    pub(crate) time: Moment,
    pub(crate) message: &'a str,
}

/// The end of the addresses that agents have in our commits: no person has one.
const OF_AGENT: &str = "@agent.invalid";

/// Returns true if `email` is the address of an agent, as our commits have it.
pub(crate) fn is_of_agent(email: &[u8]) -> bool {
    email.ends_with(OF_AGENT.as_bytes())
}

impl Identity {
    /// Returns the identity for commits without a user or an agent behind them.
    pub(crate) fn fallback() -> Self {
        Self { name: "git-checkpoint".into(), email: "checkpoint@agent.invalid".into() }
    }

    /// Returns the identity of an agent in a session.
    pub(crate) fn of_agent(agent: &str, session: Option<&str>) -> Self {
        let email = format!(
            "{}{OF_AGENT}",
            session.map(|id| plain(id.as_bytes())).filter(|id| !id.is_empty()).unwrap_or("session".into())
        );
        let mut name = plain(agent.as_bytes());
        if name.is_empty() {
            name = "agent".into();
        }
        Self { name, email: email.into() }
    }
}

/// Removes what git removes from names: brackets and line breaks would break the commit's header.
fn plain(text: &[u8]) -> BString {
    let kept: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'<' | b'>' | b'\n' | b'\r' | 0)).collect();
    kept.trim().into()
}

impl Repo {
    /// Returns the user's identity from environment and settings, as git does, or the fallback.
    pub(crate) fn identity(&self) -> Identity {
        let find = |variable: &str, keys: [&str; 2]| {
            let from_environment = (self.heeds != Heeded::Nothing).then(|| environment::variable(variable)).flatten();
            let from_settings = keys.iter().filter_map(|key| self.config_value(key));
            from_environment.into_iter().chain(from_settings).map(|value| plain(&value)).find(|value| !value.is_empty())
        };
        let name = find("GIT_COMMITTER_NAME", ["committer.name", "user.name"]);
        let email = find("GIT_COMMITTER_EMAIL", ["committer.email", "user.email"]);
        match (name, email) {
            (Some(name), Some(email)) => Identity { name, email },
            (Some(name), None) => Identity { name, ..Identity::fallback() },
            _ => Identity::fallback(),
        }
    }

    /// Returns the current time with the local offset, or `GIT_COMMITTER_DATE`, which has no microseconds.
    pub(crate) fn now(&self) -> Moment {
        let fixed = (self.heeds != Heeded::Nothing).then(|| environment::variable("GIT_COMMITTER_DATE")).flatten();
        let fixed = fixed.and_then(|text| gix::date::parse(text.to_str().ok()?, Some(jiff::Zoned::now())).ok());
        if let Some(time) = fixed {
            return Moment { seconds: time.seconds, micros: 0, offset: time.offset };
        }
        let now = jiff::Timestamp::now();
        let micros = now.subsec_microsecond().unsigned_abs();
        Moment { seconds: now.as_second(), micros, offset: environment::local_zone().to_offset(now).seconds() }
    }

    /// Adds the commit to `objects` and returns its id.
    pub(crate) fn write_commit(new: &NewCommit<'_>, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        let time = gix::date::Time::new(new.time.seconds, new.time.offset);
        let signature =
            |who: &Identity| gix::actor::Signature { name: who.name.clone(), email: who.email.clone(), time };
        let commit = Commit {
            tree: new.tree_id,
            parents: new.parents.as_slice().into(),
            author: signature(&new.author),
            committer: signature(&new.committer),
            encoding: None,
            message: new.message.into(),
            extra_headers: Vec::new(),
        };
        let mut data = Vec::new();
        commit.write_to(&mut data).context(Kind::Internal, || "cannot encode a commit".into())?;
        objects.add(ObjectKind::Commit, &data)
    }

    /// Adds the commit that serves as base on an unborn branch to `objects`, and returns its id, which is the same in
    /// all repositories.
    pub(crate) fn write_unborn_base(objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        let tree_id = objects.add(ObjectKind::Tree, b"")?;
        let commit = NewCommit {
            tree_id,
            parents: Vec::new(),
            author: Identity::fallback(),
            committer: Identity::fallback(),
            time: Moment { seconds: 0, micros: 0, offset: 0 },
            message: "no commit yet\n\nThe base of checkpoints that were taken before the first commit.\n",
        };
        Self::write_commit(&commit, objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("claude-code", Some("7f3a"), "claude-code <7f3a@agent.invalid>")]
    #[case::no_session("claude-code", None, "claude-code <session@agent.invalid>")]
    #[case::empty("", Some(""), "agent <session@agent.invalid>")]
    #[case::brackets("<>", Some("< >"), "agent <session@agent.invalid>")]
    #[case::forged("a <b@c> 1 +0000\ncommitter x", Some("s>"), "a b@c 1 +0000committer x <s@agent.invalid>")]
    fn identities_of_agents_are_well_formed(
        #[case] agent: &str,
        #[case] session: Option<&str>,
        #[case] expected: &str,
    ) {
        let Identity { name, email } = Identity::of_agent(agent, session);
        assert_eq!(format!("{name} <{email}>"), expected);
    }
}
