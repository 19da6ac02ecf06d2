//! What a tool may change, inferred from its name, its input, the text of a patch, and its response.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    event::{Reach, Tool},
    payload::{Payload, folded, is_word},
};

/// Tools that write the files their input names; names are folded.
const WRITING: &[&str] = &[
    "applypatch",
    "create",
    "createfile",
    "delete",
    "deletefile",
    "developeredit",
    "developertexteditor",
    "developerwrite",
    "edit",
    "editfile",
    "fswrite",
    "insertedit",
    "multiedit",
    "notebookedit",
    "patch",
    "replace",
    "replaceinfile",
    "strreplace",
    "strreplaceeditor",
    "undoedit",
    "write",
    "writecode",
    "writefile",
    "writetofile",
];

/// Tools that change nothing. Those that start a subagent are here if the subagent's own tool calls are reported.
const READING: &[&str] = &[
    "askuserquestion",
    "bashoutput",
    "codesearch",
    "collaborationfollowuptask",
    "collaborationinterruptagent",
    "collaborationlistagents",
    "collaborationsendmessage",
    "collaborationspawnagent",
    "collaborationwaitagent",
    "completetask",
    "croncreate",
    "crondelete",
    "cronlist",
    "enterplanmode",
    "exitplanmode",
    "fetch",
    "fsread",
    "glob",
    "googlewebsearch",
    "grep",
    "grepsearch",
    "invokeagent",
    "killshell",
    "list",
    "listdirectory",
    "listfiles",
    "listmcpresourcestool",
    "ls",
    "lsp",
    "notebookread",
    "read",
    "readcode",
    "readfile",
    "readmanyfiles",
    "readmcpresourcetool",
    "search",
    "searchfilecontent",
    "searchfiles",
    "taskcreate",
    "taskget",
    "tasklist",
    "taskoutput",
    "taskstop",
    "taskupdate",
    "todoread",
    "todowrite",
    "toolsearch",
    "updateplan",
    "updatetopic",
    "view",
    "viewimage",
    "webfetch",
    "websearch",
    "writetodos",
];

/// The fields of a file-writing tool's input or response that contain a path.
const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "notebookPath",
    "absolute_path",
    "absolutePath",
    "target_file",
    "targetFile",
    "new_path",
    "movePath",
];

/// Fields with several paths: lists of strings, lists of objects with a path, or an object whose keys are paths.
const LISTS: &[&str] = &["paths", "files", "file_paths", "edits", "changes"];

/// The fields that contain a patch.
const PATCHES: &[&str] = &["command", "patch", "patchText", "patch_text", "input", "diff"];

/// The fields that contain a command.
const COMMANDS: &[&str] = &["command", "cmd", "command_line", "commandLine", "script"];

/// Words by which a command deletes or overwrites files: programs, subcommands of git and jj, options, and what
/// languages call it.
const DESTROYING: &[&str] = &[
    "abandon",
    "abort",
    "apply",
    "checkout",
    "checkout-index",
    "clean",
    "clear-content",
    "cp",
    "dd",
    "del",
    "delete",
    "erase",
    "install",
    "ln",
    "move-item",
    "mv",
    "patch",
    "perl",
    "rd",
    "read-tree",
    "remove",
    "remove-item",
    "reset",
    "restore",
    "rm",
    "rmtree",
    "rsync",
    "sed",
    "shred",
    "stash",
    "switch",
    "tar",
    "tee",
    "truncate",
    "unlink",
    "unzip",
];

/// If a tool names more files than this, it counts as changing any path.
const MOST: usize = 1000;

/// A tool call as a dialect has read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use<'a> {
    pub(super) name: &'a str,
    pub(super) call: Option<&'a str>,
    pub(super) input: Option<&'a Value>,
    pub(super) response: Option<&'a Value>,
}

/// Returns the tool, and what it may change.
pub(super) fn tool(used: Use) -> Tool {
    let folded_name = folded(used.name);
    let parsed = parsed(used.input);
    let input = parsed.as_ref().or(used.input);
    let is_patch = ["applypatch", "patch"].contains(&folded_name.as_str());
    let mut found = Found::default();
    let reach = if is_view(&folded_name, input) || READING.contains(&folded_name.as_str()) {
        Reach::Nothing
    } else if !WRITING.contains(&folded_name.as_str()) {
        Reach::Anything
    } else {
        found.add_input(input, is_patch);
        found.add_response(used.response, is_patch);
        if found.is_sure() { Reach::Files } else { Reach::Anything }
    };
    let command = command(input).filter(|_| reach == Reach::Anything);
    Tool {
        name: if is_word(used.name) { used.name.to_owned() } else { "unknown".to_owned() },
        call: used.call.filter(|call| is_word(call)).map(str::to_owned),
        reach,
        paths: if reach == Reach::Files { found.paths.into_iter().collect() } else { Vec::new() },
        is_background: is_background(input, used.response),
        runs_command: command.is_some(),
        may_destroy: command.is_some_and(|command| may_destroy(&command)),
    }
}

