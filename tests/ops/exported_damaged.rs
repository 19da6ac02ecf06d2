//! A file that is cut off, damaged or hostile changes nothing at all.

use std::fs;

use crate::{
    ops::{
        exported::{state, team},
        sharing::Team,
    },
    support::processes::described,
};

/// Imports `bytes` in the clone `b`, which must refuse them and stay as it is.
fn refused(team: &Team, clean: &str, bytes: &[u8], when: &str) {
    fs::write(team.path("damaged.bundle"), bytes).expect("written");
    let output = team.run("b", &["import", "--as", "stick", "../damaged.bundle"]);
    let said = described(&output);
    assert!(!output.status.success() && said.contains("cannot import '../damaged.bundle'"), "{when}: {said}");
    assert!(!said.contains("panicked"), "{when}: {said}");
    assert_eq!(state(team, "b"), clean, "{when}: {said}");
}

#[test]
fn files_that_are_cut_off_or_damaged_change_nothing() {
    let (team, _) = team();
    team.done("a", &["export", "../stick.bundle"]);
    let whole = fs::read(team.path("stick.bundle")).expect("written");
    let header = whole.windows(2).position(|it| it == b"\n\n").expect("it ends") + 2;
    let clean = state(&team, "b");
    let step = (whole.len() - header) / 12;
    let cuts =
        [0, 1, 15, 16, 17, header / 2, header - 1, header, header + 4, header + 12, whole.len() - 20, whole.len() - 1];
    for at in cuts.into_iter().chain((header..whole.len()).step_by(step)).filter(|at| *at < whole.len()) {
        refused(&team, &clean, &whole[..at], &format!("cut at {at}"));
    }
    // Each line of the header, and places among the objects.
    let lines = (0..header).filter(|at| *at == 0 || whole[at - 1] == b'\n').flat_map(|at| [at, at + 3, at + 45]);
    for at in lines.filter(|at| *at < header).chain((header..whole.len()).step_by(step)) {
        for flip in [1, 0x20] {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            refused(&team, &clean, &damaged, &format!("flipped {flip} at {at}"));
        }
    }
    refused(&team, &clean, &[&whole[..], b"more"].concat(), "with something at its end");
    refused(&team, &clean, &[&whole[..], &whole[..]].concat(), "twice");
    team.done("b", &["import", "../stick.bundle"]);
}

/// What a shell needs to write a bundle as we do; `lines` are the refs, each an id and a name.
const FORGE: &str = r#"
    export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x
    export GIT_INDEX_FILE=$PWD/.git/forged
    base=$(git rev-parse HEAD)
    blob=$(echo evil | git hash-object -w --stdin)
    file() { git mktree <<EOF
100644 blob $blob	$1
EOF
    }
    carry() { printf 'x\n\nCheckpoint-Shared: %s\nCheckpoint-Base: unborn\n' "$1" | git commit-tree "$2"; }
    bytes() { printf '%s' $1 | sed 's/../\\x&/g' | xargs -0 printf; }
    id=1234567890123456789012345678901234567890
    forge() {
        lines=$1; before=${2-}
        { echo 'git-checkpoint export 1'; printf '%s' "$before"; printf '%s\n' "$lines"; } >.git/manifest
        export=$(git commit-tree -m exported $(printf '100644 blob %s\texport\n' $(git hash-object -w .git/manifest) | git mktree))
        { echo '# v2 git bundle'; printf '%s' "$before"; printf '%s\n%s refs/checkpoints/export\n\n' "$lines" $export
          { echo $export; printf '%s\n' "$lines" | cut -d' ' -f1; echo "^$base"; echo "${3-}"; } | sed '/^$/d' | git pack-objects --revs --stdout -q
        } >../forged.bundle
    }
"#;

/// Forges a file in the clone `a` with `script`, and returns it.
fn forged(team: &Team, script: &str) -> Vec<u8> {
    let output =
        team.world.command("bash").args(["-ec", &format!("{FORGE}{script}")]).current_dir(team.path("a")).output();
    let output = output.expect("there is a shell");
    assert!(output.status.success(), "{}", described(&output));
    fs::read(team.path("forged.bundle")).expect("forged")
}

#[rstest::rstest]
#[case::a_branch("forge \"$base refs/heads/main\"")]
#[case::a_shadow("forge \"$base refs/checkpoints/shadow/$base/main\"")]
#[case::operations("forge \"$base refs/checkpoints/operations/main\"")]
#[case::another_place("forge \"$base refs/checkpoints/../heads/main\"")]
#[case::an_escape("forge \"$base $(printf 'refs/\\033[31m')\"")]
#[case::a_tag_of_nothing("forge \"$base refs/checkpoints/tags/t\"")]
#[case::a_tag_that_is_taken(
    "c=$(carry $id $(file f)); forge \"$c refs/checkpoints/shared/$id
$c refs/checkpoints/tags/verified\""
)]
#[case::twice(
    "c=$(carry $id $(file f)); forge \"$c refs/checkpoints/shared/$id
