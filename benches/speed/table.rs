//! Shows figures as a Markdown table.

use std::time::Duration;

use crate::{
    measure::{Cost, Measured},
    plan::Goal,
};

/// Prints the head of a table.
pub(crate) fn begin() {
    println!();
    println!("| work | ours, ms (CPU) | git's, ms (CPU) | ratio | of CPU | goal | |");
    println!("|---|---:|---:|---:|---:|---:|---|");
}

/// Prints `rows` and returns true if all goals are met.
pub(crate) fn print(rows: &[Measured]) -> bool {
    let mut is_good = true;
    for row in rows {
        let (value, text, limit) = verdict(row);
        let is_met = limit.is_none_or(|limit| value <= limit);
        is_good &= is_met;
        let theirs = row.theirs.as_ref().map_or(String::new(), |(name, cost)| format!("{name}: {}", figures(*cost)));
        let of = |part: fn(&Cost) -> Duration| {
            let theirs = row.theirs.as_ref().map(|(_, cost)| part(cost).as_secs_f64());
            theirs.map_or(String::new(), |theirs| format!("{:.2}x", part(&row.ours).as_secs_f64() / theirs.max(1e-6)))
        };
        let (wall, cpu) = (of(|cost| cost.wall), of(|cost| cost.cpu));
        let mark = match limit {
            None => "",
            Some(_) if is_met => "ok",
            Some(_) => "OVER",
        };
        println!("| {} | {} | {theirs} | {wall} | {cpu} | {text} | {mark} |", row.work, figures(row.ours));
    }
    is_good
}

/// Returns the figure that the goal of `row` is about, the goal as text, and the limit.
fn verdict(row: &Measured) -> (f64, String, Option<f64>) {
    let wall = row.ours.wall.as_secs_f64();
    match row.goal {
        Goal::None => (wall, String::new(), None),
        Goal::Factor(factor) => {
            let theirs = row.theirs.as_ref().map_or(f64::INFINITY, |(_, cost)| cost.wall.as_secs_f64());
            (wall / theirs, format!("<= {factor:.2}x"), Some(factor))
        }
        Goal::More(limit) => {
            let (least, theirs) =
                row.theirs.as_ref().map_or((0.0, 0.0), |(_, it)| (it.least.as_secs_f64(), it.wall.as_secs_f64()));
            let more = (wall - theirs) * 1000.0;
            let of_least = (row.ours.least.as_secs_f64() - least) * 1000.0;
            let of_cpu = row.theirs.as_ref().map_or(0.0, |(_, it)| it.cpu.as_secs_f64());
            let of_cpu = (row.ours.cpu.as_secs_f64() - of_cpu) * 1000.0;
            let text = format!("{more:+.1} (least {of_least:+.1}, CPU {of_cpu:+.1}) <= {limit} ms");
            // What else the machine does comes on top of both; the quickest runs have least of that.
            (more.min(of_least), text, Some(limit))
        }
        Goal::Milliseconds(limit) => (wall * 1000.0, format!("<= {limit} ms"), Some(limit)),
        #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
        Goal::Peak(limit) => {
            let (peak, limit) = (row.ours.peak as f64 / 1e6, limit as f64 / 1e6);
            (peak, format!("{peak:.1} <= {limit} MB"), Some(limit))
        }
    }
}

fn figures(cost: Cost) -> String {
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1000.0;
    format!("{:.1} ({:.1})", milliseconds(cost.wall), milliseconds(cost.cpu))
}
