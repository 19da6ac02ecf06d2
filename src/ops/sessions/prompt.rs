//! A prompt: decides whether work continues where the shadow ends, before the agent changes anything.

use std::collections::BTreeSet;

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::closing::save_unless_turns_are_known,
    super::session_info::SessionInfo,
    super::session_info::{self, add_info, clock, find_or_rebuild, found_or_new, sign_of_life},
    super::{
        Context, Worktree, author,
        chain::{
            commit::{self, Draft},
            lost::lost_among,
        },
        condense,
        enter::Purpose,
        guard,
        inside::Unprotected,
        provenance::set_aside,
        salvage::{Look, set_broken_aside},
        save::{self, Seen, Shadow, SkippedPath, UnfilteredPath},
        turn::{self, release_pending},
        usage,
    },
    admit::admit,
    continues::{decide_for, touched_by},
    elsewhere::{Elsewhere, end_elsewhere},
    events::close_interrupted,
    retry::retry_on_race,
    state::State,
    warning::{self, Question},
};
use crate::{
    config::Store,
    error::{Kind, Result},
    git::{
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        side::write_side_tree,
    },
    model::{
        contributor::Contributor,
        event::Event,
        overlap::Reason,
        path_text,
        redact::redact,
        refname::pending_ref,
        session::{Action, Session, SessionEvent, Turn, UnderWay, transition},
    },
    state::{
        failpoint,
        sessions::{self, Prompt},
    },
};

/// The result of a prompt. Serializes to what `session prompt --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prompted {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub session: State,
    /// True if no session had its id: this is its first prompt, without a start.
    pub begins: bool,
    /// Why the shadow continues or is set aside.
    pub reason: Reason,
    /// The paths in which the worktree differs from HEAD.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub dirty: Vec<BString>,
    /// Those of them in which the shadow differs from its base.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub overlap: Vec<BString>,
    /// Sessions whose work was set aside and is in the worktree again.
    pub taken_up: Vec<String>,
    /// Sessions whose work is in the stash. When the work is in the worktree again, a prompt takes it up.
    pub stashed: Vec<String>,
    /// A message for each session whose process died in the middle of a turn: we have saved what it may have left.
    pub interrupted: Vec<String>,
    /// The turn of this session in another worktree, which was ended first.
    pub elsewhere: Option<Elsewhere>,
    /// The paths that the checkpoint of the state before the turn lacks.
    pub skipped: Vec<SkippedPath>,
    /// The repositories inside the worktree that no checkpoint has; only the first prompt of a session looks for them.
    #[serde(skip)]
    pub(crate) repositories: Unprotected,
    /// Files that this checkpoint holds unfiltered, because their filters failed.
    pub unfiltered: Vec<UnfilteredPath>,
}

impl Prompted {
    /// Returns notes for the user, in words: one for each interrupted session, and one if the stash has work of sessions.
    pub fn notes(&self) -> Vec<String> {
        let stashed = (!self.stashed.is_empty()).then(|| {
            let names = self.stashed.join(", ");
            format!("the stash holds work of {names}, which stays known and is taken up again with it")
        });
        self.interrupted.iter().cloned().chain(stashed).collect()
    }
}

/// Begins a turn of the session `id`, which need not be known.
///
/// # Errors
/// [`Kind::Refused`] if another session has uncommitted work here and `info` or `ask` says to cancel, or if this one has a turn
/// in another worktree that cannot be ended, or was made for another worktree. Then no turn begins here.
pub fn prompt(
    context: &Context,
    id: &str,
    message: Option<&str>,
    info: &SessionInfo,
    ask: &mut dyn FnMut(&Question) -> Result<bool>,
) -> Result<Prompted> {
    let prompted = admit(context, id, info)
        .and_then(|()| warning::check(context, id, info.on_multisession, ask))
        .and_then(|has_agreed| Ok((has_agreed, retry_on_race(|| end_elsewhere(context, id))?)))
        .and_then(|(has_agreed, elsewhere)| {
            let opening = Opening::Prompt(message);
            let begun = retry_on_race(|| {
                let worktree = Worktree::enter(context, Purpose::Change)?;
                save_unless_turns_are_known(&worktree)?;
                let begun = begin(&worktree, id, opening, info);
                if has_agreed && begun.is_ok() {
                    warning::note_agreed(&worktree, id);
                }
                turn::write_after(&worktree, begun)
            })?;
            Ok(Prompted { elsewhere, ..begun })
        });
    context.emit_failure("prompt", prompted)
}

/// What a turn begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening<'t> {
    /// A prompt, with its text where it is known. The author of changes made before it is the user, or unknown if an agent may
    /// have made them.
    Prompt(Option<&'t str>),
    /// The agent continues its last turn without an act of the user. The author of earlier changes is unknown, and the caller
    /// saves them.
    Notice,
}

