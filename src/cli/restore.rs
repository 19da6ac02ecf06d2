//! `git checkpoint restore`: puts a checkpoint back, and says what that did. `undo` prints the same.

mod left;
mod listed;
mod picked;
mod submodules;

use std::ffi::OsString;

use bstr::BString;

pub(super) use self::left::{Words, print_not_offered};
use self::listed::print_listed;
pub(super) use self::picked::TO_PICK;
use super::{
    Exit,
    browse::Runner,
    call::{Call, with_target_hint},
    from_root::{self, Form},
    output::printable,
    phrase,
    recurse::Recurse,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{submodule, verdict::Why},
    ops::{
        Context,
        restore::{self, ChosenHunks, Restored},
        review,
    },
};

/// What is said before git asks about hunks.
pub(super) const ABOUT_QUESTIONS: &str = "git's questions name an index, but what you choose changes the worktree only";

/// Put back what a checkpoint holds
///
/// The worktree is saved first, so that `git checkpoint undo` reverses it. Only files that differ are touched;
/// HEAD, the index, branches and the stash stay. What others than the checkpoint's session have changed since is
/// kept and listed, unless --all or a pathspec includes it.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "git checkpoint restore [<option>...] <checkpoint> [<pathspec>...]\n       git checkpoint restore --continue"
)]
pub(super) struct Restore {
    /// The checkpoint: an id, @{<n>}, <session>@<turn>, verified, base, a tag or a revision
    #[arg(value_name = "checkpoint", required_unless_present = "resume")]
    target: Option<String>,
    /// Restore only these paths
    #[arg(value_name = "pathspec")]
    pathspecs: Vec<OsString>,
    /// Restore the state before the checkpoint; of <session>@<turn>, before its prompt
    #[arg(long)]
    before: bool,
    /// Restore the whole tree, also what others have changed
    #[arg(long)]
    all: bool,
    /// Restore what was staged too
    #[arg(long)]
    staged: bool,
    /// Choose which hunks to restore, as 'git reset --patch' asks
    #[arg(short, long, conflicts_with_all = ["json", "nul", "staged", "dry_run", "recurse_submodules"])]
    patch: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Finish a restore that was interrupted
    #[arg(long = "continue", conflicts_with_all = ["target", "pathspecs", "before", "all", "staged", "patch", "dry_run"])]
    resume: bool,
    #[command(flatten)]
    recurse: Recurse,
    /// Restore even in a worktree that is refused, such as the home directory
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    format: Format,
}

/// How a restore is reported.
#[derive(clap::Args, Debug)]
pub(super) struct Format {
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Print a letter (W, D, I, K, C, A, S) and a path for each path, both ended by NUL
    #[arg(short = 'z', conflicts_with = "json")]
    nul: bool,
}

impl Restore {
    pub(super) fn run(mut self, call: &mut Call, runner: Runner) -> Result<Exit> {
        if self.is_to_be_picked() {
            let Some(picked) = self.pick(call, runner)? else {
                call.out.aside("no checkpoint was picked: nothing was restored");
                return Ok(Exit::No);
            };
            (self.target, self.all) = (Some(picked.id), self.all || picked.all);
        }
        let (context, asking) = if self.patch {
            let (context, asking) = call.asking_context()?;
            (context, Some(asking))
        } else {
            (call.writing_context()?, None)
        };
        let typed = self.pathspecs;
        let mut options = restore::RestoreOptions {
            target: self.target.unwrap_or_default(),
            pathspecs: Call::pathspecs(&context.repo, &typed)?,
            before: self.before,
            all: self.all || self.patch,
            keep_new: false,
            only: None,
            chosen: None,
            staged: self.staged,
            dry_run: self.dry_run,
            resume: self.resume,
            force: self.force,
            recurse_submodules: if self.patch { submodule::Recurse::No } else { self.recurse.extent(&context.repo) },
        };
        if let Some(asking) = asking {
            let mut say = || call.out.aside(ABOUT_QUESTIONS);
            let chosen = restore::choose::choose_hunks(&context, &options, asking.ends(), &mut say);
            let chosen = chosen.map_err(|error| with_hint(error, &context, &options, &typed))?;
            call.interrupt.listen()?;
            drop(asking);
            print_not_offered(&chosen, call)?;
            if chosen.is_nothing() {
                return print_nothing(&chosen, call);
            }
            options.chosen = Some(chosen);
        }
        let progress = call.progress("restoring");
        let restored = restore::restore(&context, &options);
        let restored = restored.map_err(|error| match &options.chosen {
            Some(chosen) => with_patch_hint(error, &call.names.id(&chosen.target())),
            None => with_hint(error, &context, &options, &typed),
        })?;
        drop(progress);
        drop(context.emit_failure("review", review::note_changed(&context, "restore", &restored)));
        left::say_what_verified_is(&context, &options.target, &restored, call)?;
        let exit = self.format.print(&restored, &restored, &Words::of_restore(), call)?;
        let entry = &options.target;
        if is_stash_entry(entry) && has_untracked(&context.repo, entry)? {
            call.out.hint(&format!("'git stash apply {entry}' also brings back the untracked files that were stashed"));
        }
        Ok(exit)
    }
}

