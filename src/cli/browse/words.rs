//! The command lines that do what the browser does. They have whole ids; the bottom line shows them shortened.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    input::{Input, Purpose},
    lines::Line,
    ran::Words,
    rows::Row,
    state::{Mode, Pane, State},
    typed,
};
use crate::{
    model::{path_text, path_text::shell_word},
    ops::browse::Subject,
};

/// Returns `words` and `id`.
fn with(words: &[&str], id: Option<&ObjectId>) -> Words {
    words.iter().map(OsString::from).chain(id.map(|id| id.to_string().into())).collect()
}

impl State {
    /// Returns the command line that does the same as what is shown or asked.
    pub(super) fn command(&self) -> Words {
        match &self.mode {
            Mode::Input(input) => typed_command(input),
            Mode::Text(text) => text.then.as_ref().unwrap_or(&text.words).clone(),
            Mode::Help(_) => with(&["browse", "--help"], None),
            Mode::Normal => self.shown_by(),
        }
    }

    /// Returns what prints what is selected.
    fn shown_by(&self) -> Words {
        let Some(subject) = self.subject() else { return with(&["list"], None) };
        let mut paths = self.paths.clone();
        if self.pane != Pane::Timeline
            && let Some(file) = self.file()
        {
            let names = [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
            paths = names.map(|path| self.pathspec(path)).collect();
        }
        let mut words = match &subject {
            Subject::Worktree => with(&["attribution", "--worktree", "--patch"], None),
            Subject::Commit(id) => with(&["attribution", "--patch"], Some(id)),
            Subject::Checkpoint { before, id } => {
                let is_whole = paths.is_empty() && !self.is_turn();
                if is_whole {
                    with(&["show", "--patch"], Some(id))
                } else {
                    [with(&["diff"], Some(before)), with(&[], Some(id))].concat()
                }
            }
            Subject::Compared { from, to } => [with(&["diff"], Some(from)), with(&[], to.as_ref())].concat(),
        };
        add_paths(&mut words, paths);
        words
    }

    /// Returns true if the selected row stands for several checkpoints of a turn.
    fn is_turn(&self) -> bool {
        matches!(self.row(), Some(Row::Checkpoint(row)) if row.folded > 0)
    }

    /// Returns the command that restores what is selected: in the list, all of it, else the file. None if that is no other state.
    pub(super) fn restore(&self) -> Option<Words> {
        let id = self.row()?.id()?;
        let mut words = with(&["restore"], None);
        words.extend(self.picks.iter().flatten().cloned());
        words.push(id.to_string().into());
        let file = self.file().filter(|_| self.picks.is_none() && self.pane != Pane::Timeline);
        let paths = file.map_or_else(|| self.paths.clone(), |file| vec![self.pathspec(&file.path)]);
        add_paths(&mut words, paths);
        Some(words)
    }

    /// Returns the command that explains the selected line.
    pub(super) fn why(&self) -> Result<Words, &'static str> {
        let file = self.file().ok_or("no file is selected")?;
        let lines = file.lines.as_deref().unwrap_or_default().get(self.line_at..).unwrap_or_default();
        let number = lines.iter().find_map(|line| match line {
            Line::Header(_) => None,
            Line::Changed(line) => Some(line.number),
        });
        let number = number.flatten().ok_or("a deleted line is nowhere to be explained; select one that is there")?;
        let mut words = with(&["why"], None);
        if let Some(Subject::Commit(id) | Subject::Checkpoint { id, .. } | Subject::Compared { to: Some(id), .. }) =
            self.subject()
        {
            words.extend([OsString::from("--rev"), id.to_string().into()]);
        }
        let mut place = path_text::relative(file.path.as_bstr(), self.prefix.as_bstr());
        place.extend_from_slice(format!(":{number}").as_bytes());
        let place = if place.starts_with(b"-") { [b"./", place.as_slice()].concat() } else { place.into() };
        words.push(OsString::from_vec(place));
        Ok(words)
    }

    /// Returns the pathspec that only matches `path`, as it is typed in the current directory.
    fn pathspec(&self, path: &BString) -> OsString {
        let relative = path_text::relative(path.as_bstr(), self.prefix.as_bstr());
        let is_plain = !relative.starts_with(b":") && relative.find_byteset(b"*?[\\").is_none();
        let spec = if is_plain { relative.to_vec() } else { [b":(literal)", relative.as_slice()].concat() };
        OsString::from_vec(spec)
    }
}

/// Returns the command that does what is typed.
fn typed_command(Input { purpose, text }: &Input) -> Words {
    match purpose {
        Purpose::Search if text.starts_with('-') => with(&["search", "--", text], None),
        Purpose::Search => with(&["search", text], None),
        Purpose::Filter => {
            let typed = typed::words(text).unwrap_or_default();
            [OsString::from("list")].into_iter().chain(typed).collect()
        }
        Purpose::Tag(id) => tag(text, id),
    }
}

fn add_paths(words: &mut Words, paths: Words) {
    if !paths.is_empty() {
        words.push("--".into());
        words.extend(paths);
    }
}

/// Returns the command that gives `id` the tag `name`.
pub(super) fn tag(name: &str, id: &ObjectId) -> Words {
    // A name that begins with a dash is none, and no option either.
    let words: &[&str] = if name.starts_with('-') { &["tag", "--"] } else { &["tag"] };
    [with(words, None), with(&[name], Some(id))].concat()
}

/// Returns `words` with the option for a plan.
pub(super) fn plan_of(words: &[OsString]) -> Words {
    let mut plan = words.to_vec();
    plan.insert(1, "--dry-run".into());
    plan
}

/// Returns the command that `plan` is the plan of.
pub(super) fn planned(plan: &[OsString]) -> Words {
    let mut words = plan.to_vec();
    words.remove(1);
    words
}

/// Returns the checkpoint of `words`, a restore: the last word before the paths.
pub(super) fn checkpoint(words: &[OsString]) -> Option<String> {
    Some(words.split(|word| word == "--").next()?.last()?.to_str()?.to_owned())
}

/// Returns the command `words`, a restore, for all that differs.
pub(super) fn with_all(words: &[OsString]) -> Words {
    let mut all = words.to_vec();
    if !all.iter().any(|word| word == "--all") {
        all.insert(1, "--all".into());
    }
    all
}

/// Returns true if `words` are the plan of a restore that leaves what others have changed.
pub(super) fn is_plan_of_restore(words: &[OsString]) -> bool {
    let is_there = |wanted: &str| words.iter().any(|word| word == wanted);
    words.first().is_some_and(|command| command == "restore") && is_there("--dry-run") && !is_there("--all")
}

/// Returns a command for the checkpoint `id`.
pub(super) fn of(words: &[&str], id: &ObjectId) -> Words {
    with(words, Some(id))
}

/// Returns a command without a checkpoint.
pub(super) fn alone(words: &[&str]) -> Words {
    with(words, None)
}

/// Returns the command line to type in a shell, with ids as `short` abbreviates them.
pub(super) fn text(words: &[OsString], short: &dyn Fn(&ObjectId) -> String) -> String {
    let word = |word: &OsString| match ObjectId::from_hex(word.as_bytes()) {
        Ok(id) => short(&id),
        Err(_) => shell_word(&path_text::escape(OsStr::as_bytes(word).as_bstr())),
    };
    let words: Vec<String> = words.iter().map(word).collect();
    super::super::output::printable(format!("git checkpoint {}", words.join(" ")))
}
