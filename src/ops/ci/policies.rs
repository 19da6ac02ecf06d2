//! The policies, checked before anything else: a mistake in one must not let a commit pass.

use bstr::BString;

use crate::{
    config::Ci,
    error::{Error, Kind, Result},
    git::Repo,
};

/// What the commits of a range are checked against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policies {
    /// How much of the lines may be agents', in percent.
    pub(crate) max_agent: u64,
    /// How much may be of unknown authors, in percent.
    pub(crate) max_unknown: u64,
    /// The keys of trailers of which a commit with lines of agents needs one; empty: none is needed.
    pub(crate) disclosure: Vec<String>,
    /// The same for a review.
    pub(crate) review: Vec<String>,
    /// The pathspecs of files in which no line may be an agent's.
    pub(crate) human_paths: Vec<BString>,
}

impl Policies {
    /// Returns the policies of the settings `ci`.
    pub(crate) fn of(ci: &Ci) -> Self {
        Self {
            max_agent: ci.max_agent_percentage,
            max_unknown: ci.max_unknown_percentage,
            disclosure: ci.disclosure_trailers.clone(),
            review: ci.review_trailers.clone(),
            human_paths: ci.human_paths.iter().map(|path| path.as_str().into()).collect(),
        }
    }

    /// Returns an error if one of them cannot be meant.
    pub(super) fn validate(&self, repo: &Repo) -> Result<()> {
        for (name, limit) in
            [("ci.max-agent-percentage", self.max_agent), ("ci.max-unknown-percentage", self.max_unknown)]
        {
            if limit > 100 {
                return Err(Error::config(format!("'{name}' is {limit}, and a percentage is at most 100")));
            }
        }
        for (name, keys) in [("ci.disclosure-trailers", &self.disclosure), ("ci.review-trailers", &self.review)] {
            if let Some(key) = keys.iter().find(|key| !is_key(key)) {
                return Err(Error::config(format!("'{name}' has '{key}', which cannot be the key of a trailer"))
                    .with_hint("a key has letters, digits and '-', and no colon: \"Assisted-by\""));
            }
        }
        let is_empty = self.human_paths.iter().any(|path| path.is_empty());
        let read =
            if is_empty { Err(Error::config("one is empty")) } else { repo.pathspec(&self.human_paths).map(drop) };
        read.map_err(|cause| {
            Error::new(Kind::Config, "'ci.human-paths' has what is no pathspec")
                .with_hint("gitglossary(7), 'pathspec', says what one may be")
                .with_cause(cause)
        })
    }
}

/// Returns true if `key` can be the key of a trailer (git-interpret-trailers(1)).
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("Assisted-by", true)]
    #[case("X2", true)]
    #[case("", false)]
    #[case("Assisted-by:", false)]
    #[case("Assisted by", false)]
    #[case("é", false)]
    fn keys(#[case] key: &str, #[case] expected: bool) {
        assert_eq!(is_key(key), expected);
    }
}
