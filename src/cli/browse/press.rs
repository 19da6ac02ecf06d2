//! What each key does: a new state, and what the browser has to do besides.

use super::{
    input::{Input, Key, Purpose, Typed},
    ran::Words,
    rows::Row,
    state::{Against, Goal, Mode, Pane, State, Text},
    words,
};

/// What is to be done besides showing another state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Run the command, and show what it prints.
    Run(Words),
    /// Run the first command, the plan of the second one, and ask whether to run that.
    Plan(Words, Words),
    /// Run the command of this plan, if the plan is still the same.
    Agreed(Text),
    /// Leave the screen to the command while it runs.
    Outside(Words),
    Search(String),
    /// Read the list with these arguments.
    Filter(String),
    /// Copy the text to the user's clipboard.
    Copy(String),
    /// Stop, until the shell lets us go on.
    Suspend,
    /// Draw all again.
    Redraw,
    /// End with this checkpoint.
    Pick(Picked),
    Quit,
}

/// What the user has picked to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Picked {
    /// The checkpoint.
    pub(in crate::cli) id: String,
    /// True if what others have changed since is restored, too.
    pub(in crate::cli) all: bool,
}

/// The keys, as the help lists them.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("j k, arrows", "down, up"),
    ("ctrl-d ctrl-u", "half a page down, up"),
    ("g G", "to the first, to the last"),
    ("tab, enter, l", "to the next pane"),
    ("shift-tab, h", "to the pane before"),
    ("esc", "back"),
    ("r", "restore the checkpoint, or in the other panes the file: shows the plan and asks"),
    ("a", "in the plan of a restore: also what others have changed"),
    ("u U", "undo the last operation, redo it: shows the plan and asks"),
    ("d", "compare with the worktree as it is now, or no longer"),
    ("D", "compare what is selected next with this checkpoint, or no longer"),
    ("v", "mark as verified"),
    ("t", "give it a tag"),
    ("e", "write or change its note in the editor"),
    ("w", "explain the selected line"),
    ("y", "copy the id"),
    ("/", "search notes, messages, prompts, paths"),
    ("n N", "to the next hit, to the one before"),
    ("f", "filter, with the arguments of list"),
    ("a", "a row for each checkpoint of a turn, or no longer"),
    ("ctrl-l", "draw the screen again"),
    ("q", "quit"),
];

impl State {
    /// Changes the state as `key` says.
    pub(super) fn press(&mut self, key: Key) -> Option<Effect> {
        match (&mut self.mode, key) {
            (_, Key::Control('z')) => Some(Effect::Suspend),
            (_, Key::Control('l')) => Some(Effect::Redraw),
            (Mode::Input(input), _) => match input.press(key) {
                Typed::Going => None,
                Typed::Left => {
                    self.mode = Mode::Normal;
                    None
                }
                Typed::Done => {
                    let input = input.clone();
                    self.mode = Mode::Normal;
                    taken(input)
                }
            },
            (_, Key::Control('c')) => Some(Effect::Quit),
            (Mode::Text(text), _) => {
                let text = scrolled(text, key, self.page);
                match (text, key) {
                    (true, _) => None,
                    (false, Key::Char('y')) => self.agree(),
                    (false, Key::Char('a')) if self.may_restore_all() => {
                        let Mode::Text(Text { words, .. }) = &self.mode else { return None };
                        Some(plan(words::with_all(&words::planned(words))))
                    }
                    _ => {
                        self.mode = Mode::Normal;
                        None
                    }
                }
            }
            (Mode::Help(top), _) => {
                match key {
                    Key::Char('j') | Key::Down => *top = (*top + 1).min(KEYS.len() - 1),
                    Key::Char('k') | Key::Up => *top = top.saturating_sub(1),
                    _ => self.mode = Mode::Normal,
                }
                None
            }
            (Mode::Normal, _) => {
                self.message = None;
                self.act(key)
            }
        }
    }

    /// Runs what the user was asked about, whatever is selected by now: the list may have been read again since.
    fn agree(&mut self) -> Option<Effect> {
        let Mode::Text(text) = std::mem::replace(&mut self.mode, Mode::Normal) else { return None };
        let then = text.then.as_ref()?;
        if self.picks.is_some() && then.first().is_some_and(|command| command == "restore") {
            let all = then.iter().any(|word| word == "--all");
            return Some(Effect::Pick(Picked { id: words::checkpoint(then)?, all }));
        }
        Some(Effect::Agreed(text))
    }

