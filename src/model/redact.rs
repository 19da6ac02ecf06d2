//! Replaces secrets in texts before they are stored: prompts and transcripts.
//!
//! The patterns are data, in `rules`. This module has what patterns cannot express: key blocks, and text that looks
//! random. The time is linear in the length of the text.

mod rules;

use std::sync::LazyLock;

use bstr::ByteSlice as _;
use regex::bytes::Regex;
use rules::{ENTROPY, Entropy, PATTERNS, Pattern};

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| PATTERNS.iter().map(Rule::from).collect());

/// A longer block is no key; a block without an end is replaced up to this length.
const LONGEST_KEY: usize = 64 << 10;

/// Returns `text` with each secret replaced by `[redacted <kind>]`.
pub(crate) fn redact(text: Vec<u8>) -> Vec<u8> {
    let mut found = with_a_form(&text);
    ENTROPY.find(&text, &mut found);
    if found.is_empty() {
        return text;
    }
    found.sort_by_key(|secret| (secret.start, std::cmp::Reverse(secret.end)));
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    for secret in &found {
        if secret.end <= done {
            continue;
        }
        // What overlaps was announced already.
        if secret.start >= done {
            out.extend_from_slice(&text[done..secret.start]);
            out.extend_from_slice(format!("[redacted {}]", secret.name).as_bytes());
        }
        done = secret.end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// Returns what kind of secret `text` has; none if [`redact`] would leave it as it is. Text that looks like nothing but chance counts
/// only if `is_prose`: names of files look like that, too.
pub(crate) fn kind_of_secret(text: &[u8], is_prose: bool) -> Option<&'static str> {
    let mut found = with_a_form(text);
    if is_prose {
        ENTROPY.find(text, &mut found);
    }
    found.first().map(|secret| secret.name)
}

/// Returns the secrets that are known by their form.
fn with_a_form(text: &[u8]) -> Vec<Secret> {
    let mut found = Vec::new();
    find_key_blocks(text, &mut found);
    let lower = text.to_ascii_lowercase();
    let bytes = Bytes::of(&lower);
    RULES.iter().filter(|rule| rule.may_find(&lower, &bytes)).for_each(|rule| rule.find(text, &mut found));
    found
}

/// A place in the text.
struct Secret {
    start: usize,
    end: usize,
    name: &'static str,
}

struct Rule {
    pattern: &'static Pattern,
    compiled: LazyLock<Regex, Box<dyn FnOnce() -> Regex + Send>>,
}

impl From<&'static Pattern> for Rule {
    fn from(pattern: &'static Pattern) -> Self {
        // To make all of them ready takes longer than the rest of a hook.
        let compile = || Regex::new(&format!("(?-u){}", pattern.expression)).expect("a test compiles our own patterns");
        Self { pattern, compiled: LazyLock::new(Box::new(compile)) }
    }
}

/// Knows which bytes a text has.
struct Bytes([bool; 256]);

impl Bytes {
    fn of(text: &[u8]) -> Self {
        let mut has = [false; 256];
        for byte in text {
            has[usize::from(*byte)] = true;
        }
        Self(has)
    }

    /// Returns false if the text cannot contain `word`. To look for each word takes much longer if the text is short.
    fn may_make(&self, word: &str) -> bool {
        word.bytes().all(|byte| self.0[usize::from(byte)])
    }
}

impl Rule {
    /// Returns false if a text, `lower` in lower case with these `bytes`, cannot contain a match.
    fn may_find(&self, lower: &[u8], bytes: &Bytes) -> bool {
        self.pattern.holds.iter().any(|word| bytes.may_make(word) && lower.contains_str(word))
    }

    fn find(&self, text: &[u8], found: &mut Vec<Secret>) {
        let has_group = self.compiled.captures_len() > 1;
        let mut at = 0;
        while let Some(all) = self.compiled.find_at(text, at) {
            let mut secret = all;
            if has_group {
                let captures = self.compiled.captures_at(text, all.start());
                secret = captures.and_then(|captures| captures.name("secret")).unwrap_or(all);
            }
            if !self.pattern.needs_digit || secret.as_bytes().iter().any(u8::is_ascii_digit) {
                found.push(Secret { start: secret.start(), end: secret.end(), name: self.pattern.name });
            }
            // The end of one assignment may be the beginning of the next.
            at = secret.end().max(at + 1);
        }
    }
}

