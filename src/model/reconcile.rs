//! Plans how to bring records and shadows up to date after HEAD has moved. Pure: `ops::enter` applies the plan.

use gix::ObjectId;

use super::{
    head_move::{HeadMove, LogEnd, MoveKind},
    refname::Base,
};

/// One step of the plan. Each can be repeated: the next command after a crash applies the plan again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Links the commit to the records of the work that it repeats, makes the record of the new work that it took from shadows,
    /// and carries the rest of the shadow on its base forward to it.
    Condense(HeadMove),
    /// Links the commit to the records of the work that it repeats.
    Link(HeadMove),
    /// Links commits to the records of those that they replace.
    LinkRewritten(Rewrite),
    /// Carries the work of the shadow on the first position forward to the second, with the content of its last checkpoint: the
    /// worktree may be at a later commit already.
    CarryForward(Base, ObjectId),
    /// Notes that the checkpoints are up to date with this position of HEAD and this end of the reflog.
    Note(ObjectId, Option<LogEnd>),
}

/// Commits that were replaced by others: by a rebase, a reset, or a program that rewrites history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rewrite {
    /// The tip of the old commits.
    pub from: Base,
    /// The tip of the new commits.
    pub to: ObjectId,
    /// The commit that a rebase has put the new ones on.
    pub onto: Option<ObjectId>,
}

/// Plans the effects of `moves`, oldest first. `takes_work` has one entry for each: whether its commit takes work of a shadow.
///
/// Moves after the last commit that takes work need no `CarryForward` or `Note`: `model::uncommitted` plans what is carried to
/// HEAD from the base that was noted last. All moves of a rebase count as one: until the rebase ends, uncommitted work stays on
/// the commit where it began.
pub(crate) fn plan(moves: &[HeadMove], takes_work: &[bool]) -> Vec<Effect> {
    let last = takes_work.iter().rposition(|takes| *takes);
    let mut effects = Vec::new();
    let mut rebased: Option<(Base, ObjectId)> = None;
    for (at, moved) in moves.iter().enumerate() {
        let HeadMove { kind, from, to, end, .. } = *moved;
        let (takes, is_before_last) = (takes_work[at], last.is_some_and(|last| at < last));
        match (kind, rebased) {
            (MoveKind::RebaseStart, _) => rebased = rebased.map(|(start, _)| (start, to)).or(Some((from, to))),
            (MoveKind::RebaseEnd, _) => {
                // Without a start, the reflog was cut.
                let (start, onto) = rebased.take().map_or((moves[0].from, None), |(start, onto)| (start, Some(onto)));
                if start != Base::Commit(to) {
                    effects.push(Effect::LinkRewritten(Rewrite { from: start, to, onto }));
                    effects.extend(carry(start, moved, is_before_last));
                }
            }
            _ if from == Base::Commit(to) => {}
            (_, Some(_)) if takes => effects.push(Effect::Condense(*moved)),
            // What git repeats in a rebase is linked at its end.
            (_, Some(_)) => effects.extend(kind.is_plain_commit().then_some(Effect::Link(*moved))),
            (_, None) if takes || kind.is_plain_commit() && is_before_last => {
                effects.extend([Effect::Condense(*moved), Effect::Note(to, end)]);
            }
            (_, None) => {
                effects.extend(match kind {
                    MoveKind::Reset => Some(Effect::LinkRewritten(Rewrite { from, to, onto: None })),
                    MoveKind::RebaseStep | MoveKind::RebaseResolved => None,
                    _ => kind.makes_commit().then_some(Effect::Link(*moved)),
                });
                effects.extend(carry(from, moved, is_before_last));
            }
        }
    }
    effects
}

