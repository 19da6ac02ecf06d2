//! Notes: text that belongs to a checkpoint, or to a commit with a record; and, in the same form, what was decided about files.

use gix::ObjectId;

use super::refname;

/// The first line of the message of a commit that writes a note.
pub(crate) const WRITTEN: &str = "note written";
/// The same of one that removes notes.
pub(crate) const REMOVED: &str = "note removed";
/// The same of one by which a note follows its checkpoint, which has another id now.
pub(crate) const CARRIED: &str = "note carried along";

/// The same of one that brings notes back to what they were.
pub(crate) const RESTORED: &str = "note restored";
/// The same of one that writes down what was decided in a review.
pub(crate) const REVIEWED: &str = "review";

/// The most bytes of a note.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// Returns true if commits of the notes have a message with this first line.
pub(crate) fn is_subject_of_notes(subject: &[u8]) -> bool {
    [WRITTEN, REMOVED, CARRIED, RESTORED, REVIEWED].iter().any(|known| known.as_bytes() == subject)
}

/// Returns what operations call the note for `id` in the ref `notes`: as if each note had a ref, which points to its text. So two
/// worktrees that write notes for different commits do not stand in each other's way.
pub(crate) fn note_ref(notes: &str, id: ObjectId) -> String {
    format!("{notes}/{id}")
}

/// Returns the ref that has the note, and what the note is for, if `name` is as [`note_ref`] returns it.
pub(crate) fn noted(name: &str) -> Option<(&'static str, ObjectId)> {
    let of = |notes: &'static str| {
        let id = name.strip_prefix(notes)?.strip_prefix('/')?;
        Some((notes, ObjectId::from_hex(id.as_bytes()).ok()?))
    };
    of(refname::NOTES).or_else(|| of(refname::REVIEWS))
}

/// Returns what stays of two notes for one checkpoint: both, or one if they are the same.
pub(crate) fn joined(first: &[u8], second: &[u8]) -> Vec<u8> {
    if first == second || second.is_empty() {
        return first.to_vec();
    }
    let mut text = first.to_vec();
    if !text.is_empty() {
        text.extend_from_slice(b"\n");
    }
    text.extend_from_slice(second);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::same("a\n", "a\n", "a\n")]
    #[case::both("a\n", "b\n", "a\n\nb\n")]
    #[case::only_the_first("a\n", "", "a\n")]
    #[case::only_the_second("", "b\n", "b\n")]
    fn two_notes_become_one(#[case] first: &str, #[case] second: &str, #[case] expected: &str) {
        assert_eq!(joined(first.as_bytes(), second.as_bytes()), expected.as_bytes());
    }
}
