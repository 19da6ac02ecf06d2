//! Which of the checkpoints that `undo`, `redo` or `op restore` takes off the chains must be in the archive afterwards: a pure
//! function, and the only rule for that.
//!
//! What was saved stays: a checkpoint is dispensable only if each of its files is, byte for byte, in a state that stays. The files in
//! the worktree do not count, since an editor may write over them at any time.
//!
//! Only saves add new versions of files to the chains. A restore adds a checkpoint of files that another one has already, and `reset`
//! and `drop` only move refs. So only checkpoints that a save has taken need to be held.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use gix::ObjectId;

use super::{operation::Move, refname};

/// What refs may stop to lead to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TakenOff<'t> {
    /// All that they pointed to stays, as it is.
    All,
    /// Of these checkpoints, in the order of time, those that are not dispensable. They were saved for operations that are taken back,
    /// or for later ones of which nothing stands.
    Saved(&'t [ObjectId]),
}

/// What must be in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// The refs of the archive that must not be deleted.
    pub(crate) stays: Vec<String>,
    /// The checkpoints that need a new ref there.
    pub(crate) left: Vec<ObjectId>,
}

/// Returns what the archive must hold, so that nothing is lost that `moves` of `refs` take off the chains.
///
/// `leads_to` says whether one of some commits leads to another one; `is_elsewhere`, whether all files of a checkpoint are also in
/// states that stay if these ends of chains do.
pub(crate) fn held(
    moves: &[Move],
    taken_off: TakenOff<'_>,
    refs: &BTreeMap<String, ObjectId>,
    leads_to: impl Fn(&[ObjectId], ObjectId) -> bool,
    is_elsewhere: impl Fn(&[ObjectId], ObjectId) -> bool,
) -> Held {
    let mut chains = refs.clone();
    chains.retain(|name, _| is_chain(name));
    let before: Vec<ObjectId> = chains.values().copied().collect();
    for moved in moves {
        chains.remove(&moved.name);
    }
    let mut tips: Vec<ObjectId> = chains.into_values().collect();
    tips.extend(moves.iter().filter(|moved| is_chain(&moved.name)).filter_map(|moved| moved.new));
    let left: Vec<ObjectId> = match taken_off {
        TakenOff::All => moves.iter().filter_map(|moved| moved.old).collect(),
        TakenOff::Saved(saved) => saved.iter().copied().filter(|id| leads_to(&before, *id)).collect(),
    };
    let mut held = Held::default();
    // An earlier one first: what it has, a later one may have, too.
    for id in left {
        if leads_to(&tips, id) || (!matches!(taken_off, TakenOff::All) && is_elsewhere(&tips, id)) {
            continue;
        }
        let is_holder = |moved: &&Move| {
            moved.name.starts_with(refname::ARCHIVE) && moved.old.is_some_and(|old| leads_to(&[old], id))
        };
        if let Some(holder) = moves.iter().find(is_holder) {
            held.stays.push(holder.name.clone());
            tips.extend(holder.old);
        } else {
            held.left.push(id);
            tips.push(id);
        }
    }
    let led_to: Vec<ObjectId> = held
        .left
        .iter()
        .copied()
        .filter(|id| {
            let others: Vec<ObjectId> = tips.iter().filter(|tip| *tip != id).copied().collect();
            leads_to(&others, *id)
        })
        .collect();
    held.left.retain(|id| !led_to.contains(id));
    held
}

fn is_chain(name: &str) -> bool {
    name.starts_with(refname::SHADOWS) || name.starts_with(refname::ARCHIVE)
}

