//! Identifies a process, to find out later whether it still lives: another process may have its pid by then.

use serde::{Deserialize, Serialize};

/// A process, as all processes with the same pid namespace know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in the kernel's ticks since the machine was started.
    pub start: u64,
    /// Where pid and start time are valid.
    #[serde(flatten)]
    pub place: Place,
}

/// The machine, boot and namespace in which a pid is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Place {
    /// The host's name.
    pub host: String,
    /// The kernel's id of the time since the machine was started.
    pub boot: String,
    /// The namespace of its pid: each container has its own.
    pub namespace: String,
    /// The machine's id, which survives a reboot; empty if there is none, or if other machines may share it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
}

/// Whether a process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// Unknown from here.
    Unknown,
}

/// Whether a command that an agent started still runs, as far as the processes of the agent show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandState {
    /// The agent has a process that it started no earlier than the command.
    Running,
    /// The agent has no such process.
    NotRunning,
    /// The agent is dead.
    AgentDead,
    /// Unknown from here.
    Unknown,
}

impl Process {
    /// Returns whether the process lives, as seen from `here`. `start_now` is the start time of the process that has
    /// its pid now.
    pub fn life(&self, here: &Place, start_now: Option<u64>) -> Life {
        let Place { host, boot, namespace, machine } = &self.place;
        if *host != here.host || boot.is_empty() || here.boot.is_empty() {
            return Life::Unknown;
        }
        if *boot != here.boot {
            // Machines that share a file system may share a host name, too. Only for this machine, another boot id
            // proves a reboot.
            let is_this_machine = !machine.is_empty() && *machine == here.machine;
            return if is_this_machine { Life::Dead } else { Life::Unknown };
        }
        if *namespace != here.namespace {
            return Life::Unknown;
        }
        if start_now == Some(self.start) { Life::Alive } else { Life::Dead }
    }
}

/// Returns true if a process last seen at `seen` is gone at `now` (Unix seconds): it is dead, or its state is unknown
/// and it has been silent for longer than `stale_after`.
pub(crate) fn is_gone(life: Life, seen: i64, now: i64, stale_after: std::time::Duration) -> bool {
    match life {
        Life::Alive => false,
        Life::Dead => true,
        // A clock that was set back must not keep it alive forever.
        Life::Unknown => now.abs_diff(seen) > stale_after.as_secs(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn place(host: &str, boot: &str, namespace: &str) -> Place {
        Place { host: host.into(), boot: boot.into(), namespace: namespace.into(), machine: "m".into() }
    }

    #[rstest::rstest]
    #[case::lives(("h", "b", "n"), Some(7), Life::Alive)]
    #[case::gone(("h", "b", "n"), None, Life::Dead)]
    #[case::pid_of_another(("h", "b", "n"), Some(8), Life::Dead)]
    #[case::restarted(("h", "c", "n"), Some(7), Life::Dead)]
    #[case::other_host(("i", "b", "n"), Some(7), Life::Unknown)]
    #[case::other_container(("h", "b", "m"), None, Life::Unknown)]
    fn life_is_judged_where_pids_mean_something(
        #[case] here: (&str, &str, &str),
        #[case] start_now: Option<u64>,
        #[case] expected: Life,
    ) {
        let process = Process { pid: 5, start: 7, place: place("h", "b", "n") };
        assert_eq!(process.life(&place(here.0, here.1, here.2), start_now), expected);
    }

    #[rstest::rstest]
    #[case::same("m", "m", Life::Dead)]
    #[case::another("m", "o", Life::Unknown)]
    #[case::not_known("", "", Life::Unknown)]
    #[case::not_known_then("", "m", Life::Unknown)]
    #[case::not_known_now("m", "", Life::Unknown)]
    fn only_the_same_machine_has_been_started_anew(#[case] then: &str, #[case] now: &str, #[case] expected: Life) {
        let at = |machine: &str, boot: &str| Place { machine: machine.into(), ..place("h", boot, "n") };
        let process = Process { pid: 5, start: 7, place: at(then, "b") };
        assert_eq!(process.life(&at(now, "c"), Some(7)), expected);
        assert_eq!(process.life(&at(now, "b"), None), Life::Dead, "as long as it runs, its boot tells");
    }

    #[test]
    fn without_a_boot_nothing_is_known() {
        let process = Process { pid: 5, start: 7, place: place("h", "", "") };
        assert_eq!(process.life(&place("h", "", ""), Some(7)), Life::Unknown);
        let process = Process { pid: 5, start: 7, place: place("h", "b", "") };
        assert_eq!(process.life(&place("h", "", ""), Some(7)), Life::Unknown);
    }

    #[rstest::rstest]
    #[case::alive_however_silent(Life::Alive, 0, false)]
    #[case::dead_at_once(Life::Dead, 1000, true)]
    #[case::unknown_before(Life::Unknown, 940, false)]
    #[case::unknown_after(Life::Unknown, 939, true)]
    #[case::clock_set_back_a_little(Life::Unknown, 1060, false)]
    #[case::clock_set_back_far(Life::Unknown, 1061, true)]
    fn a_process_of_unknown_life_is_gone_after_stale_after(
        #[case] life: Life,
        #[case] seen: i64,
        #[case] expected: bool,
    ) {
        assert_eq!(is_gone(life, seen, 1000, Duration::from_secs(60)), expected);
    }
}
