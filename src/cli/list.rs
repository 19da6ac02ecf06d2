//! `git checkpoint list`: checkpoints, newest first, one a line.

use std::ffi::OsString;

use clap::{Args as _, FromArgMatches as _};

use super::{
    Exit,
    call::Call,
    date,
    date_column::date_column,
    fetched,
    from_root::{self, Form},
    layout,
    list_format::Format,
    marks::{MARK, SET_ASIDE, UNDONE, bracketed, marks, more, share},
    output::printable,
    phrase,
    sessions_in_table::Sessions,
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{checkpoint::Origin, contributor::Contributor, path_text::shell_word},
    ops::{
        Context,
        history::{self, Commit, Entry, ListOptions},
        lookup, sessions, tags,
    },
};

/// How many commits between two checkpoints have a line each.
const MOST_COMMITS: usize = 6;

/// What is said where there is nothing to list, and the next step.
const NOTHING: (&str, &str) = ("no checkpoint in this worktree yet", "'git checkpoint save' takes one");
const NO_LIVE: (&str, &str) = ("no uncommitted checkpoint in this worktree", "'git checkpoint list' shows all");
const NO_ARCHIVED: (&str, &str) =
    ("no checkpoint of this worktree is in the archive", "'git checkpoint list' shows those that are not");
const NO_TAG: (&str, &str) = ("no tag matches", "'git checkpoint tag' lists the tags");
const ELSEWHERE: &str = "'--all-worktrees' also lists those of other worktrees";
const NO_MATCH: (&str, &str) = ("no checkpoint matches", "'git checkpoint list' shows all");

/// List checkpoints, newest first
///
/// Each line begins with @{<n>}, which names the checkpoint. Those of one turn of an agent are one line, the last of them, unless
/// --all is given. The commits of HEAD's history stand between them.
#[derive(clap::Args, Debug)]
pub(super) struct List {
    /// At most this many
    #[arg(short = 'n', long, value_name = "number")]
    max_count: Option<usize>,
    /// Only those of this session
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// Only those of this agent
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// Only those in which a path that this matches changed (may be repeated)
    #[arg(long = "path", value_name = "pathspec")]
    named_paths: Vec<OsString>,
    /// Only those since then, for example '2 hours ago' or 2026-01-31
    #[arg(long, value_name = "date")]
    since: Option<String>,
    /// Only those until then
    #[arg(long, value_name = "date")]
    until: Option<String>,
    /// Only those whose message or note matches
    #[arg(long, value_name = "regex")]
    grep: Option<String>,
    /// Only those that have a tag which this matches
    #[arg(long, value_name = "pattern")]
    tag: Option<String>,
    /// Only those that were not set aside, as by a commit
    #[arg(long, conflicts_with = "archived")]
    live: bool,
    /// Only those in the archive
    #[arg(long)]
    archived: bool,
    /// Those of all worktrees
    #[arg(long)]
    all_worktrees: bool,
    /// Each of the checkpoints of a turn
    #[arg(long)]
    all: bool,
    /// Those of other clones, which were fetched or imported
    #[arg(long, conflicts_with_all = [
        "session", "agent", "named_paths", "since", "until", "grep", "tag", "live", "archived", "all_worktrees", "all",
        "format", "paths",
    ])]
    fetched: bool,
    /// Print each in this format, for example '%h %cI %s'
    #[arg(long, value_name = "format", conflicts_with = "json")]
    format: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Only those in which a path that one of these matches changed
    #[arg(value_name = "pathspec")]
    paths: Vec<OsString>,
}

