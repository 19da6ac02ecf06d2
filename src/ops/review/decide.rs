//! Carries out what a person has decided: takes rejected pieces out of the worktree, and stores all decisions.

use std::collections::BTreeMap;

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context,
        restore::{refuse_open_turns, serialize_left},
    },
    Review,
    hunks::{File, Item},
    reject, store,
};
use crate::{
    error::{Error, Result},
    model::{
        id_text,
        path_text::{self, StoredPath},
        redact::redact,
        review::{Decision, Verdict},
        verdict::Left,
    },
};

/// The most bytes of a reason.
const LONGEST: usize = 4096;

/// A decision about pieces of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The number of the file in the review.
    pub(crate) file: usize,
    /// The numbers of its pieces.
    pub(crate) items: Vec<usize>,
    /// What is decided.
    pub(crate) verdict: Verdict,
    /// Why, or what is to be changed.
    pub(crate) text: Option<String>,
}

/// What became of decisions. Serializes to what `review --decide --json` prints.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Decided {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// How many pieces stay.
    pub(crate) accepted: usize,
    /// How many were taken out.
    pub(crate) rejected: usize,
    /// How many are to be changed.
    pub(crate) commented: usize,
    /// How many wait.
    pub(crate) later: usize,
    /// The files that were written.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) written: Vec<BString>,
    /// The files that were deleted.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) deleted: Vec<BString>,
    /// The files whose rejected pieces could not be taken out, with the reasons: these are still to be decided.
    #[serde(serialize_with = "serialize_left")]
    pub(crate) left: Vec<Left>,
    /// The checkpoint that has what was rejected.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
}

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
    let may_reject = if rejected.is_empty() { Ok(()) } else { refuse_to_reject(context, review) };
    if may_reject.is_err() {
        chosen.retain(|_, choice| choice.verdict != Verdict::Reject);
    }
    let mut decided = Decided { version: 1, ..Decided::default() };
    store::add(context, &decisions(context, review, &chosen))?;
    may_reject?;
    // What was decided is stored first, so that the next undo brings back what is taken out now.
    if !rejected.is_empty() {
        take_out(context, review, rejected, &mut decided)?;
    }
    for ((file, _), choice) in &chosen {
        let is_left = || decided.left.iter().any(|left| review.files[*file].is_at(&left.path));
        *match choice.verdict {
            Verdict::Reject if is_left() => continue,
            Verdict::Accept => &mut decided.accepted,
            Verdict::Reject => &mut decided.rejected,
            Verdict::Comment => &mut decided.commented,
            Verdict::Later => &mut decided.later,
        } += 1;
    }
    Ok(decided)
}

/// Makes sure that an agent is not at work, and that what was shown is still not committed.
fn refuse_to_reject(context: &Context, review: &Review) -> Result<()> {
    refuse_open_turns(context, "nothing was taken out")?;
    if context.repo.head()?.id != review.head {
        return Err(Error::race("HEAD has moved since the changes were shown; nothing was taken out"));
    }
    Ok(())
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

/// Takes the pieces `rejected` out, by the numbers of their files.
fn take_out(
    context: &Context,
    review: &Review,
    rejected: BTreeMap<usize, Vec<usize>>,
    decided: &mut Decided,
) -> Result<()> {
    let rejected: Vec<(usize, Vec<usize>)> = rejected.into_iter().collect();
    let (restored, mut left) = reject::take_out(context, review, &rejected)?;
    left.retain(|left| rejected.iter().any(|(file, _)| review.files[*file].is_at(&left.path)));
    decided.left = left;
    if let Some(restored) = restored {
        decided.checkpoint = restored.pre_restore;
        (decided.written, decided.deleted) = (restored.written, restored.deleted);
    }
    Ok(())
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