/// Returns `error`, with a hint at what to type instead of the target or of the pathspecs that the user `typed`.
fn with_hint(error: Error, context: &Context, options: &restore::RestoreOptions, typed: &[OsString]) -> Error {
    let error = with_target_hint(error, &context.repo, "restore", &options.target);
    if error.hint().is_some() {
        return error;
    }
    let error = from_root::with_hint(error, context, typed, Some(&options.target), Form::Pathspec);
    left::with_history_hint(left::as_typed(error, &options.pathspecs, typed), typed)
}

/// Says why nothing was restored. While the user was asked, the name that was typed may have become that of another checkpoint.
fn print_nothing(chosen: &ChosenHunks, call: &mut Call) -> Result<Exit> {
    let id = call.names.id(&chosen.target());
    if chosen.is_asked() {
        call.out.note("no hunk was chosen: nothing was restored")?;
        call.out.hint(&format!("'git checkpoint restore -p {id}' asks again"));
    } else if chosen.not_offered().is_empty() {
        call.out.note(&format!("nothing to do: the worktree is as in {}", call.out.paint(phrase::ID, &id)))?;
    } else {
        call.out.note("there is no hunk to choose: nothing was restored")?;
    }
    Ok(Exit::Done)
}

/// Returns `error`, with a hint at what to type next if the chosen hunks cannot be restored; `id` is that of the checkpoint.
fn with_patch_hint(error: Error, id: &str) -> Error {
    let is_ours = matches!(error.kind(), Kind::Race | Kind::Refused) && error.hint().is_none();
    if !is_ours {
        return error;
    }
    error.with_hint(format!(
        "'git checkpoint restore -p {id}' asks again, 'git checkpoint restore {id} -- <path>' restores a whole file"
    ))
}

/// Returns true if `target` names an entry of git's stash: its commit has the tracked files only.
fn is_stash_entry(target: &str) -> bool {
    let name = target.strip_prefix("refs/").unwrap_or(target);
    name.strip_prefix("stash").is_some_and(|rest| rest.is_empty() || rest.starts_with("@{"))
}

/// Returns true if untracked files were stashed in `entry`: they are in a third parent.
fn has_untracked(repo: &Repo, entry: &str) -> Result<bool> {
    repo.find_commit(entry)?.map_or(Ok(false), |id| Ok(repo.parents_of(id)?.len() == 3))
}

impl Format {
    /// Returns the one of a command that prints text or JSON.
    pub(super) fn of_json(json: bool) -> Self {
        Self { json, nul: false }
    }

    /// Returns true if people read it.
    pub(super) fn is_text(&self) -> bool {
        !self.json && !self.nul
    }

