//! `worktree mounts`: a container that has what it names can work in the worktree.

use std::path::Path;

use rstest::rstest;
use serde_json::json;

use super::{add, json_of, left_alone::with_mounts, run_in, said};
use crate::support::{World, program};

/// Lets a process with a root of its own, which has the system's programs and what `worktree mounts` names for `of`, run `script`
/// in the first worktree. Returns what it prints; none if the system does not allow that.
fn contained(world: &World, of: &str, script: &str) -> Option<String> {
    let program = Path::new(program());
    let bin = program.parent().expect("it is in a directory");
    let script = format!(
        r#"mkdir ../root; mount -t tmpfs root ../root; R=$(cd ../root; pwd)
        bind() {{ mkdir -p "$R$1"; mount --rbind "$1" "$R$1"; [ -z "$2" ] || mount -o remount,bind,ro "$R$1"; }}
        for d in /usr /bin /lib /lib64 /etc /proc '{bin}'; do [ ! -d $d ] || bind $d ro; done
        mkdir -p "$R/tmp" "$R/dev"; chmod 1777 "$R/tmp"; for d in null urandom; do touch "$R/dev/$d"; mount --bind /dev/$d "$R/dev/$d"; done
        for option in $(git checkpoint worktree mounts {of} | sed -n 's/--mount //p'); do
            source=${{option#*source=}}; ro=${{option##*,readonly}}; [ "$ro" = "$option" ] && ro= || ro=ro
            bind "${{source%%,*}}" $ro
        done
        FOLDER=$(git checkpoint worktree mounts {of} | sed -n 's/--workdir //p')
        env HOME=/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@x \
            chroot "$R" sh -ec 'cd "$0"; {script}' "$FOLDER""#,
        bin = bin.display(),
    );
    with_mounts(world, &script)
}

/// Git and the program work there, on a branch and with checkpoints that those outside see; no other worktree is there.
#[cfg(target_os = "linux")]
#[rstest]
#[case::main("", "true")]
#[case::linked("side", r#"[ -z "$(ls ../repo)" ]"#)]
#[case::both("side main", r#"[ -n "$(ls ../repo)" ]"#)]
#[case::with_new("--with-new side", "git checkpoint worktree add -c new >/dev/null")]
fn a_container_with_the_mounts_can_work(#[case] of: &str, #[case] more: &str) {
    let world = World::with_commit();
    let path = add(&world, "side");
    let of_linked = of.contains("side");
    world.settle();
    let work = "echo in >f; git add f; git commit -qm contained; echo out >>f; git checkpoint save -q -m inside";
    let Some(printed) = contained(&world, of, &format!("{more}; {work}; git status --short")) else { return };
    assert!(printed.contains(" M f"), "{printed}");
    let place = if of_linked { path } else { world.repo() };
    let subject = run_in(&world, &place, &["list", "--json"]);
    assert!(String::from_utf8_lossy(&subject.stdout).contains("inside"), "{}", said(&subject));
    assert_eq!(world.git(&["log", "-1", "--format=%s", if of_linked { "side" } else { "main" }]).trim(), "contained");
}

/// What git only reads is mounted so.
#[cfg(target_os = "linux")]
#[test]
fn objects_of_another_repository_are_there() {
    let world = World::with_commit();
    world.sh("cd ..; mv repo whole; git clone -qs whole repo");
    let repo = world.repo();
    let found = json_of(&world, &["worktree", "mounts", "--json"]);
    let objects = world.root().join("whole/.git/objects");
    let expected = json!([{ "path": repo, "read_only": false }, { "path": objects, "read_only": true }]);
    assert_eq!((&found["path"], &found["mounts"]), (&json!(repo), &expected));
    let script = "git log --format=%s; ! touch ../whole/.git/objects/x 2>/dev/null && echo read only";
    let Some(printed) = contained(&world, "", script) else { return };
    assert!(printed.ends_with("read only\n") && !printed.contains("fatal"), "{printed}");
}

/// A repository that is reached through a link names its worktrees by the link's path, and they name it so.
#[cfg(target_os = "linux")]
#[test]
fn links_between_worktree_and_repository_lead_somewhere() {
    let world = World::with_commit();
    world
        .sh("cd ..; mkdir far; mv repo far; ln -s far/repo repo; git -C repo worktree add -q \"$(pwd -P)/far/w\" -b w");
    let noted = world.root().join("repo/.git");
    let dot_git = world.root().join("far/w/.git");
    std::fs::write(&dot_git, format!("gitdir: {}/worktrees/w\n", noted.display())).expect("it can be written");
    let found = json_of(&world, &["worktree", "mounts", "w", "--json"]);
    let paths: Vec<_> = found["mounts"].as_array().expect("a list").iter().map(|it| &it["path"]).collect();
    let [far, linked] = [world.root().join("far/repo/.git"), noted].map(|path| json!(path));
    assert!(paths.contains(&&far) && paths.contains(&&linked), "{found:#}");
}

#[test]
fn forms_and_errors() {
    let world = World::with_commit();
    let path = add(&world, "a,b");
    let docker = world.checkpoint(&["worktree", "mounts", "a,b"]);
    assert_eq!(String::from_utf8_lossy(&docker.stdout).lines().count(), 3);
    let printed = world.checkpoint(&["worktree", "mounts", "a,b", "--format", "devcontainer"]);
    let properties: serde_json::Value = serde_json::from_slice(&printed.stdout).expect("JSON");
    assert_eq!(properties["workspaceFolder"], json!(path));
    for (arguments, status, words) in [
        (&["worktree", "mounts", "nope"][..], 128, "names no worktree"),
        (&["worktree", "mounts", "--format", "json"], 129, "docker, devcontainer"),
        (&["config", "set", "worktree.dir", "/"], 0, ""),
        (&["worktree", "mounts", "--with-new"], 1, "'/'"),
        (&["config", "set", "worktree.dir", "none"], 0, ""),
        (&["worktree", "mounts", "--with-new"], 1, "does not exist"),
    ] {
        let output = world.checkpoint(arguments);
        assert!(said(&output).contains(words), "{arguments:?}: {}", said(&output));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
    }
}