impl List {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let is_json = self.json;
        if self.fetched {
            return fetched::list(&context, self.max_count, is_json, call).map(|()| Exit::Done);
        }
        let format = self.format.as_deref().map(Format::parse).transpose()?;
        let typed = [self.named_paths.clone(), self.paths.clone()].concat();
        let options = self.options(&context)?;
        let is_filtered = options.session.is_some()
            || options.agent.is_some()
            || options.grep.is_some()
            || options.since.is_some()
            || options.until.is_some()
            || options.tag.is_some()
            || !options.paths.is_empty();
        let nothing = match (options.live, options.archived) {
            (true, _) => NO_LIVE,
            (_, true) => NO_ARCHIVED,
            _ => NOTHING,
        };
        let wants_none = options.limit == Some(0);
        call.start_pager(&context)?;
        let mut table = Table::default();
        let mut found = 0;
        let broken = history::list(&context, &options, &mut |entry| {
            found += 1;
            if let Some(format) = &format {
                let line = format.line(&entry, &call.names, call.out.is_terminal());
                call.out.bytes(&line)?;
            } else if is_json {
                call.out.json(&entry)?;
            } else {
                table.add(entry, call)?;
            }
            Ok(!call.interrupt.is_raised() && !call.out.is_closed())
        })?;
        table.finish(call)?;
        for error in &broken {
            call.out.warning(&format!("not all can be shown: {error}"));
        }
        if !broken.is_empty() {
            call.out.hint("'git checkpoint doctor' says what to do");
        }
        if found == 0 && broken.is_empty() && (is_filtered || !is_json) && !wants_none {
            say_nothing(&context, &options, if is_filtered { NO_MATCH } else { nothing }, &typed, call);
        }
        // As git-log(1), which has nothing to show then.
        Ok(Exit::Done)
    }

    /// Parses `words`, the arguments of `list`.
    ///
    /// # Errors
    /// With what is wrong with them, in one line.
    pub(super) fn parse(words: &[OsString]) -> Result<Self> {
        let command = Self::augment_args(clap::Command::new("list").no_binary_name(true).disable_help_flag(true));
        let parsed = command.try_get_matches_from(words).and_then(|matches| Self::from_arg_matches(&matches));
        parsed.map_err(|error| {
            let report = error.render().to_string();
            Error::user(report.lines().next().unwrap_or_default().trim_start_matches("error: "))
        })
    }

    pub(super) fn options(self, context: &Context) -> Result<ListOptions> {
        let paths = [self.named_paths, self.paths].concat();
        Ok(ListOptions {
            session: self.session,
            agent: self.agent,
            paths: Call::pathspecs(&context.repo, &paths)?,
            since: self.since.map(|text| moment_of(&context.repo, &text)).transpose()?,
            until: self.until.map(|text| moment_of(&context.repo, &text)).transpose()?,
            grep: self.grep,
            tag: self.tag,
            live: self.live,
            archived: self.archived,
            all_worktrees: self.all_worktrees,
            all: self.all,
            limit: self.max_count,
            with_paths: self.json,
            with_commits: !self.json && self.format.is_none() && !self.all_worktrees,
        })
    }
}

/// Says that no checkpoint is listed, and why if that is known.
fn say_nothing(
    context: &Context,
    options: &ListOptions,
    (what, hint): (&str, &str),
    typed: &[OsString],
    call: &mut Call,
) {
    let unknown = options.session.as_ref().and_then(|name| sessions::existing(context, name).err());
    if let Some(unknown) = unknown {
        call.out.aside(unknown.message());
        unknown.hint().into_iter().for_each(|hint| call.out.hint(hint));
        return;
    }
    let tagged = options.tag.clone().and_then(|pattern| tags::list(context, &[pattern]).ok());
    if tagged.as_ref().is_some_and(Vec::is_empty) {
        call.out.aside(NO_TAG.0);
        call.out.hint(NO_TAG.1);
        return;
    }
    call.out.aside(what);
    let elsewhere = !options.all_worktrees && (tagged.is_some() || what == NOTHING.0 && history::is_any(context));
    let from_root = from_root::hint(context, typed, None, Form::Pathspec);
    let named = from_root.or_else(|| hint_at_one(context, typed));
    call.out.hint(named.as_deref().unwrap_or(if elsewhere { ELSEWHERE } else { hint }));
}

