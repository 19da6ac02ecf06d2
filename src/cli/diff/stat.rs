//! How many lines changed in each file, in the shape of `git diff --stat`.

use super::super::{
    call::Call,
    layout::width as columns_of,
    output::{Output, printable},
    phrase,
};
use crate::{error::Result, ops::compare::FileDiff};

/// The least columns for the graph, as in git.
const LEAST_GRAPH: usize = 6;

/// Prints `files` and their sum.
pub(super) fn print(files: &[FileDiff], call: &mut Call) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let rows: Vec<Row> = files.iter().map(Row::of).collect();
    let layout = Layout::of(&rows, Output::width());
    for row in &rows {
        let line = row.line(&layout, call);
        call.out.line(&line)?;
    }
    let sum = |count: fn(&Row) -> usize| rows.iter().filter(|row| row.bytes.is_none()).map(count).sum::<usize>();
    call.out.line(&summary(files.len(), sum(|row| row.added), sum(|row| row.deleted)))
}

struct Row {
    name: String,
    added: usize,
    deleted: usize,
    /// Sizes before and after of a binary file, which has no lines to count.
    bytes: Option<(usize, usize)>,
}

struct Layout {
    name: usize,
    number: usize,
    graph: usize,
    most: usize,
}

impl Row {
    fn of(file: &FileDiff) -> Self {
        let name = match &file.old_path {
            None => phrase::quoted(&file.path),
            Some(old_path) => renamed(&printable(old_path), &printable(&file.path)),
        };
        let count = |lines: Option<u32>| usize::try_from(lines.unwrap_or(0)).unwrap_or(usize::MAX);
        Self { name, added: count(file.added), deleted: count(file.deleted), bytes: file.bytes }
    }

    fn line(&self, layout: &Layout, call: &Call) -> String {
        let name = phrase::shortened(&self.name, layout.name);
        let padding = " ".repeat(layout.name.saturating_sub(columns_of(&name)));
        if let Some((before, after)) = self.bytes {
            let before = call.out.paint(phrase::OLD, &before.to_string());
            let after = call.out.paint(phrase::NEW, &after.to_string());
            return format!(" {name}{padding} | {:>width$} {before} -> {after} bytes", "Bin", width = layout.number);
        }
        let (added, deleted) = layout.bars(self.added, self.deleted);
        let bars = call.out.paint(phrase::NEW, &"+".repeat(added)) + &call.out.paint(phrase::OLD, &"-".repeat(deleted));
        let total = self.added + self.deleted;
        format!(" {name}{padding} | {total:>width$} {bars}", width = layout.number).trim_end().to_owned()
    }
}

impl Layout {
    /// Divides the columns between names and graph as `show_stats()` in git's diff.c does.
    fn of(rows: &[Row], width: usize) -> Self {
        let most = rows.iter().map(|row| row.added + row.deleted).max().unwrap_or(0);
        let longest = rows.iter().map(|row| columns_of(&row.name)).max().unwrap_or(0);
        let has_binary = rows.iter().any(|row| row.bytes.is_some());
        let number = most.to_string().len().max(if has_binary { 3 } else { 1 });
        let width = width.max(16 + LEAST_GRAPH + number);
        let (mut name, mut graph) = (longest, most);
        if name + number + LEAST_GRAPH + graph > width {
            graph = graph.min((width * 3 / 8).saturating_sub(number + LEAST_GRAPH).max(LEAST_GRAPH));
            let rest = width - number - LEAST_GRAPH;
            if name > rest - graph {
                name = rest - graph;
            } else {
                graph = rest - name;
            }
        }
        Self { name, number, graph, most }
    }

    /// Returns how many `+` and `-` represent these counts; at least one each, unless the count is zero.
    fn bars(&self, added: usize, deleted: usize) -> (usize, usize) {
        if self.most < self.graph {
            return (added, deleted);
        }
        let scale = |count: usize| if count == 0 { 0 } else { 1 + count * (self.graph - 1) / self.most };
        let mut total = scale(added + deleted);
        if total < 2 && added > 0 && deleted > 0 {
            total = 2;
        }
        if added < deleted {
            let plus = scale(added);
            (plus, total - plus)
        } else {
            let minus = scale(deleted);
            (total - minus, minus)
        }
    }
}

/// Returns how git writes a rename: `src/{a.rs => b.rs}`, `{old => new}/x`, `a => b`.
fn renamed(old: &str, new: &str) -> String {
    let common = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let prefix = old.as_bytes()[..common].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let room = old.len().min(new.len()) - prefix;
    let same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    // The slash before the suffix may be the one after the prefix: `a/{ => b}/c`.
    let same = same.min(room + usize::from(prefix > 0));
    let suffix = old.as_bytes()[old.len() - same..].iter().position(|&byte| byte == b'/').map_or(0, |at| same - at);
    if prefix == 0 && suffix == 0 {
        return format!("{old} => {new}");
    }
    let middle = |text: &str| text.get(prefix..(text.len() - suffix).max(prefix)).unwrap_or("").to_owned();
    format!("{}{{{} => {}}}{}", &old[..prefix], middle(old), middle(new), &old[old.len() - suffix..])
}

fn summary(files: usize, added: usize, deleted: usize) -> String {
    let mut text = format!(" {} changed", phrase::count(files, "file"));
    if added > 0 || deleted == 0 {
        text.push_str(&format!(", {}(+)", phrase::count(added, "insertion")));
    }
    if deleted > 0 || added == 0 {
        text.push_str(&format!(", {}(-)", phrase::count(deleted, "deletion")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a.rs", "b.rs", "a.rs => b.rs")]
    #[case("src/a.rs", "src/b.rs", "src/{a.rs => b.rs}")]
    #[case("old/x.rs", "new/x.rs", "{old => new}/x.rs")]
    #[case("a/b/c", "a/c", "a/{b => }/c")]
    #[case("a/c", "a/b/c", "a/{ => b}/c")]
    #[case("x/a/y", "x/b/y", "x/{a => b}/y")]
    fn renames_read_as_in_git(#[case] old: &str, #[case] new: &str, #[case] expected: &str) {
        assert_eq!(renamed(old, new), expected);
    }

    /// As git, it counts columns: a name of one wide letter takes two.
    #[test]
    fn names_are_as_wide_as_on_the_terminal() {
        let row = |name: &str| Row { name: name.into(), added: 1, deleted: 0, bytes: None };
        assert_eq!(Layout::of(&[row("\u{1b0f6}"), row("a")], 80).name, 2);
        assert_eq!(phrase::shortened("\u{1b0f6}", 2), "\u{1b0f6}");
    }

    #[test]
    fn the_summary_is_gits() {
        assert_eq!(summary(1, 1, 0), " 1 file changed, 1 insertion(+)");
        assert_eq!(summary(2, 0, 3), " 2 files changed, 3 deletions(-)");
        assert_eq!(summary(1, 0, 0), " 1 file changed, 0 insertions(+), 0 deletions(-)");
    }
}
