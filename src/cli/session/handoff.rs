//! `session handoff`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::super::{
    Exit,
    call::Call,
    output::printable,
    output_file::{self, Form},
};
use crate::{
    agent::dialects,
    error::Result,
    model::briefing::{LEAST, MOST, USUAL},
    ops::sessions,
};

/// The first line of a file with a hand-off: by it, the next hand-off knows the file.
const MARK: &str = "<!-- git-checkpoint hand-off -->\n";

/// What a hand-off is as a file.
const FORM: Form =
    Form { otherwise: "is no hand-off", is_one: |text| text.starts_with(MARK.as_bytes()), beginning: 256 };

#[derive(clap::Args, Debug)]
pub(super) struct Handoff {
    /// The session: an id, an agent's name, or the beginning of an id (default: the last one here)
    #[arg(value_name = "session")]
    id: Option<String>,
    /// The agent that goes on with it
    #[arg(long, value_name = "agent", value_parser = names())]
    to: Option<String>,
    /// Write it to this file
    #[arg(short, long, value_name = "file")]
    output: Option<PathBuf>,
    /// Replace the file of --output, whatever it is
    #[arg(short, long, requires = "output")]
    force: bool,
    /// The most characters (default: 8000)
    #[arg(long, value_name = "n", value_parser = most)]
    max: Option<usize>,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

fn names() -> PossibleValuesParser {
    let mut names: Vec<&str> = dialects::ALL.iter().map(|dialect| dialect.name).collect();
    names.sort_unstable();
    PossibleValuesParser::new(names)
}

fn most(text: &str) -> std::result::Result<usize, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| format!("not a number from {LEAST} to {MOST}"))
}

impl Handoff {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let target = self.output.as_deref().map(|path| output_file::check(path, self.force, FORM)).transpose()?;
        let title = |name: &str| dialects::named(name).map_or(name, |dialect| dialect.title).to_owned();
        let briefing = sessions::handoff(&context, self.id.as_deref(), &title, self.to.as_deref())?;
        let text = briefing.text(self.max.unwrap_or(USUAL));
        if self.json {
            call.out.json(&json!({ "version": 1, "to": self.to, "characters": text.chars().count(), "text": text }))?;
        } else if let Some(target) = target {
            let path = target.write_text(&format!("{MARK}{text}"))?;
            call.out.note(&format!("written to '{}'", printable(path.as_os_str().as_encoded_bytes())))?;
        } else {
            call.out.text(&text)?;
        }
        Ok(Exit::Done)
    }
}
