//! `git checkpoint purge`: removes a text from all that we store.

use std::{
    collections::BTreeSet,
    io::{IsTerminal as _, Read as _},
};

use bstr::ByteSlice as _;

use super::{
    Exit,
    call::Call,
    long_lists::LongLists,
    names::Names,
    output::{Output, messages, printable},
    phrase, question,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::Repo,
    model::{path_text::shell_word, refname},
    ops::{
        Context,
        purge::{self, By, Kept, Purged},
    },
};

/// Remove a secret from all checkpoints, records and transcripts
///
/// The text is replaced by a mark, and the old objects are deleted. Says first where the text is, and asks. What
/// branches, tags, the index or the worktree have is named and stays.
#[derive(clap::Args, Debug)]
pub(super) struct Purge {
    /// The texts; '-' reads one from standard input. The shell keeps what is typed here in its history
    #[arg(value_name = "text", required_unless_present_any = ["stdin", "paths", "checkpoints"])]
    texts: Vec<std::ffi::OsString>,
    /// Read a text from standard input; a terminal does not show it
    #[arg(long)]
    stdin: bool,
    /// Remove the files that <pathspec> matches from checkpoints, whatever is in them
    #[arg(long = "path", id = "paths", value_name = "pathspec", num_args = 1.., conflicts_with_all = ["texts", "stdin"])]
    paths: Vec<std::ffi::OsString>,
    /// Drop <checkpoint> and delete what only it has
    #[arg(
        long = "checkpoint",
        id = "checkpoints",
        value_name = "checkpoint",
        num_args = 1..,
        conflicts_with_all = ["texts", "stdin", "paths"]
    )]
    checkpoints: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    force: bool,
    /// Say what would be purged, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What is not searched.
const COMMITS: &str = "commits are not searched: 'git log --all --reflog -S<text>' finds those that brought it";

impl Purge {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        use std::os::unix::ffi::OsStringExt as _;
        let context = call.writing_context()?;
        let (reads, named): (Vec<_>, Vec<_>) = self.texts.into_iter().partition(|text| text == "-");
        let mut texts: Vec<Vec<u8>> = named.into_iter().map(std::ffi::OsString::into_vec).collect();
        if self.stdin || !reads.is_empty() {
            texts.push(read_text(&context, &mut call.out)?);
        }
        let paths = Call::pathspecs(&context.repo, &self.paths)?;
        let (checkpoints, force, dry_run) = (self.checkpoints, self.force, self.dry_run);
        let options = purge::Options { texts, paths, checkpoints, force, dry_run };
        let is_of_text = !options.texts.is_empty();
        let progress = call.progress("searching");
        let mut progress = Some(progress);
        let lists = call.long_lists();
        let (out, shape) = (&mut call.out, Shape { names: &call.names, repo: &context.repo, lists });
        let mut said = Vec::new();
        let (done, rest) = purge::purge(&context, &options, &mut |plan| {
            drop(progress.take());
            said = found(plan, shape).into_iter().chain(stays(plan, shape)).collect();
            for line in &said {
                out.stderr(&messages(line));
            }
            question::ask("Purge it? [y/N] ", &|| context.check_interrupt(), out)
        })?;
        drop(progress);
        if self.json {
            out.json(&done)?;
        } else {
            print(&done, is_of_text, &said, shape, out)?;
        }
        rest?;
        let is_done = if done.is_empty() { is_of_text && done.is_nowhere() } else { done.is_complete() };
        Ok(if is_done { Exit::Done } else { Exit::No })
    }
}

/// How names are printed.
#[derive(Clone, Copy)]
struct Shape<'c> {
    names: &'c Names,
    repo: &'c Repo,
    lists: LongLists,
}

/// Reads a text from standard input: one line from a terminal, which does not show it, or else all there is.
fn read_text(context: &Context, out: &mut Output) -> Result<Vec<u8>> {
    if std::io::stdin().is_terminal() {
        return question::read_hidden("Text to purge (not shown): ", &|| context.check_interrupt(), out);
    }
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text).context(Kind::User, || "cannot read standard input".into())?;
    if text.is_empty() {
        return Err(Error::user("there is no text on standard input"));
    }
    Ok(text)
}

/// Returns where the text is, in words.
fn found(plan: &Purged, Shape { names, lists, .. }: Shape<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let found = format!("found in {}", phrase::count(plan.checkpoints, "checkpoint"));
    match plan.rewritten {
        0 if plan.checkpoints == 0 => {}
        0 if plan.live > 0 => lines.push(found),
        0 => lines.push(format!("{found} to which no ref of ours leads")),
        1 => lines.push(format!("{found}; 1 gets another id")),
        count => lines.push(format!("{found}; {count} get other ids")),
    }
    lines.extend(lists.cut_after("  ", plan.paths.iter().map(|path| names.path(path))));
    if plan.prompts > 0 {
        lines.push(format!("found in the prompts of {}", phrase::count(plan.prompts, "session in records")));
    }
    if plan.transcripts > 0 {
        lines.push(format!("found in {}", phrase::count(plan.transcripts, "piece of transcripts")));
    }
    if plan.notes > 0 {
        lines.push(format!("found in {}", phrase::count(plan.notes, "note")));
    }
    for remote in remotes(plan) {
        lines.push(format!("found in what was fetched from '{remote}': all of that is forgotten here"));
    }
    match plan.operations {
        0 => {}
        1 => lines.push("found in 1 entry of the operation log".into()),
        count => lines.push(format!("found in {count} entries of operation logs")),
    }
    lines.extend(lists.cut_after("found in our file ", plan.files.iter().map(printable)));
    lines
}

