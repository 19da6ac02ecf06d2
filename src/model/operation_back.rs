//! What brings the refs of a worktree back to what they were after an earlier operation: a pure function of the operation log.

use std::collections::BTreeMap;

use bstr::BStr;
use gix::ObjectId;

use super::{
    operation::{self, Move, Operation},
    operation_stack::Obstacle,
    refname::{self, Base, ShadowName},
};

/// An operation after the one to go back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later<'o> {
    pub(crate) operation: &'o Operation,
    /// True if the state before it comes back exactly, with nothing held that was not held then. It may have been killed before
    /// it moved its refs.
    pub(crate) is_undone: bool,
}

/// The refs of ours as they are, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    /// The worktree that goes back.
    pub(crate) worktree: &'p BStr,
    /// Where its HEAD is.
    pub(crate) base: Base,
    pub(crate) refs: &'p BTreeMap<String, ObjectId>,
}

/// What brings refs back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Back {
    /// The moves of refs; those that begin to hold something come first.
    pub(crate) moves: Vec<Move>,
    /// The ends of chains that no chain would lead to afterwards: the archive must hold them.
    pub(crate) left: Vec<ObjectId>,
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
    /// False if it has been moved in between by what is not in the log of this worktree.
    is_whole: bool,
    /// True if what it points to was put there by an operation that is undone.
    is_undone: bool,
}

