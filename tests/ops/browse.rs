//! `git checkpoint browse` in a terminal that script(1) makes, and in one of tmux, where that is installed.

use std::{fs, path::Path, process::Command, time::Duration};

use crate::support::{World, program, terminal::Terminal};

/// What a program sends to take the whole screen, and to give it back.
const TAKEN: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";

/// A person, an agent, a commit and what is not committed yet.
fn world() -> World {
    let world = World::with_hooks();
    for (turn, text) in [(1, "one\n"), (2, "one\ntwo\n")] {
        world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", &format!("prompt {turn}")]);
        world.write("f", text);
        world.write("other.txt", format!("{turn}\n"));
        world.done(&["save", "--session", "s1"]);
        world.done(&["session", "stop", "s1"]);
        if turn == 1 {
            world.git(&["add", "-A"]);
            world.git(&["commit", "-qm", "the first turn"]);
        }
    }
    world.write("f", "one\ntwo\nby hand\n");
    world.done(&["save", "-m", "by hand"]);
    world
}

/// Starts `git-checkpoint` with these arguments on a terminal of 100 columns; afterwards, its status and the modes of the terminal are
/// printed.
fn browse(world: &World, arguments: &str, prepare: impl FnOnce(&mut Command)) -> Terminal {
    let line = format!(
        "stty cols 100 rows 30; sh -c 'echo $$ >../pid; exec {} {arguments}'; echo \"status $?.\"; stty -a; echo end.",
        program()
    );
    let terminal = Terminal::start(world, &line, |command| {
        command.env("TERM", "xterm-256color");
        prepare(command);
    });
    terminal.wait_for(TAKEN);
    terminal
}

/// Returns the lines of the screen of 100 columns after `bytes` were written to it, which the browser places.
fn screen(bytes: &[u8]) -> Vec<String> {
    let mut cells = vec![[' '; 100]; 30];
    let (mut row, mut column) = (0_usize, 0_usize);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\x1b' {
            if let Some(cell) = cells.get_mut(row).and_then(|cells| cells.get_mut(column)) {
                *cell = c;
            }
            column += if c >= '\u{2e80}' { 2 } else { 1 };
            continue;
        }
        let sequence: String = rest.by_ref().take_while(|c| *c != '[').collect();
        assert!(sequence.is_empty(), "the browser only places and paints text: {sequence:?}");
        let mut parameters = String::new();
        let end = loop {
            match rest.next() {
                Some(c) if c.is_ascii_alphabetic() => break c,
                Some(c) => parameters.push(c),
                // The rest is still on its way.
                None => break ' ',
            }
        };
        match end {
            'H' => {
                let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().unwrap_or(1) - 1);
                (row, column) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            }
            'J' => cells.fill([' '; 100]),
            _ => {}
        }
    }
    cells.iter().map(|cells| cells.iter().collect::<String>().trim_end().to_owned()).collect()
}

/// Waits until `text` is on a line of the screen.
fn see(terminal: &Terminal, text: &str) {
    terminal.wait_until(text, |bytes| screen(bytes).iter().any(|line| line.contains(text)));
}

/// Ends the browser with `q`, and checks that the terminal is as it was.
fn quit(terminal: &mut Terminal) {
    terminal.press("q");
    ended(terminal, 0);
}

fn ended(terminal: &Terminal, status: i32) {
    terminal.wait_for(GIVEN_BACK);
    terminal.wait_for(&format!("status {status}."));
    let modes = terminal.wait_for("end.");
    for mode in ["icanon", "echo", "isig", "opost"] {
        assert!(modes.split_whitespace().any(|word| word == mode), "{mode} is not set: {modes}");
    }
}

#[test]
fn the_timeline_the_files_and_the_changes_are_shown() {
    let world = world();
    let mut terminal = browse(&world, "browse", |_| {});
    see(&terminal, "by hand");
    see(&terminal, "2 files");
    // The owners of what is not committed yet: an agent's line, and a person's.
    see(&terminal, "A     2 +two");
    see(&terminal, "H     3 +by hand");
    terminal.press("jj");
    see(&terminal, "session s1");
    quit(&mut terminal);
}

#[rstest::rstest]
#[case("TERM")]
#[case("INT")]
#[case("HUP")]
fn a_signal_gives_the_terminal_back(#[case] signal: &str) {
    let world = world();
    let terminal = browse(&world, "browse", |_| {});
    see(&terminal, "2 files");
    world.sh(&format!("kill -{signal} $(cat ../pid)"));
    ended(&terminal, 130);
}

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    let world = world();
    let terminal = browse(&world, "browse", |command| {
        command.env("CHECKPOINT_FAILPOINT", "browse");
    });
    terminal.wait_for(GIVEN_BACK);
    terminal.wait_for("a test wants this");
    terminal.wait_for("status 101.");
    assert!(terminal.wait_for("end.").contains(" icanon"));
}

