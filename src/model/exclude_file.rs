//! Our lines in git's file `info/exclude` (gitignore(5)): adds them, and takes them out so that the bytes of others stay.
//!
//! They stand below a comment, whose words also say what the file was before: so nothing else has to be remembered. The folders of
//! rounds stand below a comment of their own, and stay.

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};

/// What all of our comments begin with.
const COMMENT: &str = "# git-checkpoint: files of coding agents; 'git checkpoint disable' removes these lines";

/// What the folders of rounds stand below.
const FOLDERS: &str = "# git-checkpoint: folders of rounds, which are in no commit and no checkpoint";

/// What was there before our comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// An empty file, or a line with its line break.
    Ended,
    /// A line without line break: one was added.
    Unended,
    /// No file.
    NoFile,
    /// No file, and no directory for it.
    NoDirectory,
}

const ALL: [Before; 4] = [Before::Ended, Before::Unended, Before::NoFile, Before::NoDirectory];

impl Before {
    fn comment(self) -> String {
        let more = match self {
            Self::Ended => "",
            Self::Unended => ", and the line break before them",
            Self::NoFile => ", and this file",
            Self::NoDirectory => ", and this file with its directory",
        };
        format!("{COMMENT}{more}")
    }
}

/// What is left of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is as it was: none of our lines is in it.
    Same,
    /// This text.
    Text(Vec<u8>),
    /// Nothing: the file was made for our lines, and so was its directory, if that is true.
    Nothing {
        /// True if the directory was made, too.
        with_directory: bool,
    },
}

/// Returns the line that lets git ignore the file `path`, relative to the worktree; none if no line can say it.
pub(crate) fn line_for(path: &BStr) -> Option<BString> {
    if path.is_empty() || path.find_byteset(b"\n\r\0").is_some() {
        return None;
    }
    let mut line = BString::from("/");
    for (at, byte) in path.bytes().enumerate() {
        let is_last_blank = byte == b' ' && at + 1 == path.len();
        if is_last_blank || br"\*?[".contains(&byte) {
            line.push_byte(b'\\');
        }
        line.push_byte(byte);
    }
    Some(line)
}

/// Returns the file `text` with `line`; none if it is among our lines already. Without a text there is no file yet, and
/// `has_directory` says whether its directory exists.
pub(crate) fn with(text: Option<&[u8]>, has_directory: bool, line: &BStr) -> Option<Vec<u8>> {
    let old = text.unwrap_or_default();
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    if let Some((at, _)) = comment(&lines) {
        if run(&lines, at).any(|ours| content(ours) == line.as_bytes()) {
            return None;
        }
        let end = ending(lines[at]).unwrap_or("\n");
        let head = lines[..at].concat();
        let new = [content(lines[at]), end.as_bytes(), line, end.as_bytes()].concat();
        return Some([head, new, lines[at + 1..].concat()].concat());
    }
    let before = match (text, lines.last()) {
        (None, _) if has_directory => Before::NoFile,
        (None, _) => Before::NoDirectory,
        (Some(_), Some(last)) if ending(last).is_none() => Before::Unended,
        _ => Before::Ended,
    };
    let end = lines.iter().find_map(|line| ending(line)).unwrap_or("\n");
    let first = if before == Before::Unended { end } else { "" };
    let comment = before.comment();
    Some([old, first.as_bytes(), comment.as_bytes(), end.as_bytes(), line, end.as_bytes()].concat())
}

/// Returns the line that lets git ignore the folder `path`, relative to the worktree; none if no line can say it.
pub(crate) fn line_for_folder(path: &BStr) -> Option<BString> {
    let mut line = line_for(path)?;
    line.push_byte(b'/');
    Some(line)
}

/// Returns the file `text` with those of `lines` that are not among those of rounds; none if all are.
pub(crate) fn with_folders(text: Option<&[u8]>, lines: &[BString]) -> Option<Vec<u8>> {
    let old = text.unwrap_or_default();
    let all: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let at = all.iter().position(|line| content(line) == FOLDERS.as_bytes());
    let mut new: Vec<&BString> = Vec::new();
    for line in lines {
        let is_there = at.is_some_and(|at| run(&all, at).any(|ours| content(ours) == line.as_bytes()));
        if !is_there && !new.contains(&line) {
            new.push(line);
        }
    }
    if new.is_empty() {
        return None;
    }
    let end = all.iter().find_map(|line| ending(line)).unwrap_or("\n").as_bytes();
    let before = at.map_or_else(|| all.concat(), |at| all[..=at].concat());
    let is_ended = before.is_empty() || before.ends_with(b"\n");
    let mut text = [before.as_slice(), if is_ended { b"" } else { end }].concat();
    if at.is_none() {
        text.extend([FOLDERS.as_bytes(), end].concat());
    }
    for line in new {
        text.extend([line.as_bytes(), end].concat());
    }
    text.extend(at.map_or_else(Vec::new, |at| all[at + 1..].concat()));
    Some(text)
}

