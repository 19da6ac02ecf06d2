//! Names of temporary files: they show which process a file belongs to, so that the next one can remove what a process
//! that was killed has left, and nothing else.

use std::{path::Path, sync::OnceLock};

const LENGTH: usize = 16;

/// Returns 16 hexadecimal digits that no other process has.
pub(crate) fn nonce() -> &'static str {
    static NONCE: OnceLock<String> = OnceLock::new();
    NONCE.get_or_init(random)
}

/// Returns 16 hexadecimal digits that no other process has.
pub(crate) fn random() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The standard library seeds this from the operating system's randomness.
    format!("{:016x}", std::hash::RandomState::new().build_hasher().finish())
}

/// Returns true if `text` is what [`random`] returns.
pub(crate) fn is_nonce(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns how the names of this process's temporary files begin; `kind` comes first.
pub(crate) fn prefix(kind: &str) -> String {
    format!("{kind}{}_", nonce())
}

/// Returns the permissions that a new file in `directory` gets.
pub(crate) fn ordinary_permissions(directory: &Path) -> std::io::Result<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let ordinary = std::fs::Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().prefix(&prefix(".tmp-")).permissions(ordinary).tempfile_in(directory)?;
    Ok(file.as_file().metadata()?.permissions().mode() & 0o777)
}

/// Makes a file in `directory` that has no name for long, and writes into it: that shows whether others could.
pub(crate) fn probe(directory: &Path) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = tempfile::tempfile_in(directory)?;
    file.write_all(&[0; 4096])?;
    file.sync_data()
}

/// Removes the temporary files and directories in `directory` that the processes `nonces` have left.
pub(crate) fn sweep(directory: &Path, nonces: &[String]) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.split(['-', '_']).find(|part| is_nonce(part)));
        if owner.is_some_and(|owner| nonces.iter().any(|nonce| nonce == owner)) {
            // What cannot be removed does no harm.
            drop(std::fs::remove_file(entry.path()).or_else(|_| std::fs::remove_dir_all(entry.path())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_dead_left_is_swept() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dead = "0123456789abcdef".to_owned();
        let names = [
            format!("tmp_pack_{dead}_Xy12Zk"),
            format!(".tmp-{dead}_Xy12Zk"),
            format!("tmp_pack_{}_Xy12Zk", random()),
            "tmp_pack_Xy12Zk".to_owned(),
            dead[..15].to_owned(),
        ];
        for name in &names {
            std::fs::write(dir.path().join(name), "").expect("written");
        }
        sweep(dir.path(), std::slice::from_ref(&dead));
        let is_there: Vec<bool> = names.iter().map(|name| dir.path().join(name).exists()).collect();
        assert_eq!(is_there, [false, false, true, true, true]);
    }
}
