//! Random changes of a worktree: every save sees what git sees, warm and cold.

use proptest::prelude::*;

use super::bench::Bench;

/// One change; applied by a shell, so that paths of any kind of file may be in its way.
#[derive(Clone, Debug)]
enum Change {
    Write(usize, u8),
    Append(usize),
    Delete(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Chmod(usize, bool),
    Directory(usize),
    Ignore(usize, bool),
    Stage(usize),
    Unstage(usize),
    Commit,
    IntentToAdd(usize),
    Touch(usize),
    Git(usize),
}

/// Names that meet each other: files that become directories, neighbours in the order of trees.
const PATHS: [&str; 14] = [
    "a",
    "a/b",
    "a/b/c",
    "a.b",
    "a-",
    "a0",
    "d/x",
    "d/y",
    "d/e/f",
    "d.e",
    "x.log",
    "d/x.log",
    "a/.gitignore",
    "long name",
];

const RULES: [&str; 6] = ["*.log", "/a", "d/e/", "!x.log", "d/*", "b"];

/// What else changes files or the index, and may fail.
const GIT: [&str; 9] = [
    "reset -q",
    "reset -q --hard",
    "stash push -q",
    "stash push -q -u",
    "stash pop -q",
    "clean -qfd",
    "checkout -q .",
    "commit -qam all",
    "update-index -q --refresh",
];

impl Change {
    fn script(&self) -> String {
        let path = |at: &usize| format!("'{}'", PATHS[*at]);
        // Makes room: what is in the way of the path's directory goes.
        let room = |at: &usize| {
            let path = PATHS[*at];
            let parents = path.match_indices('/').map(|(slash, _)| &path[..slash]);
            parents
                .map(|parent| {
                    format!("test -d '{parent}' -a ! -L '{parent}' || {{ rm -rf '{parent}'; mkdir '{parent}'; }}; ")
                })
                .collect::<String>()
        };
        match self {
            Self::Write(at, byte) => format!("{}rm -rf {p}; echo {byte} >{p}", room(at), p = path(at)),
            Self::Append(at) => format!("test ! -f {p} -o -L {p} || echo more >>{p}", p = path(at)),
            // A link that leads to itself has nothing below it to delete.
            Self::Delete(at) => format!("rm -rf {} 2>/dev/null || true", path(at)),
            Self::Rename(from, to) => format!(
                "test ! -e {f} || {{ mv {f} t; {}rm -rf {t}; mv t {t}; }}",
                room(to),
                f = path(from),
                t = path(to)
            ),
            Self::Link(at, to) => format!("{}rm -rf {p}; ln -s {} {p}", room(at), path(to), p = path(at)),
            Self::Chmod(at, on) => {
                format!("test ! -f {p} -o -L {p} || chmod {}x {p}", if *on { '+' } else { '-' }, p = path(at))
            }
            Self::Directory(at) => format!("{}rm -rf {p}; mkdir {p}; echo in >{p}/in", room(at), p = path(at)),
            Self::Ignore(rule, on) if *on => format!("echo '{}' >>.gitignore", RULES[*rule]),
            Self::Ignore(..) => "rm -f .gitignore".into(),
            Self::Stage(at) => format!("git add -A -f {} 2>/dev/null || true", path(at)),
            Self::Unstage(at) => format!("git rm -rfq --cached {} 2>/dev/null || true", path(at)),
            Self::Commit => "git commit -qm x 2>/dev/null >&2 || true".into(),
            Self::IntentToAdd(at) => format!("git add -N {} 2>/dev/null || true", path(at)),
            Self::Git(at) => format!("git {} 2>/dev/null >&2 || true", GIT[*at]),
            Self::Touch(at) => format!("test ! -e {p} || touch {p}", p = path(at)),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let path = || 0..PATHS.len();
    prop_oneof![
        6 => (path(), 0..3u8).prop_map(|(at, byte)| Change::Write(at, byte)),
        2 => path().prop_map(Change::Append),
        3 => path().prop_map(Change::Delete),
        2 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => (path(), path()).prop_map(|(at, to)| Change::Link(at, to)),
        1 => (path(), any::<bool>()).prop_map(|(at, on)| Change::Chmod(at, on)),
        1 => path().prop_map(Change::Directory),
        1 => (0..RULES.len(), any::<bool>()).prop_map(|(rule, on)| Change::Ignore(rule, on)),
        1 => path().prop_map(Change::Stage),
        1 => path().prop_map(Change::Unstage),
        1 => Just(Change::Commit),
        1 => path().prop_map(Change::IntentToAdd),
        1 => path().prop_map(Change::Touch),
        2 => (0..GIT.len()).prop_map(Change::Git),
    ]
}

/// More with `SAVE_CASES=200`.
fn cases() -> u32 {
    std::env::var("SAVE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn saves_see_what_git_sees(rounds in prop::collection::vec(prop::collection::vec(change(), 1..8), 1..7), is_unborn in any::<bool>()) {
        let bench = Bench::new(if is_unborn { "init" } else { "init; echo a >a; mkdir d; echo x >d/x; echo log >x.log; commit" });
        for (number, round) in rounds.iter().enumerate() {
            let script: Vec<_> = round.iter().map(Change::script).collect();
            bench.run(&script.join("\n"));
            if number + 1 == rounds.len() {
                bench.save_warm_and_cold();
            } else {
                bench.save();
            }
        }
    }
}
