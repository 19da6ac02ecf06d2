//! Moments as people read and type them: relative on a terminal, ISO 8601 elsewhere.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, Zoned, civil, tz};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Returns the present moment in Unix seconds.
pub(super) fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}

/// Returns how long `seconds` is before `now` in the words of git's `--date=relative`.
pub(super) fn relative(seconds: i64, now: i64) -> String {
    let age = now.saturating_sub(seconds);
    if age < 0 {
        return "in the future".into();
    }
    let plural = |count: i64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    let ago = |count: i64, unit: &str| plural(count, unit) + " ago";
    // The limits and roundings of show_date_relative() in git's date.c.
    let minutes = (age + 30) / MINUTE;
    let hours = (minutes + 30) / 60;
    let days = (hours + 12) / 24;
    match () {
        () if age < 90 => ago(age, "second"),
        () if minutes < 90 => ago(minutes, "minute"),
        () if hours < 36 => ago(hours, "hour"),
        () if days < 14 => ago(days, "day"),
        () if days < 70 => ago((days + 3) / 7, "week"),
        () if days < 365 => ago((days + 15) / 30, "month"),
        () if days < 5 * 365 => {
            let months = (12 * days + 182) / 365;
            match months % 12 {
                0 => ago(months / 12, "year"),
                rest => plural(months / 12, "year") + ", " + &ago(rest, "month"),
            }
        }
        () => ago((days + 183) / 365, "year"),
    }
}

/// Returns the moment `iso`, in ISO 8601, as people read it on a terminal: how long it is before now; elsewhere as it is.
pub(super) fn shown(iso: &str, is_terminal: bool) -> String {
    let seconds = iso.parse::<Timestamp>().ok().filter(|_| is_terminal).map(Timestamp::as_second);
    seconds.map_or_else(|| iso.to_owned(), |seconds| relative(seconds, now()))
}

/// Returns the moment `iso`, in ISO 8601, where one thing is shown in full: on a terminal, also how long it is before now.
pub(super) fn in_full(iso: &str, is_terminal: bool) -> String {
    match iso.parse::<Timestamp>() {
        Ok(moment) if is_terminal => format!("{iso} ({})", relative(moment.as_second(), now())),
        _ => iso.to_owned(),
    }
}

/// Returns how long `seconds` is before `now` in at most four columns: `12m`, `3h`, `2w`.
pub(super) fn brief(seconds: i64, now: i64) -> String {
    let words = relative(seconds, now);
    let mut words = words.split(' ');
    match (words.next(), words.next()) {
        (Some(count), Some(unit)) if count.parse::<i64>().is_ok() => {
            // Two units begin with `m`.
            let unit = if unit.starts_with("month") { "mo" } else { &unit[..1] };
            format!("{count}{unit}")
        }
        _ => "?".to_owned(),
    }
}

/// Returns the moment that `text` names, in Unix seconds, or nothing if it names none.
///
/// Understood are ISO 8601 (with or without time and offset; local time if without), `@<seconds>`, `now`,
/// `today`, `yesterday`, and a span with or without `ago`: `2 days ago`, `3.weeks.ago`, `90m`.
pub(super) fn parse_moment(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse().ok();
    }
    match text {
        "now" => return Some(now),
        "today" => return midnight(now, 0),
        "yesterday" => return midnight(now, 1),
        _ => {}
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.as_second());
    }
    let zone = tz::TimeZone::system;
    if let Ok(moment) = text.parse::<civil::DateTime>() {
        return Some(moment.to_zoned(zone()).ok()?.timestamp().as_second());
    }
    let span = text.strip_suffix("ago").unwrap_or(text).trim_end_matches(['.', ' ']);
    parse_span(span).and_then(|span| now.checked_sub(span))
}

fn midnight(now: i64, days_before: i64) -> Option<i64> {
    let local: Zoned = Timestamp::from_second(now - days_before * DAY).ok()?.to_zoned(tz::TimeZone::system());
    Some(local.start_of_day().ok()?.timestamp().as_second())
}

/// Returns the seconds of a span such as `90m`, `12h`, `30d`, `2 weeks` or `1.day`; months have 30 days.
pub(super) fn parse_span(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: i64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim_matches(['.', ' ']).to_ascii_lowercase();
    let seconds = match unit.as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => 7 * DAY,
        "month" | "months" => 30 * DAY,
        "y" | "year" | "years" => 365 * DAY,
        _ => return None,
    };
    count.checked_mul(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "0 seconds ago")]
    #[case(1, "1 second ago")]
    #[case(89, "89 seconds ago")]
    #[case(90, "2 minutes ago")]
    #[case(2 * HOUR, "2 hours ago")]
    #[case(2 * DAY, "2 days ago")]
    #[case(15 * DAY, "2 weeks ago")]
    #[case(100 * DAY, "3 months ago")]
    #[case(365 * DAY, "1 year ago")]
    #[case(546 * DAY, "1 year, 6 months ago")]
    #[case(800 * DAY, "2 years, 2 months ago")]
    #[case(2000 * DAY, "5 years ago")]
    #[case(-5, "in the future")]
    fn ages_read_as_in_git(#[case] age: i64, #[case] expected: &str) {
        assert_eq!(relative(1_000_000_000 - age, 1_000_000_000), expected);
    }

    #[rstest::rstest]
    #[case(1, "1s")]
    #[case(5 * MINUTE, "5m")]
    #[case(30 * HOUR, "30h")]
    #[case(13 * DAY, "13d")]
    #[case(15 * DAY, "2w")]
    #[case(330 * DAY, "11mo")]
    #[case(800 * DAY, "2y")]
    #[case(-5, "?")]
    fn brief_ages_fit_four_columns(#[case] age: i64, #[case] expected: &str) {
        assert_eq!(brief(1_000_000_000 - age, 1_000_000_000), expected);
        assert!(expected.len() <= 4);
    }

    #[rstest::rstest]
    #[case::unix("@12", Some(12))]
    #[case::zulu("2023-11-14T22:13:20Z", Some(1_700_000_000))]
    #[case::offset("2023-11-14T23:13:20+01:00", Some(1_700_000_000))]
    #[case::ago("2 days ago", Some(1_700_000_000 - 2 * DAY))]
    #[case::dots("3.weeks.ago", Some(1_700_000_000 - 21 * DAY))]
    #[case::short("90m", Some(1_700_000_000 - 90 * MINUTE))]
    #[case::now("now", Some(1_700_000_000))]
    #[case::nonsense("soon", None)]
    #[case::empty("", None)]
    fn moments(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_moment(text, 1_700_000_000), expected);
    }

    #[rstest::rstest]
    #[case("30d", Some(30 * DAY))]
    #[case("1 year", Some(365 * DAY))]
    #[case("5", None)]
    #[case("d", None)]
    #[case("9999999999999999999d", None)]
    fn spans(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_span(text), expected);
    }
}
