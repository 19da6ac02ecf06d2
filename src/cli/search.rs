//! `git checkpoint search`: finds checkpoints, records and sessions by what they are about.

use std::{collections::BTreeSet, ffi::OsString};

use anstyle::{AnsiColor, Style};

use super::{Exit, call::Call, date, date_column::date_column, layout, list::moment_of, output::printable, phrase};
use crate::{
    error::{Error, Result},
    model::{
        contributor::Contributor,
        hit::{Excerpt, FIELDS, Field},
    },
    ops::{
        Context,
        find::{self, Content, Hit, Kind, Options, Pattern},
    },
};

/// The colour of a match, as git has it.
const MATCH: Style = AnsiColor::Red.on_default().bold();
/// The columns of the word for where a match is.
const FIELD: usize = 10;

/// Search checkpoints, records, prompts, notes and transcripts
///
/// The query is a regular expression. The best hits come first: notes and messages before prompts, paths and transcripts, what is
/// recent before what is old. The exit status is 1 if there is none.
#[derive(clap::Args, Debug)]
pub(super) struct Search {
    /// Search only these: subjects, prompts, notes, paths, records, transcripts, content (may be a list with commas)
    #[arg(long = "in", value_name = "where", value_delimiter = ',')]
    fields: Vec<String>,
    /// Find changes in the number of times that the text occurs
    #[arg(short = 'S', id = "occurrences", value_name = "string", conflicts_with_all = ["lines", "query", "fields"])]
    occurrences: Option<String>,
    /// Find changes with an added or deleted line that matches
    #[arg(short = 'G', id = "lines", value_name = "regex", conflicts_with_all = ["query", "fields"])]
    lines: Option<String>,
    /// Only what is of this session
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// Only what is of this agent
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// Only what changed a path that this matches (may be repeated)
    #[arg(long = "path", value_name = "pathspec")]
    paths: Vec<OsString>,
    /// Only since then, for example '2 hours ago' or 2026-01-31
    #[arg(long, value_name = "date")]
    since: Option<String>,
    /// Only until then
    #[arg(long, value_name = "date")]
    until: Option<String>,
    /// Only the work of agents, or of people
    #[arg(long, value_name = "who", value_parser = ["agent", "human"])]
    owner: Option<String>,
    /// Upper and lower case are the same
    #[arg(short, long)]
    ignore_case: bool,
    /// The query is a text, and no regular expression
    #[arg(short = 'F', long, conflicts_with = "extended_regexp")]
    fixed_strings: bool,
    /// The query is a regular expression (the default)
    #[arg(short = 'E', long)]
    extended_regexp: bool,
    /// At most this many, the best ones
    #[arg(short = 'n', long, value_name = "number")]
    max_count: Option<usize>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// End each hit with a NUL, with the whole id and nothing escaped
    #[arg(short = 'z', conflicts_with = "json")]
    null: bool,
    /// What to search for
    #[arg(value_name = "query", required_unless_present_any = ["occurrences", "lines"])]
    query: Option<String>,
}

impl Search {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let (is_json, is_null) = (self.json, self.null);
        let options = self.options(&context)?;
        let is_of_content = options.content.is_some();
        let (hits, broken) = find::find(&context, &options, date::now())?;
        call.start_pager(&context)?;
        for hit in &hits {
            if is_json {
                call.out.json(hit)?;
            } else if is_null {
                let Excerpt { before, r#match, after } = &hit.excerpt;
                let (kind, field) = (word(hit.kind), hit.field.name());
                let text = format!("{kind} {} {field} {before}{match}{after}", hit.id);
                // One NUL a hit.
                let text = text.replace('\0', "\u{fffd}");
                call.out.bytes(format!("{text}\0").as_bytes())?;
            } else {
                let line = line(hit, date::now(), call);
                call.out.line(&line)?;
            }
        }
        for error in &broken {
            call.out.warning(&format!("not all can be searched: {error}"));
        }
        if !broken.is_empty() {
            call.out.hint("'git checkpoint doctor' says what to do");
        }
        if hits.is_empty() && !is_json && !is_null {
            call.out.aside("nothing was found");
            if !is_of_content {
                call.out.hint("'--in content' searches the lines of files");
            }
        }
        Ok(if hits.is_empty() { Exit::No } else { Exit::Done })
    }