$c refs/checkpoints/shared/$id\""
)]
#[case::code_as_a_log("forge \"$base refs/checkpoints/history\"")]
#[case::code_as_transcripts("forge \"$base refs/checkpoints/transcripts/202501\"")]
#[case::code_as_notes("forge \"$base refs/checkpoints/notes\"")]
#[case::a_note_with_another_name(
    "c=$(printf 'note written\\n' | git commit-tree $(file x)); forge \"$c refs/checkpoints/notes\""
)]
#[case::a_note_that_is_no_text(
    "blob=$(printf 'a\\0b' | git hash-object -w --stdin); t=$(file ${id#12}); c=$(printf 'note written\\n' | git commit-tree $(printf '040000 tree %s\\t12\\n' $t | git mktree)); forge \"$c refs/checkpoints/notes\""
)]
#[case::another_id("c=$(carry $base $(file f)); forge \"$c refs/checkpoints/shared/$id\"")]
#[case::a_checkpoint_of_ours(
    "c=$(printf 'x\\n\\nCheckpoint-Shared: %s\\nCheckpoint-Contributor: agent\\nCheckpoint-Base: unborn\\nCheckpoint-Worktree: main\\n' $id | git commit-tree $(file f)); forge \"$c refs/checkpoints/shared/$id\""
)]
#[case::git_directory(
    "tree=$(bytes $(file f) >.git/raw; printf '040000 .git\\0' | cat - .git/raw | git hash-object -w -t tree --literally --stdin); c=$(carry $id $tree); forge \"$c refs/checkpoints/shared/$id\""
)]
#[case::parent_directory(
    "tree=$(bytes $(file f) >.git/raw; printf '040000 ..\\0' | cat - .git/raw | git hash-object -w -t tree --literally --stdin); c=$(carry $id $tree); forge \"$c refs/checkpoints/shared/$id\""
)]
#[case::an_object_is_missing(
    "c=$(carry $id $(git mktree --missing <<EOF
100644 blob 1111111111111111111111111111111111111111	f
EOF
)); rm -f ../forged.bundle; git config core.x 1; forge \"$c refs/checkpoints/shared/$id\" '' \"^$c\""
)]
#[case::another_header(
    "c=$(carry $id $(file f)); forge \"$c refs/checkpoints/shared/$id\"; sed -i 's|refs/checkpoints/export|refs/checkpoints/expor1|' ../forged.bundle"
)]
#[case::no_manifest(
    "{ echo '# v2 git bundle'; echo \"$base refs/checkpoints/export\"; echo; echo $base | git pack-objects --revs --stdout -q; } >../forged.bundle"
)]
#[case::a_later_version(
    "c=$(carry $id $(file f)); forge \"$c refs/checkpoints/shared/$id\"; m=$(git commit-tree -m x $(printf '100644 blob %s\\texport\\n' $(echo 'git-checkpoint export 2' | git hash-object -w --stdin) | git mktree)); { echo '# v2 git bundle'; echo \"$m refs/checkpoints/export\"; echo; echo $m | git pack-objects --revs --stdout -q; } >../forged.bundle"
)]
fn hostile_files_change_nothing(#[case] script: &str) {
    let (team, _) = team();
    let file = forged(&team, script);
    let clean = state(&team, "b");
    refused(&team, &clean, &file, script);
    let said = described(&team.run("b", &["import", "--as", "stick", "../damaged.bundle"]));
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

/// That what is forged is refused for what is forged.
#[test]
fn a_file_that_is_made_by_hand_is_read() {
    let (team, _) = team();
    let script = "c=$(carry $id $(file f)); forge \"$c refs/checkpoints/shared/$id
$c refs/checkpoints/tags/t\" \"-$base $(printf 'a\\033[31m')
\"";
    fs::write(team.path("sound.bundle"), forged(&team, script)).expect("written");
    team.done("b", &["import", "../sound.bundle"]);
    assert!(team.done("b", &["show", "sound/t"]).contains('f'));
    team.assert_sound(&["b"]);
}

/// A log may need nothing that is here for other reasons: such as a file of the user's.
#[test]
fn a_log_borrows_nothing() {
    let (team, _) = team();
    team.world.sh("cd ../b; echo 'a secret of b' >secret; git checkpoint save -q -m x");
    let blob = team.git("b", &["hash-object", "secret"]);
    // The pack lacks the file that the log names.
    let script = format!(
        "echo 'a secret of b' | git hash-object -w --stdin
        session=$(printf '100644 blob {blob}\\t000001\\n' | git mktree); tree=$(printf '040000 tree %s\\ts1\\n' $session | git mktree)
        c=$(printf 'transcripts\\n' | git commit-tree $tree); forge \"$c refs/checkpoints/transcripts/202501\" '' ''
        {{ sed '/^$/q' ../forged.bundle; {{ grep -a -o -m1 '^[0-9a-f]* refs/checkpoints/export' ../forged.bundle | cut -d' ' -f1; echo $c; }} | git rev-list --objects --stdin | grep -v {blob} | git pack-objects --stdout -q; }} >../partial
        mv ../partial ../forged.bundle"
    );
    let file = forged(&team, &script);
    let clean = state(&team, "b");
    refused(&team, &clean, &file, "borrowed");
    let said = described(&team.run("b", &["import", "--as", "stick", "../damaged.bundle"]));
    assert!(said.contains(&format!("it needs '{blob}', which the file does not have")), "{said}");
}

#[rstest::rstest]
#[case::patches("--format=patch", "'git am")]
#[case::archive("--format=tar", "tar")]
fn another_format_is_named(#[case] format: &str, #[case] expected: &str) {
    let (team, _) = team();
    team.done("a", &["export", format, "../stick"]);
    let said = team.fails("b", &["import", "../stick"]);
    assert!(said.contains("it is no bundle") && said.contains(expected), "{said}");
}
