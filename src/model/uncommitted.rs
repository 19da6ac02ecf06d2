//! Plans what becomes of uncommitted work after HEAD has moved. Pure: `ops::enter` gathers the facts, and carries out the plan.
//!
//! The effects of commits come first: `model::reconcile` plans these.

use std::collections::BTreeSet;

use gix::ObjectId;

use super::{
    head_move::{HeadMove, MoveKind},
    refname::Base,
    session::{Session, UnderWay},
};

/// What the plan depends on.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Where HEAD was when the shadows were last up to date with it.
    pub(crate) known: Base,
    /// Where HEAD is.
    pub(crate) now: Base,
    /// How HEAD has moved from `known`, oldest move first.
    pub(crate) moves: Vec<HeadMove>,
    /// The commits that resets have lately removed from HEAD: HEAD does not contain them.
    pub(crate) removed: Vec<ObjectId>,
    /// True if HEAD contains the commit `known`.
    pub(crate) has_known: bool,
    /// True if an agent with an open turn reports no tools: it may have made any of the commits since `known`.
    pub(crate) is_any_silent: bool,
    /// The sessions with an open turn here.
    pub(crate) open: Vec<Session>,
    /// Those of them whose turn has a baseline: a checkpoint of the worktree as the turn found it, which is in no shadow yet.
    pub(crate) with_baseline: BTreeSet<String>,
    /// The live shadows on `known` with work that has to be carried: the session that owns each, if one does, and its last
    /// checkpoint.
    pub(crate) shadows: Vec<(Option<String>, ObjectId)>,
}

/// One step of the plan. Each can be repeated: after a crash, the next command makes a new plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Takes checkpoints of the content that resets in the middle of a turn removed from HEAD and left in the worktree, as
    /// `git reset --soft HEAD~1` does. Without them, it would count as work of the turn. This content is older than the work in
    /// the shadows, so it comes first.
    KeepTakenBack(TakenBack),
    /// Carries to HEAD what the worktree still has of the work on `known`.
    CarryForward(Carried),
}

/// What resets removed from HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenBack {
    /// The commits at which HEAD was before the resets, oldest move first.
    pub(crate) tips: Vec<ObjectId>,
    /// All commits that were removed.
    pub(crate) removed: Vec<ObjectId>,
    /// The commits that an agent may have made which reports no tools.
    pub(crate) doubtful: BTreeSet<ObjectId>,
    /// True if the open turns began before HEAD was at the removed commits: their baselines go into the shadow first. Otherwise,
    /// `CarryForward` brings the baselines after the content of these commits.
    pub(crate) is_after_baselines: bool,
}

/// What is carried forward to HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The last checkpoints of the shadows that are carried. The others stay on their base, because an open turn is about to set
    /// them aside.
    pub(crate) shadows: Vec<ObjectId>,
    /// The sessions whose turn has no checkpoint yet. From now on, their turns build on HEAD. If they have a baseline, it is
    /// carried, too.
    pub(crate) turns: Vec<String>,
}

/// Plans the effects.
pub(crate) fn plan(facts: &Facts) -> Vec<Effect> {
    let taken_back = taken_back(facts).map(Effect::KeepTakenBack);
    taken_back.into_iter().chain(carried(facts).map(Effect::CarryForward)).collect()
}

fn taken_back(facts: &Facts) -> Option<TakenBack> {
    let known = facts.known.commit_id()?;
    if facts.open.is_empty() {
        return None;
    }
    // HEAD may have been at other commits between the last look and the reset. The reflog names the commit at which HEAD was
    // before each reset.
    let resets = facts.moves.iter().filter(|moved| moved.kind == MoveKind::Reset);
    let mut tips: Vec<ObjectId> = resets.filter_map(|moved| moved.from.commit_id()).collect();
    tips.retain(|tip| facts.removed.contains(tip));
    if tips.is_empty() {
        return None;
    }
    let mut removed = facts.removed.clone();
    let made = facts.moves.iter().filter(|moved| facts.is_any_silent && moved.kind.makes_commit());
    let doubtful: BTreeSet<ObjectId> = made.map(|moved| moved.to).collect();
    // One of these commits may have amended the commit at which HEAD was at the last look. Then the reset has removed both.
    if !doubtful.is_empty() && !facts.has_known && !removed.contains(&known) {
        removed.push(known);
        tips.insert(0, known);
    }
    Some(TakenBack { tips, removed, doubtful, is_after_baselines: facts.known == facts.now })
}

