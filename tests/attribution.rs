//! The sums of an attribution are those of `git diff --numstat`, on histories from nowhere.

use std::collections::BTreeMap;

use git_checkpoint::testing::{
    git::line_edits::{Algorithm, counted_edits, step_edits},
    model::attribution::{AuthorId, Change, Committed, Content, Differ, FileOwnership, Owner, Replay},
};

use crate::support::{World, dice::Dice};

const FILES: usize = 300;
const STEPS: usize = 5;

/// Code that somebody writes and changes.
struct Code(Dice);

impl Code {
    fn roll(&mut self, sides: usize) -> usize {
        self.0.roll(sides)
    }

    fn line(&mut self) -> String {
        let common = ["}\n", "\n", "  return nil;\n", "fn a() {\n", "  let x = 1;\n", "  let y = x;\n"];
        match self.roll(3) {
            0 => format!("  call({}, {});\n", self.roll(50), self.roll(50)),
            _ => common[self.roll(common.len())].to_owned(),
        }
    }

    fn lines(&mut self, most: usize) -> Vec<String> {
        (0..self.roll(most)).map(|_| self.line()).collect()
    }

    /// Deletes, inserts, moves and formats.
    fn edit(&mut self, lines: &mut Vec<String>) {
        for _ in 0..self.roll(5) {
            let start = self.roll(lines.len() + 1);
            let end = (start + self.roll(6)).min(lines.len());
            match self.roll(4) {
                0 => lines[start..end].iter_mut().for_each(|line| *line = line.replace(' ', "\t")),
                1 => {
                    let block: Vec<String> = lines.drain(start..end).collect();
                    let to = self.roll(lines.len() + 1);
                    lines.splice(to..to, block);
                }
                _ => {
                    let new = self.lines(6);
                    lines.splice(start..end, new);
                }
            }
        }
        if self.roll(20) == 0 {
            for line in &mut *lines {
                *line = line.replace('\n', "\r\n");
            }
        }
    }
}

fn text(lines: &[String]) -> Vec<u8> {
    lines.concat().trim_end_matches("\r\n").as_bytes().to_vec()
}

#[test]
fn added_and_deleted_lines_are_those_that_git_counts() {
    let world = World::new();
    world.git(&["init", "-q"]);
    world.git(&["config", "core.autocrlf", "false"]);
    let mut code = Code(Dice(7));
    let mut histories: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for number in 0..FILES {
        let most = if number % 10 == 0 { 600 } else { 60 };
        let mut lines = code.lines(most);
        let mut versions = vec![text(&lines)];
        for _ in 0..STEPS {
            code.edit(&mut lines);
            versions.push(text(&lines));
        }
        histories.insert(format!("f{number}"), versions);
    }
    for (at, message) in [(0, "before"), (STEPS, "after")] {
        for (path, versions) in &histories {
            std::fs::write(world.repo().join(path), &versions[at]).expect("a file can be written");
        }
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", message]);
    }
    // The default: the others of the library are not git's to the line.
    let printed = world.git(&["diff", "--numstat", "--no-renames", "--diff-algorithm=default", "HEAD~", "HEAD"]);
    let files = replayed(&histories, Algorithm::Myers);
    let counted = files.iter().filter(|file| file.added() + file.deleted() > 0);
    let mut found: Vec<String> =
        counted.map(|file| format!("{}\t{}\t{}", file.added(), file.deleted(), file.path)).collect();
    let mut expected: Vec<String> = printed.lines().map(str::to_owned).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    let mixed = files.iter().flat_map(|file| &file.spans).filter(|span| matches!(span.owner, Owner::Mixed { .. }));
    assert!(mixed.count() > 0, "the histories are not trivial");
}

fn replayed(histories: &BTreeMap<String, Vec<Vec<u8>>>, algorithm: Algorithm) -> Vec<FileOwnership> {
    let counted = |before: &[u8], after: &[u8]| counted_edits(algorithm, before, after);
    let mut replay = Replay::new(Differ::new(&step_edits, &counted));
    let content = |text: &Vec<u8>| Some(Content::Bytes(text.clone()));
    for at in 1..=STEPS {
        let change = |(path, versions): (&String, &Vec<Vec<u8>>)| Change {
            path: path.as_str().into(),
            from: None,
            before: content(&versions[at - 1]),
            after: content(&versions[at]),
            moved: None,
        };
        replay.step(AuthorId::try_from(at % 2).expect("0 or 1"), histories.iter().map(change).collect());
    }
    let entry = |(path, versions): (&String, &Vec<Vec<u8>>)| Committed {
        path: path.as_str().into(),
        from: None,
        before: content(&versions[0]),
        after: content(&versions[STEPS]),
        edits: None,
        author: 0,
    };
    let committed: Vec<Committed> = histories.iter().map(entry).collect();
    replay.finish(&committed).files
}
