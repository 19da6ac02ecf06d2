//! Looks for what is not as it should be: records and commits, refs, files of ours; mends what can be mended.
//!
//! What takes time: every commit that refs lead to is read once for its message, every record once, and git walks
//! what only our refs lead to. Looking for lost commits again (`relink`) reads in addition the patches of those that touch
//! the same files.

mod checks;
mod locks;
mod objects;
mod problem;
mod refspecs;
mod relink;
mod survey;

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    records::{self, Additions},
    salvage::{self, Look},
    save,
    shadows::Live,
};
use crate::{
    error::Result,
    model::{record::RecordId, refname},
    state,
};
use survey::Survey;

pub use problem::{Problem, Severity};
pub use relink::Relinked;

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
    /// Returns true if nothing is left that somebody should look at.
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|problem| problem.fixed || problem.severity == Severity::Note)
    }
}

/// Returns what stands in the place of our directory, if that is no directory: nothing else can be looked at then.
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
    diagnosis.problems.extend(checks::unwritable(repo));
    diagnosis.problems.extend(checks::refs(repo)?);
    diagnosis.problems.extend(objects::objects(repo)?);
    if options.fix && diagnosis.problems.iter().any(is_of_chain) {
        set_chains_aside(context, &mut diagnosis.problems)?;
    }
    diagnosis.problems.extend(locks::locks(repo, options.fix));
    diagnosis.problems.extend(checks::damaged_sessions(repo));
    diagnosis.problems.extend(checks::condensations(repo));
    diagnosis.problems.extend(checks::journals(repo));
    diagnosis.problems.extend(checks::abandoned(context, options.fix)?);
    diagnosis.problems.extend(checks::hooks(repo)?);
    diagnosis.problems.extend(refspecs::refspecs(repo));
    let mut survey = Survey::new(context)?;
    diagnosis.commits = survey.reachable.len();
    diagnosis.records = survey.records.len();
    diagnosis.problems.extend(survey.damaged.iter().cloned());
    if options.relink {
        diagnosis.relinked = relink::relink(context, &survey)?;
        let found: Vec<RecordId> = diagnosis.relinked.iter().map(|relinked| relinked.record).collect();
        survey.lost.retain(|id| !found.contains(id));
    }
    diagnosis.problems.extend(trailers_without_record(&survey));
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

fn is_of_chain(problem: &Problem) -> bool {
    ["ref-broken", "objects-missing"].contains(&problem.code) && problem.subject.starts_with(refname::SHADOWS)
}

/// Sets the broken chains of this worktree aside.
fn set_chains_aside(context: &Context, problems: &mut [Problem]) -> Result<()> {
    let lock = save::lock_to_write(context)?;
    let mut live = Vec::new();
    for (name, id) in context.repo.refs_below(refname::SHADOWS)? {
        let shadow = refname::ShadowName::from_ref(&name).filter(|it| it.worktree == context.repo.worktree_id());
        let is_named = problems.iter().any(|problem| is_of_chain(problem) && problem.subject == name);
        live.extend(shadow.filter(|_| is_named).map(|name| Live { name, id }));
    }
    for live in live {
        salvage::set_aside(context, &live, Look::AtAll, &lock)?;
    }
    let done = context.broken();
    for problem in problems {
        if let Some(done) = done.iter().find(|done| done.shadow == problem.subject) {
            problem.fixed = true;
            let held = done.archive.as_ref().map_or_else(
                || "nothing of it can be read".to_owned(),
                |archive| format!("what can be read is in '{archive}'"),
            );
            problem.message = format!("{}; {held}", problem.message);
        }
    }
    Ok(())
}

fn trailers_without_record(survey: &Survey) -> Vec<Problem> {
    let is_unknown = |id: &RecordId| {
        let is_damaged = survey.damaged.iter().any(|problem| problem.subject == id.as_str());
        !survey.records.contains_key(id) && !is_damaged
    };
    let unknown: Vec<_> = survey.named.iter().filter(|(_, id)| is_unknown(id)).collect();
    if !survey.has_log && !unknown.is_empty() {
        let message = match unknown.len() {
            1 => "a commit names a record, but there are none here".to_owned(),
            count => format!("{count} commits name records, but there are none here"),
        };
        let problem = Problem::new("trailer-without-record", refname::HISTORY, message);
        return vec![problem.hint("if others made them, their records were not fetched")];
    }
    let problem = |(commit, id): &&(ObjectId, RecordId)| {
        Problem::new(
            "trailer-without-record",
            commit.to_string(),
            format!("it names the record {id}, which is not here"),
        )
        .hint("if others made the commit, their records may not have been fetched")
    };
    unknown.iter().map(problem).collect()
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
