//! Looks for what is not as it should be: records and commits, refs, files of ours; mends what can be mended.
//!
//! What takes time: every commit that refs lead to is read once for its message, every record once, and git walks
//! what only our refs lead to. Looking for lost commits again (`relink`) reads in addition the patches of those that touch
//! the same files.

mod chains;
mod checks;
mod fetched;
mod index;
mod locks;
mod objects;
mod problem;
mod refspecs;
mod relink;
mod strays;
mod survey;

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    records::{self, Additions},
    remotes::ToFetch,
    salvage,
};
use crate::{
    error::Result,
    model::{
        path_text::{printable, shell_word},
        record::RecordId,
        refname,
    },
    state,
};
use survey::Survey;

pub use super::found_again::Relinked;
pub use problem::{Problem, Severity};

/// What is to be done beside looking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Mend what can be mended.
    pub fix: bool,
    /// Find the commits of records again.
    pub relink: bool,
}

/// What was found. Serializes to what `doctor --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The version of the JSON format.
    pub version: u32,
    /// How many commits were looked at.
    pub commits: usize,
    /// How many records were.
    pub records: usize,
    /// What is not as it should be.
    pub problems: Vec<Problem>,
    /// Commits whose records were found again.
    pub relinked: Vec<Relinked>,
}

impl Diagnosis {
    /// Returns true if no problem is left.
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|problem| problem.fixed || problem.severity == Severity::Note)
    }
}

/// Returns a problem if our directory is not a directory: then no other check can run.
pub fn in_the_way(context: &Context) -> Option<Diagnosis> {
    let places = [state::directory(context.repo.git_dir()), state::directory(context.repo.common_dir())];
    let path = places.iter().find(|path| path.exists() && !path.is_dir())?;
    let message = "it is no directory, so that no checkpoint is taken";
    let problem = Problem::new("directory-unwritable", path.display().to_string(), message).hint("move it away");
    Some(Diagnosis { version: 1, problems: vec![problem], ..Diagnosis::default() })
}

/// Looks at everything, and mends what `options` allow.
pub fn doctor(context: &Context, options: Options) -> Result<Diagnosis> {
    let repo = &context.repo;
    let mut diagnosis = Diagnosis { version: 1, ..Diagnosis::default() };
    diagnosis.problems.extend(checks::operation_log(repo));
    diagnosis.problems.extend(checks::unwritable(repo));
    // First: until they are back, they are missing.
    diagnosis.problems.extend(checks::objects_aside(repo, options.fix));
    diagnosis.problems.extend(chains::chains(context, options.fix)?);
    diagnosis.problems.extend(objects::head(context, options.fix)?);
    diagnosis.problems.extend(checks::other_refs(repo)?);
    diagnosis.problems.extend(fetched::logs(repo, options.fix)?);
    diagnosis.problems.extend(fetched::checkpoints(repo, options.fix)?);
    diagnosis.problems.extend(locks::locks(repo, options.fix));
    diagnosis.problems.extend(checks::damaged_sessions(repo));
    diagnosis.problems.extend(checks::damaged_turns(repo));
    diagnosis.problems.extend(checks::unreadable_turns(repo));
    diagnosis.problems.extend(checks::condensations(repo));
    diagnosis.problems.extend(checks::journals(repo));
    diagnosis.problems.extend(strays::strays(context, options.fix)?);
    diagnosis.problems.extend(checks::abandoned(context, options.fix)?);
    diagnosis.problems.extend(checks::hooks(context)?);
    diagnosis.problems.extend(refspecs::refspecs(repo));
    diagnosis.problems.extend(index::index(repo));
    if salvage::refuse_without_head(repo).is_err() {
        // git cannot walk the commits, whose records would all seem lost.
        return Ok(diagnosis);
    }
    let mut survey = Survey::new(context)?;
    diagnosis.commits = survey.reachable.len();
    diagnosis.records = survey.records.len() + survey.of_others.len();
    diagnosis.problems.extend(survey.damaged.iter().cloned());
    if survey.is_log_damaged {
        return Ok(diagnosis);
    }
    if options.relink {
        diagnosis.relinked = relink::relink(context, &survey)?;
        let found: Vec<RecordId> = diagnosis.relinked.iter().map(|relinked| relinked.record).collect();
        survey.lost.retain(|id| !found.contains(id));
    }
    diagnosis.problems.extend(trailers_without_record(context, &survey)?);
    for id in &survey.lost {
        let problem =
            Problem::new("record-without-commit", id.as_str(), "no ref leads to a commit of this record").note();
        diagnosis.problems.push(if options.relink {
            problem
        } else {
            problem.hint("if its commits were rewritten, 'git checkpoint doctor --relink' finds them again")
        });
    }
    diagnosis.problems.extend(mend_index(context, &survey, options.fix)?);
    Ok(diagnosis)
}

fn trailers_without_record(context: &Context, survey: &Survey) -> Result<Vec<Problem>> {
    let is_unknown = |id: &RecordId| {
        let is_damaged = survey.damaged.iter().any(|problem| problem.subject == id.as_str());
        !survey.records.contains_key(id) && !survey.of_others.contains(id) && !is_damaged
    };
    let unknown: Vec<_> = survey.named.iter().filter(|(_, id)| is_unknown(id)).copied().collect();
    if let Some(to_fetch) = ToFetch::of(context, &unknown)? {
        return Ok(vec![records_to_fetch(&to_fetch)]);
    }
    if !survey.has_log && !unknown.is_empty() {
        let message = match unknown.len() {
            1 => "a commit names a record, but there are none here".to_owned(),
            count => format!("{count} commits name records, but there are none here"),
        };
        let problem = Problem::new("trailer-without-record", refname::HISTORY, message);
        return Ok(vec![problem.hint(refname::FETCH)]);
    }
    let problem = |(commit, id): &(ObjectId, RecordId)| {
        Problem::new(
            "trailer-without-record",
            commit.to_string(),
            format!("it names the record {id}, which is not here"),
        )
        .hint("if others made the commit, their records may not have been fetched")
    };
    Ok(unknown.iter().map(problem).collect())
}

/// Returns the note that a remote may have records that are not here. Which of them it has is known once it was asked.
fn records_to_fetch(found: &ToFetch) -> Problem {
    let is_one = |count| count == 1;
    let commits =
        if is_one(found.commits) { "a commit names".to_owned() } else { format!("{} commits name", found.commits) };
    let records = if is_one(found.records) {
        "a record that is".to_owned()
    } else {
        format!("{} records that are", found.records)
    };
    let (from, fetch) = match &found.remote {
        Some(remote) => (format!("'{}'", printable(remote.as_str().into())), shell_word(remote)),
        None => ("a remote".to_owned(), "<remote>".to_owned()),
    };
    let them = if is_one(found.records) { "it" } else { "them" };
    let message = format!("{commits} {records} not here, and {from} may have {them}");

    let hint = format!("'git checkpoint fetch {fetch}' gets those that it has");
    Problem::new("records-to-fetch", refname::HISTORY, message).note().hint(hint)
}

fn mend_index(context: &Context, survey: &Survey, fix: bool) -> Result<Vec<Problem>> {
    let links = survey.missing_lines.clone();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let message = format!("the index of commits lacks {} of them", links.len());
    let mut problem = Problem::new("index-incomplete", refname::HISTORY, message)
        .hint("'git checkpoint doctor --fix' writes what is missing");
    if fix {
        records::append(context, Additions { records: Vec::new(), links })?;
        problem.fixed = true;
    }
    Ok(vec![problem])
}
