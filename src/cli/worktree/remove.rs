//! `worktree remove`, `worktree restore` and `worktree prune`.

use std::{
    cell::{Cell, RefCell},
    ffi::OsString,
    os::unix::ffi::OsStrExt as _,
};

use bstr::{BString, ByteSlice as _};

use super::{
    super::{Exit, call::Call, date, layout, output::printable, phrase, question},
    setup,
};
use crate::{
    error::{Error, Result},
    model::{path_text::shell_word, removal::WhyDetached},
    ops::worktrees::{self, Pruned, Removal, RemoveOptions, RestorableList, Step, WhyLeft},
};

#[derive(clap::Args, Debug)]
pub(super) struct Remove {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// Do not ask whether a worktree with uncommitted changes is to be removed
    #[arg(short, long)]
    force: bool,
    /// Do not run the commands of the setting 'worktree.teardown'
    #[arg(long)]
    no_teardown: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
#[command(
    override_usage = "git checkpoint worktree restore [<option>...] <removed>\n       git checkpoint worktree restore --list"
)]
pub(super) struct Restore {
    /// The removed worktree: what 'worktree remove' printed, its branch, or the path of its root
    #[arg(value_name = "removed", required_unless_present = "list")]
    name: Option<OsString>,
    /// List the worktrees that can be restored
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct Prune {
    /// Also delete the worktrees that were removed lately
    #[arg(long)]
    removed: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The fewest columns for a path: with less, it has a line of its own.
const LEAST_PATH: usize = 20;

/// How many ignored paths are named.
const NAMED: usize = 3;

impl Remove {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = RemoveOptions { name: self.name, force: self.force, no_teardown: self.no_teardown, head: None };
        let progress = Cell::new(Some(call.progress("removing the worktree")));
        let interrupt = call.interrupt.clone();
        let shared = RefCell::new(&mut *call);
        let mut ask = |removal: &Removal| {
            // It would overwrite the question.
            drop(progress.take());
            let _listening = interrupt.listen_only()?;
            let what = phrase::count(removal.dirty, "changed path");
            let asked = format!("{} has {what}. Remove it? [y/N] ", phrase::quoted(&removal.path));
            question::ask(&asked, &|| context.check_interrupt(), &mut shared.borrow_mut().out)
        };
        let mut run = |step: &Step<'_>| {
            drop(progress.take());
            setup::run_step(&mut shared.borrow_mut(), step)
        };
        let removal = worktrees::remove(&context, &options, &mut ask, &mut run)?;
        drop(progress.take());
        if self.json {
            call.out.json(&removal)?;
            return Ok(Exit::Done);
        }
        call.out.note(&format!("removed {}", phrase::quoted(&removal.path)))?;
        for line in report(&removal, call) {
            call.out.note(&format!("    {line}"))?;
        }
        call.out.hint(&format!("'git checkpoint worktree restore {}' brings it back", removal.id));
        Ok(Exit::Done)
    }
}

/// Returns what is said of a worktree that was removed.
fn report(removal: &Removal, call: &Call) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(branch) = &removal.branch {
        let not_merged = if removal.merged == Some(false) { ", which is not merged," } else { "" };
        lines.push(format!("the branch {}{not_merged} stays", printable(branch)));
    }
    if let Some(id) = removal.checkpoint.filter(|_| removal.dirty > 0) {
        lines.push(format!(
            "{} in the checkpoint {}",
            phrase::count(removal.dirty, "changed path"),
            call.names.id(&id)
        ));
    }
    if let Some(id) = &removal.before_teardown {
        lines.push(format!("what it had before its teardown commands is in the checkpoint {}", call.names.id(id)));
    }
    let deleted: Vec<&BString> = removal.ignored_deleted.iter().collect();
    let outside = removal.ignored.iter().chain(removal.skipped.iter().map(|skipped| &skipped.path)).collect();
    for (what, paths) in [
        ("deleted by its teardown commands, and in no checkpoint", deleted),
        ("kept with it, and in no checkpoint", outside),
    ] {
        if !paths.is_empty() {
            lines.push(format!("{what}: {}", named(&paths)));
        }
    }
    lines
}