/// Begins a turn, after the user has answered all questions.
pub(crate) fn begin(worktree: &Worktree<'_>, id: &str, opening: Opening<'_>, info: &SessionInfo) -> Result<Prompted> {
    let repo = &worktree.repo;
    let interrupted = guard::recover(worktree, id).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot save what a session whose process is gone may have left");
        Vec::new()
    });
    worktree.edit_turns(|turns| turns.lost = None);
    let found = find_or_rebuild(worktree, id)?;
    let begins = found.is_none();
    let mut session = found_or_new(worktree, id, found);
    let is_first = begins || session.turn.number == 0;
    let phase = (session.turn.number > 0 || !session.base.is_empty()).then_some(session.phase);
    if transition(phase, SessionEvent::Prompt).actions.contains(&Action::CloseInterrupted) {
        close_interrupted(worktree, &mut session)?;
    }
    // An interrupted turn or stop may have left the record incomplete.
    if let Err(error) = condense::complete(worktree, &mut session) {
        tracing::warn!(%error, "cannot complete the record of a commit made during the turn");
    }
    note_stashes(worktree);
    add_info(&mut session, info);
    // What the agent has written since its last turn ended is of that one.
    usage::count(worktree, &session, None);
    let mut shadow = Shadow::read_for(worktree, Some(id))?;
    let is_broken = matches!(touched_by(worktree, &shadow), Err(error) if error.kind() == Kind::Corrupt);
    if is_broken {
        set_broken_aside(worktree, Look::AtAll)?;
        // The objects of HEAD may be damaged as well: from now on, read each object before it counts as stored.
        repo.distrust_objects();
        shadow = Shadow::read_for(worktree, Some(id))?;
    }
    let (mut seen, mut objects) = save::look_after_saving_named(worktree, &mut shadow, id)?;
    let dirty: BTreeSet<BString> =
        objects.changes_of_trees(shadow.head_tree_id, seen.tree_id)?.into_iter().map(|change| change.path).collect();
    let side_tree_id = write_side_tree(&seen.side, &mut objects)?;
    let written = objects.write()?;
    let taken_up = take_up(worktree, &mut shadow, &seen, &dirty)?;
    let decision = decide_for(worktree, &shadow, is_broken || !worktree.broken().is_empty(), seen.tree_id, &dirty)?;
    let (number, prompt_digest) = match opening {
        Opening::Prompt(_) => (session.turn.next(), None),
        Opening::Notice => (session.turn.number.max(1), session.turn.prompt_digest.take()),
    };
    repo.note_turn_of_hook(number);
    session.turn = Turn { number, prompt_digest };
    let turn = UnderWay {
        started: clock(),
        shadow_tip: shadow.tip.as_ref().map(|tip| tip.id).or(shadow.expected),
        should_reset_shadow: decision.should_reset,
        has_checkpoint: false,
    };
    // Without a baseline, no ref reaches these objects, and they need no check: git keeps new objects for a while.
    if let Opening::Prompt(_) = opening
        && keep_baseline(worktree, (id, &turn), &shadow, &mut seen, side_tree_id)?
    {
        written.check_and_release()?;
    }
    failpoint::hit("prompt:before-session");
    session = session.with_turn(Some(&turn));
    sign_of_life(&mut session);
    session_info::set_here(worktree, &mut session);
    session.base = shadow.name.base.to_string();
    if let Opening::Prompt(Some(message)) = opening {
        keep_prompt(worktree, &mut session, message)?;
    }
    failpoint::hit("prompt:after-prompt");
    author::forget_ended(worktree);
    if worktree.turns().turn_of(id).is_some() {
        // Its turn here never ended, and the session has continued elsewhere since.
        worktree.edit_turns(|turns| turns.end(id));
    }
    session_info::store(worktree, &session)?;
    failpoint::hit("prompt:after-session");
    worktree.emit(&Event::Overlap {
        session: id.to_owned(),
        should_reset: decision.should_reset,
        dirty: dirty.len(),
        overlap: decision.overlap.len(),
    });
    let stashed = if decision.reason == Reason::Clean { set_aside::stashed(worktree, &shadow)? } else { Vec::new() };
    let cache = seen.cache.as_ref().map(|it| &it.0);
    Ok(Prompted {
        version: 1,
        session: State::from(&session),
        begins,
        reason: decision.reason,
        dirty: dirty.into_iter().collect(),
        overlap: decision.overlap,
        taken_up,
        stashed,
        interrupted,
        elsewhere: None,
        repositories: Unprotected::find(worktree, cache, &seen.side.manifest.nested, is_first),
        skipped: seen.skipped.iter().map(SkippedPath::from).collect(),
        unfiltered: UnfilteredPath::list(&seen.side.manifest.unfiltered, shadow.unfiltered()),
    })
}

