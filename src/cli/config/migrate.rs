//! `git checkpoint config migrate`: moves settings from old names to new ones, in files and in git config.

use std::path::Path;

use serde::Serialize;

use super::here::Here;
use crate::{
    cli::{
        Exit,
        output::{Output, printable},
    },
    config::{
        Layer,
        migrate::{self, GitValue, NEW, OLD, Place},
    },
    error::{Context as _, Kind, Result},
    git::Repo,
};

#[derive(clap::Args, Debug)]
pub(super) struct Migrate {
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What can be done instead of an undo: the settings of other repositories may be in the files, too.
const INSTEAD: &str = "the copy of each file from before, which the command named, can be moved back";

/// What `--json` prints.
#[derive(Serialize)]
struct Migrated {
    version: u32,
    dry_run: bool,
    places: Vec<Place>,
}

impl Migrate {
    /// Nothing is written before all places are known to be sound.
    pub(super) fn run(self, here: &mut Here, repo: Option<&Repo>, out: &mut Output) -> Result<Exit> {
        let only = here.place.layer();
        if only.is_some() {
            here.target()?;
        }
        let mut places = migrate::find(&here.sources, only)?;
        if let Some(repo) = repo.filter(|_| only.is_none()) {
            places.extend(migrate::find_git(&git_values(repo)?)?);
            places.sort_by_key(|place| place.layer);
        }
        let is_ours = |place: &&mut Place| place.by_hand.is_none() && !self.dry_run;
        if let Some(repo) = repo.filter(|_| places.iter_mut().any(|place| is_ours(&place))) {
            repo.note_not_undone(INSTEAD.to_owned());
            repo.update_refs(&[])?;
        }
        for place in places.iter_mut().filter(is_ours) {
            match (place.layer, repo) {
                (Layer::Git, Some(repo)) => in_git(place, repo)?,
                _ => migrate::carry_out(place)?,
            }
        }
        let is_done = self.dry_run || places.iter().all(|place| place.by_hand.is_none());
        let migrated = Migrated { version: 1, dry_run: self.dry_run, places };
        if self.json {
            out.json(&migrated)?;
        } else {
            print(&migrated, out)?;
        }
        Ok(if is_done { Exit::Done } else { Exit::No })
    }
}

fn git_values(repo: &Repo) -> Result<Vec<GitValue>> {
    let own = repo.config_file();
    let values = repo.config_values("^checkpoint\\.")?.into_iter().map(|value| GitValue {
        is_own: value.scope == "local" && value.file.as_ref() == Some(&own),
        scope: value.scope,
        file: value.file.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default(),
        name: value.name,
        value: value.value.map(|value| value.to_string()),
    });
    Ok(values.collect())
}

/// Sets the new name before the old one goes: between the two, the new one wins.
fn in_git(place: &mut Place, repo: &Repo) -> Result<()> {
    let path = Path::new(&place.source);
    let old = std::fs::read(path).context(Kind::User, || format!("cannot read '{}'", place.source))?;
    place.backup = Some(migrate::back_up(path, &old, None)?.to_string_lossy().into_owned());
    if let Some(new) = place.new {
        repo.set_config(&format!("checkpoint.{NEW}"), &new.to_string())?;
    }
    place.git_names.iter().try_for_each(|name| repo.unset_config(name))
}

fn print(migrated: &Migrated, out: &mut Output) -> Result<()> {
    if migrated.places.is_empty() {
        return out.note("nothing to migrate");
    }
    for place in &migrated.places {
        let line = place.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let of = if place.layer == Layer::Git { "git config, " } else { "" };
        let at = format!("{of}'{}'{line}", printable(&place.source));
        let was = format!("'{OLD} = {}'", place.old);
        if let Some(what) = &place.by_hand {
            out.warning(&format!("{was} in {at} is left to you"));
            out.hint(what);
            continue;
        }
        let verb = match (place.new, migrated.dry_run) {
            (Some(_), true) => "would rewrite",
            (Some(_), false) => "rewrote",
            (None, true) => "would drop",
            (None, false) => "dropped",
        };
        let now = place.new.map(|value| format!(" as '{NEW} = {value}'"));
        if now.is_none() {
            out.warning(&format!("both names are in {at}: '{NEW}' wins"));
        }
        let now = now.unwrap_or_default();
        let text = format!("{verb} {was} in {at}{now}");
        out.note(&text)?;
        if let Some(backup) = &place.backup {
            out.note(&format!("    the file from before is '{}'", printable(backup)))?;
        }
    }
    Ok(())
}
