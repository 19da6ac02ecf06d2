//! `git-remote-checkpoint`: lets git itself list, fetch and push the logs of records of another repository, whose address is behind
//! `checkpoint::` (gitremote-helpers(7)).
//!
//! Git starts it and asks; `request` reads what. A push joins first, as `git checkpoint push` does, so that it is never refused
//! because others have pushed before. After any error it ends without the empty line that git waits for: then, git takes nothing
//! for done, and prunes nothing.

mod request;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{BufRead, Write},
    process::ExitCode,
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use self::request::{Request, Update, Wanted};
use crate::{
    config,
    error::{Context as _, Error, Kind, Result},
    git::{
        received::Kept,
        transfer::{is_inside_helper, repository_of_helper},
    },
    model::{address::without_userinfo, path_text::printable, refname::HISTORY},
    ops::{
        Context,
        remotes::{self, PushOptions, Remote},
        setting_sources,
    },
};

/// Answers git's requests on the standard input until there are no more. The settings are those that a command has with the variables
/// of `environment`.
pub fn main(
    arguments: impl Iterator<Item = OsString>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let result = Helper::new(&arguments, environment).and_then(|mut helper| {
        let (input, output) = (std::io::stdin(), std::io::stdout());
        helper.answer(&mut input.lock(), &mut output.lock())
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::from(128)
        }
    }
}

/// What git has asked us to heed.
#[derive(Debug, Default)]
struct Heeded {
    is_dry_run: bool,
    checks_connectivity: bool,
    shows_format: bool,
    scans_nothing: bool,
}

struct Helper {
    context: Context,
    remote: Remote,
    heeded: Heeded,
    /// The logs that the last list has shown.
    listed: BTreeMap<String, ObjectId>,
    /// What was fetched, until git has moved its refs.
    kept: Vec<Kept>,
    /// The repository, if git is outside of any: it goes with us.
    _outside: Option<tempfile::TempDir>,
}

impl Helper {
    /// Returns the helper for the command line that git makes: the name of a remote, or the whole address again, and the address.
    fn new(arguments: &[OsString], environment: impl Iterator<Item = (OsString, OsString)>) -> Result<Self> {
        let address = match arguments {
            // A remote with `vcs = checkpoint` and no URL has only its name.
            [_, _, address] if !address.is_empty() => address.to_string_lossy().into_owned(),
            _ => {
                return Err(Error::user("git starts this program when an address begins with 'checkpoint::'")
                    .with_hint(
                        "'git ls-remote checkpoint::origin' lists what 'origin' has; see git-remote-checkpoint(1)",
                    ));
            }
        };
        let address = address.as_str();
        if is_inside_helper() {
            return Err(Error::refused(format!("'{}' leads back to itself", without_userinfo(address))));
        }
        let (repo, outside) = repository_of_helper()?;
        // What they ignore, commands of git-checkpoint name: git's own output is no place for that.
        let settings = config::load(&setting_sources(Some(&repo), environment))?.settings;
        let context = Context::new(repo, settings);
        let remote = remotes::at(&context, address)?;
        Ok(Self {
            context,
            remote,
            heeded: Heeded::default(),
            listed: BTreeMap::new(),
            kept: Vec::new(),
            _outside: outside,
        })
    }

    /// Answers each request of `input` until there are no more.
    fn answer(&mut self, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<()> {
        let what = || "cannot answer git".to_owned();
        while let Some(request) = request::read(input).context(Kind::Internal, what)? {
            let mut answer = match request {
                Request::Capabilities => CAPABILITIES.to_owned(),
                Request::List { is_for_push } => self.list(is_for_push)?,
                Request::Option { name, value } => self.heed(&name, &value)?.to_owned(),
                Request::Fetch(wanted) => self.fetch(&wanted)?,
                Request::Push(updates) => self.push(&updates),
            };
            answer.push('\n');
            output.write_all(answer.as_bytes()).and_then(|()| output.flush()).context(Kind::Internal, what)?;
        }
        Ok(())
    }

    /// Heeds an option of git, and returns whether it is one that we know.
    ///
    /// # Errors
    /// If it asks for a part of a log: git would go on without a word, and take what it gets for that part.
    fn heed(&mut self, name: &str, value: &[u8]) -> Result<&'static str> {
        let is_true = value == b"true";
        match name {
            "dry-run" => self.heeded.is_dry_run = is_true,
            "check-connectivity" => self.heeded.checks_connectivity = is_true,
            "object-format" => self.heeded.shows_format = true,
            // A log is joined and never replaced: no force is needed, and no lease is broken. All tags that lead into it are ours.
            "progress" | "verbosity" | "cloning" | "followtags" | "force" | "cas" | "force-if-includes" => {}
            // Git asks for no more than to be signed if that is possible.
            "pushcert" if value == b"if-asked" => {}
            "push-option" if value == NO_SCAN.as_bytes() => self.heeded.scans_nothing = true,
            "filter" => {
                let hint = "git has noted the filter as 'partialCloneFilter' and 'promisor' in the settings of the remote, and asks \
                            for it again until they are gone";
                return Err(Error::refused("a log of records comes as a whole, without '--filter'").with_hint(hint));
            }
            "depth" | "deepen-since" | "deepen-not" => {
                return Err(Error::refused("a log of records comes as a whole, and cannot be shallow"));
            }
            _ => return Ok("unsupported"),
        }
        Ok("ok")
    }