/// Finds the blocks that `-----BEGIN ... PRIVATE KEY-----` begins, with line breaks as they are or escaped.
fn find_key_blocks(text: &[u8], found: &mut Vec<Secret>) {
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("(?-u)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]:")
            .expect("the pattern is constant")
    });
    static END: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("(?-u)-----END [A-Z0-9 ]{0,60}-----|Private-MAC: *[0-9a-f]*").expect("the pattern is constant")
    });
    if !["-----BEGIN ", "PuTTY-"].iter().any(|word| text.contains_str(word)) {
        return;
    }
    let mut ends = END.find_iter(text).map(|end| end.end()).peekable();
    let mut done = 0;
    for begin in BEGIN.find_iter(text) {
        if begin.start() < done {
            continue;
        }
        while ends.next_if(|end| *end <= begin.end()).is_some() {}
        let limit = text.len().min(begin.end() + LONGEST_KEY);
        let end = ends.peek().copied().filter(|end| *end <= limit).unwrap_or_else(|| {
            // Without an end, whatever may be its body: no blank inside a line.
            let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\\r\n:,-".contains(byte);
            let length = text[begin.end()..limit].iter().take_while(|byte| is_body(byte)).count();
            begin.end() + length
        });
        found.push(Secret { start: begin.start(), end, name: "private-key" });
        done = end;
    }
}

impl Entropy {
    fn find(&self, text: &[u8], found: &mut Vec<Secret>) {
        let name = self.name;
        let mut at = 0;
        while at < text.len() {
            if !is_token(text[at]) {
                at += 1;
                continue;
            }
            let length = text[at..].iter().take_while(|byte| is_token(**byte)).count();
            // The letter of an escape sequence is not part of the token.
            let start = if at > 0 && text[at - 1] == b'\\' && text[at].is_ascii_lowercase() { at + 1 } else { at };
            let end = at + length;
            if self.is_random(&text[..start], &text[start..end]) {
                found.push(Secret { start, end, name });
            }
            at = end;
        }
    }

    fn is_random(&self, before: &[u8], token: &[u8]) -> bool {
        if token.len() < self.min_length || token.len() > self.max_length {
            return false;
        }
        if self.spare_prefixes.iter().any(|prefix| token.starts_with(prefix.as_bytes()))
            || self.spare_after.iter().any(|text| before.ends_with(text.as_bytes()))
        {
            return false;
        }
        let (mut counts, mut changes, mut kinds) = ([0_u32; 256], 0_u32, [false; 4]);
        for (at, &byte) in token.iter().enumerate() {
            counts[usize::from(byte)] += 1;
            kinds[kind(byte)] = true;
            // A separator is no sign of chance: names are made of words that way.
            if at > 0 && kind(byte) != kind(token[at - 1]) && kind(byte) != OTHER && kind(token[at - 1]) != OTHER {
                changes += 1;
            }
        }
        if !kinds[..OTHER].iter().all(|is_there| *is_there) {
            return false;
        }
        let length = u32::try_from(token.len()).unwrap_or(u32::MAX);
        let repeated: f64 =
            counts.iter().filter(|count| **count > 1).map(|count| f64::from(*count) * log2(*count)).sum();
        let bits = log2(length) - repeated / f64::from(length);
        bits >= self.min_bits && f64::from(changes) / f64::from(length - 1) >= self.min_changes
    }
}

/// Returns the binary logarithm of `number`, which is not 0. `f64::log2` would be the only function of the system's mathematical
/// library that we use, and each start of the program would load that library.
fn log2(number: u32) -> f64 {
    let whole = number.ilog2();
    // The rest is from 1 to 2: each time it is squared, one more binary digit of its logarithm shows.
    let mut rest = f64::from(number) / f64::from(1_u32 << whole);
    let (mut log, mut digit) = (f64::from(whole), 0.5);
    for _ in 0..f64::MANTISSA_DIGITS {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            log += digit;
        }
        digit /= 2.0;
    }
    log
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
}

const OTHER: usize = 3;

fn kind(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests;
