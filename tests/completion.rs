//! The Tab key, in the shells themselves: what they insert, and what they list.
//!
//! Where a shell is missing, its tests say that they are skipped; CI has all of them.

use std::fs;

use crate::support::{World, processes::described, terminal::Terminal};

/// What the user types before the Tab key, and the arguments that git, or the program, then gets.
const TYPED: &[(&str, &str)] = &[
    ("git checkp", "[checkpoint]"),
    ("git checkpoint resto", "[checkpoint][restore]"),
    ("git checkpoint restore --dry", "[checkpoint][restore][--dry-run]"),
    ("git checkpoint restore veri", "[checkpoint][restore][verified]"),
    ("git checkpoint restore ID", "[checkpoint][restore][WHOLE]"),
    ("git checkpoint restore @{1", "[checkpoint][restore][@{1}]"),
    ("git checkpoint op show @{0", "[checkpoint][op][show][@{0}]"),
    ("git checkpoint restore s-1@", "[checkpoint][restore][s-1@1]"),
    ("git checkpoint diff goo", "[checkpoint][diff][good]"),
    ("git checkpoint tag -d goo", "[checkpoint][tag][-d][good]"),
    ("git checkpoint note goo", "[checkpoint][note][good]"),
    ("git checkpoint tag -f good ID", "[checkpoint][tag][-f][good][WHOLE]"),
    ("git checkpoint list --tag=goo", "[checkpoint][list][--tag=good]"),
    ("git checkpoint diff base topic/o", "[checkpoint][diff][base][topic/one]"),
    ("git checkpoint explain topic/o", "[checkpoint][explain][topic/one]"),
    ("git checkpoint prompts s", "[checkpoint][prompts][s-1]"),
    ("git checkpoint list --session=s", "[checkpoint][list][--session=s-1]"),
    ("git checkpoint list --session s", "[checkpoint][list][--session][s-1]"),
    ("git checkpoint save -m 'a b' --agent claud", "[checkpoint][save][-m][a b][--agent][claude-code]"),
    ("git checkpoint config get save.max-f", "[checkpoint][config][get][save.max-file-size]"),
    ("git checkpoint config set jj det", "[checkpoint][config][set][jj][detect]"),
    ("git checkpoint man gitcheckpoint-w", "[checkpoint][man][gitcheckpoint-workflows]"),
    ("git checkpoint attribution --format mark", "[checkpoint][attribution][--format][markdown]"),
    ("git checkpoint blame tw", "[checkpoint][blame][two words.txt]"),
    ("git checkpoint restore base -- tw", "[checkpoint][restore][base][--][two words.txt]"),
    ("git -C ../repo checkpoint restore s-1@", "[-C][../repo][checkpoint][restore][s-1@1]"),
    ("git checkpoint restore s-1@1 src/go", "[checkpoint][restore][s-1@1][src/gone]"),
    ("git checkpoint diff base @ -- src/go", "[checkpoint][diff][base][@][--][src/gone]"),
    ("git checkpoint diff s-1@1 -- src/go", "[checkpoint][diff][s-1@1][--][src/gone]"),
    ("git checkpoint diff -- tw", "[checkpoint][diff][--][two words.txt]"),
    ("git -C src checkpoint restore s-1@1 go", "[-C][src][checkpoint][restore][s-1@1][gone]"),
    ("git -C src checkpoint blame ke", "[-C][src][checkpoint][blame][kept]"),
    ("git checkpoint restore base x", "[checkpoint][restore][base][x$(touch run);y]"),
    ("git-checkpoint restore veri", "[restore][verified]"),
    ("git-checkpoint -C ../repo list --session s", "[-C][../repo][list][--session][s-1]"),
];

/// Shell functions in the place of git and of the program: they write down the arguments that the user typed.
const WRITES_DOWN: &str = r#"
git() { case " $* " in *' checkpoint '*) git-checkpoint "$@" ;; *) command git "$@" ;; esac; }
git-checkpoint() { printf '[%s]' "$@" >~/typed; echo 'written down'; }
PS1='ready> '
stty cols 160 rows 50
"#;

/// Loads git's own completion for bash, and the script.
const BASH: &str = r#"
. "$GIT_IN_BASH"
eval "$(command git-checkpoint completions bash)"
"#;