/// Returns the first ones of `paths`, and how many follow.
fn named(paths: &[&BString]) -> String {
    let named = paths.iter().take(NAMED).map(|path| printable(path.as_bstr())).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl Restore {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let Some(name) = self.name else {
            let list = worktrees::restorable(&context)?;
            if self.json {
                call.out.json(&list)?;
            } else {
                print_list(&list, call)?;
            }
            return Ok(Exit::Done);
        };
        let restored = worktrees::restore(&context, &name)?;
        if let Some(common) = &restored.was_of {
            call.out.warning(&format!(
                "its files named the repository '{}', which does not know them, or is not there: they name this one now",
                printable(common.as_os_str().as_bytes().as_bstr())
            ));
        }
        if self.json {
            call.out.json(&restored)?;
            return Ok(Exit::Done);
        }
        let at = restored.head.map(|id| format!(" at {}", call.names.id(&id))).unwrap_or_default();
        let branch = match (&restored.branch, restored.created) {
            _ if restored.detached.is_some() => "detached".to_owned(),
            (None, _) => "detached".to_owned(),
            (Some(branch), false) => format!("branch {}", printable(branch)),
            (Some(branch), true) => format!("branch {}, made again", printable(branch)),
        };
        call.out.note(&format!("{} is back ({branch}{at})", phrase::quoted(&restored.path)))?;
        if let (Some(why), Some(branch)) = (restored.detached, &restored.branch) {
            let branch = printable(branch);
            call.out.warning(&match why {
                WhyDetached::Moved => format!("the branch '{branch}' has another commit now, so HEAD is detached"),
                WhyDetached::Elsewhere => {
                    format!("the branch '{branch}' is checked out elsewhere, so HEAD is detached")
                }
                WhyDetached::NotMade => {
                    format!("the branch '{branch}' is gone, and git cannot make it again, so HEAD is detached")
                }
            });
            call.out.hint("'git switch <branch>' there takes uncommitted changes along");
        }
        if let (Some(first), Some(checkpoint)) = (restored.missing.first(), restored.checkpoint) {
            let rest = match restored.missing.len() - 1 {
                0 => String::new(),
                rest => format!(" and {} more", phrase::count(rest, "file")),
            };
            call.out.warning(&format!("{}{rest} of it were deleted while it was removed", phrase::quoted(first)));
            call.out.hint(&format!("'git checkpoint restore {}' there brings them back", call.names.id(&checkpoint)));
        }
        Ok(Exit::Done)
    }
}

fn print_list(list: &RestorableList, call: &mut Call) -> Result<()> {
    if list.removed.is_empty() {
        return call.out.note("no worktree was removed that can be restored");
    }
    list.removed.iter().try_for_each(|it| {
        let branch = it.branch.as_ref().map_or_else(|| "detached".to_owned(), printable);
        let files = if it.files { "" } else { ", its directory was gone" };
        let (when, what) = (date::shown(&it.removed, call.out.is_terminal()), format!("({branch}{files})"));
        let path = printable(it.path.as_bstr());
        let id = call.out.paint(phrase::ID, &it.id);
        let used = layout::width(&it.id) + layout::width(&when) + layout::width(&what) + 6;
        let room = call.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(used));
        if room >= layout::width(&path).min(LEAST_PATH) {
            return call.out.line(&format!("{id}  {when}  {}  {what}", phrase::shortened(&path, room)));
        }
        call.out.line(&format!("{id}  {when}  {what}"))?;
        let room = call.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(4));
        call.out.line(&format!("    {}", phrase::shortened(&path, room)))
    })
}

impl Prune {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let pruned = worktrees::prune(&context, self.removed, self.dry_run)?;
        if self.json {
            call.out.json(&pruned)?;
        } else {
            print_pruned(&pruned, call)?;
        }
        Ok(Exit::Done)
    }
}

