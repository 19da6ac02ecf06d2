//! Moments as text for JSON.

use jiff::{Timestamp, tz};

/// Returns `seconds` (Unix time) in ISO 8601 at `offset` seconds from UTC, for example `2026-01-31T08:15:00+01:00`.
pub(crate) fn iso(seconds: i64, offset: i32) -> String {
    let offset = tz::Offset::from_seconds(offset).unwrap_or(tz::Offset::UTC);
    let Ok(moment) = Timestamp::from_second(seconds) else { return format!("@{seconds}") };
    moment.to_zoned(offset.to_time_zone()).strftime("%FT%T%:z").to_string()
}

/// Returns year and month of `seconds` (Unix time) at UTC in six digits, for example `202601`.
pub(crate) fn month(seconds: i64) -> String {
    let moment = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    let date = moment.to_zoned(tz::TimeZone::UTC);
    format!("{:04}{:02}", date.year().max(0), date.month())
}

/// Returns the first and the last second of `month`, as [`month`] writes it; none if it is no month.
pub(crate) fn span_of_month(month: &str) -> Option<(i64, i64)> {
    let (year, number) = month.split_at_checked(4)?;
    let first = jiff::civil::Date::new(year.parse().ok()?, number.parse().ok()?, 1).ok()?;
    let next = first.checked_add(jiff::Span::new().months(1)).ok()?;
    let seconds = |date: jiff::civil::Date| Some(date.to_zoned(tz::TimeZone::UTC).ok()?.timestamp().as_second());
    Some((seconds(first)?, seconds(next)? - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::june("202506", Some((1_748_736_000, 1_751_327_999)))]
    #[case::december("202512", Some((1_764_547_200, 1_767_225_599)))]
    #[case::no_month("202513", None)]
    #[case::short("20", None)]
    fn months_have_ends(#[case] text: &str, #[case] expected: Option<(i64, i64)>) {
        assert_eq!(span_of_month(text), expected);
        if let Some((first, last)) = expected {
            assert_eq!((month(first), month(last)), (text.to_owned(), text.to_owned()));
        }
    }

    #[rstest::rstest]
    #[case::utc(1_748_779_200, 0, "2025-06-01T12:00:00+00:00")]
    #[case::east(1_748_779_200, 5400, "2025-06-01T13:30:00+01:30")]
    #[case::before_1970(-1, 0, "1969-12-31T23:59:59+00:00")]
    #[case::no_such_moment(i64::MAX, 0, "@9223372036854775807")]
    fn moments_are_iso_8601(#[case] seconds: i64, #[case] offset: i32, #[case] expected: &str) {
        assert_eq!(iso(seconds, offset), expected);
    }
}
