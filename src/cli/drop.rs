//! `git checkpoint drop`: takes checkpoints out of their chains.

use super::{
    Exit,
    call::Call,
    long_lists::LongLists,
    names::Names,
    output::{Output, printable},
    phrase, question,
};
use crate::{
    error::Result,
    model::refname,
    ops::drop::{self, DropDone},
};

/// Drop checkpoints; those after them stay
///
/// Each later checkpoint keeps its files. What a dropped one changed counts to the next one. Nothing is dropped if
/// that would change who wrote a line.
#[derive(clap::Args, Debug)]
pub(super) struct Drop {
    /// The checkpoints: ids, @{<n>}, <session>@<turn> or tags
    #[arg(value_name = "checkpoint", required = true)]
    targets: Vec<String>,
    /// Do not ask, even if content is lost
    #[arg(short, long)]
    force: bool,
    /// Say what would be dropped, and drop nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Drop {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = drop::Options { targets: self.targets, force: self.force, dry_run: self.dry_run };
        let lists = call.long_lists();
        let (out, names) = (&mut call.out, &call.names);
        let done = drop::drop_checkpoints(&context, &options, &mut |plan| {
            out.flush()?;
            for line in losses(plan, names, lists) {
                out.stderr(&format!("warning: {line}\n"));
            }
            let asked = format!("Drop {}? [y/N] ", phrase::count(plan.dropped.len(), "checkpoint"));
            question::ask(&asked, &|| context.check_interrupt(), out)
        })?;
        if self.json {
            out.json(&done)?;
        } else {
            print(&done, names, lists, out)?;
        }
        Ok(Exit::Done)
    }
}

/// Returns what is lost for good, in words.
fn losses(plan: &DropDone, names: &Names, lists: LongLists) -> Vec<String> {
    let mut lines = Vec::new();
    if !plan.lost.is_empty() {
        let paths = lists.cut(plan.lost.iter().map(|path| names.path(path)).collect());
        lines.push(format!("no other checkpoint has this content of {}", paths.join(", ")));
    }
    lines
}

fn print(done: &DropDone, names: &Names, lists: LongLists, out: &mut Output) -> Result<()> {
    let verb = if done.dry_run { "would drop" } else { "dropped" };
    for it in &done.dropped {
        let id = out.paint(phrase::ID, &names.id(&it.id));
        let line = format!("{verb} {id} {}", printable(&it.called));
        if done.dry_run { out.line(&line)? } else { out.note(&line)? }
    }
    let deleted = done.refs.iter().filter(|moved| moved.new.is_none());
    for name in deleted.map(|moved| moved.r#ref.as_str()) {
        let verb = if done.dry_run { "would delete" } else { "deleted" };
        if let Some(tag) = refname::tag_of_ref(name) {
            out.note(&format!("{verb} the tag '{}'", printable(tag)))?;
        } else if name.starts_with(refname::VERIFIED) {
            out.note(&format!("{verb} the mark of the verified checkpoint"))?;
        }
    }
    for it in done.dropped.iter().filter(|it| it.noted) {
        let verb = if done.dry_run { "would delete" } else { "deleted" };
        out.note(&format!("{verb} the note of {}", out.paint(phrase::ID, &names.id(&it.id))))?;
    }
    if done.rewritten > 0 {
        let verb = if done.dry_run { "would get" } else { "got" };
        out.note(&format!("{} after it {verb} new ids", phrase::count(done.rewritten, "checkpoint")))?;
    }
    if done.dry_run {
        for line in losses(done, names, lists) {
            out.warning(&line);
        }
    } else if !done.dropped.is_empty() {
        let what = if done.dropped.len() == 1 { "it" } else { "them" };
        out.hint(&format!("'git checkpoint undo' brings {what} back"));
    }
    Ok(())
}
