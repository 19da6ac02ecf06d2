//! The page: one file without scripts, which needs nothing from elsewhere.
//!
//! All that comes from the repository is text: `maud` escapes it, and control characters are shown as such. The policy in the page
//! forbids scripts, images and requests, so that a browser would not follow markup that got in all the same.

use base64::Engine as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    super::{output::printable, phrase},
    lines,
    mark::MARK,
    timeline::timeline,
};
use crate::{
    error::{Context as _, Kind as ErrorKind, Result},
    model::{
        attribution::{kind::Kind, summary::Figures},
        path_text::shell_word,
    },
    ops::report::{Commit, File, Part, Report},
};

const STYLE: &str = include_str!("style.css");

/// Returns the page.
pub(super) fn page(report: &Report) -> Result<String> {
    let title = format!("Who wrote {}", printable(&report.repository));
    let markup = html! {
        (DOCTYPE)
        (PreEscaped(MARK))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy()?);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#commits" { "Skip to the commits" }
                header {
                    h1 { (title) }
                    p { (about(report)) }
                }
                nav aria-label="Contents" { ul {
                    @for (id, name) in SECTIONS { li { a href=(format!("#{id}")) { (name) } } }
                } }
                main {
                    section #summary aria-labelledby="summary-title" { h2 #summary-title { "Summary" } (summary(report)) }
                    section #timeline aria-labelledby="timeline-title" {
                        h2 #timeline-title { "Timeline" } (timeline(report))
                    }
                    section #totals aria-labelledby="totals-title" { h2 #totals-title { "Totals" } (totals(report)) }
                    section #commits aria-labelledby="commits-title" {
                        h2 #commits-title { "Commits" }
                        @for commit in &report.commits { (self::commit(commit)) }
                    }
                }
                footer { p.dim {
                    "Made by " code { "git checkpoint report" } " " (env!("CARGO_PKG_VERSION")) "."
                } }
                script type="application/json" id="report-data" { (PreEscaped(data(report)?)) }
            }
        }
    };
    Ok(markup.into_string())
}

const SECTIONS: [(&str, &str); 4] =
    [("summary", "Summary"), ("timeline", "Timeline"), ("totals", "Totals"), ("commits", "Commits")];

/// Returns the content security policy, which allows the page's own style and nothing else.
fn policy() -> Result<String> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    hasher.update(STYLE.as_bytes());
    let digest = hasher.try_finalize().context(ErrorKind::Internal, || "cannot digest the style".into())?;
    let digest = base64::engine::general_purpose::STANDARD.encode(digest.as_slice());
    Ok(format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"))
}

