//! What no checkpoint has yet, with the authors that a save would name now. Nothing is locked or written.

use bstr::BString;
use gix::ObjectId;

use super::super::{
    Context, author,
    chain::{
        Author, Request,
        lost::{is_any_noted, lost_changes},
    },
    named::{self, Trigger},
    provenance::step::Step,
    turn,
};
use crate::{
    error::Result,
    git::Repo,
    model::{
        change::Change,
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
    },
};

/// Returns the unsaved changes of the files that `wanted` accepts: those from `last_tree_id`, the last state of the live shadow,
/// to `now_tree_id`, the worktree. Returns nothing if people made all of them, unless lines `may_be_moved` from one file to another:
/// then the replay needs a step that has both. `origin` is the author of changes of which nothing else is known.
///
/// The order is that of a save: first the changes before the turn, then the files that open tool calls name, then the rest.
pub(super) fn unsaved(
    context: &Context,
    repo: &Repo,
    origin: &Origin,
    tip: Option<&Checkpoint>,
    (last_tree_id, now_tree_id): (ObjectId, ObjectId),
    wanted: &dyn Fn(&BString) -> bool,
    may_be_moved: bool,
) -> Result<Vec<Step>> {
    let changes = |before, after| {
        let changes = repo.detect_renames(repo.diff_trees(before, after)?)?.into_iter();
        // If only the old name of a renamed file is wanted, the file is gone.
        let as_wanted = |change: Change| match change.old_path {
            _ if wanted(&change.path) => Some(change),
            Some(old_path) if wanted(&old_path) => Change::between(old_path, change.before, None),
            _ => None,
        };
        let mut changes: Vec<Change> = changes.filter_map(as_wanted).collect();
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changes)
    };
    let mut named = named::requests(context, Trigger::of_author(origin));
    let mut begun =
        if origin.session.is_none() { turn::baselines(context, tip, origin.contributor)? } else { Vec::new() };
    let is_of_person = origin.contributor == Contributor::Human;
    if is_of_person && !may_be_moved && named.is_empty() && begun.is_empty() && !is_any_noted(&context.repo) {
        return Ok(Vec::new());
    }
    let (mut last_tree_id, mut steps) = (last_tree_id, Vec::new());
    let mut rest = changes(last_tree_id, now_tree_id)?;
    let names = |request: &Request, path: &BString| request.scope.paths().is_some_and(|paths| paths.contains(path));
    named.retain(|request| rest.iter().any(|change| names(request, &change.path)));
    let mut sessions = named.iter().filter_map(|it| it.turn_of.as_deref()).chain(origin.session.as_deref());
    if let Some(baseline) = sessions.find_map(|id| turn::baseline(context, id, tip).transpose()).transpose()? {
        begun = vec![baseline];
    }
    for baseline in begun {
        steps.push(Step::new(baseline.origin, changes(last_tree_id, baseline.tree_id)?));
        last_tree_id = baseline.tree_id;
        rest = changes(last_tree_id, now_tree_id)?;
    }
    for request in named {
        let (own, others) = rest.into_iter().partition(|change| names(&request, &change.path));
        rest = others;
        let origin = if let Author::Is(origin) = request.author { origin } else { Origin::default() };
        steps.push(Step::new(origin, own));
    }
    if is_of_person {
        // The caller has looked for work of other shadows, so that the damaged ones are noted.
        let lost = lost_changes(context, &rest)?;
        rest.retain(|change| !lost.contains(change));
        steps.push(Step::new(author::unknown(), lost));
    }
    steps.push(Step::new(origin.clone(), rest));
    steps.retain(|step| !step.changes.is_empty());
    Ok(steps)
}
