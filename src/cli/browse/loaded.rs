//! What was read of the selected row, ready to be drawn: printable, and with the owner of each line.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{date, output::printable, phrase},
    lines::Line,
};
use crate::{
    model::{attribution::summary::Figures, contributor::Contributor, moment, path_text},
    ops::browse::{About, Details, File, Lines, Subject},
};

/// What was read of a row.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) subject: Subject,
    /// What is said of it above the files.
    pub(super) about: Vec<String>,
    pub(super) files: Vec<Shown>,
    /// Why not all of it could be read.
    pub(super) troubles: Vec<String>,
}

/// A file that was changed.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) path: BString,
    pub(super) old_path: Option<BString>,
    /// The path, or both paths, printable.
    pub(super) name: String,
    pub(super) letter: char,
    pub(super) counted: Option<(u32, u32)>,
    /// The added lines of agents, of both, of people, and of unknown authors, and those that were only moved.
    pub(super) bar: Option<[u32; 5]>,
    /// The lines, if they were read.
    pub(super) lines: Option<Vec<Line>>,
    /// True if the owners of lines were looked for.
    pub(super) is_owned: bool,
}

impl Loaded {
    /// Returns `details` of `subject` ready to be drawn; `short` abbreviates ids, and `now` is the time.
    pub(super) fn new(subject: Subject, details: Details, short: &dyn Fn(&ObjectId) -> String, now: i64) -> Self {
        let about = about(&details.about, &subject, short, now);
        let is_owned = !matches!(subject, Subject::Compared { to: None, .. });
        let files = details.files.into_iter().map(|file| shown(file, is_owned)).collect();
        Self { subject, about, files, troubles: details.troubles.iter().map(printable).collect() }
    }

    /// Returns what is shown of what cannot be read, and `why`.
    pub(super) fn unreadable(subject: Subject, why: &str) -> Self {
        Self { subject, about: vec!["cannot be read".to_owned()], files: Vec::new(), troubles: vec![why.to_owned()] }
    }

    /// Notes that the file at `path` cannot be read, and `why`.
    pub(super) fn give_up(&mut self, path: &BString, why: &str) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == *path) {
            file.is_owned = true;
            file.lines.get_or_insert_with(|| vec![Line::Header(why.to_owned())]);
        }
    }

    /// Takes what was read of the file at `path` alone.
    pub(super) fn take(&mut self, path: &BString, details: Details) {
        let Some(known) = self.files.iter_mut().find(|file| file.path == *path) else { return };
        match details.files.into_iter().find(|file| file.path == *path) {
            Some(file) => *known = shown(file, true),
            // It has changed meanwhile, and is as it was.
            None => known.lines = Some(Vec::new()),
        }
        known.is_owned = true;
        known.lines.get_or_insert_default();
    }
}

fn shown(file: File, is_owned: bool) -> Shown {
    let quoted = |path: &BString| path_text::printable(path.as_bstr());
    let name = match &file.old_path {
        Some(old_path) => format!("{} <- {}", quoted(&file.path), quoted(old_path)),
        None => quoted(&file.path),
    };
    Shown {
        name,
        letter: file.letter,
        counted: file.counted,
        bar: file.figures.as_ref().map(bar),
        lines: file.lines.as_ref().map(Lines::shown),
        path: file.path,
        old_path: file.old_path,
        is_owned,
    }
}

fn bar(figures: &Figures) -> [u32; 5] {
    let human = figures.human_added + figures.human_modified;
    [figures.agent_lines, figures.mixed, human, figures.unknown, figures.kept_added]
}

fn about(about: &About, subject: &Subject, short: &dyn Fn(&ObjectId) -> String, now: i64) -> Vec<String> {
    match about {
        About::Worktree => vec!["what is not committed yet".to_owned()],
        About::Compared => {
            let Subject::Compared { from, to } = subject else { return Vec::new() };
            let to = to.as_ref().map_or_else(|| "the worktree".to_owned(), short);
            vec![format!("from {} to {to}", short(from))]
        }
        About::Commit(id, author, (seconds, offset), subject) => vec![
            format!("commit {}", short(id)),
            format!("{} ({})", moment::iso(*seconds, *offset), date::relative(*seconds, now)),
            format!("by {}", printable(author)),
            printable(subject),
        ],
        About::Checkpoint(checkpoint, called, note, prompt) => {
            let mut lines = vec![
                format!("checkpoint {}", short(&checkpoint.id)),
                format!(
                    "{} ({})",
                    moment::iso(checkpoint.seconds, checkpoint.offset),
                    date::relative(checkpoint.seconds, now)
                ),
                by(checkpoint),
                printable(called),
            ];
            let first = |text: &str, most: usize| {
                let mut lines: Vec<String> = text.trim().lines().take(most).map(printable).collect();
                lines.extend((text.trim().lines().count() > most).then(|| "...".to_owned()));
                lines
            };
            if let Some(prompt) = prompt.as_ref().filter(|prompt| prompt.trim() != called.trim()) {
                lines.push("prompt:".to_owned());
                lines.extend(first(prompt, 4).into_iter().map(|line| format!("  {line}")));
            }
            if let Some(note) = note {
                lines.push("note:".to_owned());
                lines.extend(first(note, 4).into_iter().map(|line| format!("  {line}")));
            }
            lines
        }
    }
}

fn by(checkpoint: &crate::model::checkpoint::Checkpoint) -> String {
    let origin = &checkpoint.origin;
    if crate::ops::restored_target::restored(origin).is_some() {
        return format!("by {}, with a restore", Contributor::Human.as_str());
    }
    let mut text = format!("by {}", printable(origin.agent.as_deref().unwrap_or(origin.contributor.as_str())));
    let parts = [("", &origin.model), ("session ", &origin.session)];
    for (word, value) in parts {
        if let Some(value) = value {
            text.push_str(&format!(", {word}{}", printable(value)));
        }
    }
    text.push_str(&origin.turn.map_or_else(String::new, |turn| format!(", turn {turn}")));
    text
}

/// Returns the counts of `file` as a row of the list has them.
pub(super) fn counts(file: &Shown) -> String {
    file.counted.map_or_else(String::new, |(added, deleted)| format!("+{added} -{deleted}"))
}

/// Returns how many files there are in words.
pub(super) fn count(files: usize) -> String {
    phrase::count(files, "file")
}
