//! The figures of a commit: how many lines each kind of author has.

use serde::Serialize;

use super::{Author, AuthorId, FileOwnership, Owner, Ownership};
use crate::model::contributor::Contributor;

/// Lines of a commit or of a part of it.
///
/// `agent_lines + human_added + human_modified + mixed + unknown + kept_added` is what git counts as added,
/// `agent_removed + human_removed + unknown_removed + kept_removed` what it counts as deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Lines that agents wrote, and older lines that they edited.
    pub agent_lines: u32,
    /// Lines that people wrote.
    pub human_added: u32,
    /// Older lines that humans edited.
    pub human_modified: u32,
    /// Lines that both wrote: a human edited an agent's line, or the reverse.
    pub mixed: u32,
    /// Lines whose author is unknown.
    pub unknown: u32,
    /// Lines that git counts as added though they were only moved or formatted.
    pub kept_added: u32,
    /// Lines that agents deleted.
    pub agent_removed: u32,
    /// Lines that people deleted.
    pub human_removed: u32,
    /// Deleted lines of which it is unknown who deleted them.
    pub unknown_removed: u32,
    /// Lines that git counts as deleted though they were only moved or formatted.
    pub kept_removed: u32,
    /// All lines that were written or edited: the added ones without those that were only moved or reformatted.
    pub total_committed: u32,
    /// The agents' percentage of `total_committed`; mixed lines count by their share. 0 if there are no lines, none if there are,
    /// and all authors are unknown.
    pub agent_percentage: Option<f64>,
    /// Files without lines that agents changed last.
    pub agent_binaries: u32,
    /// Files without lines that a human, or an unknown author, changed last.
    pub other_binaries: u32,
    /// Files that were too large to be compared line by line.
    pub cut_off: u32,
    /// The mixed lines' shares of agents, in percent each.
    #[serde(skip)]
    agent_shares: u64,
}

impl Figures {
    /// Returns the figures of all files; `authors` is the table that the ids are of.
    pub fn of(ownership: &Ownership, authors: &[Author]) -> Self {
        ownership.files.iter().fold(Self::default(), |sum, file| sum.plus(&Self::of_file(file, authors)))
    }

    /// Returns the figures of one file.
    pub fn of_file(file: &FileOwnership, authors: &[Author]) -> Self {
        let kind = |id: AuthorId| authors.get(id as usize).map_or(Contributor::Unknown, |author| author.contributor);
        let mut figures = Self { kept_removed: file.kept, cut_off: u32::from(file.is_cut_off), ..Self::default() };
        for span in &file.spans {
            figures.add(span.owner, span.count(), kind);
        }
        for (author, count) in &file.removed {
            *match kind(*author) {
                Contributor::Agent => &mut figures.agent_removed,
                Contributor::Human => &mut figures.human_removed,
                Contributor::Unknown => &mut figures.unknown_removed,
            } += count;
        }
        match file.whole {
            Some(Owner::Author(id) | Owner::Mixed { of: id, .. }) if kind(id) == Contributor::Agent => {
                figures.agent_binaries = 1;
            }
            Some(_) => figures.other_binaries = 1,
            None => {}
        }
        figures.summed()
    }

    /// Returns true if people have written all the lines, and there are some.
    pub(crate) fn is_human(&self) -> bool {
        let of_others = self.agent_lines + self.mixed + self.unknown + self.agent_removed + self.unknown_removed;
        of_others + self.agent_binaries + self.other_binaries == 0 && self.total_committed > 0
    }

    /// Returns true if an agent has a part in it: lines, deleted lines or whole files.
    pub(crate) fn has_agent(&self) -> bool {
        self.agent_lines + self.mixed + self.agent_removed + self.agent_binaries > 0
    }

