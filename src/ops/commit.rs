//! What happens around a commit: before its message is edited, after, and when it is made.

use std::path::{Path, PathBuf};

use super::Context;
use crate::{
    error::{Context as _, Kind, Result},
    git::message,
    state,
};

/// Prepares the message in `message_file`: git's prepare-commit-msg, whose other arguments are `source` and `object`.
pub fn prepare(context: &Context, message_file: &Path, source: Option<&str>, _object: Option<&str>) -> Result<()> {
    keep_template(context, message_file, source)
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
pub fn committed(_context: &Context) -> Result<()> {
    Ok(())
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
