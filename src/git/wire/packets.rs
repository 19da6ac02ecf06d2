//! Listens to the packets that the other side sends, for what it says to people in them, and takes the packets *response-end* out of
//! what git's program for HTTP sends.
//!
//! The former are those of the bands 2 and 3 (gitprotocol-pack(5)), beside the pack: why there is none, for example. The latter say where the answer to one request ends (gitprotocol-v2(5), `0002`). Gix knows that from the flush packet before, and takes
//! them for the beginning of the next answer. Without such a flush packet, the answer is incomplete: no more of it comes, and gix
//! would wait for ever.

use std::{
    cell::RefCell,
    io::{self, Read},
    rc::Rc,
};

/// The four digits before each packet: the length of the packet with them, or one of three marks.
const DIGITS: usize = 4;
const FLUSH: &[u8; DIGITS] = b"0000";
const RESPONSE_END: &[u8; DIGITS] = b"0002";

/// How much is kept of what the other side says to people.
const MOST_HEARD: usize = 1 << 14;
/// More bytes than this in packets without a pack are no answer.
const MOST_TEXT: u64 = 1 << 27;

/// What the other side has said to people so far: its last words.
pub(super) type Heard = Rc<RefCell<Vec<u8>>>;

/// What is in a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Band {
    /// It is not known yet.
    Unknown,
    /// A part of a pack.
    Pack,
    /// Words for people.
    Words,
    /// A line of the protocol.
    Line,
}

/// Reads packet lines (gitprotocol-common(5)) from `inner`.
pub(super) struct Packets<R> {
    inner: R,
    heard: Heard,
    band: Band,
    /// How many bytes the lines of the protocol had.
    text: u64,
    /// The digits of the last packet, and how many of them are still to be given on.
    digits: [u8; DIGITS],
    digits_left: usize,
    /// How much of the packet is still to be read.
    rest: usize,
}

impl<R: Read> Packets<R> {
    pub(super) fn new(inner: R, heard: Heard) -> Self {
        Self { inner, heard, band: Band::Unknown, text: 0, digits: [0; DIGITS], digits_left: 0, rest: 0 }
    }

    /// Notes what `data`, the next part of a packet, says to people.
    fn listen(&mut self, data: &[u8]) -> io::Result<()> {
        let Some((first, rest)) = data.split_first() else { return Ok(()) };
        let mut data = data;
        if self.band == Band::Unknown {
            self.band = match first {
                1 => Band::Pack,
                2 | 3 => Band::Words,
                _ => Band::Line,
            };
            data = rest;
        }
        match self.band {
            Band::Words => {
                let mut heard = self.heard.borrow_mut();
                heard.extend_from_slice(data);
                let surplus = heard.len().saturating_sub(MOST_HEARD);
                heard.drain(..surplus);
            }
            Band::Line => self.text = self.text.saturating_add(data.len() as u64),
            Band::Unknown | Band::Pack => {}
        }
        if self.text > MOST_TEXT {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer has no end"));
        }
        Ok(())
    }

    /// Reads the next length; false at the end of the input.
    fn begin_packet(&mut self) -> io::Result<bool> {
        loop {
            let mut digits = [0; DIGITS];
            let mut length = 0;
            while length < DIGITS {
                match self.inner.read(&mut digits[length..])? {
                    0 if length == 0 => return Ok(false),
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    more => length += more,
                }
            }
            if digits == *RESPONSE_END {
                // The digits of the packet before are still here.
                if self.digits == *FLUSH {
                    continue;
                }
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the answer is incomplete"));
            }
            let length = std::str::from_utf8(&digits).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
            let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a packet line"))?;
            // The marks are shorter than their digits.
            (self.digits, self.digits_left, self.rest) = (digits, DIGITS, length.saturating_sub(DIGITS));
            self.band = Band::Unknown;
            return Ok(true);
        }
    }
}

impl<R: Read> Read for Packets<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.digits_left == 0 && self.rest == 0 && !self.begin_packet()? {
            return Ok(0);
        }
        if self.digits_left > 0 {
            let given = self.digits_left.min(buffer.len());
            let start = DIGITS - self.digits_left;
            buffer[..given].copy_from_slice(&self.digits[start..start + given]);
            self.digits_left -= given;
            return Ok(given);
        }
        let wanted = self.rest.min(buffer.len());
        match self.inner.read(&mut buffer[..wanted])? {
            0 if wanted > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.rest -= read;
                self.listen(&buffer[..read])?;
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }

    #[rstest::rstest]
    #[case::only_data(b"0006ab0000", b"0006ab0000")]
    #[case::between_answers(b"0006ab000000020006cd00000002", b"0006ab00000006cd0000")]
    #[case::delimiter_stays(b"00010006xy0000", b"00010006xy0000")]
    #[case::looks_like_one(b"00080002", b"00080002")]
    #[case::nothing(b"", b"")]
    fn response_ends_are_left_out(#[case] input: &[u8], #[case] expected: &[u8]) {
        let mut whole = Vec::new();
        let read = Packets::new(input, Heard::default()).read_to_end(&mut whole);
        let mut slowly = Vec::new();
        let read_slowly = Packets::new(Slow(input), Heard::default()).read_to_end(&mut slowly);
        read.and(read_slowly).expect("read");
        assert_eq!((whole.as_slice(), slowly.as_slice()), (expected, expected));
    }

    #[rstest::rstest]
    #[case::answer_without_flush(b"0006ab0002")]
    #[case::no_answer(b"0002")]
    #[case::cut_in_data(b"0009he")]
    #[case::cut_in_digits(b"00")]
    #[case::no_digits(b"xyz!")]
    fn what_is_cut_is_an_error(#[case] input: &[u8]) {
        Packets::new(input, Heard::default()).read_to_end(&mut Vec::new()).expect_err("incomplete");
    }

    #[test]
    fn words_for_people_are_heard() {
        let input = b"000dpackfile\n0009\x01PACK000a\x02fatal0009\x03: x\n0000";
        let heard = Heard::default();
        Packets::new(Slow(input), Rc::clone(&heard)).read_to_end(&mut Vec::new()).expect("read");
        assert_eq!(heard.borrow().as_slice(), b"fatal: x\n");
    }

    #[test]
    fn only_the_last_words_are_kept_and_lines_end() {
        let heard = Heard::default();
        let words = [b"fff0\x02".as_slice(), &vec![b'x'; 0xffef - 4]].concat().repeat(3);
        Packets::new(words.as_slice(), Rc::clone(&heard)).read_to_end(&mut Vec::new()).expect("read");
        assert_eq!(heard.borrow().len(), MOST_HEARD);
        let lines = [b"fff0".as_slice(), &vec![b'x'; 0xfff0 - 4]].concat().repeat(2_100);
        Packets::new(lines.as_slice(), heard).read_to_end(&mut Vec::new()).expect_err("it has no end");
    }
}
