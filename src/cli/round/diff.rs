//! `round diff`.

use std::ffi::OsString;

use serde_json::json;

use super::super::{
    Exit,
    call::Call,
    diff::{Shape, print},
    phrase,
};
use crate::{
    error::Result,
    model::path_text,
    ops::{
        compare::{self, DiffOptions},
        rounds::{self, Compared},
    },
};

#[derive(clap::Args, Debug)]
#[command(override_usage = "git checkpoint round diff [<option>...] <round> [-- <pathspec>...]")]
pub(super) struct DiffOf {
    /// The round
    #[arg(value_name = "round")]
    name: String,
    /// Only paths that one of these matches, after --
    #[arg(value_name = "pathspec", last = true)]
    paths: Vec<OsString>,
    /// Show how many lines changed in each file
    #[arg(long)]
    stat: bool,
    /// Show only letters and paths
    #[arg(long, conflicts_with = "stat")]
    name_status: bool,
    /// Show only paths
    #[arg(long, conflicts_with_all = ["stat", "name_status"])]
    name_only: bool,
    /// Print the changes as JSON
    #[arg(long, conflicts_with_all = ["stat", "name_status", "name_only"])]
    json: bool,
}

impl DiffOf {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let here = call.context()?;
        let sides = rounds::compared(&here, &self.name)?;
        let shape = if self.stat {
            Shape::Stat
        } else if self.name_only {
            Shape::NameOnly
        } else if self.name_status {
            Shape::NameStatus
        } else {
            Shape::patch()
        };
        let progress = call.progress("comparing");
        let mut all = Vec::new();
        for Compared { directory, context, from, to } in sides {
            let options = DiffOptions {
                from: Some(from.to_string()),
                to: to.map(|id| id.to_string()),
                pathspecs: Call::pathspecs(&context.repo, &self.paths)?,
                ..DiffOptions::default()
            };
            let options = if self.json { options } else { shape.needs(options) };
            all.push((directory, compare::diff(&context, &options)?));
        }
        drop(progress);
        if self.json {
            let contexts: Vec<_> = (all.iter())
                .map(|(path, it)| json!({ "context": path_text::escape(path.as_ref()), "diff": it }))
                .collect();
            call.out.json(&json!({ "version": 1, "contexts": contexts }))?;
            return Ok(Exit::Done);
        }
        call.start_pager(&here)?;
        let is_one = all.len() == 1;
        for (path, comparison) in &all {
            if !is_one {
                call.out.line(&format!("# {}", phrase::quoted(path)))?;
            }
            print(comparison, shape, false, call)?;
        }
        Ok(Exit::Done)
    }
}
