//! `git checkpoint fetch`: gets the records of others.

use super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    model::path_text::shell_word,
    ops::remotes::{self, FetchOptions, Fetched},
};

/// Get the records of others
///
/// They stay beside your own, which do not change: blame, why, explain, show and attribution then know the commits of others. Without
/// <remote>, the approved remote is asked, or else the only one, or origin.
#[derive(clap::Args, Debug)]
pub(super) struct Fetch {
    /// The name of a remote
    #[arg(value_name = "remote")]
    remote: Option<String>,
    /// Get transcripts, too
    #[arg(long)]
    transcripts: bool,
    /// Get the checkpoints that others have shared, too
    #[arg(long)]
    checkpoints: bool,
    /// Say what would be fetched, and move no ref
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Fetch {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = FetchOptions {
            remote: self.remote,
            transcripts: self.transcripts,
            checkpoints: self.checkpoints,
            dry_run: self.dry_run,
        };
        let fetched = {
            let _progress = call.progress("fetching records");
            remotes::fetch(&context, &options)?
        };
        if self.json {
            call.out.json(&fetched)?;
        } else {
            print(&fetched, call)?;
            print_checkpoints(&fetched, self.checkpoints, call)?;
        }
        let are_notes_sound = fetched.notes.iter().all(|it| it.refused.is_none());
        Ok(if fetched.refused.is_empty() && are_notes_sound { Exit::Done } else { Exit::No })
    }
}

/// Names the refs that were set `aside`.
pub(super) fn damaged(aside: &[String], call: &mut Call) {
    for name in aside {
        call.out.warning(&format!("'{}' could not be read, and was set aside", printable(name)));
    }
}

/// Names the checkpoints that were `fetched`, if they were asked for.
fn print_checkpoints(fetched: &Fetched, are_asked_for: bool, call: &mut Call) -> Result<()> {
    let (remote, verb) = (printable(&fetched.remote), if fetched.dry_run { "would fetch" } else { "fetched" });
    for refused in &fetched.refused {
        let id = call.names.id(&refused.id);
        call.out.warning(&format!("the checkpoint {remote}/{id} is refused: {}", printable(&refused.why)));
    }
    if let Some(hint) = fetched.refused.iter().find_map(|refused| refused.hint.as_ref()) {
        call.out.hint(hint);
    }
    if let Some(first) = fetched.refused.iter().find(|refused| refused.hint.is_none()) {
        let (remote, name) = (shell_word(&fetched.remote), shell_word(&format!(":{}", first.name)));
        call.out.hint(&format!("nothing of it is here; 'git push {remote} {name}' takes it back there"));
    }
    for checkpoint in &fetched.checkpoints {
        call.out.line(&format!("{verb} {remote}/{}", call.names.id(&checkpoint.id)))?;
    }
    print_tags(fetched, call)?;
    print_notes(fetched, call)?;
    if let Some(first) = fetched.checkpoints.first().filter(|_| !fetched.dry_run) {
        let name = shell_word(&format!("{remote}/{}", call.names.id(&first.id)));
        call.out.hint(&format!(
            "'git checkpoint show {name}' shows it, 'git checkpoint restore {name}' brings its files here"
        ));
    } else if are_asked_for
        && fetched.checkpoints.is_empty()
        && fetched.refused.is_empty()
        && fetched.tags.is_empty()
        && fetched.notes.is_empty()
    {
        call.out.note(&format!("no checkpoint is new in '{remote}'"))?;
    }
    Ok(())
}

/// Says what became of tags.
fn print_tags(fetched: &Fetched, call: &mut Call) -> Result<()> {
    let (remote, verb) = (printable(&fetched.remote), if fetched.dry_run { "would fetch" } else { "fetched" });
    for it in &fetched.tags {
        let tag = printable(&it.tag);
        let (gone, moved) = if fetched.dry_run { ("would go", "would move") } else { ("is gone", "has moved") };
        match (it.old, it.new) {
            (None, _) => call.out.line(&format!("{verb} {remote}/{tag}, a tag"))?,
            (Some(_), Some(_)) => call.out.line(&format!("{verb} {remote}/{tag}, a tag, which {moved}"))?,
            (Some(_), None) => call.out.note(&format!("the tag {remote}/{tag} {gone}, as it is in '{remote}'"))?,
        }
    }
    Ok(())
}

/// Says what became of notes.
fn print_notes(fetched: &Fetched, call: &mut Call) -> Result<()> {
    let (remote, verb) = (printable(&fetched.remote), if fetched.dry_run { "would fetch" } else { "fetched" });
    let gone = if fetched.dry_run { "would go" } else { "is gone" };
    for it in &fetched.notes {
        let id = call.names.id(&it.id);
        match (&it.refused, it.new) {
            (Some(why), _) => {
                call.out.warning(&format!("the note of {remote}/{id} is refused: {}", printable(why)));
            }
            (None, Some(_)) => call.out.line(&format!("{verb} the note of {remote}/{id}"))?,
            (None, None) => call.out.note(&format!("the note of {remote}/{id} {gone}, as it is in '{remote}'"))?,
        }
    }
    Ok(())
}

/// Says what was `fetched`.
pub(super) fn print(fetched: &Fetched, call: &mut Call) -> Result<()> {
    let remote = printable(&fetched.remote);
    damaged(&fetched.damaged, call);
    if fetched.refs.is_empty() {
        return call.out.note(&format!("'{remote}' has no records"));
    }
    let verb = if fetched.dry_run { "would fetch" } else { "fetched" };
    let is_new = fetched.refs.iter().any(|it| it.old != Some(it.new));
    let count = phrase::count(fetched.new_records, "record");
    match (is_new, fetched.new_records) {
        (false, _) => call.out.note(&format!("nothing is new in '{remote}'")),
        (true, _) => call.out.note(&format!("{verb} {count} from '{remote}'")),
    }
}
