//! The types of settings, and the check of a value against the type of its key.

use super::{
    toml_file,
    value::{ByteSize, Value, parse_duration},
};
use crate::model::usage::price::Price;

/// The type of a setting.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Bool,
    Choice(&'static [&'static str]),
    Count,
    Size,
    Duration,
    Text,
    List,
    /// A list of what models cost.
    Prices,
}

impl Kind {
    /// Returns what values look like, for messages and documentation.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Choice(names) => {
                let (last, rest) = names.split_last().expect("a choice has names");
                let rest: Vec<_> = rest.iter().map(|name| format!("\"{name}\"")).collect();
                format!("{} or \"{last}\"", rest.join(", "))
            }
            Self::Count => "a whole number, 0 or more".to_owned(),
            Self::Size => "a size such as \"10 MiB\" or a number of bytes".to_owned(),
            Self::Duration => "a time such as \"30s\" or \"1h30m\", or a number of seconds".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::List => "a list of strings".to_owned(),
            Self::Prices => "prices such as \"some-model* input=3 output=15 cache-read=0.3\"".to_owned(),
        }
    }

    /// Returns true if values are lists.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Prices)
    }

    /// Returns whether `value` is of this type.
    pub(super) fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Bool, Value::Bool(_)) | (Self::Text, Value::Text(_)) | (Self::List, Value::List(_)) => true,
            (Self::Prices, Value::List(items)) => items.iter().all(|item| Price::parse(item).is_ok()),
            (Self::Choice(names), Value::Text(text)) => names.contains(&text.as_str()),
            (Self::Count | Self::Size | Self::Duration, Value::Integer(number)) => *number >= 0,
            (Self::Size, Value::Text(text)) => text.parse::<ByteSize>().is_ok(),
            (Self::Duration, Value::Text(text)) => parse_duration(text).is_some(),
            _ => false,
        }
    }

    /// Returns the value that `text` means where everything is text: in git config, in variables, on the
    /// command line. Booleans are read as git reads them; a list may be written as a TOML array.
    pub(super) fn read_text(self, text: &str) -> Option<Value> {
        let value = match self {
            Self::Bool => Value::Bool(git_boolean(text)?),
            Self::Count => Value::Integer(text.trim().parse().ok()?),
            Self::Size | Self::Duration => match text.trim().parse() {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::Text(text.trim().to_owned()),
            },
            Self::Choice(_) | Self::Text => Value::Text(text.to_owned()),
            Self::List | Self::Prices if text.trim_start().starts_with('[') => toml_file::list(text)?,
            Self::List | Self::Prices => Value::List(vec![text.to_owned()]),
        };
        self.accepts(&value).then_some(value)
    }
}

/// git-config(1), "Values": boolean.
fn git_boolean(text: &str) -> Option<bool> {
    let is_any = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    if is_any(&["true", "yes", "on", "1"]) {
        Some(true)
    } else if is_any(&["false", "no", "off", "0", ""]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Kind::Bool, "yes", Some(Value::Bool(true)))]
    #[case(Kind::Bool, "OFF", Some(Value::Bool(false)))]
    #[case(Kind::Bool, "2", None)]
    #[case(Kind::Count, "7", Some(Value::Integer(7)))]
    #[case(Kind::Count, "-7", None)]
    #[case(Kind::Size, "10m", Some(Value::Text("10m".into())))]
    #[case(Kind::Size, "10", Some(Value::Integer(10)))]
    #[case(Kind::Duration, "soon", None)]
    #[case(Kind::Choice(&["a", "b"]), "b", Some(Value::Text("b".into())))]
    #[case(Kind::Choice(&["a", "b"]), "c", None)]
    #[case(Kind::List, "*.log", Some(Value::List(vec!["*.log".into()])))]
    #[case(Kind::List, "['a', \"b\"]", Some(Value::List(vec!["a".into(), "b".into()])))]
    #[case(Kind::List, "[1]", None)]
    #[case(Kind::List, "[", None)]
    #[case(Kind::Prices, "m* input=3", Some(Value::List(vec!["m* input=3".into()])))]
    #[case(Kind::Prices, "['m input=3', 'n in=3']", None)]
    fn text_is_read_by_type(#[case] kind: Kind, #[case] text: &str, #[case] expected: Option<Value>) {
        assert_eq!(kind.read_text(text), expected);
    }
}
