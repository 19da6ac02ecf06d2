//! The parser of stored attributions. It is strict, since records come from other repositories too.

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Attribution, File, HEADER, unescape};
use crate::model::{
    attribution::{Author, AuthorId, FileOwnership, Owner, Span},
    contributor::Contributor,
    session::is_valid_id,
};

impl Attribution {
    /// Parses `text`; the error is a sentence that says what is wrong with it.
    pub fn from_text(text: &[u8]) -> Result<Self, String> {
        let text = text.to_str().map_err(|_| "it is not UTF-8".to_owned())?;
        let mut lines = text.split_terminator('\n');
        if lines.next() != Some(HEADER) {
            return Err(format!("it does not begin with '{HEADER}'"));
        }
        let mut attribution = Self::default();
        let mut total = 0;
        for (number, line) in (2..).zip(lines) {
            take(&mut attribution, line, &mut total).ok_or_else(|| format!("line {number} is wrong"))?;
        }
        Ok(attribution)
    }
}

/// Takes a line; `total` is the sum of all counts so far, which must fit into a `u32`.
fn take(attribution: &mut Attribution, line: &str, total: &mut u32) -> Option<()> {
    let (keyword, rest) = line.split_once(' ').unwrap_or((line, ""));
    let authors = attribution.authors.len();
    if keyword == "author" {
        attribution.authors.push(author(rest, authors)?);
        return attribution.files.is_empty().then_some(());
    }
    if keyword == "file" {
        let file = file(rest)?;
        let is_in_order = attribution.files.last().is_none_or(|last| last.ownership.path < file.ownership.path);
        attribution.files.push(file);
        return is_in_order.then_some(());
    }
    let file = &mut attribution.files.last_mut()?.ownership;
    match keyword {
        "from" => file.from = Some(unescape(rest, false).filter(|_| file.from.is_none())?),
        "whole" => file.whole = Some(owner(rest, authors).filter(|_| file.whole.is_none())?),
        "cut-off" => file.is_cut_off = (line == keyword && !file.is_cut_off).then_some(true)?,
        "removed" => {
            let (count, who) = rest.split_once(' ')?;
            let count = positive(count)?;
            *total = total.checked_add(count)?;
            if who == "base" {
                file.kept = (file.kept == 0).then_some(count)?;
            } else {
                let author = id(who, authors)?;
                let is_in_order = file.removed.last().is_none_or(|(last, _)| *last < author);
                file.removed.push((author, count));
                is_in_order.then_some(())?;
            }
        }
        range => {
            let (start, end) = range.split_once('-')?;
            let span = Span { start: positive(start)?, end: positive(end)?, owner: owner(rest, authors)? };
            let is_in_order = file.spans.last().is_none_or(|last| last.end < span.start);
            (is_in_order && span.start <= span.end).then_some(())?;
            *total = total.checked_add(span.count())?;
            file.spans.push(span);
        }
    }
    Some(())
}

fn author(text: &str, number: usize) -> Option<Author> {
    let mut words = text.split(' ');
    (words.next()? == number.to_string()).then_some(())?;
    let mut author = Author::plain(Contributor::from_word(words.next()?)?);
    let mut last = 0;
    for word in words {
        let (key, value) = word.split_once('=')?;
        let value = String::from_utf8(unescape(value, true)?.into()).ok()?;
        let place = ["", "session", "turn", "agent", "model", "agent-id"].iter().position(|known| *known == key)?;
        (place > last).then_some(())?;
        last = place;
        match place {
            1 => author.session = Some(value),
            2 => author.turn = Some(number_of(&value)?),
            3 => author.agent = Some(value),
            4 => author.model = Some(value),
            _ => author.agent_id = Some(value),
        }
    }
    // Ids name files and are shown: what is no id comes from elsewhere and says nothing.
    let is_valid = author.session.as_deref().is_none_or(is_valid_id);
    Some(if is_valid { author } else { Author::plain(Contributor::Unknown) })
}

fn file(text: &str) -> Option<File> {
    let (blob, path) = text.split_once(' ')?;
    let blob = match blob {
        "-" => None,
        hex => Some(ObjectId::from_hex(hex.as_bytes()).ok().filter(|id| *hex == *id.to_string())?),
    };
    let path = unescape(path, false).filter(|path| !path.is_empty())?;
    Some(File { blob, ownership: FileOwnership { path, ..FileOwnership::default() } })
}

fn owner(text: &str, authors: usize) -> Option<Owner> {
    if text == "base" {
        return Some(Owner::Base);
    }
    let Some((of, rest)) = text.split_once('/') else { return Some(Owner::Author(id(text, authors)?)) };
    let (over, share) = rest.split_once(':')?;
    let over = if over == "base" { None } else { Some(id(over, authors)?) };
    let share = u8::try_from(number_of(share)?).ok().filter(|share| *share <= 100)?;
    Some(Owner::Mixed { of: id(of, authors)?, over, share })
}

fn id(text: &str, authors: usize) -> Option<AuthorId> {
    number_of(text).filter(|id| (*id as usize) < authors)
}

fn positive(text: &str) -> Option<u32> {
    number_of(text).filter(|number| *number > 0)
}

/// A number in the one form it is written in.
fn number_of(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}
