//! `git checkpoint save`: takes a checkpoint, and says which.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{BufRead as _, BufReader, Read},
};

use bstr::BString;

use super::{
    Exit,
    call::Call,
    from_root::{self, Form},
    output::printable,
    phrase,
    recurse::Recurse,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::Repo,
    model::{checkpoint::Origin, contributor::Contributor, refname::Base},
    ops::save::{self, Author, Saved, SavedSubmodule, SkippedPath, UnfilteredPath},
};

/// Take a checkpoint of the whole worktree
///
/// Saves every tracked file and every untracked one that is not ignored. HEAD, the index, the stash and all
/// branches stay as they are. If nothing has changed since the latest checkpoint, none is made.
#[derive(clap::Args, Debug)]
pub(super) struct Save {
    /// What the checkpoint is about
    #[arg(short, long, value_name = "text")]
    message: Option<String>,
    /// The session of the agent that made the change
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// The agent, for example claude-code
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// The model the agent used
    #[arg(long, value_name = "name")]
    model: Option<String>,
    /// Who made the change: human or agent (the default with --session)
    #[arg(long, value_name = "who", value_parser = ["human", "agent"], hide_possible_values = true)]
    contributor: Option<String>,
    /// Look at these paths only; nothing else has changed
    #[arg(long, value_name = "path", num_args = 1.., conflicts_with = "recurse_submodules")]
    paths: Option<Vec<OsString>>,
    /// The same with one path a line in <file> (default: standard input)
    #[arg(long, value_name = "file", num_args = 0..=1, default_missing_value = "-", conflicts_with_all = ["paths", "recurse_submodules"])]
    paths_from_file: Option<OsString>,
    /// The paths in <file> end with NUL
    #[arg(short = 'z', requires = "paths_from_file")]
    nul: bool,
    /// Mark the checkpoint as verified
    #[arg(long)]
    verify: bool,
    /// Take a checkpoint even if nothing has changed
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    recurse: Recurse,
    /// Save even a worktree that is refused, such as the home directory
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Save {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let has_message = self.message.is_some();
        let options = save::SaveOptions {
            paths: self.hinted_paths(&context.repo)?,
            author: self.author(),
            message: self.message,
            verify: self.verify,
            allow_empty: self.allow_empty,
            force: self.force,
            recurse_submodules: self.recurse.extent(&context.repo),
        };
        let progress = call.progress("saving");
        let saved = save::save(&context, &options).map_err(|error| match &self.paths {
            Some(typed) => with_hint(from_root::with_hint(error, &context, typed, None, Form::Path)),
            None => error,
        })?;
        drop(progress);
        if let Some(what) = save::unreadable_shadows(&context) {
            call.out.warning(&format!("{}: the authors of these changes may be unknown", printable(&what)));
            call.out.hint("'git checkpoint doctor' says what can be done");
        }
        if self.json {
            call.out.json(&saved)?;
        } else {
            print(&saved, has_message, call)?;
        }
        Ok(Exit::Done)
    }

    fn author(&self) -> Author {
        if [&self.contributor, &self.session, &self.agent, &self.model].into_iter().all(Option::is_none) {
            return Author::Infer;
        }
        let by_session = if self.session.is_some() { Contributor::Agent } else { Contributor::Human };
        Author::Is(Origin {
            contributor: self.contributor.as_deref().and_then(Contributor::from_word).unwrap_or(by_session),
            session: self.session.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            ..Origin::default()
        })
    }

    fn hinted_paths(&self, repo: &Repo) -> Result<Option<Vec<BString>>> {
        let named = match (&self.paths, &self.paths_from_file) {
            (Some(paths), _) => paths.clone(),
            (None, Some(file)) => read_paths(file, self.nul)?,
            (None, None) => return Ok(None),
        };
        Call::paths(repo, &named).map(Some)
    }
}

/// Returns `error`, with a hint at what saves all changes if it is about a path and nothing better is known.
fn with_hint(error: Error) -> Error {
    let is_of_path = error.kind() == Kind::User && error.message().contains("did not match");
    if is_of_path && error.hint().is_none() {
        error.with_hint("'git checkpoint save', without '--paths', saves all that has changed")
    } else {
        error
    }
}

fn read_paths(file: &OsString, is_nul: bool) -> Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStringExt as _;
    let what = || format!("cannot read the paths in '{}'", file.display());
    let source: Box<dyn Read> = if file == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).context(Kind::User, what)?)
    };
    let mut paths = Vec::new();
    for line in BufReader::new(source).split(if is_nul { 0 } else { b'\n' }) {
        let line = line.context(Kind::User, what)?;
        if !line.is_empty() {
            paths.push(OsString::from_vec(line));
        }
    }
    Ok(paths)
}

