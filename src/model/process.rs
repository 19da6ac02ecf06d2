//! Who a process is, so that it can be told later whether it still lives: its pid alone may be another's by then.

use serde::{Deserialize, Serialize};

/// A process, as it is known to all who share its pids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in the kernel's ticks since the machine was started.
    pub start: u64,
    /// Where pid and start mean something.
    #[serde(flatten)]
    pub place: Place,
}

/// What gives a pid its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Place {
    /// The host's name.
    pub host: String,
    /// The kernel's id of the time since the machine was started.
    pub boot: String,
    /// The namespace of pids: a container has one of its own.
    pub namespace: String,
}

/// Whether a process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// That cannot be told from here.
    Unknown,
}

impl Process {
    /// Returns whether it lives, as seen from `here`, where the process with its pid began at `start_now`, if there is one.
    pub fn life(&self, here: &Place, start_now: Option<u64>) -> Life {
        let Place { host, boot, namespace } = &self.place;
        // A name that many machines have says nothing.
        if *host != here.host || ["", "localhost"].contains(&host.as_str()) && *boot != here.boot || boot.is_empty() {
            return Life::Unknown;
        }
        if *boot != here.boot {
            return Life::Dead;
        }
        if *namespace != here.namespace {
            return Life::Unknown;
        }
        if start_now == Some(self.start) { Life::Alive } else { Life::Dead }
    }
}

/// Returns true if whoever gave the last sign of life at `seen` is gone at `now` (Unix seconds): it is dead, or silent for
/// longer than `stale_after` where nobody can tell.
pub fn is_gone(life: Life, seen: i64, now: i64, stale_after: std::time::Duration) -> bool {
    match life {
        Life::Alive => false,
        Life::Dead => true,
        // A clock that was set back must not make it live for ever.
        Life::Unknown => now.abs_diff(seen) > stale_after.as_secs(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn place(host: &str, boot: &str, namespace: &str) -> Place {
        Place { host: host.into(), boot: boot.into(), namespace: namespace.into() }
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

    #[test]
    fn a_name_that_many_have_says_nothing() {
        let process = Process { pid: 5, start: 7, place: place("localhost", "b", "n") };
        assert_eq!(process.life(&place("localhost", "c", "n"), None), Life::Unknown);
        assert_eq!(process.life(&place("localhost", "b", "n"), None), Life::Dead);
        let process = Process { pid: 5, start: 7, place: place("h", "", "") };
        assert_eq!(process.life(&place("h", "", ""), Some(7)), Life::Unknown);
    }

    #[rstest::rstest]
    #[case::alive_however_silent(Life::Alive, 0, false)]
    #[case::dead_at_once(Life::Dead, 1000, true)]
    #[case::unknown_before(Life::Unknown, 940, false)]
    #[case::unknown_after(Life::Unknown, 939, true)]
    #[case::clock_set_back_a_little(Life::Unknown, 1060, false)]
    #[case::clock_set_back_far(Life::Unknown, 1061, true)]
    fn what_is_unknown_is_gone_after_a_while(#[case] life: Life, #[case] seen: i64, #[case] expected: bool) {
        assert_eq!(is_gone(life, seen, 1000, Duration::from_secs(60)), expected);
    }
}
