//! Values of settings: sizes, durations, and how they are read from figment.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// A value as a layer has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A string: text, a choice, a size or a duration.
    Text(String),
    /// A list of strings.
    List(Vec<String>),
}

/// The value as `config get` prints it: a list has one item per line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
            Self::List(items) => f.write_str(&items.join("\n")),
        }
    }
}

impl Value {
    /// Returns true if it is a list of nothing.
    pub(super) fn is_empty_list(&self) -> bool {
        matches!(self, Self::List(items) if items.is_empty())
    }

    /// Returns the value with its type, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Bool(value) => format!("the boolean '{value}'"),
            Self::Integer(value) => format!("the number '{value}'"),
            Self::Text(value) => format!("the string '{}'", shorten(value)),
            Self::List(_) => "a list".to_owned(),
        }
    }
}

/// Returns `text` for one line of a message: without control characters, at most 60 characters.
pub(super) fn shorten(text: &str) -> String {
    let printable = crate::model::path_text::printable(text.into());
    match printable.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &printable[..at]),
        None => printable,
    }
}

impl Value {
    /// Returns the count or bytes that the value says; none if it is of another type.
    pub(super) fn as_number(&self) -> Option<u64> {
        match self {
            Self::Integer(number) => u64::try_from(*number).ok(),
            Self::Text(text) => text.parse().ok().map(ByteSize::bytes),
            Self::Bool(_) | Self::List(_) => None,
        }
    }
}

/// A number of bytes.
///
/// Written as a number, or with a unit: `KiB`, `MiB`, `GiB`, `TiB` and git's `k`, `m`, `g` are powers of
/// 1024, `kB`, `MB`, `GB`, `TB` powers of 1000, all without regard to capitals; a fraction is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ByteSize(pub u64);

impl ByteSize {
    /// Returns the number of bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

impl std::str::FromStr for ByteSize {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        let (number, unit) = text.split_at(text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len()));
        let scale: u128 = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "ki" | "kib" => 1 << 10,
            "m" | "mi" | "mib" => 1 << 20,
            "g" | "gi" | "gib" => 1 << 30,
            "t" | "ti" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(()),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        // Nine digits are below any file system's block, and keep the product within 128 bits.
        if fraction.is_empty() || fraction.len() > 9 || fraction.contains('.') {
            return Err(());
        }
        let whole = u128::from(whole.parse::<u64>().map_err(|_| ())?) * scale;
        let divisor = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| ())?);
        let part = u128::from(fraction.parse::<u64>().map_err(|_| ())?) * scale / divisor;
        u64::try_from(whole + part).map(Self).map_err(|_| ())
    }
}

/// The size with the largest binary unit that gives at least 1, and one decimal if it is not whole.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let Some((shift, unit)) = units.into_iter().find(|(shift, _)| self.0 >> shift > 0) else {
            return write!(f, "{} bytes", self.0);
        };
        let tenths = (u128::from(self.0) * 10) >> shift;
        match tenths % 10 {
            0 => write!(f, "{} {unit}", tenths / 10),
            rest => write!(f, "{}.{rest} {unit}", tenths / 10),
        }
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText {
            expected: "a size",
            from_number: ByteSize,
            from_text: |text| text.parse().ok(),
        })
    }
}

/// Returns the duration that `text` says: a number with `ms`, `s`, `m`, `h`, `d` or `w` (or the words), or
/// several of them (`1h30m`). A bare number is seconds. `None` if it says none or is too long.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let after = after.trim_start();
        let (unit, after) = after.split_at(after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()));
        let milliseconds = match unit {
            "ms" => 1,
            "s" | "sec" | "second" | "seconds" => 1_000,
            "m" | "min" | "minute" | "minutes" => 60_000,
            "h" | "hour" | "hours" => 3_600_000,
            "d" | "day" | "days" => 86_400_000,
            "w" | "week" | "weeks" => 604_800_000,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(milliseconds)?)?;
        rest = after.trim_start();
    }
    (!text.trim().is_empty()).then(|| Duration::from_millis(total))
}

/// Deserializes a duration from seconds or from text.
pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    deserializer.deserialize_any(NumberOrText {
        expected: "a time",
        from_number: Duration::from_secs,
        from_text: parse_duration,
    })
}