/// Warns once: as long as a file stays as it was saved, the next saves keep quiet.
pub(super) fn warn_of_filters(unfiltered: &[UnfilteredPath], call: &mut Call) {
    let mut failed: BTreeMap<&str, Vec<&UnfilteredPath>> = BTreeMap::new();
    for file in unfiltered.iter().filter(|file| file.is_new) {
        failed.entry(&file.filter).or_default().push(file);
    }
    for (filter, files) in failed {
        let reason = files.iter().map(|file| file.reason.as_str()).find(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!(": {}", printable(reason))).unwrap_or_default();
        let names: Vec<String> =
            files.iter().take(3).map(|file| format!("'{}'", call.names.path(&file.path))).collect();
        let more = if files.len() > names.len() { ", ..." } else { "" };
        let count = phrase::count(files.len(), "file");
        let (filter, names) = (printable(filter), names.join(", "));
        call.out.warning(&format!("filter '{filter}' failed{reason}; saved {count} unfiltered: {names}{more}"));
    }
}

/// Names what a save has left out.
pub(super) fn warn_of_skipped(skipped: &[SkippedPath], call: &mut Call) {
    for skipped in skipped {
        let what = phrase::skipped(&call.names.path(&skipped.path), skipped.reason, skipped.size);
        call.out.warning(&format!("skipped {what}"));
    }
}

/// Names the repositories inside the worktree whose changes a save has left out.
fn warn_of_inside(saved: &Saved, call: &mut Call) {
    for failed in &saved.failed_submodules {
        let path = call.names.path(&failed.path);
        call.out.warning(&format!("could not save submodule {path}: {}", printable(&failed.why)));
    }
    for submodule in &saved.submodules {
        let (path, words) = (call.names.path(&submodule.path), submodule.words());
        call.out.warning(&format!("left out submodule {path} ({words})"));
    }
    for path in &saved.nested {
        let path = call.names.path(path);
        call.out.warning(&format!("left out nested repository {path}"));
    }
    if !(saved.submodules.is_empty() && saved.nested.is_empty()) {
        call.out.hint("'git checkpoint save --recurse-submodules' saves what is in them, too");
    }
}

/// Prints the checkpoints that were taken in submodules, whose paths are below the directory `above`.
fn print_submodules(saved: &Saved, above: &BString, call: &mut Call) -> Result<()> {
    for SavedSubmodule { path, saved, .. } in &saved.saved_submodules {
        let path: BString = [above.as_slice(), path.as_slice()].concat().into();
        let below = BString::from([path.as_slice(), b"/"].concat());
        let full = |path: &BString| BString::from([below.as_slice(), path.as_slice()].concat());
        let skipped: Vec<_> =
            saved.skipped.iter().map(|it| SkippedPath { path: full(&it.path), ..it.clone() }).collect();
        warn_of_skipped(&skipped, call);
        let unfiltered = saved.unfiltered.iter().map(|it| UnfilteredPath { path: full(&it.path), ..it.clone() });
        warn_of_filters(&unfiltered.collect::<Vec<_>>(), call);
        print_submodules(saved, &below, call)?;
        if let Some(id) = saved.id.filter(|_| saved.created) {
            let id = call.out.paint(phrase::ID, &call.names.id(&id));
            let (path, paths) = (call.names.path(&path), phrase::count(saved.paths.len(), "path"));
            call.out.note(&format!("saved {id} in {path} ({paths})"))?;
        }
    }
    Ok(())
}

/// Returns how much of what was saved has an unknown author.
fn unknown(saved: &Saved) -> String {
    match saved.of_unknown {
        0 => String::new(),
        all if all == saved.paths.len() => ", author unknown".to_owned(),
        some => format!(", author of {some} unknown"),
    }
}

fn print(saved: &Saved, has_message: bool, call: &mut Call) -> Result<()> {
    warn_of_skipped(&saved.skipped, call);
    warn_of_inside(saved, call);
    warn_of_filters(&saved.unfiltered, call);
    print_submodules(saved, &BString::default(), call)?;
    if let Some(line) = phrase::taken_up(&saved.taken_up) {
        call.out.note(&line)?;
    }
    match &saved.id {
        Some(id) if saved.created => {
            let id = call.out.paint(phrase::ID, &call.names.id(id));
            let verified = if saved.verified { ", verified" } else { "" };
            let unknown = unknown(saved);
            call.out.note(&format!("saved {id} ({}{unknown}{verified})", phrase::count(saved.paths.len(), "path")))?;
            if !unknown.is_empty() {
                call.out
                    .hint("an agent may have made it; 'git checkpoint save --contributor human' saves what is yours");
            }
            Ok(())
        }
        Some(id) => {
            let id = call.out.paint(phrase::ID, &call.names.id(id));
            let other = if saved.skipped.is_empty() { "" } else { "else " };
            let verified = if saved.is_marked { "; it is verified now" } else { "" };
            call.out.note(&format!("nothing {other}has changed since {id}{verified}"))
        }
        None if saved.base == Base::Unborn => {
            call.out.note("nothing to save: no commit yet, and no tracked or untracked files")
        }
        None if saved.skipped.is_empty() => call.out.note("nothing to save: the worktree matches HEAD"),
        None => call.out.note("nothing else to save: the other files match HEAD"),
    }?;
    if has_message && !saved.created {
        call.out.hint("the message is not used; '--allow-empty' takes a checkpoint with it");
    }
    Ok(())
}
