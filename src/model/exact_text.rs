//! Text about which the user decides, such as a command of the project: what is shown stands for no other text.
//!
//! `path_text::printable` is for paths and sentences, which people read: there, a backslash is just one, and characters that look
//! like others, or like none, stay. Here, each backslash is doubled, so that one backslash begins an escape, and all that is not
//! ASCII is one: of other characters, fonts and terminals decide whether they can be seen, apart from others, and in which order.

/// How many characters of a text a sentence has.
const LONGEST: usize = 300;

/// Returns `text` in one line, in ASCII.
pub(crate) fn exact(text: &str) -> String {
    pieces(text).concat()
}

/// Returns the beginning of `text` in one line, and how many characters follow, if some do.
pub(crate) fn exact_start(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}\\{{{} more characters}}", exact(&text[..end]), text[end..].chars().count()),
        None => exact(text),
    }
}

/// Returns `text` in rows of at most `room` columns. A line of it begins a row.
pub(crate) fn exact_rows(text: &str, room: usize) -> Vec<String> {
    let (mut rows, mut used, mut is_ended, mut is_after_blank) = (vec![String::new()], 0, false, false);
    let mut pieces = pieces(text).into_iter().peekable();
    while let Some(piece) = pieces.next() {
        // A blank at the end of a row would not be seen: what follows it is in its row, even if that is too long.
        let is_blank = piece == " ";
        let next = if is_blank { pieces.peek().map_or(0, String::len) } else { 0 };
        let needed = piece.len();
        if is_ended || used > 0 && !is_after_blank && used + needed + next > room {
            rows.push(String::new());
            used = 0;
        }
        (is_ended, is_after_blank) = (piece == "\\n", is_blank);
        used += needed;
        rows.last_mut().expect("there is always one").push_str(&piece);
    }
    rows
}

/// Returns what stands for the characters of `text`, each whole in a row. One blank between two others is itself.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.chars().peekable();
    let mut is_start = true;
    while let Some(c) = rest.next() {
        if c != ' ' {
            pieces.push(escaped(c).unwrap_or_else(|| c.to_string()));
            is_start = c == '\n';
            continue;
        }
        let mut count = 1;
        while rest.next_if_eq(&' ').is_some() {
            count += 1;
        }
        let is_end = rest.peek().is_none_or(|next| *next == '\n');
        pieces.push(match count {
            1 if !is_start && !is_end => " ".to_owned(),
            1 => "\\{1 blank}".to_owned(),
            count => format!("\\{{{count} blanks}}"),
        });
        is_start = false;
    }
    if pieces.is_empty() { vec!["\\{empty}".to_owned()] } else { pieces }
}

