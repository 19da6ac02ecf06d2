//! `round branches` and `round context`.

use serde_json::{Map, Value, json};

use super::super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    ops::rounds::{self, OfAgent, Summary},
};

#[derive(clap::Args, Debug)]
pub(super) struct Branches {
    /// Leave out the branch of this agent
    #[arg(long, value_name = "name")]
    exclude: Option<String>,
    /// Only those of this group
    #[arg(long, value_name = "name")]
    group: Option<String>,
    /// Say how many files and lines each branch has changed
    #[arg(long)]
    summary: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct ContextOf {
    /// The round
    #[arg(value_name = "round")]
    name: String,
    /// Print what the agent should know when it begins anew
    #[arg(long)]
    restart: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Branches {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let all = rounds::branches(&context, self.group.as_deref(), self.exclude.as_deref())?;
        let summary = |it: &OfAgent| {
            if self.summary { rounds::summary(&context, it.base.as_deref(), &it.branch).map(Some) } else { Ok(None) }
        };
        let summaries = all.iter().map(summary).collect::<Result<Vec<_>>>()?;
        if self.json {
            let branches: Map<String, Value> =
                all.iter().map(|it| (it.agent.clone(), it.branch.as_str().into())).collect();
            let mut object = json!({ "version": 1, "branches": branches });
            if self.summary {
                let named = all.iter().zip(&summaries).map(|(it, summary)| (it.agent.clone(), json!(summary)));
                object["summary"] = Value::Object(named.collect());
            }
            call.out.json(&object)?;
            return Ok(Exit::Done);
        }
        for (it, summary) in all.iter().zip(summaries) {
            let mut line = format!("{}: {}", printable(&it.agent), printable(&it.branch));
            if let Some(Summary { files, added, removed }) = summary {
                line.push_str(&format!("  {} (+{added} -{removed})", phrase::count(files, "file")));
            }
            call.out.line(&line)?;
        }
        Ok(Exit::Done)
    }
}

impl ContextOf {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let text =
            if self.restart { rounds::restart(&context, &self.name)? } else { rounds::prompt(&context, &self.name)? };
        if self.json {
            call.out.json(&json!({ "version": 1, "text": text }))?;
        } else {
            call.out.text(&text)?;
        }
        Ok(Exit::Done)
    }
}