    /// Returns the logs of the other side, one a line.
    fn list(&mut self, is_for_push: bool) -> Result<String> {
        let repo = &self.context.repo;
        if is_for_push {
            return self.list_for_push();
        }
        self.listed = remotes::list_logs(repo, &self.remote, None, true)?.into_iter().collect();
        let mut text = String::new();
        if self.heeded.shows_format {
            text.push_str(&format!(":object-format {}\n", repo.object_hash()));
        }
        for (name, id) in &self.listed {
            text.push_str(&format!("{id} {name}\n"));
        }
        if self.listed.contains_key(HISTORY) {
            text.push_str(&format!("@{HISTORY} HEAD\n"));
        }
        Ok(text)
    }

    /// The same for a push, of where that goes to. Git would refuse a push to a log that has what ours has not, before it asks us: of
    /// such a one, the commit is not said.
    fn list_for_push(&self) -> Result<String> {
        let repo = &self.context.repo;
        let mut text =
            if self.heeded.shows_format { format!(":object-format {}\n", repo.object_hash()) } else { String::new() };
        for (name, id) in remotes::list_to_push(repo, &self.remote)? {
            let ours = repo.find_ref(&name)?;
            let is_behind = |id: &ObjectId| ours.is_some_and(|ours| repo.has_object(*id) && repo.leads_to(ours, *id));
            let shown = id.filter(is_behind).map_or_else(|| "?".into(), |id| id.to_string());
            text.push_str(&format!("{shown} {name}\n"));
        }
        Ok(text)
    }

    fn fetch(&mut self, wanted: &[Wanted]) -> Result<String> {
        let mut logs = Vec::new();
        for Wanted { id, name } in wanted {
            let id = ObjectId::from_hex(id.as_bytes()).context(Kind::Internal, || format!("'{id}' is no id"))?;
            // As the log that its name says; we have listed HEAD with the log of records.
            let name = if name == "HEAD" { HISTORY } else { name.to_str().unwrap_or_default() };
            if self.listed.get(name) != Some(&id) {
                return Err(Error::user(format!("'{}' is no log of records", printable(name.as_bytes().into()))));
            }
            logs.push((name.to_owned(), id));
        }
        let mut kept = remotes::bring(&self.context.repo, &self.remote, None, &logs)?;
        // Git itself has checked that nothing is missing.
        let mut text = String::from(if self.heeded.checks_connectivity { "connectivity-ok\n" } else { "" });
        // Git removes the file once refs lead to what the pack has.
        if let Some(path) = kept.hand_over() {
            text.push_str(&format!("lock {path}\n"));
        }
        // The others go when git asks for no more.
        self.kept.push(kept);
        Ok(text)
    }

    fn push(&mut self, updates: &[Update]) -> String {
        let mut text = String::new();
        // Transcripts first, whatever the order of the command line: a record never names what is not there.
        let mut updates: Vec<&Update> = updates.iter().collect();
        updates.sort_by_key(|update| update.name == HISTORY);
        for update in updates {
            let name = printable(update.name.as_ref());
            match self.push_one(update) {
                Ok((sent, said)) => {
                    for line in &said {
                        say(&format!("remote: {}", printable(line.as_bytes().as_bstr())));
                    }
                    text.push_str(&format!("ok {name}\noption refname {name}\n"));
                    text.extend(sent.old.map(|old| format!("option old-oid {old}\n")));
                    text.push_str(&format!("option new-oid {}\n", sent.new));
                }
                Err(error) => {
                    report(&error);
                    text.push_str(&format!("error {name} {}\n", one_line(error.message())));
                }
            }
        }
        text
    }

    fn push_one(&mut self, update: &Update) -> Result<(remotes::SentRef, Vec<String>)> {
        let name = update.name.to_str().ok().filter(|name| remotes::is_log(name));
        let Some(name) = name else {
            return Err(Error::refused("only logs of records are pushed to 'checkpoint::'"));
        };
        if update.source.is_empty() {
            return Err(Error::refused("a log of records is never deleted"));
        }
        if update.source != name {
            return Err(Error::refused(format!("only '{name}' itself can be pushed to it")));
        }
        let options = PushOptions {
            transcripts: true,
            no_scan: self.heeded.scans_nothing,
            dry_run: self.heeded.is_dry_run,
            ..PushOptions::default()
        };
        let unscanned = format!("git push -o {NO_SCAN}");
        remotes::send(&self.context, &self.remote, name, &options, &unscanned)
    }
}

/// The push option that sends what looks as if it had a secret.
const NO_SCAN: &str = "checkpoint.no-scan";

/// What this helper can do. `*` marks nothing: git may know none of the others, and goes on.
const CAPABILITIES: &str = "option\nfetch\npush\nobject-format\ncheck-connectivity\n";

/// Prints `error` on the standard error, as the commands of git do.
fn report(error: &Error) {
    let mut text = format!("error: {}\n", printable(error.message().as_bytes().as_bstr()));
    let causes = error.causes();
    let lines = causes.iter().flat_map(|cause| cause.lines());
    text.extend(lines.map(|line| format!("  {}\n", printable(line.as_bytes().as_bstr()))));
    text.extend(error.hint().map(|hint| format!("hint: {hint}\n")));
    say(text.trim_end());
}

/// Prints `text` on the standard error.
fn say(text: &str) {
    // Nothing is left to do if the user cannot be reached.
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Returns `text` as one line that git does not take for quoted.
fn one_line(text: &str) -> String {
    printable(text.as_bytes().as_bstr()).trim_start_matches('"').to_owned()
}
