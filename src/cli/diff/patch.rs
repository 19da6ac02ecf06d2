//! A file's changes as a patch that `git apply` takes.

use bstr::{BString, ByteSlice as _};

use super::super::{call::Call, output::printable, phrase};
use crate::{
    error::Result,
    model::{
        change::{Leaf, Status},
        line_diff::{Hunk, Line, Side},
    },
    ops::compare::FileDiff,
};

/// Prints how `file` changed.
pub(super) fn print(file: &FileDiff, call: &mut Call) -> Result<()> {
    if file.status == Status::TypeChanged {
        // A link that becomes a file cannot be one patch: git writes a deletion and a creation.
        print_part(file, file.before_leaf, None, call)?;
        return print_part(file, None, file.after_leaf, call);
    }
    print_part(file, file.before_leaf, file.after_leaf, call)
}

fn print_part(file: &FileDiff, before: Option<Leaf>, after: Option<Leaf>, call: &mut Call) -> Result<()> {
    let old_path = file.old_path.as_ref().unwrap_or(&file.path);
    let (old_name, new_name) = (name("a/", old_path), name("b/", &file.path));
    let mut head = vec![format!("diff --git {old_name} {new_name}")];
    match (before, after) {
        (None, Some(after)) => head.push(format!("new file mode {:06o}", after.mode.bits())),
        (Some(before), None) => head.push(format!("deleted file mode {:06o}", before.mode.bits())),
        (Some(before), Some(after)) if before.mode != after.mode => {
            head.push(format!("old mode {:06o}", before.mode.bits()));
            head.push(format!("new mode {:06o}", after.mode.bits()));
        }
        _ => {}
    }
    if file.old_path.is_some() {
        head.push(format!("rename from {}", phrase::quoted(old_path)));
        head.push(format!("rename to {}", phrase::quoted(&file.path)));
    }
    if before.map(|leaf| leaf.id) != after.map(|leaf| leaf.id) {
        head.push(index_line(before, after, call));
    }
    let old_name = if before.is_some() { old_name } else { "/dev/null".into() };
    let new_name = if after.is_some() { new_name } else { "/dev/null".into() };
    let is_shown = |line: &&Line| match line.side {
        Side::Common => true,
        Side::Deleted => before.is_some(),
        Side::Added => after.is_some(),
    };
    let hunks: Vec<&Hunk> = file.hunks.iter().filter(|hunk| hunk.lines.iter().any(|line| is_shown(&line))).collect();
    if !hunks.is_empty() {
        head.extend([format!("--- {old_name}"), format!("+++ {new_name}")]);
    } else if file.binary {
        head.push(format!("Binary files {old_name} and {new_name} differ"));
    }
    for line in head {
        let line = call.out.paint(phrase::BOLD, &line);
        call.out.line(&line)?;
    }
    for hunk in hunks {
        let header = if file.status == Status::TypeChanged { one_sided(hunk, before.is_some()) } else { hunk.header() };
        print_header(&header, call)?;
        for line in hunk.lines.iter().filter(is_shown) {
            print_line(line, call)?;
        }
    }
    Ok(())
}

fn name(prefix: &str, path: &BString) -> String {
    phrase::quoted(&BString::from([prefix.as_bytes(), path.as_slice()].concat()))
}

fn index_line(before: Option<Leaf>, after: Option<Leaf>, call: &Call) -> String {
    let none = before.or(after).map_or(0, |leaf| call.names.digits(leaf.id.kind()));
    let id = |leaf: Option<Leaf>| leaf.map_or_else(|| "0".repeat(none), |leaf| call.names.id(&leaf.id));
    let mode = match (before, after) {
        (Some(before), Some(after)) if before.mode == after.mode => format!(" {:06o}", before.mode.bits()),
        _ => String::new(),
    };
    format!("index {}..{}{mode}", id(before), id(after))
}

/// The header of one half of a type change.
fn one_sided(hunk: &Hunk, is_old: bool) -> BString {
    let empty = 0..0;
    let (old, new) = if is_old { (hunk.old.clone(), empty) } else { (empty, hunk.new.clone()) };
    Hunk { old, new, section: BString::default(), lines: Vec::new() }.header()
}

fn print_header(header: &BString, call: &mut Call) -> Result<()> {
    let end = header.find("@@".as_bytes()).and_then(|at| header[at + 2..].find("@@").map(|end| at + end + 4));
    let (range, section) = header.split_at(end.unwrap_or(header.len()));
    let range = call.out.paint(phrase::MARK, &range.to_str_lossy());
    call.out.text(&range)?;
    print_content(section, call)?;
    call.out.bytes(b"\n")
}

fn print_line(line: &Line, call: &mut Call) -> Result<()> {
    let (sign, style) = match line.side {
        Side::Common => (" ", anstyle::Style::new()),
        Side::Deleted => ("-", phrase::OLD),
        Side::Added => ("+", phrase::NEW),
    };
    let (on, off) = if line.side == Side::Common { (String::new(), String::new()) } else { call.out.around(style) };
    call.out.text(&on)?;
    call.out.text(sign)?;
    let mut from = 0;
    for range in &line.emphasis {
        print_content(&line.content[from..range.start], call)?;
        let (strong, weak) = call.out.around(style.invert());
        call.out.text(&strong)?;
        print_content(&line.content[range.clone()], call)?;
        call.out.text(&weak)?;
        call.out.text(&on)?;
        from = range.end;
    }
    print_content(&line.content[from..], call)?;
    call.out.text(&off)?;
    call.out.bytes(b"\n")?;
    if line.is_terminated { Ok(()) } else { call.out.line("\\ No newline at end of file") }
}

/// Bytes of a file: as they are for programs, harmless on a terminal.
fn print_content(bytes: &[u8], call: &mut Call) -> Result<()> {
    if !call.out.is_terminal() {
        return call.out.bytes(bytes);
    }
    let mut parts = bytes.split(|&byte| byte == b'\t');
    call.out.text(&printable(parts.next().unwrap_or_default()))?;
    for part in parts {
        call.out.text("\t")?;
        call.out.text(&printable(part))?;
    }
    Ok(())
}
