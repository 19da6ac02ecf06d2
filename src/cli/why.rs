//! `git checkpoint why`: how a line came about.

use std::ffi::OsString;

use bstr::ByteSlice as _;

use super::{
    Exit,
    call::Call,
    date,
    from_root::{self, Form},
    output::printable,
    phrase,
};
use crate::{
    error::{Error, Result},
    model::attribution::kind::Kind,
    ops::why::{self, Why},
};

/// How many lines of a prompt, and of a piece of a transcript, people see.
const PROMPT_LINES: usize = 20;
const PIECE_LINES: usize = 4;

/// Explain why a line is there: its commit, its session, the prompt, and the conversation
#[derive(clap::Args, Debug)]
#[command(name = "why")]
pub(super) struct WhyCommand {
    /// The file and the line, from 1
    #[arg(value_name = "file>:<line")]
    place: OsString,
    /// The file as a commit has it, not the worktree
    #[arg(long, value_name = "commit")]
    rev: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl WhyCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let (file, line) = place(&self.place)?;
        let path = Call::paths(&context.repo, std::slice::from_ref(&file))?.pop().unwrap_or_default();
        let rev = self.rev.clone();
        let found = why::why(&context, path.clone(), line, self.rev).map_err(|error| {
            let error = from_root::with_hint(error, &context, &[file], rev.as_deref(), Form::Path);
            if rev.is_some() { error } else { from_root::with_deleted_hint(error, &context, path.as_bstr()) }
        })?;
        call.out.unreadable_records(&found.troubles);
        if self.json {
            call.out.json(&found)?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        print(&found, call)?;
        if found.who.owner == Kind::Unknown {
            call.say_what_lacks(&found.lacking);
            call.hint_at_unrecorded(&context, found.commit.as_slice());
        }
        Ok(Exit::Done)
    }
}

fn place(text: &OsString) -> Result<(OsString, u32)> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let bytes = text.as_bytes();
    let parsed = bytes.iter().rposition(|&byte| byte == b':').and_then(|at| {
        let line = std::str::from_utf8(&bytes[at + 1..]).ok()?.parse().ok().filter(|line| *line > 0)?;
        Some((OsString::from_vec(bytes[..at].to_vec()), line))
    });
    parsed.ok_or_else(|| {
        Error::user(format!("'{}' is not <file>:<line>", printable(bytes)))
            .with_hint("for example 'git checkpoint why README.md:1'")
    })
}

fn print(found: &Why, call: &mut Call) -> Result<()> {
    let place = call.out.paint(phrase::ID, &format!("{}:{}", call.names.path(&found.path), found.line));
    call.out.line(&place)?;
    call.out.line(format!("    {}", super::attribution::visible(found.text.as_bytes())).trim_end())?;
    call.out.line("")?;
    match (&found.commit, &found.subject) {
        (Some(commit), subject) => {
            let subject = subject.as_deref().map(printable).unwrap_or_default();
            let id = call.names.id(commit);
            call.out.field("Commit: ", &format!("{id} {subject}"))?;
            call.out.line(&format!("Author:  {}", printable(found.author.as_deref().unwrap_or_default())))?;
            let date = date::in_full(found.time.as_deref().unwrap_or_default(), call.out.is_terminal());
            call.out.line(&format!("Date:    {date}"))?;
        }
        (None, _) => call.out.line("Commit:  not committed yet")?,
    }
    let owner = call.out.paint(super::attribution::style(found.who.owner), &owner(found));
    call.out.field("Owner:  ", &owner)?;
    if let Some(record) = &found.record {
        call.out.field("Record: ", &phrase::record(record, found.record_remote.as_deref()))?;
    }
    if let Some(prompt) = &found.prompt {
        call.out.line("")?;
        heading(&format!("Prompt of turn {}", prompt.turn), call)?;
        print_text(&prompt.text, PROMPT_LINES, call)?;
    }
    if !found.transcript.is_empty() {
        call.out.line("")?;
        heading("Transcript", call)?;
    }
    for said in &found.transcript {
        call.out.line(&format!("  {}:", printable(&said.role)))?;
        print_text(&said.text, PIECE_LINES, call)?;
    }
    Ok(())
}

fn owner(found: &Why) -> String {
    let who = &found.who;
    let mut text = who.owner.as_str().to_owned();
    if matches!(who.owner, Kind::Agent | Kind::Mixed) {
        let fields =
            [("", &who.agent), ("model ", &who.model), ("session ", &who.session), ("subagent ", &who.agent_id)];
        for (word, value) in fields {
            if let Some(value) = value {
                text.push_str(&format!(", {word}{}", printable(value)));
            }
        }
        text.push_str(&who.turn.map_or_else(String::new, |turn| format!(", turn {turn}")));
    }
    text
}

fn print_text(text: &str, most: usize, call: &mut Call) -> Result<()> {
    let mut lines = text.trim().lines();
    for line in lines.by_ref().take(most) {
        call.out.prose(format!("    {}", super::attribution::visible(line.as_bytes())).trim_end())?;
    }
    let rest = lines.count();
    if rest > 0 { call.out.line(&format!("    and {}", phrase::count(rest, "more line"))) } else { Ok(()) }
}

fn heading(text: &str, call: &mut Call) -> Result<()> {
    let text = call.out.paint(phrase::BOLD, text);
    call.out.line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a:1", Some(("a", 1)))]
    #[case("a:b:12", Some(("a:b", 12)))]
    #[case("a:0", None)]
    #[case("a", None)]
    #[case("a:-1", None)]
    fn places_are_read(#[case] text: &str, #[case] expected: Option<(&str, u32)>) {
        let expected = expected.map(|(file, line)| (OsString::from(file), line));
        assert_eq!(place(&text.into()).ok(), expected);
    }
}
