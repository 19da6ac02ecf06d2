//! Refspecs of remotes that would carry checkpoints away, or delete them.

use std::collections::BTreeMap;

use super::problem::Problem;
use crate::{
    git::Repo,
    model::{path_text::shell_word, refname},
};

/// What is configured for one remote.
#[derive(Debug, Default)]
struct Remote {
    fetch: Vec<String>,
    push: Vec<String>,
    is_mirror: bool,
    prunes: bool,
}

pub(super) fn refspecs(repo: &Repo) -> Vec<Problem> {
    let prunes_all = repo.config_bool("fetch.prune").unwrap_or(false);
    let mut remotes: BTreeMap<String, Remote> = BTreeMap::new();
    for pair in repo.config_pairs("remote") {
        let Some((name, key)) = pair.key.rsplit_once('.') else { continue };
        let remote =
            remotes.entry(name.to_owned()).or_insert_with(|| Remote { prunes: prunes_all, ..Remote::default() });
        let value = pair.value.to_string();
        let is_true = ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str());
        match key {
            "fetch" => remote.fetch.push(value),
            "push" => remote.push.push(value),
            "mirror" => remote.is_mirror = is_true,
            "prune" => remote.prunes = is_true,
            _ => {}
        }
    }
    let of_one = |(name, remote): (&String, &Remote)| {
        let is_dangerous = !problems(name, remote, false).is_empty();
        problems(name, remote, is_dangerous && is_through_helper(repo, name))
    };
    remotes.iter().flat_map(of_one).collect()
}

/// Returns true if git-remote-checkpoint(1) carries all that is fetched from the remote `name` and pushed to it.
fn is_through_helper(repo: &Repo, name: &str) -> bool {
    let is_all = |is_push| {
        let urls = repo.remote_urls(name, is_push).unwrap_or_default();
        !urls.is_empty() && urls.iter().all(|url| url.starts_with("checkpoint::"))
    };
    is_all(true) && is_all(false)
}

/// Returns what is wrong with `remote`. The remote helper sends logs alone, to those who are approved, and deletes nothing there:
/// what goes `through_helper` can do harm on this side only.
fn problems(name: &str, remote: &Remote, through_helper: bool) -> Vec<Problem> {
    let mut found = Vec::new();
    let problem =
        |key: &str, message: String| Problem::new("refspec-dangerous", format!("remote.{name}.{key}"), message);
    let word = |key: &str| shell_word(&format!("remote.{name}.{key}"));
    let exclude =
        |key: &str| format!("'git config --add {} \"^{}*\"' keeps them out of it", word(key), refname::PREFIX);
    if let Some(spec) = dangerous(&remote.fetch, |spec| spec.split_once(':').map_or("", |(_, to)| to)) {
        let how = if remote.prunes { "git fetch" } else { "git fetch --prune" };
        let message = format!("with '{spec}', '{how}' deletes checkpoints that the remote does not have");
        let hint = if through_helper {
            // Without these refs, nothing would be fetched at all.
            format!("what is fetched belongs below '{}'; see git-remote-checkpoint(1)", refname::FETCHED)
        } else {
            exclude("fetch")
        };
        found.push(problem("fetch", message).hint(hint));
    }
    if through_helper {
        return found;
    }
    if remote.is_mirror {
        let message = "'git push' sends all checkpoints, with what was asked of agents, and deletes what is not here";
        let (mirror, push) = (word("mirror"), word("push"));
        let hint = format!(
            "say what is to be pushed instead: 'git config --unset {mirror}', and \
             'git config --add {push} \"+refs/heads/*:refs/heads/*\"'"
        );
        found.push(problem("mirror", message.to_owned()).hint(hint));
    } else if let Some(spec) = dangerous(&remote.push, |spec| spec.split_once(':').map_or(spec, |(from, _)| from)) {
        let message = format!("with '{spec}', 'git push' sends all checkpoints, with what was asked of agents");
        found.push(problem("push", message).hint(exclude("push")));
    }
    found
}

/// Returns the first of `specs` whose one `side` may name a ref of ours, unless another one takes these out.
fn dangerous(specs: &[String], side: fn(&str) -> &str) -> Option<&String> {
    let is_out = |spec: &String| {
        let pattern = spec.strip_prefix('^').and_then(|pattern| pattern.strip_suffix('*'));
        pattern.is_some_and(|pattern| refname::PREFIX.starts_with(pattern))
    };
    if specs.iter().any(is_out) {
        return None;
    }
    let is_ours = |spec: &&String| {
        let pattern = side(spec.trim_start_matches('+'));
        let start = pattern.split('*').next().unwrap_or_default();
        let is_all = pattern.contains('*') && refname::PREFIX.starts_with(start);
        !spec.starts_with('^') && (is_all || start.starts_with(refname::PREFIX))
    };
    specs.iter().find(is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(specs: &[&str]) -> Vec<String> {
        specs.iter().map(|spec| spec.replace("OURS", refname::PREFIX)).collect()
    }

    #[rstest::rstest]
    #[case::heads(&["+refs/heads/*:refs/remotes/origin/*"], false)]
    #[case::mirror(&["+refs/*:refs/*"], true)]
    #[case::no_force(&["refs/*:refs/*"], true)]
    #[case::everything(&["*:*"], true)]
    #[case::ours(&["refs/heads/*:refs/heads/*", "+OURS*:OURS*"], true)]
    #[case::one(&["refs/x:OURStags/x"], true)]
    #[case::elsewhere(&["+refs/*:refs/backup/*"], false)]
    #[case::taken_out(&["+refs/*:refs/*", "^OURS*"], false)]
    #[case::other_out(&["+refs/*:refs/*", "^refs/notes/*"], true)]
    #[case::no_destination(&["refs/heads/main"], false)]
    fn where_fetched_refs_go(#[case] specs: &[&str], #[case] expected: bool) {
        let remote = Remote { fetch: ours(specs), ..Remote::default() };
        assert_eq!(!problems("origin", &remote, false).is_empty(), expected);
    }

    #[rstest::rstest]
    #[case::heads(&["refs/heads/*"], false)]
    #[case::all(&["refs/*"], true)]
    #[case::to_elsewhere(&["+refs/*:refs/backup/*"], true)]
    #[case::from_elsewhere(&["refs/heads/*:OURS*"], false)]
    #[case::deletion(&[":refs/heads/x"], false)]
    #[case::matching(&[":"], false)]
    #[case::taken_out(&["refs/*", "^refs/*"], false)]
    fn refspecs_that_push_our_refs_are_problems(#[case] specs: &[&str], #[case] expected: bool) {
        let remote = Remote { push: ours(specs), ..Remote::default() };
        assert_eq!(!problems("origin", &remote, false).is_empty(), expected);
    }
}