/// Deserializes a time of which 0 means no limit.
pub(super) fn duration_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(|time| (!time.is_zero()).then_some(time))
}

/// Deserializes a size as its bytes.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    ByteSize::deserialize(deserializer).map(ByteSize::bytes)
}

/// Deserializes a size of which 0 means no limit.
pub(super) fn size_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    size(deserializer).map(|size| (size > 0).then_some(size))
}

/// Deserializes a size of which 0 means no limit, as a bound that nothing exceeds.
pub(super) fn size_or_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    size_limit(deserializer).map(|size| size.unwrap_or(u64::MAX))
}

/// Deserializes a count of which 0 means no limit.
pub(super) fn count_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    u64::deserialize(deserializer).map(|count| (count > 0).then_some(count))
}

/// Deserializes a count of which 0 means no limit, as a bound that nothing exceeds.
pub(super) fn count_or_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    count_limit(deserializer).map(|count| count.unwrap_or(u64::MAX))
}

/// Deserializes a text that, empty, says nothing.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(|text| (!text.is_empty()).then_some(text))
}

struct NumberOrText<T> {
    expected: &'static str,
    from_number: fn(u64) -> T,
    from_text: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        Ok((self.from_number)(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => Ok((self.from_number)(number)),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.from_text)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("4096", Some(4096))]
    #[case::bytes("17 B", Some(17))]
    #[case::binary("10 MiB", Some(10 << 20))]
    #[case::no_space("10MiB", Some(10 << 20))]
    #[case::git_suffix("512k", Some(512 << 10))]
    #[case::git_capital("2G", Some(2 << 30))]
    #[case::decimal("10 MB", Some(10_000_000))]
    #[case::fraction("1.5 GiB", Some(3 << 29))]
    #[case::spaces("  1 TiB ", Some(1 << 40))]
    #[case::largest("18446744073709551615", Some(u64::MAX))]
    #[case::zero("0", Some(0))]
    #[case::too_large("18446744073709551616", None)]
    #[case::product_too_large("99999999999 TiB", None)]
    #[case::negative("-1", None)]
    #[case::empty("", None)]
    #[case::unit_only("MiB", None)]
    #[case::unknown_unit("10 parsecs", None)]
    #[case::two_dots("1.2.3 MiB", None)]
    #[case::dot_only(".5", None)]
    fn sizes(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(text.parse::<ByteSize>().ok().map(ByteSize::bytes), expected);
    }

    #[rstest]
    #[case(0, "0 bytes")]
    #[case(1023, "1023 bytes")]
    #[case(1536, "1.5 KiB")]
    #[case(10 << 20, "10 MiB")]
    #[case(u64::MAX, "16777215.9 TiB")]
    fn sizes_are_shown(#[case] bytes: u64, #[case] expected: &str) {
        assert_eq!(ByteSize(bytes).to_string(), expected);
    }

    #[rstest]
    #[case::bare("90", Some(90_000))]
    #[case::seconds("10s", Some(10_000))]
    #[case::minutes("30m", Some(1_800_000))]
    #[case::milliseconds("250ms", Some(250))]
    #[case::several("1h30m", Some(5_400_000))]
    #[case::spaced("1 day 2 hours", Some(93_600_000))]
    #[case::week("2w", Some(1_209_600_000))]
    #[case::zero("0", Some(0))]
    #[case::empty("", None)]
    #[case::blank("  ", None)]
    #[case::negative("-5s", None)]
    #[case::unit_only("s", None)]
    #[case::unknown_unit("5y", None)]
    #[case::number_left_over("1h30", None)]
    #[case::too_long("99999999999999999999w", None)]
    #[case::product_too_long("18446744073709551615w", None)]
    fn durations(#[case] text: &str, #[case] milliseconds: Option<u64>) {
        assert_eq!(parse_duration(text), milliseconds.map(Duration::from_millis));
    }

    #[test]
    fn long_and_hostile_text_is_shortened() {
        assert_eq!(shorten("a\u{1b}[31m"), "a\\u{1b}[31m");
        assert_eq!(shorten(&"é".repeat(80)), format!("{}...", "é".repeat(60)));
    }
}
