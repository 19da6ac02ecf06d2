//! What a restore will do, decided from trees and facts alone; `ops::restore` collects the facts and acts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bstr::{BStr, BString, ByteSlice as _};

use super::{
    step::Step,
    verdict::{Left, Verdict, Why},
};

/// Steps that succeed or fail together: deletions that make room come first, then writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Deletions that make room for `writes`; or only deletions.
    pub clears: Vec<Step>,
    /// The files to write.
    pub writes: Vec<Step>,
}

impl Group {
    /// Returns all steps in the order in which they are taken.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.clears.iter().chain(&self.writes)
    }
}

/// What a restore does, in this order, and what it leaves alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Writes first, plain deletions last.
    pub groups: Vec<Group>,
    /// Paths that must not be changed.
    pub kept: Vec<Left>,
    /// Paths that cannot be changed.
    pub conflicts: Vec<Left>,
}

/// Returns the plan for `candidates`. With `folds_case`, names that differ only in case are one file.
pub(crate) fn plan(candidates: Vec<(Step, Verdict)>, folds_case: bool) -> Plan {
    let mut plan = Plan::default();
    let mut steps = BTreeMap::new();
    let mut obstacles = BTreeSet::new();
    for (step, verdict) in candidates {
        let left = match verdict {
            Verdict::Go => {
                steps.insert(step.path.clone(), step);
                continue;
            }
            Verdict::Keep(why) => {
                plan.kept.push(Left { path: step.path.clone(), why });
                step
            }
            Verdict::Refuse(why) => {
                plan.conflicts.push(Left { path: step.path.clone(), why });
                step
            }
        };
        if left.before.is_some() && left.after.is_none() {
            obstacles.insert(left.path);
        }
    }
    let mut groups = swaps(&mut steps);
    if folds_case {
        groups.extend(case_renames(&mut steps));
    }
    let (blocked, open): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| is_blocked(group, &obstacles));
    for group in blocked {
        plan.conflicts.extend(group.steps().map(|step| Left { path: step.path.clone(), why: Why::InTheWay }));
    }
    let (deletes, writes): (Vec<_>, Vec<_>) = steps.into_values().partition(|step| step.after.is_none());
    for step in writes {
        let group = Group { clears: Vec::new(), writes: vec![step] };
        if is_blocked(&group, &obstacles) {
            let path = group.writes.into_iter().next().expect("it has one").path;
            plan.conflicts.push(Left { path, why: Why::InTheWay });
        } else {
            plan.groups.push(group);
        }
    }
    plan.groups.extend(open);
    plan.groups.extend(deletes.into_iter().map(|step| Group { clears: vec![step], writes: Vec::new() }));
    plan.kept.sort_by(|a, b| a.path.cmp(&b.path));
    plan.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    plan
}

/// Returns true if a path that stays blocks a write, or a directory that the write needs.
fn is_blocked(group: &Group, obstacles: &BTreeSet<BString>) -> bool {
    group.writes.iter().any(|write| {
        let mut below = write.path.clone();
        below.push(b'/');
        write.path.find_iter("/").any(|at| obstacles.contains(write.path[..at].as_bstr()))
            || obstacles.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
    })
}