/// Returns the escape of `c`; none if it is shown as it is.
fn escaped(c: char) -> Option<String> {
    match c {
        '\\' => Some("\\\\".to_owned()),
        ' '..='~' => None,
        c => Some(c.escape_default().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("npm ci && echo 'a' \"b\" >x; ~!@#%^*()[]?", "npm ci && echo 'a' \"b\" >x; ~!@#%^*()[]?")]
    #[case::letters("für 日本", r"f\u{fc}r \u{65e5}\u{672c}")]
    #[case::right_to_left("true: \u{5d0}; ./1 # \u{5d1}\u{627}", r"true: \u{5d0}; ./1 # \u{5d1}\u{627}")]
    #[case::rare_blanks("\u{1d159}\u{13441}\u{13442}", r"\u{1d159}\u{13441}\u{13442}")]
    #[case::look_alikes("\u{37e}\u{1c0}\u{1c3}\u{430}\u{ff41}", r"\u{37e}\u{1c0}\u{1c3}\u{430}\u{ff41}")]
    #[case::in_two_ways("\u{d55c}\u{1112}\u{1161}\u{11ab}", r"\u{d55c}\u{1112}\u{1161}\u{11ab}")]
    #[case::a_control_of_8_bits("\u{db}\u{9b}", r"\u{db}\u{9b}")]
    #[case::empty("", r"\{empty}")]
    #[case::a_line("a\nrm b", r"a\nrm b")]
    #[case::a_backslash(r"a\nrm b", r"a\\nrm b")]
    #[case::an_escape_of_ours(r"a\{2 blanks}b", r"a\\{2 blanks}b")]
    #[case::blanks("a b  c", r"a b\{2 blanks}c")]
    #[case::blanks_at_ends(" a ", r"\{1 blank}a\{1 blank}")]
    #[case::blanks_at_line_ends("a \n b", r"a\{1 blank}\n\{1 blank}b")]
    #[case::controls("\u{1b}[2K\r\t\u{9b}\0", r"\u{1b}[2K\r\t\u{9b}\u{0}")]
    #[case::bidi("\u{202e}\u{2066}\u{200f}\u{61c}", r"\u{202e}\u{2066}\u{200f}\u{61c}")]
    #[case::no_width("\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}\u{34f}", r"\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}\u{34f}")]
    #[case::separators("\u{a0}\u{2003}\u{2028}\u{2029}\u{3000}", r"\u{a0}\u{2003}\u{2028}\u{2029}\u{3000}")]
    #[case::fillers("\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800}", r"\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800}")]
    #[case::selectors_and_tags("\u{fe0f}\u{e0100}\u{e0041}", r"\u{fe0f}\u{e0100}\u{e0041}")]
    #[case::marks("e\u{301}\u{20dd}", r"e\u{301}\u{20dd}")]
    #[case::private_and_not_assigned("\u{e0a0}\u{378}\u{10ffff}", r"\u{e0a0}\u{378}\u{10ffff}")]
    fn what_cannot_be_seen_is_an_escape(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(exact(text), expected);
        assert_eq!(exact_start(text), expected);
    }

    #[rstest]
    #[case::short("ab c", 10, &["ab c"])]
    #[case::a_row_more("abcdef", 4, &["abcd", "ef"])]
    #[case::no_blank_at_the_end("abc def", 4, &["abc", " def"])]
    #[case::lines("a\nb\n", 10, &[r"a\n", r"b\n"])]
    #[case::an_escape_is_whole("abc\u{200b}", 9, &["abc", r"\u{200b}"])]
    #[case::letters("日本語", 16, &[r"\u{65e5}\u{672c}", r"\u{8a9e}"])]
    #[case::no_room("ab", 0, &["a", "b"])]
    #[case::no_room_for_a_blank("! \u{200b}b", 1, &["!", r" \u{200b}", "b"])]
    fn rows_fit(#[case] text: &str, #[case] room: usize, #[case] expected: &[&str]) {
        assert_eq!(exact_rows(text, room), expected);
    }

    #[test]
    fn of_a_long_text_the_beginning_is_shown() {
        let text = "x".repeat(LONGEST) + "\n\u{200b}";
        assert_eq!(exact_start(&text), "x".repeat(LONGEST) + r"\{2 more characters}");
        assert_eq!(exact_start(&text[..LONGEST]), text[..LONGEST]);
        let blanks = " ".repeat(LONGEST * 2) + "rm";
        assert_eq!(exact_start(&blanks), format!(r"\{{{LONGEST} blanks}}\{{{} more characters}}", LONGEST + 2));
    }

    /// Reads what is shown as a person would.
    fn read(shown: &str) -> String {
        let (mut out, mut rest) = (String::new(), shown);
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            if c != '\\' {
                out.push(c);
                continue;
            }
            let kind = rest.chars().next().expect("an escape has a kind");
            rest = &rest[1..];
            match kind {
                '\\' => out.push('\\'),
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '{' if rest.starts_with("empty}") => rest = &rest["empty}".len()..],
                kind => {
                    let (inside, after) = rest.split_once('}').expect("it ends");
                    rest = after;
                    if kind == '{' {
                        let count = inside.split_once(' ').expect("a count").0.parse().expect("a number");
                        out.push_str(&" ".repeat(count));
                    } else {
                        let code = u32::from_str_radix(&inside[1..], 16).expect("hexadecimal");
                        out.push(char::from_u32(code).expect("a character"));
                    }
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn each_text_is_shown_in_its_own_way(text in "([ -~]|\\PC|.|\n| | \\\\|[\u{200b}\u{2800}\\\\ {}nu1]){0,40}", room in 0_usize..50) {
            prop_assert_eq!(read(&exact(&text)), text.clone());
            prop_assert!(exact(&text).bytes().all(|byte| matches!(byte, b' '..=b'~')));
            prop_assert_eq!(exact_rows(&text, room).concat(), exact(&text));
            prop_assert!(exact_rows(&text, room).iter().all(|row| !row.ends_with(' ')));
        }
    }
}
