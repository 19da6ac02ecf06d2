//! What the commands that take operations back have in common.

use super::{
    Exit,
    call::Call,
    output::printable,
    phrase::{self, REDONE, RESTORED},
    restore::{Format, Words},
};
use crate::{
    error::Result,
    model::{note, refname},
    ops::{Context, restore::UndoOptions, review, undo::Undone},
};

/// How to take an operation back.
#[derive(clap::Args, Debug)]
pub(super) struct How {
    /// Also restore paths that were edited since
    #[arg(long)]
    all: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl How {
    pub(super) fn options(&self) -> UndoOptions {
        UndoOptions { dry_run: self.dry_run, all: self.all }
    }
}

/// Lets agents hear at their next prompt which of their files `undone` has changed.
pub(super) fn note_changed(context: &Context, command: &str, undone: &Undone) {
    if let Some(restored) = &undone.restored {
        drop(context.emit_failure("review", review::note_changed(context, command, restored)));
    }
}

/// Prints what was taken back; `verb` is the word for it. If the operation `is_named`, a hint names it, too.
pub(super) fn print(
    undone: &Undone,
    format: &Format,
    (verb, is_named): (&'static str, bool),
    call: &mut Call,
) -> Result<Exit> {
    if let Some(restored) = &undone.restored {
        if format.is_text() {
            print_moves(undone, restored.dry_run, call)?;
        }
        let again = match (verb, undone.operation.filter(|_| is_named)) {
            (RESTORED, _) => None,
            (_, Some(id)) => Some(format!("op undo --all {}", call.names.id(&id))),
            (REDONE, None) => Some("redo --all".to_owned()),
            _ => Some("undo --all".to_owned()),
        };
        let (has_moved, instead) = (!undone.moved.is_empty(), undone.instead.as_deref());
        let command = undone.command.as_deref();
        return format.print(restored, undone, &Words { verb, command, has_moved, again, instead }, call);
    }
    if format.json {
        call.out.json(undone)?;
        return Ok(Exit::Done);
    }
    print_moves(undone, undone.only_looked == Some(true), call)?;
    let verb = match (undone.only_looked, verb) {
        (Some(true), REDONE) => "would redo",
        (Some(true), _) => "would take back",
        (_, REDONE) => "redone:",
        _ => "undone:",
    };
    if let Some(id) = undone.session.as_ref().filter(|_| verb == "undone:") {
        call.out.note(&format!("the session '{}' is as before; a turn that was ended stays ended,", printable(id)))?;
        call.out.note("what it saved stays saved, and prompts that were forgotten stay so")?;
    }
    let command = undone.command.as_deref().map(printable).unwrap_or_default();
    call.out.note(&format!("{verb} {command}"))?;
    Ok(Exit::Done)
}

/// Prints what the moves of refs mean, or would mean.
fn print_moves(undone: &Undone, only_looked: bool, call: &mut Call) -> Result<()> {
    let is_review = |name: &str| note::noted(name).is_some_and(|(of, _)| of == refname::REVIEWS);
    let (reviews, others): (Vec<_>, Vec<_>) = undone.moved.iter().partition(|moved| is_review(&moved.r#ref));
    if !reviews.is_empty() {
        let files = phrase::count(reviews.len(), "file");
        let verb = if only_looked { "would be" } else { "is" };
        call.out.note(&format!("what was decided about {files} {verb} as before"))?;
    }
    for moved in others {
        let of_note = note::noted(&moved.r#ref).map(|(_, id)| id);
        let id = of_note.or(moved.new).or(moved.old).map(|id| call.names.id(&id)).unwrap_or_default();
        let line = meaning(&moved.r#ref, (moved.new.is_some(), only_looked), &id);
        if only_looked { call.out.line(&line)? } else { call.out.note(&line)? }
    }
    Ok(())
}

/// Returns what it means, or would mean, for people that the ref `name` points to `id` now, or does not exist any more and pointed
/// to it before.
fn meaning(name: &str, (is_there, only_looked): (bool, bool), id: &str) -> String {
    let what = match refname::tag_of_ref(name) {
        _ if note::noted(name).is_some() => "noted:".to_owned(),
        Some(tag) => format!("tagged '{}':", printable(&tag)),
        None if name.starts_with(refname::SHADOWS) => "live: checkpoints up to".to_owned(),
        None if name.starts_with(refname::ARCHIVE) => "in the archive: checkpoints up to".to_owned(),
        None if name.starts_with(refname::VERIFIED) => "verified:".to_owned(),
        None => format!("held by {}:", printable(name)),
    };
    let words = match (only_looked, is_there) {
        (false, true) => "",
        (false, false) => "no longer ",
        (true, true) => "would be ",
        (true, false) => "would no longer be ",
    };
    format!("{words}{what} {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::live("refs/checkpoints/shadow/unborn/main", true, "live: checkpoints up to 1a2b")]
    #[case::not_live("refs/checkpoints/shadow/unborn/main", false, "no longer live: checkpoints up to 1a2b")]
    #[case::archived("refs/checkpoints/archive/1-1a2b", true, "in the archive: checkpoints up to 1a2b")]
    #[case::verified("refs/checkpoints/verified/main", false, "no longer verified: 1a2b")]
    #[case::tag("refs/checkpoints/tags/a", true, "tagged 'a': 1a2b")]
    #[case::note(&note::note_ref(refname::NOTES, gix::ObjectId::null(gix::hash::Kind::Sha1)), false, "no longer noted: 1a2b")]
    #[case::other("refs/checkpoints/pending/x", true, "held by refs/checkpoints/pending/x: 1a2b")]
    fn what_refs_mean(#[case] name: &str, #[case] is_there: bool, #[case] expected: &str) {
        assert_eq!(meaning(name, (is_there, false), "1a2b"), expected);
        let negated = if is_there { "would be " } else { "would no longer be " };
        let planned = expected.trim_start_matches("no longer ");
        assert_eq!(meaning(name, (is_there, true), "1a2b"), format!("{negated}{planned}"));
    }
}
