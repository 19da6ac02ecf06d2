//! Deltas between versions of a file or tree, as packs have them: gitformat-pack(5).

#![expect(clippy::cast_possible_truncation, reason = "the format takes numbers apart into bytes")]

/// Returns a delta that makes `target` from `base`: it copies their common beginning and end, and inserts the rest.
///
/// Versions of a file or tree mostly differ in one place. For those, no delta is smaller.
pub(super) fn delta(base: &[u8], target: &[u8]) -> Vec<u8> {
    let start = base.iter().zip(target).take_while(|(a, b)| a == b).count();
    let most = base.len().min(target.len()) - start;
    let end = base.iter().rev().zip(target.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let mut out = Vec::new();
    size_varint(&mut out, base.len());
    size_varint(&mut out, target.len());
    copy(&mut out, 0, start);
    for piece in target[start..target.len() - end].chunks(127) {
        out.push(piece.len() as u8);
        out.extend_from_slice(piece);
    }
    copy(&mut out, base.len() - end, end);
    out
}

fn size_varint(out: &mut Vec<u8>, mut size: usize) {
    while size >= 0x80 {
        out.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
}

/// Copy instructions: a flag for each byte of offset (4) and length (3) that is not zero.
fn copy(out: &mut Vec<u8>, mut offset: usize, mut length: usize) {
    const LONGEST: usize = 0xff_ffff;
    while length > 0 {
        let piece = length.min(LONGEST);
        let at = out.len();
        out.push(0x80);
        for (bit, byte) in
            (offset as u32).to_le_bytes().into_iter().chain((piece as u32).to_le_bytes()).take(7).enumerate()
        {
            if byte != 0 {
                out[at] |= 1 << bit;
                out.push(byte);
            }
        }
        offset += piece;
        length -= piece;
    }
}

#[cfg(test)]
pub(super) use tests::apply as applied;

#[cfg(test)]
mod tests {
    use super::*;

    /// What git does with a delta, gitformat-pack(5).
    pub(in crate::git) fn apply(base: &[u8], delta: &[u8]) -> Vec<u8> {
        let mut at = 0;
        let mut byte = || {
            at += 1;
            delta.get(at - 1).copied()
        };
        let mut size = || {
            let (mut value, mut shift) = (0usize, 0);
            loop {
                let next = byte().expect("a size");
                value |= usize::from(next & 0x7f) << shift;
                shift += 7;
                if next & 0x80 == 0 {
                    return value;
                }
            }
        };
        assert_eq!(size(), base.len());
        let target_size = size();
        let mut out = Vec::new();
        while let Some(code) = byte() {
            if code & 0x80 == 0 {
                out.extend((0..code).map(|_| byte().expect("inserted bytes")));
                continue;
            }
            let mut field = |bits: std::ops::Range<u8>| {
                let start = bits.start;
                bits.filter(|bit| code & (1 << bit) != 0)
                    .map(|bit| usize::from(byte().expect("a field")) << (8 * (bit - start)))
                    .sum::<usize>()
            };
            let (offset, length) = (field(0..4), field(4..7));
            out.extend_from_slice(&base[offset..offset + length]);
        }
        assert_eq!(out.len(), target_size);
        out
    }

    #[rstest::rstest]
    #[case::equal("same", "same")]
    #[case::middle("aaa-old-zzz", "aaa-newer-zzz")]
    #[case::grows("abab", "ababab")]
    #[case::shrinks("ababab", "abab")]
    #[case::unrelated("abc", "xyz")]
    #[case::empty_target("abc", "")]
    #[case::empty_base("", "abc")]
    fn a_delta_makes_the_target(#[case] base: &str, #[case] target: &str) {
        assert_eq!(apply(base.as_bytes(), &delta(base.as_bytes(), target.as_bytes())), target.as_bytes());
    }

    #[test]
    fn long_copies_and_insertions_are_split() {
        let base = vec![7; 40_000_000];
        let mut target = base.clone();
        target.splice(20_000_000..20_000_000, vec![9; 1000]);
        assert!(apply(&base, &delta(&base, &target)) == target);
    }
}
