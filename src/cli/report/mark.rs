//! What tells a report from other files.

use super::super::output_file::Kinship;

/// Every report begins with this, a page after its document type: by it, the next report knows the file, and a job that comments pull
/// requests finds its comment.
pub(super) const MARK: &str = "<!-- git-checkpoint report -->";
/// What a report may replace.
pub(super) const REPORT: Kinship = Kinship { otherwise: "is no report", is_one: is_report, beginning: 256 };

fn is_report(beginning: &[u8]) -> bool {
    beginning.starts_with(MARK.as_bytes()) || beginning.starts_with(format!("<!DOCTYPE html>{MARK}").as_bytes())
}
