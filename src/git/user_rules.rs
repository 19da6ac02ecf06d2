//! The files outside of the worktree that have rules of the user, for ignored files and for attributes.

use std::os::unix::ffi::OsStrExt as _;

use bstr::BString;

use super::environment;
use crate::error::{Context as _, Kind, Result};

/// The settings that name a file with rules of the user, and the name of the file that counts without them.
pub(super) const OF_USER: [(&str, &str); 2] = [("core.excludesFile", "ignore"), ("core.attributesFile", "attributes")];

/// Where there is never a file.
const NO_FILE: &str = "/dev/null/none";

/// Lets `repo` read the files with rules of the user that git reads: none if the setting is empty; those in the home directory if
/// `XDG_CONFIG_HOME` is empty. gix takes what is empty for something else.
///
/// # Errors
/// If gix does not take the settings.
pub(super) fn name_user_files(repo: &mut gix::Repository) -> Result<()> {
    let mut named: Vec<BString> = Vec::new();
    let is_xdg_empty = environment::is_empty("XDG_CONFIG_HOME");
    for (setting, name) in OF_USER {
        let file = match repo.config_snapshot().string(setting) {
            Some(value) if value.is_empty() => Some(NO_FILE.into()),
            None if is_xdg_empty => Some(environment::user_file(name).unwrap_or_else(|| NO_FILE.into())),
            _ => None,
        };
        named.extend(file.map(|file| [setting.as_bytes(), b"=", file.as_os_str().as_bytes()].concat().into()));
    }
    if named.is_empty() {
        return Ok(());
    }
    let what = || "cannot name the user's files with rules".into();
    let mut settings = repo.config_snapshot_mut();
    settings.append_config(&named, gix::config::Source::Api).context(Kind::Internal, what)?;
    settings.commit().context(Kind::Internal, what)?;
    Ok(())
}