/// Returns what shows the checkpoint or the commit that is typed where pathspecs are; none if it is none.
fn hint_at_one(context: &Context, typed: &[OsString]) -> Option<String> {
    let [typed] = typed else { return None };
    let (typed, word) = (typed.to_str()?, shell_word(typed.to_str()?));
    let id = lookup::resolve(context, typed).ok()?;
    context
        .repo
        .is_commit(id)
        .ok()?
        .then(|| format!("'git checkpoint show {word}' shows the one of that name; a list takes pathspecs"))
}

/// Returns the moment that the user typed as `text`: in one of our forms, or in another one that git reads.
pub(super) fn moment_of(repo: &Repo, text: &str) -> Result<i64> {
    let now = date::now();
    if let Some(moment) = date::parse_moment(text, now) {
        return Ok(moment);
    }
    let clocks = date::clocks(now);
    let answers = [repo.approximate_date(text, clocks[0])?, repo.approximate_date(text, clocks[1])?];
    let read = match answers {
        [Some(one), Some(other)] => date::read_by_git(text, clocks, [one, other], &jiff::tz::TimeZone::system()),
        _ => None,
    };
    read.ok_or_else(|| {
        Error::user(format!("'{text}' is not a date"))
            .with_hint("for example '2 hours ago', 'yesterday' or '2026-01-31T08:15'")
    })
}

/// The rows of the list. The first rows decide how wide the column of the authors is.
#[derive(Default)]
struct Table {
    waiting: Vec<Entry>,
    authors: Option<Authors>,
}

/// How authors are named in their column.
struct Authors {
    sessions: Sessions,
    /// The columns that they take.
    columns: usize,
}

impl Table {
    /// How many rows wait for each other.
    const MOST_WAITING: usize = 100;

    fn add(&mut self, entry: Entry, call: &mut Call) -> Result<()> {
        if let Some(authors) = &self.authors {
            return print_row(&entry, authors, call);
        }
        self.waiting.push(entry);
        if self.waiting.len() >= Self::MOST_WAITING { self.finish(call) } else { Ok(()) }
    }

    /// Prints the rows that wait.
    fn finish(&mut self, call: &mut Call) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        let authors = self.authors.get_or_insert_with(|| Authors::of(&rows, call.out.columns()));
        rows.iter().try_for_each(|row| print_row(row, authors, call))
    }
}

impl Authors {
    fn of(rows: &[Entry], columns: Option<usize>) -> Self {
        let origins = || rows.iter().filter(|row| row.restored.is_none()).map(|row| &row.checkpoint.origin);
        let sessions = Sessions::new(origins().filter_map(|origin| origin.session.as_deref()));
        let least = layout::width(Contributor::Human.as_str());
        let columns = if let Some(columns) = columns {
            let needed = origins().map(|origin| sessions.least(&agent(origin), origin.session.as_deref(), "")).max();
            let has_marks = rows.iter().any(|row| row.verified || row.start || row.undone || row.is_set_aside);
            needed.unwrap_or(least).clamp(least, most_of_authors(columns, has_marks))
        } else {
            // Nothing is cut there.
            let whole = |origin: &Origin| sessions.name(&agent(origin), origin.session.as_deref(), "", usize::MAX);
            origins().map(|origin| layout::width(&whole(origin))).max().unwrap_or(least).max(WHO)
        };
        Self { sessions, columns }
    }
}

/// Returns who is named before the session.
fn agent(origin: &Origin) -> String {
    printable(origin.agent.as_deref().unwrap_or(origin.contributor.as_str()))
}

/// The fewest columns for the author of a checkpoint where the output is no terminal.
const WHO: usize = 20;