/// Returns true if a state has no version of a file by itself; `differing` are, for each other state, the paths of its files that are
/// not the same there. Asks for no more of them than needed.
pub(crate) fn has_nothing_of_its_own<E>(
    differing: impl IntoIterator<Item = Result<BTreeSet<BString>, E>>,
) -> Result<bool, E> {
    let mut own: Option<BTreeSet<BString>> = None;
    for paths in differing {
        let paths = paths?;
        let rest = match own {
            Some(own) => own.intersection(&paths).cloned().collect(),
            None => paths,
        };
        if rest.is_empty() {
            return Ok(true);
        }
        own = Some(rest);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing_else_is_known(&[], false)]
    #[case::as_another(&[""], true)]
    #[case::other_than_another(&["a"], false)]
    #[case::each_file_as_in_some_state(&["a b", "c"], true)]
    #[case::a_mixture_of_three(&["a b", "b c", "a c"], true)]
    #[case::one_file_in_none(&["a b", "b c", "b d"], false)]
    #[case::the_rest_is_not_asked_for(&["a", "b", "!"], true)]
    fn each_file_must_be_in_some_state(#[case] differing: &[&str], #[case] expected: bool) {
        let sets = differing.iter().map(|paths| match *paths {
            "!" => Err("it was asked for"),
            paths => Ok(paths.split_whitespace().map(BString::from).collect()),
        });
        assert_eq!(has_nothing_of_its_own(sets), Ok(expected));
    }

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("a digit")
    }

    fn digit(id: ObjectId) -> u8 {
        id.to_string().as_bytes()[0] - b'0'
    }

    /// One is led to by those above it of its kind: 1 to 5 are one chain, 6 to 8 another.
    fn leads(tips: &[ObjectId], of: ObjectId) -> bool {
        tips.iter().any(|tip| digit(*tip) >= digit(of) && (digit(*tip) > 5) == (digit(of) > 5))
    }

    /// The refs are `s` (a live shadow), `a` and `b` (of the archive). A checkpoint in brackets has nothing of its own.
    #[rstest::rstest]
    #[case::nothing_was_saved("s2", "s21", "", "")]
    #[case::saved("s2", "s21", "2", "left 2")]
    #[case::saved_and_put_back_on_top("s3", "s31", "2", "left 2")]
    #[case::saved_twice("s4", "s41", "2 4", "left 4")]
    #[case::saved_twice_and_the_last_is_dispensable("s4", "s41", "2 (4)", "left 2")]
    #[case::saved_twice_and_the_first_is_dispensable("s4", "s41", "(2) 4", "left 4")]
    #[case::dispensable("s3", "s31", "(2) (3)", "")]
    #[case::another_chain_leads_to_it("s3 a4", "s31", "2 3", "")]
    #[case::it_was_off_the_chains_before("s1", "s1-", "2", "")]
    #[case::it_stays("s2", "s23", "2", "")]
    #[case::the_archive_holds_it("s6 a2", "s61 a2-", "2", "stays a")]
    #[case::of_which_the_chain_leads_to_all("s6 a2", "s62 a2-", "2", "")]
    #[case::the_archive_holds_more("s6 a4", "s61 a4-", "2 (3)", "stays a")]
    #[case::two_refs_hold_it("s1 a2 b2", "a2- b2-", "2", "stays a")]
    #[case::of_two_chains("s3 a7", "s31 a7-", "3 7", "left 3 stays a")]
    #[case::all("s3", "s31", "all", "left 3")]
    #[case::all_of_two("s3 a7", "s31 a7-", "all", "left 3 stays a")]
    fn what_must_be_held(#[case] refs: &str, #[case] moves: &str, #[case] saved: &str, #[case] expected: &str) {
        let name = |letter: &str| match letter {
            "s" => format!("{}unborn/main", refname::SHADOWS),
            letter => format!("{}{letter}", refname::ARCHIVE),
        };
        let end = |word: &str, at: usize| word.chars().nth(at).filter(|end| *end != '-').map(id);
        let refs: BTreeMap<String, ObjectId> =
            refs.split(' ').map(|word| (name(&word[..1]), end(word, 1).expect("an id"))).collect();
        let moves: Vec<Move> = moves
            .split(' ')
            .map(|word| Move { name: name(&word[..1]), old: end(word, 1), new: end(word, 2) })
            .collect();
        let words = || saved.split_whitespace().filter(|word| *word != "all");
        let ids: Vec<ObjectId> =
            words().filter_map(|word| word.trim_matches(['(', ')']).chars().next()).map(id).collect();
        let taken_off = if saved == "all" { TakenOff::All } else { TakenOff::Saved(&ids) };
        let is_elsewhere = |_: &[ObjectId], of: ObjectId| words().any(|word| word == format!("({})", digit(of)));
        let found = held(&moves, taken_off, &refs, leads, is_elsewhere);
        let left = found.left.iter().map(|id| format!("left {}", digit(*id)));
        let stays = found.stays.iter().map(|name| format!("stays {}", name.trim_start_matches(refname::ARCHIVE)));
        assert_eq!(left.chain(stays).collect::<Vec<_>>().join(" "), expected);
    }
}
