//! Decisions that come from a file, for example of an editor.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read, stdin},
    path::Path,
};

use serde::Deserialize;

use crate::{
    error::{Context as _, Error, Kind, Result},
    model::review::Verdict,
    ops::review::{Choice, Review},
};

/// The most bytes that are read.
const MOST_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    decisions: Vec<Given>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    id: String,
    verdict: Verdict,
    #[serde(default)]
    text: Option<String>,
}

/// Returns what is in the file at `path`, or in standard input for `-`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let what = || format!("cannot read '{}'", path.display());
    let from: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(stdin().lock())
    } else {
        Box::new(File::open(path).context(Kind::User, what)?)
    };
    let mut text = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut text).context(Kind::User, what)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::user("there are too many decisions").with_hint("16 MiB are read at once"));
    }
    Ok(text)
}

/// Returns the decisions in `text`, which is JSON, about hunks and changes of `review`.
///
/// # Errors
/// If it is not as the manual says, if one is about what is not there, since it may have changed, or if two differ about a change. None is carried out then.
pub(super) fn choices(review: &Review, text: &[u8]) -> Result<Vec<Choice>> {
    let what = || "the decisions cannot be read".to_owned();
    let given: Decisions = serde_json::from_slice(text).context(Kind::User, what)?;
    let mut known: HashMap<(usize, usize), (Verdict, Option<String>)> = HashMap::new();
    let mut choices = Vec::with_capacity(given.decisions.len());
    for given in given.decisions {
        let id = given.id.clone();
        let choice = choice(review, given)?;
        for item in &choice.items {
            let decided = (choice.verdict, choice.text.clone());
            if known.insert((choice.file, *item), decided.clone()).is_some_and(|other| other != decided) {
                return Err(Error::refused(format!("there are two decisions about '{}'", id.escape_debug()))
                    .with_hint("a hunk has the changes that are in it: decide about it, or about these"));
            }
        }
        choices.push(choice);
    }
    Ok(choices)
}

fn choice(review: &Review, given: Given) -> Result<Choice> {
    let Given { id, verdict, text } = given;
    let found = review.hunks().find_map(|(at, hunk)| {
        let file = &review.files[at];
        if file.id(hunk) == id {
            return Some((at, hunk.items.clone()));
        }
        let item = hunk.items.iter().find(|item| file.items[**item].id == id)?;
        Some((at, vec![*item]))
    });
    let Some((file, items)) = found else {
        return Err(Error::refused(format!("no change has the id '{}'", id.escape_debug())).with_hint(
            "it may have changed, or be decided and gone: 'git checkpoint review --json' shows what there is",
        ));
    };
    Ok(Choice { file, items, verdict, text })
}
