//! The programs of git that carry a connection, and the one that stores what arrives.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::OsStringExt as _,
    path::Path,
    process::{Command, Stdio},
};

use bstr::ByteSlice as _;

use super::super::{
    Repo, environment, patience::Patience, process::REDIRECTIONS, received::Received, subprocess::Subprocess,
};

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
        Self::lead_to(received, &mut command);
        self.start_to_end(command.stdin(Stdio::piped()).stderr(stderr))
    }

    /// Lets git `command` store objects in `received`, and see nothing of ours if they are to build on nothing.
    pub(in crate::git) fn lead_to(received: &Received, command: &mut Command) {
        let Some((directory, borrows)) = received.place() else { return };
        command.env("GIT_OBJECT_DIRECTORY", directory.join("objects"));
        if !borrows {
            command.env("GIT_DIR", directory);
            for name in ["GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE"] {
                command.env_remove(name);
            }
        }
    }

    /// Adds `settings` to those that git `command` gets by its environment (git-config(1), `GIT_CONFIG_COUNT`).
    pub(in crate::git) fn add_settings(command: &mut Command, settings: &[(String, String)]) {
        const COUNT: &str = "GIT_CONFIG_COUNT";
        if settings.is_empty() {
            return;
        }
        let before = environment::variable(COUNT).and_then(|count| count.to_str().ok()?.trim().parse().ok());
        let before: usize = before.unwrap_or_default();
        for (at, (key, value)) in (before..).zip(settings) {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command.env(COUNT, (before + settings.len()).to_string());
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
        self.start_within(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr), self.patience())
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
        self.start_within(command.stdin(Stdio::piped()).stderr(stderr), self.patience())
    }

    /// Returns the patience with a program that carries a connection.
    fn patience(&self) -> Patience {
        Patience::with_pipes(self.interrupt.limits())
    }
}
