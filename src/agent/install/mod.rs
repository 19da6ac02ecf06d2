//! How to make an agent call us: which file to edit, and what to add to it and remove from it. Text in, text out.
//!
//! The text of others stays byte for byte: adding and then removing our entries gives the original text.

mod command;
mod json;
mod scan;

use serde_json::Value;

use crate::error::{Error, Result};
use command::{in_script, is_our_command};

pub use command::{IN_PATH, command, program_of};
pub(super) use command::{if_there, whatever_happens};
pub use json::Shape;

/// Whom a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The user's, for all projects; below the home directory.
    User,
    /// The project's, to be committed; below the worktree's root.
    Project,
    /// The user, in one project; not to be committed. Below the worktree's root.
    Local,
}

impl Scope {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// What a file looks like.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// JSON, possibly with comments, that others also edit.
    Json(Shape),
    /// A file of our own that runs the command.
    Whole(fn(&str) -> String),
    /// A plugin of our own; `// @CALL@` in it becomes the function that calls us, and `"@COMMAND@"` in that the command.
    Plugin(&'static str),
    /// An executable file. A foreign one of that name is renamed first, by adding [`BEFORE`], and ours runs it.
    Script,
}

/// The suffix for a foreign script that ours runs first.
pub const BEFORE: &str = ".before-git-checkpoint";

/// A file that makes an agent call us.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Whom it is for.
    pub scope: Scope,
    /// Where it is, below the directory that the scope says.
    pub path: &'static str,
    /// A variable of the environment that moves it, and where it is below that one's value.
    pub relocated: Option<(&'static str, &'static str)>,
    /// What it looks like.
    pub format: Format,
}

/// What the plugins have in common: a plugin is one file.
const CALL: &str = include_str!("../../../config/call.ts");

const OURS: &str = "Installed by 'git checkpoint enable'; 'git checkpoint disable' removes it.";

impl File {
    /// Returns `text` with entries that run `command`; none means that there is no file yet.
    ///
    /// Returns the same text if it has them already. `command` is for a shell, and is what [`command()`] returns.
    ///
    /// # Errors
    /// [`Kind::User`](crate::error::Kind::User) if the text cannot be parsed, or the file is not ours.
    pub fn install(&self, text: Option<&str>, command: &str) -> Result<String> {
        match self.format {
            Format::Json(shape) => json::install(shape, text, command),
            Format::Whole(_) | Format::Plugin(_) | Format::Script => match text {
                Some(text) if !self.is_ours(text) => Err(Error::user(format!("'{}' is not ours", self.path))
                    .with_hint(format!(
                        "rename it, or add its content and '{BEFORE}' to its name where it is a script"
                    ))),
                _ => Ok(self.whole(command)),
            },
        }
    }

    /// Returns the text of the file without what [`File::install`] put in; none: nothing else was in it.
    ///
    /// # Errors
    /// [`Kind::User`](crate::error::Kind::User) if the text cannot be read.
    pub fn uninstall(&self, text: &str) -> Result<Option<String>> {
        match self.format {
            Format::Json(shape) => json::uninstall(shape, text),
            _ if self.is_ours(text) => Ok(None),
            _ => Ok(Some(text.to_owned())),
        }
    }

    /// Returns true if something in `text` calls us.
    pub fn is_ours(&self, text: &str) -> bool {
        match self.format {
            Format::Json(_) => self.uninstall(text).is_ok_and(|rest| rest.as_deref() != Some(text)),
            Format::Whole(_) => text.contains("git-checkpoint"),
            Format::Plugin(_) | Format::Script => text.lines().take(3).any(|line| line.contains(OURS)),
        }
    }

    /// Returns our commands that `text` runs, each once.
    pub fn commands(&self, text: &str) -> Vec<String> {
        let mut found = match self.format {
            Format::Json(_) | Format::Whole(_) => json::commands(text),
            Format::Plugin(_) | Format::Script => text.lines().filter_map(command_in_line).collect(),
        };
        found.retain(|command| is_our_command(command));
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|command| seen.insert(command.clone()));
        found
    }

    /// Returns false if `text` is a file of ours that was edited since.
    pub fn is_pristine(&self, text: &str) -> bool {
        if matches!(self.format, Format::Json(_)) {
            return true;
        }
        let called = self.commands(text).first().and_then(|text| program_of(text));
        let command = called.map(|(program, agent)| command(&program, &agent)).unwrap_or_default();
        let whole = self.whole(&command);
        whole == text || self.in_old_words(&whole, &command) == text
    }

    /// Returns the file `whole` as earlier versions wrote it, when a shell complained about a program that is gone.
    fn in_old_words(&self, whole: &str, command: &str) -> String {
        match self.format {
            Format::Script => whole.replace(&in_script(command), command),
            _ => whole.replace(&in_json(&if_there(command)), &in_json(command)),
        }
    }

    /// Returns the events for which `text`, a file that others also edit, has no entry of ours.
    pub fn missing(&self, text: &str) -> Vec<&'static str> {
        match self.format {
            Format::Json(shape) => json::missing(shape, text),
            _ => Vec::new(),
        }
    }

    fn whole(&self, command: &str) -> String {
        match self.format {
            Format::Whole(text) => text(command),
            Format::Plugin(text) => text
                .replace("@OURS@", OURS)
                .replace("// @CALL@\n", CALL)
                .replace("\"@COMMAND@\"", &in_json(&if_there(command))),
            _ => script(&in_script(command)),
        }
    }
}

fn in_json(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the command in a line of a plugin or a script of ours.
fn command_in_line(line: &str) -> Option<String> {
    if let Some(text) = line.strip_prefix("const command = ") {
        return serde_json::from_str(text.strip_suffix(';')?).ok();
    }
    line.strip_suffix(r#" || printf '%s\n' '{"cancel":false}'"#).map(ToOwned::to_owned)
}

/// The agent waits for an answer, be the program gone.
fn script(command: &str) -> String {
    format!(
        "#!/bin/sh
# {OURS}
before=\"$0{BEFORE}\"
if [ -x \"$before\" ]; then
\tinput=$(cat)
\ttheirs=$(printf '%s\\n' \"$input\" | \"$before\")
\tcode=$?
\tours=$(printf '%s\\n' \"$input\" | {command})
\tcase $ours in
\t*'\"cancel\":true'*) theirs=$ours code=0 ;;
\tesac
\tprintf '%s\\n' \"$theirs\"
\texit $code
fi
{command} || printf '%s\\n' '{{\"cancel\":false}}'
"
    )
}