/// Puts the script where zsh looks for functions.
const ZSH: &str = r"
mkdir -p ~/functions
command git-checkpoint completions zsh >~/functions/_git-checkpoint
fpath=(~/functions $fpath)
autoload -Uz compinit
compinit -u -D
LISTMAX=0
unsetopt beep
";

/// Where packages put git's own completion for bash.
const GIT_IN_BASH: &[&str] = &[
    "/usr/share/bash-completion/completions/git",
    "/usr/local/share/bash-completion/completions/git",
    "/usr/local/etc/bash_completion.d/git-completion.bash",
    "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
];

/// Returns false, and says so, if `program` is missing; in CI, that is a failure.
fn is_there(world: &World, program: &str) -> bool {
    let is_there = world.command("sh").args(["-c", "command -v \"$1\"", "sh", program]).output();
    let is_there = is_there.is_ok_and(|output| output.status.success());
    assert!(is_there || std::env::var_os("CI").is_none(), "there is no '{program}'");
    if !is_there {
        // Not by eprintln!, whose output is shown only if the test fails.
        let word = format!("SKIPPED: there is no '{program}' to complete command lines in\n");
        drop(std::io::Write::write_all(&mut std::io::stderr(), word.as_bytes()));
    }
    is_there
}

/// A repository with two checkpoints, two sessions, a tag, and names that must not be run, or printed unescaped. Returns the
/// abbreviated id of the latest checkpoint, too.
fn prepare() -> (World, String) {
    let world = World::new().with_clock();
    world.sh(
        r"git init -q -b main; printf '1\n' >'two words.txt'; mkdir src; touch src/gone src/kept 'x$(touch run);y'
        git add .; git commit -qm first
        git branch topic/one; git branch 'zz;touch${IFS}run'
        git checkpoint session start other; git checkpoint session prompt other -m $(printf 'a\033[31mred')
        git checkpoint session end other
        git checkpoint session start s-1 --agent claude-code; git checkpoint session prompt s-1 -m 'add colours'
        printf '2\n' >'two words.txt'; git checkpoint session stop s-1
        rm src/gone x*; printf '3\n' >'two words.txt'; git checkpoint save -m 'before: lunch'",
    );
    let shadow = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]);
    let id = shadow.trim_end().to_owned();
    world.git(&["update-ref", "refs/checkpoints/tags/good", &id]);
    let short = world.git(&["rev-parse", "--short", &id]).trim_end().to_owned();
    (world, short)
}

/// Starts the shell, which reads `rc` first, and waits for its prompt.
fn start(world: &World, shell: &str, rc: &str) -> Option<Terminal> {
    let is_bash = shell == "bash";
    let git = GIT_IN_BASH.iter().find(|file| fs::exists(file).is_ok_and(|is_there| is_there));
    if !is_there(world, "script")
        || !is_there(world, shell)
        || is_bash && !is_there(world, git.unwrap_or(&"git's completion"))
    {
        return None;
    }
    let (file, line) =
        if is_bash { (".bashrc", "bash --noprofile --rcfile ~/.bashrc -i") } else { (".zshrc", "zsh -d -i") };
    fs::write(world.root().join("home").join(file), format!("{rc}{WRITES_DOWN}")).expect("the home is there");
    let terminal = Terminal::start(world, line, |command| {
        command.env("GIT_IN_BASH", git.unwrap_or(&""));
    });
    terminal.wait_for("ready> ");
    Some(terminal)
}

/// Types `keys` into a command line and runs it; returns the arguments that the command got.
fn typed(world: &World, terminal: &mut Terminal, keys: &str) -> String {
    let file = world.root().join("home/typed");
    terminal.press(&format!("{keys}\t\r"));
    terminal.wait_for("written down");
    terminal.wait_for("ready> ");
    fs::read_to_string(file).expect("it is written")
}

