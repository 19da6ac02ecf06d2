//! SHA-256 of texts, for names that must not collide.

/// Returns the SHA-256 of `parts`, one after the other, in hexadecimal digits.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    for part in parts {
        hasher.update(part);
    }
    // It fails only for SHA-1, where it finds the signs of an attack.
    hasher.try_finalize().map_or_else(|_| "0".repeat(64), |id| id.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_that_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(&[b"a", b"bc"]), expected);
    }
}