/// Returns the text of the command that is run, if one is.
fn command(input: Option<&Value>) -> Option<String> {
    match input? {
        Value::String(text) => Some(text.clone()),
        Value::Object(map) => COMMANDS.iter().find_map(|key| match map.get(*key)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            _ => None,
        }),
        _ => None,
    }
}

/// Returns true if a word of the command is the name of a command that deletes or overwrites files.
///
/// The command is not parsed: a false alarm costs only a look at the worktree. Redirections, compilers and scripts also
/// overwrite files, and no word shows that.
pub(super) fn may_destroy(command: &str) -> bool {
    let words = command.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    words.map(|word| word.trim_start_matches('-')).any(|word| DESTROYING.iter().any(|it| it.eq_ignore_ascii_case(word)))
}

/// Returns true if the tool was asked to run in the background, or was moved there because it took too long.
fn is_background(input: Option<&Value>, response: Option<&Value>) -> bool {
    let object = |value: Option<&Value>, is_it: fn(Payload) -> bool| {
        value.and_then(Value::as_object).is_some_and(|map| is_it(Payload::new(map)))
    };
    let is_asked =
        |input: Payload| input.is_true(&["run_in_background", "is_background", "isBackground", "background"]);
    object(input, is_asked) || object(response, |response| response.has("backgroundTaskId"))
}

/// Returns the input if it is JSON in a string, as one agent sends it.
fn parsed(input: Option<&Value>) -> Option<Value> {
    let text = input?.as_str()?.trim_start();
    if !text.starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// One tool both shows and edits.
fn is_view(name: &str, input: Option<&Value>) -> bool {
    ["strreplaceeditor", "developertexteditor"].contains(&name)
        && input.and_then(|input| input.get("command")).and_then(Value::as_str) == Some("view")
}

/// The files that were named.
#[derive(Debug, Default)]
struct Found {
    paths: BTreeSet<String>,
    /// True if something was named that cannot be a path.
    is_broken: bool,
}

impl Found {
    fn is_sure(&self) -> bool {
        !self.is_broken && !self.paths.is_empty() && self.paths.len() <= MOST
    }

    fn add(&mut self, path: &str) {
        if !is_word(path) || path.len() > 4000 {
            self.is_broken = true;
        } else if self.paths.len() <= MOST && !self.paths.contains(path) {
            self.paths.insert(path.to_owned());
        }
    }

    fn add_input(&mut self, input: Option<&Value>, is_patch: bool) {
        match input {
            Some(Value::String(text)) if is_patch => self.add_patch(text),
            Some(Value::Object(map)) => {
                let input = Payload::new(map);
                self.add_named(input);
                let patches = PATCHES.iter().filter_map(|key| input.text(&[key]));
                for text in patches.filter(|text| is_patch || text.starts_with("*** Begin Patch")) {
                    self.add_patch(text);
                }
            }
            _ => {}
        }
    }

    fn add_response(&mut self, response: Option<&Value>, is_patch: bool) {
        match response {
            Some(Value::String(text)) if is_patch => self.add_summary(text),
            Some(Value::Object(map)) => {
                let response = Payload::new(map);
                self.add_named(response);
                self.add_named(response.object(&["returnDisplay"]));
                self.add_named(response.object(&["metadata"]));
                if let Some(text) = response.text(&["output"]).filter(|_| is_patch) {
                    self.add_summary(text);
                }
            }
            _ => {}
        }
    }

    fn add_named(&mut self, object: Payload) {
        for key in PATHS {
            if let Some(path) = object.text(&[key]).filter(|path| !path.is_empty()) {
                self.add(path);
            }
        }
        for key in LISTS {
            self.add_list(object, key);
        }
    }

    fn add_list(&mut self, object: Payload, key: &str) {
        for item in object.list(&[key]).iter().take(MOST + 1) {
            match item {
                Value::String(path) if key != "edits" => self.add(path),
                Value::Object(map) => {
                    for key in PATHS {
                        if let Some(path) = Payload::new(map).text(&[key]) {
                            self.add(path);
                        }
                    }
                }
                _ => {}
            }
        }
        if key == "changes" {
            for (path, _) in object.object(&[key]).entries().take(MOST + 1) {
                self.add(path);
            }
        }
    }

    /// Adds the files of a patch: `*** Add File: path`, and of a unified diff: `+++ b/path`.
    fn add_patch(&mut self, text: &str) {
        const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        let has_marks = text.lines().any(|line| line.starts_with("*** "));
        for line in text.lines() {
            if let Some(path) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
                self.add(path.trim_end());
            } else if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "))
                && !has_marks
            {
                let path = path.split('\t').next().unwrap_or_default().trim_end();
                match path.strip_prefix("b/").or_else(|| path.strip_prefix("a/")).unwrap_or(path) {
                    "/dev/null" => {}
                    path => self.add(path),
                }
            }
        }
    }

    /// Adds the files that the summary of an applied patch names, in lines such as `A path`.
    fn add_summary(&mut self, text: &str) {
        for line in text.lines() {
            if let Some(path) = ["A ", "M ", "D "].iter().find_map(|mark| line.strip_prefix(mark)) {
                self.add(path.trim_end());
            }
        }
    }
}
