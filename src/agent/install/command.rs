//! The command line with which an agent calls us: writes it, and recognizes it.

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

/// Returns the program and the agent that `text` names, if it is exactly a command that we write: the result of
/// [`command`], possibly with an ending that an entry adds. A shell runs nothing else for such a text.
pub fn program_of(text: &str) -> Option<(String, String)> {
    let bare = [" || exit 0", "; exit 0"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
    let (program, agent) = bare.rsplit_once(" hook --agent ").filter(|_| is_our_command(bare))?;
    let quoted = program.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let program = quoted.map_or_else(|| program.to_owned(), |quoted| quoted.replace(r"'\''", "'"));
    (command(&program, agent) == bare).then(|| (program, agent.to_owned()))
}

/// Returns true if `command` is one that [`command`] returned, for whatever program and agent, or with what an entry
/// adds to it.
pub(super) fn is_our_command(command: &str) -> bool {
    let Some((program, rest)) = command.trim().rsplit_once(" hook --agent ") else { return false };
    let rest = [" || exit 0", "; exit 0"].iter().find_map(|end| rest.strip_suffix(end)).unwrap_or(rest);
    let is_agent = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let quoted = program.strip_prefix('\'').and_then(|program| program.strip_suffix('\''));
    let is_one_word = quoted.is_some() || !program.contains(char::is_whitespace);
    let program = quoted.unwrap_or(program);
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    is_agent && is_one_word && ["git-checkpoint", "git-checkpoint.exe"].contains(&name)
}
