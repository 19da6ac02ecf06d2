//! Whether to colour the output.

use bstr::BString;
use clap::ValueEnum;

use super::environment;
use crate::config::Color;

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    Always,
    Never,
    Auto,
}

impl From<Color> for When {
    fn from(setting: Color) -> Self {
        match setting {
            Color::Always => Self::Always,
            Color::Never => Self::Never,
            Color::Auto => Self::Auto,
        }
    }
}

impl When {
    /// Returns true if the output, which goes to a terminal or not, is to be coloured.
    pub(super) fn decide(self, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                is_terminal
                    && environment::variable("NO_COLOR").is_none()
                    && environment::variable("TERM").is_none_or(|terminal| terminal != "dumb")
            }
        }
    }

    /// Reads git's values of `color.ui`, where `true` means `auto`.
    pub(super) fn from_git(value: &BString) -> Option<Self> {
        match value.to_ascii_lowercase().as_slice() {
            b"always" => Some(Self::Always),
            b"never" | b"false" | b"no" | b"off" | b"0" => Some(Self::Never),
            b"" | b"auto" | b"true" | b"yes" | b"on" | b"1" => Some(Self::Auto),
            _ => None,
        }
    }
}