fn carried(facts: &Facts) -> Option<Carried> {
    if facts.known == facts.now {
        return None;
    }
    // They are on the known base or an earlier one: a commit moves only the sessions whose work it took.
    let waiting: Vec<(&Session, &UnderWay)> = facts
        .open
        .iter()
        .filter(|session| session.base() != Some(facts.now))
        .filter_map(|session| Some((session, session.under_way.as_ref().filter(|turn| !turn.has_checkpoint)?)))
        .collect();
    let will_be_set_aside = |(owner, tip): &(Option<String>, ObjectId)| {
        waiting.iter().filter(|(_, turn)| turn.should_reset_shadow).any(|(session, turn)| match owner {
            Some(owner) => *owner == session.id,
            None => turn.shadow_tip == Some(*tip),
        })
    };
    let shadows: Vec<ObjectId> =
        facts.shadows.iter().filter(|shadow| !will_be_set_aside(shadow)).map(|(_, tip)| *tip).collect();
    if shadows.is_empty() && !waiting.iter().any(|(session, _)| facts.with_baseline.contains(&session.id)) {
        return None;
    }
    Some(Carried { shadows, turns: waiting.iter().map(|(session, _)| session.id.clone()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the commit or checkpoint with the one-letter name `name`.
    fn id(name: &str) -> ObjectId {
        ObjectId::from_hex(name.repeat(40).as_bytes()).expect("a hexadecimal digit")
    }

    /// `-` is an unborn branch.
    fn base(name: &str) -> Base {
        if name == "-" { Base::Unborn } else { Base::Commit(id(name)) }
    }

    fn name(id: ObjectId) -> String {
        id.to_string()[..1].to_owned()
    }

    /// Reads `<message of the reflog> | <from>><to>`.
    fn read_move(line: &str) -> HeadMove {
        let (message, ids) = line.rsplit_once('|').expect("a message and ids");
        let (from, to) = ids.trim().split_once('>').expect("two ids");
        let kind = MoveKind::of_message(message.trim().as_bytes()).unwrap_or(MoveKind::Reset);
        HeadMove { kind, from: base(from), to: id(to), end: None, when: None }
    }

    /// Reads facts, of which each is one of
    /// - `removed <commits>`, `has known`, `silent`,
    /// - `shadow <tip>`, `shadow <tip> of <session>`,
    /// - `turn <session> on <base>`: a turn with a checkpoint; `begins` instead of `turn`: without one, and with a baseline;
    ///   `begins bare`: also without a baseline; `resets <session> on <base> at <tip>`: it is about to set that shadow aside.
    fn read(moves: &[&str], state: &str) -> Facts {
        let moves: Vec<HeadMove> = moves.iter().map(|line| read_move(line)).collect();
        let mut facts = Facts {
            known: moves[0].from,
            now: Base::Commit(moves[moves.len() - 1].to),
            moves,
            removed: Vec::new(),
            has_known: false,
            is_any_silent: false,
            open: Vec::new(),
            with_baseline: BTreeSet::new(),
            shadows: Vec::new(),
        };
        let begin = |facts: &mut Facts, session: &str, on: &str, turn: &UnderWay| {
            let known = Session { base: base(on).to_string(), ..Session::new(session, &"main".into(), 0) };
            facts.open.push(known.with_turn(Some(turn)));
        };
        for fact in state.split(", ").filter(|fact| !fact.is_empty()) {
            match fact.split(' ').collect::<Vec<_>>()[..] {
                ["removed", commits] => facts.removed = commits.split("").filter(|it| !it.is_empty()).map(id).collect(),
                ["has", "known"] => facts.has_known = true,
                ["silent"] => facts.is_any_silent = true,
                ["shadow", tip] => facts.shadows.push((None, id(tip))),
                ["shadow", tip, "of", session] => facts.shadows.push((Some(session.to_owned()), id(tip))),
                ["turn", session, "on", on] => {
                    begin(&mut facts, session, on, &UnderWay { has_checkpoint: true, ..UnderWay::default() });
                }
                ["begins", "bare", session, "on", on] => begin(&mut facts, session, on, &UnderWay::default()),
                ["begins", session, "on", on] => {
                    begin(&mut facts, session, on, &UnderWay::default());
                    facts.with_baseline.insert(session.to_owned());
                }
                ["resets", session, "on", on, "at", tip] => {
                    let (shadow_tip, should_reset_shadow) = (Some(id(tip)), true);
                    let turn = UnderWay { shadow_tip, should_reset_shadow, ..UnderWay::default() };
                    begin(&mut facts, session, on, &turn);
                }
                _ => panic!("'{fact}' is no fact"),
            }
        }
        facts
    }

    fn write(facts: &Facts) -> String {
        let names = |ids: &[ObjectId]| ids.iter().map(|id| name(*id)).collect::<String>();
        let effects = plan(facts);
        let effects = effects.iter().map(|effect| match effect {
            Effect::KeepTakenBack(it) => {
                let doubtful: Vec<ObjectId> = it.doubtful.iter().copied().collect();
                let doubt = if doubtful.is_empty() { String::new() } else { format!(" in doubt {}", names(&doubtful)) };
                let when = if it.is_after_baselines { " after baselines" } else { "" };
                format!("keep {} of {}{doubt}{when}", names(&it.tips), names(&it.removed))
            }
            Effect::CarryForward(it) => {
                let turns = if it.turns.is_empty() { String::new() } else { format!(" for {}", it.turns.join(" ")) };
                let shadows = if it.shadows.is_empty() { "no shadow".into() } else { names(&it.shadows) };
                format!("carry {shadows}{turns}")
            }
        });
        effects.collect::<Vec<_>>().join(", ")
    }

    const SOFT_RESET: &[&str] = &["reset: moving to HEAD~1 | b>a"];
    const SWITCH: &[&str] = &["checkout: moving from main to x | a>b"];

    #[rstest::rstest]
    #[case::nothing("removed b", "")]
    #[case::in_a_turn("removed b, turn s on b", "keep b of b")]
    #[case::of_which_nothing_was_removed("turn s on b", "")]
    #[case::of_another_time("removed c, turn s on b", "")]
    #[case::with_work("removed b, turn s on b, shadow e", "keep b of b, carry e")]
    #[case::with_work_of_people("removed b, shadow e", "carry e")]
    #[case::before_the_first_checkpoint("removed b, begins s on b, shadow e", "keep b of b, carry e for s")]
    #[case::of_several_commits("removed bcd, turn s on b", "keep b of bcd")]
    #[case::by_a_silent_agent("removed b, turn s on b, silent", "keep b of b")]
    fn a_soft_reset_has_effects(#[case] state: &str, #[case] expected: &str) {
        assert_eq!(write(&read(SOFT_RESET, state)), expected);
    }

    #[rstest::rstest]
    #[case::to_where_head_was(
        &["commit: x | a>b", "reset: moving to HEAD~1 | b>a"], "removed b, turn s on a, shadow e",
        "keep b of b after baselines"
    )]
    #[case::past_that(
        &["commit: x | b>c", "reset: moving to HEAD~2 | c>a"], "removed cb, turn s on b, shadow e",
        "keep c of cb, carry e"
    )]
    #[case::of_a_silent_agents_commit(
        &["commit: x | a>b", "reset: moving to HEAD~1 | b>a"], "removed b, turn s on a, silent, has known",
        "keep b of b in doubt b after baselines"
    )]
    #[case::of_a_silent_agents_amend(
        &["commit (amend): x | b>c", "reset: moving to HEAD~1 | c>a"], "removed c, turn s on b, silent",
        "keep bc of cb in doubt c"
    )]
    #[case::of_a_known_amend(
        &["commit (amend): x | b>c", "reset: moving to HEAD~1 | c>a"], "removed c, turn s on b",
        "keep c of c"
    )]
    #[case::twice(
        &["reset: moving to HEAD~1 | c>b", "commit: x | b>d", "reset: moving to HEAD~2 | d>a"], "removed cbd, turn s on c",
        "keep cd of cbd"
    )]
    #[case::there_and_back(
        &["reset: moving to HEAD~1 | b>a", "reset: moving to HEAD@{1} | a>b"], "turn s on b, shadow e", ""
    )]
    #[case::on_an_unborn_branch(&["commit (initial): x | ->a"], "removed b, turn s on -, shadow e", "carry e")]
    fn resets_in_a_turn_are_kept(#[case] moves: &[&str], #[case] state: &str, #[case] expected: &str) {
        assert_eq!(write(&read(moves, state)), expected);
    }

    #[rstest::rstest]
    #[case::nothing("", "")]
    #[case::work("shadow e", "carry e")]
    #[case::work_of_two_sessions("shadow e of s, shadow f of t", "carry ef")]
    #[case::in_a_turn("shadow e, turn s on a", "carry e")]
    #[case::in_a_turn_without_work("turn s on a", "")]
    #[case::a_baseline("begins s on a", "carry no shadow for s")]
    #[case::a_turn_without_baseline("begins bare s on a", "")]
    #[case::a_turn_without_baseline_and_work("begins bare s on a, shadow e", "carry e for s")]
    #[case::a_baseline_of_an_earlier_base("begins s on d, shadow e", "carry e for s")]
    #[case::a_turn_that_began_at_head("begins s on b, shadow e", "carry e")]
    #[case::baselines_of_two("begins s on a, begins t on a, turn u on a", "carry no shadow for s t")]
    #[case::what_a_turn_sets_aside("shadow e, resets s on a at e", "")]
    #[case::what_a_turn_would_have_set_aside_before("shadow e, resets s on a at f", "carry e for s")]
    #[case::what_one_of_two_sets_aside("shadow e, resets s on a at e, begins t on a", "carry no shadow for s t")]
    #[case::own_shadow_set_aside("shadow e of s, shadow f of t, resets s on a at f", "carry f for s")]
    #[case::own_shadow_of_another("shadow e of t, resets s on a at e", "carry e for s")]
    fn a_switch_has_effects(#[case] state: &str, #[case] expected: &str) {
        assert_eq!(write(&read(SWITCH, state)), expected);
    }

    #[rstest::rstest]
    #[case::a_bisect(&["checkout: moving from main to b | d>b", "checkout: moving from b to c | b>c"])]
    #[case::a_pull(&["pull: Fast-forward | a>b"])]
    #[case::a_revert(&["revert: Revert \"x\" | a>b"])]
    #[case::a_rebase(&[
        "rebase (start): checkout c | b>c", "rebase (pick): x | c>d", "rebase (finish): returning to refs/heads/x | d>d"
    ])]
    #[case::a_hard_reset(&["reset: moving to HEAD~1 | b>a"])]
    fn work_is_carried_to_where_head_is(#[case] moves: &[&str]) {
        assert_eq!(write(&read(moves, "shadow e, turn s on a")), "carry e");
    }
}
