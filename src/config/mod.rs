//! Placeholder until the layers land.
use std::time::Duration;
/// Settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long to wait for a lock.
    pub lock_timeout: Duration,
    /// Save.
    pub save: Save,
}
/// Save.
#[derive(Clone, Debug)]
pub struct Save {
    /// Bytes.
    pub max_file_size: u64,
    /// Count.
    pub max_untracked_files: u64,
    /// Bytes.
    pub min_free_space: u64,
    /// Patterns.
    pub exclude: Vec<String>,
    /// Paths.
    pub protected_paths: Vec<String>,
}
impl Default for Settings {
    fn default() -> Self {
        Self {
            lock_timeout: Duration::from_secs(10),
            save: Save {
                max_file_size: 10 << 20,
                max_untracked_files: 5000,
                min_free_space: 512 << 20,
                exclude: Vec::new(),
                protected_paths: Vec::new(),
            },
        }
    }
}