    /// Returns true if what is shown is the plan of a restore that leaves what others have changed.
    fn may_restore_all(&self) -> bool {
        matches!(&self.mode, Mode::Text(text) if words::is_plan_of_restore(&text.words)
            && text.lines.iter().any(|line| line.starts_with("kept ")))
    }

    fn act(&mut self, key: Key) -> Option<Effect> {
        if let Some((by, is_forward)) = self.distance(key) {
            self.go(by, is_forward);
            return None;
        }
        match key {
            Key::Char('q') => return Some(Effect::Quit),
            Key::Char('?') => self.mode = Mode::Help(0),
            Key::Enter if self.picks.is_some() && self.pane == Pane::Timeline => return self.plan_restore(),
            Key::Tab | Key::Enter | Key::Char('l') | Key::Right => self.next_pane(key == Key::Tab),
            Key::BackTab | Key::Char('h') | Key::Left => self.pane_before(key == Key::BackTab),
            Key::Escape => self.back(),
            Key::Char('g') | Key::Home => self.go(usize::MAX, false),
            Key::Char('G') | Key::End => self.go_to_end(),
            Key::Char('n') => self.seek(true),
            Key::Char('N') => self.seek(false),
            Key::Char('/') => self.ask(Purpose::Search, String::new()),
            Key::Char('f') => self.ask(Purpose::Filter, self.filter.clone()),
            Key::Char('a') => return Some(Effect::Filter(with_or_without_all(&self.filter))),
            Key::Char('r') => return self.plan_restore(),
            Key::Char('u') => return Some(plan(words::alone(&["undo"]))),
            Key::Char('U') => return Some(plan(words::alone(&["redo"]))),
            Key::Char('w') => match self.why() {
                Ok(words) => return Some(Effect::Run(words)),
                Err(why) => self.say(why),
            },
            Key::Char('t' | 'e' | 'v' | 'd' | 'D' | 'y') => return self.mark(key),
            _ => {}
        }
        None
    }

    /// Does what `key` does with the selected checkpoint or commit.
    fn mark(&mut self, key: Key) -> Option<Effect> {
        let Some(id) = self.row().and_then(Row::id) else {
            self.say("what is not committed yet has no id; select a checkpoint");
            return None;
        };
        let is_checkpoint = matches!(self.row(), Some(Row::Checkpoint(_)));
        if !is_checkpoint && matches!(key, Key::Char('t' | 'v')) {
            self.say("this is a commit; select a checkpoint");
            return None;
        }
        match key {
            Key::Char('t') => self.ask(Purpose::Tag(id), String::new()),
            Key::Char('e') => return Some(Effect::Outside(words::of(&["note", "--edit"], &id))),
            Key::Char('v') => return Some(Effect::Run(words::of(&["verify"], &id))),
            Key::Char('d') => self.compare(Against::Worktree),
            Key::Char('D') => self.compare(Against::Id(id)),
            Key::Char('y') => return Some(Effect::Copy(id.to_string())),
            _ => {}
        }
        None
    }

    fn compare(&mut self, against: Against) {
        let is_same_kind = matches!(
            (self.against, against),
            (Some(Against::Worktree), Against::Worktree) | (Some(Against::Id(_)), Against::Id(_))
        );
        self.against = (!is_same_kind).then_some(against);
        if let (Some(Against::Id(_)), None) = (self.against, &self.message) {
            self.message = Some(("select another checkpoint to compare with this one".to_owned(), false));
        }
    }

    fn plan_restore(&mut self) -> Option<Effect> {
        let Some(words) = self.restore() else {
            self.say("what is not committed yet is what the worktree has; select a checkpoint");
            return None;
        };
        let has_questions = self.picks.iter().flatten().any(|option| option == "-p" || option == "--patch");
        if has_questions {
            // Git shows each hunk, and asks.
            return Some(Effect::Pick(Picked { id: self.row()?.id()?.to_string(), all: false }));
        }
        Some(plan(words))
    }

    fn ask(&mut self, purpose: Purpose, text: String) {
        self.mode = Mode::Input(Input { purpose, text });
    }

    fn say(&mut self, text: &str) {
        self.message = Some((text.to_owned(), true));
    }