/// Returns what is left of the file `text` without our line `line`. The comment goes with the last of our lines; `is_ours`
/// says which of the lines below it are.
pub(crate) fn without(text: &[u8], line: &BStr, is_ours: impl Fn(&BStr) -> bool) -> Rest {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let Some((at, before)) = comment(&lines) else { return Rest::Same };
    let found = run(&lines, at).position(|ours| content(ours) == line.as_bytes());
    if let Some(found) = found {
        lines.remove(at + 1 + found);
    }
    let has_more = run(&lines, at).any(|ours| content(ours) != line.as_bytes() && is_ours(content(ours).as_bstr()));
    if has_more {
        return if found.is_some() { Rest::Text(lines.concat()) } else { Rest::Same };
    }
    let end = ending(lines.remove(at));
    let mut rest = lines.concat();
    match before {
        Before::Unended if at == lines.len() => {
            let cut = end.filter(|end| rest.ends_with(end.as_bytes())).map_or(0, str::len);
            rest.truncate(rest.len() - cut);
        }
        Before::NoFile | Before::NoDirectory if rest.is_empty() => {
            return Rest::Nothing { with_directory: before == Before::NoDirectory };
        }
        _ => {}
    }
    Rest::Text(rest)
}

/// Returns where our comment is.
fn comment(lines: &[&[u8]]) -> Option<(usize, Before)> {
    let comments = ALL.map(|before| (before, before.comment()));
    lines.iter().enumerate().find_map(|(at, line)| {
        let is_it = |(_, comment): &&(Before, String)| content(line) == comment.as_bytes();
        Some((at, comments.iter().find(is_it)?.0))
    })
}

/// Returns the lines below our comment, which is at `at`, up to a blank line or another comment.
fn run<'l, 't>(lines: &'l [&'t [u8]], at: usize) -> impl Iterator<Item = &'t [u8]> + use<'l, 't> {
    let is_pattern = |line: &&[u8]| !content(line).is_empty() && !line.starts_with(b"#");
    lines[at + 1..].iter().copied().take_while(is_pattern)
}

/// Returns `line` without its line break.
fn content(line: &[u8]) -> &[u8] {
    ending(line).map_or(line, |end| &line[..line.len() - end.len()])
}

