//! The marks of a checkpoint in a table, in brackets behind its subject.

use super::{layout, output::printable};

/// Columns of the mark that matters most, ` [verified]`.
pub(super) const MARK: usize = 11;

/// The marks that are looked for in a list: they are not cut for the sake of the subject.
const WANTED: [&str; 4] = [START, VERIFIED, UNDONE, SET_ASIDE];
const START: &str = "start";
const VERIFIED: &str = "verified";
/// The mark of what an undo took off its shadow.
pub(super) const UNDONE: &str = "undone";
/// The mark of what a reset has set aside.
pub(super) const SET_ASIDE: &str = "set aside";
/// The least columns of a subject beside such marks.
const LEAST_SUBJECT: usize = 8;

/// The least columns of another mark behind those that are looked for.
const LEAST_MARK: usize = 12;

/// Returns the marks as a line has them.
pub(super) fn bracketed(marks: &[impl AsRef<str>]) -> String {
    let marks: Vec<&str> = marks.iter().map(AsRef::as_ref).collect();
    if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(", ")) }
}

/// Cuts `subject` and the `marks` after it to `room` columns together: the marks get half of them, and those that the subject
/// does not need. The marks that are looked for come first then, and are cut last.
pub(super) fn share(subject: &str, marks: &[String], room: usize) -> (String, String) {
    let whole = bracketed(marks);
    let half = room.saturating_sub(layout::width(subject)).max(room / 2);
    let (wanted, others): (Vec<&String>, Vec<&String>) = marks.iter().partition(|mark| WANTED.contains(&mark.as_str()));
    let marks = if layout::width(&whole) <= half {
        whole
    } else if wanted.is_empty() {
        layout::cut(&whole, half.max(MARK.min(room)))
    } else {
        let only_wanted = bracketed(&wanted);
        let all = bracketed(&[wanted, others].concat());
        let least = layout::width(&only_wanted);
        // A mark that is only begun says nothing.
        let all = if half < least + LEAST_MARK { only_wanted } else { all };
        layout::cut(&all, half.max(least.min(room.saturating_sub(LEAST_SUBJECT))).max(MARK.min(room)))
    };
    let subject = layout::cut(subject, room.saturating_sub(layout::width(&marks)));
    (subject, marks)
}

/// Returns the marks of a checkpoint, which follow its message.
pub(super) fn marks(is_start: bool, is_verified: bool, tags: &[String], (folded, of): (usize, &str)) -> Vec<String> {
    let mut marks = Vec::new();
    if is_start {
        marks.push(START.to_owned());
    }
    if is_verified {
        marks.push(VERIFIED.to_owned());
    }
    marks.extend(tags.iter().map(|tag| format!("tag: {}", printable(tag))));
    if folded > 0 {
        marks.push(more(folded, of, false));
    }
    marks
}

/// Says how many checkpoints a row stands for besides its own.
pub(super) fn more(folded: usize, of: &str, is_narrow: bool) -> String {
    if is_narrow { format!("{folded} more") } else { format!("{folded} more {of}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::all_fits("add mul", &["verified"], 18, "add mul", " [verified]")]
    #[case::the_subject_gives_way("add mul and div", &["verified"], 20, "add mu...", " [verified]")]
    #[case::so_do_long_marks("add mul and div", &["verified", "3 more"], 22, "add mul...", " [verified]")]
    #[case::set_aside_comes_first("restored 'b.py'", &["1 more", "set aside"], 23, "restored...", " [set aside]")]
    #[case::two_marks("restored 'b.py'", &["verified", "1 more", "set aside"], 33, "restored...", " [verified, set aside]")]
    #[case::too_many_marks("restored 'b.py'", &["verified", "set aside"], 24, "resto...", " [verified, s...")]
    #[case::long_tags("add mul and div", &["tag: a-long-name"], 24, "add mul a...", " [tag: a-...")]
    #[case::a_short_subject_leaves_room("add", &["verified", "3 more"], 22, "add", " [verified, 3 more]")]
    #[case::nothing_is_cut_in_a_pipe("add mul", &["verified"], usize::MAX, "add mul", " [verified]")]
    fn subjects_and_marks_share_the_room(
        #[case] subject: &str,
        #[case] marks: &[&str],
        #[case] room: usize,
        #[case] expected: &str,
        #[case] expected_marks: &str,
    ) {
        let marks: Vec<String> = marks.iter().map(|mark| (*mark).to_owned()).collect();
        assert_eq!(share(subject, &marks, room), (expected.to_owned(), expected_marks.to_owned()));
    }
}