#[test]
fn what_is_restored_was_asked_and_can_be_undone() {
    let world = world();
    let facts = world.facts();
    let before = world.read("f");
    let mut terminal = browse(&world, "browse", |_| {});
    see(&terminal, "2 files");
    terminal.press("jj");
    see(&terminal, "session s1");
    terminal.press("r");
    // A person has changed the file since.
    see(&terminal, "kept     f");
    terminal.press("a");
    see(&terminal, "would write f");
    see(&terminal, "$ git checkpoint restore --all ");
    assert_eq!(world.read("f"), before, "it only asks");
    terminal.press("y");
    see(&terminal, "restored 1 path");
    assert_eq!(world.read("f"), "one\ntwo\n");
    terminal.press("\ru");
    see(&terminal, "would write f");
    terminal.press("y");
    see(&terminal, "undone: restored 1 path");
    assert_eq!(world.read("f"), before);
    terminal.press("\rU");
    see(&terminal, "would write f");
    terminal.press("y");
    see(&terminal, "redone: restored 1 path");
    assert_eq!(world.read("f"), "one\ntwo\n");
    terminal.press("\r");
    quit(&mut terminal);
    // Each is in the log as the command that does the same.
    let log = world.done(&["op", "log"]);
    for command in ["git checkpoint restore", "git checkpoint undo", "git checkpoint redo"] {
        assert!(log.contains(command), "{log}");
    }
    assert_eq!(world.facts(), facts);
    world.assert_sound("afterwards");
}

#[test]
fn only_the_selected_file_is_restored_from_its_pane() {
    let world = world();
    world.write("f", "lost\n");
    world.write("other.txt", "mine\n");
    let mut terminal = browse(&world, "browse", |_| {});
    see(&terminal, "2 files");
    terminal.press("jj");
    see(&terminal, "session s1");
    terminal.press("\tr");
    see(&terminal, "would write f");
    terminal.press("y");
    see(&terminal, "restored 1 path");
    assert_eq!((world.read("f"), world.read("other.txt")), ("one\ntwo\n".into(), "mine\n".into()));
    terminal.press("\r");
    quit(&mut terminal);
}

#[test]
fn checkpoints_are_tagged_verified_and_noted() {
    let world = world();
    let facts = world.facts();
    world.write("../edit", "#!/bin/sh\nprintf 'a note\\n' >\"$1\"\n");
    world.sh("chmod +x ../edit");
    let editor = world.root().join("edit");
    let mut terminal = browse(&world, "browse", |command| {
        command.env("GIT_EDITOR", editor);
    });
    see(&terminal, "2 files");
    terminal.press("jtmine\r");
    see(&terminal, "tag: mine");
    terminal.press("v");
    see(&terminal, "verified");
    terminal.press("e");
    terminal.wait_for(GIVEN_BACK);
    terminal.wait_for(TAKEN);
    see(&terminal, "wrote the note of ");
    quit(&mut terminal);
    let latest = world.json(&["show", "--json"]);
    assert_eq!(
        (&latest["tags"][0], &latest["verified"], &latest["note"]),
        (&"mine".into(), &true.into(), &"a note\n".into())
    );
    assert_eq!(world.facts(), facts);
    world.assert_sound("afterwards");
}

#[test]
fn a_search_finds_prompts_and_a_filter_takes_the_arguments_of_list() {
    let world = world();
    let mut terminal = browse(&world, "browse", |_| {});
    see(&terminal, "2 files");
    terminal.press("/prompt 1\r");
    // The commit of that turn, and the turn itself.
    see(&terminal, "4/5  search: prompt 1");
    terminal.press("n");
    see(&terminal, "turn 1");
    terminal.press("fnonsense --x\r");
    see(&terminal, "unexpected argument '--x'");
    terminal.press("f--tag none\r");
    see(&terminal, "filter: --tag none");
    see(&terminal, "1/1");
    quit(&mut terminal);
}

#[test]
fn what_others_save_appears() {
    let world = world();
    let mut terminal = browse(&world, "browse", |_| {});
    see(&terminal, "2 files");
    // The refs are looked at once a second.
    std::thread::sleep(Duration::from_millis(2500));
    world.write("f", "later\n");
    world.done(&["save", "-m", "another program saved"]);
    see(&terminal, "another program saved");
    quit(&mut terminal);
}

#[test]
fn without_colours_there_are_none() {
    let world = world();
    // Also one of the background, or of several attributes in one sequence.
    let colour = "8;5;";
    let shown = |prepare: fn(&mut Command)| {
        let mut terminal = browse(&world, "browse", prepare);
        see(&terminal, "+by hand");
        terminal.press("j");
        see(&terminal, "by human");
        terminal.press("q");
        terminal.wait_for(GIVEN_BACK)
    };
    assert!(shown(|_| {}).contains(colour), "else the test sees nothing");
    let plain = shown(|command| {
        command.env("NO_COLOR", "1");
    });
    assert!(!plain.contains(colour), "{plain}");
}