/// Returns the line break of `line`.
fn ending(line: &[u8]) -> Option<&'static str> {
    ["\r\n", "\n"].into_iter().find(|end| line.ends_with(end.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "/.claude/settings.local.json";

    fn text_of(rest: Rest) -> Vec<u8> {
        let Rest::Text(text) = rest else { panic!("{rest:?}") };
        text
    }

    #[rstest::rstest]
    #[case::empty(b"")]
    #[case::lines(b"# mine\n*.o\n")]
    #[case::no_final_line_break(b"*.o\n*.a")]
    #[case::crlf(b"*.o\r\n*.a\r\n")]
    #[case::crlf_without_the_last(b"*.o\r\n*.a")]
    #[case::a_lone_cr(b"*.o\r")]
    #[case::blank_lines(b"\n\n")]
    #[case::no_utf8(b"\xff\xfe\n")]
    #[case::its_own_line(b"/.claude/settings.local.json\n")]
    fn what_was_there_comes_back(#[case] old: &[u8]) {
        let two = "/conf/x";
        let once = with(Some(old), true, LINE.into()).expect("it is new");
        assert!(once.starts_with(old) && once.lines().any(|line| line == LINE.as_bytes()), "{}", once.as_bstr());
        assert_eq!(once[old.len()..].contains_str("\r\n"), old.contains_str("\r\n"), "its own line breaks");
        assert_eq!(with(Some(&once), true, LINE.into()), None, "twice is once");
        let both = with(Some(&once), true, two.into()).expect("it is new");
        let is_ours = |line: &BStr| line == two || line == LINE;
        assert_eq!(without(&both, two.into(), is_ours), Rest::Text(once.clone()));
        assert_eq!(without(&once, LINE.into(), is_ours), Rest::Text(old.to_vec()));
        assert_eq!(without(&once, two.into(), is_ours), Rest::Same, "another line of ours is left");
        assert_eq!(without(old, LINE.into(), is_ours), Rest::Same);
    }

    #[test]
    fn what_the_user_adds_stays() {
        let is_ours = |line: &BStr| line == LINE;
        let with = with(Some(b"*.o"), true, LINE.into()).expect("it is new");
        let more = [with.as_slice(), b"mine\n"].concat();
        assert_eq!(text_of(without(&more, LINE.into(), is_ours)), b"*.o\nmine\n");
        let same = [with.as_slice(), b"\n", LINE.as_bytes(), b"\n"].concat();
        assert_eq!(text_of(without(&same, LINE.into(), is_ours)).as_bstr(), format!("*.o\n\n{LINE}\n"));
        let made = super::with(None, true, LINE.into()).expect("it is new");
        let more = [made.as_slice(), b"mine"].concat();
        assert_eq!(text_of(without(&more, LINE.into(), is_ours)), b"mine");
    }

    #[test]
    fn a_file_that_was_made_goes() {
        for with_directory in [false, true] {
            let made = with(None, !with_directory, LINE.into()).expect("it is new");
            assert_eq!(without(&made, LINE.into(), |_| false), Rest::Nothing { with_directory });
        }
    }

    #[rstest::rstest]
    #[case::no_file(None)]
    #[case::lines(Some(b"# mine\n*.o\n".as_slice()))]
    #[case::no_final_line_break(Some(b"*.o\n*.a".as_slice()))]
    #[case::crlf(Some(b"*.o\r\n*.a\r\n".as_slice()))]
    #[case::no_utf8(Some(b"\xff\n".as_slice()))]
    fn folders_of_rounds_stand_apart(#[case] old: Option<&[u8]>) {
        let [one, two, three] = ["/.one/", "/two/", "/.three/"].map(BString::from);
        let first = with_folders(old, &[one.clone(), two.clone(), one.clone()]).expect("they are new");
        assert!(first.starts_with(old.unwrap_or_default()));
        assert_eq!(with_folders(Some(&first), &[two.clone(), one.clone()]), None, "twice is once");
        let all = with_folders(Some(&first), &[one.clone(), three.clone()]).expect("one is new");
        let lines: Vec<BString> = all.lines().map(BString::from).collect();
        for line in [one, two, three] {
            assert_eq!(lines.iter().filter(|it| **it == line).count(), 1, "{lines:?}");
        }
        // The lines for the files of agents come and go, and leave these alone.
        let both = with(Some(&all), true, LINE.into()).expect("it is new");
        assert_eq!(with_folders(Some(&both), &["/two/".into()]), None);
        assert_eq!(text_of(without(&both, LINE.into(), |_| false)), all);
        let made = with(None, true, LINE.into()).expect("it is new");
        let more = with_folders(Some(&made), &["/two/".into()]).expect("it is new");
        assert!(matches!(without(&more, LINE.into(), |_| false), Rest::Text(rest) if rest.contains_str("/two/")));
    }

    #[test]
    fn a_comment_without_lines_goes() {
        let text = format!("*.o\n{COMMENT}");
        assert_eq!(text_of(without(text.as_bytes(), LINE.into(), |_| false)), b"*.o\n");
        let text = with(Some(text.as_bytes()), true, LINE.into()).expect("it is new");
        assert_eq!(text.as_bstr(), format!("*.o\n{COMMENT}\n{LINE}\n"));
    }

    #[rstest::rstest]
    #[case::plain(".claude/x.json", Some("/.claude/x.json"))]
    #[case::patterns("a*b?[c]/x", Some(r"/a\*b\?\[c]/x"))]
    #[case::backslash(r"a\b", Some(r"/a\\b"))]
    #[case::comment("#a", Some("/#a"))]
    #[case::final_blank("a ", Some(r"/a\ "))]
    #[case::line_break("a\nb", None)]
    #[case::nothing("", None)]
    fn lines_name_one_file(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(line_for(path.into()), expected.map(BString::from));
        assert_eq!(line_for_folder(path.into()), expected.map(|line| format!("{line}/").into()));
    }
}