/// Returns the data of the page as JSON that contains no markup.
fn data(report: &Report) -> Result<String> {
    let json = serde_json::to_string(report).context(ErrorKind::Internal, || "cannot write JSON".into())?;
    // Outside of strings, JSON has none of these.
    let must_be_escaped =
        |c: char| matches!(c, '<' | '>' | '&') || (!c.is_ascii() && printable(c.to_string()) != c.to_string());
    let mut units = [0; 2];
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if must_be_escaped(c) {
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    Ok(out)
}

fn about(report: &Report) -> String {
    let commits = phrase::count(report.commits.len(), "commit");
    let what = match (&report.range, &report.session) {
        (Some(range), _) => format!("{commits} of {}", printable(range)),
        (None, Some(session)) => format!("{commits} with work of session {}", printable(session)),
        (None, None) => format!("the newest {commits}"),
    };
    let day = |commit: Option<&Commit>| commit.and_then(|it| it.time.get(..10)).unwrap_or_default().to_owned();
    let (first, last) = (day(report.commits.last()), day(report.commits.first()));
    if first == last { format!("{what}, of {first}") } else { format!("{what}, {first} to {last}") }
}

fn summary(report: &Report) -> Markup {
    let figures = &report.summary;
    html! {
        p { strong { (share(figures)) } " of " (phrase::count(figures.total_committed as usize, "line")) }
        (bar(figures))
        table {
            caption { "Lines by who wrote them" }
            thead { tr {
                th scope="col" { "Who" } th.n scope="col" { "Added or changed" } th.n scope="col" { "Deleted" }
            } }
            tbody {
                (row(Kind::Agent, figures.agent_lines, Some(figures.agent_removed)))
                (row(Kind::Human, figures.human_added + figures.human_modified, Some(figures.human_removed)))
                (row(Kind::Mixed, figures.mixed, None))
                (row(Kind::Unknown, figures.unknown, Some(figures.unknown_removed)))
                (row(Kind::Base, figures.kept_added, Some(figures.kept_removed)))
            }
        }
        @if !report.missing_records.is_empty() {
            p { "Of " (phrase::count(report.missing_records.len(), "record")) " that commits name, this repository has none \
                 that can be read; their lines are not an agent's here." }
        }
    }
}

fn row(kind: Kind, lines: u32, deleted: Option<u32>) -> Markup {
    let name = match kind {
        Kind::Agent => "agents",
        Kind::Human => "people",
        Kind::Mixed => "both: one changed a line of the other",
        Kind::Unknown => "unknown",
        Kind::Base => "only moved or formatted",
    };
    html! { tr {
        th scope="row" { b class=(lines::class(kind)) { (super::super::attribution::letter(kind)) } " " (name) }
        td.n { (lines) } td.n { (deleted.map(|count| count.to_string()).unwrap_or_default()) }
    } }
}

/// Returns the shares of `figures` as a bar, which says in words what it shows.
fn bar(figures: &Figures) -> Markup {
    let human = figures.human_added + figures.human_modified;
    let parts =
        [("agent", figures.agent_lines), ("mixed", figures.mixed), ("human", human), ("unknown", figures.unknown)];
    let percent = |lines: u32| figures.percentage(lines);
    let mut at = 0.0;
    let mut places = Vec::new();
    for (class, lines) in parts.into_iter().filter(|(_, lines)| *lines > 0) {
        places.push((class, at, percent(lines)));
        at += percent(lines);
    }
    let words: Vec<String> = places.iter().map(|(class, _, percent)| format!("{percent:.0}% {class}")).collect();
    let words = if words.is_empty() { "no lines".to_owned() } else { words.join(", ") };
    html! {
        svg.bar viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label=(words) {
            @for (class, at, percent) in places {
                rect class=(class) x=(format!("{at:.2}")) width=(format!("{percent:.2}")) height="1" {}
            }
        }
    }
}

fn share(figures: &Figures) -> String {
    match figures.agent_percentage {
        None => "all authors unknown".to_owned(),
        Some(agent) => format!("{agent:.1}% by agents"),
    }
}

fn totals(report: &Report) -> Markup {
    let sums = &report.sums;
    html! { div.tables {
        @if !sums.sessions.is_empty() {
            table {
                caption { "Sessions" }
                thead { tr {
                    th scope="col" { "Session" } th scope="col" { "Agent" } th scope="col" { "Model" }
                    th.n scope="col" { "Lines" } th.n scope="col" { "With a person" } th.n scope="col" { "Deleted" }
                    th.n scope="col" { "Files" }
                } }
                tbody { @for session in &sums.sessions { tr {
                    th scope="row" { (named(session.id.as_ref())) }
                    td { (named(session.agent.as_ref())) } td { (named(session.model.as_ref())) }
                    td.n { (session.lines) } td.n { (session.mixed) } td.n { (session.removed) } td.n { (session.files) }
                } } }
            }
        }
        (parts("Agents", "Agent", "Sessions", &sums.agents))
        (parts("Models", "Model", "Sessions", &sums.models))
        (parts("Authors of the commits", "Author", "Commits", &sums.authors))
        (parts("Directories", "Directory", "Files", &sums.directories))
    } }
}

fn named(name: Option<&String>) -> String {
    name.map_or("unknown".to_owned(), printable)
}

fn parts(caption: &str, name: &str, count: &str, parts: &[Part]) -> Markup {
    let has_share = parts.iter().any(|part| part.agent_percentage.is_some());
    html! { @if !parts.is_empty() {
        table {
            caption { (caption) }
            thead { tr {
                th scope="col" { (name) } th.n scope="col" { "Lines" } th.n scope="col" { (count) }
                @if has_share { th.n scope="col" { "By agents" } }
            } }
            tbody { @for part in parts { tr {
                th scope="row" { (printable(&part.name)) } td.n { (part.lines) } td.n { (part.count) }
                @if has_share { td.n { (percentage(part.agent_percentage, part.lines)) } }
            } } }
        }
    } }
}

fn percentage(share: Option<f64>, lines: u32) -> String {
    match share {
        _ if lines == 0 => "-".to_owned(),
        None => "unknown".to_owned(),
        Some(share) => format!("{share:.0}%"),
    }
}

fn commit(commit: &Commit) -> Markup {
    let command = format!("git checkpoint attribution --patch {}", commit.id.to_hex_with_len(12));
    html! {
        article id=(format!("c-{}", commit.id)) aria-label=(printable(&commit.subject)) {
            h3 { (printable(&commit.subject)) }
            p.dim {
                code { (commit.id.to_hex_with_len(12)) } " " (printable(&commit.author)) ", "
                time datetime=(commit.time) { (commit.time.get(..16).unwrap_or_default().replace('T', " ")) }
                ", " (if commit.summary.total_committed == 0 { "no lines".to_owned() } else { share(&commit.summary) })
                @if commit.records.is_empty() { ", no record" }
            }
            (bar(&commit.summary))
            @for session in &commit.sessions {
                h4 {
                    (named(session.agent.as_ref())) ", session " (printable(&session.id))
                    @if let Some(model) = &session.model { ", " (printable(model)) }
                    ": " (phrase::count(session.lines as usize, "line"))
                }
                @for prompt in &session.prompts {
                    p.dim { "Prompt of turn " (prompt.turn) }
                    p.prompt { (lines_of(&prompt.text)) }
                }
            }
            @for (file, changed) in commit.files.iter().zip(&commit.changed) {
                details { summary { (heading(file)) } (lines::changed(changed, &of_file(&command, file))) }
            }
        }
    }
}

/// Returns the command that prints the changed lines of `file`.
fn of_file(command: &str, file: &File) -> String {
    format!("{command} -- {}", shell_word(&printable(&file.path)))
}

fn heading(file: &File) -> Markup {
    html! {
        code { (phrase::quoted(&file.path)) } " "
        span.dim {
            "+" (file.added) " -" (file.deleted)
            @if file.figures.total_committed > 0 {
                ", " (percentage(file.agent_percentage, file.figures.total_committed)) " by agents"
            }
        }
    }
}

/// Returns `text`, whose line breaks stay; other control characters are shown as such.
fn lines_of(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
