//! The timeline of the page: a lane for each session and one for people, a column for each commit.

use maud::{Markup, html};

use super::super::{layout, output::printable};
use crate::ops::report::{Commit, Report};

/// How many sessions have a lane; all others share one.
const LANES: usize = 16;
/// The width of a column.
const COLUMN: usize = 14;
/// The height of a lane.
const LANE: usize = 22;
/// The width of the names.
const NAMES: usize = 200;
/// How many characters of a name there is room for.
const NAME: usize = 26;
/// The columns between two dates.
const DATES: usize = 8;

/// Returns the timeline of `report`, the oldest commit first.
pub(super) fn timeline(report: &Report) -> Markup {
    let lanes = lanes(report);
    let (width, height) = (NAMES + (report.commits.len() + 2) * COLUMN, (lanes.len() + 1) * LANE + 10);
    html! {
        div.lanes tabindex="0" role="region" aria-label="Lanes of the timeline" {
            svg width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) role="group"
                aria-label="Commits from left to right, a lane for each session and one for people" {
                @for (at, lane) in lanes.iter().enumerate() {
                    text x="8" y=(middle(at) + 4) { (lane.name) }
                    line x1=(NAMES) x2=(width) y1=(middle(at)) y2=(middle(at)) {}
                }
                @for (at, commit) in report.commits.iter().rev().enumerate() {
                    @let x = NAMES + (at + 1) * COLUMN;
                    @if at % DATES == 0 {
                        text.dim x=(x) y=(height - 8) { (commit.time.get(..10).unwrap_or_default()) }
                    }
                    // Not in the order of the Tab key: the list of commits has the same links.
                    a href=(format!("#c-{}", commit.id)) tabindex="-1" aria-label=(printable(&commit.subject)) {
                        title { (printable(&commit.subject)) }
                        @for (lane, class, lines) in dots(commit, &lanes) {
                            circle class=(class) cx=(x) cy=(middle(lane)) r=(radius(lines)) {}
                        }
                    }
                }
            }
        }
    }
}

/// A lane.
struct Lane {
    name: String,
    /// The session; none for people, and for all sessions without a lane of their own.
    session: Option<String>,
}

fn lanes(report: &Report) -> Vec<Lane> {
    let mut ids: Vec<&String> = Vec::new();
    for id in report.sums.sessions.iter().filter_map(|session| session.id.as_ref()) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let others = ids.len().saturating_sub(LANES);
    let named = ids.into_iter().take(LANES);
    let mut lanes = vec![Lane { name: "people".into(), session: None }];
    lanes.extend(named.map(|id| Lane { name: layout::cut(&printable(id), NAME), session: Some(id.clone()) }));
    if others > 0 {
        lanes.push(Lane { name: format!("{others} other sessions"), session: None });
    }
    lanes
}

/// Returns the dots of `commit`: the lane, the style, and how many lines it stands for.
fn dots<'l>(commit: &Commit, lanes: &'l [Lane]) -> Vec<(usize, &'l str, u32)> {
    let figures = &commit.summary;
    let people = figures.human_added + figures.human_modified + figures.human_removed;
    let mut dots = Vec::new();
    if people > 0 {
        dots.push((0, "human", people));
    }
    for session in &commit.sessions {
        let own = lanes.iter().position(|lane| lane.session.as_ref() == Some(&session.id));
        let lane = own.unwrap_or(lanes.len() - 1);
        if lane > 0 && !dots.iter().any(|(known, ..)| *known == lane) {
            dots.push((lane, "agent", session.lines));
        }
    }
    if dots.is_empty() {
        dots.push((0, "unknown", figures.unknown));
    }
    dots
}

fn middle(lane: usize) -> usize {
    lane * LANE + LANE / 2 + 2
}

/// Returns the radius of a dot, which grows with each power of ten.
fn radius(lines: u32) -> u32 {
    3 + lines.checked_ilog10().unwrap_or_default().min(3)
}
