//! Submodules, and repositories that are none, inside the worktree: what is said of their changes, and checkpoints in them.

mod authors;
mod restored;
mod saved;
mod setting;
mod told;

use crate::support::{World, template::Template};

/// A repository with the submodule `sub` (with a file `l`), in which `inner` is a submodule, too (with a file `d`).
static SUPERPROJECT: Template = Template::new(|world| {
    world.sh("
        set -eu
        export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
        one() { git init -q -b main $1; echo 1 >$1/$2; git -C $1 add $2; git -C $1 commit -qm 1; }
        one ../deep d; one ../lib l; one . f
        git -C ../lib submodule --quiet add ../deep inner; git -C ../lib commit -qm inner
        git submodule --quiet add ../lib sub; git submodule --quiet update --init --recursive; git commit -qm sub
    ");
});

/// Returns a world with that repository.
fn superproject() -> World {
    SUPERPROJECT.world()
}

/// The same, with `script` run in it.
fn after(script: &str) -> World {
    let world = superproject();
    run(&world, script);
    world
}

/// Runs `script`, in which git may clone from directories.
fn run(world: &World, script: &str) -> String {
    world.sh(&format!(
        "set -eu
        export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always GIT_OPTIONAL_LOCKS=0
        {script}"
    ))
}