    /// Prints what a restore did or would do, as JSON in the form of `json`.
    pub(super) fn print(
        &self,
        restored: &Restored,
        json: &impl serde::Serialize,
        words: &Words<'_>,
        call: &mut Call,
    ) -> Result<Exit> {
        let all = restored.with_submodules();
        if self.json {
            call.out.json(json)?;
        } else if self.nul {
            print_letters(&all, call)?;
        } else {
            print_lists(&all, call)?;
            print_sum(restored, words, call)?;
        }
        let is_undo = words.verb != phrase::RESTORED;
        let is_refused =
            !all.conflicts.is_empty() || is_all_left(restored, is_undo) || is_left_below(restored, is_undo);
        // The user wants it back, and cannot have it.
        let is_refused = is_refused || all.kept.iter().any(|left| left.why == Why::RepositoryGone);
        Ok(if is_refused { Exit::No } else { Exit::Done })
    }
}

fn print_letters(restored: &Restored, call: &mut Call) -> Result<()> {
    let written = restored.written.iter().map(|path| (b'W', path));
    let deleted = restored.deleted.iter().map(|path| (b'D', path));
    let kept = restored.kept.iter().map(|left| (b'K', &left.path));
    let conflicts = restored.conflicts.iter().map(|left| (b'C', &left.path));
    let skipped = restored.skipped.iter().map(|left| (b'S', &left.path));
    let staged = restored.staged.iter().map(|path| (b'I', path));
    let aside = restored.conflicts.iter().filter_map(|left| Some((b'A', left.why.kept_as()?)));
    let conflicts = conflicts.chain(aside);
    for (letter, path) in written.chain(deleted).chain(staged).chain(kept).chain(conflicts).chain(skipped) {
        call.out.bytes(&[letter, 0])?;
        call.out.bytes(path.as_ref())?;
        call.out.bytes(&[0])?;
    }
    Ok(())
}

/// Prints what happened to each path.
fn print_lists(restored: &Restored, call: &mut Call) -> Result<()> {
    let changes = (restored.written.iter().map(|path| (path, "written", "would write", phrase::NEW)))
        .chain(restored.deleted.iter().map(|path| (path, "deleted", "would delete", phrase::OLD)))
        .chain(restored.staged.iter().map(|path| (path, "staged ", "would stage", phrase::NEW)));
    let mut lines = Vec::new();
    for (path, done, planned, style) in changes {
        let path = call.names.path(path);
        lines.push(if restored.dry_run {
            format!("{planned} {path}")
        } else {
            format!("{}  {path}", call.out.paint(style, done))
        });
    }
    print_listed(&lines, restored.dry_run, call)?;
    let mut left = Vec::new();
    left.extend(restored.skipped.iter().map(|skipped| {
        format!("skipped  {}", phrase::skipped(&call.names.path(&skipped.path), skipped.reason.as_str(), skipped.size))
    }));
    let is_inside = |path: &BString| {
        restored.submodules.iter().any(|submodule| submodule.path == *path)
            || restored.nested.contains(path)
            || restored.restored_submodules.iter().any(|submodule| submodule.path == *path)
    };
    // A repository inside the worktree is listed once, with its changes.
    let kept = restored.kept.iter().filter(|left| !is_inside(&left.path));
    left.extend(kept.map(|left| format!("kept     {} ({})", call.names.path(&left.path), why(&left.why, call))));
    left.extend(restored.submodules.iter().map(|submodule| {
        format!("kept     {} (a submodule: {})", call.names.path(&submodule.path), submodule.words())
    }));
    left.extend(restored.nested.iter().map(|path| format!("kept     {} (a nested repository)", call.names.path(path))));
    print_listed(&left, false, call)?;
    for left in &restored.conflicts {
        let word = call.out.paint(phrase::OLD, "conflict");
        call.out.line(&format!("{word} {} ({})", call.names.path(&left.path), why(&left.why, call)))?;
    }
    Ok(())
}

/// Returns true if the restore changed nothing, and left paths that differ; with `is_undo`, also if it left only those that every
/// restore leaves.
fn is_all_left(restored: &Restored, is_undo: bool) -> bool {
    let left = left::count(restored, is_undo);
    restored.is_idle() && (left > 0 || !restored.committed.is_empty())
}

/// Returns true if a submodule was left alone, or if that counts like a path that is: as in the worktree if nothing was changed
/// there; with `is_undo`, always.
fn is_left_below(restored: &Restored, is_undo: bool) -> bool {
    restored.restored_submodules.iter().any(|it| {
        let is_left = |inside: &Restored| is_all_left(inside, is_undo) || is_left_below(inside, is_undo);
        it.is_refused() || (is_undo && !it.is_complete()) || it.restored.as_ref().is_some_and(is_left)
    })
}