fn print_pruned(pruned: &Pruned, call: &mut Call) -> Result<()> {
    let [forgot, deleted] = if pruned.dry_run { ["would forget", "would delete"] } else { ["forgot", "deleted"] };
    for it in &pruned.forgotten {
        call.out.note(&format!("{forgot} {}: its directory is gone", phrase::quoted(&it.path)))?;
    }
    for it in &pruned.left {
        let why = match it.why {
            WhyLeft::Locked => "it is locked",
            WhyLeft::NotMounted => "the directory above is empty or gone: its file system may not be mounted",
            WhyLeft::NoDotGit => "its directory is there, but has no '.git': 'git worktree repair' may help",
            WhyLeft::InUse => "a session works there",
            WhyLeft::Unreadable => "its directory cannot be looked at",
            WhyLeft::Mounted => "it was removed, and a file system is mounted in its files",
            WhyLeft::Interrupted => "a command that moved it was killed: the next one that is no dry run puts it back",
            WhyLeft::Forgotten => "a command that moved it was killed, and git has forgotten it since",
            WhyLeft::Damaged => {
                "git's directory of it is damaged: 'git worktree prune' lets git forget it, and all others that are gone, for good"
            }
            WhyLeft::Submodules => {
                "git's directory of it has repositories of submodules, and nothing else may have what is in them"
            }
            WhyLeft::NotDeleted => "it was removed, and its files cannot be deleted",
            WhyLeft::PartlyDeleted => {
                "it was removed, and a part of its files cannot be deleted: the others are gone, and it cannot be restored"
            }
            WhyLeft::Half => {
                "a command that moved it was killed, and something else is in its place: move that away, and run this again"
            }
            WhyLeft::FilesNotMounted => "it was removed, and its files are gone: their file system may not be mounted",
            WhyLeft::OfAnother => {
                "it was removed, and its files are those of the repository that this one is a copy of"
            }
            WhyLeft::RepositoryGone => {
                "it was removed, and its files name a repository that is gone, or does not know it"
            }
        };
        let in_files = it
            .process
            .map(|pid| format!("it was removed, and the process {pid} works in its files, or has them mounted"));
        call.out.note(&format!("left {}: {}", phrase::quoted(&it.path), in_files.as_deref().unwrap_or(why)))?;
        if let Some(session) = &it.session {
            call.out.hint(&format!("'git checkpoint session end {}' ends the session", shell_word(session)));
        }
        if it.why == WhyLeft::NotMounted {
            // No command of git: it would delete the worktree if it is there again, and repositories of submodules.
            let path = it.path.to_path_lossy();
            let above = path.parent().unwrap_or(&path);
            let [above, file] = [above, &above.join("gone")].map(|path| shell_word(&path.to_string_lossy()));
            call.out.hint(&format!(
                "if its files are gone for good, 'mkdir -p {above} && touch {file}' says so; then run this again"
            ));
        }
        if let Some(hint) = &it.hint {
            call.out.hint(hint);
        }
        if let Some(files) = &it.files {
            call.out.hint(&match it.why {
                WhyLeft::Submodules => format!(
                    "they are in {}: push what only they have, and delete that directory; then run this again",
                    phrase::quoted(files)
                ),
                _ => format!("its files are in {}", phrase::quoted(files)),
            });
        }
    }
    for it in &pruned.deleted {
        // Another worktree may be at that path by now.
        let path = phrase::quoted(&it.path);
        let when = date::shown(&it.removed, call.out.is_terminal());
        call.out.note(&format!("{deleted} what was kept of {path}, removed {when}"))?;
    }
    if pruned.forgotten.is_empty() && pruned.left.is_empty() && pruned.deleted.is_empty() {
        call.out.note("nothing to prune")?;
    }
    if pruned.kept > 0 {
        let what = phrase::count(pruned.kept, "removed worktree");
        call.out.note(&format!("{what} can be restored: 'git checkpoint worktree restore --list'"))?;
    }
    Ok(())
}

#[derive(clap::Args, Debug)]
pub(super) struct Move {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// Where it is to be
    #[arg(value_name = "path")]
    path: OsString,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Move {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        if self.path.is_empty() {
            return Err(Error::user("the new path is empty").with_hint("give a path where nothing is"));
        }
        let moved = worktrees::relocate(&context, &self.name, self.path.as_ref())?;
        if self.json {
            call.out.json(&moved)?;
        } else {
            call.out.note(&format!("moved {} to {}", phrase::quoted(&moved.from), phrase::quoted(&moved.path)))?;
        }
        Ok(Exit::Done)
    }
}
