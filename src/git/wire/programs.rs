//! The programs of git that carry a connection, and the one that stores what arrives.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::OsStringExt as _,
    path::Path,
    process::{Command, Stdio},
};

use super::super::{Repo, environment, process::REDIRECTIONS, received::Received, subprocess::Subprocess};

impl Repo {
    /// Starts git with `arguments`, connected to us by its standard input and output. It writes objects to `received`; what it says
    /// goes to `stderr`.
    pub(in crate::git) fn start_storing_git(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        received: &Received,
        stderr: File,
    ) -> io::Result<Subprocess> {
        let mut command = self.git(arguments);
        received.lead(&mut command);
        self.start_to_end(command.stdin(Stdio::piped()).stderr(stderr))
    }

    /// Lets git `command` ask the user for a password, unless the caller's environment says otherwise.
    pub(in crate::git) fn let_git_ask(command: &mut Command) {
        match environment::variable("GIT_TERMINAL_PROMPT") {
            Some(value) => command.env("GIT_TERMINAL_PROMPT", OsString::from_vec(value.into())),
            None => command.env_remove("GIT_TERMINAL_PROMPT"),
        };
    }

    /// Starts git's side of a fetch from the repository at `path`, which is not this one: no variable and no setting of the
    /// command line that is about this one reaches it. What it says goes to `stderr`.
    pub(in crate::git) fn start_upload_pack(&self, path: &Path, stderr: File) -> io::Result<Subprocess> {
        #[expect(clippy::disallowed_methods, reason = "this is the room that runs git")]
        let mut command = Command::new("git");
        for name in REDIRECTIONS.into_iter().chain(["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG"]) {
            command.env_remove(name);
        }
        command.args(["upload-pack", "--"]).arg(path).env("GIT_PROTOCOL", "version=2");
        self.start_to_end(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr))
    }

    /// Starts git's remote helper of `scheme` for `url`, as git does: with the user's settings and credentials, and with questions
    /// on the terminal. What it says goes to `stderr`.
    pub(in crate::git) fn start_remote_helper(
        &self,
        scheme: &str,
        url: &OsStr,
        stderr: File,
    ) -> io::Result<Subprocess> {
        let mut command = self.git_in_any_language(["-c", "protocol.version=2", &format!("remote-{scheme}")]);
        Self::let_git_ask(command.args([url, url]).env_remove("GIT_OPTIONAL_LOCKS"));
        self.start_to_end(command.stdin(Stdio::piped()).stderr(stderr))
    }
}
