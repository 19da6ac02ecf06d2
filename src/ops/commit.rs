//! What happens around a commit: before its message is edited, after, and when it is made.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{Context, condense, recommit, records, rewrite, save};
use crate::{
    config::Link,
    error::{Context as _, Kind, Result},
    git::{ancestors, message},
    model::{record::RecordId, refname::Base},
    state::{self, commit_note::CommitNote, failpoint},
};

/// Prepares the message in `message_file`: git's prepare-commit-msg, whose other arguments are `source` and `object`.
///
/// A commit gets a trailer only if what is staged holds a session's work: of a shadow (the record is reserved, and made
/// when the commit is there), or of records whose work is committed again.
pub fn prepare(context: &Context, message_file: &Path, source: Option<&str>, object: Option<&str>) -> Result<()> {
    keep_template(context, message_file, source)?;
    let repo = &context.repo;
    if repo.is_in_sequence() {
        return CommitNote::remove(repo.git_dir());
    }
    let head = repo.head()?.id;
    let base = Base::of_head(head);
    let mut note = CommitNote { head: base.to_string(), ..CommitNote::default() };
    let squashed = if source == Some("squash") { rewrite::squashed_commits(context)? } else { Vec::new() };
    let is_amend = head.is_some() && ((source, object) == (Some("commit"), Some("HEAD")) || ancestors::is_amending());
    let mut ids: Vec<RecordId> = Vec::new();
    if is_amend && let Some(head) = head {
        // They are in the message already, unless it was given with `-m`.
        ids.extend(records::of_commit(repo, head)?);
    }
    if condense::holds_work(context, base)? {
        let id = RecordId::random();
        note.reserved = Some(id.to_string());
        ids.push(id);
    }
    if !is_amend && squashed.is_empty() {
        let again = recommit::records_again(context, head)?;
        note.reused = again.iter().map(ToString::to_string).collect();
        ids.extend(again);
    }
    for commit in &squashed {
        ids.extend(records::of_commit(repo, *commit)?);
    }
    note.squashed = squashed.iter().map(ToString::to_string).collect();
    note.write(repo.git_dir())?;
    failpoint::hit("condense:after-note");
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    if ids.is_empty() || context.settings.link == Link::None {
        return Ok(());
    }
    repo.add_trailers(message_file, &ids.iter().map(RecordId::as_str).collect::<Vec<_>>())
}

/// Takes our trailers out of a message that has nothing else, so that git refuses it as empty or as not edited.
pub fn check_message(context: &Context, message_file: &Path) -> Result<()> {
    let template = template_path(context);
    let template = std::fs::read(&template).ok().inspect(|_| drop(std::fs::remove_file(&template)));
    context.repo.drop_lone_trailers(message_file, template.as_deref())
}

/// Returns false if [`check_message`] would do nothing, which can be told without the repository.
///
/// # Errors
/// If the message cannot be read.
pub fn may_have_trailer(message_file: &Path) -> Result<bool> {
    let text = std::fs::read(message_file)
        .context(Kind::Internal, || format!("cannot read the message '{}'", message_file.display()))?;
    Ok(message::has_trailer(&text))
}

/// Follows the commit that was just made: git's post-commit.
pub fn committed(context: &Context) -> Result<()> {
    let lock = save::lock(context)?;
    condense::commit_made(context, &lock)
}

/// Keeps the message as it is before anything is added to it, if it comes from a template (`git commit -t`): a user who
/// adds nothing to that wants no commit. Must come before any trailer is added.
fn keep_template(context: &Context, message_file: &Path, source: Option<&str>) -> Result<()> {
    let kept = template_path(context);
    if source == Some("template") {
        state::ensure_directory(context.repo.git_dir())?;
        let what = || format!("cannot keep the template of the message in '{}'", kept.display());
        return std::fs::copy(message_file, &kept).map(drop).context(Kind::Internal, what);
    }
    if kept.exists() {
        drop(std::fs::remove_file(&kept));
    }
    Ok(())
}

fn template_path(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("template")
}
