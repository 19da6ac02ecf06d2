//! `worktree diff`, `worktree status` and `worktree files`: what is in another worktree.

use std::ffi::OsString;

use bstr::ByteSlice as _;

use super::super::{Exit, call::Call, diff, phrase, status};
use crate::{
    error::Result,
    ops::worktrees::{self, FileKind, FileList},
};

#[derive(clap::Args, Debug)]
pub(super) struct DiffIn {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    #[command(flatten)]
    diff: diff::Diff,
}

#[derive(clap::Args, Debug)]
pub(super) struct StatusIn {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    #[command(flatten)]
    status: status::StatusCommand,
}

#[derive(clap::Args, Debug)]
pub(super) struct Files {
    #[command(subcommand)]
    action: FilesAction,
}

#[derive(clap::Subcommand, Debug)]
enum FilesAction {
    /// List a directory
    List(ListFiles),
    /// List the files whose path contains a text, without the ignored ones
    Find(FindFiles),
    /// Print a file
    Cat(Cat),
}

#[derive(clap::Args, Debug)]
struct ListFiles {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// The directory, relative to the root (default: the root)
    #[arg(value_name = "dir")]
    at: Option<OsString>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct FindFiles {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// The text, in any case
    #[arg(value_name = "text")]
    text: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Cat {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// The file, relative to the root
    #[arg(value_name = "file")]
    file: OsString,
}

impl DiffIn {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        self.diff.run_in(&worktrees::context_in(&context, &self.name)?, call)
    }
}

impl StatusIn {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        self.status.run_in(&worktrees::context_in(&context, &self.name)?, call)
    }
}

impl Files {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        // A search says in its exit status that it has found nothing, as grep does.
        let is_search = matches!(self.action, FilesAction::Find(_));
        let (list, is_json) = match self.action {
            FilesAction::List(it) => {
                let directory = it.at.unwrap_or_default();
                (worktrees::list_files(&context, &it.name, directory.as_ref())?, it.json)
            }
            FilesAction::Find(it) => (worktrees::find_files(&context, &it.name, &it.text)?, it.json),
            FilesAction::Cat(it) => {
                // As it is: another program reads it.
                call.out.bytes(&worktrees::cat_file(&context, &it.name, it.file.as_ref())?)?;
                return Ok(Exit::Done);
            }
        };
        if is_json {
            call.out.json(&list)?;
        } else {
            call.start_pager(&context)?;
            print(&list, call)?;
        }
        Ok(if is_search && list.files.is_empty() { Exit::No } else { Exit::Done })
    }
}

fn print(list: &FileList, call: &mut Call) -> Result<()> {
    list.files.iter().try_for_each(|file| {
        let end = match file.kind {
            FileKind::Directory => "/",
            FileKind::Link => "@",
            FileKind::File | FileKind::Other => "",
        };
        let path = [file.path.as_bytes(), end.as_bytes()].concat();
        call.out.line(&phrase::quoted(&path.into()))
    })
}
