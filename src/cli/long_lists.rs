//! How many lines of a long list a terminal shows.

use super::phrase;

/// How a command shows long lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongLists {
    /// True on a terminal, unless the user asked for more (`-v`).
    pub(super) are_cut: bool,
}

impl LongLists {
    /// Returns how many of `count` lines to show.
    pub(super) fn listed(self, count: usize) -> usize {
        const LISTED: usize = 20;
        // One line more would take the place of one that says so.
        if self.are_cut && count > LISTED + 1 { LISTED } else { count }
    }

    /// Returns `lines`, or the first of them and how many more there are.
    pub(super) fn cut(self, mut lines: Vec<String>) -> Vec<String> {
        let count = lines.len();
        lines.truncate(self.listed(count));
        if lines.len() < count {
            lines.push(phrase::and_more(count - lines.len()));
        }
        lines
    }

    /// The same with `start` before each line.
    pub(super) fn cut_after(self, start: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
        self.cut(lines.collect()).into_iter().map(|line| format!("{start}{line}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::short(true, 21, 21)]
    #[case::long(true, 22, 20)]
    #[case::in_a_pipe(false, 22, 22)]
    fn long_lists_are_cut(#[case] are_cut: bool, #[case] count: usize, #[case] shown: usize) {
        let lines = LongLists { are_cut }.cut_after("path ", (0..count).map(|number| number.to_string()));
        assert_eq!(lines.iter().filter(|line| line.starts_with("path ") && !line.contains("and")).count(), shown);
        assert_eq!(lines.last().map(String::as_str) == Some("path and 2 more (-v lists all)"), shown < count);
    }
}
