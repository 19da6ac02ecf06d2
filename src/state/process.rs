//! Processes as the kernel knows them (proc(5)): which process of an agent runs us, and whether it still lives.
//!
//! Where there is no `/proc`, nothing is known: `None`, and [`Life::Unknown`].

use std::{fs, ops::RangeInclusive, sync::OnceLock};

use crate::model::process::{CommandState, Life, Place, Process};

/// How far up the agent is looked for: there are a shell, git and maybe some wrappers in between.
const MOST_ANCESTORS: usize = 16;

/// Programs that end with the hook they run: no sign of the agent's life.
const BETWEEN: [&str; 20] = [
    "git-checkpoint",
    "git",
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "fish",
    "ash",
    "busybox",
    "csh",
    "tcsh",
    "nu",
    "env",
    "timeout",
    "sudo",
    "doas",
    "setsid",
    "xargs",
];

/// Programs that take in the children of those that are gone.
const REAPERS: [&str; 6] = ["systemd", "init", "launchd", "tini", "dumb-init", "docker-init"];

/// What the kernel reports about a process.
struct Stat {
    name: String,
    state: char,
    parent: u32,
    start: u64,
}

/// Returns the parent of the process `pid`.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    Some(stat(pid)?.parent)
}

/// What [`agent`] returns.
static AGENT: OnceLock<Option<Process>> = OnceLock::new();

/// Returns the agent's process: the nearest one above us, or we ourselves, that outlives a hook.
pub(crate) fn agent() -> Option<Process> {
    AGENT.get_or_init(find_agent).clone()
}

/// Lets [`agent`] return this process: it is no hook, but runs as long as the programs that it starts.
pub(crate) fn outlives_hooks() {
    AGENT.get_or_init(|| {
        let pid = std::process::id();
        stat(pid).map(|stat| Process { pid, start: stat.start, place: here() })
    });
}

/// Lets [`agent`] return none: what runs us does not run the agent.
pub(crate) fn is_unknown() {
    AGENT.get_or_init(|| None);
}

fn find_agent() -> Option<Process> {
    let mut pid = std::process::id();
    for _ in 0..MOST_ANCESTORS {
        let stat = stat(pid)?;
        if REAPERS.contains(&stat.name.as_str()) {
            return None;
        }
        if !BETWEEN.contains(&stat.name.as_str()) {
            return Some(Process { pid, start: stat.start, place: here() });
        }
        pid = stat.parent;
    }
    None
}

/// Returns whether `process` lives.
pub(crate) fn life(process: Option<&Process>) -> Life {
    let Some(process) = process else { return Life::Unknown };
    // What has ended and waits for its parent to ask is gone.
    let start = stat(process.pid).filter(|stat| !['Z', 'X'].contains(&stat.state)).map(|stat| stat.start);
    process.life(&here(), start)
}

/// A process that has started, so that another one with its pid later on is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pid: u32,
    /// When, in the kernel's ticks; none where it does not say.
    start: Option<u64>,
}

impl Started {
    /// Returns the process `pid`; none if it has ended.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let found = Self { pid, start: stat(pid).map(|stat| stat.start) };
        (!found.has_ended()).then_some(found)
    }

    /// Returns true if it has ended.
    pub(crate) fn has_ended(self) -> bool {
        match (stat(self.pid), self.start) {
            (Some(stat), Some(start)) => stat.start != start || ['Z', 'X'].contains(&stat.state),
            (None, Some(_)) => true,
            (_, None) => {
                let pid = rustix::process::Pid::from_raw(self.pid.cast_signed());
                pid.is_none_or(|pid| rustix::process::test_kill_process(pid).is_err())
            }
        }
    }

    /// Returns what [`Display`](std::fmt::Display) has written.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pid, start) = text.split_once(':')?;
        let start = if start.is_empty() { None } else { Some(start.parse().ok()?) };
        Some(Self { pid: pid.parse().ok()?, start })
    }
}

impl std::fmt::Display for Started {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.pid, self.start.map_or_else(String::new, |start| start.to_string()))
    }
}

/// Takes this process out of the session of the terminal, so that neither Ctrl-C nor the end of the terminal reaches it, and it cannot
/// ask there.
pub(crate) fn leave_terminal() {
    // The leader of a process group cannot; then it was started by hand.
    rustix::process::setsid().ok();
}

/// Returns when our own process began, in the kernel's ticks.
pub(crate) fn own_start() -> Option<u64> {
    stat(std::process::id()).map(|stat| stat.start)
}

/// Returns the state of a command that `agent` started within the ticks of `time`: it runs if the agent has a process that it
/// started then, itself or through a shell that it keeps.
///
/// If the agent is among our parent processes, the command has started us, unless `is_hook`: then the agent has started us to
/// report an event, maybe in the shell that also runs its commands.
pub(crate) fn command_state(agent: &Process, time: &RangeInclusive<u64>, is_hook: bool) -> CommandState {
    match life(Some(agent)) {
        Life::Alive => {}
        Life::Dead => return CommandState::AgentDead,
        Life::Unknown => return CommandState::Unknown,
    }
    let above = above();
    if !is_hook && above.contains(&agent.pid) {
        return CommandState::Running;
    }
    let mut parents = vec![agent.pid];
    while let Some(parent) = parents.pop() {
        let Some(children) = children(parent) else { return CommandState::Unknown };
        for pid in children {
            let Some(stat) = stat(pid).filter(|stat| !['Z', 'X'].contains(&stat.state)) else { continue };
            if stat.start >= *time.start() {
                if above.contains(&pid) || stat.start > *time.end() {
                    continue;
                }
                return CommandState::Running;
            }
            if BETWEEN.contains(&stat.name.as_str()) {
                parents.push(pid);
            }
        }
    }
    CommandState::NotRunning
}

