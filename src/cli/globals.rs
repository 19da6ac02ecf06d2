//! The options that every command takes.

use clap::Args;

use super::color::When;

/// Options that every command takes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(super) struct Globals {
    /// Run as if started in <path>
    #[arg(short = 'C', value_name = "path", global = true)]
    pub(super) directory: Vec<std::path::PathBuf>,
    /// Colour the output: always, never, or auto (only on a terminal)
    #[arg(long, value_name = "when", global = true, num_args = 0..=1, require_equals = true, hide_possible_values = true, default_missing_value = "always")]
    pub(super) color: Option<When>,
    /// Do not pipe the output into a pager
    #[arg(long, global = true)]
    pub(super) no_pager: bool,
    /// Print errors and results, but no warnings, hints or summaries
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Say on standard error what is being done; twice for more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
}