/// Returns the names of the remotes from which something with the text was fetched.
fn remotes(plan: &Purged) -> BTreeSet<String> {
    let names = plan.forgotten.iter().filter_map(|name| refname::fetched_log(name));
    names.map(|(remote, _)| printable(remote)).collect()
}

/// Says what of the user's has the text.
fn kept_line(kept: &Kept, names: &Names) -> String {
    let path = names.path(&kept.path);
    let commit = kept.commit.map(|id| names.id(&id));
    let name = kept.r#ref.as_ref().map(printable).unwrap_or_default();
    match (commit, kept.by) {
        (Some(id), By::Ref) if kept.path.is_empty() => {
            format!("the checkpoint {id} has it, and stays, because '{name}' leads to it")
        }
        (Some(id), _) if kept.path.is_empty() => {
            let what = "a reflog, another worktree or a lost commit";
            format!("the checkpoint {id} has it, and stays, because {what} leads to it")
        }
        (Some(commit), By::Ref) => format!("{path} also has it in commit {commit} on {name}, which stays"),
        (Some(commit), By::Base) => {
            format!("{path} also has it in commit {commit}, which stays, because checkpoints are based on it")
        }
        (Some(commit), By::Removed) => {
            format!(
                "{path} also has it in commit {commit}, which stays: the removed worktree {} leads to it",
                last(&name)
            )
        }
        (Some(commit), By::Reflog) => format!("{path} also has it in commit {commit} of a reflog, which stays"),
        (Some(commit), By::Nothing) => {
            format!("{path} also has it in commit {commit}, to which no ref leads, and which stays")
        }
        (None, _) | (_, By::Worktree) => {
            format!("{path} is also staged with it, or held by another worktree, and stays")
        }
    }
}