/// Returns what takes the operations `later` back, which are in the order of time.
///
/// Records and transcripts only grow, and the baselines of turns belong to the files of their sessions: both stay. So does what
/// belongs to another worktree. What an archived shadow holds, and nothing else, stays in the archive; what would leave a live
/// shadow goes there. So no checkpoint is lost that says who wrote a line. `leads_to` says whether one of some commits leads to
/// another one.
pub(crate) fn back(
    later: &[Later<'_>],
    place: &Place<'_>,
    can_read: impl Fn(ObjectId) -> bool,
    leads_to: impl Fn(&[ObjectId], ObjectId) -> bool,
) -> Back {
    let (mut back, mut undone) = (Back::default(), Vec::new());
    for line in lines(later, place.worktree) {
        let now = place.refs.get(&line.name).copied();
        if now == line.then {
            continue;
        }
        undone.extend(now.filter(|_| line.is_undone && now == line.end));
        let elsewhere = ShadowName::from_ref(&line.name).map(|shadow| shadow.base).filter(|base| *base != place.base);
        let name = line.name.clone();
        match (line.then, elsewhere) {
            _ if !line.is_whole || now != line.end => back.obstacles.push(Obstacle::Moved { name, now }),
            // A shadow lives where HEAD is.
            (Some(_), Some(base)) => back.obstacles.push(Obstacle::Elsewhere { base }),
            (Some(id), _) if !can_read(id) => back.obstacles.push(Obstacle::Missing { name, id }),
            (then, _) => back.moves.push(Move { name, old: now, new: then }),
        }
    }
    let (stays, left) = held(&back.moves, &undone, place, leads_to);
    back.left = left;
    back.moves.retain(|moved| !stays.contains(&moved.name));
    back.moves.sort_by_key(|moved| moved.new.is_none());
    back.marker = marker(later);
    back
}

/// Returns which refs in the archive must stay, and which commits must come into it, so that after `moves` a chain of this
/// repository leads to all that `moves` leave, except what is `undone`.
fn held(
    moves: &[Move],
    undone: &[ObjectId],
    place: &Place<'_>,
    leads_to: impl Fn(&[ObjectId], ObjectId) -> bool,
) -> (Vec<String>, Vec<ObjectId>) {
    let mut chains = place.refs.clone();
    chains.retain(|name, _| is_chain(name));
    let mut leaving: BTreeMap<ObjectId, &str> = BTreeMap::new();
    for moved in moves {
        chains.remove(&moved.name);
        if let Some(id) = moved.old.filter(|id| !undone.contains(id)) {
            let name = leaving.entry(id).or_insert(&moved.name);
            if moved.name.starts_with(refname::ARCHIVE) {
                *name = &moved.name;
            }
        }
    }
    let mut tips: Vec<ObjectId> = chains.into_values().collect();
    tips.extend(moves.iter().filter(|moved| is_chain(&moved.name)).filter_map(|moved| moved.new));
    let (mut stays, mut left) = (Vec::new(), Vec::new());
    for (id, name) in &leaving {
        // What leads to it from another one that is left is held with that one.
        let others = leaving.keys().filter(|other| *other != id);
        let all: Vec<ObjectId> = tips.iter().chain(others).copied().collect();
        if leads_to(&all, *id) {
            continue;
        }
        if name.starts_with(refname::ARCHIVE) { stays.push((*name).to_owned()) } else { left.push(*id) }
    }
    (stays, left)
}

fn is_chain(name: &str) -> bool {
    name.starts_with(refname::SHADOWS) || name.starts_with(refname::ARCHIVE)
}

/// Returns true if a ref of this name goes back with the operations of `worktree`.
fn goes_back(name: &str, worktree: &BStr) -> bool {
    let is_of_other = match ShadowName::from_ref(name) {
        Some(shadow) => shadow.worktree != worktree,
        None => name.starts_with(refname::VERIFIED) && name != refname::verified_ref(worktree),
    };
    !refname::is_log(name) && !name.starts_with(refname::PENDING) && !is_of_other
}

/// Returns how each ref was moved, in the order of the first moves.
fn lines(later: &[Later<'_>], worktree: &BStr) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for Later { operation, is_undone } in later {
        // Broken chains were set aside: what the ref pointed to before is one of them.
        let is_sound = operation.kind != operation::REPAIR;
        for moved in operation.moves.iter().filter(|moved| goes_back(&moved.name, worktree)) {
            match lines.iter_mut().find(|line| line.name == moved.name) {
                Some(line) => {
                    let was_not_moved = line.is_undone && moved.old == line.then;
                    line.is_whole &= (line.end == moved.old || was_not_moved) && is_sound;
                    (line.end, line.is_undone) = (moved.new, *is_undone);
                }
                None => lines.push(Line {
                    name: moved.name.clone(),
                    then: moved.old,
                    end: moved.new,
                    is_whole: is_sound,
                    is_undone: *is_undone,
                }),
            }
        }
    }
    lines
}

/// Returns whether the next checkpoint of a person is to become verified after the operations `later`, and before them.
fn marker(later: &[Later<'_>]) -> Option<(bool, bool)> {
    let mut markers = later.iter().filter_map(|it| it.operation.marker);
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

    /// Returns the operation with the moves `text`: `s12 v-1`. With an exclamation mark, it is undone.
    fn operation(text: &str) -> (Operation, bool) {
        let moves = text.trim_start_matches('!').split_whitespace().map(|word| Move {
            name: name(&word[..1]),
            old: id(&word[1..2]),
            new: id(&word[2..3]),
        });
        (Operation { moves: moves.collect(), ..Operation::default() }, text.starts_with('!'))
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
    #[case::head_was_elsewhere(&["e1- a-1 s-2"], "a1 s2", "1 elsewhere s2- left 2 a1-")]
    #[case::head_was_elsewhere_for_a_while(&["e-1", "e1- a-1"], "a1", "")]
    #[case::verified(&["v12"], "s2 v2", "v21")]
    #[case::verified_alone(&["v61"], "s2 v1", "v16")]
    #[case::verified_and_gone_else(&["v-6"], "s2 v6", "v6- left 6")]
    #[case::tag(&["t-1", "t12"], "s2 t2", "t2-")]
    #[case::tag_moved_by_another_worktree(&["t-1", "t23"], "s3 t3", "t moved")]
    #[case::logs_stay(&["h12", "s12"], "h3 s2", "s21 left 2")]
    #[case::baselines_stay(&["p-1"], "p1", "")]
    #[case::others_shadows_stay(&["o12 w12"], "o2 w2", "")]
    #[case::two_leave_one_is_in_the_other(&["s-1", "s1- a-1", "s-2"], "a1 s2", "s2- left 2 a1-")]
    fn the_way_back(#[case] later: &[&str], #[case] now: &str, #[case] expected: &str) {
        let operations: Vec<(Operation, bool)> = later.iter().map(|text| operation(text)).collect();
        let later: Vec<Later<'_>> =
            operations.iter().map(|(operation, is_undone)| Later { operation, is_undone: *is_undone }).collect();
        let refs = now.split_whitespace().map(|word| (name(&word[..1]), id(&word[1..2]).expect("an id")));
        let refs = refs.collect();
        let place = Place { worktree: "main".into(), base: Base::Unborn, refs: &refs };
        let found = back(&later, &place, |other| Some(other) != id("9"), leads);
        let mut words: Vec<String> = found
            .obstacles
            .iter()
            .map(|obstacle| match obstacle {
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
        let operations: Vec<Operation> =
            markers.iter().map(|marker| Operation { marker: *marker, ..Operation::default() }).collect();
        let later: Vec<Later<'_>> = operations.iter().map(|operation| Later { operation, is_undone: false }).collect();
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