/// Returns true if `path` lies in the directory `directory`.
pub(crate) fn is_below(path: &BStr, directory: &BStr) -> bool {
    path.strip_prefix(directory.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Returns true if `a` and `b` differ, but only in case.
pub(crate) fn is_same_name(a: &BString, b: &BString) -> bool {
    a != b && fold(a) == fold(b)
}

fn fold(path: &BString) -> String {
    path.to_str_lossy().to_lowercase()
}

/// Takes the steps in which a file becomes a directory, or the reverse, out of `steps`.
fn swaps(steps: &mut BTreeMap<BString, Step>) -> Vec<Group> {
    let mut groups: BTreeMap<BString, Group> = BTreeMap::new();
    let mut members: Vec<(BString, BString)> = Vec::new();
    for path in steps.keys() {
        for at in path.find_iter("/") {
            if let Some(above) = steps.get(path[..at].as_bstr()) {
                members.push((above.path.clone(), path.clone()));
                break;
            }
        }
    }
    for (above, path) in members {
        let Some(step) = steps.get(&path) else { continue };
        // Two deletions, one below the other, cannot both have existed; two writes neither.
        if steps.get(&above).is_some_and(|other| other.after.is_none() == step.after.is_none()) {
            continue;
        }
        let step = steps.remove(&path).expect("it was just found");
        let group = groups.entry(above).or_default();
        if step.after.is_none() { group.clears.push(step) } else { group.writes.push(step) }
    }
    for (above, group) in &mut groups {
        let step = steps.remove(above).expect("groups are made for steps");
        if step.after.is_none() { group.clears.push(step) } else { group.writes.push(step) }
    }
    groups.into_values().collect()
}

/// Takes the steps that rename a file to the same name in another case out of `steps`.
fn case_renames(steps: &mut BTreeMap<BString, Step>) -> Vec<Group> {
    let deleted: HashMap<String, BString> =
        steps.values().filter(|step| step.after.is_none()).map(|step| (fold(&step.path), step.path.clone())).collect();
    let pairs: Vec<(BString, BString)> = steps
        .values()
        .filter(|step| step.before.is_none())
        .filter_map(|step| Some((deleted.get(&fold(&step.path))?.clone(), step.path.clone())))
        .collect();
    let mut groups = Vec::new();
    for (old, new) in pairs {
        if let (Some(clear), Some(write)) = (steps.remove(&old), steps.remove(&new)) {
            groups.push(Group { clears: vec![clear], writes: vec![write] });
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;
    use crate::model::{
        change::{Leaf, Mode},
        step::Content,
    };

    fn content(byte: u8) -> Content {
        Content { leaf: Leaf { id: ObjectId::from_bytes_or_panic(&[byte; 20]), mode: Mode::File }, raw: None }
    }

    fn step(path: &str, before: u8, after: u8) -> Step {
        let side = |byte| (byte != 0).then(|| content(byte));
        Step { path: path.into(), before: side(before), after: side(after) }
    }

    /// Writes groups as `-a -b +c`, kept as `=d`, conflicts as `!e`.
    fn picture(plan: &Plan) -> Vec<String> {
        let group = |group: &Group| {
            let clears = group.clears.iter().map(|step| format!("-{}", step.path));
            clears.chain(group.writes.iter().map(|step| format!("+{}", step.path))).collect::<Vec<_>>().join(" ")
        };
        let mut out: Vec<String> = plan.groups.iter().map(group).collect();
        out.extend(plan.kept.iter().map(|left| format!("={}: {}", left.path, left.why)));
        out.extend(plan.conflicts.iter().map(|left| format!("!{}: {}", left.path, left.why)));
        out
    }

    #[rstest::rstest]
    #[case::deletions_come_last(vec![("a", 1, 0, true), ("b", 0, 1, true), ("c", 1, 2, true)], false, &["+b", "+c", "-a"])]
    #[case::directory_to_file(
        vec![("d", 0, 1, true), ("d/x", 1, 0, true), ("d/y/z", 1, 0, true), ("e", 1, 2, true)],
        false,
        &["+e", "-d/x -d/y/z +d"]
    )]
    #[case::file_to_directory(vec![("d", 1, 0, true), ("d/x", 0, 1, true), ("d/y", 0, 2, true)], false, &["-d +d/x +d/y"])]
    #[case::similar_names_are_no_group(vec![("d", 0, 1, true), ("d.x", 1, 0, true), ("d0", 1, 0, true)], false, &["+d", "-d.x", "-d0"])]
    #[case::kept_file_blocks_the_directory(
        vec![("d", 0, 1, true), ("d/x", 1, 0, false), ("d/y", 1, 0, true)],
        false,
        &["=d/x: changed by a human since", "!d: in the way", "!d/y: in the way"]
    )]
    #[case::kept_file_blocks_what_is_below(
        vec![("d", 1, 0, false), ("d/x", 0, 1, true)],
        false,
        &["=d: changed by a human since", "!d/x: in the way"]
    )]
    #[case::kept_directory_blocks_a_lone_write(
        vec![("d", 0, 1, true), ("d/x", 1, 0, false)],
        false,
        &["=d/x: changed by a human since", "!d: in the way"]
    )]
    #[case::a_kept_write_blocks_nothing(vec![("d", 1, 0, true), ("d/x", 0, 1, false)], false, &["-d", "=d/x: changed by a human since"])]
    #[case::case_rename(vec![("README", 1, 0, true), ("readme", 0, 1, true)], true, &["-README +readme"])]
    #[case::case_matters(vec![("README", 1, 0, true), ("readme", 0, 1, true)], false, &["+readme", "-README"])]
    fn plans(#[case] steps: Vec<(&str, u8, u8, bool)>, #[case] folds_case: bool, #[case] expected: &[&str]) {
        let verdict = |is_ours| if is_ours { Verdict::Go } else { Verdict::Keep(Why::Human) };
        let candidates =
            steps.into_iter().map(|(path, before, after, is_ours)| (step(path, before, after), verdict(is_ours)));
        assert_eq!(picture(&plan(candidates.collect(), folds_case)), expected);
    }
}
