//! Which files may be taken for an agent's conversation: those in the folders where it keeps them, and in those that the
//! user names.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    path::{Component, Path, PathBuf},
};

use crate::{
    agent::{
        conversation,
        dialect::{Dialect, Environment},
        event::Moment,
    },
    error::{Error, Result},
    git,
    ops::Context,
};

/// Returns the transcript that an event has `named`, if it may be read.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if it lies elsewhere.
pub(super) fn checked(
    named: Option<&String>,
    dialect: &Dialect,
    environment: &Environment,
    context: &Context,
) -> Result<Option<String>> {
    let Some(named) = named else { return Ok(None) };
    let home = git::home().unwrap_or_default();
    let path = named.strip_prefix("~/").map_or_else(|| PathBuf::from(named), |rest| home.join(rest));
    let known = dialect.transcript_homes(&home, environment).into_iter();
    let mut folders = known.chain(context.settings.agents.transcript_dirs.iter().cloned());
    let real = real(&path).filter(|path| folders.any(|folder| lies_in(path, &folder)));
    let refused = || {
        Error::user(format!(
            "the transcript is outside the folders where {} keeps its conversations, and is not read",
            dialect.title
        ))
        .with_hint("'agents.transcript-dirs' names other folders")
    };
    real.and_then(|path| path.into_os_string().into_string().ok()).map(Some).ok_or_else(refused)
}

/// Returns the model that the conversation in `path` names last; none if it names none, or if `moment` is not in or after the
/// model's answer.
pub(super) fn model(path: &str, moment: Moment) -> Option<String> {
    // How many bytes of a long conversation are read, at its end. An agent waits for us before and after each tool.
    let most = match moment {
        Moment::PreTool | Moment::PostTool => 1 << 18,
        Moment::Stop | Moment::SubagentStop | Moment::Interrupt | Moment::SessionEnd => 1 << 20,
        _ => return None,
    };
    // Do not block on a named pipe without a writer.
    let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    let mut file = std::fs::File::open(path).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(most))).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    conversation::model(&String::from_utf8_lossy(&bytes))
}

/// Returns `path` without links; the agent may still have to make the file, and the folders that it is in.
fn real(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    let real = std::fs::canonicalize(there).ok().filter(|_| is_plain)?;
    // To join nothing would append a slash.
    Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

fn lies_in(path: &Path, folder: &Path) -> bool {
    folder.is_absolute()
        && std::fs::canonicalize(folder).is_ok_and(|folder| folder.parent().is_some() && path.starts_with(folder))
}
