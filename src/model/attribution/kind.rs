//! How an owner is shown to users: one word, and the agent.

use serde::Serialize;

use super::{Author, AuthorId, Owner};
use crate::model::contributor::Contributor;

/// The owner of a line in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An agent wrote it, or edited an older line.
    Agent,
    /// A human wrote it, or edited an older line.
    Human,
    /// Both an agent and a human wrote it.
    Mixed,
    /// The author is unknown.
    Unknown,
    /// An older line: git counts it as added, but it was only moved or reformatted.
    Base,
}

impl Kind {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::Mixed => "mixed",
            Self::Unknown => "unknown",
            Self::Base => "base",
        }
    }
}

impl From<Contributor> for Kind {
    fn from(contributor: Contributor) -> Self {
        match contributor {
            Contributor::Agent => Self::Agent,
            Contributor::Human => Self::Human,
            Contributor::Unknown => Self::Unknown,
        }
    }
}

/// Returns the word for `owner`, as [`Figures`](super::summary::Figures) counts it; `authors` is the table of its ids.
pub fn kind_of(owner: Owner, authors: &[Author]) -> Kind {
    let kind = |id: AuthorId| authors.get(id as usize).map_or(Kind::Unknown, |author| author.contributor.into());
    match owner {
        Owner::Base => Kind::Base,
        Owner::Author(id) => kind(id),
        Owner::Mixed { of, over, .. } => match (kind(of), over.map_or(Kind::Base, kind)) {
            (Kind::Unknown, _) | (_, Kind::Unknown) => Kind::Unknown,
            (of, over) if of == over || over == Kind::Base => of,
            _ => Kind::Mixed,
        },
    }
}

/// Returns the agent with a part in the lines of `owner`, and its percentage of them.
pub fn agent_of(owner: Owner, authors: &[Author]) -> Option<(AuthorId, u8)> {
    let is_agent =
        |id: AuthorId| authors.get(id as usize).is_some_and(|author| author.contributor == Contributor::Agent);
    match owner {
        Owner::Base => None,
        Owner::Author(id) => is_agent(id).then_some((id, 100)),
        Owner::Mixed { .. } if kind_of(owner, authors) == Kind::Unknown => None,
        Owner::Mixed { of, over, share } => match over {
            _ if is_agent(of) => Some((of, if over.is_none_or(is_agent) { 100 } else { share.min(100) })),
            Some(over) if is_agent(over) => Some((over, 100 - share.min(100))),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::attribution::{FileOwnership, Ownership, Span, summary::Figures};

    #[test]
    fn words_and_figures_agree() {
        let authors = [Contributor::Human, Contributor::Agent, Contributor::Unknown].map(Author::plain);
        let mut owners = vec![Owner::Base];
        for of in 0..3 {
            owners.push(Owner::Author(of));
            owners.extend([None, Some(0), Some(1), Some(2)].map(|over| Owner::Mixed { of, over, share: 40 }));
        }
        for owner in owners {
            let spans = vec![Span { start: 1, end: 1, owner }];
            let files = vec![FileOwnership { spans, ..FileOwnership::default() }];
            let figures = Figures::of(&Ownership { files }, &authors);
            let counted = [
                (Kind::Agent, figures.agent_lines),
                (Kind::Human, figures.human_added + figures.human_modified),
                (Kind::Mixed, figures.mixed),
                (Kind::Unknown, figures.unknown),
                (Kind::Base, figures.kept_added),
            ];
            assert!(counted.contains(&(kind_of(owner, &authors), 1)), "{owner:?}");
            let share = agent_of(owner, &authors).map_or(0.0, |(_, share)| f64::from(share));
            let expected = (figures.unknown == 0).then_some(share);
            assert_eq!(figures.agent_percentage, expected, "{owner:?}");
        }
    }
}