#[rstest::rstest]
#[case::bash("bash", BASH)]
#[case::zsh("zsh", ZSH)]
fn a_shell_inserts(#[case] shell: &str, #[case] rc: &str) {
    let (world, id) = prepare();
    let Some(mut terminal) = start(&world, shell, rc) else { return };
    let mut wrong = Vec::new();
    for (keys, expected) in TYPED {
        let (keys, expected) = (keys.replace("ID", &id[..5]), expected.replace("WHOLE", &id));
        // For zsh, a brace by itself begins alternatives.
        let quoted = (shell == "zsh" && keys.contains('{')).then(|| keys.replace('{', "\\{"));
        for keys in [Some(keys), quoted].into_iter().flatten() {
            let found = typed(&world, &mut terminal, &keys);
            if found != expected {
                wrong.push(format!("{keys}: {found}, not {expected}"));
            }
        }
    }
    // Bash would insert the name as it is, and run what is in it.
    let hostile = if shell == "bash" { "zz" } else { "zz;touch${IFS}run" };
    assert_eq!(typed(&world, &mut terminal, "git checkpoint restore zz"), format!("[checkpoint][restore][{hostile}]"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!world.repo().join("run").exists(), "a branch was run");
}

#[rstest::rstest]
#[case::bash("bash", BASH)]
#[case::zsh("zsh", ZSH)]
fn a_shell_lists(#[case] shell: &str, #[case] rc: &str) {
    let (world, id) = prepare();
    let Some(mut terminal) = start(&world, shell, rc) else { return };
    terminal.press("git checkpoint restore \t\t");
    let shown = terminal.wait_for("topic/one");
    for text in [&id, "before: lunch", "s-1@1", "verified"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains("--dry-run"), "{shown}");
    terminal.press("\u{15}git checkpoint prompts \t\t");
    let shown = terminal.wait_for("red");
    assert!(shown.contains(r"a\u{1b}[31mred"), "{shown:?}");
}

/// A turn and its last checkpoint have one description. They have a line each all the same, and the newest is the first.
#[test]
fn zsh_keeps_the_order() {
    let (world, id) = prepare();
    let Some(mut terminal) = start(&world, "zsh", ZSH) else { return };
    terminal.press("git checkpoint restore \t");
    let shown = terminal.wait_for("topic/one");
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("  -- ")).map(str::trim_start).collect();
    let at = |name: &str| lines.iter().position(|line| line.contains(name)).unwrap_or_else(|| panic!("{shown}"));
    assert!(at(&id) < at("s-1@1") && at("s-1@1") < at("verified"), "{shown}");
    assert!(
        !lines.iter().any(|line| line.split("  -- ").next().is_some_and(|names| names.contains("  s-1@1"))),
        "{shown}"
    );
    terminal.press("\u{15}");
    assert_eq!(typed(&world, &mut terminal, "git checkpoint restore \t"), format!("[checkpoint][restore][{id}]"));
}