    fn options(self, context: &Context) -> Result<Options> {
        let (content, text) = match (self.occurrences, self.lines, self.query) {
            (Some(text), ..) => (Some(Content::Occurrences), text),
            (_, Some(text), _) => (Some(Content::Lines), text),
            (.., query) => (None, query.unwrap_or_default()),
        };
        if text.is_empty() {
            return Err(Error::user("nothing to search for: the query is empty"));
        }
        let is_fixed = self.fixed_strings || content == Some(Content::Occurrences) && !self.extended_regexp;
        let mut fields = if content.is_some() { BTreeSet::from([Field::Content]) } else { fields(&self.fields)? };
        let content = content.or_else(|| fields.contains(&Field::Content).then_some(Content::Lines));
        if fields.is_empty() {
            fields = FIELDS.iter().map(|(_, field)| *field).filter(|field| *field != Field::Content).collect();
        }
        let moment = |text: Option<String>| text.map(|text| moment_of(&context.repo, &text)).transpose();
        Ok(Options {
            pattern: Pattern { text, is_fixed, ignores_case: self.ignore_case },
            fields,
            content,
            session: self.session,
            agent: self.agent,
            paths: Call::pathspecs(&context.repo, &self.paths)?,
            since: moment(self.since)?,
            until: moment(self.until)?,
            owner: self.owner.as_deref().and_then(Contributor::from_word),
            limit: self.max_count,
        })
    }
}

/// Returns the fields that `words` name.
fn fields(words: &[String]) -> Result<BTreeSet<Field>> {
    let field = |word: &String| {
        let found = FIELDS.iter().find(|(name, field)| word == name || word == field.name()).map(|(_, field)| *field);
        let all = || FIELDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| Error::user(format!("cannot search in '{word}'")).with_hint(format!("one of {}", all())))
    };
    words.iter().map(field).collect()
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Checkpoint => "checkpoint",
        Kind::Record => "record",
        Kind::Session => "session",
    }
}

fn line(hit: &Hit, now: i64, call: &Call) -> String {
    let id = match (hit.kind, gix::ObjectId::from_hex(hit.id.as_bytes())) {
        (Kind::Checkpoint, Ok(id)) => call.names.id(&id),
        _ => printable(&hit.id),
    };
    let date = date_column(hit.moment, now, call);
    let field = layout::padded(hit.field.name(), FIELD);
    let path = hit.path.as_ref().filter(|_| hit.field == Field::Content).map(|path| format!("{}: ", printable(path)));
    let path = path.unwrap_or_default();
    let used = layout::width(&id) + layout::width(&date) + FIELD + 6 + layout::width(&path);
    let room = call.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(used));
    let (before, found, after) = fitted(&hit.excerpt, room);
    let (id, date) = (call.out.paint(phrase::ID, &id), call.out.paint(phrase::DIM, &date));
    format!("{id}  {date}  {field}  {path}{before}{}{after}", call.out.paint(MATCH, &found))
}

/// Returns the three parts of the excerpt in `room` columns, so that the match is seen.
fn fitted(excerpt: &Excerpt, room: usize) -> (String, String, String) {
    let (before, found, after) = (printable(&excerpt.before), printable(&excerpt.r#match), printable(&excerpt.after));
    let found = layout::cut(&found, room);
    let room = room.saturating_sub(layout::width(&found));
    let before = if layout::width(&before) <= room { before } else { end_of(&before, room / 2) };
    let after = layout::cut(&after, room.saturating_sub(layout::width(&before)));
    (before, found, after)
}

/// Returns the end of `text` that fits into `columns`.
fn end_of(text: &str, columns: usize) -> String {
    const LEFT_OUT: &str = "...";
    let room = columns.saturating_sub(LEFT_OUT.len());
    let fits = |at: &usize| layout::width(&text[*at..]) <= room;
    let start = text.char_indices().map(|(at, _)| at).find(fits).unwrap_or(text.len());
    format!("{LEFT_OUT}{}", &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::all(40, "before it |needle| after it")]
    #[case::cut_at_the_end(20, "before it |needle|...")]
    #[case::cut_at_both_ends(14, "... |needle|...")]
    #[case::no_room(6, "...|needle|")]
    fn a_match_is_seen(#[case] room: usize, #[case] expected: &str) {
        let excerpt = Excerpt { before: "before it ".into(), r#match: "needle".into(), after: " after it".into() };
        let (before, found, after) = fitted(&excerpt, room);
        assert_eq!(format!("{before}|{found}|{after}"), expected);
    }

    #[test]
    fn fields_have_one_word_each_in_both_numbers() {
        let words = ["notes".to_owned(), "path".to_owned()];
        assert_eq!(fields(&words).expect("they are known"), BTreeSet::from([Field::Note, Field::Path]));
        assert!(fields(&["code".to_owned()]).expect_err("unknown").hint().is_some_and(|hint| hint.contains("content")));
    }
}
