//! What brings the refs of a worktree back to what they were before operations: a pure function of the operation log.
//!
//! `op restore` goes back over all operations after one, `undo` over one and over those since of which nothing stands. Anything
//! else that has moved the same refs since is an obstacle.

use std::collections::BTreeMap;

use bstr::BStr;
use gix::ObjectId;

use super::{
    note,
    obstacle::Obstacle,
    operation::{self, Move, Operation},
    refname::{self, Base, ShadowName},
    taken_off::{Held, TakenOff, held},
};

/// What becomes of an operation when those before it are taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is taken back.
    TakenBack,
    /// Nothing of it stands: it may have moved the refs of the operations that are taken back.
    Passed,
    /// It stands: it must not have moved these refs.
    Stands,
}

/// An operation that is taken back, or a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later<'o> {
    pub(crate) id: ObjectId,
    pub(crate) operation: &'o Operation,
    pub(crate) fate: Fate,
}

/// The refs of ours as they are, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    /// The worktree that goes back, and where its HEAD is: refs of others stay. None: all refs go back, except the logs.
    pub(crate) worktree: Option<(&'p BStr, Base)>,
    pub(crate) refs: &'p BTreeMap<String, ObjectId>,
}

/// What brings refs back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Back {
    /// The moves of refs; those that begin to hold something come first.
    pub(crate) moves: Vec<Move>,
    /// Moves that are done already: a process may have been killed between two of them.
    pub(crate) done: Vec<Move>,
    /// Checkpoints that no chain would lead to afterwards: the archive must hold them.
    pub(crate) left: Vec<ObjectId>,
    /// True if refs go back, or would if the archive did not have to keep what they hold.
    pub(crate) is_needed: bool,
    /// True if no agent has made what is in these alone: nothing of them has to be taken up again.
    pub(crate) is_settled: bool,
    /// Whether the next checkpoint of a person is to become verified, now and afterwards; none if that stays.
    pub(crate) marker: Option<(bool, bool)>,
    /// Why it must not be done.
    pub(crate) obstacles: Vec<Obstacle>,
}

/// How one ref was moved by all operations since.
struct Line {
    name: String,
    /// What it pointed to before the first of them, and after the last.
    then: Option<ObjectId>,
    end: Option<ObjectId>,
    /// What it pointed to before the last of them, which may have been killed before it moved the ref.
    before_end: Option<ObjectId>,
    /// False if it has been moved in between by what is not in the log of this worktree.
    is_whole: bool,
    /// The first operation that has moved it and stands.
    by: Option<ObjectId>,
}

