//! Tests of the names of refs.

use super::*;

#[rstest::rstest]
#[case::first("202501", true)]
#[case::last("999912", true)]
#[case::none("202500", false)]
#[case::too_late("999999", false)]
#[case::short("20251", false)]
#[case::no_digits("2025ab", false)]
fn months_of_transcripts(#[case] month: &str, #[case] is_ours: bool) {
    assert_eq!(transcripts_month(&transcripts_ref(month)), is_ours.then_some(month));
}

#[test]
fn fetched_logs_name_their_remote() {
    for (remote, log) in [("origin", HISTORY.to_owned()), ("a/b c", transcripts_ref("202501"))] {
        assert_eq!(fetched_log(&tracking_ref(remote, &log)), Some((remote.to_owned(), log)));
    }
    for name in [HISTORY, "refs/checkpoints-remote/origin/shadow/x", "refs/checkpoints-remote/origin/transcripts/1"] {
        assert_eq!(fetched_log(name), None, "{name}");
    }
}

#[test]
fn what_was_imported_is_no_remote_of_git() {
    let remote = imported("stick");
    assert!(gix::validate::reference::name(format!("refs/remotes/{remote}").as_str().into()).is_err());
    assert_eq!((import_name(&remote), called(&remote), called("stick")), (Some("stick"), "stick", "stick"));
    assert!(is_recorded(&tracking_ref(&remote, HISTORY)) && !is_recorded(&tracking_ref("stick", HISTORY)));
}

#[test]
fn logs_set_aside_say_when_and_of_which_worktree() {
    for name in removed_operations_refs("a b".into(), 17) {
        assert_eq!(worktree_of_operations(&name), Some("a b".into()));
        assert_eq!(operations_removed_at(&name), Some(17));
        assert!(gix::validate::reference::name(name.as_str().into()).is_ok());
    }
    assert_eq!(operations_removed_at(&operations_ref("w".into())), None);
    assert_eq!(operations_removed_at(&older_operations_ref("w".into())), None);
}

#[test]
fn shadow_names_round_trip_and_foreign_refs_are_none() {
    let name = ShadowName::of_worktree(Base::Unborn, "feature/x".into());
    let of_session = ShadowName { session: Some("a/b@{1}.lock".into()), ..name.clone() };
    for name in [name, of_session] {
        assert_eq!(ShadowName::from_ref(&name.to_ref()), Some(name.clone()));
        assert!(gix::validate::reference::name(name.to_ref().as_str().into()).is_ok());
    }
    assert_eq!(ShadowName::from_ref("refs/checkpoints/shadow/zz/main"), None);
    assert_eq!(ShadowName::from_ref("refs/heads/main"), None);
}
