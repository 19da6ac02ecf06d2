//! A line that the user types at the bottom, and the keys as the browser knows them.

use gix::ObjectId;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Control(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
}

impl Key {
    /// Returns the key of `event`; none if the browser has no use for it.
    pub(super) fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        Some(match event.code {
            KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                Self::Control(c.to_ascii_lowercase())
            }
            KeyCode::Char(c) if !event.modifiers.contains(KeyModifiers::ALT) => Self::Char(c),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

/// What is typed, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) purpose: Purpose,
    pub(super) text: String,
}

/// What a line is typed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Search,
    Filter,
    /// The name of a tag for this checkpoint.
    Tag(ObjectId),
}

/// What a key did to the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Going,
    Done,
    Left,
}

impl Input {
    /// Returns what stands before the line.
    pub(super) fn prompt(&self) -> &'static str {
        match self.purpose {
            Purpose::Search => "search: ",
            Purpose::Filter => "filter, as of list: ",
            Purpose::Tag(_) => "name of the tag: ",
        }
    }

    /// Changes the line as `key` says.
    pub(super) fn press(&mut self, key: Key) -> Typed {
        match key {
            Key::Enter => return Typed::Done,
            Key::Escape | Key::Control('c' | 'g') => return Typed::Left,
            Key::Char(c) if !c.is_control() => self.text.push(c),
            Key::Backspace | Key::Control('h') if self.text.pop().is_none() => return Typed::Left,
            Key::Control('u') => self.text.clear(),
            Key::Control('w') => {
                let kept = self.text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            _ => {}
        }
        Typed::Going
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::typed("ab", &[Key::Char('c')], "abc", Typed::Going)]
    #[case::taken_back("ab", &[Key::Backspace], "a", Typed::Going)]
    #[case::nothing_to_take_back("", &[Key::Backspace], "", Typed::Left)]
    #[case::cleared("ab", &[Key::Control('u')], "", Typed::Going)]
    #[case::a_word("one two", &[Key::Control('w')], "one ", Typed::Going)]
    #[case::the_only_word("one", &[Key::Control('w')], "", Typed::Going)]
    #[case::escape("ab", &[Key::Escape], "ab", Typed::Left)]
    #[case::done("ab", &[Key::Enter], "ab", Typed::Done)]
    #[case::controls_are_no_text("ab", &[Key::Char('\u{7}')], "ab", Typed::Going)]
    fn a_line_is_typed(#[case] text: &str, #[case] keys: &[Key], #[case] expected: &str, #[case] end: Typed) {
        let mut input = Input { purpose: Purpose::Search, text: text.to_owned() };
        let ends: Vec<Typed> = keys.iter().map(|key| input.press(*key)).collect();
        assert_eq!((input.text.as_str(), ends.last()), (expected, Some(&end)));
    }
}
