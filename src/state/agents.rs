//! The last event that each agent reported: one tiny file per agent below `<common-dir>/checkpoint/agents`.

use std::{
    fs,
    io::{ErrorKind, Read as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use super::directory;
use crate::error::{Context as _, Error, Kind, Result};

/// What an agent reported last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The agent's name.
    pub agent: String,
    /// What happened, in the word of the neutral protocol.
    pub moment: String,
    /// When, in Unix seconds.
    pub seconds: i64,
}

/// More than this is in a file only if it is damaged.
const LONGEST: u64 = 200;

fn folder(common_dir: &Path) -> PathBuf {
    directory(common_dir).join("agents")
}

/// Returns true if `word` is made as our own names of agents and events are, and so may name a file.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// Notes that `agent` reported `moment` at `seconds`, in Unix time.
///
/// # Errors
/// [`Kind::Internal`] if `agent` or `moment` is no name of ours, or the file cannot be written.
pub(crate) fn note(common_dir: &Path, agent: &str, moment: &str, seconds: i64) -> Result<()> {
    if !is_word(agent) || !is_word(moment) {
        return Err(Error::internal("an agent or event without a name of ours cannot be noted"));
    }
    let folder = folder(common_dir);
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    let path = folder.join(agent);
    write(&path, format!("{moment} {seconds}\n").as_bytes())
        .context(Kind::Internal, || format!("cannot write '{}'", path.display()))
}

/// Writes in place: no lock is held here, so that a temporary file would stay if we were killed. Does not empty the file first:
/// some file systems then write the new content to the disk at once.
fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let file = fs::File::options().write(true).create(true).truncate(false).open(path)?;
    file.write_all_at(text, 0)?;
    let length = text.len() as u64;
    if file.metadata()?.len() == length { Ok(()) } else { file.set_len(length) }
}

/// Returns what each agent reported last, by name; files that make no sense are left out.
pub(crate) fn seen(common_dir: &Path) -> Result<Vec<Seen>> {
    let folder = folder(common_dir);
    let what = || format!("cannot read '{}'", folder.display());
    let entries = match fs::read_dir(&folder) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.context(Kind::Internal, what)?,
    };
    let mut seen = Vec::new();
    for entry in entries {
        let entry = entry.context(Kind::Internal, what)?;
        let Some(agent) = entry.file_name().to_str().filter(|name| is_word(name)).map(str::to_owned) else { continue };
        seen.extend(read(&entry.path()).and_then(|text| parse(agent, &text)));
    }
    seen.sort_by(|a, b| a.agent.cmp(&b.agent));
    Ok(seen)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

fn parse(agent: String, text: &str) -> Option<Seen> {
    let (moment, seconds) = text.strip_suffix('\n')?.split_once(' ')?;
    let (moment, seconds) = (moment.to_owned(), seconds.parse().ok()?);
    is_word(&moment).then_some(Seen { agent, moment, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_of_each_agent_is_known() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(seen(dir.path()).expect("readable"), []);
        for (agent, moment, seconds) in [("codex", "prompt", 5), ("claude-code", "stop", 6), ("codex", "stop", 7)] {
            note(dir.path(), agent, moment, seconds).expect("it can be written");
        }
        let of = |agent: &str, seconds| Seen { agent: agent.into(), moment: "stop".into(), seconds };
        assert_eq!(seen(dir.path()).expect("readable"), [of("claude-code", 6), of("codex", 7)]);
        for (name, text) in [("gemini", "stop x\n"), ("kiro", "stop 5"), ("amp", "\0"), ("X", "stop 5\n")] {
            fs::write(folder(dir.path()).join(name), text).expect("it is ours");
        }
        assert_eq!(seen(dir.path()).expect("readable").len(), 2, "damage is left out");
    }

    #[rstest::rstest]
    #[case::up("../x", "stop")]
    #[case::empty("", "stop")]
    #[case::control("codex", "a\nb")]
    fn only_names_of_ours_become_files(#[case] agent: &str, #[case] moment: &str) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        note(dir.path(), agent, moment, 1).expect_err("no such name");
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
    }
}