#[test]
fn nothing_from_the_repository_controls_the_terminal() {
    let world = World::with_commit();
    world.write("a\u{1b}]0;evil\u{7}b", "\u{1b}[2J\u{202e}line\n");
    world.done(&["save", "-m", "sub\u{1b}]0;evil\u{7}ject"]);
    let mut terminal = browse(&world, "browse", |_| {});
    see(&terminal, "line");
    terminal.press("j");
    see(&terminal, "by human");
    terminal.press("q");
    let shown = terminal.wait_for(GIVEN_BACK);
    assert!(shown.contains("evil"), "{shown}");
    assert!(!shown.contains("\x1b]0;evil") && !shown.contains('\u{202e}'), "{shown:?}");
}

#[test]
fn a_restore_without_a_checkpoint_lets_the_user_pick_one() {
    let world = world();
    let mut terminal = browse(&world, "restore", |_| {});
    see(&terminal, "by human");
    terminal.press("\r");
    see(&terminal, "nothing to do");
    terminal.press("\rj");
    see(&terminal, "turn 2");
    terminal.press("\r");
    see(&terminal, "kept     f");
    terminal.press("a");
    see(&terminal, "would write f");
    terminal.press("y");
    terminal.wait_for(GIVEN_BACK);
    terminal.wait_for("restored 1 path");
    terminal.wait_for("status 0.");
    assert_eq!(world.read("f"), "one\ntwo\n");
}

#[test]
fn without_a_pick_nothing_is_restored() {
    let world = world();
    let before = world.read("f");
    let mut terminal = browse(&world, "restore", |_| {});
    see(&terminal, "by hand");
    terminal.press("q");
    terminal.wait_for(GIVEN_BACK);
    terminal.wait_for("nothing was restored");
    terminal.wait_for("status 1.");
    assert_eq!(world.read("f"), before);
}

#[test]
fn a_terminal_that_cannot_place_text_is_refused() {
    let world = world();
    let line = format!("{} browse; echo \"status $?.\"", program());
    let shown = Terminal::start(&world, &line, |command| {
        command.env("TERM", "dumb");
    })
    .wait_for("status 128.");
    assert!(shown.contains("browse needs a terminal") && !shown.contains(TAKEN), "{shown}");
}

/// A terminal of tmux, which knows what is on the screen.
struct Tmux<'w> {
    world: &'w World,
    socket: String,
}

impl<'w> Tmux<'w> {
    /// Starts an interactive shell in one of so many columns; none where tmux is not installed.
    #[expect(clippy::print_stderr, reason = "a test that is left out must be seen")]
    fn start(world: &'w World, columns: u16) -> Option<Self> {
        if !Path::new("/usr/bin/tmux").exists() {
            eprintln!("skipped: tmux is not installed");
            return None;
        }
        let socket = world.root().join("tmux").to_str().expect("it is plain").to_owned();
        let it = Self { world, socket };
        let size = columns.to_string();
        it.run(&["-f", "/dev/null", "new-session", "-d", "-x", &size, "-y", "20", "bash --norc --noprofile -i"]);
        it.send("PS1='ready> '", "Enter");
        it.wait_for("\nready>");
        Some(it)
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = self.world.command("tmux");
        command.args(["-S", &self.socket]).args(arguments).env_remove("NO_COLOR").env("TERM", "xterm-256color");
        let output = command.output().expect("tmux runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn send(&self, text: &str, key: &str) {
        self.run(&["send-keys", "-l", text]);
        self.run(&["send-keys", key]);
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    fn wait_for(&self, text: &str) -> String {
        for _ in 0..600 {
            let screen = format!("\n{}", self.screen());
            if screen.contains(text) {
                return screen;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("'{text}' is not on the screen, but:\n{}", self.screen());
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut command = self.world.command("tmux");
        drop(command.args(["-S", &self.socket, "kill-server"]).output());
        drop(fs::remove_file(&self.socket));
    }
}

#[rstest::rstest]
#[case(60)]
#[case(100)]
#[case(200)]
fn the_screen_is_right_and_ctrl_z_gives_it_back_for_a_while(#[case] columns: u16) {
    let world = world();
    let Some(tmux) = Tmux::start(&world, columns) else { return };
    tmux.send(&format!("{} browse", program()), "Enter");
    let screen = tmux.wait_for("\u{25cf}");
    assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
    tmux.wait_for("$ git checkpoint attribution --worktree");
    tmux.run(&["send-keys", "j"]);
    tmux.wait_for("$ git checkpoint show --patch");
    tmux.run(&["send-keys", "C-z"]);
    let screen = tmux.wait_for("Stopped");
    assert!(!screen.contains("timeline"), "{screen}");
    tmux.send("echo still $((1 + 1))", "Enter");
    tmux.wait_for("\nstill 2");
    tmux.send("fg", "Enter");
    tmux.wait_for("$ git checkpoint show --patch");
    tmux.run(&["send-keys", "Tab", "Tab"]);
    // The line of a person, with its owner.
    tmux.wait_for("+by hand");
    assert!(tmux.screen().lines().any(|line| line.contains("H ") && line.contains("+by hand")), "{}", tmux.screen());
    tmux.run(&["send-keys", "q"]);
    let screen = tmux.wait_for("ready> fg");
    assert!(!screen.contains("+by hand"), "{screen}");
}