/// Returns the most columns for authors on a terminal of `columns`: two thirds of what number, id and date leave. With marks on a
/// narrow one, half of what these leave, too.
fn most_of_authors(columns: usize, has_marks: bool) -> usize {
    const OTHERS: usize = 24;
    let room = columns.saturating_sub(OTHERS);
    let most = if has_marks && layout::is_narrow(Some(columns)) { room.saturating_sub(MARK) / 2 } else { room * 2 / 3 };
    most.clamp(8, 2 * WHO)
}

fn print_row(entry: &Entry, authors: &Authors, call: &mut Call) -> Result<()> {
    print_commits(&entry.commits, call)?;
    let line = line(entry, authors, date::now(), call);
    call.out.line(&line)
}

fn line(entry: &Entry, authors: &Authors, now: i64, call: &Call) -> String {
    let checkpoint = &entry.checkpoint;
    let columns = call.out.columns();
    let date = date_column((checkpoint.seconds, checkpoint.offset), now, call);
    let id = call.names.id(&checkpoint.id);
    let of = if entry.restored.is_some() { "before it" } else { "in this turn" };
    let mut marks = marks(entry.start, entry.verified, &entry.tags, (0, of));
    marks.extend((entry.folded > 0).then(|| more(entry.folded, of, layout::is_narrow(columns))));
    marks.extend(entry.undone.then(|| UNDONE.to_owned()));
    marks.extend(entry.is_set_aside.then(|| SET_ASIDE.to_owned()));
    let note = entry.note.as_deref().and_then(|note| note.lines().next());
    marks.extend(note.map(|note| format!("note: {}", printable(note))));
    let origin = &checkpoint.origin;
    let room = columns.map_or(usize::MAX, |_| authors.columns);
    let who = match entry.restored {
        // A restore is a person's, whatever it has put back.
        Some(_) => layout::cut(Contributor::Human.as_str(), room),
        None => authors.sessions.name(&agent(origin), origin.session.as_deref(), "", room),
    };
    let subject = printable(&entry.called);
    let number = match entry.number {
        Some(number) => format!("{:<6} ", format!("@{{{number}}}")),
        None if entry.undone => format!("{:<6} ", ""),
        None => String::new(),
    };
    let used = layout::width(&number) + id.len() + layout::width(&date) + 6;
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(used));
    // What does not fit otherwise begins in the column of the author.
    let wanted = room.saturating_sub(layout::width(&subject) + layout::width(&bracketed(&marks)));
    let who = layout::padded(&who, authors.columns.min(wanted));
    let (subject, marks) = share(&subject, &marks, room.saturating_sub(layout::width(&who)));
    let (id, date) = (call.out.paint(phrase::ID, &id), call.out.paint(phrase::DIM, &date));
    format!("{number}{id}  {date}  {who}  {subject}{}", call.out.paint(phrase::MARK, &marks))
}

/// Prints a line for each of `commits`, newest first, the middle ones of many as one.
fn print_commits(commits: &[Commit], call: &mut Call) -> Result<()> {
    let left_out = commits.len().saturating_sub(MOST_COMMITS);
    for (at, commit) in commits.iter().enumerate() {
        if left_out > 0 && (MOST_COMMITS / 2..=MOST_COMMITS / 2 + left_out).contains(&at) {
            if at == MOST_COMMITS / 2 {
                call.out.line(&call.out.paint(phrase::DIM, &format!("-- {} more commits", left_out + 1)))?;
            }
            continue;
        }
        let line = format!("-- commit {} '{}'", call.names.id(&commit.id), printable(&commit.subject));
        let line = call.out.fit(&line, 0);
        call.out.line(&call.out.paint(phrase::DIM, &line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(200, false, 40)]
    #[case(80, false, 37)]
    #[case(80, true, 37)]
    #[case(60, false, 24)]
    #[case::beside_a_mark(60, true, 12)]
    #[case(30, false, 8)]
    fn narrow_terminals_have_less_room_for_names(
        #[case] columns: usize,
        #[case] has_marks: bool,
        #[case] expected: usize,
    ) {
        assert_eq!(most_of_authors(columns, has_marks), expected);
    }
}