    /// Returns how far `key` goes, and whether forward; none if it does something else.
    fn distance(&self, key: Key) -> Option<(usize, bool)> {
        let half = (self.page / 2).max(1);
        Some(match key {
            Key::Char('j') | Key::Down => (1, true),
            Key::Char('k') | Key::Up => (1, false),
            Key::Control('d') => (half, true),
            Key::Control('u') => (half, false),
            Key::PageDown | Key::Char(' ') | Key::Control('f') => (2 * half, true),
            Key::PageUp | Key::Control('b') => (2 * half, false),
            _ => return None,
        })
    }

    /// Goes `by` lines or rows further in the pane, as far as there are some.
    fn go(&mut self, by: usize, is_forward: bool) {
        self.goal = None;
        let files = self.files();
        let (at, count) = match self.pane {
            Pane::Timeline => (&mut self.at, self.rows.len()),
            Pane::Files => (&mut self.file_at, files),
            Pane::Diff => {
                let lines = self.file().and_then(|file| file.lines.as_ref()).map_or(0, Vec::len);
                (&mut self.line_at, lines)
            }
        };
        let before = *at;
        *at = if is_forward { at.saturating_add(by).min(count.saturating_sub(1)) } else { at.saturating_sub(by) };
        if self.pane == Pane::Files && before != self.file_at {
            (self.line_at, self.line_top) = (0, 0);
        }
    }

    fn go_to_end(&mut self) {
        if self.pane == Pane::Timeline && !self.is_complete {
            self.goal = Some(Goal::End);
        } else {
            self.go(usize::MAX, true);
        }
    }

    /// Returns how many files are shown.
    fn files(&self) -> usize {
        let subject = self.subject();
        let loaded = self.loaded.as_ref().filter(|loaded| Some(&loaded.subject) == subject.as_ref());
        loaded.map_or(0, |loaded| loaded.files.len())
    }

    fn next_pane(&mut self, is_around: bool) {
        self.pane = match self.pane {
            Pane::Timeline => Pane::Files,
            Pane::Diff if is_around => Pane::Timeline,
            Pane::Files | Pane::Diff => Pane::Diff,
        };
    }

    fn pane_before(&mut self, is_around: bool) {
        self.pane = match self.pane {
            Pane::Timeline if is_around => Pane::Diff,
            Pane::Timeline | Pane::Files => Pane::Timeline,
            Pane::Diff => Pane::Files,
        };
    }

    /// Takes back what was begun last: a search for a row, a pane, a comparison, hits.
    fn back(&mut self) {
        if self.goal.take().is_some() {
            return;
        }
        match self.pane {
            Pane::Timeline if self.against.take().is_some() => {}
            Pane::Timeline => self.hits = None,
            Pane::Files | Pane::Diff => self.pane_before(false),
        }
    }
}

/// Returns what is to be done with what was typed.
fn taken(Input { purpose, text }: Input) -> Option<Effect> {
    match purpose {
        Purpose::Filter => Some(Effect::Filter(text)),
        _ if text.trim().is_empty() => None,
        Purpose::Search => Some(Effect::Search(text)),
        Purpose::Tag(id) => Some(Effect::Run(words::tag(&text, &id))),
    }
}

fn plan(words: Words) -> Effect {
    Effect::Plan(words::plan_of(&words), words)
}

/// Returns `filter` with or without `--all`.
fn with_or_without_all(filter: &str) -> String {
    const ALL: &str = "--all";
    let rest: Vec<&str> = filter.split(' ').filter(|word| *word != ALL && !word.is_empty()).collect();
    let has_all = filter.split(' ').any(|word| word == ALL);
    if has_all { rest.join(" ") } else { [vec![ALL], rest].concat().join(" ") }
}

/// Scrolls `text` if `key` does that.
fn scrolled(text: &mut Text, key: Key, page: usize) -> bool {
    let last = text.lines.len().saturating_sub(1);
    let half = (page / 2).max(1);
    text.top = match key {
        Key::Char('j') | Key::Down => text.top + 1,
        Key::Char('k') | Key::Up => text.top.saturating_sub(1),
        Key::Control('d') | Key::PageDown | Key::Char(' ') => text.top + half,
        Key::Control('u') | Key::PageUp => text.top.saturating_sub(half),
        Key::Char('g') | Key::Home => 0,
        Key::Char('G') | Key::End => last,
        _ => return false,
    };
    text.top = text.top.min(last);
    true
}