/// Returns what fish completes `line` with.
fn fish(world: &World, line: &str) -> String {
    let output = world.command("fish").args(["-c", "complete -C $argv[1]", line]).output().expect("fish runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn fish_completes() {
    let (world, id) = prepare();
    if !is_there(&world, "fish") {
        return;
    }
    world.sh(
        "mkdir -p ~/.config/fish/conf.d; git checkpoint completions fish >~/.config/fish/conf.d/git-checkpoint.fish",
    );
    let mut wrong = Vec::new();
    for (keys, expected) in TYPED {
        let (keys, expected) = (keys.replace("ID", &id[..5]), expected.replace("WHOLE", &id));
        let last = expected.trim_end_matches(']').rsplit('[').next().unwrap_or_default();
        let found = fish(&world, &keys);
        let values: Vec<&str> = found.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        if values != [last] {
            wrong.push(format!("{keys}: {values:?}, not {last}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed = fish(&world, "git checkpoint restore ");
    assert!(listed.contains("before: lunch") && listed.contains("zz;touch${IFS}run\tbranch"), "{listed}");
    assert!(fish(&world, "git checkpoint prompts ").contains(r"a\u{1b}[31mred"));
}

/// The script runs the program in the middle of a command line, so the program must print only candidates and change nothing.
#[test]
fn whatever_is_wrong_there_are_fewer_candidates() {
    let (world, _) = prepare();
    let ask = |line: &str| {
        let words = line.split('|');
        let output = world.command("git-checkpoint").args(["completions", "fish", "--"]).args(words).output();
        let output = output.expect("the program runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let before = world.sh("find .git -type f -exec cksum {} + | sort");
    let lock = world.lock();
    assert!(ask("git|checkpoint|restore|").contains("before: lunch"), "a lock is in the way");
    drop(lock);
    assert_eq!(world.sh("find .git -type f -exec cksum {} + | sort"), before);
    assert_eq!(ask("git|--git-dir=/nowhere|checkpoint|restore|"), "");
    assert_eq!(ask("git|-C|/nowhere|checkpoint|restore|"), "");
    assert_eq!(ask("git|-C|..|checkpoint|restore|"), ask("git-checkpoint|-C|/|restore|"));
    assert!(ask("git|-C|/|checkpoint|restore|--dry").starts_with("--dry-run\t"), "outside of a repository");
    assert!(ask("git|-C|/|checkpoint|config|get|jj").starts_with("jj\t"), "outside of a repository");
    assert_eq!(ask("git|checkpoint|no-such-command|x"), "");
    world.sh("printf 'nonsense' >.checkpoint.toml");
    assert!(ask("git|checkpoint|restore|s-1@").starts_with("s-1@1\t"), "settings that cannot be read");
    world.git(&["config", "core.repositoryFormatVersion", "99"]);
    assert_eq!(ask("git|checkpoint|restore|s-1@"), "");
}

#[test]
fn removed_worktrees_are_offered_to_restore() {
    let world = World::with_commit();
    world.sh("git checkpoint worktree add -qc side; git checkpoint worktree remove side 2>/dev/null");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "worktree", "restore", ""]);
    let listed = world.json(&["worktree", "restore", "--list", "--json"]);
    let id = listed["removed"][0]["id"].as_str().expect("an id");
    assert!(found.starts_with(id) && found.contains("repo-wt-side") && found.lines().count() == 1, "{found}");
}

/// The main worktree is none that is set up.
#[test]
fn linked_worktrees_are_offered_to_setup() {
    let world = World::with_commit();
    world.sh("git branch -M main; git worktree add -q -b side ../side");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "worktree", "setup", ""]);
    assert!(found.starts_with("side") && !found.contains("main"), "{found}");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "worktree", "approve", "--"]);
    assert!(found.contains("--yes") && found.contains("--revoke"), "{found}");
}

#[test]
fn a_long_history_has_the_newest_candidates() {
    let world = World::new();
    world.sh("git init -q; for n in $(seq 60); do echo $n >f; git checkpoint save -qm number-$n; done
        git commit -qm first --allow-empty; for n in $(seq 99); do git branch -q b$n; done");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "restore", ""]);
    let count = |found: &str| found.lines().filter(|line| line.contains("number-")).count();
    assert_eq!((count(&found), found.lines().count() < 100), (20, true), "{found}");
    assert!(found.contains("number-60") && !found.contains("number-40\n"), "{found}");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "restore", "@"]);
    assert_eq!(count(&found), 50, "{found}");
    assert!(found.starts_with("@{0}\t") && found.contains("number-60\n"), "{found}");
    // One that is older is found by its first digits.
    let oldest = world.git(&["log", "--all", "--format=%H", "--grep=^number-1$"]);
    for typed in [&oldest[..6], &oldest[..20]] {
        let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "restore", typed]);
        assert!(found.starts_with(typed) && found.contains("number-1\n"), "{found}");
    }
}

/// The branch of the main worktree can be merged as well.
#[test]
fn worktrees_and_kinds_are_offered_to_merge() {
    let world = World::with_commit();
    world.sh("git branch -M main; git worktree add -q -b side ../side");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "worktree", "merge", ""]);
    assert!(found.contains("side") && found.contains("main"), "{found}");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "worktree", "merge", "--"]);
    for option in ["--squash", "--rebase", "--ff-only", "--dry-run", "--json"] {
        assert!(found.contains(option), "{option}: {found}");
    }
}

/// A branch is checked out in one worktree only, and HEAD is none.
#[test]
fn free_branches_are_offered_for_a_worktree() {
    let world = World::with_commit();
    world.sh("git branch free; git branch -M main; git worktree add -q -b taken ../w; git tag v1");
    let found = world.done(&["completions", "bash", "--", "git", "checkpoint", "worktree", "add", ""]);
    let words: Vec<&str> = found.split(|it: char| it.is_whitespace() || it == '\u{b}').collect();
    assert!(words.contains(&"free"), "{found}");
    assert!(!["HEAD", "main", "taken", "v1"].iter().any(|word| words.contains(word)), "{found}");
}
