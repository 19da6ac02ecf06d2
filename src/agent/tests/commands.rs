//! Our commands in the files of agents: which ones there are, and which program they call; and the commands that agents
//! run.

use super::super::{
    dialect::Environment,
    dialects::ALL,
    event::Moment,
    install::{Format, IN_PATH, command, program_of},
    tool::may_destroy,
};

#[test]
fn every_file_tells_which_commands_it_runs() {
    for dialect in ALL {
        let programs = [("/a b/git-checkpoint", "[ "), (IN_PATH, "command -v git-checkpoint >/dev/null 2>&1 ")];
        for (file, (program, test)) in dialect.files.iter().flat_map(|file| programs.map(|program| (file, program))) {
            let ours = command(program, dialect.name);
            let text = file.install(None, &ours).expect("it is new");
            let commands = file.commands(&text);
            let runs_nothing = file.path.ends_with("plugin.json");
            assert_eq!(commands.is_empty(), runs_nothing, "{}: {text}", file.path);
            for found in commands {
                assert!(found.contains(&ours) && found.contains(test), "{found}");
                assert_eq!(program_of(&found), Some((program.to_owned(), dialect.name.to_owned())));
            }
            assert_eq!(file.install(Some(&text), &ours).expect("again"), text, "twice is once");
            assert_eq!(file.uninstall(&text).expect("out"), None);
            assert_eq!(file.missing(&text), Vec::<&str>::new());
            if let Format::Json(shape) = file.format {
                assert_eq!(file.missing("{}"), shape.events);
                let last = shape.events.last().expect("one");
                let changed = text.replace(&format!("\"{last}\": ["), "\"other\": [").replace(": 30", ": 60");
                assert_eq!(file.missing(&changed), [*last]);
            }
            assert!(file.is_pristine(&text), "{}: {text}", file.path);
            if !matches!(file.format, Format::Json(_)) {
                assert!(!file.is_pristine(&format!("{text}\n// mine\n")), "{}", file.path);
            }
        }
    }
}

#[rstest::rstest]
#[case::plain("/x/git-checkpoint hook --agent amp", Some("/x/git-checkpoint"))]
#[case::guarded("/x/git-checkpoint hook --agent amp || exit 0", Some("/x/git-checkpoint"))]
#[case::quoted(r"'/it'\''s/git-checkpoint' hook --agent amp", Some("/it's/git-checkpoint"))]
#[case::if_there("[ ! -x /x/git-checkpoint ] || exec /x/git-checkpoint hook --agent amp", Some("/x/git-checkpoint"))]
#[case::if_there_quoted(
    "[ ! -x '/] || exec /git-checkpoint' ] || exec '/] || exec /git-checkpoint' hook --agent amp",
    Some("/] || exec /git-checkpoint")
)]
#[case::whatever_happens(
    "[ -x /x/git-checkpoint ] && /x/git-checkpoint hook --agent amp || exit 0",
    Some("/x/git-checkpoint")
)]
#[case::in_script("{ [ -x /x/git-checkpoint ] && /x/git-checkpoint hook --agent amp; }", Some("/x/git-checkpoint"))]
#[case::in_path(
    "! command -v git-checkpoint >/dev/null 2>&1 || exec git-checkpoint hook --agent amp",
    Some("git-checkpoint")
)]
#[case::in_path_whatever_happens(
    "command -v git-checkpoint >/dev/null 2>&1 && git-checkpoint hook --agent amp || exit 0",
    Some("git-checkpoint")
)]
#[case::another_in_path("! command -v x >/dev/null 2>&1 || exec git-checkpoint hook --agent amp", None)]
#[case::if_another_is_there("[ ! -x /y/git-checkpoint ] || exec /x/git-checkpoint hook --agent amp", None)]
#[case::test_with_more("[ ! -x $(rm) ] || exec /x/git-checkpoint hook --agent amp", None)]
#[case::more_before("rm x; [ ! -x /x/git-checkpoint ] || exec /x/git-checkpoint hook --agent amp", None)]
#[case::more_after("[ ! -x /x/git-checkpoint ] || exec /x/git-checkpoint hook --agent amp; rm x", None)]
#[case::substitution_in_test("[ ! -x $(rm)/git-checkpoint ] || exec $(rm)/git-checkpoint hook --agent amp", None)]
#[case::substitution("$(rm)/git-checkpoint hook --agent amp", None)]
#[case::ended_early("'/x'; rm '/git-checkpoint' hook --agent amp", None)]
#[case::more("/x/git-checkpoint hook --agent amp; rm x", None)]
#[case::other("/x/other hook --agent amp", None)]
fn only_what_we_write_is_taken_for_a_command(#[case] text: &str, #[case] program: Option<&str>) {
    assert_eq!(program_of(text).map(|(program, _)| program).as_deref(), program);
}

#[test]
fn an_event_that_a_dialect_ignores_is_ignored() {
    for dialect in ALL {
        let (event, read_as) =
            super::super::read(dialect.ignored.as_bytes(), &Environment::new(), Some(dialect)).expect("it is read");
        assert_eq!((event.moment, read_as.name), (Moment::Ignore, dialect.name));
    }
}

#[rstest::rstest]
#[case::clean("git clean -fdx", true)]
#[case::reset("cd src && git -C .. reset --hard", true)]
#[case::checkout("git checkout -- .", true)]
#[case::restore("git restore .", true)]
#[case::switch("git switch -f main", true)]
#[case::stash("git stash -u", true)]
#[case::git_rm("git rm -f x", true)]
#[case::with_its_path("/bin/rm x", true)]
#[case::not_at_the_beginning("sudo rm -rf build", true)]
#[case::for_each("find . -name '*.o' | xargs rm", true)]
#[case::in_a_shell("sh -c 'mv a b'", true)]
#[case::after_a_semicolon("true;rm x", true)]
#[case::find("find . -newer x -delete", true)]
#[case::shred("shred -u x", true)]
#[case::truncate("truncate -s0 x", true)]
#[case::windows("Remove-Item x", true)]
#[case::in_python("python -c 'import os; os.remove(\"x\")'", true)]
#[case::of_make("make clean", true)]
#[case::build("cargo build --release", false)]
#[case::part_of_a_word("npm run format && echo term", false)]
#[case::a_name_with_it("cat src/rm-all.rs", false)]
#[case::redirection("echo x > y", false)]
#[case::status("git status", false)]
#[case::nothing("", false)]
fn a_command_may_delete_files(#[case] text: &str, #[case] expected: bool) {
    assert_eq!(may_destroy(text), expected, "{text}");
}