    /// Returns the sum of two parts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            agent_lines: self.agent_lines + other.agent_lines,
            human_added: self.human_added + other.human_added,
            human_modified: self.human_modified + other.human_modified,
            mixed: self.mixed + other.mixed,
            unknown: self.unknown + other.unknown,
            kept_added: self.kept_added + other.kept_added,
            agent_removed: self.agent_removed + other.agent_removed,
            human_removed: self.human_removed + other.human_removed,
            unknown_removed: self.unknown_removed + other.unknown_removed,
            kept_removed: self.kept_removed + other.kept_removed,
            agent_binaries: self.agent_binaries + other.agent_binaries,
            other_binaries: self.other_binaries + other.other_binaries,
            cut_off: self.cut_off + other.cut_off,
            agent_shares: self.agent_shares + other.agent_shares,
            ..Self::default()
        }
        .summed()
    }

    fn add(&mut self, owner: Owner, count: u32, kind: impl Fn(AuthorId) -> Contributor) {
        use Contributor::{Agent, Human, Unknown};
        let field = match owner {
            Owner::Base => &mut self.kept_added,
            Owner::Author(id) => match kind(id) {
                Agent => &mut self.agent_lines,
                Human => &mut self.human_added,
                Unknown => &mut self.unknown,
            },
            Owner::Mixed { of, over, share } => match (kind(of), over.map(&kind)) {
                (Unknown, _) | (_, Some(Unknown)) => &mut self.unknown,
                (Agent, None | Some(Agent)) => &mut self.agent_lines,
                (Human, None | Some(Human)) => &mut self.human_modified,
                (of, Some(_)) => {
                    let share = if of == Agent { share } else { 100 - share.min(100) };
                    self.agent_shares += u64::from(count) * u64::from(share);
                    &mut self.mixed
                }
            },
        };
        *field += count;
    }

    fn summed(mut self) -> Self {
        self.total_committed = self.agent_lines + self.human_added + self.human_modified + self.mixed + self.unknown;
        let is_unknown = self.total_committed == self.unknown && self.unknown + self.unknown_removed > 0;
        self.agent_percentage = match self.total_committed {
            _ if is_unknown => None,
            0 => Some(0.0),
            #[expect(clippy::cast_precision_loss, reason = "commits have less than 2^52 / 100 lines")]
            total => Some((f64::from(self.agent_lines) * 100.0 + self.agent_shares as f64) / f64::from(total)),
        };
        self
    }

    /// Returns the percentage of `total_committed` that `lines` are; 0 if there are none.
    pub fn percentage(&self, lines: u32) -> f64 {
        if self.total_committed == 0 { 0.0 } else { f64::from(lines) * 100.0 / f64::from(self.total_committed) }
    }
}

/// Returns true if `percent` is more than `limit` lets pass.
#[expect(clippy::cast_precision_loss, reason = "limits above 100 are cut to 100")]
pub(crate) fn exceeds(percent: f64, limit: u64) -> bool {
    percent > limit.min(100) as f64 + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::attribution::Span;

    #[test]
    fn the_figures_sum_up() {
        let authors = [Contributor::Human, Contributor::Agent, Contributor::Unknown].map(Author::plain);
        let owners = [
            Owner::Base,
            Owner::Author(0),
            Owner::Author(1),
            Owner::Author(1),
            Owner::Author(2),
            Owner::Mixed { of: 0, over: None, share: 10 },
            Owner::Mixed { of: 1, over: None, share: 10 },
            Owner::Mixed { of: 0, over: Some(1), share: 30 },
            Owner::Mixed { of: 0, over: Some(2), share: 30 },
        ];
        let spans = (1..).zip(owners).map(|(line, owner)| Span { start: line, end: line, owner }).collect();
        let removed = vec![(0, 1), (1, 2), (2, 3)];
        let file = FileOwnership { spans, removed, kept: 4, ..FileOwnership::default() };
        let figures = Figures::of(&Ownership { files: vec![file.clone()] }, &authors);
        assert_eq!((figures.agent_lines, figures.human_added, figures.human_modified), (3, 1, 1));
        assert_eq!((figures.mixed, figures.unknown, figures.kept_added, figures.total_committed), (1, 2, 1, 8));
        assert_eq!((figures.agent_removed, figures.human_removed), (2, 1));
        assert_eq!((figures.unknown_removed, figures.kept_removed), (3, 4));
        assert!((figures.agent_percentage.expect("some are known") - 370.0 / 8.0).abs() < 1e-9);
        assert_eq!(figures.total_committed + figures.kept_added, file.added());
    }

    #[rstest::rstest]
    #[case::nothing(&[], &[], Some(0.0))]
    #[case::a_persons(&[0, 0], &[], Some(0.0))]
    #[case::half_unknown(&[1, 2], &[2], Some(50.0))]
    #[case::all_unknown(&[2, 2], &[], None)]
    #[case::only_deleted(&[], &[0, 1], Some(0.0))]
    #[case::only_deleted_by_unknown(&[], &[2], None)]
    fn a_percentage_of_unknown_lines_is_unknown(
        #[case] lines: &[AuthorId],
        #[case] removers: &[AuthorId],
        #[case] expected: Option<f64>,
    ) {
        let authors = [Contributor::Human, Contributor::Agent, Contributor::Unknown].map(Author::plain);
        let span = |(line, id): (u32, &AuthorId)| Span { start: line, end: line, owner: Owner::Author(*id) };
        let spans = (1..).zip(lines).map(span).collect();
        let removed = removers.iter().map(|id| (*id, 1)).collect();
        let file = FileOwnership { spans, removed, ..FileOwnership::default() };
        assert_eq!(Figures::of(&Ownership { files: vec![file] }, &authors).agent_percentage, expected);
    }

    #[test]
    fn nothing_is_nothing() {
        let nothing = Figures { agent_percentage: Some(0.0), ..Figures::default() };
        assert_eq!(Figures::of(&Ownership::default(), &[]).summed(), nothing);
    }
}
