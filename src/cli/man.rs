//! `git checkpoint man`: the manual, which is compiled in, shown or installed.

use std::path::{Path, PathBuf};

use super::{Exit, call::Call, environment, external};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::likely,
};

macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../man/", $name)))),*]
    };
}

/// The manual: file name and source of each page.
const PAGES: &[(&str, &str)] = pages![
    "git-checkpoint-attribution.1",
    "git-checkpoint-blame.1",
    "git-checkpoint-browse.1",
    "git-checkpoint-ci.1",
    "git-checkpoint-config.1",
    "git-checkpoint-config.5",
    "git-checkpoint-diff.1",
    "git-checkpoint-doctor.1",
    "git-checkpoint-drop.1",
    "git-checkpoint-enable.1",
    "git-checkpoint-events.1",
    "git-checkpoint-explain.1",
    "git-checkpoint-export.1",
    "git-checkpoint-list.1",
    "git-checkpoint-note.1",
    "git-checkpoint-op.1",
    "git-checkpoint-overlap.1",
    "git-checkpoint-prune.1",
    "git-checkpoint-purge.1",
    "git-checkpoint-push.1",
    "git-checkpoint-remote.1",
    "git-checkpoint-report.1",
    "git-checkpoint-reset.1",
    "git-checkpoint-restore.1",
    "git-checkpoint-review.1",
    "git-checkpoint-round.1",
    "git-checkpoint-save.1",
    "git-checkpoint-search.1",
    "git-checkpoint-session.1",
    "git-checkpoint-show.1",
    "git-checkpoint-status.1",
    "git-checkpoint-tag.1",
    "git-checkpoint-tour.1",
    "git-checkpoint-verify.1",
    "git-checkpoint-why.1",
    "git-checkpoint-worktree.1",
    "git-checkpoint.1",
    "git-remote-checkpoint.1",
    "gitcheckpoint-agents.7",
    "gitcheckpoint-format.5",
    "gitcheckpoint-workflows.7",
];

/// Commands that are explained on the page of another.
const SHARED_PAGES: &[(&str, &str)] = &[
    ("undo", "op"),
    ("redo", "op"),
    ("prompts", "session"),
    ("disable", "enable"),
    ("hook", "enable"),
    ("fetch", "push"),
    ("import", "export"),
    ("sync", "push"),
    ("log", "list"),
];

/// Show a page of the manual, or install all of it
///
/// Without --install, the page of <command> (or git-checkpoint(1)) is shown with man(1), installed or not.
#[derive(clap::Args, Debug)]
pub(super) struct Man {
    /// The command, or the name of a page such as format or config.5
    #[arg(value_name = "command", conflicts_with = "install")]
    page: Option<String>,
    /// Write all pages where man(1) and git-help(1) find them
    #[arg(long)]
    install: bool,
    /// Install below <dir>/man1, <dir>/man5, <dir>/man7 (default: share/man beside the program's bin, or
    /// ~/.local/share/man if you may not write there)
    #[arg(long = "directory", id = "manual", value_name = "dir", requires = "install")]
    directory: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        if self.install {
            return install(self.directory, call);
        }
        let name = self.page.unwrap_or_default();
        let Some(page) = page_of(&name) else {
            return Err(Error::user(format!("no page of the manual is called '{name}'")).with_hint(all_pages(&name)));
        };
        if !show_page(page) {
            call.out.text(page.1)?;
        }
        Ok(Exit::Done)
    }
}

/// Shows the page called `name` (without section); returns false if there is none, or no working `man`.
pub(super) fn show(name: &str) -> bool {
    page_of(name).is_some_and(show_page)
}

/// The file name of a page, and its source.
type Page = &'static (&'static str, &'static str);

fn show_page((file, text): Page) -> bool {
    let Ok(directory) = tempfile::tempdir() else { return false };
    let path = directory.path().join(file);
    std::fs::write(&path, text).is_ok() && external::show_manual(&path)
}

/// Returns the page that `name` means: a command, a page with or without the beginning that all of them share, and with or without
/// its section, as in `config.5` or `config(5)`. Empty for the first page.
fn page_of(name: &str) -> Option<Page> {
    if name.is_empty() {
        return page_of("git-checkpoint");
    }
    let (stem, section) = with_section(name);
    let command = stem.strip_prefix("git-checkpoint-").unwrap_or(stem);
    let stem = SHARED_PAGES.iter().find(|(shared, _)| *shared == command).map_or(stem, |(_, page)| page);
    let stems = [format!("git-checkpoint-{stem}"), stem.to_owned(), format!("gitcheckpoint-{stem}")];
    stems.iter().find_map(|stem| PAGES.iter().find(|(file, _)| is_page(file, stem, section)))
}

/// Returns `name` without its section, and the section if it has one.
fn with_section(name: &str) -> (&str, Option<&str>) {
    let is_section = |section: &str| section.len() == 1 && section.bytes().all(|byte| byte.is_ascii_digit());
    let split = name.strip_suffix(')').and_then(|name| name.rsplit_once('(')).or_else(|| name.rsplit_once('.'));
    match split.filter(|(_, section)| is_section(section)) {
        Some((stem, section)) => (stem, Some(section)),
        None => (name, None),
    }
}

fn is_page(file: &str, stem: &str, section: Option<&str>) -> bool {
    file.rsplit_once('.').is_some_and(|(own, of)| own == stem && section.is_none_or(|section| section == of))
}

