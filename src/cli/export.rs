//! `git checkpoint export`: checkpoints and records in a file, for another machine.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use clap::ValueEnum;

use super::{
    Exit,
    call::Call,
    output::printable,
    output_file::{self, Form},
    phrase,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{bundle, path_text::shell_word},
    ops::{
        Context,
        remotes::{self, Choice, Exported, Format as Written, Parts},
    },
};

/// What an export may replace.
const EXPORT: Form = Form { otherwise: "is no export", is_one: bundle::is_export, beginning: bundle::LONGEST_HEADER };
/// What an archive or patches may replace: nothing says that they are ours.
const NOTHING: Form = Form { otherwise: "may be something else", is_one: |_| false, beginning: 1 };

/// Write checkpoints and records to a file, for another machine
///
/// Without <checkpoint>, --all or --session: the checkpoints of this worktree that were not set aside, and the records. The file is a
/// git bundle; 'git checkpoint import' reads it. What looks like a secret is not written.
#[derive(clap::Args, Debug)]
pub(super) struct Export {
    /// The file; '-' is the standard output
    #[arg(value_name = "file")]
    file: PathBuf,
    /// Only these checkpoints, and no records
    #[arg(value_name = "checkpoint", conflicts_with_all = ["all", "session"])]
    checkpoints: Vec<String>,
    /// All checkpoints of all worktrees, also those that were set aside, and the records
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Only the checkpoints of this session, and no records
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// The records, too, where they are not written by themselves
    #[arg(long)]
    records: bool,
    /// Transcripts, too: what was said, and what agents have read and answered
    #[arg(long)]
    transcripts: bool,
    /// The commits that the checkpoints stand on, too, with their history
    #[arg(long)]
    full: bool,
    /// bundle (default), patch (a series for 'git am') or tar (the files of one checkpoint)
    #[arg(long, value_name = "format", hide_possible_values = true)]
    format: Option<Format>,
    /// Replace the file, whatever it is
    #[arg(short, long)]
    force: bool,
    /// Do not look for secrets in what is written
    #[arg(long)]
    no_scan: bool,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

/// What the file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Bundle,
    Patch,
    Tar,
}

impl Export {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let format = self.format.unwrap_or_default();
        let is_output = self.file == Path::new("-");
        self.refuse_what_does_not_fit(format, is_output && call.out.is_terminal(), is_output)?;
        let context = call.writing_context()?;
        let form = if format == Format::Bundle { EXPORT } else { NOTHING };
        let target = if is_output { None } else { Some(output_file::check(&self.file, self.force, form)?) };
        let exported = if let Some(target) = target {
            let _progress = call.progress("exporting");
            target.write(|file| self.write(&context, format, file))?.1
        } else {
            self.print(&context, format, call)?
        };
        for why in &exported.left_out {
            call.out.warning(&format!("not all is exported: {}", printable(why)));
        }
        if self.json {
            call.out.json(&exported)?;
        } else if !is_output {
            say(&exported, &self.file, call)?;
        }
        Ok(Exit::Done)
    }

    /// Writes the file to the standard output, once it is complete.
    fn print(&self, context: &Context, format: Format, call: &mut Call) -> Result<Exported> {
        let what = || "cannot write the export".to_owned();
        let mut file = tempfile::tempfile().context(Kind::Internal, what)?;
        let exported = {
            let _progress = call.progress("exporting");
            self.write(context, format, &mut file)?
        };
        file.rewind().context(Kind::Internal, what)?;
        copy(&mut file, call)?;
        Ok(exported)
    }

    fn refuse_what_does_not_fit(&self, format: Format, is_shown: bool, is_output: bool) -> Result<()> {
        if self.json && is_output {
            return Err(Error::user("the standard output cannot have both the file and JSON")
                .with_hint("name a file, or leave '--json' out"));
        }
        if format == Format::Bundle {
            if is_shown {
                return Err(Error::user("a bundle is not for a terminal").with_hint("name a file"));
            }
            return Ok(());
        }
        let of_bundle = [("--records", self.records), ("--transcripts", self.transcripts), ("--full", self.full)];
        if let Some((option, _)) = of_bundle.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Error::user(format!("'{option}' is for a bundle"))
                .with_hint("an archive and patches have files of checkpoints alone"));
        }
        if is_shown && format == Format::Tar {
            return Err(Error::user("an archive is not for a terminal").with_hint("name a file"));
        }
        Ok(())
    }

    fn write(&self, context: &Context, format: Format, file: &mut File) -> Result<Exported> {
        let choice = match (&self.session, self.all) {
            (Some(session), _) => Choice::Session(session.clone()),
            (None, true) => Choice::All,
            (None, false) if self.checkpoints.is_empty() => Choice::Live,
            (None, false) => Choice::Named(self.checkpoints.clone()),
        };
        let is_narrow = matches!(choice, Choice::Session(_) | Choice::Named(_));
        let parts = Parts {
            records: !is_narrow || self.records || self.transcripts,
            transcripts: self.transcripts,
            full: self.full,
            no_scan: self.no_scan,
        };
        match format {
            Format::Bundle => remotes::export(context, &choice, parts, file),
            Format::Patch => remotes::export_series(context, &choice, self.no_scan, file),
            Format::Tar => remotes::export_tree(context, &choice, self.no_scan, file),
        }
    }
}

/// Prints all of `file`.
fn copy(file: &mut File, call: &mut Call) -> Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => call.out.bytes(&buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context(Kind::Internal, || "cannot read the export".into()),
        }
    }
}

/// Says what is in the file, and how to read it.
fn say(exported: &Exported, file: &Path, call: &mut Call) -> Result<()> {
    let shown = printable(file.as_os_str().as_encoded_bytes());
    let many = |count: usize, noun: &str| (count > 0).then(|| phrase::count(count, noun));
    let parts = [
        many(exported.checkpoints.len(), "checkpoint"),
        many(exported.tags.len(), "tag"),
        many(exported.notes, "note"),
        many(exported.records, "record"),
        many(exported.transcripts.len(), "month").map(|months| format!("transcripts of {months}")),
        many(exported.commits, "commit").map(|commits| format!("{commits} of code")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    call.out.note(&format!("written to '{shown}': {}", parts.join(", ")))?;
    let word = printable(shell_word(&file.to_string_lossy()));
    match exported.format {
        Written::Tar => {}
        Written::Patch => {
            let base = exported.prerequisites.first().map(|it| format!(" on {}", call.names.id(&it.commit)));
            call.out.hint(&format!("'git am --keep-cr {word}' applies it{}", base.unwrap_or_default()));
        }
        Written::Bundle => {
            if !exported.prerequisites.is_empty() {
                let commits = phrase::count(exported.prerequisites.len(), "commit");
                call.out.note(&format!("{commits} of your branches must be there where it is imported"))?;
            }
            call.out.hint(&format!("'git checkpoint import {word}' reads it in another clone"));
        }
    }
    Ok(())
}
