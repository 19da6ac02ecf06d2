//! A save through the library in a process of its own, so that home and environment are those of the test's world.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use bstr::{BString, ByteSlice as _};
use git_checkpoint::{
    Author, Context, Contributor, Origin, Recurse, SaveOptions, Saved,
    testing::{context_from_environment, repo},
};
use serde_json::{Value, json};

/// A save to be taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    pub(super) paths: Option<Vec<BString>>,
    pub(super) message: Option<String>,
    pub(super) session: Option<String>,
    pub(super) verify: bool,
    pub(super) allow_empty: bool,
    pub(super) force: bool,
    /// Honour `GIT_*`, as the command does.
    pub(super) from_environment: bool,
    pub(super) max_file_size: Option<u64>,
    pub(super) max_untracked_files: Option<u64>,
    pub(super) min_free_space: Option<u64>,
    /// Milliseconds.
    pub(super) lock_timeout: Option<u64>,
    pub(super) exclude: Vec<String>,
    pub(super) protected_paths: Option<Vec<PathBuf>>,
    /// Once more after the first, without the stat cache; the answer has this one's as `cold`.
    pub(super) and_cold: bool,
    /// How many times, one after the other.
    pub(super) times: Option<u64>,
    pub(super) environment: Vec<(String, String)>,
}

/// Why a save failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

const ORDER: &str = "SAVE_ORDER";
const ANSWER: &str = "SAVE_ANSWER";

impl Order {
    /// Takes the checkpoint of its current directory in a child process started with `command`.
    pub(super) fn run(&self, command: Command, answer: &Path) -> Result<Value, Failure> {
        let mut command = self.prepared(command, answer);
        let output = command.output().expect("this program runs");
        assert!(output.status.success(), "{}{}", output.stdout.as_bstr(), output.stderr.as_bstr());
        read_answer(answer)
    }

    /// Returns `command` so that it saves.
    pub(super) fn prepared(&self, mut command: Command, answer: &Path) -> Command {
        command
            .args(["--exact", "ops::save::child::saves_as_its_order_says", "--ignored", "--nocapture", "--quiet"])
            .env(ORDER, self.to_json().to_string())
            .env(ANSWER, answer)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn to_json(&self) -> Value {
        let bytes = |path: &BString| json!(path.to_vec());
        json!({
            "paths": self.paths.as_ref().map(|paths| paths.iter().map(bytes).collect::<Vec<_>>()),
            "message": self.message,
            "session": self.session,
            "verify": self.verify,
            "allow_empty": self.allow_empty,
            "force": self.force,
            "from_environment": self.from_environment,
            "max_file_size": self.max_file_size,
            "max_untracked_files": self.max_untracked_files,
            "min_free_space": self.min_free_space,
            "lock_timeout": self.lock_timeout,
            "exclude": self.exclude,
            "protected_paths": self.protected_paths,
            "times": self.times,
            "and_cold": self.and_cold,
        })
    }
}

pub(super) fn read_answer(answer: &Path) -> Result<Value, Failure> {
    let text = std::fs::read(answer).expect("the child has answered");
    let answer: Value = serde_json::from_slice(&text).expect("the answer is JSON");
    let text = |key: &str| answer[key].as_str().map(str::to_owned);
    match text("kind") {
        Some(kind) => Err(Failure { kind, message: text("message").unwrap_or_default(), hint: text("hint") }),
        None => Ok(answer),
    }
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn saves_as_its_order_says() {
    let (Some(order), Some(answer)) = (std::env::var_os(ORDER), std::env::var_os(ANSWER)) else { return };
    let order: Value = serde_json::from_str(order.to_str().expect("UTF-8")).expect("an order is JSON");
    let mut last = json!(null);
    let answer_of = |outcome| match outcome {
        Ok(saved) => serde_json::to_value::<Saved>(saved).expect("it is data"),
        Err(error) => answer_of_error(&error),
    };
    for _ in 0..order["times"].as_u64().unwrap_or(1) {
        last = answer_of(carry_out(&order));
        if last["kind"].is_string() {
            break;
        }
    }
    if order["and_cold"] == true && last["kind"].is_null() {
        let here = std::env::current_dir().expect("there is one");
        let context = Context::open(&here).expect("it was opened before");
        let cache = repo(&context).git_dir().join("checkpoint/index");
        std::fs::remove_file(cache).expect("a pass stores it");
        last["cold"] = answer_of(carry_out(&order));
    }
    std::fs::write(answer, last.to_string()).expect("the answer can be written");
}

fn answer_of_error(error: &git_checkpoint::Error) -> Value {
    json!({"kind": format!("{:?}", error.kind()), "message": error.to_string(), "hint": error.hint()})
}

fn carry_out(order: &Value) -> git_checkpoint::Result<Saved> {
    let here = std::env::current_dir().expect("there is one");
    let mut context =
        if order["from_environment"] == true { context_from_environment(&here)? } else { Context::open(&here)? };
    let settings = &mut context.settings;
    let limit = |key: &str, place: &mut u64| *place = order[key].as_u64().unwrap_or(*place);
    limit("max_file_size", &mut settings.save.max_file_size);
    limit("max_untracked_files", &mut settings.save.max_untracked_files);
    // The disk of the machine that runs the tests says nothing about the code.
    settings.save.min_free_space = order["min_free_space"].as_u64().unwrap_or(0);
    if let Some(milliseconds) = order["lock_timeout"].as_u64() {
        settings.lock_timeout = std::time::Duration::from_millis(milliseconds);
    }
    let texts = |key: &str| -> Option<Vec<String>> {
        Some(order[key].as_array()?.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
    };
    settings.save.exclude = texts("exclude").unwrap_or_default();
    if let Some(paths) = texts("protected_paths") {
        settings.save.protected_paths = paths.into_iter().map(PathBuf::from).collect();
    }
    let bytes = |path: &Value| -> BString {
        let bytes = path.as_array().expect("a path is a list of bytes").iter();
        bytes.map(|byte| u8::try_from(byte.as_u64().expect("a byte")).expect("a byte")).collect::<Vec<_>>().into()
    };
    let session = order["session"].as_str().map(str::to_owned);
    let contributor = if session.is_some() { Contributor::Agent } else { Contributor::Human };
    let options = SaveOptions {
        message: order["message"].as_str().map(str::to_owned),
        author: Author::Is(Origin { contributor, session, ..Origin::default() }),
        paths: order["paths"].as_array().map(|paths| paths.iter().map(bytes).collect()),
        verify: order["verify"] == true,
        allow_empty: order["allow_empty"] == true,
        force: order["force"] == true,
        recurse_submodules: Recurse::No,
    };
    git_checkpoint::save(&context, &options)
}
