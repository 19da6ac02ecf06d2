//! The hunks of a review as JSON.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use crate::{
    model::{
        id_text,
        line_diff::Side,
        path_text,
        review::{Decision, Part, State, Verdict},
    },
    ops::{
        attribution::Who,
        review::{Counts, File, Hunk, Item, Review, Scope, What},
    },
};

/// Serializes to what `review --json` prints.
#[derive(Serialize)]
pub(super) struct Shown<'r> {
    version: u32,
    #[serde(flatten)]
    scope: &'r Scope,
    hunks: Counts,
    files: Vec<ShownFile<'r>>,
}

#[derive(Serialize)]
struct ShownFile<'r> {
    #[serde(serialize_with = "id_text::serialize_optional")]
    commit: Option<ObjectId>,
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    path: &'r BString,
    #[serde(serialize_with = "path_text::serialize_optional")]
    old_path: &'r Option<BString>,
    status: char,
    hunks: Vec<ShownHunk<'r>>,
}

#[derive(Serialize)]
struct ShownHunk<'r> {
    id: String,
    state: State,
    decision: Option<ShownDecision<'r>>,
    header: Option<String>,
    changes: Vec<ShownItem<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<ShownLine<'r>>>,
}

#[derive(Serialize)]
struct ShownDecision<'r> {
    verdict: Verdict,
    text: Option<&'r str>,
    by: &'r str,
    time: i64,
}

#[derive(Serialize)]
struct ShownItem<'r> {
    id: &'r str,
    state: State,
    kind: &'static str,
    old_start: Option<usize>,
    old_lines: Option<usize>,
    new_start: Option<usize>,
    new_lines: Option<usize>,
    sessions: Vec<Part>,
}

#[derive(Serialize)]
struct ShownLine<'r> {
    side: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<&'r Who>,
}

impl<'r> Shown<'r> {
    /// Returns `review`, with the lines if they are wanted.
    pub(super) fn of(review: &'r Review, with_lines: bool) -> Self {
        let files = review.files.iter().map(|file| ShownFile {
            commit: file.commit,
            path: &file.change.path,
            old_path: &file.change.old_path,
            status: file.change.status.letter(),
            hunks: file.hunks.iter().map(|hunk| ShownHunk::of(file, hunk, with_lines)).collect(),
        });
        Self { version: 1, scope: &review.scope, hunks: review.counts(), files: files.collect() }
    }
}

impl<'r> ShownHunk<'r> {
    fn of(file: &'r File, hunk: &'r Hunk, with_lines: bool) -> Self {
        let lines = hunk.lines.as_ref().filter(|_| with_lines).map(|(lines, owners)| {
            let mut owners = owners.iter();
            let line = |line: &'r crate::model::line_diff::Line| ShownLine {
                side: match line.side {
                    Side::Common => "common",
                    Side::Deleted => "deleted",
                    Side::Added => "added",
                },
                text: line.content.to_str_lossy().into_owned(),
                who: if line.side == Side::Added { owners.next() } else { None },
            };
            lines.lines.iter().map(line).collect()
        });
        Self {
            id: file.id(hunk),
            state: file.state(hunk),
            decision: file.decision(hunk).map(ShownDecision::from),
            header: hunk.lines.as_ref().map(|(lines, _)| lines.header().to_str_lossy().into_owned()),
            changes: hunk.items.iter().map(|item| ShownItem::of(&file.items[*item])).collect(),
            lines,
        }
    }
}

impl<'r> From<&'r Decision> for ShownDecision<'r> {
    fn from(decision: &'r Decision) -> Self {
        let Decision { verdict, text, by, seconds, .. } = decision;
        Self { verdict: *verdict, text: text.as_deref(), by, time: *seconds }
    }
}

impl<'r> ShownItem<'r> {
    fn of(item: &'r Item) -> Self {
        let span = match &item.what {
            What::Lines(span) => Some(span),
            What::Content | What::Mode | What::Name => None,
        };
        Self {
            id: &item.id,
            state: item.state(),
            kind: match item.what {
                What::Lines(_) => "lines",
                What::Content => "content",
                What::Mode => "mode",
                What::Name => "name",
            },
            // As in a patch, an empty side counts from the line before it.
            old_start: span.map(|span| span.old.start + usize::from(!span.old.is_empty())),
            old_lines: span.map(|span| span.old.len()),
            new_start: span.map(|span| span.new.start + usize::from(!span.new.is_empty())),
            new_lines: span.map(|span| span.new.len()),
            sessions: item.sessions(),
        }
    }
}
