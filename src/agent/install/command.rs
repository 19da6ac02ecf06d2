//! The command line with which an agent calls us: writes it, and recognizes it.
//!
//! A shell runs it. Where the program is gone, that is silent and changes nothing; the test for that is the shell's own, and
//! costs no process.

/// The program in files that are committed with a project: the shell looks for it in `$PATH`, as each machine has it elsewhere.
pub const IN_PATH: &str = "git-checkpoint";

/// Returns the command line by which `agent` calls `program`, for a shell.
pub fn command(program: &str, agent: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:\\".contains(c);
    let program = if !program.is_empty() && program.chars().all(is_plain) {
        program.to_owned()
    } else {
        format!("'{}'", program.replace('\'', r"'\''"))
    };
    format!("{program} hook --agent {agent}")
}

/// Returns the program in the command line `command`, as the shell is to see it.
fn word_of(command: &str) -> &str {
    command.rsplit_once(HOOK).map_or(command, |(program, _)| program)
}

/// Returns what a shell finds true if the program of `command` is there.
fn test_of(command: &str) -> String {
    match word_of(command) {
        IN_PATH => format!("command -v {IN_PATH} >/dev/null 2>&1"),
        word => format!("[ -x {word} ]"),
    }
}

/// Returns what runs `command` (the result of [`command()`]) with its exit code, and is successful if the program is gone.
pub(in crate::agent) fn if_there(command: &str) -> String {
    match word_of(command) {
        IN_PATH => format!("! {} || exec {command}", test_of(command)),
        word => format!("[ ! -x {word} ] || exec {command}"),
    }
}

/// Returns what runs `command`, and is successful whatever happens: for agents to which any other exit code is a denial.
pub(in crate::agent) fn whatever_happens(command: &str) -> String {
    format!("{} && {command} || exit 0", test_of(command))
}

/// Returns what runs `command` in a script, and fails if the program is gone.
pub(super) fn in_script(command: &str) -> String {
    format!("{{ {} && {command}; }}", test_of(command))
}

/// Returns the program and the agent that `text` names, if it is exactly a command that we write: the result of
/// [`command()`], possibly with what makes it silent where the program is gone. A shell runs nothing else for such a text.
pub fn program_of(text: &str) -> Option<(String, String)> {
    let bare = bare(text);
    let (program, agent) = bare.rsplit_once(HOOK).filter(|_| is_our_command(bare))?;
    let quoted = program.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let program = quoted.map_or_else(|| program.to_owned(), |quoted| quoted.replace(r"'\''", "'"));
    (command(&program, agent) == bare).then(|| (program, agent.to_owned()))
}

const HOOK: &str = " hook --agent ";

/// Returns `text` without what is around the result of [`command()`]. Earlier versions wrote that alone, or with an ending.
fn bare(text: &str) -> &str {
    let text = text.strip_prefix("{ ").and_then(|inner| inner.strip_suffix("; }")).unwrap_or(text);
    let text = [" || exit 0", "; exit 0"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    let guards = [
        ("[ ! -x ", " ] || exec "),
        ("[ -x ", " ] && "),
        ("! command -v ", " >/dev/null 2>&1 || exec "),
        ("command -v ", " >/dev/null 2>&1 && "),
    ];
    let after = |(start, middle): (&str, &str)| {
        let rest = text.strip_prefix(start)?;
        // The program comes twice, in the same words.
        let commands = rest.match_indices(middle).map(|(at, _)| (&rest[..at], &rest[at + middle.len()..]));
        commands.filter(|(program, command)| word_of(command) == *program).map(|(_, command)| command).next()
    };
    guards.into_iter().find_map(after).unwrap_or(text)
}

/// Returns true if `command` is one that [`command()`] returned, for whatever program and agent, or with what an entry
/// adds to it.
pub(super) fn is_our_command(command: &str) -> bool {
    let Some((program, agent)) = bare(command.trim()).rsplit_once(HOOK) else { return false };
    let is_agent = !agent.is_empty() && agent.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let quoted = program.strip_prefix('\'').and_then(|program| program.strip_suffix('\''));
    let is_one_word = quoted.is_some() || !program.contains(char::is_whitespace);
    let program = quoted.unwrap_or(program);
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    is_agent && is_one_word && ["git-checkpoint", "git-checkpoint.exe"].contains(&name)
}
