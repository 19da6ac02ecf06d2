//! Looks for what is not as it should be: records and commits, refs, files of ours; mends what can be mended.
//!
//! What takes time: every commit that refs lead to is read once for its message, every record once, and git walks
//! what only our refs lead to. Looking for lost commits again (`relink`) reads in addition the patches of those that touch
//! the same files.

mod chains;
mod checks;
mod locks;
mod objects;
mod refspecs;
mod relink;
mod strays;

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    records::{self, Additions, Log},
};
use crate::{
    error::Result,
    model::{
        id_text,
        record::{self, Link, Record, RecordId},
        refname,
    },
    state,
};

/// The newest commits are looked through; more are not.
const MOST_COMMITS: usize = 500_000;

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

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is lost or does not work.
    Problem,
    /// It happens in ordinary use.
    Note,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What it is, for programs.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The commit, record, ref or file.
    pub subject: String,
    /// What is wrong with it.
    pub message: String,
    /// How to mend it.
    pub hint: Option<String>,
    /// True if it has just been mended.
    pub fixed: bool,
}

/// A record whose commit was found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relinked {
    /// The record.
    pub record: RecordId,
    /// The commit.
    #[serde(serialize_with = "id_text::serialize")]
    pub commit: ObjectId,
    /// By what: `trailer`, `tree`, `patch` or `blob`.
    pub by: &'static str,
}

impl Problem {
    /// Returns something that is wrong with `subject`.
    pub fn new(code: &'static str, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let (subject, message) = (subject.into(), message.into());
        Self { code, severity: Severity::Problem, subject, message, hint: None, fixed: false }
    }

    /// Makes it something that happens in ordinary use.
    #[must_use]
    pub fn note(mut self) -> Self {
        self.severity = Severity::Note;
        self
    }

    /// Adds how to mend it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
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
    diagnosis.problems.extend(chains::chains(context, options.fix)?);
    diagnosis.problems.extend(locks::locks(repo, options.fix));
    diagnosis.problems.extend(checks::damaged_sessions(repo));
    diagnosis.problems.extend(checks::condensations(repo));
    diagnosis.problems.extend(checks::journals(repo));
    diagnosis.problems.extend(strays::strays(context, options.fix)?);
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

/// Commits and records beside each other.
struct Survey {
    /// Commits that refs lead to, newest first, with their place in `reachable`.
    reachable: Vec<crate::git::revision::Reachable>,
    known: HashSet<ObjectId>,
    /// Which records the messages of commits name.
    named: Vec<(ObjectId, RecordId)>,
    records: BTreeMap<RecordId, Record>,
    links: HashMap<RecordId, Vec<Link>>,
    /// Links that the index does not have.
    missing_lines: Vec<Link>,
    /// Records without a commit that a ref leads to.
    lost: Vec<RecordId>,
    has_log: bool,
    damaged: Vec<Problem>,
}

fn excluded() -> Vec<String> {
    vec![format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)]
}

impl Survey {
    fn new(context: &Context) -> Result<Self> {
        let repo = &context.repo;
        let reachable = repo.reachable(&excluded(), MOST_COMMITS)?;
        let known: HashSet<ObjectId> = reachable.iter().map(|commit| commit.id).collect();
        let mut named = Vec::new();
        for (commit, message) in repo.commits_with_key(record::TRAILER, &excluded())? {
            named.extend(record::ids_in_message(&message).into_iter().map(|id| (commit, id)));
        }
        let mut survey = Self {
            reachable,
            known,
            named,
            records: BTreeMap::new(),
            links: HashMap::new(),
            missing_lines: Vec::new(),
            lost: Vec::new(),
            has_log: false,
            damaged: Vec::new(),
        };
        if let Some(log) = Log::open(repo)? {
            survey.has_log = true;
            survey.read(context, &log)?;
        }
        Ok(survey)
    }

    fn read(&mut self, context: &Context, log: &Log<'_>) -> Result<()> {
        let named: HashSet<RecordId> = self.named.iter().map(|(_, id)| *id).collect();
        for id in log.all()? {
            context.check_interrupt()?;
            let read = log.find(&id).and_then(|record| Ok((record, log.links(&id)?)));
            let (record, links) = match read {
                Ok((Some(record), links)) => (record, links),
                Ok((None, _)) => continue,
                Err(error) => {
                    let causes = error.causes().join(": ");
                    self.damaged.push(Problem::new("record-damaged", id.as_str(), format!("{error}: {causes}")));
                    continue;
                }
            };
            for chunk in record.sessions.iter().flat_map(|part| &part.chunks) {
                if !context.repo.has_object(chunk.id) {
                    let message = format!("'{}' of '{}' is not here", chunk.path, chunk.reference);
                    self.damaged.push(Problem::new("transcript-missing", id.as_str(), message).note());
                }
            }
            for link in &links {
                if !log.linked_to(link.commit)?.contains(&id) {
                    self.missing_lines.push(link.clone());
                }
            }
            let is_linked = links.iter().any(|link| self.known.contains(&link.commit));
            if !is_linked && !named.contains(&id) {
                self.lost.push(id);
            }
            self.links.insert(id, links);
            self.records.insert(id, record);
        }
        Ok(())
    }
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