/// Returns the id in the name of the ref of a removed worktree.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns the command that removes what only the reflogs of HEAD, of its branch and of the branches in `kept` have.
fn expire(kept: &[Kept], repo: &Repo) -> String {
    let is_branch = |name: &&String| matches!(repo.find_ref(&format!("refs/heads/{name}")), Ok(Some(_)));
    let named = kept.iter().filter_map(|kept| kept.r#ref.as_ref());
    let mut branches: BTreeSet<String> = named.filter(is_branch).cloned().collect();
    let head = repo.head().ok().and_then(|head| head.branch);
    branches.extend(head.and_then(|name| Some(name.strip_prefix(b"refs/heads/")?.to_str().ok()?.to_owned())));
    let names: Vec<String> = branches.iter().map(|name| format!(" {}", printable(shell_word(name)))).collect();
    format!("git reflog expire --expire-unreachable=now HEAD{}", names.concat())
}

/// Returns the commands that remove what stays.
fn kept_hints(kept: &[Kept], names: &Names, repo: &Repo) -> Vec<String> {
    let is_any = |by: By| kept.iter().any(|kept| kept.by == by);
    let mut lines = Vec::new();
    if let Some(first) = kept.iter().find(|kept| kept.by == By::Ref && kept.is_stored) {
        let name = first.r#ref.as_ref().map(printable).unwrap_or_default();
        lines.push(if name == "stash" {
            "hint: 'git stash drop' drops the stash entry; then 'git gc --prune=now' removes what it had".into()
        } else {
            format!(
                "hint: once no commit of '{name}' has it, '{}' and 'git gc --prune=now' remove it",
                expire(kept, repo)
            )
        });
    }
    if let Some(id) = kept.iter().find(|kept| kept.by == By::Base).and_then(|kept| kept.commit) {
        lines.push(format!(
            "hint: 'git checkpoint purge --checkpoint <checkpoint>...' drops checkpoints ('git checkpoint list --archived' shows \
             those that were set aside, '--all-worktrees' those of worktrees that are gone); once none is based on {}, 'git gc --prune=now' removes it",
            names.id(&id)
        ));
    }
    if let Some(name) = kept.iter().find(|kept| kept.by == By::Removed).and_then(|kept| kept.r#ref.as_ref()) {
        lines.push(format!(
            "hint: 'git checkpoint worktree restore {}' brings that one back; 'git checkpoint worktree prune --removed' deletes all \
             removed worktrees, then 'git gc --prune=now' removes it",
            printable(last(name))
        ));
    }
    if is_any(By::Reflog) {
        let expire = expire(kept, repo);
        lines.push(format!("hint: '{expire}', then 'git gc --prune=now', removes what only reflogs have"));
    } else if is_any(By::Nothing) {
        lines.push("hint: 'git gc --prune=now' removes commits to which no ref leads".into());
    }
    lines
}

/// Returns what has the text and stays, in words.
fn stays(plan: &Purged, Shape { names, repo, lists }: Shape<'_>) -> Vec<String> {
    // Files of other worktrees have their whole path.
    let in_worktree =
        |file: &String| if file.starts_with('/') { printable(file) } else { names.path(&file.as_str().into()) };
    let mut lines = lists.cut_after("warning: ", plan.kept.iter().map(|kept| kept_line(kept, names)));
    lines.extend(kept_hints(&plan.kept, names, repo));
    // If that refuses the purge, the reason says it.
    let says_refusal = plan.refused.as_ref().is_some_and(|refused| refused.starts_with("the worktree "));
    let files = lists.cut_after("warning: still in the worktree: ", plan.worktree.iter().map(in_worktree));
    let are_files = !files.is_empty() && !says_refusal;
    let is_said = says_refusal && files.len() == 1;
    lines.extend(files.into_iter().filter(|_| !is_said));
    if are_files {
        lines.push("hint: the next save that finds the file changed stores it again".into());
    }
    lines.extend(lists.cut_after("warning: still in the worktree, ignored: ", plan.ignored.iter().map(in_worktree)));
    lines.extend(lists.cut_after("warning: edit or remove it yourself: ", plan.left.iter().map(printable)));
    let remotes = remotes(plan);
    for remote in &remotes {
        lines.push(match refname::import_name(remote) {
            Some(name) => format!("warning: the file that '{name}' was imported from may still have it"),
            None => format!("warning: the remote '{remote}' may still have it"),
        });
    }
    if remotes.iter().any(|remote| refname::import_name(remote).is_none()) {
        let hint = "hint: purge it in all clones, then let the log in the remote be deleted, and push: see git-checkpoint-push(1)";
        lines.push(hint.into());
    }
    if plan.in_names {
        lines.push("warning: names of files, sessions, agents or refs have it, and stay".into());
    }
    if plan.unreachable > 0 {
        let objects = phrase::count(plan.unreachable, "object");
        lines.push(format!("warning: found in {objects} without a ref; 'git gc --prune=now' removes all such objects"));
    }
    lines
}

/// Prints what was `done`, except what was `said` before the question.
fn print(done: &Purged, is_of_text: bool, said: &[String], shape: Shape<'_>, out: &mut Output) -> Result<()> {
    for line in found(done, shape).iter().filter(|line| !said.contains(line)) {
        if done.dry_run { out.line(line)? } else { out.note(line)? }
    }
    out.flush()?;
    for line in stays(done, shape).iter().filter(|line| !said.contains(line)) {
        out.stderr(&messages(line));
    }
    if is_of_text && done.is_nowhere() {
        out.note(
            "nothing of it is left: no object has it, no file of git-checkpoint's, and none that the next save stores",
        )?;
        return Ok(());
    }
    let fetched =
        done.fetched.iter().map(|name| format!("'{}' was fetched, is not searched, and may have it", printable(name)));
    for line in shape.lists.cut(fetched.collect()) {
        out.warning(&line);
    }
    if done.is_empty() {
        out.note("nothing to purge was found")?;
    }
    if let Some(refused) = &done.refused {
        let refused = shape.names.in_message(refused, done.refused_path.as_ref());
        out.warning(&format!("it would be refused: {refused}"));
        done.advice.iter().for_each(|advice| out.hint(advice));
    }
    if done.is_empty() {
        if done.is_elsewhere {
            out.warning("objects of git's that are not git-checkpoint's have it");
            out.hint(&format!(
                "'git log --all --reflog -S<text>' finds commits that brought it; '{}', then 'git gc --prune=now', removes what no \
                 branch leads to",
                expire(&done.kept, shape.repo)
            ));
        } else if is_of_text {
            out.hint(COMMITS);
        }
        return Ok(());
    }
    if done.dry_run {
        return if done.objects == 0 {
            Ok(())
        } else {
            out.note(&format!("would remove {}", phrase::count(done.objects, "object")))
        };
    }
    out.note(&format!("purged; removed {}", phrase::count(done.objects, "object")))?;
    let stay = |id: &String| {
        format!("the object {id} stays: it is in a kept pack or in another repository, or git is using it")
    };
    for line in shape.lists.cut(done.stay.iter().map(stay).collect()) {
        out.warning(&line);
    }
    if !done.stay.is_empty() {
        out.hint("what git was using goes with 'git gc --prune=now', or another purge, when no other command runs");
    }
    if is_of_text {
        out.hint(COMMITS);
    }
    out.hint(
        "other clones and hosts, backups, transcripts of the agent and the history of the shell may still have it",
    );
    Ok(())
}
