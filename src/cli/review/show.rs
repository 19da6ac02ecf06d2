//! Prints hunks, and how far they are reviewed.

use anstyle::Style;

use super::super::{attribution::patch, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    model::{
        change::{Leaf, Mode},
        review::State,
    },
    ops::{
        Context,
        attribution::Who,
        review::{Counts, File, Hunk, Review, What},
    },
};

/// Prints the commit of `file`, unless it is that of the file `before` it in the list.
pub(super) fn print_commit(context: &Context, before: Option<&File>, file: &File, call: &mut Call) -> Result<()> {
    let Some(id) = file.commit.filter(|_| before.is_none_or(|before| before.commit != file.commit)) else {
        return Ok(());
    };
    let message = context.repo.message_of(id).unwrap_or_default();
    let subject = printable(message.lines().next().unwrap_or_default());
    let id = call.names.id(&id);
    let subject = call.out.fit(&subject, "commit  ".len() + id.len());
    call.out.line(&format!("commit {} {subject}", call.out.paint(phrase::ID, &id)))
}

/// Prints the names that `file` had and has.
pub(super) fn print_names(file: &File, call: &mut Call) -> Result<()> {
    let change = &file.change;
    let old = change.before.map(|_| change.old_path.as_ref().unwrap_or(&change.path));
    patch::print_names([old, change.after.map(|_| &change.path)], call)
}

/// Prints `hunk` of `file`.
pub(super) fn print_hunk(file: &File, hunk: &Hunk, sessions: &[&Who], call: &mut Call) -> Result<()> {
    if let Some((lines, owners)) = &hunk.lines {
        patch::print_hunk(lines, owners, sessions, call)?;
    } else {
        for item in &hunk.items {
            let line = about(file, &file.items[*item].what);
            call.out.line(&call.out.paint(phrase::MARK, &line))?;
        }
    }
    if let Some(decision) = file.decision(hunk) {
        let text = decision.text.as_ref().map(|text| format!(": {}", printable(text))).unwrap_or_default();
        let state = file.state(hunk);
        call.out.line(&call.out.paint(style(state), &format!("{} before{text}", state.as_str())))?;
    }
    Ok(())
}

/// Says what a piece without lines changes.
fn about(file: &File, what: &What) -> String {
    let mode = |leaf: Option<Leaf>| leaf.map_or("nothing", |leaf| word(leaf.mode));
    let (before, after) = (file.change.before, file.change.after);
    match what {
        What::Name => match &file.change.old_path {
            Some(old) => format!("renamed from {}", phrase::quoted(old)),
            None => "renamed".to_owned(),
        },
        What::Mode if after.is_some_and(|leaf| leaf.mode == Mode::Executable) => "can be executed now".to_owned(),
        What::Mode => "cannot be executed any more".to_owned(),
        What::Content | What::Lines(_) => match (before, after) {
            (None, after) => format!("new: {}", mode(after)),
            (before, None) => format!("deleted: {}", mode(before)),
            (before, after) if mode(before) == mode(after) => format!("changed: {}, without lines", mode(after)),
            (before, after) => format!("{} in the place of {}", mode(after), mode(before)),
        },
    }
}

fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "a file",
        Mode::Executable => "an executable file",
        Mode::Link => "a symbolic link",
        Mode::Gitlink => "a submodule",
    }
}

/// Returns what is asked about `hunk`.
pub(super) fn question(hunk: &Hunk, state: State) -> &'static str {
    match (state, &hunk.lines) {
        (State::Rejected, _) => "You rejected this, and it is there. Accept it",
        (_, Some(_)) => "Accept this hunk",
        (_, None) => "Accept this change",
    }
}

fn style(state: State) -> Style {
    match state {
        State::Open => phrase::DIM,
        State::Rejected => phrase::OLD,
        State::Commented => phrase::MARK,
        State::Accepted => phrase::NEW,
    }
}

/// Returns how many hunks are in which state, in words.
fn counts(counts: Counts) -> String {
    let each = [
        (counts.open, "open"),
        (counts.rejected, "rejected and there"),
        (counts.commented, "to be changed"),
        (counts.accepted, "accepted"),
    ];
    let words: Vec<String> =
        each.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    words.join(", ")
}

/// Prints how far `review` has come: each file, and the sum.
pub(super) fn print(context: &Context, review: &Review, call: &mut Call) -> Result<()> {
    if review.files.is_empty() {
        return print_nothing(review, call);
    }
    for (at, file) in review.files.iter().enumerate() {
        print_commit(context, at.checked_sub(1).map(|before| &review.files[before]), file, call)?;
        let of_file = counts(Counts::of(file.hunks.iter().map(|hunk| file.state(hunk))));
        let worst = State::of_all(file.hunks.iter().map(|hunk| file.state(hunk)));
        let state = call.out.paint(style(worst), &format!("{:<9}", worst.as_str()));
        call.out.line(&format!("{state}  {}  ({of_file})", call.names.path(&file.change.path)))?;
        for hunk in &file.hunks {
            let text = file.decision(hunk).and_then(|decision| decision.text.as_ref());
            if let Some(text) = text.filter(|_| file.state(hunk) != State::Accepted) {
                call.out.item(&format!("           {}: {}", file.state(hunk).as_str(), printable(text)), 11)?;
            }
        }
    }
    let all = review.counts();
    let sum = all.open + all.rejected + all.commented + all.accepted;
    call.out.note(&format!("{}: {}", phrase::count(sum, "hunk"), counts(all)))?;
    if all.open + all.rejected > 0 {
        call.out.hint("'git checkpoint review' asks about what is not decided");
    }
    Ok(())
}

/// Says why there is nothing to ask about.
pub(super) fn print_nothing(review: &Review, call: &mut Call) -> Result<()> {
    let whose = match (&review.scope.session, review.scope.turn, &review.scope.range) {
        (Some(session), None, _) => format!(" of {}", printable(session)),
        (Some(session), Some(turn), _) => format!(" of {}@{turn}", printable(session)),
        (None, _, Some(range)) => format!(" of {}", printable(range)),
        (None, _, None) => String::new(),
    };
    if review.files.is_empty() && review.scope.range.is_some() {
        return call.out.note(&format!("nothing to review: no lines{whose} are changed"));
    }
    if review.files.is_empty() {
        return call.out.note(&format!("nothing to review: no work{whose} is uncommitted here"));
    }
    call.out.note(&format!("all is reviewed{whose}: {}", counts(review.counts())))?;
    call.out.hint("'git checkpoint review --all' asks about it again");
    Ok(())
}
