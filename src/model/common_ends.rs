//! What two texts have in common at their ends.

use bstr::ByteSlice as _;

/// How many bytes are compared at a time: byte by byte would dominate a step in a long file.
const BLOCK: usize = 512;

/// Returns how many bytes at both ends are whole lines that both texts have, less `margin` lines; all are above if the texts are the
/// same.
pub(crate) fn common_ends(before: &[u8], after: &[u8], margin: usize) -> (usize, usize) {
    if before == after {
        return (before.len(), 0);
    }
    let top = common_start(before, after);
    let top = lines_up(&before[..top], margin + 1);
    let (before, after) = (&before[top..], &after[top..]);
    let bottom = common_end(before, after);
    (top, lines_down(&before[before.len() - bottom..], margin + 1))
}

/// Returns how many bytes both begin with.
pub(crate) fn common_start(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let rest = one[blocks * BLOCK..].iter().zip(&other[blocks * BLOCK..]);
    blocks * BLOCK + rest.take_while(|(a, b)| a == b).count()
}

/// Returns how many bytes both end with.
fn common_end(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - blocks * BLOCK], &other[..other.len() - blocks * BLOCK]);
    blocks * BLOCK + one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Returns the length of `text` without its last `count` lines, the last of which is a part.
fn lines_up(text: &[u8], count: usize) -> usize {
    text.rfind_iter(b"\n").nth(count - 1).map_or(0, |at| at + 1)
}

/// Returns the length of `text` without its first `count` lines, the first of which is a part.
fn lines_down(text: &[u8], count: usize) -> usize {
    text.find_iter(b"\n").nth(count - 1).map_or(0, |at| text.len() - at - 1)
}