/// Notes which entries the stash has when a turn begins.
pub(crate) fn note_stashes(worktree: &Worktree<'_>) {
    let stashes = worktree.repo.stash_entries().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read the stash");
        Vec::new()
    });
    worktree.edit_turns(|turns| {
        turns.stashes = stashes.iter().map(ToString::to_string).collect();
        turns.stashed.clear();
    });
}

/// Takes up archived work that is in the worktree again. It may be of several sessions, so it goes to the worktree's shadow.
fn take_up(context: &Context, shadow: &mut Shadow, seen: &Seen, dirty: &BTreeSet<BString>) -> Result<Vec<String>> {
    let Some(session) = shadow.name.session.clone() else {
        return set_aside::take_up(context, shadow, seen, dirty, None);
    };
    let mut common = Shadow::read(&context.repo)?;
    let taken_up = set_aside::take_up(context, &mut common, seen, dirty, None)?;
    if !taken_up.is_empty() {
        *shadow = Shadow::read_for(context, Some(&session))?;
    }
    Ok(taken_up)
}

/// Keeps the state of the worktree as the baseline of the turn, so that changes made before the turn do not count as its work.
/// Returns false if a checkpoint or HEAD holds the same state already.
fn keep_baseline(
    context: &Context,
    (id, turn): (&str, &UnderWay),
    shadow: &Shadow,
    seen: &mut Seen,
    side_tree_id: Option<ObjectId>,
) -> Result<bool> {
    let repo = &context.repo;
    // The first checkpoint of the turn follows the last checkpoint of the shadow, or HEAD if there is none or if the turn sets
    // the shadow aside. If the worktree does not differ from that, a baseline adds nothing.
    let afresh = turn.should_reset_shadow.then(|| Shadow::without_tip(context, Some(id))).transpose()?;
    let reference = afresh.as_ref().unwrap_or(shadow);
    let objects = NewObjects::new(repo, Target::Loose);
    if !save::is_changed(repo, reference, seen, save::Hold::AsBefore, &objects)? {
        release_pending(context, id, Some(seen.tree_id))?;
        // If the turn is about to set the shadow aside, the cache must not rely on it. HEAD holds the state then.
        let anchor = shadow.held_tip().filter(|_| !turn.should_reset_shadow);
        save::store_cache(repo, seen, anchor);
        return Ok(false);
    }
    let mut commits = NewObjects::new(repo, Target::Loose);
    let mut origin = author::before_prompt(context, id)?;
    if origin.contributor == Contributor::Human {
        let changes = objects.changes_of_trees(reference.last_tree_id(), seen.tree_id)?;
        let changed: Vec<BString> = changes.into_iter().map(|change| change.path).collect();
        if !lost_among(context, &changed)?.is_empty() {
            origin = author::unknown();
        }
    }
    let side_id = save::side_commit(repo, shadow, side_tree_id, &origin, &mut commits)?;
    let parent_id = commit::base_commit(shadow.name.base, &mut commits)?;
    let subject = "before a prompt";
    let (name, tree_id, time) = (&shadow.name, seen.tree_id, repo.now());
    // The baseline begins a chain of its own. `after` names the checkpoint that most of the baseline's lines come from.
    let after = reference.tip.as_ref().map(|tip| tip.id).filter(|id| *id != parent_id);
    let draft = Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject, body: "", time };
    let pending_id = draft.write(repo, &mut commits)?;
    let commits = commits.write()?;
    let name = pending_ref(repo.worktree_id(), id);
    if repo.find_ref(&name)? != Some(pending_id) {
        release_pending(context, id, Some(seen.tree_id))?;
    }
    let old = repo.find_ref(&name)?;
    if old != Some(pending_id) {
        repo.update_refs(&[RefUpdate { name, old, new: Some(pending_id) }])?;
    }
    commits.check_and_release()?;
    save::store_cache(repo, seen, Some(pending_id));
    Ok(true)
}

fn redacted(text: &str) -> String {
    String::from_utf8_lossy(&redact(text.as_bytes().to_vec())).into_owned()
}

/// Notes the digest of the prompt in `session`, and stores the text of the prompt. The settings can say to remove secrets from
/// the text first, or not to store it.
fn keep_prompt(context: &Context, session: &mut Session, message: &str) -> Result<()> {
    if message.trim().is_empty() {
        return Ok(());
    }
    let settings = &context.settings.transcript;
    let text = if settings.redact { redacted(message) } else { message.to_owned() };
    let digest = gix::objs::compute_hash(context.repo.object_hash(), gix::objs::Kind::Blob, text.as_bytes());
    session.turn.prompt_digest = digest.ok().map(|id: ObjectId| id.to_string());
    if settings.store == Store::None {
        return Ok(());
    }
    let seconds = session.under_way.as_ref().map_or_else(clock, |turn| turn.started);
    let prompt = Prompt { turn: session.turn.number, seconds, text };
    sessions::append_prompt(context.repo.common_dir(), &session.id, &prompt)
}
