//! The file in which GitHub says what has started a job.

use gix::ObjectId;
use serde_json::Value;

/// What is known of the commits from the event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// What has happened, in words.
    pub(super) what: String,
    /// The commit before.
    pub(super) base: Option<ObjectId>,
    /// The last commit.
    pub(super) head: Option<ObjectId>,
    /// The last of the commits that were merged into `head`, if the forge has made other commits of them.
    pub(super) merged: Option<ObjectId>,
    /// The number of the pull request.
    pub(super) number: Option<u64>,
}

/// Returns the event that the text of the file describes; none if it is about no commits. With `after_merge`, the commits of a pull
/// request that was merged are those that the merge has made, else those that were merged.
pub(super) fn read(text: &[u8], after_merge: bool) -> Result<Option<Event>, String> {
    let event: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let id = |path: &str| event.pointer(path).and_then(Value::as_str).and_then(commit_id);
    if let Some(pull) = event.get("pull_request") {
        let number = pull.get("number").and_then(Value::as_u64);
        let what = number.map_or_else(|| "a pull request".to_owned(), |number| format!("pull request {number}"));
        let (base, head) = (id("/pull_request/base/sha"), id("/pull_request/head/sha"));
        let is_merged = pull.get("merged").and_then(Value::as_bool) == Some(true);
        return Ok(Some(if after_merge && is_merged {
            Event { what, base, head: id("/pull_request/merge_commit_sha"), merged: head, number }
        } else {
            Event { what, base, head, merged: None, number }
        }));
    }
    let found = [
        ("a merge group", id("/merge_group/base_sha"), id("/merge_group/head_sha")),
        ("a push", id("/before"), id("/after")),
    ];
    let found = found.into_iter().find(|(_, base, head)| base.is_some() || head.is_some());
    Ok(found.map(|(what, base, head)| Event { what: what.to_owned(), base, head, ..Event::default() }))
}

/// Returns the commit that `text` names in full; none for the id of zeros, which forges write where there is no commit.
pub(super) fn commit_id(text: &str) -> Option<ObjectId> {
    ObjectId::from_hex(text.as_bytes()).ok().filter(|id| !id.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: &str = r#"{"pull_request": {"number": 7, "merged": true, "merge_commit_sha": "CCC", "base": {"sha": "AAA"},
        "head": {"sha": "BBB"}}, "before": "DDD"}"#;

    fn event(text: &str, after_merge: bool) -> Option<Event> {
        let mut text = text.to_owned();
        for digit in ["A", "B", "C", "D", "0"] {
            text = text.replace(&digit.repeat(3), &digit.to_lowercase().repeat(40));
        }
        read(text.as_bytes(), after_merge).expect("it is JSON")
    }

    fn ids(event: &Event) -> [Option<char>; 3] {
        [event.base, event.head, event.merged].map(|id| id.map(|id| id.to_string().remove(0)))
    }

    #[rstest::rstest]
    #[case::pull_request(PULL, false, Some([Some('a'), Some('b'), None]))]
    #[case::merged(PULL, true, Some([Some('a'), Some('c'), Some('b')]))]
    #[case::push(r#"{"before": "AAA", "after": "BBB"}"#, true, Some([Some('a'), Some('b'), None]))]
    #[case::new_branch(r#"{"before": "000", "after": "BBB"}"#, true, Some([None, Some('b'), None]))]
    #[case::queue(r#"{"merge_group": {"base_sha": "AAA", "head_sha": "BBB"}}"#, false, Some([Some('a'), Some('b'), None]))]
    #[case::no_id(r#"{"before": "--upload-pack=x", "after": "HEAD"}"#, true, None)]
    #[case::no_text(r#"{"before": 7}"#, true, None)]
    #[case::schedule(r#"{"schedule": "0 0 * * *"}"#, true, None)]
    fn what_events_say(#[case] text: &str, #[case] after_merge: bool, #[case] expected: Option<[Option<char>; 3]>) {
        assert_eq!(event(text, after_merge).map(|event| ids(&event)), expected);
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        assert!(read(b"{", true).is_err());
    }
}
