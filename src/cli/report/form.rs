//! By what a report is known.

use super::super::output_file::Form;

/// Every report begins with this, a page after its document type: by it, a job that comments pull requests finds its comment, too.
pub(super) const MARK: &str = "<!-- git-checkpoint report -->";

/// What a report is as a file.
pub(super) const FORM: Form = Form { otherwise: "is no report", is_one: is_report, beginning: 256 };

fn is_report(beginning: &[u8]) -> bool {
    beginning.starts_with(MARK.as_bytes()) || beginning.starts_with(format!("<!DOCTYPE html>{MARK}").as_bytes())
}
