//! Any text as one component of the name of a ref.

use bstr::{BStr, BString, ByteSlice as _};

/// Returns `text` as one valid ref component (git-check-ref-format(1)); [`decode_component`] reverses it.
pub fn encode_component(text: &BStr) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        let plain = match byte {
            b'.' => {
                let rest = &text[at + 1..];
                at > 0 && !rest.is_empty() && text[at - 1] != b'.' && rest != b"lock"
            }
            b'-' => at > 0,
            _ => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'=' | b','),
        };
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.is_empty() {
        out.push('%');
    }
    out
}

/// Returns what [`encode_component`] encoded, or nothing if `component` is not its output.
pub fn decode_component(component: &str) -> Option<BString> {
    if component == "%" {
        return Some(BString::default());
    }
    let mut out = BString::default();
    let mut rest = component.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let hex = std::str::from_utf8(tail.get(..2)?).ok()?;
            out.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    (encode_component(out.as_bstr()) == component).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("main", "main")]
    #[case::dots("a..b", "a.%2Eb")]
    #[case::lock("x.lock", "x%2Elock")]
    #[case::slash("../../etc", "%2E%2E%2F.%2E%2Fetc")]
    #[case::dash("-d", "%2Dd")]
    #[case::at("@{1}", "%40%7B1%7D")]
    #[case::empty("", "%")]
    fn components_are_encoded_reversibly(#[case] text: &str, #[case] encoded: &str) {
        assert_eq!(encode_component(text.into()), encoded);
        assert_eq!(decode_component(encoded), Some(text.into()));
        assert!(gix::validate::reference::name(format!("refs/x/{encoded}").as_str().into()).is_ok());
    }
}
