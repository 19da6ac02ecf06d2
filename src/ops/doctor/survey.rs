//! All commits and all records, and how they are linked.

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;

use super::{objects, problem::Problem};
use crate::{
    error::{Kind, Result},
    git::revision::Reachable,
    model::{
        record::{self, Link, Record, RecordId},
        refname,
    },
    ops::{Context, records::Log},
};

/// So many commits, the newest, are looked through.
pub(super) const MOST_COMMITS: usize = 500_000;

/// Commits and records beside each other.
pub(super) struct Survey {
    /// Commits that refs lead to, newest first, with their place in `reachable`.
    pub(super) reachable: Vec<Reachable>,
    pub(super) known: HashSet<ObjectId>,
    /// Which records the messages of commits name.
    pub(super) named: Vec<(ObjectId, RecordId)>,
    pub(super) records: BTreeMap<RecordId, Record>,
    pub(super) links: HashMap<RecordId, Vec<Link>>,
    /// Links that the index does not have.
    pub(super) missing_lines: Vec<Link>,
    /// Records without a commit that a ref leads to.
    pub(super) lost: Vec<RecordId>,
    /// Records that others have made, and that were fetched.
    pub(super) of_others: HashSet<RecordId>,
    /// True if there are records, our own or those of others.
    pub(super) has_log: bool,
    /// True if the log of records is damaged: which records there are is unknown then.
    pub(super) is_log_damaged: bool,
    /// False if git could not walk all commits: which of them name records, and lead to them, is unknown then.
    pub(super) has_commits: bool,
    pub(super) damaged: Vec<Problem>,
}

/// Returns the patterns of refs that are ours: they do not count as leading to a commit.
pub(super) fn excluded() -> Vec<String> {
    vec![format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)]
}

impl Survey {
    pub(super) fn new(context: &Context) -> Result<Self> {
        let repo = &context.repo;
        let walked = repo.reachable(&excluded(), MOST_COMMITS);
        let walked = walked.and_then(|commits| Ok((commits, repo.commits_with_key(record::TRAILER, &excluded())?)));
        let (has_commits, damaged) = match &walked {
            Ok(_) => (true, Vec::new()),
            Err(error) => {
                context.check_interrupt()?;
                (false, vec![objects::unwalkable(repo, &excluded(), error)?])
            }
        };
        let (reachable, messages) = walked.unwrap_or_default();
        let known: HashSet<ObjectId> = reachable.iter().map(|commit| commit.id).collect();
        let mut named = Vec::new();
        for (commit, message) in messages {
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
            of_others: HashSet::new(),
            has_log: false,
            is_log_damaged: false,
            has_commits,
            damaged,
        };
        // The refs are looked at before, so that a log of which nothing can be read is reported already.
        let log = Log::own(repo);
        survey.is_log_damaged = log.as_ref().is_err_and(|error| error.kind() == Kind::Corrupt);
        if survey.is_log_damaged {
            return Ok(survey);
        }
        if let Some(log) = log? {
            survey.has_log = true;
            match survey.read(context, &log) {
                Err(error) if error.kind() == Kind::Corrupt => {
                    let why = error.causes().pop().unwrap_or_default();
                    let problem = Problem::new("record-damaged", refname::HISTORY, format!("{error}: {why}"));
                    survey.damaged.push(problem.hint("fetch or copy the objects from where they still are"));
                    survey.is_log_damaged = true;
                }
                read => read?,
            }
        }
        if let Some(log) = Log::open(repo)? {
            survey.read_others(context, &log)?;
        }
        Ok(survey)
    }

    /// Looks at what else `log` has, which has the records of others, too. These are not ours to link or to mend.
    fn read_others(&mut self, context: &Context, log: &Log<'_>) -> Result<()> {
        self.has_log = true;
        for id in log.all()? {
            context.check_interrupt()?;
            if log.remote_of(&id)?.is_some() {
                self.of_others.insert(id);
            }
            if log.has_others(&id)? {
                let message = "clones have made several versions of this record, and all are kept in its 'others'";
                self.damaged.push(Problem::new("record-versions", id.as_str(), message.to_owned()).note());
            }
        }
        Ok(())
    }

    /// Reads our own log.
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
                if link.only.iter().any(|path| record.files.iter().all(|file| file.path != *path)) {
                    let message = format!("its link to '{}' names a file that the record does not have", link.commit);
                    self.damaged.push(Problem::new("record-damaged", id.as_str(), message));
                }
            }
            let is_linked = links.iter().any(|link| self.known.contains(&link.commit));
            if self.has_commits && !is_linked && !named.contains(&id) {
                self.lost.push(id);
            }
            self.links.insert(id, links);
            self.records.insert(id, record);
        }
        Ok(())
    }
}
