//! The stored form of an attribution: text, versioned, sorted. gitcheckpoint-format(5) describes it.

use std::fmt::Write as _;

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use gix::ObjectId;

use super::{Author, AuthorId, FileOwnership, Owner, Span};
use crate::model::contributor::Contributor;

mod parse;

const HEADER: &str = "attribution 1";

/// The attribution in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// The table that the ids of authors are of.
    pub authors: Vec<Author>,
    /// The files that the commit changes.
    pub files: Vec<File>,
}

/// A file that the commit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The committed blob that the spans are of; none if the commit deletes the file.
    pub blob: Option<ObjectId>,
    /// Its attribution.
    pub ownership: FileOwnership,
}

impl Attribution {
    /// Returns the same in the order in which it is stored: authors without a line are left out.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        let mut used: Vec<AuthorId> = self.files.iter().flat_map(|file| authors_of(&file.ownership)).collect();
        used.sort_unstable();
        used.dedup();
        let author = |id: &AuthorId| self.authors.get(*id as usize).cloned();
        let unknown = || Author::plain(Contributor::Unknown);
        let authors: Vec<Author> = used.iter().map(|id| author(id).unwrap_or_else(unknown)).collect();
        let mut table = authors.clone();
        table.sort();
        table.dedup();
        let place = |id: AuthorId| {
            let author = used.binary_search(&id).ok().and_then(|at| table.binary_search(&authors[at]).ok());
            author.and_then(|at| AuthorId::try_from(at).ok()).unwrap_or(id)
        };
        for file in &mut self.files {
            renumber(&mut file.ownership, place);
        }
        self.files.sort_by(|a, b| a.ownership.path.cmp(&b.ownership.path));
        self.authors = table;
        self
    }

    /// Returns the text, of the sorted form.
    pub fn to_text(self) -> Vec<u8> {
        let sorted = self.sorted();
        let mut text = format!("{HEADER}\n");
        for (number, author) in sorted.authors.iter().enumerate() {
            write_author(&mut text, number, author);
        }
        for File { blob, ownership } in &sorted.files {
            let blob = blob.map_or_else(|| "-".to_owned(), |blob| blob.to_string());
            line(&mut text, format_args!("file {blob} {}", escape(ownership.path.as_ref(), false)));
            if let Some(from) = &ownership.from {
                line(&mut text, format_args!("from {}", escape(from.as_ref(), false)));
            }
            if let Some(whole) = ownership.whole {
                line(&mut text, format_args!("whole {}", name(whole)));
            }
            if ownership.is_cut_off {
                line(&mut text, format_args!("cut-off"));
            }
            for Span { start, end, owner } in &ownership.spans {
                line(&mut text, format_args!("{start}-{end} {}", name(*owner)));
            }
            for (author, count) in &ownership.removed {
                line(&mut text, format_args!("removed {count} {author}"));
            }
            if ownership.kept > 0 {
                line(&mut text, format_args!("removed {} base", ownership.kept));
            }
        }
        text.into_bytes()
    }
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("a string takes all");
}

fn write_author(text: &mut String, number: usize, author: &Author) {
    text.push_str(&format!("author {number} {}", author.contributor.as_str()));
    let turn = author.turn.map(|turn| turn.to_string());
    let fields = [
        ("session", &author.session),
        ("turn", &turn),
        ("agent", &author.agent),
        ("model", &author.model),
        ("agent-id", &author.agent_id),
    ];
    for (key, value) in fields {
        if let Some(value) = value {
            text.push_str(&format!(" {key}={}", escape(value.as_bytes().as_bstr(), true)));
        }
    }
    text.push('\n');
}

/// Returns an owner in the stored format: `base`, a number, or `<number>/<earlier owner>:<share>`.
fn name(owner: Owner) -> String {
    match owner {
        Owner::Base => "base".to_owned(),
        Owner::Author(id) => id.to_string(),
        Owner::Mixed { of, over: Some(over), share } => format!("{of}/{over}:{share}"),
        Owner::Mixed { of, over: None, share } => format!("{of}/base:{share}"),
    }
}

fn authors_of(file: &FileOwnership) -> Vec<AuthorId> {
    let owners = file.spans.iter().map(|span| span.owner).chain(file.whole);
    let ids = owners.flat_map(|owner| match owner {
        Owner::Base => [None, None],
        Owner::Author(id) => [Some(id), None],
        Owner::Mixed { of, over, .. } => [Some(of), over],
    });
    ids.flatten().chain(file.removed.iter().map(|(author, _)| *author)).collect()
}

/// Replaces the ids of authors by those that `place` returns.
pub(crate) fn renumber(file: &mut FileOwnership, place: impl Fn(AuthorId) -> AuthorId) {
    let moved = |owner: Owner| match owner {
        Owner::Base => Owner::Base,
        Owner::Author(id) => Owner::Author(place(id)),
        Owner::Mixed { of, over, share } => Owner::Mixed { of: place(of), over: over.map(&place), share },
    };
    let mut spans: Vec<Span> = Vec::with_capacity(file.spans.len());
    for span in file.spans.drain(..).map(|span| Span { owner: moved(span.owner), ..span }) {
        match spans.last_mut() {
            Some(last) if last.owner == span.owner && last.end.checked_add(1) == Some(span.start) => {
                last.end = span.end;
            }
            _ => spans.push(span),
        }
    }
    file.spans = spans;
    file.whole = file.whole.map(moved);
    let mut removed = std::collections::BTreeMap::new();
    for (author, count) in file.removed.drain(..) {
        *removed.entry(place(author)).or_default() += count;
    }
    file.removed = removed.into_iter().collect();
}

/// Escapes text for one line: `%XX` for bytes that are not UTF-8, control characters and `%`, and in a `word` also for
/// blanks.
fn escape(value: &BStr, word: bool) -> String {
    let mut text = String::with_capacity(value.len());
    let hex = |text: &mut String, bytes: &[u8]| {
        for byte in bytes {
            text.push_str(&format!("%{byte:02X}"));
        }
    };
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c.is_control() || "\u{2028}\u{2029}".contains(c) || word && c.is_whitespace() {
                hex(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(c);
            }
        }
        hex(&mut text, chunk.invalid());
    }
    text
}

/// Returns the value that [`escape`] made this of.
fn unescape(text: &str, word: bool) -> Option<BString> {
    let mut value = BString::default();
    let mut rest = text.as_bytes();
    while let Some(at) = rest.find_byte(b'%') {
        value.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3)?.to_str().ok()?;
        value.push_byte(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[at + 3..];
    }
    value.push_str(rest);
    // One value has one form.
    (escape(value.as_ref(), word) == text).then_some(value)
}