/// Returns a hint that names the page that `typed` was probably meant to be, and the pages that belong to no command.
fn all_pages(typed: &str) -> String {
    const LIST: &str = "'git checkpoint man <command>' shows the page of a command; there are also config.5, agents, format and workflows";
    let pages = pages();
    likely::hint(likely::most_similar(typed, pages.iter().map(|(name, _)| name.as_str())), LIST)
}

/// Returns the names that `git checkpoint man` accepts, commands and other pages, each with the description of its page.
pub(super) fn pages() -> Vec<(String, String)> {
    let about = |file: &str| {
        let text = PAGES.iter().find(|(name, _)| *name == file).map_or("", |(_, text)| text);
        let name = text.lines().skip_while(|line| *line != ".SH \"NAME\"").skip(1);
        let name = name.take_while(|line| !line.starts_with('.')).collect::<Vec<_>>().join(" ");
        name.split_once(" \\- ").map_or("", |(_, about)| about).replace("\\-", "-")
    };
    let mut pages = Vec::new();
    for (file, _) in PAGES {
        let stem = file.rsplit_once('.').map_or(*file, |(stem, _)| stem);
        let name = stem.strip_prefix("git-checkpoint-").unwrap_or(stem);
        if pages.iter().all(|(known, _)| known != name) {
            pages.push((name.to_owned(), about(file)));
        }
    }
    pages.extend(
        SHARED_PAGES.iter().map(|(name, page)| ((*name).to_owned(), about(&format!("git-checkpoint-{page}.1")))),
    );
    pages
}

fn install(directory: Option<PathBuf>, call: &mut Call) -> Result<Exit> {
    let directory = directory.map_or_else(default_directory, Ok)?;
    for (file, text) in PAGES {
        let section = file.rsplit_once('.').map_or("1", |(_, section)| section);
        let folder = directory.join(format!("man{section}"));
        let path = folder.join(file);
        std::fs::create_dir_all(&folder).context(Kind::User, || format!("cannot make '{}'", folder.display()))?;
        std::fs::write(&path, text).context(Kind::User, || format!("cannot write '{}'", path.display()))?;
    }
    call.out.note(&format!("installed {} pages below '{}'", PAGES.len(), directory.display()))?;
    Ok(Exit::Done)
}

fn default_directory() -> Result<PathBuf> {
    let program = std::env::current_exe().context(Kind::Internal, || "cannot tell where the program is".into())?;
    let home = environment::variable("HOME").map(PathBuf::from);
    place(&program, home.as_deref(), may_write)
        .ok_or_else(|| Error::user("no place for the manual is known").with_hint("name one with '--directory <dir>'"))
}

/// Returns where the manual goes: `man` looks into `X/share/man` for each `X/bin` of `PATH`, and the program is in one of those.
/// If it is not, or the user may not write there, the manual goes below `home`.
fn place(program: &Path, home: Option<&Path>, may_write: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let bin = program.parent().filter(|bin| bin.ends_with("bin"));
    let beside = bin.and_then(Path::parent).map(|prefix| prefix.join("share/man"));
    let own = || Some(home?.join(".local/share/man"));
    beside.filter(|directory| may_write(directory)).or_else(own)
}

/// Returns true if the user may make or write `directory`.
fn may_write(directory: &Path) -> bool {
    let nearest = directory.ancestors().find(|ancestor| ancestor.exists());
    nearest.is_some_and(|found| rustix::fs::access(found, rustix::fs::Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::beside(
        "/usr/local/bin/git-checkpoint",
        Some("/home/a"),
        "/usr/local/share/man",
        Some("/usr/local/share/man")
    )]
    #[case::read_only("/usr/bin/git-checkpoint", Some("/home/a"), "", Some("/home/a/.local/share/man"))]
    #[case::no_prefix("/src/target/debug/git-checkpoint", Some("/home/a"), "/src", Some("/home/a/.local/share/man"))]
    #[case::nowhere("/usr/bin/git-checkpoint", None, "", None)]
    fn the_manual_goes_where_man_finds_it(
        #[case] program: &str,
        #[case] home: Option<&str>,
        #[case] writable: &str,
        #[case] expected: Option<&str>,
    ) {
        let found = place(Path::new(program), home.map(Path::new), |path| path == Path::new(writable));
        assert_eq!(found.as_deref(), expected.map(Path::new));
    }

    #[rstest::rstest]
    #[case::first("", Some("git-checkpoint.1"))]
    #[case::command("save", Some("git-checkpoint-save.1"))]
    #[case::command_before_file("config", Some("git-checkpoint-config.1"))]
    #[case::section("config.5", Some("git-checkpoint-config.5"))]
    #[case::section_as_it_is_written("git-checkpoint-config(5)", Some("git-checkpoint-config.5"))]
    #[case::whole("gitcheckpoint-format", Some("gitcheckpoint-format.5"))]
    #[case::short("workflows", Some("gitcheckpoint-workflows.7"))]
    #[case::short_with_section("agents(7)", Some("gitcheckpoint-agents.7"))]
    #[case::shared("undo", Some("git-checkpoint-op.1"))]
    #[case::shared_with_section("undo.1", Some("git-checkpoint-op.1"))]
    #[case::shared_and_whole("git-checkpoint-log(1)", Some("git-checkpoint-list.1"))]
    #[case::shared_of_another_section("undo.5", None)]
    #[case::another_section("save.5", None)]
    #[case::unknown("frobnicate", None)]
    fn pages_are_named_in_several_ways(#[case] name: &str, #[case] expected: Option<&str>) {
        assert_eq!(page_of(name).map(|(file, _)| *file), expected);
    }
}
