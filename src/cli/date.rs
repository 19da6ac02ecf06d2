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
    if text.contains('[') {
        return Some(text.parse::<Zoned>().ok()?.timestamp().as_second());
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

/// Returns two moments that git is to take for the present one when it reads a date: they have no part in common that a text may leave
/// out, the day of the week or the time. By its answers, [`read_by_git`] sees what the text says and what git has added.
pub(super) fn clocks(now: i64) -> [i64; 2] {
    [now, now - DAY - HOUR - MINUTE - 1]
}

/// Returns the moment that `text` names as git reads it, in Unix seconds; none if git finds no date in it. `answers` are what it says
/// by [`clocks`].
pub(super) fn read_by_git(text: &str, clocks: [i64; 2], answers: [i64; 2], zone: &tz::TimeZone) -> Option<i64> {
    // Then all of it is the present moment.
    if answers == clocks {
        return None;
    }
    let local = |seconds: i64| Some(Timestamp::from_second(seconds).ok()?.to_zoned(zone.clone()));
    let is_time_of_clock = |at: usize| Some(local(answers[at])?.time() == local(clocks[at])?.time());
    if is_span(text) || !(is_time_of_clock(0)? && is_time_of_clock(1)?) {
        return Some(answers[0]);
    }
    Some(local(answers[0])?.start_of_day().ok()?.timestamp().as_second())
}

/// Returns true if `text` says how long before the present moment: that has a time of its own.
fn is_span(text: &str) -> bool {
    const UNITS: [&str; 8] = ["ago", "second", "minute", "hour", "day", "week", "month", "year"];
    let mut words = text.split(|it: char| !it.is_ascii_alphabetic()).map(str::to_ascii_lowercase);
    words.any(|word| UNITS.contains(&word.strip_suffix('s').unwrap_or(&word)))
}

fn midnight(now: i64, days_before: i64) -> Option<i64> {
    let zone = tz::TimeZone::system();
    let today = Timestamp::from_second(now).ok()?.to_zoned(zone.clone()).date();
    let day = today.checked_sub(jiff::Span::new().try_days(days_before).ok()?).ok()?;
    Some(day.to_zoned(zone).ok()?.timestamp().as_second())
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

    /// Of a Tuesday, in UTC: 2023-11-14.
    const NOON: i64 = 1_699_963_200;
    const EARLIER: i64 = NOON - DAY - HOUR - MINUTE - 1;

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
    #[case::zone("2023-11-14T17:13:20[America/New_York]", Some(1_700_000_000))]
    #[case::no_zone("2023-11-14T17:13:20[Nowhere/Here]", None)]
    #[case::ago("2 days ago", Some(1_700_000_000 - 2 * DAY))]
    #[case::dots("3.weeks.ago", Some(1_700_000_000 - 21 * DAY))]
    #[case::short("90m", Some(1_700_000_000 - 90 * MINUTE))]
    #[case::now("now", Some(1_700_000_000))]
    #[case::nonsense("soon", None)]
    #[case::empty("", None)]
    fn moments(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_moment(text, 1_700_000_000), expected);
    }

    /// The clocks are at noon, and a day and some time before it. Git says by them what is in the cases.
    #[rstest::rstest]
    #[case::nonsense("whenever", [NOON, EARLIER], None)]
    #[case::this_day("14 Nov 2023", [NOON, NOON - HOUR - MINUTE - 1], Some(NOON - 12 * HOUR))]
    #[case::day_of_the_other_clock("13 Nov 2023", [NOON - DAY, EARLIER], Some(NOON - 36 * HOUR))]
    #[case::time_of_now("12:00", [NOON, EARLIER + HOUR + MINUTE + 1], Some(NOON))]
    #[case::time("9:30", [NOON - 150 * MINUTE, NOON - DAY - 150 * MINUTE], Some(NOON - 150 * MINUTE))]
    #[case::span("3 weeks ago at once", [NOON - 21 * DAY, EARLIER - 21 * DAY], Some(NOON - 21 * DAY))]
    #[case::weekday("last friday", [NOON - 4 * DAY, EARLIER - 3 * DAY], Some(NOON - 4 * DAY - 12 * HOUR))]
    fn what_git_adds_is_seen(#[case] text: &str, #[case] answers: [i64; 2], #[case] expected: Option<i64>) {
        assert_eq!(read_by_git(text, [NOON, EARLIER], answers, &tz::TimeZone::UTC), expected);
        assert_eq!(clocks(NOON), [NOON, EARLIER]);
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