/// Returns why a path was left.
fn why(why: &Why, call: &Call) -> String {
    match why.kept_as() {
        Some(path) => format!("changed under way; another version is in {}", call.names.path(path)),
        None => printable(why.to_string()),
    }
}

/// The last line, and what to type next.
fn print_sum(restored: &Restored, words: &Words<'_>, call: &mut Call) -> Result<()> {
    let verb = words.verb;
    let changed = restored.written.len() + restored.deleted.len();
    let id = call.names.id(&restored.target);
    let target = call.out.paint(phrase::ID, &id);
    let (is_idle, all) = (restored.is_idle(), restored.with_submodules());
    submodules::print(restored, verb, call)?;
    let is_undo = verb != phrase::RESTORED;
    if is_idle && !is_all_left(&all, is_undo) && !is_left_below(restored, is_undo) {
        let what = left::nothing_changed(restored, words);
        // Submodules and nested repositories were not looked at.
        let is_left = submodules::are_left_out(restored) || !restored.kept.is_empty();
        let files = if is_left { "the other files are" } else { "the worktree is" };
        call.out.note(&format!("{what}: {files} as in {target}"))?;
        if verb == phrase::RESTORED {
            submodules::print_left_out(restored, &id, call);
        }
        left::print_way_back(restored, verb, call);
        return Ok(());
    }
    let is_only_below = !is_idle && restored.is_idle_here();
    if !(restored.dry_run || is_all_left(&all, is_undo) || is_only_below) {
        let staged = match restored.staged.len() {
            0 => String::new(),
            count => format!(", and {} in the index,", phrase::count(count, "path")),
        };
        call.out.note(&format!("{verb} {}{staged} from {target}", phrase::count(changed, "path")))?;
    }
    if restored.inexact {
        call.out.warning(&format!(
            "the exact bytes of {id} are lost: files are as git writes them, and may differ from what they were, as in line \
             endings"
        ));
    }
    if let Some(base) = restored.other_base.filter(|_| !is_idle) {
        let base = base.commit_id().map_or_else(|| "no commit".into(), |id| format!("commit {}", call.names.id(&id)));
        let tense = if restored.dry_run { "is" } else { "was" };
        call.out.hint(&format!("{id} was taken on {base}: what is different there from HEAD {tense} restored too"));
    }
    left::print(&all, words, call);
    if verb == phrase::RESTORED {
        submodules::print_left_out(restored, &id, call);
    }
    let conflicts = &restored.conflicts;
    // With another reason among them, "in the way" may be a consequence of that.
    if !conflicts.is_empty() && conflicts.iter().all(|left| left.why == Why::InTheWay) {
        let next = match verb {
            // The operation is taken back: the next undo goes further back.
            phrase::UNDONE | phrase::REDONE if !is_idle && !restored.dry_run => {
                format!("; 'git checkpoint restore --all {id} -- <path>...' restores these paths then")
            }
            _ => ", and run the command again".to_owned(),
        };
        call.out.hint(&format!("no checkpoint holds what is in the way: move it elsewhere{next}"));
    }
    left::print_way_for_filters(restored, verb, &id, call);
    submodules::print_gone(restored, &id, call);
    if restored.kept.iter().any(|left| left.why == Why::Sparse) {
        call.out.hint("'git sparse-checkout add <directory>' makes room for the files outside the sparse checkout");
    }
    if conflicts.iter().any(|left| left.why == Why::BelowLink) {
        call.out.hint(&format!("'git checkpoint restore {id} -- <link>' puts the directory in the place of the link"));
    }
    left::print_way_back(restored, verb, call);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("stash", true)]
    #[case("stash@{0}", true)]
    #[case("refs/stash@{2}", true)]
    #[case("@{0}", false)]
    #[case("stashes", false)]
    fn entries_of_the_stash(#[case] target: &str, #[case] expected: bool) {
        assert_eq!(is_stash_entry(target), expected);
    }
}
