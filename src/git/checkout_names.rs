//! Which names a restore may write, and the names of its temporary files.

use bstr::{BStr, ByteSlice as _};

/// Returns true if git allows `path` in a worktree; `is_link` if it is a symbolic link.
///
/// Rejects `.git` in all spellings that some file system treats as equal, `.`, `..`, empty names and NUL.
pub(crate) fn is_valid_path(path: &BStr, is_link: bool) -> bool {
    let options = gix::validate::path::component::Options {
        protect_windows: cfg!(windows),
        protect_hfs: true,
        protect_ntfs: true,
    };
    let link = is_link.then_some(gix::validate::path::component::Mode::Symlink);
    let mut names = path.split(|byte| *byte == b'/').rev();
    let is_valid = |name: &[u8], mode| gix::validate::path::component(name.as_bstr(), mode, options).is_ok();
    path.find_byte(0).is_none()
        && names.next().is_some_and(|last| is_valid(last, link))
        && names.all(|name| is_valid(name, None))
}

/// Returns true if git can have `path` in an index: relative, and without `.git`, `.`, `..`, empty names and NUL.
///
/// Accepts names that other file systems treat as `.git`; see [`is_valid_path`] for what may be written.
pub(crate) fn is_git_path(path: &BStr) -> bool {
    let options =
        gix::validate::path::component::Options { protect_windows: false, protect_hfs: false, protect_ntfs: false };
    let is_valid = |name: &[u8]| gix::validate::path::component(name.as_bstr(), None, options).is_ok();
    path.find_byte(0).is_none() && path.split(|byte| *byte == b'/').all(is_valid)
}

const TEMPORARY_PREFIX: &[u8] = b".git-checkpoint-";
const TEMPORARY_SUFFIX: &[u8] = b".tmp";
const NONCE_LENGTH: usize = 16;

/// Returns the name of the temporary file `number` of the restore with `nonce`: 16 hexadecimal digits.
pub(crate) fn temporary_name(nonce: &str, number: usize) -> String {
    debug_assert_eq!(nonce.len(), NONCE_LENGTH);
    format!(".git-checkpoint-{nonce}-{number}.tmp")
}

/// Returns true if `name` is that of a temporary file of a restore, never of a user's file.
pub(crate) fn is_temporary_name(name: &[u8]) -> bool {
    let inner = name.strip_prefix(TEMPORARY_PREFIX).and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
    inner.is_some_and(|inner| {
        inner.len() > NONCE_LENGTH + 1
            && inner[..NONCE_LENGTH].iter().all(u8::is_ascii_hexdigit)
            && inner[NONCE_LENGTH] == b'-'
            && inner[NONCE_LENGTH + 1..].iter().all(u8::is_ascii_digit)
    })
}

/// Returns true if `name` is that of a temporary file of the restore with `nonce`.
pub(crate) fn is_temporary_name_of(nonce: &str, name: &[u8]) -> bool {
    is_temporary_name(name) && name[TEMPORARY_PREFIX.len()..].starts_with(nonce.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("a/b.c")]
    #[case::like_git("a/.gitignore")]
    #[case::git_inside("a.git/x")]
    #[case::device("drivers/aux.c")]
    #[case::blank("a /b.")]
    #[case::colon("a:b")]
    #[case::dots("...")]
    fn allowed_paths(#[case] path: &str) {
        assert!(is_valid_path(path.into(), false));
    }

    #[rstest::rstest]
    #[case::git(".git/config")]
    #[case::git_itself(".git")]
    #[case::case_folded("a/.GiT/hooks/post-commit")]
    #[case::short_name("GIT~1/config")]
    #[case::trailing_dot(".git./config")]
    #[case::trailing_blank(".git /config")]
    #[case::stream(".git::$INDEX_ALLOCATION/config")]
    #[case::hfs_ignorable(".g\u{200c}it/config")]
    #[case::parent("../x")]
    #[case::parent_inside("a/../../x")]
    #[case::here("./x")]
    #[case::absolute("/etc/passwd")]
    #[case::empty("")]
    #[case::empty_inside("a//b")]
    #[case::final_slash("a/")]
    #[case::nul("a\0b")]
    fn refused_paths(#[case] path: &str) {
        assert!(!is_valid_path(path.into(), false));
    }

    #[rstest::rstest]
    #[case::plain("a/b", true)]
    #[case::other_file_systems("git~1/.git ", true)]
    #[case::nul("a\0b", false)]
    #[case::parent("a/../b", false)]
    #[case::absolute("/a", false)]
    #[case::git("a/.GIT/config", false)]
    #[case::final_slash("a/", false)]
    fn paths_of_an_index(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_git_path(path.into()), expected);
    }

    #[test]
    fn a_linked_gitmodules_is_refused() {
        assert!(is_valid_path(".gitmodules".into(), false));
        assert!(!is_valid_path(".gitmodules".into(), true));
    }

    #[test]
    fn temporary_names_are_known_again() {
        assert!(is_temporary_name(temporary_name("0123456789abcdef", 12).as_bytes()));
        for (nonce, expected) in [("0123456789abcdef", true), ("0123456789abcde0", false)] {
            let name = temporary_name(nonce, 12);
            assert_eq!(is_temporary_name_of("0123456789abcdef", name.as_bytes()), expected);
        }
        for other in
            [".git-checkpoint-x.tmp", ".git-checkpoint-0123456789abcdef-.tmp", ".git-checkpoint-0123456789abcdef-1"]
        {
            assert!(!is_temporary_name(other.as_bytes()), "{other}");
        }
    }
}