/// Returns true if `process` lives, and has started us, or what has.
pub(crate) fn is_above_us(process: &Process) -> bool {
    life(Some(process)) == Life::Alive && above().contains(&process.pid)
}

/// Returns our own pid and those of the processes above us.
fn above() -> Vec<u32> {
    let mut above = vec![std::process::id()];
    while let Some(pid) = above.last().and_then(|pid| parent_of(*pid)).filter(|pid| *pid > 0) {
        above.push(pid);
    }
    above
}

/// Returns the children of the process `pid`, of all its threads; none where the kernel does not list them.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    let mut is_listed = false;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        if let Ok(list) = fs::read_to_string(thread.path().join("children")) {
            is_listed = true;
            children.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    // A shell may have ended meanwhile.
    (is_listed || stat(pid).is_none()).then_some(children)
}

/// Returns where our own pid means something.
pub(crate) fn here() -> Place {
    static HERE: OnceLock<Place> = OnceLock::new();
    HERE.get_or_init(find_here).clone()
}

/// The namespace of pids that a machine starts with (`PROC_PID_INIT_INO` in the kernel's `proc_ns.h`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

fn find_here() -> Place {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    // Containers have the machine-id(5) of their image, if any, and so many of them the same.
    let has_own = namespace.as_os_str() == FIRST_NAMESPACE;
    let machine = if has_own { fs::read_to_string("/etc/machine-id").unwrap_or_default() } else { String::new() };
    Place {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        boot: boot.trim().to_owned(),
        namespace: namespace.to_string_lossy().into_owned(),
        machine: Some(machine.trim()).filter(|id| is_machine_id(id)).unwrap_or_default().to_owned(),
    }
}

/// Before it has one, a machine may say so in words there.
fn is_machine_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name is in parentheses, and may hold some itself.
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (head, rest) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // The 22nd field of all; three are gone.
    let start = fields.nth(17)?.parse().ok()?;
    Some(Stat { name: name.to_owned(), state, parent, start })
}

#[cfg(test)]
mod tests {
    use std::process as run;

    use super::*;

    fn proc_is_there() -> bool {
        std::path::Path::new("/proc/self/stat").exists()
    }

    #[test]
    fn parents_are_found() {
        let parent = rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
        if proc_is_there() {
            assert_eq!(parent_of(std::process::id()), parent);
        }
    }

    #[test]
    fn we_live_and_others_do_not() {
        if !proc_is_there() {
            return;
        }
        let us = agent().expect("a test outlives a hook");
        assert_eq!(us.pid, std::process::id());
        assert_eq!(life(Some(&us)), Life::Alive);
        assert_eq!(life(Some(&Process { start: us.start + 1, ..us.clone() })), Life::Dead);
        assert_eq!(life(Some(&Process { pid: u32::MAX, ..us })), Life::Dead);
        assert_eq!(life(None), Life::Unknown);
    }

    #[test]
    fn a_command_runs_while_its_agent_has_a_process_that_it_started_since() {
        let Some(start) = own_start() else { return };
        #[expect(clippy::disallowed_methods, reason = "the test needs a process with a child")]
        let mut shell = run::Command::new("sh").args(["-c", "sleep 60; :"]).spawn().expect("it starts");
        let of = |pid| Process { pid, start: stat(pid).expect("it runs").start, place: here() };
        let agent = of(shell.id());
        let child = loop {
            match children(shell.id()).expect("the kernel lists them").first() {
                Some(pid) => break of(*pid),
                None => std::thread::yield_now(),
            }
        };
        let (since, later) = (start..=u64::MAX, child.start + 1..=u64::MAX);
        assert_eq!(command_state(&agent, &since, true), CommandState::Running);
        assert_eq!(command_state(&agent, &later, true), CommandState::NotRunning, "it was there before");
        let earlier = child.start - 2..=child.start - 1;
        assert_eq!(command_state(&agent, &earlier, true), CommandState::NotRunning, "it came afterwards");
        assert_eq!(command_state(&child, &since, true), CommandState::NotRunning, "it has none");
        let parent = of(parent_of(std::process::id()).expect("it has one"));
        assert_eq!(command_state(&parent, &since, false), CommandState::Running, "it has started us");
        assert_eq!(command_state(&Process { start: 1, ..agent }, &since, true), CommandState::AgentDead);
        for pid in [child.pid, shell.id()] {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("no zero");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours to wait for");
        }
        shell.wait().expect("it has ended");
    }

    #[test]
    fn a_zombie_process_is_dead() {
        if !proc_is_there() {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "the test needs a process that ends")]
        let mut child = run::Command::new("true").spawn().expect("it starts");
        let start = stat(child.id()).expect("it is ours to wait for").start;
        let process = Process { pid: child.id(), start, place: here() };
        while stat(process.pid).is_none_or(|stat| stat.state != 'Z') {
            std::thread::yield_now();
        }
        assert_eq!(life(Some(&process)), Life::Dead);
        child.wait().expect("it has ended");
        assert_eq!(life(Some(&process)), Life::Dead);
    }
}
