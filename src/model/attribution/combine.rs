//! Combines several records of a file of one commit: one into which others were squashed, or a part of one that was
//! split.

use std::ops::Range;

use super::{AuthorId, Compare, Owner, Span, spans as spans_of};

/// What is known without the records.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// The author id that was passed to [`carry`](super::carry::carry) for changes that no record covers.
    pub carrier: AuthorId,
    /// The presumed author of the rest.
    pub author: AuthorId,
    /// The owner of lines that no record covers.
    pub unclaimed: Owner,
    /// False if the base lines of a record may be newer than the commit's parent.
    pub keeps_base: bool,
}

/// Returns the spans of the lines `added` (from 0, in order): the newest of `views` that covers a line decides.
pub fn combine(views: &[Vec<Span>], added: &[Range<usize>], beside: Beside) -> Vec<Span> {
    spans_of(added.iter().cloned().flatten().map(|line| (line, owner(views, line, beside))))
}

/// Returns the owner of `line`, from 0, likewise.
pub fn owner(views: &[Vec<Span>], line: usize, beside: Beside) -> Owner {
    let mut edited: Option<(AuthorId, u8)> = None;
    let mut is_base = false;
    let over = |edited: Option<(AuthorId, u8)>, author: AuthorId| match edited {
        Some((of, share)) if of != author => Owner::Mixed { of, over: Some(author), share },
        _ => Owner::Author(author),
    };
    for view in views {
        let at = view.partition_point(|span| (span.end as usize) <= line);
        let Some(span) = view.get(at).filter(|span| span.start as usize <= line + 1) else { continue };
        match span.owner {
            Owner::Base => is_base = true,
            Owner::Author(id) if id == beside.carrier => {}
            Owner::Author(id) => return over(edited, id),
            Owner::Mixed { of, over: before, share } => {
                let is_known = of != beside.carrier;
                match before.filter(|before| *before != beside.carrier) {
                    Some(before) if is_known && edited.is_none() => {
                        return Owner::Mixed { of, over: Some(before), share };
                    }
                    Some(_) if is_known => return over(edited, of),
                    Some(before) => return over(edited.or(Some((beside.author, share))), before),
                    None if is_known && edited.is_some() => return over(edited, of),
                    None if is_known => edited = Some((of, share)),
                    None => {}
                }
            }
        }
    }
    match edited {
        Some((of, share)) => Owner::Mixed { of, over: None, share },
        None if is_base && beside.keeps_base => Owner::Base,
        None => beside.unclaimed,
    }
}

/// The deleted lines of a file according to one record.
#[derive(Clone, Debug)]
pub struct Removal {
    /// The file before the recorded commit.
    pub before: Vec<u8>,
    /// The file after it.
    pub after: Vec<u8>,
    /// How many lines each author deleted.
    pub by: Vec<(AuthorId, u32)>,
    /// How many lines were not really deleted.
    pub kept: u32,
}

/// Returns who deleted the lines `deleted` (from 0, in order) of `base`, and how many were only moved or reformatted.
///
/// `removals` come oldest first. A record counts deleted lines, but does not identify them: if it has several authors,
/// its lines are assigned to them in order.
pub fn removed(
    base: &[u8],
    deleted: &[Range<usize>],
    removals: &[Removal],
    counted: Compare<'_>,
    otherwise: AuthorId,
) -> (Vec<(AuthorId, u32)>, u32) {
    let mut left: Vec<usize> = deleted.iter().cloned().flatten().collect();
    let mut by = std::collections::BTreeMap::<AuthorId, u32>::new();
    let mut kept = 0;
    for removal in removals {
        let (to_before, gone) = (counted(base, &removal.before), counted(&removal.before, &removal.after));
        let (mut here, mut there) = (to_before.iter().peekable(), gone.iter().peekable());
        let mut shift: (usize, usize) = (0, 0);
        let mut found = 0u32;
        left.retain(|&line| {
            while let Some((old, new)) = here.next_if(|(old, _)| old.end <= line) {
                shift = (old.end, new.end);
            }
            if here.peek().is_some_and(|(old, _)| old.start <= line) {
                return true;
            }
            let image = line - shift.0 + shift.1;
            while there.next_if(|(old, _)| old.end <= image).is_some() {}
            let is_gone = there.peek().is_some_and(|(old, _)| old.start <= image);
            found += u32::from(is_gone);
            !is_gone
        });
        for (author, count) in &removal.by {
            let part = found.min(*count);
            found -= part;
            if part > 0 {
                *by.entry(*author).or_default() += part;
            }
        }
        let part = found.min(removal.kept);
        kept += part;
        if found > part {
            *by.entry(otherwise).or_default() += found - part;
        }
    }
    let rest = u32::try_from(left.len()).unwrap_or(u32::MAX);
    if rest > 0 {
        *by.entry(otherwise).or_default() += rest;
    }
    (by.into_iter().collect(), kept)
}
