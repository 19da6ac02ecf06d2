//! What no checkpoint has, such as directories with more new files than the limit, and other repositories: the agent's user hears of
//! it once.

use serde_json::json;

use crate::support::{World, processes::described};

fn fill(world: &World, directory: &str, count: u32) {
    (0..count).for_each(|number| world.write(&format!("{directory}/{number}"), "x\n"));
}

#[test]
fn a_prompt_names_what_the_limit_leaves_out_once() {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.save.maxUntrackedFiles", "4"]);
    fill(&world, "t/in", 7);
    let prompted = |session: &str| {
        let answer = world.answer("prompt", session, &json!({}));
        world.stop(session);
        answer["message"].as_str().unwrap_or_default().to_owned()
    };
    let said = prompted("s");
    assert!(said.contains("no checkpoint has 't' (more than 4 new files: save.max-untracked-files)"), "{said}");
    assert_eq!((prompted("s"), prompted("s2")), (String::new(), String::new()), "once is enough");
    fill(&world, "u", 5);
    let said = prompted("s");
    assert!(said.contains("'u'") && !said.contains("'t'"), "{said}");
    let status = world.done(&["status"]);
    assert!(status.contains("t (more than 4 new files)") && status.contains("u (more"), "{status}");
    let saved = described(&world.checkpoint(&["save"]));
    assert!(saved.contains("warning: skipped t (more than 4 new files)"), "{saved}");
    // Once it is protected, or gone, it is news again.
    world.git(&["config", "checkpoint.save.maxUntrackedFiles", "100"]);
    assert_eq!(prompted("s"), "");
    world.git(&["config", "checkpoint.save.maxUntrackedFiles", "4"]);
    let said = prompted("s");
    assert!(said.contains("'t'") && said.contains("'u'"), "{said}");
    world.finish();
}

#[test]
fn a_prompt_names_what_other_repositories_have_once() {
    let world = World::with_lines();
    world.sh("git init -q nested; echo x >nested/x");
    let prompted = |session: &str| {
        let answer = world.answer("prompt", session, &json!({}));
        world.stop(session);
        answer["message"].as_str().unwrap_or_default().to_owned()
    };
    let said = prompted("s");
    assert!(said.contains("no checkpoint has 'nested' (another repository): what is lost there"), "{said}");
    assert_eq!((prompted("s"), prompted("s2")), (String::new(), String::new()), "once is enough");
    world.finish();
}

/// To look into submodules takes long, so only the first prompt of a session does it.
#[test]
fn the_first_prompt_of_a_session_names_submodules_with_changes() {
    let world = World::with_lines();
    world.sh("git init -q ../lib; git -C ../lib commit -q --allow-empty -m x
        git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm sub");
    let prompted = |session: &str| {
        let answer = world.answer("prompt", session, &json!({}));
        world.stop(session);
        answer["message"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(prompted("s"), "");
    world.sh("echo x >sub/x");
    assert_eq!(prompted("s"), "");
    let said = prompted("s2");
    assert!(said.contains("no checkpoint has 'sub' (a submodule with changes): what is lost there"), "{said}");
    assert_eq!(["s2", "s", "s3", "s3", "s4"].map(prompted).concat(), "", "once is enough");
    world.finish();
}