/// Returns what takes those of the operations `later` back that are to be. They are in the order of time.
///
/// Records and transcripts only grow, and the baselines of turns belong to the files of their sessions: both stay. So does what
/// belongs to another worktree. What is taken off the chains is held as [`held`] says.
pub(crate) fn back(
    later: &[Later<'_>],
    place: &Place<'_>,
    taken_off: TakenOff<'_>,
    can_read: impl Fn(ObjectId) -> bool,
    leads_to: impl Fn(&[ObjectId], ObjectId) -> bool,
    is_elsewhere: impl Fn(&[ObjectId], ObjectId) -> bool,
) -> Back {
    let mut back = Back::default();
    for line in lines(later, place) {
        let now = place.refs.get(&line.name).copied();
        let name = line.name.clone();
        if now == line.then {
            if line.end != now {
                back.done.push(Move { name, old: line.end, new: now });
            }
            continue;
        }
        let head = place.worktree.map(|(_, base)| base);
        let base = ShadowName::from_ref(&line.name).map(|shadow| shadow.base);
        match (line.then, base.filter(|base| head.is_some_and(|head| head != *base))) {
            _ if !line.is_whole || !line.is_at(now) || line.by.is_some() => {
                back.obstacles.push(Obstacle::Moved { name, now, by: line.by });
            }
            // A shadow lives where HEAD is.
            (Some(_), Some(base)) => back.obstacles.push(Obstacle::Elsewhere { base }),
            (Some(id), _) if !can_read(id) => back.obstacles.push(Obstacle::Missing { name, id }),
            (then, _) => back.moves.push(Move { name, old: now, new: then }),
        }
    }
    back.is_needed = !back.moves.is_empty();
    // Where something is in the way, nothing is moved.
    if back.obstacles.is_empty() {
        // No chain leads to a note.
        let of_chains: Vec<Move> = back.moves.iter().filter(|it| note::noted(&it.name).is_none()).cloned().collect();
        let Held { stays, left } = held(&of_chains, taken_off, place.refs, leads_to, is_elsewhere);
        back.left = left;
        back.moves.retain(|moved| !stays.contains(&moved.name));
    }
    back.moves.sort_by_key(|moved| moved.new.is_none());
    back.marker = marker(later);
    back
}

/// Returns true if a ref of this name goes back.
fn goes_back(name: &str, place: &Place<'_>) -> bool {
    let is_of_other = place.worktree.is_some_and(|(worktree, _)| match ShadowName::from_ref(name) {
        Some(shadow) => shadow.worktree != worktree,
        None => {
            name.starts_with(refname::PENDING)
                || (name.starts_with(refname::VERIFIED) && name != refname::verified_ref(worktree))
        }
    });
    !refname::is_log(name) && !is_of_other
}

impl Line {
    /// Returns true if the log explains that the ref points to `id`.
    fn is_at(&self, id: Option<ObjectId>) -> bool {
        id == self.end || id == self.before_end
    }

    /// Adds a later move.
    fn add(&mut self, moved: &Move, later: &Later<'_>) {
        self.is_whole &= self.is_at(moved.old) && is_sound(later.operation);
        (self.before_end, self.end) = (moved.old, moved.new);
        self.by = self.by.or(Some(later.id).filter(|_| later.fate == Fate::Stands));
    }
}

/// Returns false if broken chains were set aside: what a ref pointed to before is one of them.
fn is_sound(operation: &Operation) -> bool {
    operation.kind != operation::REPAIR
}

/// Returns how each ref that goes back was moved, in the order of the first moves.
fn lines(later: &[Later<'_>], place: &Place<'_>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for later in later {
        for moved in later.operation.moves.iter().filter(|moved| goes_back(&moved.name, place)) {
            match lines.iter_mut().find(|line| line.name == moved.name) {
                Some(line) => line.add(moved, later),
                None if later.fate == Fate::TakenBack => lines.push(Line {
                    name: moved.name.clone(),
                    then: moved.old,
                    end: moved.new,
                    before_end: moved.old,
                    is_whole: is_sound(later.operation),
                    by: None,
                }),
                None => {}
            }
        }
    }
    lines
}

/// Returns whether the next checkpoint of a person is to become verified after the operations that are taken back, and before
/// them.
fn marker(later: &[Later<'_>]) -> Option<(bool, bool)> {
    let taken_back = later.iter().filter(|it| it.fate == Fate::TakenBack);
    let mut markers = taken_back.filter_map(|it| it.operation.marker);
    let (then, now) = markers.next()?;
    let now = markers.next_back().map_or(now, |(_, now)| now);
    (then != now).then_some((now, then))
}

/// Returns the number of the first of `operations`, newest first, that moved a shadow of `worktree`, and the checkpoints that it
/// moved the shadows to, or from if it deleted them. The latest of these has the files as last saved by then. None if no operation
/// moved a shadow.
pub(crate) fn last_saved<'o>(
    operations: impl Iterator<Item = &'o Operation>,
    worktree: &BStr,
) -> Option<(usize, Vec<ObjectId>)> {
    let is_own = |moved: &&Move| ShadowName::from_ref(&moved.name).is_some_and(|shadow| shadow.worktree == worktree);
    operations.enumerate().find_map(|(number, operation)| {
        let ends = |end: fn(&Move) -> Option<ObjectId>| -> Vec<ObjectId> {
            operation.moves.iter().filter(is_own).filter_map(end).collect()
        };
        let (after, before) = (ends(|moved| moved.new), ends(|moved| moved.old));
        let found = if after.is_empty() { before } else { after };
        (!found.is_empty()).then_some((number, found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ref that `letter` stands for.
    fn name(letter: &str) -> String {
        let elsewhere = Base::Commit(id("1").expect("an id"));
        match letter {
            "s" => ShadowName::of_worktree(Base::Unborn, "main".into()).to_ref(),
            "o" => ShadowName::of_worktree(Base::Unborn, "side".into()).to_ref(),
            "e" => ShadowName::of_worktree(elsewhere, "main".into()).to_ref(),
            "a" => refname::archive_ref(1, id("1").expect("an id")),
            "v" => refname::verified_ref("main".into()),
            "w" => refname::verified_ref("side".into()),
            "p" => refname::pending_ref("main".into(), "s1"),
            "t" => refname::tag_ref("t"),
            _ => refname::HISTORY.to_owned(),
        }
    }

    fn id(digit: &str) -> Option<ObjectId> {
        (digit != "-").then(|| ObjectId::from_hex(digit.repeat(40).as_bytes()).expect("a digit"))
    }

    fn digit(id: Option<ObjectId>) -> String {
        id.map_or("-".to_owned(), |id| id.to_string()[..1].to_owned())
    }

    fn letter(long: &str) -> &'static str {
        ["s", "o", "e", "a", "v", "w", "p", "t", "h"]
            .into_iter()
            .find(|short| name(short) == long)
            .expect("one of ours")
    }

    /// Returns the operation with the moves `text`: `s12 v-1`. With `!`, it has saved nothing; with `~`, it is passed over, with `=`,
    /// it stands.
    fn operation(text: &str) -> (Operation, Fate) {
        let fate = [('~', Fate::Passed), ('=', Fate::Stands)].into_iter().find(|(mark, _)| text.starts_with(*mark));
        let moves = text.trim_start_matches(['~', '=', '!']).split_whitespace().map(|word| Move {
            name: name(&word[..1]),
            old: id(&word[1..2]),
            new: id(&word[2..3]),
        });
        let operation = Operation { moves: moves.collect(), ..Operation::default() };
        (operation, fate.map_or(Fate::TakenBack, |(_, fate)| fate))
    }

    fn as_later((operation, fate): &(Operation, Fate)) -> Later<'_> {
        let id = ObjectId::null(gix::hash::Kind::Sha1);
        Later { id, operation, fate: *fate }
    }

    /// A commit leads to those with lower digits of its kind: 1 to 5 are one chain, 6 to 8 another; 9 cannot be read.
    fn leads(tips: &[ObjectId], id: ObjectId) -> bool {
        let number = |id: ObjectId| id.to_string()[..1].parse::<u8>().expect("a digit");
        tips.iter().any(|tip| number(*tip) >= number(id) && (number(*tip) > 5) == (number(id) > 5))
    }

    #[rstest::rstest]
    #[case::nothing(&[], "s1", "")]
    #[case::saved(&["s12"], "s2", "s21 left 2")]
    #[case::saved_twice(&["s12", "s23"], "s3", "s31 left 3")]
    #[case::saved_first(&["s-1"], "s1", "s1- left 1")]
    #[case::back_in_the_chain(&["s21"], "s1", "s12")]
    #[case::back_already(&["s12", "s21"], "s1", "")]
    #[case::was_never_moved(&["s12"], "s1", "")]
    #[case::set_aside(&["s1- a-1"], "a1", "s-1 a1-")]
    #[case::set_aside_and_begun_anew(&["s1- a-1", "s-6"], "a1 s6", "s61 a1- left 6")]
    #[case::set_aside_since(&["s12", "s2- a-2"], "a2", "s-1")]
    #[case::saved_and_set_aside(&["s-6", "s6- a-6"], "a6", "")]
    #[case::archive_pruned(&["a1-"], "s6", "a-1")]
    #[case::undone(&["!s21 a-2"], "s1 a2", "s12 a2-")]
    #[case::undone_and_nothing_holds_it(&["!s12"], "s2", "s21")]
    #[case::undone_after_a_save(&["!s12", "s23"], "s3", "s31 left 3")]
    #[case::undone_before_it_was_moved(&["!s12", "s16"], "s6", "s61 left 6")]
    #[case::undone_in_another_order(&["!s12", "s36"], "s6", "s moved")]
    #[case::undone_half(&["!s21 a-2 v2-"], "s2 a2 v2", "a2-")]
    #[case::renamed_by_a_save(&["!s6-", "a1- s-1"], "s1", "s16 a-1")]
    #[case::gap(&["s12", "s34"], "s4", "s moved")]
    #[case::moved_on(&["s12"], "s3", "s moved")]
    #[case::deleted_since(&["s12"], "", "s moved")]
    #[case::moved_on_and_back(&["s12", "s34"], "s1", "")]
    #[case::missing(&["s92"], "s2", "s missing")]
    #[case::head_was_elsewhere(&["e1- a-1 s-2"], "a1 s2", "1 elsewhere s2- a1-")]
    #[case::head_was_elsewhere_for_a_while(&["e-1", "e1- a-1"], "a1", "")]
    #[case::verified(&["v12"], "s2 v2", "v21")]
    #[case::verified_alone(&["v61"], "s2 v1", "v16")]
    #[case::verified_and_gone_else(&["v-6"], "s2 v6", "v6- left 6")]
    #[case::tag(&["t-1", "t12"], "s2 t2", "t2-")]
    #[case::tag_moved_by_another_worktree(&["t-1", "t23"], "s3 t3", "t moved")]
    #[case::logs_stay(&["h12", "s12"], "h3 s2", "s21 left 2")]
    #[case::baselines_stay(&["p-1"], "p1", "")]
    #[case::others_shadows_stay(&["o12 w12"], "o2 w2", "")]
    #[case::killed_before_it_was_moved(&["s12", "s13"], "s3", "s31 left 3")]
    #[case::the_last_was_killed_before_it_was_moved(&["s12", "s23"], "s2", "s21 left 2")]
    #[case::another_undone(&["!s12", "~!s23", "~!s32"], "s2", "s21")]
    #[case::another_undone_that_has_added_a_checkpoint(&["!s1- a-1", "~!s-2", "~!s23", "~!s34"], "a1 s4", "s41 a1-")]
    #[case::an_agent_was_saved_by_what_is_undone(&["!s1- a-1", "~s-2", "~!s23", "~!s34"], "a1 s4", "s41 a1- left 2")]
    #[case::undone_and_of_other_refs(&["!v12", "~!s1- a-1", "~!s-1 a1-"], "s1 v2", "v21")]
    #[case::saved_since(&["!s1- a-1", "=s-6"], "a1 s6", "s blocked a1-")]
    #[case::saved_and_restored_since(&["!s1- a-1", "=s-6", "~!s67", "~!s78"], "a1 s8", "s blocked a1-")]
    #[case::saved_since_elsewhere(&["!v12", "=s12"], "s2 v2", "v21")]
    #[case::two_leave_one_is_in_the_other(&["s-1", "s1- a-1", "s-2"], "a1 s2", "s2- left 2 a1-")]
    fn the_way_back(#[case] later: &[&str], #[case] now: &str, #[case] expected: &str) {
        let operations: Vec<(Operation, Fate)> = later.iter().map(|text| operation(text)).collect();
        let saves = operations.iter().zip(later).filter(|(_, text)| !text.contains('!'));
        let saved: Vec<ObjectId> =
            saves.flat_map(|((it, _), _)| it.moves.iter().filter_map(|moved| moved.new)).collect();
        let taken_off =
            if later.iter().any(|text| text.contains('!')) { TakenOff::Saved(&saved) } else { TakenOff::All };
        let later: Vec<Later<'_>> = operations.iter().map(as_later).collect();
        let refs = now.split_whitespace().map(|word| (name(&word[..1]), id(&word[1..2]).expect("an id")));
        let refs = refs.collect();
        let place = Place { worktree: Some(("main".into(), Base::Unborn)), refs: &refs };
        let found = back(&later, &place, taken_off, |other| Some(other) != id("9"), leads, |_, _| false);
        let mut words: Vec<String> = found
            .obstacles
            .iter()
            .map(|obstacle| match obstacle {
                Obstacle::Moved { name, by: Some(_), .. } => format!("{} blocked", letter(name)),
                Obstacle::Moved { name, .. } => format!("{} moved", letter(name)),
                Obstacle::Missing { name, .. } => format!("{} missing", letter(name)),
                Obstacle::Elsewhere { base } => format!("{} elsewhere", &base.to_string()[..1]),
            })
            .collect();
        words.extend(found.moves.iter().map(|it| format!("{}{}{}", letter(&it.name), digit(it.old), digit(it.new))));
        words.extend(found.left.iter().map(|id| format!("left {}", digit(Some(*id)))));
        let sorted = |text: &str| {
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&words.join(" ")), sorted(expected));
    }

    #[rstest::rstest]
    #[case::none(&[], None)]
    #[case::set(&[Some((false, true))], Some((true, false)))]
    #[case::set_and_met(&[Some((false, true)), None, Some((true, false))], None)]
    fn the_marker_goes_back(#[case] markers: &[Option<(bool, bool)>], #[case] expected: Option<(bool, bool)>) {
        let with = |marker: &Option<_>| Operation { marker: *marker, ..Operation::default() };
        let operations: Vec<_> = markers.iter().map(|marker| (with(marker), Fate::TakenBack)).collect();
        let later: Vec<Later<'_>> = operations.iter().map(as_later).collect();
        assert_eq!(marker(&later), expected);
    }

    #[rstest::rstest]
    #[case::nothing(&[], "")]
    #[case::no_file(&["v12"], "")]
    #[case::saved(&["s12", "v12"], "2")]
    #[case::set_aside(&["s12", "s2- a-2"], "2")]
    #[case::on_another_base(&["s12", "e-6"], "6")]
    #[case::of_another_worktree(&["s12", "o-6"], "2")]
    fn what_the_files_were(#[case] log: &[&str], #[case] expected: &str) {
        let operations: Vec<Operation> = log.iter().map(|text| operation(text).0).collect();
        let found = last_saved(operations.iter().rev(), "main".into()).map(|(_, ids)| ids).unwrap_or_default();
        assert_eq!(found.into_iter().map(|id| digit(Some(id))).collect::<String>(), expected);
    }
}