fn carry(from: Base, moved: &HeadMove, is_before_last: bool) -> impl Iterator<Item = Effect> + use<> {
    [Effect::CarryForward(from, moved.to), Effect::Note(moved.to, moved.end)]
        .into_iter()
        .filter(move |_| is_before_last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the commit with the one-letter name `name`; `-` is an unborn branch.
    fn base(name: &str) -> Base {
        match name {
            "-" => Base::Unborn,
            _ => Base::Commit(ObjectId::from_hex(name.repeat(40).as_bytes()).expect("a hexadecimal digit")),
        }
    }

    fn name(base: Base) -> String {
        base.commit_id().map_or("-".into(), |id| id.to_string()[..1].to_owned())
    }

    /// Reads `<message of the reflog> | <from>><to>`, with a star behind it if the commit takes work.
    fn read(line: &str) -> (HeadMove, bool) {
        let (message, ids) = line.rsplit_once('|').expect("a message and ids");
        let (from, to) = ids.trim().trim_end_matches('*').split_once('>').expect("two ids");
        let to = base(to).commit_id().expect("a commit");
        let kind = MoveKind::of_message(message.trim().as_bytes()).unwrap_or(MoveKind::Reset);
        (HeadMove { kind, from: base(from), to, end: None, when: None }, ids.ends_with('*'))
    }

    fn write(effect: &Effect) -> String {
        let ends = |from: Base, to: ObjectId| format!("{}>{}", name(from), name(Base::Commit(to)));
        match effect {
            Effect::Condense(it) => format!("condense {}", ends(it.from, it.to)),
            Effect::Link(it) => format!("link {}", ends(it.from, it.to)),
            Effect::LinkRewritten(it) => {
                let onto = it.onto.map(|onto| format!(" onto {}", name(Base::Commit(onto)))).unwrap_or_default();
                format!("rewritten {}{onto}", ends(it.from, it.to))
            }
            Effect::CarryForward(from, to) => format!("carry {}", ends(*from, *to)),
            Effect::Note(to, _) => format!("note {}", name(Base::Commit(*to))),
        }
    }

    #[rstest::rstest]
    #[case::nothing(&[], "")]
    #[case::the_first_commit(&["commit (initial): x | ->a*"], "condense ->a, note a")]
    #[case::a_commit(&["commit: x | a>b*"], "condense a>b, note b")]
    #[case::a_commit_of_a_person(&["commit: x | a>b"], "link a>b")]
    #[case::a_person_s_commit_before(&["commit: x | a>b", "commit: y | b>c*"], "condense a>b, note b, condense b>c, note c")]
    #[case::a_person_s_commit_after(&["commit: x | a>b*", "commit: y | b>c"], "condense a>b, note b, link b>c")]
    #[case::amend(&["commit (amend): x | b>c*"], "condense b>c, note c")]
    #[case::amend_after_reset(
        &["reset: moving to HEAD~1 | b>a", "commit (amend): x | a>c*"],
        "rewritten b>a, carry b>a, note a, condense a>c, note c"
    )]
    #[case::a_commit_that_was_reset(&["commit: x | a>b*", "reset: moving to a | b>a"], "condense a>b, note b, rewritten b>a")]
    #[case::reset(&["reset: moving to HEAD~1 | b>a"], "rewritten b>a")]
    #[case::stash_in_mid_turn(&["reset: moving to HEAD | a>a"], "")]
    #[case::stash_and_commit(&["reset: moving to HEAD | a>a", "commit: x | a>b*"], "condense a>b, note b")]
    #[case::switch(&["checkout: moving from main to x | a>b"], "")]
    #[case::switch_and_commit(
        &["checkout: moving from main to x | a>b", "commit: x | b>c*"],
        "carry a>b, note b, condense b>c, note c"
    )]
    #[case::switch_there_and_back(
        &["checkout: moving from main to x | a>b", "commit: x | b>c*", "checkout: moving from x to main | c>a"],
        "carry a>b, note b, condense b>c, note c"
    )]
    #[case::a_new_branch(&["checkout: moving from main to x | a>a"], "")]
    #[case::bisect(&["checkout: moving from main to b | d>b", "checkout: moving from b to c | b>c"], "")]
    #[case::fast_forward(&["pull: Fast-forward | a>b"], "")]
    #[case::merge(&["merge x: Merge made by the 'ort' strategy. | a>b"], "link a>b")]
    #[case::merge_with_conflict(&["commit (merge): Merge branch 'x' | a>b*"], "condense a>b, note b")]
    #[case::merge_then_commit(
        &["merge x: Merge made by the 'ort' strategy. | a>b", "commit: x | b>c*"],
        "link a>b, carry a>b, note b, condense b>c, note c"
    )]
    #[case::pick(&["cherry-pick: x | a>b"], "link a>b")]
    #[case::pick_with_conflict(&["commit (cherry-pick): x | a>b"], "link a>b")]
    #[case::pick_with_a_promise(&["commit (cherry-pick): x | a>b*"], "condense a>b, note b")]
    #[case::pick_that_a_session_resolved(
        &["commit (cherry-pick): x | a>b*", "cherry-pick: y | b>c"],
        "condense a>b, note b, link b>c"
    )]
    #[case::rebase_that_a_session_resolved(
        &["rebase (start): checkout c | b>c", "rebase (continue): x | c>d*", "rebase (pick): y | d>e",
          "rebase (finish): returning to refs/heads/x | e>e"],
        "condense c>d, rewritten b>e onto c"
    )]
    #[case::picks_then_commit(
        &["cherry-pick: x | a>b", "cherry-pick: y | b>c", "commit: z | c>d*"],
        "link a>b, carry a>b, note b, link b>c, carry b>c, note c, condense c>d, note d"
    )]
    #[case::am(&["am: x | a>b"], "link a>b")]
    #[case::revert(&["revert: Revert \"x\" | a>b"], "link a>b")]
    #[case::rebase(
        &["rebase (start): checkout c | b>c", "rebase (pick): x | c>d", "rebase (finish): returning to refs/heads/x | d>d"],
        "rewritten b>d onto c"
    )]
    #[case::pull_rebase(
        &["pull --rebase (start): checkout c | b>c", "pull --rebase (pick): x | c>d",
          "pull --rebase (finish): returning to refs/heads/x | d>d"],
        "rewritten b>d onto c"
    )]
    #[case::rebase_with_fixup(
        &["rebase (start): checkout a | d>a", "rebase (pick): x | a>b", "rebase (fixup): x | b>c",
          "rebase (finish): returning to refs/heads/x | c>c"],
        "rewritten d>c onto a"
    )]
    #[case::rebase_with_an_edit_stop(
        &["rebase (start): checkout a | d>a", "rebase (pick): x | a>b", "commit (amend): x | b>c*", "commit: y | c>e",
          "rebase (pick): z | e>f", "rebase (finish): returning to refs/heads/x | f>f"],
        "condense b>c, link c>e, rewritten d>f onto a"
    )]
    #[case::in_a_rebase(
        &["rebase (start): checkout a | d>a", "rebase (pick): x | a>b", "commit: y | b>c*"],
        "condense b>c"
    )]
    #[case::rebase_then_commit(
        &["rebase (start): checkout c | b>c", "rebase (pick): x | c>d", "rebase (finish): returning to refs/heads/x | d>d",
          "commit: y | d>e*"],
        "rewritten b>d onto c, carry b>d, note d, condense d>e, note e"
    )]
    #[case::aborted_rebase(
        &["rebase (start): checkout c | b>c", "rebase (abort): returning to refs/heads/x | c>b"],
        ""
    )]
    #[case::rebase_in_a_rebase_that_was_quit(
        &["rebase (start): checkout c | b>c", "rebase (start): checkout e | c>e", "rebase (finish): x | e>f"],
        "rewritten b>f onto e"
    )]
    #[case::rebased_by_another_tool(&["rebased by tool | b>c"], "rewritten b>c")]
    #[case::filter_branch(&["filter-branch: rewrite | b>c"], "rewritten b>c")]
    #[case::the_end_of_a_rebase_alone(&["rebase (finish): returning to refs/heads/x | d>e"], "rewritten d>e")]
    #[case::a_rebase_whose_start_is_cut_off(
        &["a move of unknown kind | a>c", "rebase (pick): x | c>d", "rebase (finish): returning to refs/heads/x | d>d"],
        "rewritten a>c, rewritten a>d"
    )]
    #[case::a_step_of_a_rebase_alone(&["rebase (pick): x | d>e"], "")]
    fn moves_have_effects(#[case] moves: &[&str], #[case] expected: &str) {
        let (moves, takes): (Vec<HeadMove>, Vec<bool>) = moves.iter().map(|line| read(line)).unzip();
        let effects: Vec<String> = plan(&moves, &takes).iter().map(write).collect();
        assert_eq!(effects.join(", "), expected);
    }

    /// Returns which commits are linked to the work that they repeat or take.
    fn linked(effects: &[Effect]) -> Vec<String> {
        let line = |effect: &Effect| match effect {
            Effect::Condense(it) | Effect::Link(it) => Some(write(&Effect::Link(*it))),
            Effect::LinkRewritten(_) => Some(write(effect)),
            Effect::CarryForward(..) | Effect::Note(..) => None,
        };
        effects.iter().filter_map(line).collect()
    }

    /// Where git runs our hooks, each move is planned when it happens; without hooks, the next command plans all of them.
    /// The moves of a rebase count as one in both cases.
    #[rstest::rstest]
    #[case::commits(&["commit: x | a>b*", "commit: y | b>c", "commit: z | c>d*"], "link a>b, link b>c, link c>d")]
    #[case::amend(&["commit: x | a>b*", "commit (amend): x | b>c"], "link a>b, link b>c")]
    #[case::amend_with_work(&["commit: x | a>b", "commit (amend): x | b>c*"], "link a>b, link b>c")]
    #[case::reword_by_plumbing(&["commit: x | a>b*", " | b>c"], "link a>b, rewritten b>c")]
    #[case::filter_branch(&["commit: x | a>b*", "filter-branch: rewrite | b>c"], "link a>b, rewritten b>c")]
    #[case::reset_and_commit_again(
        &["commit: x | a>b*", "reset: moving to HEAD~1 | b>a", "commit: x | a>c*", "commit: y | c>d"],
        "link a>b, rewritten b>a, link a>c, link c>d"
    )]
    #[case::soft_reset(
        &["commit: x | a>b*", "commit: y | b>c*", "reset: moving to HEAD~2 | c>a", "commit: all | a>d*"],
        "link a>b, link b>c, rewritten c>a, link a>d"
    )]
    #[case::pick(
        &["commit: x | a>b*", "checkout: moving from main to x | b>a", "cherry-pick: x | a>c", "cherry-pick: y | c>d"],
        "link a>b, link a>c, link c>d"
    )]
    #[case::squash(
        &["commit: x | a>b*", "checkout: moving from main to x | b>a", "commit: all | a>c"],
        "link a>b, link a>c"
    )]
    #[case::merge(
        &["commit: x | a>b*", "checkout: moving from main to x | b>a", "commit: y | a>c",
          "merge main: Merge made by the 'ort' strategy. | c>d"],
        "link a>b, link a>c, link c>d"
    )]
    #[case::merge_that_is_undone(
        &["merge x: Merge made by the 'ort' strategy. | a>b", "reset: moving to HEAD~1 | b>a", "commit: again | a>c*"],
        "link a>b, rewritten b>a, link a>c"
    )]
    #[case::fast_forward_that_is_undone(
        &["merge x: Fast-forward | a>b", "reset: moving to HEAD~1 | b>a", "commit: again | a>c*"],
        "rewritten b>a, link a>c"
    )]
    #[case::reverted_twice(
        &["commit: x | a>b*", "revert: Revert \"x\" | b>c", "revert: Reapply \"x\" | c>d"],
        "link a>b, link b>c, link c>d"
    )]
    #[case::made_and_left(
        &["commit: x | a>b*", "commit: y | b>c", "reset: moving to HEAD~2 | c>a", "reset: moving to HEAD@{1} | a>c"],
        "link a>b, link b>c, rewritten c>a, rewritten a>c"
    )]
    fn with_hooks_and_without_the_same_commits_are_linked(#[case] moves: &[&str], #[case] expected: &str) {
        let (moves, takes): (Vec<HeadMove>, Vec<bool>) = moves.iter().map(|line| read(line)).unzip();
        let at_once = linked(&plan(&moves, &takes));
        let one_by_one: Vec<String> =
            moves.iter().zip(&takes).flat_map(|(moved, takes)| linked(&plan(&[*moved], &[*takes]))).collect();
        assert_eq!((at_once.join(", "), one_by_one.join(", ")), (expected.to_owned(), expected.to_owned()));
    }
}
