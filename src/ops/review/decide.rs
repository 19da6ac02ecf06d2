//! Carries out what a person has decided: takes rejected pieces out of the worktree, and stores all decisions.

use std::collections::BTreeMap;

use bstr::BString;

use super::{
    super::{Context, reviews},
    Review,
    hunks::{File, Item},
    outcome::{Choice, Decided},
    reject::take_out,
    waiting,
};
use crate::{
    error::{Error, Result},
    model::{
        path_text::StoredPath,
        redact::redact,
        review::{Decision, Verdict},
    },
};

/// The most bytes of a reason.
const LONGEST: usize = 4096;

/// Carries out `choices`, which are about `review`.
///
/// Of several about one piece, the last one counts.
///
/// # Errors
/// If rejected pieces cannot be taken out, for example because their files have changed since they were looked at: what was decided is
/// stored all the same, and these pieces are still to be decided.
pub(crate) fn decide(context: &Context, review: &Review, choices: &[Choice]) -> Result<Decided> {
    context.repo.name_operation("review");
    context.emit_failure("review", carry_out(context, review, choices))
}

fn carry_out(context: &Context, review: &Review, choices: &[Choice]) -> Result<Decided> {
    let mut chosen: BTreeMap<(usize, usize), &Choice> = BTreeMap::new();
    for choice in choices {
        if choice.verdict == Verdict::Comment && choice.text.as_ref().is_none_or(|text| text.trim().is_empty()) {
            return Err(Error::user("a comment has no text"));
        }
        if choice.text.as_ref().is_some_and(|text| text.len() > LONGEST) {
            return Err(Error::user("a text is too long").with_hint(format!("it may have {LONGEST} bytes")));
        }
        if choice.verdict == Verdict::Reject && review.files[choice.file].commit.is_some() {
            return Err(Error::refused("what is committed is not taken out").with_hint(
                "a comment says what is to be changed; 'git revert' and 'git checkpoint restore -p' take lines back",
            ));
        }
        chosen.extend(choice.items.iter().map(|item| ((choice.file, *item), choice)));
    }
    let mut rejected: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for ((file, item), _) in chosen.iter().filter(|(_, choice)| choice.verdict == Verdict::Reject) {
        rejected.entry(*file).or_default().push(*item);
    }
    if !rejected.is_empty() && context.repo.head()?.id != review.head {
        chosen.retain(|_, choice| choice.verdict != Verdict::Reject);
        reviews::add(context, &decisions(context, review, &chosen))?;
        return Err(Error::race("HEAD has moved since the changes were shown; nothing was taken out"));
    }
    // What a turn in progress has read must not go under its hands.
    let is_busy = !rejected.is_empty() && waiting::is_busy(context);
    let mut decided = Decided { version: 1, ..Decided::default() };
    reviews::add(context, &decisions(context, review, &chosen))?;
    waiting::note(context, review, &chosen, is_busy)?;
    // What was decided is stored first, so that the next undo brings back what is taken out now.
    if !rejected.is_empty() && !is_busy {
        take_out(context, review, rejected, None, &mut decided)?;
    }
    for ((file, _), choice) in &chosen {
        let is_left = || decided.left.iter().any(|left| review.files[*file].is_at(&left.path));
        *match choice.verdict {
            Verdict::Reject if is_left() => continue,
            Verdict::Reject if is_busy => &mut decided.queued,
            Verdict::Accept => &mut decided.accepted,
            Verdict::Reject => &mut decided.rejected,
            Verdict::Comment => &mut decided.commented,
            Verdict::Later => &mut decided.later,
        } += 1;
    }
    Ok(decided)
}

/// Returns what is stored of `chosen`, by the path of the file.
fn decisions(
    context: &Context,
    review: &Review,
    chosen: &BTreeMap<(usize, usize), &Choice>,
) -> Vec<(BString, Vec<Decision>)> {
    let time = context.repo.now().seconds;
    let mut by_file: BTreeMap<usize, Vec<Decision>> = BTreeMap::new();
    for ((file, item), choice) in chosen {
        let of = &review.files[*file];
        let item = &of.items[*item];
        // Nothing was decided that could be taken back.
        if choice.verdict != Verdict::Later || item.decision.is_some() {
            by_file.entry(*file).or_default().push(decision(context, of, item, choice, time));
        }
    }
    by_file.into_iter().map(|(file, all)| (review.files[file].change.path.clone(), all)).collect()
}

fn decision(context: &Context, file: &File, item: &Item, choice: &Choice, seconds: i64) -> Decision {
    let who = context.repo.identity();
    let clean = |text: &String| {
        let text = text.trim().to_owned();
        if context.settings.transcript.redact {
            String::from_utf8_lossy(&redact(text.into_bytes())).into_owned()
        } else {
            text
        }
    };
    Decision {
        path: StoredPath::from(&file.change.path),
        mark: item.mark.clone(),
        alike: item.alike,
        lines: item.lines,
        verdict: choice.verdict,
        text: choice.text.as_ref().map(clean).filter(|text| !text.is_empty()),
        sessions: item.sessions(),
        by: format!("{} <{}>", who.name, who.email),
        seconds,
    }
}
