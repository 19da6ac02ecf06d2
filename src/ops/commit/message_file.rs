//! The file with the message of a commit, between the hooks that git runs for it: what was in it, and what is left of it.

use std::path::{Path, PathBuf};

use crate::{
    error::{Context as _, Kind, Result},
    git::message,
    ops::Context,
    state,
};

/// If this file exists, `config/hook.sh` starts us to check a commit message.
const CHECK_NOTE: &str = "check-message";

/// Takes our trailers out of a message that has nothing else, so that git refuses it as empty or as not edited.
pub(crate) fn check_message(context: &Context, message_file: &Path) -> Result<()> {
    let template = template_path(context);
    let template = std::fs::read(&template).ok().inspect(|_| drop(std::fs::remove_file(&template)));
    let discloses = context.settings.commit.disclosure.key().is_some();
    context.repo.drop_lone_trailers(message_file, template.as_deref(), discloses)
}

/// Returns false if [`check_message`] would do nothing, whatever the settings are; reads only the message.
///
/// # Errors
/// If the message cannot be read.
pub(crate) fn may_have_trailer(message_file: &Path) -> Result<bool> {
    read_message(message_file).map(|text| message::has_own_line(&text, true))
}

pub(super) fn read_message(message_file: &Path) -> Result<Vec<u8>> {
    let what = || format!("cannot read the message '{}'", message_file.display());
    std::fs::read(message_file).context(Kind::Internal, what)
}

/// Keeps the message as it is before anything is added to it, if it comes from a template (`git commit -t`): a user who
/// adds nothing to that wants no commit. Must come before any trailer is added.
pub(super) fn keep_template(context: &Context, message_file: &Path, source: Option<&str>) -> Result<()> {
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

/// Creates the file that makes the hook script start us for [`check_message`].
///
/// Only [`checked`] removes it: otherwise, a second commit, made while the message of the first one is being edited,
/// would remove it.
pub(super) fn note_check(context: &Context) -> Result<()> {
    let note = state::ensure_directory(context.repo.git_dir())?.join(CHECK_NOTE);
    std::fs::write(&note, "").context(Kind::Internal, || format!("cannot write '{}'", note.display()))
}

/// Notes that the message in `message_file`, which git keeps beside our files, has been checked.
pub(crate) fn checked(message_file: &Path) {
    let directory = message_file.parent().map(state::directory);
    // At worst, the next message is checked as well.
    directory.map_or(Ok(()), |directory| std::fs::remove_file(directory.join(CHECK_NOTE))).unwrap_or_default();
}

fn template_path(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("template")
}
