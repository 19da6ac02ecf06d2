//! The guard before and after tool calls: git's side, jj's side, sessions that are gone.

mod crashed;
mod ground;
mod jj;
mod jj_managed;
mod jj_spared;
mod rows;

use std::{collections::BTreeMap, path::PathBuf};

use git_checkpoint::{
    Context,
    settings::Concurrency,
    testing::{
        model::{
            guard::{Code, Decision},
            turns::{Entry, Turns},
        },
        ops::{
            Purpose, Worktree,
            guard::{self, Verdict, Who},
            sessions,
        },
        repo,
    },
};
use ground::Ground;

/// Returns what the guard says before a call of `session`.
fn before(ground: &Ground, policy: Concurrency, session: &str, call: &str) -> Verdict {
    ground.at(policy, |worktree| guard::before_tool(worktree, &who(session, call)).expect("it can tell"))
}

/// The same after it.
fn after(ground: &Ground, policy: Concurrency, session: &str, call: &str) -> Verdict {
    ground.at(policy, |worktree| guard::after_tool(worktree, &who(session, call)).expect("it can tell"))
}

fn who<'a>(session: &'a str, call: &'a str) -> Who<'a> {
    Who { session, agent: Some("claude-code"), call: (!call.is_empty()).then_some(call), key: call }
}

/// Returns the code of a denial, after which nothing may be other than before; what is allowed is taken back.
fn denied(ground: &Ground, policy: Concurrency, session: &str) -> Option<Code> {
    let facts = ground.everything();
    let verdict = before(ground, policy, session, "t");
    if verdict.decision != Decision::Deny {
        ground.at(policy, |worktree| guard::release(worktree, session));
        return None;
    }
    assert_eq!(ground.everything(), facts, "a denial changes nothing");
    Some(verdict.report.expect("a denial says why").code)
}
