//! `round branches` and `round context`.

use serde_json::{Map, Value, json};

use super::super::{Exit, call::Call, output::printable};
use crate::{error::Result, ops::rounds};

#[derive(clap::Args, Debug)]
pub(super) struct Branches {
    /// Leave out the branch of this agent
    #[arg(long, value_name = "name")]
    exclude: Option<String>,
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
        let all = rounds::branches(&context, self.exclude.as_deref())?;
        if self.json {
            let branches: Map<String, Value> = all.into_iter().map(|it| (it.agent, it.branch.into())).collect();
            call.out.json(&json!({ "version": 1, "branches": branches }))?;
            return Ok(Exit::Done);
        }
        all.iter().try_for_each(|it| call.out.line(&format!("{}: {}", printable(&it.agent), printable(&it.branch))))?;
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
