//! Sessions: start, prompt, stop, end, and what people ask of them.
//!
//! Each event is a step of the table in `model::session`; what the files say is intent, what the refs say is fact.

mod elsewhere;
mod events;
mod known;
mod listing;
mod prompt;
mod warning;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::Context;
use crate::{
    error::{Error, Kind, Result},
    model::session::{LONGEST_ID, Phase, is_valid_id},
    state,
};

pub use elsewhere::Elsewhere;
pub(crate) use elsewhere::{is_elsewhere, leave_elsewhere};
pub(crate) use events::close_turn;
pub use events::{Ended, Started, Stopped, end, start, stop};
pub(crate) use events::{begin as begin_session, leave, seen_here};
pub(crate) use known::{clock, known, sign_of_life};
pub use listing::{Adopted, Forgotten, Listed, Shown, adopt, forget, list, show};
pub(crate) use prompt::{Opening, begin as begin_turn, told_of};
pub use prompt::{Prompted, prompt};
pub(crate) use warning::question;
pub use warning::{OnMultisession, Other, Question};

/// What is told of a session by whoever runs it.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The file that the agent writes the conversation to.
    pub transcript: Option<String>,
    /// What to do when another session has uncommitted work here.
    pub on_multisession: OnMultisession,
}

/// A session as it is after an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where it stands.
    pub phase: Phase,
    /// The number of its last turn.
    pub turn: u32,
    /// The worktree it works in.
    pub worktree: String,
    /// The commit at HEAD when it was last seen.
    pub base: String,
    /// True if the first checkpoint of the turn sets the shadow aside.
    pub should_reset_shadow: bool,
    /// When it was first seen, in Unix seconds.
    pub started: i64,
    /// When it was last seen, in Unix seconds.
    pub last_seen: i64,
}

impl From<&crate::model::session::Session> for State {
    fn from(session: &crate::model::session::Session) -> Self {
        Self {
            id: session.id.clone(),
            agent: session.agent.clone(),
            model: session.model.clone(),
            phase: session.phase,
            turn: session.turn.number,
            worktree: session.worktree.clone(),
            base: session.base.clone(),
            should_reset_shadow: session.turn.should_reset_shadow,
            started: session.started,
            last_seen: session.last_seen,
        }
    }
}

/// Refuses what cannot be the id of a session.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if is_valid_id(id) {
        return Ok(());
    }
    let shown: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
    Err(Error::user(format!("invalid session id '{shown}'")).with_hint(format!(
        "an id is at most {LONGEST_ID} characters long, without control characters or blanks at its ends"
    )))
}

/// Runs `event` again if others have moved a ref under way: `git pack-refs` may show one as it was a moment before.
fn again<T>(event: impl Fn() -> Result<T>) -> Result<T> {
    const LONGEST: Duration = Duration::from_secs(2);
    let start = Instant::now();
    loop {
        match event() {
            Err(error) if error.kind() == Kind::Race && start.elapsed() < LONGEST => {
                std::thread::sleep(Duration::from_millis(25));
            }
            outcome => return outcome,
        }
    }
}

/// Returns an id for a session that has none: the day, and something random.
pub fn new_id() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{}-{:06x}", jiff::Zoned::now().date(), random & 0xff_ffff)
}

fn unknown(id: &str) -> Error {
    Error::refused(format!("no session '{id}'")).with_hint("'git checkpoint session list' shows those that are known")
}

/// Makes sure that there is a place for our files, and that this is a place to take checkpoints.
pub(crate) fn prepare(context: &Context) -> Result<()> {
    super::save::refuse_protected(context, false)?;
    state::ensure_directory(context.repo.git_dir()).map(drop)
}

/// Refuses a transcript that is no file.
fn check_transcript(told: &Told) -> Result<()> {
    match &told.transcript {
        Some(path) if !Path::new(path).is_absolute() => {
            Err(Error::new(Kind::User, format!("the transcript '{path}' is not an absolute path")))
        }
        _ => Ok(()),
    }
}
