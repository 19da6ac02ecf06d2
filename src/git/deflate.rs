//! Zlib streams as git stores objects.

use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status};

/// Fast rather than small: git recompresses when it repacks, and users wait for a save.
const LEVEL: Compression = Compression::fast();

thread_local! {
    /// Reused, because setting up a compressor costs more than compressing a small object.
    static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(LEVEL, true));
}

/// Returns `parts`, one after the other, as one zlib stream.
pub(super) fn deflate(parts: &[&[u8]]) -> Vec<u8> {
    COMPRESS.with_borrow_mut(|compress| {
        // That writes a quarter of a megabyte, which a new one has done.
        if compress.total_out() > 0 {
            compress.reset();
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut out = Vec::with_capacity(length / 2 + 64);
        for part in parts {
            push(compress, part, FlushCompress::None, &mut out);
        }
        push(compress, &[], FlushCompress::Finish, &mut out);
        out
    })
}

/// A file with so many bytes takes one block on nearly all file systems, deflated or not.
const BLOCK: usize = 4096;
/// The two-byte header of a stream for [`LEVEL`] (RFC 1950), and the header of its only block: the last one, stored (RFC 1951).
const STORED: [u8; 3] = [0x78, 0x01, 0x01];

/// Returns `parts`, one after the other, as one zlib stream for a file of its own. If that takes one block, does not compress: to
/// set up a compressor takes longer than all the rest of a small save.
pub(super) fn deflate_for_file(parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    match u16::try_from(length) {
        Ok(short) if STORED.len() + 4 + length + 4 <= BLOCK => {
            let mut out = Vec::with_capacity(BLOCK);
            out.extend(STORED);
            out.extend(short.to_le_bytes());
            out.extend((!short).to_le_bytes());
            for part in parts {
                out.extend_from_slice(part);
            }
            let checksum = parts.iter().fold(1, |checksum, part| zlib_rs::adler32::adler32(checksum, part));
            out.extend(checksum.to_be_bytes());
            out
        }
        _ => deflate(parts),
    }
}

fn push(compress: &mut Compress, data: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
    let start = compress.total_in();
    loop {
        let taken = usize::try_from(compress.total_in() - start).expect("no more than was given");
        if flush == FlushCompress::None && taken == data.len() {
            return;
        }
        if out.capacity() == out.len() {
            out.reserve(data.len() / 2 + 64);
        }
        let status = compress.compress_vec(&data[taken..], out, flush).expect("compressing memory does not fail");
        if status == Status::StreamEnd {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{deflate, deflate_for_file};

    #[rstest::rstest]
    #[case::deflated(deflate)]
    #[case::for_a_file(deflate_for_file)]
    fn streams_come_back_as_they_were_one_after_the_other(#[case] stream_of: fn(&[&[u8]]) -> Vec<u8>) {
        let noise: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let long = vec![7; 100_000];
        let (most, more) = ([b"blob 4\0", &noise[..4078]], [b"blob 4\0", &noise[..4079]]);
        let cases: [&[&[u8]]; 8] =
            [&[], &[b"a"], &[&noise], &[b"blob 7\0", b"a\n"], &[b"head", &long, &noise], &[b""], &most, &more];
        for parts in cases {
            let stream = stream_of(parts);
            let mut back = Vec::new();
            flate2::read::ZlibDecoder::new(stream.as_slice()).read_to_end(&mut back).expect("a whole stream");
            assert!(back == parts.concat(), "{} parts", parts.len());
        }
    }
}
