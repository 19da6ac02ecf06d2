//! The table of all authors of an attribution.

use std::collections::HashMap;

use crate::model::{
    attribution::{
        Author, AuthorId, FileOwnership, Owner, Span,
        combine::{Beside, owner},
        text::Attribution,
    },
    contributor::Contributor,
};

/// Stands in for the author of changes that no record covers, until that author is decided.
pub(super) const CARRIER: AuthorId = AuthorId::MAX - 1;

/// Authors, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authors {
    pub(crate) list: Vec<Author>,
    ids: HashMap<Author, AuthorId>,
}

impl Authors {
    pub(super) fn id(&mut self, author: &Author) -> AuthorId {
        if let Some(id) = self.ids.get(author) {
            return *id;
        }
        let id = AuthorId::try_from(self.list.len()).unwrap_or(AuthorId::MAX).min(CARRIER - 1);
        self.list.push(author.clone());
        self.ids.insert(author.clone(), id);
        id
    }

    pub(crate) fn plain(&mut self, contributor: Contributor) -> AuthorId {
        self.id(&Author::plain(contributor))
    }

    /// Returns the stored files, with their author ids translated to this table.
    pub(super) fn adopt(&mut self, stored: Attribution) -> Vec<crate::model::attribution::text::File> {
        let ids: Vec<AuthorId> = stored.authors.iter().map(|author| self.id(author)).collect();
        let unknown = self.plain(Contributor::Unknown);
        let place = |id: AuthorId| ids.get(id as usize).copied().unwrap_or(unknown);
        let mut files = stored.files;
        for file in &mut files {
            file.ownership = renumbered(std::mem::take(&mut file.ownership), place);
        }
        files
    }

    /// Returns `ownership` with its author ids, which refer to `authors`, translated to this table.
    pub(crate) fn adopt_file(&mut self, ownership: FileOwnership, authors: &[Author]) -> FileOwnership {
        let ids: Vec<AuthorId> = authors.iter().map(|author| self.id(author)).collect();
        renumbered(ownership, |id| ids.get(id as usize).copied().unwrap_or(id))
    }
}

fn renumbered(file: FileOwnership, place: impl Fn(AuthorId) -> AuthorId) -> FileOwnership {
    let moved = |owner: Owner| match owner {
        Owner::Base => Owner::Base,
        Owner::Author(id) => Owner::Author(place(id)),
        Owner::Mixed { of, over, share } => Owner::Mixed { of: place(of), over: over.map(&place), share },
    };
    FileOwnership {
        spans: file.spans.into_iter().map(|span| Span { owner: moved(span.owner), ..span }).collect(),
        whole: file.whole.map(moved),
        removed: file.removed.into_iter().map(|(author, count)| (place(author), count)).collect(),
        ..file
    }
}

/// Returns true if none of `views` names the owner of `line`.
pub(super) fn is_in_none(views: &[Vec<Span>], line: usize) -> bool {
    let none = Owner::Author(CARRIER);
    owner(views, line, Beside { carrier: CARRIER, author: CARRIER, unclaimed: none, keeps_base: true }) == none
}
