//! Replaces the text in files of JSON, one value a line, which stays JSON.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::model::secret::Secret;

/// Returns `text` without the secret; none if it does not have it.
pub(super) fn replace_lines(secret: &Secret, text: &[u8]) -> Option<Vec<u8>> {
    let replaced = secret.replace(text)?;
    let is_broken = |(old, new): (&[u8], &[u8])| old != new && is_json(old) && !is_json(new);
    if !lines(text).zip(lines(&replaced)).any(is_broken) {
        return Some(replaced);
    }
    // A part of an escape, as the `n` of a line feed, was taken for the beginning of the text.
    let line = |line: &[u8]| match serde_json::from_slice(line) {
        Ok(mut value) if secret.is_in(line) => {
            replace_in(secret, &mut value);
            let end = if line.ends_with(b"\n") { "\n" } else { "" };
            format!("{value}{end}").into_bytes()
        }
        _ => secret.replace(line).unwrap_or_else(|| line.to_vec()),
    };
    let replaced: Vec<u8> = lines(text).flat_map(line).collect();
    (replaced != text).then_some(replaced)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

fn replace_in(secret: &Secret, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(new) = secret.replace_in(text) {
                *text = new;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| replace_in(secret, value)),
        Value::Object(map) => {
            let old = std::mem::take(map);
            for (key, mut value) in old {
                replace_in(secret, &mut value);
                map.insert(secret.replace_in(&key).unwrap_or(key), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("secret", "{\"a\":\"my secret\"}\n{\"b\":1}\n", "{\"a\":\"my [purged]\"}\n{\"b\":1}\n")]
    #[case::after_an_escape("nothing", "{\"a\":\"x\\nothing \\u00e9\"}\n", "{\"a\":\"x\\nothing \u{e9}\"}\n")]
    #[case::before_an_escape("secret", "{\"a\":\"secret\\nx\"}", "{\"a\":\"[purged]\\nx\"}")]
    #[case::no_json("secret", "a secret b\n", "a [purged] b\n")]
    #[case::lines("one\ntwo", "{\"a\":\"one\\ntwo\"}\n", "{\"a\":\"[purged]\"}\n")]
    fn json_stays_json(#[case] text: &str, #[case] lines: &str, #[case] expected: &str) {
        let secret = Secret::new(&[text.into()]).expect("it can be searched for");
        let replaced = replace_lines(&secret, lines.as_bytes()).expect("it has the text");
        assert_eq!(String::from_utf8_lossy(&replaced), expected);
    }
}
